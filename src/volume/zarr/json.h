/* The JSON of zarr (version 2) and of OME-Zarr (0.1 to 0.4): .zarray and .zattrs. */
#ifndef CRD_VOLUME_ZARR_JSON_H
#define CRD_VOLUME_ZARR_JSON_H

#include "base/text.h"
#include "volume/zarr/array.h"

enum { CRD_ZARR_LEVELS = 16, CRD_ZARR_PATH = 256 };

/* `shown` is the array's folder, for sentences. */
crd_status crd_zarr_layout_parse(const char *shown, const char *text, size_t bytes, crd_zarr_layout *out);
void crd_zarr_layout_write(const crd_zarr_layout *layout, crd_text *text);

/* What .zattrs says about one level. */
typedef struct crd_zarr_attributes {
    bool multiscales;         /* there is an image at all */
    bool found;               /* and the wanted level is one of its own */
    char path[CRD_ZARR_PATH]; /* of the level, below the group */
    bool incomplete;          /* `complete` is there, and false */
    crd_volume_info info;     /* spacing, unit, scale; origin of the first level only */
} crd_zarr_attributes;

/* `level` is the path of the level that is wanted, or NULL: the first. */
crd_status crd_zarr_attributes_parse(const char *shown, const char *text, size_t bytes, const char *level,
                                     crd_zarr_attributes *out);
/* `factors` tells for each level how many of the first one's voxels make one of its own, along each axis. */
void crd_zarr_attributes_write(const crd_volume_info *info, const char *name, int levels, const int64_t factors[][3],
                               bool complete, crd_text *text);

#endif
