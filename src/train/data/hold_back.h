/* Which part of a scan is held back for validation. */
#ifndef CRD_TRAIN_DATA_HOLD_BACK_H
#define CRD_TRAIN_DATA_HOLD_BACK_H

#include "credence/volume.h"

/* A block at the end of `labelled`, the box around all labels in a scan of that shape: of about `share` of it and at
 * least one chunk; size 0, 0, 0 where that would take more than CRD_HOLD_BACK_MOST. */
#define CRD_HOLD_BACK_MOST 0.3
crd_box crd_hold_back(const crd_box *labelled, const int64_t shape[3], const int64_t chunk[3], double share);

#endif
