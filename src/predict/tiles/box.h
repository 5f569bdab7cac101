/* What a tile keeps, finished: nothing will be added to its voxels, so they are final as soon as the tile is computed.
 */
#ifndef CRD_PREDICT_TILES_BOX_H
#define CRD_PREDICT_TILES_BOX_H

#include "base/parallel.h"
#include "predict/sums/accumulate.h"

typedef struct crd_tile_box {
    const crd_request *request; /* borrowed */
    int64_t tile;               /* of the run: 0 .. request->chunks - 1 */
    crd_box box;                /* in the scan, within the run's box */
    void **voxels;              /* by quantity, in its stored type; NULL where others are only made of it */
    void **rows;                /* of each slice: where a row of voxels of each quantity begins, */
    float *passing;             /* and such rows of those that aren't kept */
    uint64_t *sums;             /* crd_tile_sums() of them */
    uint64_t *slices;           /* the same of each slice, from which they are added up */
    void *memory;               /* one block behind all arrays */
} crd_tile_box;

/* A tile's sums are those of a slice (predict/sums/accumulate.h), then these, */
enum { CRD_TILE_STEP_SUM, CRD_TILE_STEP_COUNT, CRD_TILE_WORDS };
int64_t crd_tile_first_step(const crd_request *request);
/* then what the values of each volume lie between, as the bits of two doubles. */
int64_t crd_tile_first_range(const crd_request *request);
int64_t crd_tile_sums(const crd_request *request);

/* Room for the largest tile. */
int64_t crd_tile_box_bytes(const crd_request *request);
crd_status crd_tile_box_alloc(const crd_request *request, crd_tile_box *out);
void crd_tile_box_free(crd_tile_box *box);

/* Of which tile it is, by the chunk's number in the plan. */
void crd_tile_box_place(crd_tile_box *box, int64_t number);
/* Takes the kept part of a result, and sums it up but for the ranges. `inside` is the mask of the box, or NULL. */
void crd_tile_box_fill(crd_tile_box *box, const crd_chunk_result *result, const uint8_t *inside, crd_pool *pool);

#endif
