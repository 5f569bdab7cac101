/* Whether a run's model learnt from the very voxels that it is validated on. */
#ifndef CRD_VALIDATE_SEEN_H
#define CRD_VALIDATE_SEEN_H

#include "net/model.h"
#include "validate/sweep.h"

/* What the run's model says of the run's scan; NULL: it never learnt from it, or (*known false) nothing is known: there
 * is no run, its model isn't where it was or is another one now, or is of a time when models didn't say. *model owns
 * it. */
crd_status crd_seen_find(const crd_validate_options *options, const crd_monitor *monitor, crd_inputs *inputs,
                         crd_model **model, const crd_learnt_scan **out, bool *known);

/* Takes away the labels of voxels that were learnt from; the box is in the maps' coordinates. */
void crd_seen_hide(const crd_inputs *inputs, const crd_box *box, uint8_t *classes);

/* Fills v->seen_in_training and v->unseen: a second pass where the scan was learnt from. */
crd_status crd_seen_measure(const crd_validate_options *options, const crd_sweep *sweep, crd_validation *v);

#endif
