#include "net/adam.h"

#include <math.h>

enum { BLOCK = 16384 };
static const double decay1 = 0.9, decay2 = 0.999;

typedef struct adam_job {
    int64_t count;
    float rate, correction1, correction2;
    const float *gradient;
    float *m, *v, *parameters;
} adam_job;

static void adam_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const adam_job *job = context;
    const float beta1 = (float)decay1, beta2 = (float)decay2, epsilon = 1e-7f;
    const float rate = job->rate, correction1 = job->correction1, correction2 = job->correction2;
    const int64_t first = item * BLOCK, left = job->count - first, count = left < BLOCK ? left : BLOCK;
    const float *restrict gradient = job->gradient + first;
    float *restrict m = job->m + first, *restrict v = job->v + first, *restrict w = job->parameters + first;
    for (int64_t i = 0; i < count; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * gradient[i];
        v[i] = beta2 * v[i] + (1 - beta2) * gradient[i] * gradient[i];
        w[i] -= rate * (m[i] / correction1) / (sqrtf(v[i] / correction2) + epsilon);
    }
}

/* By squaring: the same bits everywhere, which libm's pow doesn't promise. */
static double power(double base, int64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1) result *= base;
        base *= base;
    }
    return result;
}

void crd_adam_step(crd_pool *pool, int64_t count, int64_t step, double rate, const float *gradient, float *m, float *v,
                   float *parameters)
{
    adam_job job = {.count = count,
                    .rate = (float)rate,
                    .correction1 = (float)(1 - power(decay1, step)),
                    .correction2 = (float)(1 - power(decay2, step)),
                    .gradient = gradient,
                    .m = m,
                    .v = v,
                    .parameters = parameters};
    crd_pool_run(pool, (count + BLOCK - 1) / BLOCK, adam_block, &job);
}
