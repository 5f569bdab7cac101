/* The block at the start of an HDF5 file. We check what it says before libhdf5 reads it, because libhdf5 believes it.
 */
#ifndef CRD_BASE_HDF5_SUPERBLOCK_H
#define CRD_BASE_HDF5_SUPERBLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_hdf5_layout {
    int fd;
    uint64_t base, end;              /* where addresses count from, and where the file ends */
    size_t offset_size, length_size; /* bytes of an address and of a length: 2, 4 or 8 */
} crd_hdf5_layout;

/* Fails where there is no superblock, or none of a version we know that fits the `length` bytes of the file. */
crd_status crd_hdf5_superblock_read(int fd, const char *path, int64_t length, crd_hdf5_layout *out);

#endif
