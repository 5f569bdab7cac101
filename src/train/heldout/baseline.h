/* What one gets without a network: by always giving the same answer, or by the grey value of the voxel alone. */
#ifndef CRD_TRAIN_HELDOUT_BASELINE_H
#define CRD_TRAIN_HELDOUT_BASELINE_H

#include "train/data/dataset.h"

typedef struct crd_baseline crd_baseline;

/* Looks at labels that are learnt from, in up to a few million voxels spread over the data. Held-back ones don't count,
 * and grey values are those of the scans. */
crd_status crd_baseline_learn(const crd_dataset *dataset, int classes, const int64_t chunk[3], crd_baseline **out);
void crd_baseline_free(crd_baseline **baseline);

int crd_baseline_classes(const crd_baseline *baseline);
/* The commonest class among all labels that are learnt from. */
int crd_baseline_majority(const crd_baseline *baseline);
/* The class that a normalised grey value stands for: of two, by the one threshold with the best Dice; of more, the one
 * that is commonest there. */
int crd_baseline_answer(const crd_baseline *baseline, float grey);
/* Mean and standard deviation of a class's grey values; false where it has none. */
bool crd_baseline_grey(const crd_baseline *baseline, int class, double *mean, double *deviation);
/* How well the grey value alone tells the foreground: 0 not at all, 1 without error (Youden's index). */
double crd_baseline_contrast(const crd_baseline *baseline);
/* Is the foreground brighter in one scan and darker in another, clearly so in both? */
bool crd_baseline_contradicts(const crd_baseline *baseline);

#endif
