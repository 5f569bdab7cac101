/* From chunks to slices: what a chunk keeps is added to integer sums; a slice that no later chunk touches is divided by
 * its coverage. Integers make the order of chunks irrelevant: the same bytes whatever was computed first or twice. */
#ifndef CRD_PREDICT_SUMS_ACCUMULATE_H
#define CRD_PREDICT_SUMS_ACCUMULATE_H

#include "predict/request.h"
#include "predict/sums/slab.h"

/* A finished slice: every quantity in its stored type, and what the manifest sums, in 64-bit words. */
typedef struct crd_slice {
    const crd_request *request; /* borrowed */
    int64_t z;                  /* in the scan */
    void **voxels;              /* by quantity: box height * width values */
    uint64_t *sums;             /* crd_slice_sums() of them */
    void *memory;               /* one block behind them */
} crd_slice;

/* Order of a slice's sums: the voxels that count, for each plane three (voxels of its class in the segmentation; of the
 * probability p round(p * 2^32), and the same of the spread p (1 - p)), of the doubt, 1 less the largest probability,
 * the same sum, then three per interval, then one per plane and sample where draws are shared. */
enum { CRD_SUM_INSIDE, CRD_SUM_FIRST_CLASS };
enum { CRD_CLASS_VOXELS, CRD_CLASS_PROBABILITY, CRD_CLASS_SPREAD, CRD_CLASS_WORDS };
/* Of an interval: sum of round(value * 2^32), smallest and largest value as the bits of a double. */
enum { CRD_INTERVAL_SUM, CRD_INTERVAL_LEAST, CRD_INTERVAL_MOST, CRD_INTERVAL_WORDS };
int64_t crd_slice_sums(const crd_request *request);
int64_t crd_slice_first_interval(const crd_request *request); /* the doubt is before it */
/* Where the samples' volume fractions begin, [planes][samples]: sums of round(2^32 / coverage) over voxels of the
 * class; and how many there are. */
int64_t crd_slice_first_fraction(const crd_request *request);
int64_t crd_slice_fractions(const crd_request *request);

crd_status crd_slice_alloc(const crd_request *request, crd_slice *out);
void crd_slice_free(crd_slice *slice);
int64_t crd_slice_bytes(const crd_request *request);

typedef struct crd_accumulator crd_accumulator;

/* The sums a run keeps. */
void crd_accumulator_shape(const crd_request *request, crd_slab_shape *out);
/* Memory beside the slab. */
int64_t crd_accumulator_bytes(const crd_request *request);

crd_status crd_accumulator_create(const crd_request *request, int64_t slab_memory, const char *scratch,
                                  crd_accumulator **out);
void crd_accumulator_free(crd_accumulator **accumulator);

/* Adds what the chunk keeps inside the box. `skip` (by slice of the box) marks slices that are finished already;
 * `inside` is the mask of what the predictor was asked for, or NULL. */
crd_status crd_accumulator_add(crd_accumulator *accumulator, const crd_chunk_result *result, const uint8_t *inside,
                               const uint8_t *skip);
/* Finishes slice z (in the scan) and forgets its sums; `inside` is the mask of the box's slice, or NULL. */
crd_status crd_accumulator_finish(crd_accumulator *accumulator, int64_t z, const uint8_t *inside, crd_slice *out);

/* The sums of one slice as they stand, for those that move them between processes: the slab's tiles and the volume
 * fractions (fraction_count is 0 where there are none). Borrowed. */
typedef struct crd_accumulator_sums {
    crd_slab *slab;
    int64_t count; /* of the slab's sums */
    bool wide;
    uint64_t *fractions;
    int64_t fraction_count;
} crd_accumulator_sums;
crd_accumulator_sums crd_accumulator_sums_of(crd_accumulator *accumulator, int64_t z);
/* Drops the sums of slice z. */
void crd_accumulator_forget(crd_accumulator *accumulator, int64_t z);

#endif
