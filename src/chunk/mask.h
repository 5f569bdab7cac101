/* Which voxels of a scan count: those in the circle inscribed in (y, x), or those that a file marks. A mask is a volume
 * of u8 with the scan's shape, 1 inside and 0 outside. */
#ifndef CRD_CHUNK_MASK_H
#define CRD_CHUNK_MASK_H

#include <stdint.h>

#include "credence/volume.h"

/* text: "cylinder", or the path of a volume of the scan's shape (nonzero = inside); raw voxels are u8 unless a file
 * beside them says otherwise. */
crd_status crd_mask_open(const char *text, const int64_t shape[3], crd_volume **out);

/* How a mask's file is opened: raw voxels of the scan's shape, one byte each, need no description. */
crd_volume_options crd_mask_reading(const char *path, const int64_t shape[3]);

#endif
