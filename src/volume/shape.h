/* Shapes of arrays that hold a volume. */
#ifndef CRD_VOLUME_SHAPE_H
#define CRD_VOLUME_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* Three dimensions, or four of which the last or else the first is a single channel; *channel = the index of the one
 * that was dropped, or -1. False if it is no volume. */
bool crd_shape_of(const int64_t *dims, int count, int64_t shape[3], int *channel);

#endif
