/* Textbook operations, forward and backward, one obvious loop nest each: the oracle of every test, kept for ever.
 *
 * One source compiles for two types of number: ops/reference_declare.h declares every operation for the `real` of the
 * moment, the .inc files beside it define them, and reference_float.c and reference_double.c compile those. So each
 * operation exists as crd_ref_<name>_f (float) and crd_ref_<name>_d (double). Judge float kernels by the double ones on
 * equal inputs: these float versions add in float, in the obvious order.
 *
 * Tensors are plain (depth, height, width, channels) arrays without any halo. Nothing here allocates or can fail. */
#ifndef CRD_OPS_REFERENCE_H
#define CRD_OPS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "ops/ops.h"

/* A convolution of the network. `edge` is 3, 2 or 1; stride 1; zero padding that keeps the size, an even kernel padded
 * at the end only. The input is the concatenation of two tensors (channels_in[1] = 0: of one). `enlarge` = 2 first
 * doubles the input by repeating voxels (its edges are half of `size`'s); 1 leaves it as it is. */
typedef struct crd_ref_conv {
    crd_conv_size size;
    int edge;
    int enlarge;
} crd_ref_conv;

enum { CRD_NO_LABEL = 255 };

/* Blank lines keep the order of these. */
#include "ops/real_float.h"

#include "ops/reference_declare.h"

#include "ops/real_none.h"

#include "ops/real_double.h"

#include "ops/reference_declare.h"

#include "ops/real_none.h"

#endif
