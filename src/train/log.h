/* The training log: one JSON object a line, one line a step. The last step of an epoch carries the epoch's figures,
 * too. Lines of an ensemble say which member they are of; of members that are trained side by side they mix. */
#ifndef CRD_TRAIN_LOG_H
#define CRD_TRAIN_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_train_log crd_train_log;

typedef struct crd_log_step {
    int64_t member;      /* from 0 */
    int64_t step, epoch; /* from 1 */
    double bce, kl, kl_weight, loss, seconds;
    bool head_redrawn; /* after the step, as it was dead */
} crd_log_step;

typedef struct crd_log_epoch {
    double lr;
    double valid_bce, valid_accuracy, sample_bce, sample_accuracy; /* NaN where not measured */
    double sample_dice;                                            /* likewise */
    double mean_sigma, certain_share;                              /* NaN without Bayesian weights */
} crd_log_epoch;

/* Called for each line that a resumed log keeps; `epoch` is NULL unless the line ends one. */
typedef void crd_log_reader(void *context, const crd_log_step *step, const crd_log_epoch *epoch);

/* Starts the file anew, or where a member is resumed (> 0) keeps each one's lines up to and including its step
 * `resumed_at`, shows them to `reader` and goes on behind them. *seconds is what the last of them says, or 0. */
crd_status crd_log_open(const char *path, int64_t members, const int64_t *resumed_at, crd_log_reader *reader,
                        void *context, crd_train_log **out, double *seconds);
/* From any thread. `epoch` is NULL unless the step ends one; then `speeds`, where not NULL, has each rank's examples a
 * second. */
crd_status crd_log_add(crd_train_log *log, const crd_log_step *step, const crd_log_epoch *epoch, const double *speeds,
                       int ranks);
/* On disk before a checkpoint says so. */
crd_status crd_log_flush(crd_train_log *log);
void crd_log_close(crd_train_log **log);

#endif
