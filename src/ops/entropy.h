/* A voxel's entropy, for the loops that add it up: the same bits everywhere (base/portable_math_inline.h). */
#ifndef CRD_OPS_ENTROPY_H
#define CRD_OPS_ENTROPY_H

#include "base/portable_math_inline.h"

/* -p log2 p of a probability; 0 has none. */
CRD_PORTABLE double crd_entropy_term(double p)
{
    const double least = 0x1p-1000; /* times its logarithm it is nothing */
    const double log = crd_log_positive(crd_select(p > least, p, least), 0x1p52 + 1023);
    return crd_mul(-p, crd_mul(log, CRD_LOG2_E));
}

#endif
