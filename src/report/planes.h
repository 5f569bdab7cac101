/* All that one slice of a run shows. */
#ifndef CRD_REPORT_PLANES_H
#define CRD_REPORT_PLANES_H

#include "draw/slice.h"
#include "report/reported_run.h"

/* Begins as {0}. */
typedef struct crd_planes {
    crd_plane back, seg, label, unc, maps[4];
    crd_plane outside; /* 1 where the run's mask leaves voxels out */
    bool classes;      /* seg and label hold numbers of more than two */
    double low, high;  /* greys */
    bool scan;         /* else `back` is the probability */
    double edge;       /* of a row's voxels, 0: not known */
    const char *unit;
} crd_planes;

/* Plane number `index` across `axis`: rows and columns are the other two axes. With the maps of further intervals, or
 * without. */
crd_status crd_planes_read(crd_reported_run *run, int axis, int64_t index, bool maps, crd_planes *planes);
void crd_planes_free(crd_planes *planes);

#endif
