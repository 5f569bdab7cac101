/* Validation on data that was not trained on, and the fit of the one number that calibrates the probabilities. */
#ifndef CRD_TRAIN_VALIDATION_H
#define CRD_TRAIN_VALIDATION_H

#include "base/parallel.h"
#include "credence/monitor.h"
#include "dist/dist.h"
#include "train/data/dataset.h"
#include "train/trainer.h"

/* Probabilities whose logarithm is taken stay this far from 0 and 1. */
static inline double crd_clipped(double p)
{
    const double nearest = 1e-7;
    return p < nearest ? nearest : p > 1.0 - nearest ? 1.0 - nearest : p;
}

typedef struct crd_check_result {
    double bce, accuracy;
    double dice; /* of the foreground, or the mean over more classes; NaN where it wasn't measured: without samples */
    int64_t labelled;
} crd_check_result;

/* Of a class: voxels that are of it, that were taken for it, and both. */
typedef struct crd_class_counts {
    int64_t labelled, chosen, both;
} crd_class_counts;

typedef struct crd_checked_chunk {
    float *input;
    uint8_t *label;
} crd_checked_chunk;

/* Where the work is done: room for one chunk each, taken once. */
typedef struct crd_checker {
    crd_trainer *trainer; /* borrowed, as the data */
    crd_dataset *dataset;
    crd_dist *dist; /* whose processes share the chunks */
    const crd_monitor *monitor;
    int64_t done, total;       /* steps of the training, whose bar goes on while checking */
    crd_checked_chunk *kept;   /* by number: small data is read once */
    crd_checked_chunk room[2]; /* for what isn't kept: the chunk at work, and the next */
    int64_t kept_bytes;
    const uint8_t *label; /* of the chunk at work */
    float *probability, *mean;
    double *logs;                              /* of the mean probability of each voxel's class */
    uint8_t *chosen;                           /* the class that the network chose */
    crd_pool *pool;                            /* voxels are independent of each other */
    crd_class_counts classes[CRD_CLASSES_MAX]; /* of the chunks of this process that were checked with samples */
} crd_checker;

crd_status crd_checker_open(crd_trainer *trainer, crd_dataset *dataset, crd_dist *dist, const crd_monitor *monitor,
                            crd_checker *out);
void crd_checker_close(crd_checker *checker);

/* Chunk number i: as long as it is the last or the one before that was asked for. */
crd_status crd_checker_chunk(crd_checker *checker, int64_t i, crd_checked_chunk *out);

/* All chunks, with the kernels at their means and no dropout. Collective, as the next. */
crd_status crd_check_mean(crd_checker *checker, crd_check_result *out);
/* All chunks, with the mean probability over `samples` (at most those of the trainer's plan). */
crd_status crd_check_samples(crd_checker *checker, int64_t samples, crd_check_result *out);

enum { CRD_CALIBRATION_SAMPLES = 16 };
/* Where the search ends: a network that needs as much is no longer being calibrated. */
#define CRD_CALIBRATION_LOW  0.1
#define CRD_CALIBRATION_HIGH 10.0
/* The number c that minimises the negative log likelihood of mean over samples of sigmoid(logit / c), or of the
 * softmax, on voxels of a few chunks spread over the data. It is fitted on half of the blocks, or chunks, and judged on
 * the other half, both ways; where that doesn't help, and without data, it is 1. `samples` are at most those of
 * crd_trainer_draw_samples. */
crd_status crd_calibrate(crd_checker *checker, int64_t samples, double *calibration);

#endif
