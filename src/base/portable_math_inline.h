/* The functions of portable_math.h, to be inlined into loops: no branch, no table, no call, so that a loop over one of
 * them becomes vector code (AVX2, AVX-512), and the same text compiles as CUDA device code.
 *
 * Why the bits agree everywhere: only integer operations and + - * / of IEEE 754 numbers, each rounded on its own. C
 * compilers must not contract (-ffp-contract=off) nor use fast-math; nvcc is kept from it by crd_mul, through which
 * goes every product that something may be added to. Only NaN's payload may differ.
 *
 * All coefficients come from tools/fit_approximations.py. None may change: stored results, and the random numbers built
 * on crd_log_positive, depend on their bits, of which the tests hold hashes. */
#ifndef CRD_BASE_PORTABLE_MATH_INLINE_H
#define CRD_BASE_PORTABLE_MATH_INLINE_H

#include <float.h>
#include <math.h> /* fabs and sqrt, which are single instructions; NAN, INFINITY */
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
#error "this arithmetic has to be rounded operation by operation: build without -ffast-math, and with SSE2 on x86"
#endif

#ifdef __CUDACC__
#define CRD_PORTABLE static inline __host__ __device__
#else
#define CRD_PORTABLE static inline __attribute__((always_inline))
#endif

/* ln 2 in two parts; a whole number below 2^13 times the first is exact. */
#define CRD_LN2_HIGH 0x1.62e42fefa2000p-1
#define CRD_LN2_LOW  0x1.9ef35793c7673p-41
#define CRD_LOG2_E   0x1.71547652b82fep+0

CRD_PORTABLE uint64_t crd_bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

CRD_PORTABLE double crd_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a * b, rounded before anything is added to it, whatever nvcc has been told about fused operations. */
CRD_PORTABLE double crd_mul(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

/* condition ? a : b. The compilers make branches of ?: where they see a constant behind it, and then no vector code. */
CRD_PORTABLE double crd_select(int condition, double a, double b)
{
    return crd_from_bits(crd_bits_of(b) ^ ((crd_bits_of(a) ^ crd_bits_of(b)) & (0 - (uint64_t)condition)));
}

/* x within [low, high]; NaN stays NaN. */
CRD_PORTABLE double crd_clamp(double x, double low, double high)
{
    const double most = crd_select(x > high, high, x);
    return crd_select(most < low, low, most);
}

/* e^r - 1 - r, less than 0.1 ulp of e^r - 1 off, for |r| <= ln(2)/2. */
CRD_PORTABLE double crd_exp_rest(double r)
{
    double p = 0x1.1f19f2aef9cdcp-29;
    p = crd_mul(p, r) + 0x1.af4db98c44ca8p-26;
    p = crd_mul(p, r) + 0x1.27e510dbd9a97p-22;
    p = crd_mul(p, r) + 0x1.71de024ac7460p-19;
    p = crd_mul(p, r) + 0x1.a01a0190617b9p-16;
    p = crd_mul(p, r) + 0x1.a01a01abdf2d5p-13;
    p = crd_mul(p, r) + 0x1.6c16c16c1a076p-10;
    p = crd_mul(p, r) + 0x1.11111111100eep-7;
    p = crd_mul(p, r) + 0x1.555555555554ep-5;
    p = crd_mul(p, r) + 0x1.5555555555557p-3;
    p = crd_mul(p, r) + 0x1.0000000000000p-1;
    return crd_mul(crd_mul(r, r), p);
}

/* e^x = 2^n * e^r with whole n and |r| <= ln(2)/2: adding 1.5 * 2^52 rounds x / ln 2 to a whole number, which then
 * stands in the low bits of the sum. `bias` is added to it there, to keep it positive. */
CRD_PORTABLE double crd_exp_inline(double x)
{
    const double bias = 2046, shift = 0x1.8p52 + bias;
    const double y = crd_clamp(x, -746, 710); /* beyond: 0 and infinity */
    const double shifted = crd_mul(y, CRD_LOG2_E) + shift;
    const double n = shifted - shift;
    const double high = y - crd_mul(n, CRD_LN2_HIGH), low = crd_mul(n, CRD_LN2_LOW);
    const double r = high - low, lost = (high - r) - low;
    const double sum = 1 + r, missed = (1 - sum) + r; /* sum + missed == 1 + r */
    const double power = sum + (missed + (crd_exp_rest(r) + lost));
    /* 2^n may lie outside the range of double where 2^n e^r does not: two factors, of which only the second rounds. */
    const uint64_t exponent = crd_bits_of(shifted) & 0x1fff, half = exponent >> 1;
    return crd_mul(power * crd_from_bits(half << 52), crd_from_bits((exponent - half) << 52));
}

/* log(x * 2^-e) for a positive normal x, where unit = 2^52 + 1023 + e.
 *
 * x = 2^k m with m in [sqrt(1/2), sqrt 2). With f = m - 1 (exact) and s = f / (2 + f), log m = 2 atanh s
 * = f - f^2/2 + s (f^2/2 + R), where s R is what 2 atanh s has beyond 2 s: the large terms are nearly exact. */
CRD_PORTABLE double crd_log_positive(double x, double unit)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    const uint64_t raised = crd_bits_of(x) + (one - sqrt_half); /* carries into the exponent from sqrt 2 on */
    const double k = crd_from_bits(0x4330000000000000 | (raised >> 52)) - unit;
    const double f = crd_from_bits((raised & 0x000fffffffffffff) + sqrt_half) - 1;
    const double s = f / (2 + f), z = crd_mul(s, s), half_square = crd_mul(0.5 * f, f);
    double p = 0x1.2b5a8419ed807p-3;
    p = crd_mul(p, z) + 0x1.39fe2e2119f49p-3;
    p = crd_mul(p, z) + 0x1.7462b65522b18p-3;
    p = crd_mul(p, z) + 0x1.c71c62df00937p-3;
    p = crd_mul(p, z) + 0x1.2492492df704bp-2;
    p = crd_mul(p, z) + 0x1.99999999952a7p-2;
    p = crd_mul(p, z) + 0x1.5555555555558p-1;
    const double rest = crd_mul(s, half_square + crd_mul(z, p));
    return crd_mul(k, CRD_LN2_HIGH) - ((half_square - (rest + crd_mul(k, CRD_LN2_LOW))) - f);
}

