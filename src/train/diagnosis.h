/* Training that goes wrong, said in words, with what to try. */
#ifndef CRD_TRAIN_DIAGNOSIS_H
#define CRD_TRAIN_DIAGNOSIS_H

#include <stdbool.h>

#include "credence/monitor.h"
#include "train/log.h"
#include "train/progress.h"

/* Nothing to learn from: no labelled chunk, or one class only. */
crd_status crd_diagnose_labels(const int64_t classes[2], int64_t chunks);

/* Not a number, or a head that is dead in the whole mini-batch. */
crd_status crd_diagnose_step(int64_t step, double bce, double kl, bool dead, const char *checkpoint, bool has_steps);

/* Warns after an epoch; keeps count in `progress`, whose last validation is still that of the epoch before. */
void crd_diagnose_epoch(crd_train_progress *progress, int64_t epoch, const crd_log_epoch *line,
                        const crd_monitor *monitor);

#endif
