/* The filters of HDF5 that come with it: what a chunk went through on its way to the file, and back. */
#ifndef CRD_VOLUME_HDF5_FILTERS_H
#define CRD_VOLUME_HDF5_FILTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { CRD_HDF5_FILTERS = 8 };

typedef enum crd_hdf5_filter { CRD_HDF5_DEFLATE = 1, CRD_HDF5_SHUFFLE = 2, CRD_HDF5_FLETCHER32 = 3 } crd_hdf5_filter;

typedef struct crd_hdf5_pipeline {
    int count;
    crd_hdf5_filter filters[CRD_HDF5_FILTERS]; /* in the order of writing */
    size_t value_bytes;                        /* what shuffle takes apart */
} crd_hdf5_pipeline;

/* Undoes the filters, less those whose bits are set in `skipped`. `data` holds `bytes` of the file and is used up;
 * `out` and `data` have room for `chunk_bytes` + 4 per filter, or more. The result is in *decoded, which is one of the
 * two, and has exactly `chunk_bytes` bytes. A chunk that gives anything else is an error that names the file. */
crd_status crd_hdf5_decode(const crd_hdf5_pipeline *pipeline, unsigned skipped, const char *shown, char *data,
                           size_t bytes, char *out, size_t chunk_bytes, char **decoded);

#endif
