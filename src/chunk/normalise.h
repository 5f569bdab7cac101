/* From a file's voxels to the network's floats, in one pass. */
#ifndef CRD_CHUNK_NORMALISE_H
#define CRD_CHUNK_NORMALISE_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/volume.h"

typedef struct crd_normaliser {
    double mean, factor; /* float (value - mean) * factor, of the value as a float, computed in double */
    float fill;          /* in place of what is not finite then */
    float reach;         /* what lies farther from 0 is moved there */
} crd_normaliser;

/* `count` voxels of `type`; the arrays don't overlap. */
void crd_normalise(const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to);

/* The same by one of the instruction sets that it chooses from, 0 being everybody's; false where the processor lacks
 * it. All give the same bits, so the choice is nobody's but the machine's. */
enum { CRD_NORMALISE_PATHS = 3 };
bool crd_normalise_by(int path, const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to);

#endif
