/* Chunked datasets: libhdf5 finds the chunks, we decode them. libhdf5 trusts what a broken chunk unpacks to, and would
 * hold its lock while it decodes. */
#ifndef CRD_VOLUME_HDF5_CHUNKS_H
#define CRD_VOLUME_HDF5_CHUNKS_H

#include "volume/block_cache.h"
#include "volume/hdf5/file.h"
#include "volume/hdf5/filters.h"

typedef struct crd_hdf5_remote crd_hdf5_remote;

typedef struct crd_hdf5_chunks crd_hdf5_chunks;

/* What must be known to decode them. */
typedef struct crd_hdf5_grid {
    int channel;
    int64_t shape[3], chunk[3], counts[3]; /* of the volume, of a chunk, of chunks */
    int64_t file_bytes;
    crd_type type;
    int stored;
    bool swap;
    size_t size; /* of a voxel, stored or widened: the same here */
    crd_hdf5_pipeline pipeline;
    unsigned char fill[8]; /* a voxel of a chunk that was never written */
} crd_hdf5_grid;

/* Where the bytes of a chunk lie in the file. */
typedef struct crd_hdf5_place {
    uint64_t offset, bytes; /* 0 bytes: it was never written; CRD_HDF5_LOST: it can't be found */
    uint32_t skipped;       /* filters that it went past */
} crd_hdf5_place;
#define CRD_HDF5_LOST UINT64_MAX

/* False where it needs libhdf5: other filters than deflate, shuffle and fletcher32, odd types, chunks larger than the
 * cache. Needs the lock. */
bool crd_hdf5_understand(const crd_hdf5_array *array, size_t cache_bytes, crd_hdf5_grid *out);
/* Does it make sense, whoever says it? */
bool crd_hdf5_grid_is_sound(const crd_hdf5_grid *grid, size_t cache_bytes);

/* *out = NULL where it isn't understood. `shown` and the array are borrowed. `shared` as for crd_block_cache_open.
 * Needs the lock. */
crd_status crd_hdf5_open_chunks(const crd_hdf5_array *array, const char *shown, size_t cache_bytes,
                                crd_block_cache **shared, crd_hdf5_chunks **out);
/* The same without libhdf5 in this process; the helper finds the chunks, and is borrowed. */
crd_status crd_hdf5_open_chunks_apart(crd_hdf5_remote *remote, const crd_hdf5_grid *grid, const char *shown,
                                      size_t cache_bytes, crd_block_cache **shared, crd_hdf5_chunks **out);

/* One voxel among those of an array, and as an array of its own, which libhdf5 is asked for where a chunk is missing.
 * Both are made when they are first needed, and serve for all chunks of the array. Needs the lock. */
typedef struct crd_hdf5_voxel {
    hid_t chosen, alone;
} crd_hdf5_voxel;
#define CRD_HDF5_NO_VOXEL                                                                                              \
    {                                                                                                                  \
        H5I_INVALID_HID, H5I_INVALID_HID                                                                               \
    }
void crd_hdf5_close_voxel(crd_hdf5_voxel *voxel);

/* Asks libhdf5 where a chunk lies, without reading it. Needs the lock. */
crd_status crd_hdf5_find_chunk(hid_t dataset, const crd_hdf5_grid *grid, const int64_t index[3], const char *shown,
                               crd_hdf5_voxel *voxel, crd_hdf5_place *out);

/* A checked box; `once`: chunks that it holds whole are not kept for later. Takes the lock itself. */
crd_status crd_hdf5_read_chunks(crd_hdf5_chunks *chunks, const crd_box *box, bool once, void *voxels);

void crd_hdf5_close_chunks(crd_hdf5_chunks **chunks);

#endif
