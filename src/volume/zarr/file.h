/* What array.c and store.c share; for nobody else. */
#ifndef CRD_VOLUME_ZARR_FILE_H
#define CRD_VOLUME_ZARR_FILE_H

#include "volume/zarr/array.h"

enum { CRD_ZARR_LAYOUT_LIMIT = 1 << 20, CRD_ZARR_KEY = 160 };

struct crd_zarr_array {
    char *folder;
    crd_zarr_layout layout;
    crd_type type;             /* of the voxels that are handed out */
    size_t stored_size, size;  /* of a voxel in the file, and of one handed out */
    int64_t counts[3], voxels; /* chunks along each axis; voxels of a chunk */
    crd_block_cache *cache;    /* NULL: chunks don't fit, and are read row by row */
    char *packed, *plain;      /* a chunk as in its file, and unpacked */
    size_t packed_room;
    char *path; /* of the chunk at hand */
    size_t path_room;
};

/* An array without a layout; frees with crd_zarr_array_close. */
crd_status crd_zarr_new(const char *folder, crd_zarr_array **out);
/* Sizes that follow from the layout. */
crd_status crd_zarr_measure(crd_zarr_array *array);

/* Sets array->path to the file of a chunk. */
void crd_zarr_name_chunk(crd_zarr_array *array, const int64_t index[3]);
/* The chunk at array->path in its final form, or what it is filled with where there is none. Uses array->packed. */
crd_status crd_zarr_load_chunk(crd_zarr_array *array, char *out);

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
