/* Which chunks cover a volume, and which part of each is kept, one axis at a time, as pure functions. Chunks are
 * numbered z slowest, x fastest.
 *
 * Two ways of it. Overlapping chunks, a part of a chunk apart: every voxel is kept by several. Tiles: every voxel is
 * kept by one, and what the network sees of a tile is larger by a halo; all begin at multiples of 8, and an axis that
 * ends in between goes on, as in a mirror, to the next. */
#ifndef CRD_CHUNK_PLAN_H
#define CRD_CHUNK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/volume.h"

typedef struct crd_axis_plan {
    int64_t size, window, stride, border;
    int64_t extent; /* size, or what a mirror makes of it */
    int64_t count;  /* overlapping: positions 0, stride, 2 stride, ... <= size - window, and size - window */
    bool tiled;     /* the stride is the tile, the border the halo */
} crd_axis_plan;

typedef struct crd_plan {
    crd_axis_plan axes[3];
    int64_t count; /* chunks in all */
} crd_plan;

/* step >= 1; trim in [0, 1]. A volume shorter than the chunk is an error that suggests a chunk that fits. */
crd_status crd_plan_make(const int64_t shape[3], const int64_t chunk[3], int64_t step, double trim, crd_plan *out);

/* Every edge of tile and halo a multiple of `step`, which divides 2^20; a tile at least `step`, the halo at most a
 * tile. The last tile of an axis may be smaller. */
crd_status crd_plan_tiles(const int64_t shape[3], const int64_t tile[3], int64_t halo, int64_t step, crd_plan *out);

/* What there is to do in tiles: a sum of terms, each a weight times a box that it has in every tile, such as the voxels
 * that one layer of a network computes. */
enum { CRD_WORK_TERMS_MAX = 32 };
typedef struct crd_tile_work {
    int terms;
    double weights[CRD_WORK_TERMS_MAX];
    /* How long the box of each term is along an axis, in the tiles of that axis together. */
    void (*lengths)(const void *context, const crd_axis_plan *axis, double *lengths);
    const void *context;
} crd_tile_work;
double crd_plan_work(const crd_plan *plan, const crd_tile_work *work);

/* The tile with which there is the least to do, among those of which the network sees at most `most` voxels at a time,
 * halo included; where there is none, the one of which it sees least. */
crd_status crd_plan_best_tile(const int64_t shape[3], int64_t halo, int64_t step, int64_t most,
                              const crd_tile_work *work, int64_t tile[3]);

int64_t crd_axis_position(const crd_axis_plan *axis, int64_t index);
/* The kept range [*begin, *end) of window number `index`, in volume coordinates. */
void crd_axis_keep(const crd_axis_plan *axis, int64_t index, int64_t *begin, int64_t *end);
/* How many windows keep this coordinate. The coverage of a voxel is the product over the axes. */
int64_t crd_axis_coverage(const crd_axis_plan *axis, int64_t coordinate);

void crd_plan_chunk(const crd_plan *plan, int64_t number, crd_box *window, crd_box *keep);
void crd_plan_coverage(const crd_plan *plan, int64_t *least, int64_t *most);

#endif
