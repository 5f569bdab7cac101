/* From a file's voxels to the network's floats, in one pass. */
#ifndef CRD_CHUNK_NORMALISE_H
#define CRD_CHUNK_NORMALISE_H

#include <stdint.h>

#include "credence/volume.h"

typedef struct crd_normaliser {
    double mean, factor; /* float (value - mean) * factor, of the value as a float, computed in double */
    float fill;          /* in place of voxels that are not finite */
    float reach;         /* what lies farther from 0, or is too large for a float, is moved there; at most FLT_MAX */
} crd_normaliser;

/* `count` voxels of `type`; the arrays don't overlap. */
typedef void crd_normalise_loop(const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to);
crd_normalise_loop crd_normalise;
/* The same on each path of base/cpu.h. */
extern crd_normalise_loop *const crd_normalise_loops[]; /* [CRD_CPU_PATH_COUNT] */

#endif
