#include "view/tiles/halve.h"

#include <math.h>
#include <string.h>

#include "view/tiles/layers.h"

/* Rows of `from` that make one row of `to`: up to four, and how many. */
typedef struct rows {
    const char *at[4];
    int count;
} rows;

static rows rows_for(const char *from, size_t voxel, const int64_t size[3], int64_t z, int64_t y)
{
    rows r = {.count = 0};
    for (int64_t i = 2 * z; i < 2 * z + 2 && i < size[0]; i++) {
        for (int64_t k = 2 * y; k < 2 * y + 2 && k < size[1]; k++) {
            r.at[r.count++] = from + (size_t)((i * size[1] + k) * size[2]) * voxel;
        }
    }
    return r;
}

/* SUM holds the sum of eight voxels of TYPE. */
#define WHOLE_NUMBERS(NAME, TYPE, SUM)                                                                                 \
    static void NAME(const rows *r, int64_t width, void *to)                                                           \
    {                                                                                                                  \
        TYPE *out = to;                                                                                                \
        for (int64_t x = 0; x < width; x += 2) {                                                                       \
            const int across = x + 1 < width ? 2 : 1;                                                                  \
            SUM sum = 0;                                                                                               \
            for (int i = 0; i < r->count; i++) {                                                                       \
                const TYPE *row = (const TYPE *)(const void *)r->at[i];                                                \
                sum += (SUM)row[x] + (SUM)(across == 2 ? row[x + 1] : 0);                                              \
            }                                                                                                          \
            const SUM n = (SUM)(across * r->count);                                                                    \
            out[x / 2] = (TYPE)(sum >= 0 ? (sum + n / 2) / n : -((n / 2 - sum) / n));                                  \
        }                                                                                                              \
    }

#define REAL_NUMBERS(NAME, TYPE)                                                                                       \
    static void NAME(const rows *r, int64_t width, void *to)                                                           \
    {                                                                                                                  \
        TYPE *out = to;                                                                                                \
        for (int64_t x = 0; x < width; x += 2) {                                                                       \
            double sum = 0.0;                                                                                          \
            int n = 0;                                                                                                 \
            for (int i = 0; i < r->count; i++) {                                                                       \
                const TYPE *row = (const TYPE *)(const void *)r->at[i];                                                \
                for (int64_t k = x; k < x + 2 && k < width; k++) {                                                     \
                    if (!isfinite(row[k])) continue;                                                                   \
                    sum += (double)row[k];                                                                             \
                    n++;                                                                                               \
                }                                                                                                      \
            }                                                                                                          \
            out[x / 2] = n > 0 ? (TYPE)(sum / n) : (TYPE)NAN;                                                          \
        }                                                                                                              \
    }

WHOLE_NUMBERS(halve_u8, uint8_t, int32_t)
WHOLE_NUMBERS(halve_i8, int8_t, int32_t)
WHOLE_NUMBERS(halve_u16, uint16_t, int32_t)
WHOLE_NUMBERS(halve_i16, int16_t, int32_t)
WHOLE_NUMBERS(halve_u32, uint32_t, int64_t)
WHOLE_NUMBERS(halve_i32, int32_t, int64_t)
REAL_NUMBERS(halve_f32, float)
REAL_NUMBERS(halve_f64, double)

/* Eight of the largest would be too many for a sum: each is divided first. */
static void halve_u64(const rows *r, int64_t width, void *to)
{
    uint64_t *out = to;
    for (int64_t x = 0; x < width; x += 2) {
        const uint64_t n = (uint64_t)r->count * (x + 1 < width ? 2 : 1);
        uint64_t whole = 0, rest = 0;
        for (int i = 0; i < r->count; i++) {
            const uint64_t *row = (const uint64_t *)(const void *)r->at[i];
            for (int64_t k = x; k < x + 2 && k < width; k++) {
                whole += row[k] / n;
                rest += row[k] % n;
            }
        }
        out[x / 2] = whole + (rest + n / 2) / n;
    }
}

void crd_halve_values(crd_type type, const void *from, const int64_t size[3], void *to)
{
    static void (*const halve[CRD_TYPE_COUNT])(const rows *, int64_t, void *) = {
        [CRD_U8] = halve_u8,   [CRD_I8] = halve_i8,   [CRD_U16] = halve_u16,
        [CRD_I16] = halve_i16, [CRD_U32] = halve_u32, [CRD_I32] = halve_i32,
        [CRD_F32] = halve_f32, [CRD_F64] = halve_f64, [CRD_U64] = halve_u64};
    const size_t voxel = crd_type_size(type);
    char *out = to;
    for (int64_t z = 0; z < (size[0] + 1) / 2; z++) {
        for (int64_t y = 0; y < (size[1] + 1) / 2; y++) {
            const rows r = rows_for(from, voxel, size, z, y);
            halve[type](&r, size[2], out);
            out += (size_t)((size[2] + 1) / 2) * voxel;
        }
    }
}

static uint8_t most(const uint8_t *votes, int count)
{
    uint8_t best = CRD_NO_CLASS;
    int best_votes = 0;
    for (int i = 0; i < count; i++) {
        int same = 0;
        for (int k = 0; k < count; k++) same += votes[k] == votes[i];
        const bool higher = votes[i] != CRD_NO_CLASS && (best == CRD_NO_CLASS || votes[i] > best);
        if (same > best_votes || (same == best_votes && higher)) {
            best = votes[i];
            best_votes = same;
        }
    }
    return best;
}

void crd_halve_classes(const uint8_t *from, const int64_t size[3], uint8_t *to)
{
    for (int64_t z = 0; z < (size[0] + 1) / 2; z++) {
        for (int64_t y = 0; y < (size[1] + 1) / 2; y++) {
            const rows r = rows_for((const char *)from, 1, size, z, y);
            for (int64_t x = 0; x < size[2]; x += 2) {
                uint8_t votes[8] = {0};
                int count = 0;
                bool alike = true;
                for (int i = 0; i < r.count; i++) {
                    for (int64_t k = x; k < x + 2 && k < size[2]; k++) votes[count++] = ((const uint8_t *)r.at[i])[k];
                }
                for (int i = 1; i < count; i++) alike = alike && votes[i] == votes[0];
                *to++ = alike ? votes[0] : most(votes, count);
            }
        }
    }
}
