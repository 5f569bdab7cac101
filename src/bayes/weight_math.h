/* Functions over many weights at once, one source compiled for several instruction sets. All give the same bits (they
 * are made of base/portable_math_inline.h), so which one runs is nobody's choice but the machine's. */
#ifndef CRD_BAYES_WEIGHT_MATH_H
#define CRD_BAYES_WEIGHT_MATH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crd_weight_math {
    const char *name;
    bool (*supported)(void);
    /* sigma = softplus(rho) + 1.1920929e-7, slope = d sigma / d rho. */
    void (*sigmas)(int64_t count, const float *rho, float *sigma, float *slope);
    void (*logarithms)(int64_t count, const float *x, double *out);
} crd_weight_math;

extern const crd_weight_math crd_weight_maths[];
extern const int crd_weight_math_count; /* the first one runs everywhere, later ones are faster */

const crd_weight_math *crd_weight_math_best(void);

#endif
