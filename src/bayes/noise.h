/* What the kernels of one example are drawn with, by convolution number (net/net.h): plain pointers, so that the noise
 * can come from a random stream (bayes/draw.h) or from a file. */
#ifndef CRD_BAYES_NOISE_H
#define CRD_BAYES_NOISE_H

#include "net/net.h"

typedef struct crd_noise {
    const float *eps[CRD_CONV_COUNT];      /* one per weight, in the kernel's order; NULL: the kernel is its mean */
    const float *sign_in[CRD_CONV_COUNT];  /* -1 or 1 per input channel; NULL: all 1 */
    const float *sign_out[CRD_CONV_COUNT]; /* per output channel; NULL: all 1 */
} crd_noise;

#endif
