#include "chunk/normalise.h"

/* Vector code on any processor: no branch, and every number in a variable of its own. `VIA` is float where the type has
 * values that a float must round, and double, which saves a step, where it has none. */
#define NORMALISE(TYPE, VIA)                                                                                           \
    do {                                                                                                               \
        const TYPE *restrict in = from;                                                                                \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const float value = (float)(((double)(VIA)in[i] - mean) * factor);                                         \
            const float finite = value - value == 0.0f ? value : fill;                                                 \
            const float above = finite < -reach ? -reach : finite;                                                     \
            out[i] = above > reach ? reach : above;                                                                    \
        }                                                                                                              \
    } while (0)

static inline __attribute__((always_inline)) void normalise(const crd_normaliser *n, crd_type type, const void *from,
                                                            int64_t count, float *to)
{
    const double mean = n->mean, factor = n->factor;
    const float fill = n->fill, reach = n->reach;
    float *restrict out = to;
    switch (type) {
    case CRD_U8:
        NORMALISE(uint8_t, double);
        break;
    case CRD_I8:
        NORMALISE(int8_t, double);
        break;
    case CRD_U16:
        NORMALISE(uint16_t, double);
        break;
    case CRD_I16:
        NORMALISE(int16_t, double);
        break;
    case CRD_U32:
        NORMALISE(uint32_t, float);
        break;
    case CRD_I32:
        NORMALISE(int32_t, float);
        break;
    case CRD_F32:
        NORMALISE(float, float);
        break;
    case CRD_F64:
        NORMALISE(double, float);
        break;
    default:
        break;
    }
}

/* One source for several instruction sets. */
#define PATH(NAME, TARGET)                                                                                             \
    TARGET static void NAME(const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to)        \
    {                                                                                                                  \
        normalise(n, type, from, count, to);                                                                           \
    }

PATH(plain, )
#ifdef __x86_64__
PATH(avx2, __attribute__((target("avx2"))))
PATH(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

bool crd_normalise_by(int path, const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to)
{
    switch (path) {
#ifdef __x86_64__
    case 2:
        if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
            !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
            return false;
        avx512(n, type, from, count, to);
        return true;
    case 1:
        if (!__builtin_cpu_supports("avx2")) return false;
        avx2(n, type, from, count, to);
        return true;
#endif
    case 0:
        plain(n, type, from, count, to);
        return true;
    default:
        return false;
    }
}

void crd_normalise(const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to)
{
    int path = CRD_NORMALISE_PATHS - 1;
    while (!crd_normalise_by(path, n, type, from, count, to)) path--;
}
