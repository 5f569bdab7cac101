/* A level from the one before: every voxel stands for up to 2 x 2 x 2. */
#ifndef CRD_VIEW_HALVE_H
#define CRD_VIEW_HALVE_H

#include "credence/volume.h"

/* The mean, rounded for whole numbers, of those that are finite for others. `size` is that of `from`; `to` has
 * (n + 1) / 2 along each axis. */
void crd_halve_values(crd_type type, const void *from, const int64_t size[3], void *to);
/* The class that most of them have; of equals the higher one, and any before none. */
void crd_halve_classes(const uint8_t *from, const int64_t size[3], uint8_t *to);

#endif
