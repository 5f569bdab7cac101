#include "volume/range.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { LANES = 16 };

/* Lanes that don't wait for each other; the smallest and the largest of them are the same in any order. */
#define DEFINE_RANGE(NAME, TYPE, LOWEST, HIGHEST, USABLE)                                                              \
    static void NAME(const void *from, int64_t count, double *minimum, double *maximum)                                \
    {                                                                                                                  \
        const TYPE *values = from;                                                                                     \
        TYPE low[LANES], high[LANES];                                                                                  \
        for (int k = 0; k < LANES; k++) {                                                                              \
            low[k] = HIGHEST;                                                                                          \
            high[k] = LOWEST;                                                                                          \
        }                                                                                                              \
        int64_t i = 0;                                                                                                 \
        for (; i + LANES <= count; i += LANES) {                                                                       \
            for (int k = 0; k < LANES; k++) {                                                                          \
                const TYPE v = values[i + k];                                                                          \
                low[k] = USABLE && v < low[k] ? v : low[k];                                                            \
                high[k] = USABLE && v > high[k] ? v : high[k];                                                         \
            }                                                                                                          \
        }                                                                                                              \
        for (int k = 0; i < count; i++, k++) {                                                                         \
            const TYPE v = values[i];                                                                                  \
            low[k] = USABLE && v < low[k] ? v : low[k];                                                                \
            high[k] = USABLE && v > high[k] ? v : high[k];                                                             \
        }                                                                                                              \
        for (int k = 0; k < LANES; k++) {                                                                              \
            if ((double)low[k] < *minimum) *minimum = (double)low[k];                                                  \
            if ((double)high[k] > *maximum) *maximum = (double)high[k];                                                \
        }                                                                                                              \
    }

DEFINE_RANGE(range_u8, uint8_t, 0, UINT8_MAX, true)
DEFINE_RANGE(range_i8, int8_t, INT8_MIN, INT8_MAX, true)
DEFINE_RANGE(range_u16, uint16_t, 0, UINT16_MAX, true)
DEFINE_RANGE(range_i16, int16_t, INT16_MIN, INT16_MAX, true)
DEFINE_RANGE(range_u32, uint32_t, 0, UINT32_MAX, true)
DEFINE_RANGE(range_i32, int32_t, INT32_MIN, INT32_MAX, true)
DEFINE_RANGE(range_u64, uint64_t, 0, UINT64_MAX, true)
DEFINE_RANGE(range_f32, float, -FLT_MAX, FLT_MAX, fabsf(v) <= FLT_MAX)
DEFINE_RANGE(range_f64, double, -DBL_MAX, DBL_MAX, fabs(v) <= DBL_MAX)

void crd_voxel_range(crd_type type, const void *voxels, int64_t count, double *low, double *high)
{
    static void (*const functions[CRD_TYPE_COUNT])(const void *, int64_t, double *, double *) = {
        [CRD_U8] = range_u8,   [CRD_I8] = range_i8,   [CRD_U16] = range_u16,
        [CRD_I16] = range_i16, [CRD_U32] = range_u32, [CRD_I32] = range_i32,
        [CRD_F32] = range_f32, [CRD_F64] = range_f64, [CRD_U64] = range_u64,
    };
    functions[type](voxels, count, low, high);
    *low += 0.0; /* -0 would depend on the order of values */
    *high += 0.0;
}
