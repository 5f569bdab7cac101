/* One vector of floats, under the same names for AVX-512 and AVX2: the kernels (*.inc) are written once and compiled
 * by avx512.c and avx2.c with the flags of their instructions. Loads and stores need no alignment. */
#ifndef CRD_BACKEND_CPU_VEC_H
#define CRD_BACKEND_CPU_VEC_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
/* Loops whose bounds are constants and whose arrays must become registers. */
#define UNROLLED _Pragma("GCC unroll 32")

/* Asks for a line to come into the second cache, while other work goes on. In assembler, because gcc takes a function
 * that does nothing but prefetch for one without effect, and drops the calls. */
INLINE void vec_ask(const float *p)
{
    __asm__ volatile("prefetcht1 %0" ::"m"(*p));
}
/* To be called after the last vec_stream, before other threads may read. */
INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

#if defined(__AVX512F__)

enum { LANES = 16, REGISTERS = 32 };
typedef __m512 vec;

INLINE vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
INLINE void vec_store(float *p, vec a)
{
    _mm512_storeu_ps(p, a);
}
/* A store past the caches, to an aligned address. */
INLINE void vec_stream(float *p, vec a)
{
    _mm512_stream_ps(p, a);
}
INLINE vec vec_all(float a)
{
    return _mm512_set1_ps(a);
}
INLINE vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}
INLINE vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}
INLINE vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}
INLINE vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}
INLINE vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}
/* a in the lanes where x equals y, or doesn't, or where x is above zero; 0 in the others. */
INLINE vec vec_where_equal(vec x, vec y, vec a)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ), a);
}
INLINE vec vec_where_unequal(vec x, vec y, vec a)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ), a);
}
INLINE vec vec_where_positive(vec x, vec a)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), a);
}
/* a * b + c and c - a * b, rounded once. */
INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}
INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
/* sum[i] += a[i] in double. */
INLINE void vec_add_to_doubles(double *sum, vec a)
{
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    const __m512d high = _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_shuffle_f32x4(a, a, 0xee)));
    _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), low));
    _mm512_storeu_pd(sum + 8, _mm512_add_pd(_mm512_loadu_pd(sum + 8), high));
}

/* The first `count` lanes; the others become zero. */
INLINE vec vec_first(vec a, int count)
{
    return _mm512_maskz_mov_ps((__mmask16)((1u << count) - 1), a);
}
INLINE vec vec_load_first(const float *p, int count)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
}
INLINE void vec_store_first(float *p, vec a, int count)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), a);
}
/* Lane i = the sum of a[i]'s lanes. */
INLINE vec vec_sum_each(const vec a[LANES])
{
    vec b[8], c[4];
    UNROLLED
    for (int i = 0; i < 8; i++)
        b[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a[i], a[i + 8], 0x44), _mm512_shuffle_f32x4(a[i], a[i + 8], 0xee));
    UNROLLED
    for (int i = 0; i < 4; i++)
        c[i] = _mm512_add_ps(_mm512_shuffle_f32x4(b[i], b[i + 4], 0x88), _mm512_shuffle_f32x4(b[i], b[i + 4], 0xdd));
    const vec even = _mm512_add_ps(_mm512_unpacklo_ps(c[0], c[2]), _mm512_unpackhi_ps(c[0], c[2]));
    const vec odd = _mm512_add_ps(_mm512_unpacklo_ps(c[1], c[3]), _mm512_unpackhi_ps(c[1], c[3]));
    const vec sums = _mm512_add_ps(_mm512_unpacklo_ps(even, odd), _mm512_unpackhi_ps(even, odd));
    return _mm512_shuffle_f32x4(sums, sums, _MM_SHUFFLE(3, 1, 2, 0)); /* quarters come as 0, 8, 4, 12 */
}

#elif defined(__AVX2__)

enum { LANES = 8, REGISTERS = 16 };
typedef __m256 vec;

INLINE vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
INLINE void vec_store(float *p, vec a)
{
    _mm256_storeu_ps(p, a);
}
INLINE void vec_stream(float *p, vec a)
{
    _mm256_stream_ps(p, a);
}
INLINE vec vec_all(float a)
{
    return _mm256_set1_ps(a);
}
INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}
INLINE vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}
INLINE vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}
INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}
INLINE vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}
INLINE vec vec_where_equal(vec x, vec y, vec a)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, y, _CMP_EQ_OQ), a);
}
INLINE vec vec_where_unequal(vec x, vec y, vec a)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, y, _CMP_NEQ_UQ), a);
}
INLINE vec vec_where_positive(vec x, vec a)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ), a);
}
INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
INLINE void vec_add_to_doubles(double *sum, vec a)
{
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
    _mm256_storeu_pd(sum, _mm256_add_pd(_mm256_loadu_pd(sum), low));
    _mm256_storeu_pd(sum + 4, _mm256_add_pd(_mm256_loadu_pd(sum + 4), high));
}

INLINE __m256i vec_first_mask(int count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE vec vec_first(vec a, int count)
{
    return _mm256_and_ps(a, _mm256_castsi256_ps(vec_first_mask(count)));
}
INLINE vec vec_load_first(const float *p, int count)
{
    return _mm256_maskload_ps(p, vec_first_mask(count));
}
INLINE void vec_store_first(float *p, vec a, int count)
{
    _mm256_maskstore_ps(p, vec_first_mask(count), a);
}
INLINE vec vec_sum_each(const vec a[LANES])
{
    const vec low = _mm256_hadd_ps(_mm256_hadd_ps(a[0], a[1]), _mm256_hadd_ps(a[2], a[3]));
    const vec high = _mm256_hadd_ps(_mm256_hadd_ps(a[4], a[5]), _mm256_hadd_ps(a[6], a[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

#endif

/* The same in a register: the compiler may not load it again for each use, which costs more where loads are scarce. */
INLINE vec vec_held(vec a)
{
    __asm__("" : "+v"(a));
    return a;
}
INLINE vec vec_zero(void)
{
    return vec_all(0);
}
/* Past the caches where what is written won't be read soon. */
INLINE void vec_put(bool far, float *p, vec a)
{
    if (far)
        vec_stream(p, a);
    else
        vec_store(p, a);
}
/* At least `floor`, which is 0 for a ReLU; NaN where `a` isn't finite (ops/ops.h says why). */
INLINE vec vec_at_least(vec a, vec floor)
{
    return vec_fma(a, vec_zero(), vec_max(a, floor));
}

#endif
