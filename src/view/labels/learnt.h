/* What the classes of a run are as labels: a run numbers its own, and the painted ones may have gaps. */
#ifndef CRD_VIEW_LABELS_LEARNT_H
#define CRD_VIEW_LABELS_LEARNT_H

#include "view/tiles/layers.h"

/* Sets the layer's class_labels. By their values where those are classes that can be painted; else by their order. Two
 * classes always have the values 0 and 1: of a run of the project's own ("iterations/...", which lies in `folder`) the
 * labels that its model learnt from say what they were. */
crd_status crd_labels_learnt(const char *folder, crd_layer *layer);

/* Notes which values an image of labels holds; none where there is no image. */
crd_status crd_labels_met(const char *image, bool met[256]);

#endif
