/* Single GPU kernels for a test in C: arrays of the host in, arrays of the host out. */
#ifndef CRD_TESTS_CUDA_OPS_BRIDGE_H
#define CRD_TESTS_CUDA_OPS_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BRIDGE_CONV,
    BRIDGE_CONV_TRAINED,    /* with sums of every channel, whatever the path */
    BRIDGE_GRADIENT,        /* without bias, scale, shift and ReLU; the second sum is that of y * values */
    BRIDGE_KERNEL_GRADIENT, /* of a 3x3x3 kernel, from x and `values`, the gradient of the output */
    BRIDGE_UP,
    BRIDGE_HEAD,
    BRIDGE_SOFTMAX /* the head of more than two classes: `out` */
};

typedef struct bridge_op {
    int operation;
    int path;      /* 90: Hopper's own kernels; 80: those of all GPUs */
    int precision; /* crd_precision */
    int samples;
    int depth, height, width; /* of the output */
    int in[2], out;
    const float *x[2]; /* x[0] [samples][voxels][in], or without samples where there are two (but for kernel gradients);
                          x[1] [samples]... */
    const float *kernel;        /* [samples][taps][in][out] */
    const float *bias;          /* [out] */
    const float *scale, *shift; /* [samples][in], of the inputs */
    const float *values;        /* both gradients: [samples][voxels][out] */
    const float *point;         /* head: [samples][2]; softmax: [samples][out][out] and biases [out] */
    float *y;     /* [samples][voxels][out], softmax: [samples][out][voxels], kernel gradient: [samples][27][in][out];
                     NaN before the kernel runs */
    double *sums; /* [samples][2][out / piece] */
    int piece;    /* result: channels that share a sum */
} bridge_op;

bool bridge_has_gpu(void);
bool bridge_has(const bridge_op *op); /* whether that path has a kernel for it */
/* NULL, or what went wrong. */
const char *bridge_run(bridge_op *op);

#ifdef __cplusplus
}
#endif
#endif