/* The logarithm of a positive finite x, or what stands in its place for the others. */
CRD_PORTABLE double crd_log_special(double x, double logarithm)
{
    const double of_zero = crd_select(x == 0, -(double)INFINITY, (double)NAN);
    const double special = crd_select(x > 0, x, of_zero);
    return crd_select((x > 0) & (x <= DBL_MAX), logarithm, special);
}

CRD_PORTABLE double crd_log_inline(double x)
{
    const int small = x < 0x1p-1022;
    const double scaled = x * 0x1p54;
    const double unit = 0x1p52 + 1023;
    const double result = crd_log_positive(crd_select(small, scaled, x), crd_select(small, unit + 54, unit));
    return crd_log_special(x, result);
}

/* log(1 + e) for 0 <= e <= 1, by the same identity without the splitting: s <= 1/3 needs a longer polynomial. */
CRD_PORTABLE double crd_log1p_unit(double e)
{
    const double s = e / (2 + e), z = crd_mul(s, s), half_square = crd_mul(0.5 * e, e);
    double p = 0x1.40489dabf7c4fp-3;
    p = crd_mul(p, z) + 0x1.32b0b622a5715p-4;
    p = crd_mul(p, z) + 0x1.bc4346abbcf26p-4;
    p = crd_mul(p, z) + 0x1.e0a15adda79c9p-4;
    p = crd_mul(p, z) + 0x1.111accb454759p-3;
    p = crd_mul(p, z) + 0x1.3b1350a52e111p-3;
    p = crd_mul(p, z) + 0x1.745d199902132p-3;
    p = crd_mul(p, z) + 0x1.c71c71bec68e1p-3;
    p = crd_mul(p, z) + 0x1.2492492499ef1p-2;
    p = crd_mul(p, z) + 0x1.9999999999942p-2;
    p = crd_mul(p, z) + 0x1.5555555555555p-1;
    return e - (half_square - crd_mul(s, half_square + crd_mul(z, p)));
}

/* tanh x = E / (E + 2), E = e^(2x) - 1 = 2^n (e^r - 1) + (2^n - 1): small x lose nothing. tanh is odd; from 22 on, 1.
 * Three roundings would add up to 2.5 ulp, so numerator and denominator are kept with what their sums missed. */
