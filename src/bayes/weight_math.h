/* Functions over many weights at once, made of base/portable_math_inline.h and compiled for every path of base/cpu.h.
 */
#ifndef CRD_BAYES_WEIGHT_MATH_H
#define CRD_BAYES_WEIGHT_MATH_H

#include <stdint.h>

typedef struct crd_weight_math {
    /* sigma = softplus(rho) + 1.1920929e-7, slope = d sigma / d rho. */
    void (*sigmas)(int64_t count, const float *rho, float *sigma, float *slope);
    void (*logarithms)(int64_t count, const float *x, double *out);
} crd_weight_math;

extern const crd_weight_math crd_weight_maths[]; /* [CRD_CPU_PATH_COUNT] */

const crd_weight_math *crd_weight_math_best(void);

#endif
