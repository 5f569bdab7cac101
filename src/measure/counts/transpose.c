#include "measure/counts/transpose.h"

#include <string.h>

#include "base/cpu.h"

void crd_transpose_plain(const uint64_t words[64], uint64_t out[64])
{
    uint64_t mask = UINT64_C(0x00000000ffffffff);
    memcpy(out, words, 64 * sizeof *out);
    for (int j = 32; j != 0; j >>= 1, mask ^= mask << j) {
        for (int k = 0; k < 64; k = ((k | j) + 1) & ~j) {
            const uint64_t t = ((out[k] >> j) ^ out[k | j]) & mask;
            out[k] ^= t << j;
            out[k | j] ^= t;
        }
    }
}

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vbmi,gfni")))

/* Byte 8 k + j of the result is byte k of word 7 - j: a matrix of 8 x 8 bits in every word, upside down, which the
 * product with the unit matrix turns around. */
static const uint8_t bytes_of_words[64] __attribute__((aligned(64))) = {
    56, 48, 40, 32, 24, 16, 8,  0,  57, 49, 41, 33, 25, 17, 9,  1,  58, 50, 42, 34, 26, 18,
    10, 2,  59, 51, 43, 35, 27, 19, 11, 3,  60, 52, 44, 36, 28, 20, 12, 4,  61, 53, 45, 37,
    29, 21, 13, 5,  62, 54, 46, 38, 30, 22, 14, 6,  63, 55, 47, 39, 31, 23, 15, 7};

/* Two vectors become the lower and the upper halves of all pairs of their bytes (of 1, 2 or 4 bytes). */
#define MIX(size, from, to)                                                                                            \
    for (int k = 0; k < 4; k++) {                                                                                      \
        to[2 * k] = _mm512_unpacklo_epi##size(from[k], from[k + 4]);                                                   \
        to[2 * k + 1] = _mm512_unpackhi_epi##size(from[k], from[k + 4]);                                               \
    }

TARGET void crd_transpose_vectors(const uint64_t words[64], uint64_t out[64])
{
    const __m512i order = _mm512_load_si512(bytes_of_words);
    const __m512i matrix = _mm512_set1_epi64((long long)UINT64_C(0x8040201008040201));
    __m512i a[8], b[8];
    for (int j = 0; j < 8; j++) { /* byte b of the j-th: bit b of words 8 j to 8 j + 7 */
        const __m512i bytes = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(words + 8 * j));
        a[j] = _mm512_gf2p8affine_epi64_epi8(matrix, bytes, 0);
    }
    MIX(8, a, b)
    MIX(8, b, a)
    MIX(8, a, b)
    /* in every 16 bytes: vector k has the words of bits 2 k and 2 k + 1 of its sixteen */
    for (int k = 0; k < 8; k++) {
        _mm_storeu_si128((__m128i *)(out + 2 * k), _mm512_castsi512_si128(b[k]));
        _mm_storeu_si128((__m128i *)(out + 16 + 2 * k), _mm512_extracti64x2_epi64(b[k], 1));
        _mm_storeu_si128((__m128i *)(out + 32 + 2 * k), _mm512_extracti64x2_epi64(b[k], 2));
        _mm_storeu_si128((__m128i *)(out + 48 + 2 * k), _mm512_extracti64x2_epi64(b[k], 3));
    }
}

#else

void crd_transpose_vectors(const uint64_t words[64], uint64_t out[64])
{
    crd_transpose_plain(words, out);
}

#endif

crd_transpose *crd_transpose_fastest(void)
{
    return crd_cpu_has_bit_matrices() ? crd_transpose_vectors : crd_transpose_plain;
}
