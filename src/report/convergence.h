/* Were there enough samples? From the values that every sample gave at some voxels. */
#ifndef CRD_REPORT_CONVERGENCE_H
#define CRD_REPORT_CONVERGENCE_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_convergence {
    int64_t samples; /* 0: nothing is known */
    double *count;   /* 2 .. samples: */
    double *width;   /* mean width of the interval from the first so many samples, */
    double *change;  /* mean distance of their mean from that of all */
} crd_convergence;

/* Reads folder/probe.h5; without one, or with one that can't be read, nothing is known. `planes`: probabilities of a
 * voxel, 1 or as many as there are classes; then those of its most probable class are followed. */
crd_status crd_convergence_read(const char *folder, int64_t planes, double low, double high, crd_convergence *out);
void crd_convergence_free(crd_convergence *convergence);

#endif
