/* Local thickness (Hildebrand & Rueegsegger 1997): the diameter of the largest ball that lies in the phase and holds
 * the voxel, over balls around voxels, exact for every radius. */
#ifndef CRD_MEASURE_THICKNESS_THICKNESS_H
#define CRD_MEASURE_THICKNESS_THICKNESS_H

#include "measure/thickness/distance.h"

/* How many voxels have which squared radius, in the unit of measure/thickness/distance.h; falling. */
typedef struct crd_thickness {
    int64_t *radii, *voxels;
    int64_t count;
} crd_thickness;

/* Bytes that it takes beside the bitmap, at least: slabs, and lists of centres as they come. */
int64_t crd_thickness_bytes(const int64_t shape[3], int64_t slices);
/* Bytes that it takes within a limit: distances, and some 8 % of the voxels as centres of balls. */
int64_t crd_thickness_needs(const int64_t shape[3], int64_t memory_bytes);
/* Nothing is counted where the phase is empty or the window holds no other. */
crd_status crd_thickness_compute(const crd_bitmap *bitmap, const double spacing[3], int64_t memory_bytes,
                                 crd_pool *pool, crd_thickness *out);
void crd_thickness_free(crd_thickness *thickness);

#endif
