/* Every sixteenth slice of a layer whose planes across y and x are slow to read, at the coarsest level: what these
 * planes are drawn from until the pass of view/tiles/levels.h has come round. */
#ifndef CRD_VIEW_TILES_PREVIEW_H
#define CRD_VIEW_TILES_PREVIEW_H

#include "view/tiles/layers.h"

crd_status crd_preview_open(const crd_layer *layer, crd_preview **out);
void crd_preview_free(crd_preview **preview);

/* Reads it, by a handle of the caller's own; `pause` as in crd_levels_advance. */
crd_status crd_preview_fill(crd_preview *preview, const crd_layer *layer, crd_volume *source,
                            bool (*pause)(void *context), void *context);
/* Is all of it there? */
bool crd_preview_ready(const crd_preview *preview);
/* A row of the coarsest level, along x: its values, or classes as numbers. */
void crd_preview_row(const crd_preview *preview, int64_t z, int64_t y, float *values);

#endif
