/* Folding a per-channel scale and shift of a convolution's input into its kernel and bias, and the reverse for the
 * kernel's gradient.
 *
 * conv(scale * x + shift, K) + b = conv(x, scale * K) + b + sum over taps inside the volume of K[tap] . shift. With
 * zero padding the last sum depends on which taps fall outside, that is on the border class of the output voxel. */
#ifndef CRD_NET_FOLD_H
#define CRD_NET_FOLD_H

#include "ops/ops.h"

typedef struct crd_kernel_shape {
    int edge; /* 3: offsets -1, 0, 1; 2: offsets 0, 1 */
    int64_t channels_in, channels_out;
    int64_t size[3]; /* of the output, in voxels: which border classes exist */
    int open[3];     /* sides on which the input goes on: bit 0 before the first voxel, bit 1 behind the last */
} crd_kernel_shape;

/* kernel [edge^3][in][out] -> folded, the same shape; bias [out] -> bias_classes [CRD_BORDER_CLASSES][out].
 * tap_shift is scratch of edge^3 * out floats. scale and shift have `in` entries; NULL for both: none. */
void crd_fold(crd_pool *pool, const crd_kernel_shape *shape, const float *kernel, const float *bias, const float *scale,
              const float *shift, float *folded, float *bias_classes, float *tap_shift);

/* dkernel, computed from x, becomes that of scale * x + shift; border_sums [CRD_BORDER_CLASSES][out] are those of dy.
 * dbias [out] = the sum of dy. */
void crd_unfold_gradient(crd_pool *pool, const crd_kernel_shape *shape, const float *scale, const float *shift,
                         const double *border_sums, float *dkernel, float *dbias);

/* The kernel of the data gradient for input channels [first, first + count): taps reversed, channels swapped:
 * out [27][channels_out][count]. Only for edge 3. */
void crd_flip_kernel(crd_pool *pool, const crd_kernel_shape *shape, const float *kernel, int64_t first, int64_t count,
                     float *out);

#endif
