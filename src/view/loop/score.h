/* How wrong a model is in the exam boxes: figures pooled over them, with intervals. */
#ifndef CRD_VIEW_LOOP_SCORE_H
#define CRD_VIEW_LOOP_SCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { CRD_SCORE_ENOUGH = 3 /* boxes, to say anything about the whole scan */ };

/* Of one box, as `credence validate` counts. */
typedef struct crd_exam_box {
    int64_t voxels, wrong;
    double nll;                 /* sum over voxels */
    int64_t inaccurate, warned; /* cubes that are wrong, and those of them that the map calls uncertain */
    bool seen;                  /* the model learnt from labels in it, so it says nothing */
} crd_exam_box;

typedef struct crd_score {
    int64_t boxes, voxels;
    double error, error_interval[2]; /* share of wrong voxels; NaN where there is none, or no interval */
    double nll, nll_interval[2];
    double uncertain, uncertain_interval[2]; /* P(uncertain | inaccurate) */
} crd_score;

void crd_score_of(const crd_exam_box *boxes, int64_t count, crd_score *out);
/* From a validation.json. */
crd_status crd_exam_box_read(const char *path, crd_exam_box *out);
crd_status crd_score_write(const char *path, const crd_score *score);

/* Did the error rise twice in a row, from one iteration of warm starts to the next? `errors` of those that were scored,
 * in order; `warm`: it went on from another model. */
bool crd_score_rises(const double *errors, const bool *warm, int64_t count);

#endif
