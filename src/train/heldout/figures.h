/* From what a network answered in every block to figures with intervals. */
#ifndef CRD_TRAIN_HELDOUT_FIGURES_H
#define CRD_TRAIN_HELDOUT_FIGURES_H

#include "credence/model.h"

/* Voxels by [their label][the answer]. */
typedef int64_t crd_confusion[CRD_CLASSES_MAX][CRD_CLASSES_MAX];

typedef struct crd_block_answers {
    crd_confusion network, threshold;
    double nll;                   /* sum of -log of the probability of the right class */
    double grey[CRD_CLASSES_MAX]; /* sum of the normalised grey values of each class */
} crd_block_answers;

/* Of the foreground; of more than two classes the mean over those that occur. NaN: none does. */
double crd_confusion_dice(const crd_confusion confusion, int classes);

/* Fills all figures of the exam but samples, from its blocks; `majority` is the class of the constant answer. Intervals
 * are Student's t over the blocks on a scale without ends, by leaving out each in turn (the jackknife), so that Dice
 * stays one of pooled counts. They are NaN for fewer than two blocks with labels. */
void crd_heldout_figures(const crd_block_answers *blocks, int64_t count, int classes, int majority, crd_heldout *out);

#endif
