/* What layers.c and run_layers.c share; for nobody else. */
#ifndef CRD_VIEW_LAYERS_INSIDE_H
#define CRD_VIEW_LAYERS_INSIDE_H

#include "view/tiles/layers.h"

/* A slot behind the others, which nobody sees until `count` rises above it; NULL: there is none. */
crd_layer *crd_layer_begin(crd_layers *layers, const char *id, const char *name, crd_layer_kind kind);
crd_status crd_layer_fill(const crd_layers *layers, crd_layer *layer, const char *path,
                          const crd_volume_options *options, const crd_monitor *monitor);
/* The layer must lie inside the first one. */
crd_status crd_layer_place(const crd_layers *layers, crd_layer *layer, const int64_t origin[3], const char *path);
/* Where its file says: the whole scan, or a part of it; the scan may be a part of something itself. */
crd_status crd_layer_place_by_file(const crd_layers *layers, crd_layer *layer, const char *path);
void crd_layer_close(crd_layer *layer);

#endif
