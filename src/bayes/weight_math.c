#include "bayes/weight_math.h"

#include "base/cpu.h"
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
CRD_CPU_PATHS(PATH)

#define ROW(name, target) {sigmas_##name, logarithms_##name},
const crd_weight_math crd_weight_maths[] = {CRD_CPU_PATHS(ROW)};

const crd_weight_math *crd_weight_math_best(void)
{
    return &crd_weight_maths[crd_cpu_path()];
}
