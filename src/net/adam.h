/* Adam, as in Kingma & Ba's Algorithm 1: 0.9 / 0.999, bias-corrected, epsilon 1e-7 after the root. */
#ifndef CRD_NET_ADAM_H
#define CRD_NET_ADAM_H

#include <stdint.h>

#include "base/parallel.h"

/* Step `step` (from 1) over `count` values: updates the moments m and v (zero before the first step) and the
 * parameters. The same bits for any number of threads. */
void crd_adam_step(crd_pool *pool, int64_t count, int64_t step, double rate, const float *gradient, float *m, float *v,
                   float *parameters);

#endif
