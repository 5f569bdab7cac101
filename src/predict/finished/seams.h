/* How visible chunks, or tiles, are in the probability. */
#ifndef CRD_PREDICT_FINISHED_SEAMS_H
#define CRD_PREDICT_FINISHED_SEAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/monitor.h"

typedef struct crd_request crd_request;

/* The mean step between neighbouring voxels where the set of chunks changes, and elsewhere; in units of 2^-24. */
typedef struct crd_seams {
    uint64_t seam_sum, seam_count, other_sum, other_count;
} crd_seams;

/* Adds the steps from one line of voxels to its neighbour, `count` of them, of which all cross a seam or none. */
void crd_seams_add(const float *a, const float *b, int64_t count, bool seam, crd_seams *sums);

/* The mean steps as probabilities, and how many times as large they are at seams; NaN where there are none. */
typedef struct crd_seam_steps {
    double at, elsewhere, ratio;
} crd_seam_steps;
crd_seam_steps crd_seams_steps(const crd_seams *seams);

/* Warns where people would see them. */
void crd_seams_check(const crd_request *request, const crd_seams *seams, const crd_monitor *monitor);

#endif
