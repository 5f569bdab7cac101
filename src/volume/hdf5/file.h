/* The parts of the HDF5 format: find.c, plain.c, chunks.c, about.c, and hdf5.c, which uses them.
 * All calls need the lock of base/hdf5/lock.h. */
#ifndef CRD_VOLUME_HDF5_FILE_H
#define CRD_VOLUME_HDF5_FILE_H

#include <hdf5.h>

#include "volume/array/flat.h"
#include "volume/format.h"

/* A dataset that can be a volume. */
typedef struct crd_hdf5_array {
    hid_t dataset;
    int64_t shape[3];
    int channel; /* which of four dimensions is the single channel, or -1 */
    crd_type type;
    hid_t memory_type;
    H5D_layout_t layout;
    int64_t chunk_bytes; /* 0: not chunked */
    int64_t chunk[4];    /* its edges, in the file's dimensions */
    bool filtered;
    bool widened; /* 64-bit integers, half or long floats, read as another type */
} crd_hdf5_array;

/* Opens the dataset `name`, or the only volume in the file where it is NULL. `cache_bytes` sizes its chunk cache. */
crd_status crd_hdf5_find(hid_t file, const char *path, const char *name, size_t cache_bytes, crd_hdf5_array *out);

/* What the file holds, as a crd_type or crd_stored, if it is one of those in either byte order; false otherwise. */
bool crd_hdf5_plain_type(hid_t type, int *stored, bool *swap);

/* Checks the size of a dataset that isn't chunked; *out reads it directly where that is possible, and is NULL
 * elsewhere. */
crd_status crd_hdf5_open_plain(const crd_hdf5_array *array, const char *file, const char *shown, crd_flat **out);

/* libhdf5's own type for ours: not to be closed. */
hid_t crd_hdf5_memory_type(crd_type type);

/* Sizes the chunk cache of `access` for a dataset of `creation`'s layout, with values of `size` bytes. */
bool crd_hdf5_size_cache(hid_t access, hid_t creation, size_t size, size_t cache_bytes);

/* Spacing, unit, origin and scale, as attributes of the dataset. */
void crd_hdf5_read_about(hid_t dataset, crd_volume_info *info);
bool crd_hdf5_write_about(hid_t dataset, const crd_volume_info *info); /* false: libhdf5 knows the reason */

#endif
