/* Boxes of voxels: checks beside crd_box_parse (credence/volume.h). */
#ifndef CRD_VOLUME_BOX_H
#define CRD_VOLUME_BOX_H

#include <stdint.h>

#include "credence/volume.h"

/* Whether a volume of this shape has the box's voxels, and it holds one. `name` is the setting's, for the sentence. */
crd_status crd_box_check(const char *name, const crd_box *box, const int64_t shape[3]);
#endif
