/* All members of a training: one after the other, or side by side on a device that one of them doesn't fill. */
#ifndef CRD_TRAIN_MEMBERS_H
#define CRD_TRAIN_MEMBERS_H

#include "train/run.h"

/* How many the run's device takes at a time. */
int64_t crd_members_at_once(const crd_train_run *run);

/* Every member to its end, so many at a time: the same bytes for any number. The last one's trainer stays open.
 * Collective. */
crd_status crd_members_train(crd_train_run *run, int64_t at_once);

#endif
