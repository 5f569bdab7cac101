/* Slices that bands of several processes touch: each leaves its sums in a file of its own, DIR/.partial/edge.Z.BAND,
 * and the one that adds them up removes it. Files of a run that was interrupted are worth nothing: those rows come
 * again. */
#ifndef CRD_PREDICT_SUMS_SHARED_SLICES_H
#define CRD_PREDICT_SUMS_SHARED_SLICES_H

#include "predict/sums/accumulate.h"

/* Leaves the sums of slice z (in the scan) of the band whose first row is `band`, and forgets them here. */
crd_status crd_shared_slice_leave(crd_accumulator *accumulator, const char *folder, int64_t z, int64_t band);
/* Adds what that band left. */
crd_status crd_shared_slice_take(crd_accumulator *accumulator, const char *folder, int64_t z, int64_t band);

/* Bytes of one such file. */
crd_status crd_shared_slice_bytes(const crd_request *request, int64_t *bytes);

#endif
