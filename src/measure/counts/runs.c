#include "measure/counts/runs.h"

#include "base/cpu.h"

/* Word w of a row, its voxels moved by one: from the left, from the right. */
static inline __attribute__((always_inline)) uint64_t from_left(const uint64_t *row, int64_t w)
{
    return row[w] << 1 | (w > 0 ? row[w - 1] >> 63 : 0);
}

static inline __attribute__((always_inline)) uint64_t from_right(const uint64_t *row, int64_t words, int64_t w)
{
    return row[w] >> 1 | (w + 1 < words ? row[w + 1] << 63 : 0);
}

/* Where two rows touch within a word: the first voxel of every stretch that both have, and voxels of b that have one of
 * a only before them, or only behind them. A stretch belongs to one run of each row, and no corner repeats another
 * touch of the same word. */
typedef struct touches {
    uint64_t both, before, behind;
    uint64_t begins_a, begins_b; /* of runs */
} touches;

static inline __attribute__((always_inline)) touches touches_of(const uint64_t *a, const uint64_t *b, int64_t words,
                                                                int64_t w, int corners)
{
    const uint64_t left_a = from_left(a, w), left_b = from_left(b, w);
    touches t = {.both = a[w] & b[w] & ~(left_a & left_b), .begins_a = a[w] & ~left_a, .begins_b = b[w] & ~left_b};
    if (corners) {
        const uint64_t alone = b[w] & ~a[w];
        t.before = alone & left_a & ~left_b;
        t.behind = alone & from_right(a, words, w) & ~from_right(b, words, w);
    }
    return t;
}

/* ---- one after the other ---- */

static inline __attribute__((always_inline)) int64_t find_runs(const uint64_t *bits, int64_t words, uint16_t *edges)
{
    int64_t count = 0;
    for (int64_t w = 0; w < words; w++) {
        for (uint64_t rest = bits[w] ^ from_left(bits, w); rest != 0; rest &= rest - 1) {
            edges[count++] = (uint16_t)(64 * w + __builtin_ctzll(rest));
        }
    }
    if (count % 2 != 0) edges[count++] = (uint16_t)(64 * words);
    return count / 2;
}

typedef struct lists {
    uint16_t *of_a, *of_b;
    int64_t count;
    int64_t runs_a, runs_b; /* that begin before this word */
} lists;

static inline __attribute__((always_inline)) void add_touches(lists *l, const touches *t, uint64_t points, int further)
{
    for (; points != 0; points &= points - 1) {
        const uint64_t until = points ^ (points - 1);
        l->of_a[l->count] = (uint16_t)(l->runs_a + __builtin_popcountll(t->begins_a & until) - 1 + further);
        l->of_b[l->count++] = (uint16_t)(l->runs_b + __builtin_popcountll(t->begins_b & until) - 1);
    }
}

static inline __attribute__((always_inline)) int64_t find_touches(const uint64_t *a, const uint64_t *b, int64_t words,
                                                                  int corners, uint16_t *of_a, uint16_t *of_b)
{
    lists l = {.of_a = of_a, .of_b = of_b};
    for (int64_t w = 0; w < words; w++) {
        const touches t = touches_of(a, b, words, w, corners);
        add_touches(&l, &t, t.both, 0);
        add_touches(&l, &t, t.before, 0);
        add_touches(&l, &t, t.behind, 1); /* that run of a begins behind this voxel */
        l.runs_a += __builtin_popcountll(t.begins_a);
        l.runs_b += __builtin_popcountll(t.begins_b);
    }
    return l.count;
}

#define PATH(name, target)                                                                                             \
    target static int64_t find_##name(const uint64_t *bits, int64_t words, uint16_t *edges)                            \
    {                                                                                                                  \
        return find_runs(bits, words, edges);                                                                          \
    }                                                                                                                  \
    target static int64_t touch_##name(const uint64_t *a, const uint64_t *b, int64_t words, int corners,               \
                                       uint16_t *of_a, uint16_t *of_b)                                                 \
    {                                                                                                                  \
        return find_touches(a, b, words, corners, of_a, of_b);                                                         \
    }
CRD_CPU_PATHS(PATH)

#define ROW(name, target) {find_##name, touch_##name},
const crd_runs_path crd_runs_paths[] = {CRD_CPU_PATHS(ROW)};

/* ---- eight and more at once ---- */

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET                                                                                                         \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi,popcnt")))

static const uint8_t places[64] __attribute__((aligned(64))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

TARGET static int64_t find_vectors(const uint64_t *bits, int64_t words, uint16_t *edges)
{
    const __m512i all = _mm512_load_si512(places);
    int64_t count = 0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t here = bits[w] ^ from_left(bits, w);
        const __m512i packed = _mm512_maskz_compress_epi8(here, all), first = _mm512_set1_epi16((short)(64 * w));
        const __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed));
        const __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(packed, 1));
        _mm512_storeu_si512(edges + count, _mm512_add_epi16(low, first));
        _mm512_storeu_si512(edges + count + 32, _mm512_add_epi16(high, first));
        count += __builtin_popcountll(here);
    }
    if (count % 2 != 0) edges[count++] = (uint16_t)(64 * words);
    return count / 2;
}

/* How many runs begin up to each of eight places of a word, less one, as 16 bits. */
TARGET static inline __m128i ranks(uint64_t begins, __m512i beyond, int64_t before)
{
    const __m512i until = _mm512_andnot_si512(beyond, _mm512_set1_epi64((long long)begins));
    return _mm_add_epi16(_mm512_cvtepi64_epi16(_mm512_popcnt_epi64(until)), _mm_set1_epi16((short)(before - 1)));
}

TARGET static inline void add_vectors(lists *l, const touches *t, uint64_t points, int further)
{
    const int count = __builtin_popcountll(points);
    __m512i packed = _mm512_maskz_compress_epi8(points, _mm512_load_si512(places));
    for (int k = 0; k < count; k += 8) {
        const __m512i at = _mm512_cvtepu8_epi64(_mm512_castsi512_si128(packed));
        const __m512i beyond = _mm512_sllv_epi64(_mm512_set1_epi64(-2), at);
        _mm_storeu_si128((__m128i *)(l->of_a + l->count + k), ranks(t->begins_a, beyond, l->runs_a + further));
        _mm_storeu_si128((__m128i *)(l->of_b + l->count + k), ranks(t->begins_b, beyond, l->runs_b));
        packed = _mm512_alignr_epi64(packed, packed, 1);
    }
    l->count += count;
}

TARGET static int64_t touch_vectors(const uint64_t *a, const uint64_t *b, int64_t words, int corners, uint16_t *of_a,
                                    uint16_t *of_b)
{
    lists l = {.of_a = of_a, .of_b = of_b};
    for (int64_t w = 0; w < words; w++) {
        const touches t = touches_of(a, b, words, w, corners);
        add_vectors(&l, &t, t.both, 0);
        if (corners) {
            add_vectors(&l, &t, t.before, 0);
            add_vectors(&l, &t, t.behind, 1);
        }
        l.runs_a += __builtin_popcountll(t.begins_a);
        l.runs_b += __builtin_popcountll(t.begins_b);
    }
    return l.count;
}

const crd_runs_path crd_runs_vectors = {find_vectors, touch_vectors};

#else

const crd_runs_path crd_runs_vectors = {find_portable, touch_portable};

#endif

const crd_runs_path *crd_runs_fastest(void)
{
    return crd_cpu_has_bit_matrices() ? &crd_runs_vectors : &crd_runs_paths[crd_cpu_path()];
}
