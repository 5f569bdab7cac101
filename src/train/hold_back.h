/* Which part of a scan is held back to check on. */
#ifndef CRD_TRAIN_HOLD_BACK_H
#define CRD_TRAIN_HOLD_BACK_H

#include "chunk/label.h"

/* A block at the end of the labelled part, of about `share` of it and at least one chunk; size 0, 0, 0 where that would
 * take more than CRD_HOLD_BACK_MOST. */
#define CRD_HOLD_BACK_MOST 0.3
crd_status crd_hold_back(crd_label *label, const int64_t chunk[3], double share, crd_box *out);

#endif
