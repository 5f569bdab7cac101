#include "bayes/weight_math.h"

#include "base/portable_math_inline.h"

CRD_PORTABLE void sigmas_loop(int64_t count, const float *restrict rho, float *restrict sigma, float *restrict slope)
{
    const double floor_of_sigma = 1.1920929e-7;
    for (int64_t i = 0; i < count; i++) {
        sigma[i] = (float)(crd_softplus_inline(rho[i]) + floor_of_sigma);
        slope[i] = (float)crd_sigmoid_inline(rho[i]);
    }
}

CRD_PORTABLE void logarithms_loop(int64_t count, const float *restrict x, double *restrict out)
{
    for (int64_t i = 0; i < count; i++) out[i] = crd_log_inline(x[i]);
}

#define PATH(name, target)                                                                                             \
    target static void sigmas_##name(int64_t count, const float *rho, float *sigma, float *slope)                      \
    {                                                                                                                  \
        sigmas_loop(count, rho, sigma, slope);                                                                         \
    }                                                                                                                  \
    target static void logarithms_##name(int64_t count, const float *x, double *out)                                   \
    {                                                                                                                  \
        logarithms_loop(count, x, out);                                                                                \
    }

static bool everywhere(void)
{
    return true;
}
PATH(plain, )

#ifdef __x86_64__
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
PATH(avx2, __attribute__((target("avx2"))))

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}
PATH(avx512, __attribute__((target("avx512f,avx512dq"))))
#endif

const crd_weight_math crd_weight_maths[] = {
    {"plain", everywhere, sigmas_plain, logarithms_plain},
#ifdef __x86_64__
    {"avx2", has_avx2, sigmas_avx2, logarithms_avx2},
    {"avx512", has_avx512, sigmas_avx512, logarithms_avx512},
#endif
};

const int crd_weight_math_count = (int)(sizeof crd_weight_maths / sizeof crd_weight_maths[0]);

const crd_weight_math *crd_weight_math_best(void)
{
    int best = crd_weight_math_count - 1;
    while (!crd_weight_maths[best].supported()) best--;
    return &crd_weight_maths[best];
}
