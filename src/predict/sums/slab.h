/* The running sums of the slices that chunks still touch: integers, in tiles, as many in memory as the limit allows and
 * the rest in a scratch file. Tiles move by pread and pwrite, because mapped pages would count as resident.
 *
 * Slice z lies in place z % depth of a ring; a slice that is released is zero when its place is used again. One thread
 * at a time. */
#ifndef CRD_PREDICT_SUMS_SLAB_H
#define CRD_PREDICT_SUMS_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_slab_shape {
    int64_t depth, height, width;
    int64_t sums; /* numbers kept per voxel */
    bool wide;    /* of 64 bits, else 32 */
} crd_slab_shape;

typedef struct crd_slab_tiles {
    int64_t edge[2];  /* voxels of a tile along y, x; those at the end are padded */
    int64_t count[2]; /* tiles along y, x */
    int64_t bytes;    /* of one tile */
    int64_t total;    /* tiles in all */
} crd_slab_tiles;

typedef struct crd_slab crd_slab;

enum { CRD_SLAB_LEAST_TILES = 64 };

crd_status crd_slab_divide(const crd_slab_shape *shape, crd_slab_tiles *out);
/* Memory beside the tiles themselves, where all are in memory: tables. */
int64_t crd_slab_overhead(const crd_slab_tiles *tiles);

/* At most `memory` bytes of tiles, at least CRD_SLAB_LEAST_TILES; `scratch` is made when they don't all fit. */
crd_status crd_slab_create(const crd_slab_shape *shape, int64_t memory, const char *scratch, crd_slab **out);
void crd_slab_free(crd_slab **slab); /* removes the scratch file, too */

const crd_slab_tiles *crd_slab_division(const crd_slab *slab);
/* One tile, uint32_t or uint64_t, row after row; to be changed freely, valid until the next call. */
crd_status crd_slab_tile(crd_slab *slab, int64_t z, int64_t sum, int64_t tile_y, int64_t tile_x, void **out);
/* Whether all tiles fit: then they stay where they are until their slice is released. */
bool crd_slab_whole(const crd_slab *slab);
void crd_slab_release(crd_slab *slab, int64_t z);

#endif
