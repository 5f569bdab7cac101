#include "measure/counts/chord_step.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/cpu.h"

void crd_chord_plain(const crd_chord_step *s)
{
    for (int64_t x = 0; x < s->width; x++) {
        const uint64_t old = s->at > 0 ? s->before[x] : 0, new = s->here != NULL ? s->here[x] : 0;
        const uint64_t changed = (old ^ new) & s->mine;
        if (changed == 0) continue;
        /* does the neighbour that a chord ends before, or begins behind, lie in the window? */
        const bool ends = s->here != NULL && (s->counted == NULL || s->counted[x] != 0);
        const bool begins = s->at > 0 && (s->counted_before == NULL || s->counted_before[x] != 0);
        uint16_t *line = s->begun + x * s->bits;
        for (uint64_t ended = changed & old; ended != 0; ended &= ended - 1) {
            const int b = __builtin_ctzll(ended);
            if (ends && (s->cut[x] >> b & 1) == 0) {
                s->whole[b * (s->length + 1) + s->at - line[b]]++;
            } else {
                s->cuts[b]++;
            }
        }
        const uint64_t fresh = changed & new;
        s->cut[x] = (s->cut[x] & ~fresh) | (begins ? 0 : fresh);
        for (uint64_t rest = fresh; rest != 0; rest &= rest - 1) line[__builtin_ctzll(rest)] = (uint16_t)s->at;
    }
}

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,popcnt")))

enum { LIST = 2048, WORD = 64, LANES = 8 };

/* Chords that ended, before they are counted: many together, so that no branch depends on how many ended in a voxel. */
typedef struct ended {
    uint16_t lengths[LIST + WORD];
    uint8_t realisations[LIST + WORD];
    int64_t count;
} ended;

static void count_ended(const crd_chord_step *s, ended *e)
{
    for (int64_t i = 0; i < e->count; i++) s->whole[e->realisations[i] * (s->length + 1) + e->lengths[i]]++;
    e->count = 0;
}

/* Half of the realisations of a voxel: `line` and `bits` begin with it. */
TARGET static inline void end_half(uint16_t *lengths, const uint16_t *line, uint32_t bits, __m512i at)
{
    const __m512i begun = _mm512_maskz_loadu_epi16(bits, line);
    _mm512_storeu_si512(lengths, _mm512_maskz_compress_epi16(bits, _mm512_sub_epi16(at, begun)));
}

TARGET static inline void step_voxel(const crd_chord_step *s, int64_t x, uint64_t old, uint64_t changed, __m512i places,
                                     ended *e)
{
    const bool ends = s->here != NULL && (s->counted == NULL || s->counted[x] != 0);
    const bool begins = s->at > 0 && (s->counted_before == NULL || s->counted_before[x] != 0);
    const __m512i at = _mm512_set1_epi16((short)s->at);
    uint16_t *line = s->begun + x * s->bits;
    const uint64_t whole = ends ? changed & old & ~s->cut[x] : 0;
    for (uint64_t cut = changed & old & ~whole; cut != 0; cut &= cut - 1) s->cuts[__builtin_ctzll(cut)]++;
    if (e->count > LIST - WORD) count_ended(s, e);
    _mm512_storeu_si512(e->realisations + e->count, _mm512_maskz_compress_epi8(whole, places));
    end_half(e->lengths + e->count, line, (uint32_t)whole, at);
    e->count += __builtin_popcount((uint32_t)whole);
    const uint64_t fresh = changed & ~old;
    _mm512_mask_storeu_epi16(line, (uint32_t)fresh, at);
    if (s->bits > WORD / 2) {
        end_half(e->lengths + e->count, line + WORD / 2, (uint32_t)(whole >> WORD / 2), at);
        e->count += __builtin_popcount((uint32_t)(whole >> WORD / 2));
        _mm512_mask_storeu_epi16(line + WORD / 2, (uint32_t)(fresh >> WORD / 2), at);
    }
    s->cut[x] = (s->cut[x] & ~fresh) | (begins ? 0 : fresh);
}

TARGET void crd_chord_vectors(const crd_chord_step *s)
{
    uint8_t numbers[WORD];
    ended e;
    e.count = 0;
    for (int i = 0; i < WORD; i++) numbers[i] = (uint8_t)i;
    const __m512i places = _mm512_loadu_si512(numbers), mine = _mm512_set1_epi64((long long)s->mine);
    for (int64_t first = 0; first < s->width; first += LANES) {
        const __mmask8 here = s->width - first < LANES ? (__mmask8)((1U << (s->width - first)) - 1) : 0xff;
        const __m512i old = s->at > 0 ? _mm512_maskz_loadu_epi64(here, s->before + first) : _mm512_setzero_si512();
        const __m512i new = s->here != NULL ? _mm512_maskz_loadu_epi64(here, s->here + first) : _mm512_setzero_si512();
        const __m512i changed = _mm512_and_si512(_mm512_xor_si512(old, new), mine);
        uint64_t olds[LANES], changes[LANES];
        unsigned some = _mm512_test_epi64_mask(changed, changed);
        if (some == 0) continue;
        _mm512_storeu_si512(olds, old);
        _mm512_storeu_si512(changes, changed);
        for (; some != 0; some &= some - 1) {
            const int i = __builtin_ctz(some);
            step_voxel(s, first + i, olds[i], changes[i], places, &e);
        }
    }
    count_ended(s, &e);
}

#else

void crd_chord_vectors(const crd_chord_step *s)
{
    crd_chord_plain(s);
}

#endif

crd_chord_loop *crd_chord_fastest(void)
{
    return crd_cpu_has_bit_matrices() ? crd_chord_vectors : crd_chord_plain;
}
