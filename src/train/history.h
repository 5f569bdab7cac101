/* The course of a training in bounded memory, for drawing. */
#ifndef CRD_TRAIN_HISTORY_H
#define CRD_TRAIN_HISTORY_H

#include "train/log.h"

enum { CRD_HISTORY_POINTS = 2048 };

typedef struct crd_history_epoch {
    int64_t step;
    double bce; /* mean over the epoch's steps */
    double valid_bce, valid_accuracy, sample_dice, kl_weight, mean_sigma;
} crd_history_epoch;

/* Steps are kept as means over `per_bin` of them; when the room is full, neighbours join. Of epochs every `every`-th is
 * kept. All zero: empty, but for per_bin and every, which are 1. */
typedef struct crd_history {
    int64_t steps, per_bin;
    double bce[CRD_HISTORY_POINTS]; /* sums over the steps of a bin */
    int64_t epochs, every, epoch_count;
    crd_history_epoch epoch[CRD_HISTORY_POINTS];
    double sum; /* over the steps since the last epoch */
    int64_t count;
} crd_history;

/* A crd_log_reader: `context` is the history. */
void crd_history_add(void *context, const crd_log_step *step, const crd_log_epoch *epoch);

/* Bins in use, and the mean of one. */
int64_t crd_history_bins(const crd_history *history);
double crd_history_bce(const crd_history *history, int64_t bin);

#endif
