#include "chunk/normalise.h"

#include "base/cpu.h"

/* Vector code on any processor: no branch, and every number in a variable of its own. `VIA` is float where the type has
 * values that a float must round, and double, which saves a step, where it has none. */
#define NORMALISE(TYPE, VIA)                                                                                           \
    do {                                                                                                               \
        const TYPE *restrict in = from;                                                                                \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const float value = (float)(((double)(VIA)in[i] - mean) * factor);                                         \
            const float above = value < -reach ? -reach : value;                                                       \
            const float inside = above > reach ? reach : above;                                                        \
            out[i] = in[i] - in[i] == 0 && inside == inside ? inside : fill;                                           \
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
    case CRD_U64:
        NORMALISE(uint64_t, float);
        break;
    default:
        break;
    }
}

#define PATH(name, target)                                                                                             \
    target static void normalise_##name(const crd_normaliser *n, crd_type type, const void *from, int64_t count,       \
                                        float *to)                                                                     \
    {                                                                                                                  \
        normalise(n, type, from, count, to);                                                                           \
    }
CRD_CPU_PATHS(PATH)

#define ROW(name, target) normalise_##name,
crd_normalise_loop *const crd_normalise_loops[] = {CRD_CPU_PATHS(ROW)};

void crd_normalise(const crd_normaliser *n, crd_type type, const void *from, int64_t count, float *to)
{
    crd_normalise_loops[crd_cpu_path()](n, type, from, count, to);
}
