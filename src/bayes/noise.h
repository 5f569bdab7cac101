/* The three estimators of a Bayesian convolution, and what the kernels of one example are drawn with. */
#ifndef CRD_BAYES_NOISE_H
#define CRD_BAYES_NOISE_H

#include "net/net.h"

/* Every example gets its own kernel, then one ordinary convolution runs; the estimators differ in the kernel only. */
typedef enum crd_estimator {
    CRD_FLIPOUT = 0,     /* loc + s_in * (sigma * eps) * s_out: one eps a mini-batch, signs per example and channel */
    CRD_INDEPENDENT = 1, /* loc + sigma * eps, with an eps of its own for every example */
    CRD_MEAN = 2         /* loc; dropout is off, too */
} crd_estimator;

/* By convolution number (net/net.h). Plain pointers, so that noise can come from a random stream (bayes/draw.h) or from
 * a file. */
typedef struct crd_noise {
    const float *eps[CRD_LAYERS_MAX];      /* one per weight, in the kernel's order; NULL: the kernel is its mean */
    const float *sign_in[CRD_LAYERS_MAX];  /* -1 or 1 per input channel; NULL: all 1 */
    const float *sign_out[CRD_LAYERS_MAX]; /* per output channel; NULL: all 1 */
} crd_noise;

#endif
