/* Coarser levels of an OME-Zarr image: each voxel is the mean of up to 2 x 2 x 2 of the level before. */
#ifndef CRD_VOLUME_ZARR_PYRAMID_H
#define CRD_VOLUME_ZARR_PYRAMID_H

#include "volume/zarr/json.h"

/* The levels' shapes, and how many voxels of the first make one of theirs; both have room for CRD_ZARR_LEVELS. `wanted`
 * levels, or with 0 until one fits a chunk. Gives back how many. */
int crd_zarr_pyramid_plan(const int64_t shape[3], int wanted, int64_t shapes[][3], int64_t factors[][3]);

/* Levels 1 and up below the folder `group`, whose level 0 is there and finished. */
crd_status crd_zarr_pyramid_build(const char *group, const crd_volume_info *info, const crd_zarr_form *form, int levels,
                                  const int64_t shapes[][3]);

#endif
