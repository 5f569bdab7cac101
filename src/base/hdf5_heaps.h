/* Heaps of HDF5 files: where names of groups' members (local) and texts of variable length (global) lie. libhdf5
 * follows the sizes and places in them without looking: it may never come to an end, or leave its buffers. */
#ifndef CRD_BASE_HDF5_HEAPS_H
#define CRD_BASE_HDF5_HEAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crd_hdf5_layout {
    int fd;
    uint64_t base, end;              /* where addresses count from, and where the file ends */
    size_t offset_size, length_size; /* bytes of an address and of a length */
} crd_hdf5_layout;

/* What the superblock says; 8 and 8 bytes where there is none, which is libhdf5's to refuse. */
void crd_hdf5_layout_read(int fd, uint64_t end, crd_hdf5_layout *out);

/* `bytes` were read from `address` on: do they begin a heap that libhdf5 must not see? That voxels look like the
 * beginning of one and go on like a broken one is next to impossible. */
bool crd_hdf5_heap_is_broken(const crd_hdf5_layout *file, uint64_t address, const unsigned char *bytes, size_t count);

#endif
