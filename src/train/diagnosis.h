/* Says in words how a training goes wrong, and what to try. */
#ifndef CRD_TRAIN_DIAGNOSIS_H
#define CRD_TRAIN_DIAGNOSIS_H

#include <stdbool.h>

#include "credence/model.h"
#include "credence/monitor.h"
#include "train/heldout/baseline.h"
#include "train/heldout/exam.h"
#include "train/log.h"
#include "train/progress.h"

/* Nothing to learn from: no labelled chunk, or one class only. */
crd_status crd_diagnose_labels(const int64_t classes[CRD_CLASSES_MAX], int64_t chunks);

/* Not a number, or a head that dies again and again: `dead` is that of all examples of the mini-batch. Dropout may kill
 * it for a step, so it takes several in a row, counted in `progress`. */
crd_status crd_diagnose_step(crd_train_progress *progress, int64_t step, double bce, double kl, bool dead,
                             const char *checkpoint);

/* By what was counted: is it to get new weights, and that it gets them. */
bool crd_head_is_dead(const crd_train_progress *progress);
void crd_diagnose_redraw(int64_t step, const crd_monitor *monitor);

/* Warns of labels that the grey values say nothing about, or that contradict each other. */
void crd_diagnose_grey(const crd_baseline *baseline, const crd_monitor *monitor);
/* Warns of an exam whose classes' shares aren't those of the labels. */
void crd_diagnose_blocks(const int64_t exam[CRD_CLASSES_MAX], const int64_t classes[CRD_CLASSES_MAX],
                         const crd_monitor *monitor);
/* Warns of exam blocks whose grey values aren't those of the rest, and of a network not better than a threshold. */
void crd_diagnose_exam(const crd_exam *exam, const crd_baseline *baseline, const crd_heldout *figures,
                       const crd_monitor *monitor);

/* Warns of one of more than two classes that the network hardly ever finds in the exam: a mean Dice hides that. */
void crd_diagnose_classes(const crd_exam *exam, const crd_model_info *info, const crd_monitor *monitor);

/* Warns after an epoch; keeps count in `progress`, whose last validation is still that of the epoch before. `bce` is
 * the mean over the epoch's steps, `classes` the labelled voxels of each class where the loss was measured: of what is
 * checked on, or without that of all labels. */
void crd_diagnose_epoch(crd_train_progress *progress, int64_t epoch, double bce, const crd_log_epoch *line,
                        const int64_t classes[CRD_CLASSES_MAX], const crd_monitor *monitor);

/* Warns when the search for the calibration ended at the end of its range. */
void crd_diagnose_calibration(double calibration, const crd_monitor *monitor);

#endif
