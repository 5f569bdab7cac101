/* Eight voxels in the compilers' own vectors, and the conversions that compilers don't make well of them. Vectors are
 * passed by pointer, because how a wide one is passed depends on the instruction set. */
#ifndef CRD_VALIDATE_ROWS_LANES_H
#define CRD_VALIDATE_ROWS_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "validate/rows.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define ROW_INLINE static inline __attribute__((always_inline))

enum { ROW_LANES = 8 };
typedef int32_t row_whole __attribute__((vector_size(4 * ROW_LANES)));
typedef double row_doubles __attribute__((vector_size(8 * ROW_LANES)));
typedef uint64_t row_longs __attribute__((vector_size(8 * ROW_LANES)));
typedef int64_t row_masks __attribute__((vector_size(8 * ROW_LANES)));

/* CRD_BLOCK squared distances. */
typedef int16_t row_squares __attribute__((vector_size(2 * CRD_BLOCK)));

/* The bits of `yes` where the mask has them, else those of `no`. */
#define row_either(mask, yes, no) (((row_masks)(yes) & (mask)) | ((row_masks)(no) & ~(mask)))

#if defined(__AVX512F__)

ROW_INLINE void row_widen(const float *from, row_doubles *out)
{
    *out = (row_doubles)_mm512_cvtps_pd(_mm256_loadu_ps(from));
}

ROW_INLINE void row_widen_kind(const uint8_t *from, row_masks *out)
{
    *out = (row_masks)_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)from));
}

/* Towards zero; values are within 32 bits. */
ROW_INLINE void row_narrow(const row_doubles *from, row_whole *out)
{
    *out = (row_whole)_mm512_cvttpd_epi32((__m512d)*from);
}

ROW_INLINE void row_root(row_doubles *x)
{
    *x = (row_doubles)_mm512_sqrt_pd((__m512d)*x);
}

/* *b becomes the smaller of the two, lane by lane. */
ROW_INLINE void row_smaller(const row_squares *a, row_squares *b)
{
    *b = (row_squares)_mm512_min_epi16((__m512i)*a, (__m512i)*b);
}

ROW_INLINE void row_not_negative(row_squares *a)
{
    *a = (row_squares)_mm512_max_epi16((__m512i)*a, _mm512_setzero_si512());
}

#elif defined(__AVX2__)

ROW_INLINE void row_widen(const float *from, row_doubles *out)
{
    const __m256d halves[2] = {_mm256_cvtps_pd(_mm_loadu_ps(from)), _mm256_cvtps_pd(_mm_loadu_ps(from + 4))};
    memcpy(out, halves, sizeof halves);
}

ROW_INLINE void row_widen_kind(const uint8_t *from, row_masks *out)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
    const __m256i halves[2] = {_mm256_cvtepu8_epi64(bytes), _mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4))};
    memcpy(out, halves, sizeof halves);
}

ROW_INLINE void row_narrow(const row_doubles *from, row_whole *out)
{
    __m256d halves[2];
    memcpy(halves, from, sizeof halves);
    const __m128i whole[2] = {_mm256_cvttpd_epi32(halves[0]), _mm256_cvttpd_epi32(halves[1])};
    memcpy(out, whole, sizeof whole);
}

ROW_INLINE void row_root(row_doubles *x)
{
    __m256d halves[2];
    memcpy(halves, x, sizeof halves);
    halves[0] = _mm256_sqrt_pd(halves[0]);
    halves[1] = _mm256_sqrt_pd(halves[1]);
    memcpy(x, halves, sizeof halves);
}

ROW_INLINE void row_smaller(const row_squares *a, row_squares *b)
{
    __m256i first[2], second[2];
    memcpy(first, a, sizeof first);
    memcpy(second, b, sizeof second);
    for (int i = 0; i < 2; i++) second[i] = _mm256_min_epi16(first[i], second[i]);
    memcpy(b, second, sizeof second);
}

ROW_INLINE void row_not_negative(row_squares *a)
{
    __m256i halves[2];
    memcpy(halves, a, sizeof halves);
    for (int i = 0; i < 2; i++) halves[i] = _mm256_max_epi16(halves[i], _mm256_setzero_si256());
    memcpy(a, halves, sizeof halves);
}

#else

ROW_INLINE void row_smaller(const row_squares *a, row_squares *b)
{
    const row_squares first = *a < *b;
    *b = (*a & first) | (*b & ~first);
}

ROW_INLINE void row_not_negative(row_squares *a)
{
    *a &= *a > 0;
}

ROW_INLINE void row_widen(const float *from, row_doubles *out)
{
    for (int i = 0; i < ROW_LANES; i++) (*out)[i] = (double)from[i];
}

ROW_INLINE void row_widen_kind(const uint8_t *from, row_masks *out)
{
    for (int i = 0; i < ROW_LANES; i++) (*out)[i] = from[i];
}

ROW_INLINE void row_narrow(const row_doubles *from, row_whole *out)
{
    for (int i = 0; i < ROW_LANES; i++) (*out)[i] = (int32_t)(*from)[i];
}

ROW_INLINE void row_root(row_doubles *x)
{
    for (int i = 0; i < ROW_LANES; i++) (*x)[i] = sqrt((*x)[i]);
}

#endif
#endif
