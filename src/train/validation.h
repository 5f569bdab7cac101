/* Checking on data that was not learnt from, and fitting the one number that calibrates the probabilities. */
#ifndef CRD_TRAIN_VALIDATION_H
#define CRD_TRAIN_VALIDATION_H

#include "train/dataset.h"
#include "train/trainer.h"

typedef struct crd_validation {
    double bce, accuracy;
    int64_t labelled;
} crd_validation;

/* All chunks with the kernels at their means (sample CRD_TRAINER_MEAN) or with one sample. input and label are room for
 * one chunk. */
crd_status crd_validate_chunks(crd_trainer *trainer, crd_dataset *dataset, int64_t sample, float *input,
                               uint8_t *label, crd_validation *out);

/* The number c that minimises the negative log likelihood of mean over samples of sigmoid(logit / c), on voxels spread
 * over the data set. */
crd_status crd_calibrate(crd_trainer *trainer, crd_dataset *dataset, float *input, uint8_t *label,
                         const crd_monitor *monitor, double *calibration);

#endif
