/* From 32 random bits to a standard normal number: the quantile at u = (k + 1/2) / 2^32, rounded once to float.
 *
 * Integer operations and individually rounded + - * / sqrt of doubles only: the same bits on any CPU and GPU. Exactly
 * odd: f(~k) == -f(k). Never falling. Within 0.501 ulp of the true quantile. The tests check all of it for all 2^32 k.
 *
 * The quantile is odd about u = 1/2 and has a logarithmic singularity at either end, so there are two formulas,
 * quotients N / D with the least largest relative error, found by tools/fit_approximations.py:
 *
 * - centre, 1/32 <= u <= 31/32: q N(q^2) / D(q^2), q = u - 1/2, degrees 6 and 6, relative error 6.3e-12. A division and
 *   few multiplications, no branch: a loop over it is vector code.
 * - tail, one word in 16: N(s) / D(s) with t = min(u, 1 - u) and s = sqrt(-log t), of which the quantile is nearly a
 *   linear function; degrees 5 and 4, relative error 2.0e-13 down to the smallest t, 2^-33.
 *
 * Why it never falls: neighbouring quantiles are at least 5e-10 apart, the formulas' errors are smooth, rounding errors
 * far smaller, and at the seam the formulas differ by less than 1/200 of a step. */
#ifndef CRD_BASE_RANDOM_NORMAL_TRANSFORM_H
#define CRD_BASE_RANDOM_NORMAL_TRANSFORM_H

#include "base/portable_math_inline.h"

CRD_PORTABLE int crd_normal_is_tail(uint32_t k)
{
    return k + 0x08000000u < 0x10000000u; /* within 2^27 of either end, by wrapping around */
}

/* Right outside the tail; a finite number without meaning inside it. */
CRD_PORTABLE float crd_normal_centre(uint32_t k)
{
    const double q = ((double)(int32_t)(k ^ 0x80000000u) + 0.5) * 0x1p-32; /* exact */
    const double r = crd_mul(q, q);
    double n = 0x1.91b7cdc5639bap+5;
    n = crd_mul(n, r) - 0x1.9f608e4691738p+8;
    n = crd_mul(n, r) + 0x1.75549c701e039p+9;
    n = crd_mul(n, r) - 0x1.172af7605e9a9p+9;
    n = crd_mul(n, r) + 0x1.9811d6ad72283p+7;
    n = crd_mul(n, r) - 0x1.21da6b86955f5p+5;
    n = crd_mul(n, r) + 0x1.40d931ff6ac58p+1;
    double d = 0x1.460049e670eeep+6;
    d = crd_mul(d, r) - 0x1.54b5c9e09b0c3p+8;
    d = crd_mul(d, r) + 0x1.cf6d4bfb70eadp+8;
    d = crd_mul(d, r) - 0x1.251f8a7f55339p+8;
    d = crd_mul(d, r) + 0x1.7d504462c964fp+6;
    d = crd_mul(d, r) - 0x1.f00c92ab631fbp+3;
    d = crd_mul(d, r) + 1;
    return (float)(q * n / d);
}

CRD_PORTABLE float crd_normal_tail(uint32_t k)
{
    const uint32_t upper = k >> 31, near_end = k ^ (0 - upper); /* k, or ~k in the upper half */
    const double t = ((double)(int32_t)near_end + 0.5) * 0x1p-32;
    const double s = sqrt(-crd_log_positive(t, 0x1p52 + 1023));
    double n = 0x1.9f7454d877707p-3;
    n = crd_mul(n, s) + 0x1.ba00a529463b1p+1;
    n = crd_mul(n, s) + 0x1.899bedcebbdcfp+3;
    n = crd_mul(n, s) + 0x1.3e07e8d37c196p+2;
    n = crd_mul(n, s) - 0x1.5e550ed66c52bp+3;
    n = crd_mul(n, s) - 0x1.95842dfe81760p+1;
    double d = 0x1.25bbeb157a861p-3;
    d = crd_mul(d, s) + 0x1.38c8ce4c59829p+1;
    d = crd_mul(d, s) + 0x1.21f41801e2354p+3;
    d = crd_mul(d, s) + 0x1.e1e748249e2b5p+2;
    d = crd_mul(d, s) + 1;
    return (float)(crd_select((int)upper, n, -n) / d);
}

CRD_PORTABLE float crd_normal_transform(uint32_t k)
{
    return crd_normal_is_tail(k) ? crd_normal_tail(k) : crd_normal_centre(k);
}

#endif
