/* The reference operations for the `real` of the moment: included by ops/reference.h, once per type. No include guard.
 * Outputs are overwritten unless it says "adds". A pointer that may be NULL says so. */

/* y[v][o] = bias[o] + sum over taps and input channels of x[v + tap][i] * kernel[tap][i][o]; taps in (z, y, x) order.
 * x1 is NULL when size.channels_in[1] is 0; bias NULL: none. */
void REF(conv_forward)(const crd_ref_conv *conv, const real *x0, const real *x1, const real *kernel, const real *bias,
                       real *y);
/* Gradients of its inputs from that of its output. dx0, dx1, dkernel and dbias may each be NULL. */
void REF(conv_backward)(const crd_ref_conv *conv, const real *x0, const real *x1, const real *kernel, const real *dy,
                        real *dx0, real *dx1, real *dkernel, real *dbias);

/* y = max(x, 0); x and y may be the same. The gradient at 0 is 0: dx = dy where y > 0 (x may stand for y). */
void REF(relu_forward)(int64_t count, const real *x, real *y);
void REF(relu_backward)(int64_t count, const real *y, const real *dy, real *dx);

/* Group norm over all voxels of one example: groups of consecutive channels, population variance, epsilon 1e-5. */
void REF(norm_forward)(int64_t voxels, int64_t channels, int64_t groups, const real *x, const real *gamma,
                       const real *beta, real *y);
/* The same with statistics that are given: per group, the mean of the values and of their squares. */
void REF(norm_frozen)(int64_t voxels, int64_t channels, int64_t groups, const double *moments, const real *x,
                      const real *gamma, const real *beta, real *y);
/* Adds to `sums`, per group, the sum of the values and of their squares. */
void REF(norm_sums)(int64_t voxels, int64_t channels, int64_t groups, const real *x, double *sums);
/* dx may be dy. */
void REF(norm_backward)(int64_t voxels, int64_t channels, int64_t groups, const real *x, const real *gamma,
                        const real *dy, real *dx, real *dgamma, real *dbeta);

/* Maximum over 2x2x2; depth, height and width are x's, all even. The gradient goes to the first maximum in (z, y, x)
 * order, the rest of dx is 0. */
void REF(pool_forward)(int64_t depth, int64_t height, int64_t width, int64_t channels, const real *x, real *y);
void REF(pool_backward)(int64_t depth, int64_t height, int64_t width, int64_t channels, const real *x, const real *dy,
                        real *dx);

/* Concatenation of channels, and its inverse. */
void REF(concat)(int64_t voxels, int64_t channels0, const real *x0, int64_t channels1, const real *x1, real *y);
void REF(split)(int64_t voxels, int64_t channels0, real *x0, int64_t channels1, real *x1, const real *y);

/* y = x * mask[channel]: spatial dropout, forward and backward. x and y may be the same. */
void REF(mask)(int64_t voxels, int64_t channels, const real *mask, const real *x, real *y);
/* y += x. */
void REF(add)(int64_t count, const real *x, real *y);

void REF(sigmoid)(int64_t count, const real *logit, real *probability);
/* Sum of the cross entropy over labelled voxels (label 0 or 1; CRD_NO_LABEL has none), computed from logits; their
 * number is added to *labelled. dlogit, where not NULL, = scale * its derivative. */
double REF(bce)(int64_t count, const real *logit, const uint8_t *label, real scale, real *dlogit, int64_t *labelled);

/* Both for more classes than two, logits and probabilities [voxels][classes], labels 0 .. classes - 1. logit and
 * probability may be the same. */
void REF(softmax)(int64_t voxels, int64_t classes, const real *logit, real *probability);
double REF(cross_entropy)(int64_t voxels, int64_t classes, const real *logit, const uint8_t *label, real scale,
                          real *dlogit, int64_t *labelled);

/* Step `step` (from 1) of Adam, Kingma & Ba's Algorithm 1: 0.9, 0.999, epsilon 1e-7 after the root. Updates w, m, v. */
void REF(adam)(int64_t count, int64_t step, double rate, const real *gradient, real *m, real *v, real *w);

/* Mean and population standard deviation of `count` values; percentile (0..100) by linear interpolation between order
 * statistics, numpy's default. The percentile sorts the values. */
void REF(moments)(int64_t count, const real *values, real *mean, real *deviation);
real REF(percentile)(int64_t count, real *values, double percent);
