/* Boxes of voxels as text: z0:z1,y0:y1,x0:x1, each from the first to behind the last. */
#ifndef CRD_VOLUME_BOX_H
#define CRD_VOLUME_BOX_H

#include <stdint.h>

#include "credence/volume.h"

/* Whether a volume of this shape has the box's voxels, and it holds one. `name` is the setting's, for the sentence. */
crd_status crd_box_check(const char *name, const crd_box *box, const int64_t shape[3]);
/* A box that crd_box_check has nothing against; shape NULL: one of a volume that isn't open yet, which holds a voxel
 * and begins at 0 or later. */
crd_status crd_box_parse(const char *name, const char *text, const int64_t *shape, crd_box *out);

#endif
