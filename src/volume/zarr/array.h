/* One zarr array in a folder: of version 2, .zarray and a file for each chunk, or of version 3, zarr.json and a file
 * for each chunk or for many (a shard). A handle is used by one thread at a time. */
#ifndef CRD_VOLUME_ZARR_ARRAY_H
#define CRD_VOLUME_ZARR_ARRAY_H

#include <stdbool.h>

#include "credence/volume.h"
#include "volume/block_cache.h"
#include "volume/zarr/codec.h"

enum { CRD_ZARR_AXES = 5, CRD_ZARR_DEPTH = 32, CRD_ZARR_EDGE = 128 };

/* What .zarray or zarr.json says. The last three axes are z, y, x; all before them have the size 1. */
typedef struct crd_zarr_layout {
    int version; /* 2 or 3 */
    int rank;
    int64_t shape[3], chunk[3]; /* a chunk is what is packed in one piece */
    int stored;                 /* a crd_type or crd_stored */
    bool swap;
    bool turned; /* the axes of a chunk lie in another order: the slowest is order[0] */
    int order[3];
    double fill;
    bool prefixed;  /* chunks' names begin with "c" */
    char separator; /* of the numbers in a chunk's name: '.' or '/'; 0: not said */
    crd_zarr_codec codec;
    int level;
    int inner_sums, outer_sums; /* checksums (CRC-32C) behind a chunk's voxels before and after they are packed */
    bool sharded;               /* a file holds several chunks: */
    int64_t shard[3];           /* so many along each axis */
    bool index_first, index_swap, index_sum;
} crd_zarr_layout;

/* How a new array is kept. */
typedef struct crd_zarr_form {
    int version;
    crd_zarr_codec codec; /* see crd_zarr_codec_preferred */
    int level;            /* 1..9, where it is packed */
    bool shards;          /* version 3: many chunks in a file; crd_zarr_array_finish makes it readable */
} crd_zarr_form;

typedef struct crd_zarr_array crd_zarr_array;

crd_status crd_zarr_array_open(const char *folder, size_t cache_bytes, crd_block_cache **shared, crd_zarr_array **out);
const crd_zarr_layout *crd_zarr_array_layout(const crd_zarr_array *array);
/* `once`: chunks that the box holds whole aren't worth keeping. */
crd_status crd_zarr_array_read(crd_zarr_array *array, const crd_box *box, bool once, void *voxels);
/* Are all chunks of a layer there, 0 being that of the first slices? */
bool crd_zarr_array_has_layer(crd_zarr_array *array, int64_t layer);
/* How many of the array's files aren't there; of very many some are looked for, evenly. */
crd_status crd_zarr_array_absent(crd_zarr_array *array, int64_t *absent, int64_t *looked);

/* A new array for the shape and type of `info`, in our chunks. The folder is made. With `go_on`, an array that is there
 * and has the same layout is written on, which one with shards can't be. */
crd_status crd_zarr_array_create(const char *folder, const crd_volume_info *info, const crd_zarr_form *form, bool go_on,
                                 crd_zarr_array **out);
/* Any box. A chunk that it holds whole appears at once; into others it is written, which costs more where they are
 * packed. */
crd_status crd_zarr_array_write(crd_zarr_array *array, const crd_box *box, const void *voxels);
/* Behind the last box. */
crd_status crd_zarr_array_finish(crd_zarr_array *array);
void crd_zarr_array_close(crd_zarr_array **array);

#endif
