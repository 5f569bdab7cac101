/* HDF5 files that are read: a file driver of our own, because libhdf5's own keeps a copy of what it read last and
 * trusts the sizes in a broken file when it copies from there. This one keeps nothing and stays within the file. It
 * takes no file locks either, which cluster file systems often lack. */
#ifndef CRD_BASE_HDF5_SOURCE_H
#define CRD_BASE_HDF5_SOURCE_H

#include <hdf5.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/hdf5/superblock.h"

/* Opens for reading, once its superblock is found to make sense; close it with H5Fclose. Needs the lock of
 * base/hdf5/lock.h. */
crd_status crd_hdf5_source_open(const char *path, hid_t *file);

/* The same for a file of `length` bytes that is open as `fd`, which is taken over in any case. */
crd_status crd_hdf5_source_take(int fd, int64_t length, const char *path, hid_t *file);

/* Until the next call of crd_hdf5_source_noted, voxels aren't read: what libhdf5 asks for is noted. */
void crd_hdf5_source_note(void);
/* Gives back how often it asked; offset and bytes are those of the last time. */
int crd_hdf5_source_noted(uint64_t *offset, uint64_t *bytes);

/* The file that `object`, a file or a dataset in one, was opened from: for as long as it is open. By its name another
 * may be found by now. */
const crd_hdf5_layout *crd_hdf5_source_layout(hid_t object);

/* Are the dataset's values in its own file? Of others the driver opens none for libhdf5, be it for a link or a virtual
 * dataset; but external storage goes past every driver, so this must be asked before reading. */
bool crd_hdf5_is_inside(hid_t dataset);

#endif
