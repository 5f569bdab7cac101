/* The reference operations in float. */
#include "ops/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/real_float.h"

#include "ops/reference_convolution.inc"
#include "ops/reference_scalar.inc"
#include "ops/reference_voxelwise.inc"
