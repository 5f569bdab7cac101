/* Chunked datasets: libhdf5 finds the chunks, we decode them. libhdf5 trusts what a broken chunk unpacks to, and would
 * hold its lock while it decodes. */
#ifndef CRD_VOLUME_HDF5_CHUNKS_H
#define CRD_VOLUME_HDF5_CHUNKS_H

#include "volume/block_cache.h"
#include "volume/hdf5/file.h"

typedef struct crd_hdf5_chunks crd_hdf5_chunks;

/* *out = NULL where it needs libhdf5: other filters than deflate, shuffle and fletcher32, odd types, chunks larger than
 * the cache. `shown` and the array are borrowed. `shared` as for crd_block_cache_open. Needs the lock. */
crd_status crd_hdf5_open_chunks(const crd_hdf5_array *array, const char *shown, size_t cache_bytes,
                                crd_block_cache **shared, crd_hdf5_chunks **out);

/* A checked box; `once`: chunks that it holds whole are not kept for later. Takes the lock itself. */
crd_status crd_hdf5_read_chunks(crd_hdf5_chunks *chunks, const crd_box *box, bool once, void *voxels);

void crd_hdf5_close_chunks(crd_hdf5_chunks **chunks);

#endif
