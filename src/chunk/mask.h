/* Which voxels of a scan count: all of them, those in the circle inscribed in (y, x), or those that a volume marks. */
#ifndef CRD_CHUNK_MASK_H
#define CRD_CHUNK_MASK_H

#include <stdint.h>

#include "credence/volume.h"

typedef struct crd_mask crd_mask;

/* text: "cylinder", or the path of a volume of the scan's shape (nonzero = inside); raw voxels are u8 unless a file
 * beside them says otherwise. */
crd_status crd_mask_open(const char *text, const int64_t shape[3], crd_mask **out);
crd_status crd_mask_reopen(const crd_mask *mask, crd_mask **out);
void crd_mask_close(crd_mask **mask);

/* How a mask's file is opened: raw voxels of the scan's shape, one byte each, need no description. */
crd_volume_options crd_mask_reading(const char *path, const int64_t shape[3]);

/* 1 inside, 0 outside. */
crd_status crd_mask_read(crd_mask *mask, const crd_box *box, uint8_t *inside);

#endif
