/* The training log: one JSON object a line, for every step and every epoch. */
#ifndef CRD_TRAIN_LOG_H
#define CRD_TRAIN_LOG_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_train_log crd_train_log;

typedef struct crd_log_step {
    int64_t step, epoch;      /* from 1 */
    double bce, kl, kl_weight, loss, seconds;
} crd_log_step;

typedef struct crd_log_epoch {
    int64_t step, epoch;
    double valid_bce, valid_accuracy, sample_bce, sample_accuracy; /* NaN where not measured */
    double mean_sigma, certain_share, kl, kl_weight, lr;
} crd_log_epoch;

/* Starts the file anew, or keeps the lines up to and including step `resumed_at` (> 0) and goes on behind them. */
crd_status crd_log_open(const char *path, int64_t resumed_at, crd_train_log **out);
crd_status crd_log_add_step(crd_train_log *log, const crd_log_step *line);
crd_status crd_log_add_epoch(crd_train_log *log, const crd_log_epoch *line);
/* On disk before a checkpoint says so. */
crd_status crd_log_flush(crd_train_log *log);
void crd_log_close(crd_train_log **log);

#endif
