/* What array.c, shard.c and store.c share; for nobody else. */
#ifndef CRD_VOLUME_ZARR_FILE_H
#define CRD_VOLUME_ZARR_FILE_H

#include "volume/zarr/array.h"

enum { CRD_ZARR_LAYOUT_LIMIT = 1 << 20, CRD_ZARR_KEY = 160 };

/* Of a chunk in a shard's file, as the index has it. */
typedef struct crd_zarr_place {
    uint64_t offset, bytes; /* both CRD_ZARR_EMPTY: there is none */
} crd_zarr_place;
#define CRD_ZARR_EMPTY UINT64_MAX

struct crd_zarr_array {
    char *folder;
    crd_zarr_layout layout;
    crd_type type;             /* of the voxels that are handed out */
    size_t stored_size, size;  /* of a voxel in the file, and of one handed out */
    int64_t counts[3], voxels; /* chunks along each axis; voxels of a chunk */
    crd_block_cache *cache;    /* NULL: chunks don't fit, and are read row by row */
    char *packed, *plain;      /* a chunk as in its file, and unpacked */
    size_t packed_room;        /* the longest that it can be there */
    char *unsummed;            /* unpacked, with the checksums that are packed with it; NULL without those */
    int64_t shards[3];         /* files along each axis */
    int64_t places;            /* chunks of a file */
    crd_zarr_place *index;     /* while shards are written: where all chunks of all of them lie */
    int64_t *ends;             /* and where each file ends */
    char *path;                /* of the chunk at hand */
    size_t path_room;
};

/* An array without a layout; frees with crd_zarr_array_close. */
crd_status crd_zarr_new(const char *folder, crd_zarr_array **out);
/* Sizes that follow from the layout. */
crd_status crd_zarr_measure(crd_zarr_array *array);

/* Sets array->path to the file of a chunk, or the shard that it lies in. */
void crd_zarr_name_chunk(crd_zarr_array *array, const int64_t index[3]);
/* Opens the file at array->path; -1 where there is none. */
crd_status crd_zarr_open_file(crd_zarr_array *array, int *out, int64_t *bytes);
/* The bytes of a chunk's file, or of its part of a shard's, go to array->packed; *there is false where there is none.
 */
crd_status crd_zarr_fetch(crd_zarr_array *array, const int64_t index[3], bool *there, size_t *bytes);
/* The chunk in its final form, or what it is filled with where there is none. Uses array->packed. */
crd_status crd_zarr_load_chunk(crd_zarr_array *array, const int64_t index[3], char *out);

/* Shards (shard.c). */
int64_t crd_zarr_index_bytes(const crd_zarr_array *array);
/* Where a chunk lies in the open file at array->path, which has so many bytes. */
crd_status crd_zarr_find_in_shard(crd_zarr_array *array, const int64_t index[3], int fd, int64_t file_bytes,
                                  crd_zarr_place *out);
/* Behind all that is in the shard, or over the chunk that was there before, if that has the same size. */
crd_status crd_zarr_add_to_shard(crd_zarr_array *array, const int64_t index[3], const char *data, size_t bytes);
/* The indexes behind the chunks, which come in their order first. */
crd_status crd_zarr_finish_shards(crd_zarr_array *array);
/* "0/.7.tmp" for "0/7"; free with crd_free. */
crd_status crd_zarr_passing_name(const char *path, char **out);
/* Opens a file, making the folders above it if need be. */
crd_status crd_zarr_open_to_write(const char *path, int flags, int *out);

/* The part of a box that lies in a chunk, in voxels of the volume. */
typedef struct crd_zarr_part {
    int64_t start[3], first[3], end[3]; /* start: the chunk's first voxel */
    bool whole;                         /* all that the chunk has of the volume */
} crd_zarr_part;

crd_zarr_part crd_zarr_part_of(const crd_zarr_array *array, const crd_box *box, const int64_t index[3]);
/* Where a row of the part begins, in voxels of the chunk and of the box. */
int64_t crd_zarr_in_chunk(const crd_zarr_array *array, const crd_zarr_part *p, int64_t z, int64_t y);
int64_t crd_zarr_in_box(const crd_box *box, const crd_zarr_part *p, int64_t z, int64_t y);

/* Calls work for every chunk that the box touches. */
typedef crd_status crd_zarr_work(crd_zarr_array *array, const crd_box *box, const int64_t index[3], bool once,
                                 char *voxels);

crd_status crd_zarr_for_chunks(crd_zarr_array *array, const crd_box *box, bool once, char *voxels, crd_zarr_work *work);

#endif
