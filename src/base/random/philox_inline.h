/* Philox4x32-10 to be inlined into loops, on the CPU and in CUDA device code: ten rounds of two 32 x 32 -> 64 bit
 * products. The constants are the algorithm's own (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
 */
#ifndef CRD_BASE_RANDOM_PHILOX_INLINE_H
#define CRD_BASE_RANDOM_PHILOX_INLINE_H

#include "base/portable_math_inline.h"

CRD_PORTABLE void crd_philox_round(uint32_t key0, uint32_t key1, uint32_t x[4])
{
    const uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
    const uint32_t x1 = x[1], x3 = x[3];
    x[0] = (uint32_t)(b >> 32) ^ x1 ^ key0;
    x[1] = (uint32_t)b;
    x[2] = (uint32_t)(a >> 32) ^ x3 ^ key1;
    x[3] = (uint32_t)a;
}

/* x holds the counter and then the four random words. The rounds stand one by one because a loop around them would keep
 * the compiler from making vector code of the loop over counters. */
CRD_PORTABLE void crd_philox_inline(uint32_t key0, uint32_t key1, uint32_t x[4])
{
    const uint32_t step0 = 0x9E3779B9u, step1 = 0xBB67AE85u;
    crd_philox_round(key0, key1, x);
    crd_philox_round(key0 + step0, key1 + step1, x);
    crd_philox_round(key0 + 2 * step0, key1 + 2 * step1, x);
    crd_philox_round(key0 + 3 * step0, key1 + 3 * step1, x);
    crd_philox_round(key0 + 4 * step0, key1 + 4 * step1, x);
    crd_philox_round(key0 + 5 * step0, key1 + 5 * step1, x);
    crd_philox_round(key0 + 6 * step0, key1 + 6 * step1, x);
    crd_philox_round(key0 + 7 * step0, key1 + 7 * step1, x);
    crd_philox_round(key0 + 8 * step0, key1 + 8 * step1, x);
    crd_philox_round(key0 + 9 * step0, key1 + 9 * step1, x);
}

#endif