CRD_PORTABLE double crd_tanh_inline(double x)
{
    const double shift = 0x1.8p52 + 1023;
    const double a = fabs(x), y = 2 * crd_select(a > 22, 22, a);
    const double shifted = crd_mul(y, CRD_LOG2_E) + shift;
    const double n = shifted - shift;
    const double high = y - crd_mul(n, CRD_LN2_HIGH), low = crd_mul(n, CRD_LN2_LOW);
    const double r = high - low, lost = (high - r) - low;
    const double rest = crd_exp_rest(r) + lost, p = r + rest, p_missed = (r - p) + rest;
    const double scale = crd_from_bits((crd_bits_of(shifted) & 0x7ff) << 52), whole = scale - 1;
    const double scaled = crd_mul(scale, p);
    const double e = whole + scaled, e_missed = ((whole - e) + scaled) + crd_mul(scale, p_missed);
    const double d = e + 2, two = d - e, d_missed = ((e - (d - two)) + (2 - two)) + e_missed;
    const double quotient = e / d;
    const double result = quotient + (e_missed - crd_mul(quotient, d_missed)) / d;
    const uint64_t sign = crd_bits_of(x) & 0x8000000000000000;
    return crd_from_bits(crd_bits_of(result) | sign);
}

CRD_PORTABLE double crd_softplus_inline(double x)
{
    return crd_select(x > 0, x, 0) + crd_log1p_unit(crd_exp_inline(-fabs(x)));
}

CRD_PORTABLE double crd_sigmoid_inline(double x)
{
    const double e = crd_exp_inline(-fabs(x));
    return crd_select(x < 0, e, 1) / (1 + e);
}

/* The float functions compute in double, to about 1e-11, and round once: nearly always the float nearest to the truth.
 */

/* e^x, relative error below 1e-11, for |x| <= 200 (larger ones are taken as 200: far beyond float). */
CRD_PORTABLE double crd_exp_short(double x)
{
    const double shift = 0x1.8p52 + 1023;
    const double y = crd_clamp(x, -200, 200);
    const double shifted = crd_mul(y, CRD_LOG2_E) + shift;
    const double n = shifted - shift;
    const double r = (y - crd_mul(n, CRD_LN2_HIGH)) - crd_mul(n, CRD_LN2_LOW);
    double p = 0x1.a06cb32354f76p-16;
    p = crd_mul(p, r) + 0x1.a151254e1b8e4p-13;
    p = crd_mul(p, r) + 0x1.6c16fd69ea88cp-10;
    p = crd_mul(p, r) + 0x1.1110c663948f9p-7;
    p = crd_mul(p, r) + 0x1.555555315f601p-5;
    p = crd_mul(p, r) + 0x1.555555673c864p-3;
    p = crd_mul(p, r) + 0x1.00000000049a2p-1;
    const double power = 1 + (r + crd_mul(crd_mul(r, r), p));
    return crd_mul(power, crd_from_bits((crd_bits_of(shifted) & 0x7ff) << 52));
}

CRD_PORTABLE float crd_expf_inline(float x)
{
    return (float)crd_exp_short((double)x);
}

CRD_PORTABLE float crd_logf_inline(float x)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    const uint64_t raised = crd_bits_of((double)x) + (one - sqrt_half);
    const double k = crd_from_bits(0x4330000000000000 | (raised >> 52)) - (0x1p52 + 1023);
    const double f = crd_from_bits((raised & 0x000fffffffffffff) + sqrt_half) - 1;
    const double s = f / (2 + f), z = crd_mul(s, s);
    double p = 0x1.ddd199b204276p-3;
    p = crd_mul(p, z) + 0x1.245c33ef4c2c7p-2;
    p = crd_mul(p, z) + 0x1.9999eb896d79dp-2;
    p = crd_mul(p, z) + 0x1.5555554ba98dcp-1;
    const double log_m = (s + s) + crd_mul(crd_mul(s, z), p);
    return (float)crd_log_special((double)x, crd_mul(k, CRD_LN2_HIGH + CRD_LN2_LOW) + log_m);
}

CRD_PORTABLE float crd_sigmoidf_inline(float x)
{
    const double e = crd_exp_short(-fabs((double)x));
    return (float)(crd_select(x < 0, e, 1) / (1 + e));
}

#endif
