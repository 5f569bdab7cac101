/* A label that the user has already becomes the first of a project. view.json says in "label" that it is being taken
 * in, and in the end from which file it came and which values its classes have there. */
#ifndef CRD_VIEW_LABELS_SEED_H
#define CRD_VIEW_LABELS_SEED_H

#include "view/labels/blocks.h"
#include "view/labels/labels.h"

/* Of a project whose journal has nothing: is the label to be taken in? Not where there are labels already. What an
 * interruption has left of one is removed. */
crd_status crd_label_seed_wanted(crd_project *project, const crd_label_seed *seed, const char *folder, bool *wanted);
crd_status crd_label_seed_begin(crd_project *project);
/* Into the chunks on the disk; adds to the voxels of each class. */
crd_status crd_label_seed_take(const crd_label_seed *seed, crd_label_blocks *blocks, int64_t counts[256]);
crd_status crd_label_seed_end(crd_project *project, const crd_label_seed *seed);

/* The values that classes have in the file that the labels came from; false: they are what they are here. `values` has
 * room for CRD_PAINT_CLASSES. */
bool crd_label_seed_values(crd_project *project, double values[], int *count);

#endif
