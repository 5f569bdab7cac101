/* The JSON of zarr (versions 2 and 3) and of OME-Zarr (0.1 to 0.5): .zarray and .zattrs, or zarr.json for both. */
#ifndef CRD_VOLUME_ZARR_JSON_H
#define CRD_VOLUME_ZARR_JSON_H

#include "base/text.h"
#include "volume/zarr/array.h"

enum {
    CRD_ZARR_LEVELS = 16,
    CRD_ZARR_PATH = 256,
    CRD_ZARR_GROUP_LIMIT = 4 << 20 /* bytes of a group's file: the tree that JSON becomes takes forty times as much */
};

/* The names of the files that describe an array and a group. */
const char *crd_zarr_array_file(int version);
const char *crd_zarr_group_file(int version);

/* What a folder is, by the files in it. One that is of both versions counts as the older. */
typedef struct crd_zarr_node {
    int version; /* 0: nothing of zarr's */
    bool array;  /* else a group */
} crd_zarr_node;

crd_status crd_zarr_look(const char *folder, crd_zarr_node *out);

/* `shown` is the array's folder, for sentences. */
crd_status crd_zarr_layout_parse(const char *shown, int version, const char *text, size_t bytes, crd_zarr_layout *out);
void crd_zarr_layout_write(const crd_zarr_layout *layout, crd_text *text);

/* Of an array of version 2: xarray's names of its axes, which aren't in .zarray. */
crd_status crd_zarr_array_attributes_check(const char *shown, const char *text, size_t bytes);

/* What the attributes of a group say about one level. */
typedef struct crd_zarr_attributes {
    bool multiscales;         /* there is an image at all */
    bool found;               /* and the wanted level is one of its own */
    char path[CRD_ZARR_PATH]; /* of the level, below the group */
    bool incomplete;          /* `complete` is there, and false */
    crd_volume_info info;     /* spacing, unit, scale; origin of the first level only */
} crd_zarr_attributes;

/* `level` is the path of the level that is wanted, or NULL: the first. */
crd_status crd_zarr_attributes_parse(const char *shown, int version, const char *text, size_t bytes, const char *level,
                                     crd_zarr_attributes *out);
/* The group's file. `factors` tells for each level how many of the first one's voxels make one of its own, along each
 * axis. */
void crd_zarr_attributes_write(int version, const crd_volume_info *info, const char *name, int levels,
                               const int64_t factors[][3], bool complete, crd_text *text);

#endif
