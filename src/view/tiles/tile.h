/* A tile: 256 x 256 pixels of one plane of a layer at one level, a byte each. */
#ifndef CRD_VIEW_TILE_H
#define CRD_VIEW_TILE_H

#include "view/tiles/layers.h"

/* Planes across z have rows along y and columns along x; across y, rows z and columns x; across x, rows y and columns
 * z: as they lie side by side on the page. */
typedef struct crd_tile_place {
    int layer;
    int axis; /* 0 z, 1 y, 2 x */
    int level;
    int64_t slice, row, column; /* slice in voxels of the level, the others in tiles */
    double low, high;           /* what becomes 0 and 255, in stored values; of no meaning to classes */
} crd_tile_place;

/* Is there such a tile? *rows and *columns are its pixels: classes have one more of each where the plane goes on, since
 * outlines lie between two pixels. */
bool crd_tile_size(const crd_layers *layers, const crd_tile_place *place, int64_t *rows, int64_t *columns);

/* `there` is 1, or the share that the store has where the tile would have to come from it; nothing is written then. */
crd_status crd_tile_make(crd_reader *reader, const crd_tile_place *place, uint8_t *pixels, double *there);

/* Tiles that were made, the least used ones given up first. Any thread may call. */
typedef struct crd_tile_cache crd_tile_cache;
crd_status crd_tile_cache_open(size_t limit, crd_tile_cache **out);
void crd_tile_cache_free(crd_tile_cache **cache);
bool crd_tile_cache_get(crd_tile_cache *cache, const crd_tile_place *place, int64_t revision, int64_t count,
                        uint8_t *pixels);
/* Where there is no room, it isn't kept. */
void crd_tile_cache_put(crd_tile_cache *cache, const crd_tile_place *place, int64_t revision, int64_t count,
                        const uint8_t *pixels);

#endif
