/* Heaps of HDF5 files: where names of groups' members (local) and texts of variable length (global) lie. libhdf5
 * trusts the sizes and positions in them: in a broken file it may loop for ever, or read outside its buffers. */
#ifndef CRD_BASE_HDF5_HEAPS_H
#define CRD_BASE_HDF5_HEAPS_H

#include <stdbool.h>

#include "base/hdf5/superblock.h"

/* `bytes` were read from `address` on: do they begin a heap that libhdf5 must not see? That voxels look like the
 * beginning of one and go on like a broken one is next to impossible. */
bool crd_hdf5_heap_is_broken(const crd_hdf5_layout *file, uint64_t address, const unsigned char *bytes, size_t count);

#endif
