/* Inside src/predict/sums: what adding chunks and finishing slices share. */
#ifndef CRD_PREDICT_SUMS_INSIDE_H
#define CRD_PREDICT_SUMS_INSIDE_H

#include "base/parallel.h"
#include "ops/ops.h"
#include "predict/sums/accumulate.h"

struct crd_accumulator {
    const crd_request *request;
    crd_slab *slab;
    crd_slab_shape shape;
    crd_slab_tiles division;
    int threads;
    int64_t *coverage[3]; /* along each axis, by coordinate of the box */
    uint64_t *fractions;  /* [depth of the ring][crd_slice_fractions] */
    double *denominators; /* of one row of voxels, for each thread */
    void **tiles;         /* of a slice that is being finished: [sum][tile], where all fit in memory */
    void **rows;          /* of one row of voxels, by quantity, for each thread */
    crd_pool *pool;
    const crd_ops *ops;
    float *values, *summary; /* of one tile: [samples][planes][voxels], [2 + percentiles][planes][voxels] */
    void *memory;            /* one block behind all arrays */
};

/* Part of a tile: rows [y0, y1) and columns [x0, x1) of the box. */
typedef struct crd_patch {
    int64_t tile[2];
    int64_t begin[2], end[2];
} crd_patch;

/* The next tile that meets [begin, end) of the box, in rows; false after the last. patch.tile starts at -1, -1. */
bool crd_next_patch(const crd_slab_tiles *tiles, const int64_t begin[2], const int64_t end[2], crd_patch *p);

#endif
