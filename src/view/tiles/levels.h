/* The coarser levels of a layer, made by one pass over it in the background, and level 0 in blocks where planes across
 * y and x would be slow otherwise: an OME-Zarr image of plain chunks in a folder of the cache.
 *
 * The pass goes over slabs of 32 slices, in an order that halves the gaps between what is there. What is done is noted
 * after every slab, so that an interrupted pass goes on. One thread makes it; any may read what is ready. */
#ifndef CRD_VIEW_LEVELS_H
#define CRD_VIEW_LEVELS_H

#include "view/tiles/histogram.h"
#include "view/tiles/layers.h"

/* Shapes of all levels, until one fits a tile; gives back how many. */
int crd_levels_plan(const int64_t shape[3], int64_t shapes[CRD_VIEW_LEVELS][3]);
/* Bytes that the store of a layer will have. */
int64_t crd_levels_bytes(const crd_layer *layer);

/* Makes or goes on with the store in `folder`, which is there. */
crd_status crd_levels_open(const crd_layer *layer, const char *folder, size_t cache_bytes, crd_levels **out);
void crd_levels_close(crd_levels **levels);

/* The next slab that isn't there, by a handle and a thread of the caller's own; *more false: that was the last. `pause`
 * is called now and then; false stops the work there, without an error. */
crd_status crd_levels_advance(crd_levels *levels, const crd_layer *layer, crd_volume *source,
                              bool (*pause)(void *context), void *context, bool *more);
/* The pass has failed, and won't go on. */
void crd_levels_give_up(crd_levels *levels);

/* Is there all of a box of a level? */
bool crd_levels_ready(const crd_levels *levels, int level, const crd_box *box);
/* The share of slabs that are there, and whether more will come. */
double crd_levels_share(const crd_levels *levels);
bool crd_levels_building(const crd_levels *levels);
/* All grey values, once all slabs are there; else NULL. */
const crd_greys *crd_levels_greys(const crd_levels *levels);
/* A level for another thread; *out NULL where the store doesn't have it. */
crd_status crd_levels_reopen(const crd_levels *levels, int level, crd_volume **out);

#endif
