/* From a file's voxels to the network's floats, in one pass. */
#ifndef CRD_CHUNK_NORMALISE_H
#define CRD_CHUNK_NORMALISE_H

#include <stdint.h>

#include "credence/volume.h"

typedef struct crd_normaliser {
    double mean, factor; /* float (value - mean) * factor, of the value as a float, computed in double */
    float fill;          /* in place of what is not finite then */
} crd_normaliser;

/* `count` voxels of `type`; the arrays don't overlap. */
void crd_normalise(const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to);

#endif
