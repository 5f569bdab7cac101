/* Inside src/measure: what joins two opposite faces of the window. */
#ifndef CRD_MEASURE_TRANSPORT_JOINING_H
#define CRD_MEASURE_TRANSPORT_JOINING_H

#include "base/parallel.h"
#include "measure/bitmap.h"

/* *out: the voxels of the phase's components that touch both faces normal to an axis, laid out as the bitmap's; free
 * with crd_free. *count: how many they are. Takes twice the bitmap's bytes on the way. `pool` NULL: the caller's
 * thread. */
crd_status crd_joining_find(const crd_bitmap *bitmap, int axis, crd_pool *pool, uint64_t **out, int64_t *count);
/* Whether `voxels`, laid out so, are channels straight along an axis, as open space is: all layers normal to it alike.
 */
bool crd_joining_straight(const crd_bitmap *bitmap, const uint64_t *voxels, int axis);

#endif
