/* A distribution of realisations as a plot: the segmentation, the median, and the interval around it. For the picture
 * of a measurement and for the report of a run. */
#ifndef CRD_MEASURE_CURVES_H
#define CRD_MEASURE_CURVES_H

#include "credence/measure.h"
#include "draw/plot.h"

/* What a plot points to. Begins as {0}. */
typedef struct crd_curves {
    char title[96], label[48];
    double *x; /* of all points: bins are drawn in their middle */
    crd_series series[4];
} crd_curves;

crd_status crd_curves_make(const crd_distribution *distribution, crd_curves *curves, crd_plot *out);
void crd_curves_free(crd_curves *curves);

/* All distributions and blocks of several sizes, as a PNG. */
crd_status crd_measurement_picture(const crd_measurement *measurement, const char *path);

#endif
