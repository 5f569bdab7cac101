/* Slices to which bands of several processes add: each process leaves its sums in a file, DIR/.partial/edge.Z.BAND, and
 * the one that adds them up removes it. Such files of an interrupted run are worthless: their rows are computed again.
 */
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
