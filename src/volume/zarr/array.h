/* One zarr array (version 2) in a folder: .zarray and a file per chunk. A handle is used by one thread at a time. */
#ifndef CRD_VOLUME_ZARR_ARRAY_H
#define CRD_VOLUME_ZARR_ARRAY_H

#include <stdbool.h>

#include "credence/volume.h"
#include "volume/block_cache.h"
#include "volume/zarr/codec.h"

enum { CRD_ZARR_AXES = 5, CRD_ZARR_DEPTH = 32, CRD_ZARR_EDGE = 128 };

/* What .zarray says. The last three axes are z, y, x; all before them have the size 1. */
typedef struct crd_zarr_layout {
    int rank;
    int64_t shape[3], chunk[3];
    int stored; /* a crd_type or crd_stored */
    bool swap, fortran;
    double fill;
    char separator; /* of the numbers in a chunk's name: '.' or '/'; 0: not said */
    crd_zarr_codec codec;
    int level;
} crd_zarr_layout;

typedef struct crd_zarr_array crd_zarr_array;

crd_status crd_zarr_array_open(const char *folder, size_t cache_bytes, crd_block_cache **shared, crd_zarr_array **out);
const crd_zarr_layout *crd_zarr_array_layout(const crd_zarr_array *array);
/* `once`: chunks that the box holds whole aren't worth keeping. */
crd_status crd_zarr_array_read(crd_zarr_array *array, const crd_box *box, bool once, void *voxels);
/* Are all chunks of a layer there, 0 being that of the first slices? */
bool crd_zarr_array_has_layer(crd_zarr_array *array, int64_t layer);

/* A new array for the shape and type of `info`, in our chunks; `level` 0: not packed. The folder is made. With
 * `go_on`, an array that is there and has the same layout is written on. */
crd_status crd_zarr_array_create(const char *folder, const crd_volume_info *info, int level, bool go_on,
                                 crd_zarr_array **out);
/* Any box. A chunk that it holds whole appears at once; into others it is written, which costs more where they are
 * packed. */
crd_status crd_zarr_array_write(crd_zarr_array *array, const crd_box *box, const void *voxels);
void crd_zarr_array_close(crd_zarr_array **array);

#endif
