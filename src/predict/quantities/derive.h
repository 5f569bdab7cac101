/* Quantities that are made of others, once those are final: the most probable class of a voxel, and what depends on it.
 */
#ifndef CRD_PREDICT_QUANTITIES_DERIVE_H
#define CRD_PREDICT_QUANTITIES_DERIVE_H

#include "predict/request.h"

/* Fills them for `count` voxels from those that are averaged; rows[q] is where quantity q of the voxels begins. */
void crd_derive(const crd_request *request, void *const *rows, int64_t count);

/* The first of the most probable classes of up to CRD_DERIVE_VOXELS voxels, and its probability; planes[k] is where the
 * probabilities of class k begin. */
enum { CRD_DERIVE_VOXELS = 256 };
void crd_derive_classes(const float *const *planes, int count, int64_t voxels, uint8_t *best, float *largest);

#endif
