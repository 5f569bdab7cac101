/* Exact distances from the voxels of a phase to the nearest voxel of the window that is of another phase.
 *
 * Squared distances are whole numbers, multiples of 2^-20 of the smallest voxel edge's square, so that comparisons are
 * exact and the same everywhere. */
#ifndef CRD_MEASURE_THICKNESS_DISTANCE_H
#define CRD_MEASURE_THICKNESS_DISTANCE_H

#include "measure/bitmap.h"

#define CRD_FAR (INT64_MAX / 4) /* there is no such voxel */
enum { CRD_DISTANCE_SHIFT = 20 };

/* The squares of the edges along z, y, x in that unit, which is the smallest edge's square / 2^20. */
void crd_distance_squares(const double spacing[3], int64_t squares[3]);

/* Slices from `first` to before `end`, [z][y][x]; other phases' voxels have 0, voxels outside the window CRD_FAR. Only
 * slices from `low` to before `high` are looked at: see crd_distance_exact. */
typedef struct crd_distance_slab {
    const crd_bitmap *bitmap;
    int64_t squares[3];
    int64_t low, high;  /* slices that are looked at */
    int64_t first, end; /* slices that are wanted */
    int64_t *distances; /* of all that are looked at */
} crd_distance_slab;

crd_status crd_distance_compute(const crd_distance_slab *slab, crd_pool *pool);
/* Can no voxel beyond the slices that were looked at be nearer than what was found? */
bool crd_distance_exact(const crd_distance_slab *slab, crd_pool *pool);

#endif
