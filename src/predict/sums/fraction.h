/* Sums over a slice for the manifest, in integers, the volume fractions of all samples among them. */
#ifndef CRD_PREDICT_SUMS_FRACTION_H
#define CRD_PREDICT_SUMS_FRACTION_H

#include "base/parallel.h"
#include "predict/sums/accumulate.h"

/* One slice of what a chunk keeps. */
typedef struct crd_fraction_slice {
    const crd_request *request;
    const crd_box *asked, *keep; /* of the chunk, in the scan: what the predictor was asked for, and what is added */
    int64_t z;                   /* in the scan */
    const uint64_t *above;       /* as crd_chunk_result has it */
    const uint8_t *inside;       /* the mask of what was asked for, or NULL */
} crd_fraction_slice;

/* Adds round(2^32 / coverage) to fractions[plane][s] for every kept voxel that is of the plane's class in sample s.
 * `coverage` is by axis and coordinate of the box. */
void crd_fraction_add(const crd_fraction_slice *slice, const int64_t *const coverage[3], uint64_t *fractions);

/* Adds `weight` to fractions[s] for every voxel of a run at which sample s lies above one half, for up to 64 samples;
 * `inside` is the run's mask, or NULL. */
void crd_fraction_count(const uint64_t *above, const uint8_t *inside, int64_t count, int64_t samples, uint64_t weight,
                        uint64_t *fractions);

/* Adds 2^32 in the same way for a row of voxels of a result, which begins at `from` of its `voxels`. */
void crd_fraction_row(const crd_request *request, const uint64_t *above, int64_t voxels, int64_t from,
                      const uint8_t *inside, int64_t count, uint64_t *fractions);

/* Fills sums up to the fractions from `count` voxels, of all quantities from voxel `first` on; `inside` is their mask,
 * or NULL. */
void crd_fraction_sum_voxels(const crd_request *request, void *const *voxels, int64_t first, int64_t count,
                             const uint8_t *inside, uint64_t *sums);

/* Fills the slice's sums up to the fractions, from its voxels as they will be written. */
void crd_fraction_sum_slice(const crd_request *request, crd_pool *pool, const uint8_t *inside, crd_slice *slice);

#endif
