/* Inside src/measure: what the counts of the first pass say, as properties. */
#ifndef CRD_MEASURE_PROPERTIES_H
#define CRD_MEASURE_PROPERTIES_H

#include "measure/pass.h"
#include "measure/results.h"

/* Which groups of properties are wanted. */
enum {
    CRD_WANT_FRACTION = 1,
    CRD_WANT_SURFACE = 2, /* surface, mesh, curvature, Euler numbers */
    CRD_WANT_COMPONENTS = 4,
    CRD_WANT_CHORDS = 8, /* and intercepts */
    CRD_WANT_S2 = 16,
    CRD_WANT_INTERFACES = 32, /* and triple lines, where there are more than two phases */
    CRD_WANT_FAST = 63,
    CRD_WANT_THICKNESS = 64,  /* a pass for each realisation */
    CRD_WANT_TRANSPORT = 128, /* the same, for each axis */
    CRD_WANT_ALL = 255
};

/* Adds the properties of one phase, by its place in the pass's plan. `lags` are those asked for. */
crd_status crd_properties_add(const crd_pass *pass, int64_t phase, unsigned wanted, crd_measurement *m);

#endif
