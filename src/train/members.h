/* All members of a training: one after the other, or side by side on a device that one of them doesn't fill. */
#ifndef CRD_TRAIN_MEMBERS_H
#define CRD_TRAIN_MEMBERS_H

#include "train/run.h"

/* Every member to its end. The last one's trainer stays open. Collective. */
crd_status crd_members_train(crd_train_run *run);

#endif
