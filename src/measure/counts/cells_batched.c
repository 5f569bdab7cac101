/* A row of cells on processors that turn 64 bytes of bits around in one instruction.
 *
 * In most cells most realisations have the same code. So that code is counted once for all of them, and those that
 * differ are counted as unlike it (a byte each, so that one addition serves all), and by their own codes. These wait as
 * keys, realisation * 256 + code, and are counted many together: no branch depends on how many there were in a cell. */
#include "measure/counts/cells.h"

#include <string.h>

#include "base/assert.h"
#include "base/cpu.h"

bool crd_cells_can_batch(void)
{
    return crd_cpu_has_bit_matrices();
}

#ifdef __x86_64__
#include <immintrin.h>

enum { LANES = 8, CODES = CRD_CELL_CODES, UNLIKE_MOST = 255, CELLS_MOST = 65535, LIST = 1024 };

#define TARGET                                                                                                         \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,gfni,bmi,"        \
                          "popcnt")))

/* Byte 8 j + k of the result is byte j of word 7 - k: eight bytes of eight corners side by side, which the product with
 * the matrix below turns into eight codes. */
static const uint8_t bytes_of_corners[64] __attribute__((aligned(64))) = {
    56, 48, 40, 32, 24, 16, 8,  0,  57, 49, 41, 33, 25, 17, 9,  1,  58, 50, 42, 34, 26, 18,
    10, 2,  59, 51, 43, 35, 27, 19, 11, 3,  60, 52, 44, 36, 28, 20, 12, 4,  61, 53, 45, 37,
    29, 21, 13, 5,  62, 54, 46, 38, 30, 22, 14, 6,  63, 55, 47, 39, 31, 23, 15, 7};
static const uint64_t unit_matrix = UINT64_C(0x8040201008040201);

static void count_keys(crd_cell_batch *batch)
{
    for (int64_t i = 0; i < batch->key_count; i++) batch->own[batch->keys[i]]++;
    batch->key_count = 0;
}

static void put_unlike(crd_cell_tally *tally, int code)
{
    crd_cell_batch *batch = &tally->batch;
    for (int s = 0; s < 64; s++) tally->counts[s][code] += (uint32_t)(batch->cells[code] - batch->unlike[code][s]);
    memset(batch->unlike[code], 0, sizeof batch->unlike[code]);
    batch->cells[code] = 0;
}

/* A counter of `own` rises once a cell at most. */
static void put_own(crd_cell_tally *tally)
{
    crd_cell_batch *batch = &tally->batch;
    count_keys(batch);
    for (int s = 0; s < 64; s++) {
        for (int code = 0; code < CODES; code++) tally->counts[s][code] += batch->own[s * CODES + code];
    }
    memset(batch->own, 0, sizeof batch->own);
    batch->cell_count = 0;
}

void crd_cells_settle(crd_cell_tally *tally)
{
    if (tally->batch.cell_count == 0) return;
    for (int code = 0; code < CODES; code++) put_unlike(tally, code);
    put_own(tally);
}

