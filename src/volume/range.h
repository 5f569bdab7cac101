/* What values lie between. */
#ifndef CRD_VOLUME_RANGE_H
#define CRD_VOLUME_RANGE_H

#include "credence/volume.h"

/* Extends [*low, *high], which begins as infinity and minus infinity, to the finite ones of these values. */
void crd_voxel_range(crd_type type, const void *voxels, int64_t count, double *low, double *high);

#endif
