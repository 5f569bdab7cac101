/* What a network gets wrong as a whole on scans that nobody made: at the end of a training its own scans are changed
 * (shifts.h), their grey levels found anew, windows of them predicted as crd_predict would, and the volume fractions
 * compared with the labels. Errors of whole scans are systematic: more samples don't show them. */
#ifndef CRD_TRAIN_INTERVALS_TRIES_H
#define CRD_TRAIN_INTERVALS_TRIES_H

#include "backend/backend.h"
#include "dist/dist.h"
#include "net/model.h"
#include "train/data/dataset.h"

enum { CRD_TRY_SAMPLES = 4 };

typedef struct crd_tries_plan {
    const crd_dataset *data;
    crd_model *model; /* with its calibration and pieces */
    const crd_backend *backend;
    const crd_device_settings *device;
    crd_dist *dist; /* whose processes share the shifts; all call it together */
    const crd_monitor *monitor;
    uint64_t seed; /* of the noise */
    double work;   /* how many voxels, each time once for every sample, it may compute */
} crd_tries_plan;

typedef enum crd_tries_outcome {
    CRD_TRIES_DONE,
    CRD_TRIES_TOO_DEAR, /* not even one window can be paid for */
    CRD_TRIES_UNLABELLED,
    CRD_TRIES_BROKEN /* the network gave what isn't a finite number */
} crd_tries_outcome;

/* All zero unless it is done. */
crd_status crd_tries_make(const crd_tries_plan *plan, crd_systematic *out, crd_tries_outcome *outcome);

/* What labels and predictions of the same voxels sum up to, class by class. */
typedef struct crd_try_sums {
    int64_t labelled;
    int64_t label[CRD_CLASSES_MAX]; /* voxels of that class, */
    int64_t above[CRD_CLASSES_MAX]; /* and so many in the samples, all of them together */
    double doubt[CRD_CLASSES_MAX];  /* sums of p (1 - p), p being the mean of infinitely many samples */
} crd_try_sums;

/* Adds one window. Of two classes `result` has the foreground's plane only. */
void crd_try_add(const crd_chunk_result *result, const uint8_t *label, int64_t voxels, int classes, int64_t samples,
                 crd_try_sums *sums);
/* The offset of the logit that makes up for the error: (the label's fraction - that of the samples) / mean of
 * p (1 - p). */
double crd_try_offset(const crd_try_sums *sums, int class, int64_t samples);

#endif