TARGET static inline __m512i load_cell(const crd_cell_row *row, int64_t x)
{
    const __m128i a = _mm_loadu_si128((const __m128i *)(row->rows[0] + x)),
                  b = _mm_loadu_si128((const __m128i *)(row->rows[1] + x));
    const __m128i c = _mm_loadu_si128((const __m128i *)(row->rows[2] + x)),
                  d = _mm_loadu_si128((const __m128i *)(row->rows[3] + x));
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Appends the keys of the realisations of half of the bytes that `unlike` names. */
TARGET static inline void add_keys(crd_cell_batch *batch, __m256i codes, uint32_t unlike, __m512i realisations)
{
    const __m512i keys = _mm512_or_si512(_mm512_cvtepu8_epi16(codes), realisations);
    _mm512_storeu_si512(batch->keys + batch->key_count, _mm512_maskz_compress_epi16(unlike, keys));
    batch->key_count += __builtin_popcount(unlike);
}

/* The cells of a list, of which none is 0 or 255 for all realisations. */
TARGET static void count_listed(const crd_cell_row *row, int64_t first, const uint16_t *list, int64_t count,
                                crd_cell_tally *tally, uint32_t *own)
{
    crd_cell_batch *batch = &tally->batch;
    const __m512i order = _mm512_load_si512(bytes_of_corners), matrix = _mm512_set1_epi64((long long)unit_matrix);
    const __m512i half = _mm512_set1_epi64(__builtin_popcountll(row->used) / 2), one = _mm512_set1_epi8(1);
    uint16_t numbers[64];
    for (int s = 0; s < 64; s++) numbers[s] = (uint16_t)(s << 8);
    const __m512i low = _mm512_loadu_si512(numbers), high = _mm512_loadu_si512(numbers + 32);
    for (int64_t i = 0; i < count; i++) {
        const __m512i words = load_cell(row, first + list[i]);
        const __m512i codes = _mm512_gf2p8affine_epi64_epi8(matrix, _mm512_permutexvar_epi8(order, words), 0);
        const unsigned usual = _mm512_cmpgt_epu64_mask(_mm512_popcnt_epi64(words), half);
        const uint64_t unlike = _mm512_cmpneq_epi8_mask(codes, _mm512_set1_epi8((char)usual)) & row->used;
        const __m512i before = _mm512_load_si512(batch->unlike[usual]);
        _mm512_store_si512(batch->unlike[usual], _mm512_mask_add_epi8(before, unlike, before, one));
        add_keys(batch, _mm512_castsi512_si256(codes), (uint32_t)unlike, low);
        add_keys(batch, _mm512_extracti64x4_epi64(codes, 1), (uint32_t)(unlike >> 32), high);
        if (++batch->cells[usual] == UNLIKE_MOST) put_unlike(tally, (int)usual);
        if (own != NULL) {
            const unsigned mine =
                (unsigned)(_mm512_test_epi64_mask(words, _mm512_set1_epi64((long long)(UINT64_C(1) << row->bit))));
            own[mine]++;
        }
        if (batch->key_count > CRD_CELL_KEYS - 64) count_keys(batch);
    }
    batch->cell_count += count;
}

/* Up to LIST cells. Vectors reach up to eight words behind them. */
TARGET static void count_piece(const crd_cell_row *row, int64_t first, int64_t count, crd_cell_tally *tally,
                               int64_t same[2], uint32_t *own)
{
    const __m512i full = _mm512_set1_epi64((long long)row->used);
    uint16_t list[LIST + LANES];
    int64_t listed = 0;
    for (int64_t i = 0; i < count; i += LANES) {
        const __mmask8 here = count - i < LANES ? (__mmask8)((1U << (count - i)) - 1) : 0xff;
        __m512i any = _mm512_setzero_si512(), all = full;
        for (int k = 0; k < 4; k++) {
            const __m512i a = _mm512_loadu_si512(row->rows[k] + first + i),
                          b = _mm512_loadu_si512(row->rows[k] + first + i + 1);
            any = _mm512_ternarylogic_epi64(any, a, b, 0xfe);
            all = _mm512_ternarylogic_epi64(all, a, b, 0x80);
        }
        const __mmask8 none = _mm512_mask_testn_epi64_mask(here, any, any),
                       every = _mm512_mask_cmpeq_epi64_mask(here, all, full);
        const __mmask8 mixed = (__mmask8)(here & ~(none | every));
        const __m128i places = _mm_add_epi16(_mm_set1_epi16((short)i), _mm_set_epi16(7, 6, 5, 4, 3, 2, 1, 0));
        same[0] += __builtin_popcount(none);
        same[1] += __builtin_popcount(every);
        _mm_storeu_si128((__m128i *)(list + listed), _mm_maskz_compress_epi16(mixed, places));
        listed += __builtin_popcount(mixed);
    }
    if (tally->batch.cell_count + listed > CELLS_MOST) put_own(tally);
    count_listed(row, first, list, listed, tally, own);
}

void crd_cells_batched(const crd_cell_row *row, crd_cell_tally *tally, int64_t same[2], uint32_t *own)
{
    for (int64_t first = 0; first < row->count; first += LIST) {
        count_piece(row, first, row->count - first < LIST ? row->count - first : LIST, tally, same, own);
    }
}

#else

void crd_cells_batched(const crd_cell_row *row, crd_cell_tally *tally, int64_t same[2], uint32_t *own)
{
    CRD_ASSERT(row == NULL && tally == NULL && same == NULL && own == NULL); /* never called */
}

void crd_cells_settle(crd_cell_tally *tally)
{
    CRD_ASSERT(tally->batch.cell_count == 0);
}

#endif
