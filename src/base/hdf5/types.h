/* Types of values as an HDF5 file describes them. */
#ifndef CRD_BASE_HDF5_TYPES_H
#define CRD_BASE_HDF5_TYPES_H

#include <hdf5.h>
#include <stdbool.h>

/* Is it an integer or a float all of whose bits lie within its bytes? libhdf5 1.10 converts others, too, and reads
 * beyond its buffers. */
bool crd_hdf5_number_is_sound(hid_t type);

#endif
