/* The operations in plain C: the path of every machine that has no better one, and of the layers that a better one
 * leaves out. Other tables may call these. */
#ifndef CRD_OPS_PORTABLE_H
#define CRD_OPS_PORTABLE_H

#include "ops/ops.h"

extern const crd_ops crd_ops_portable;

size_t crd_portable_scratch_bytes(crd_op op, const crd_conv_size *size, int threads);

void crd_portable_conv_forward(crd_pool *pool, const crd_conv *conv);
size_t crd_portable_keep_bytes(const crd_conv_size *size);
void crd_portable_conv_keep(crd_pool *pool, const crd_tensor *x, const crd_conv_size *size, void *kept);
void crd_portable_conv_kernel_gradient(crd_pool *pool, const crd_tensor *x0, const crd_tensor *x1, const crd_tensor *dy,
                                       float *dkernel, void *scratch);

void crd_portable_up_forward(crd_pool *pool, const crd_up *up);
void crd_portable_up_data_gradient(crd_pool *pool, const crd_tensor *dy, const float *kernel, crd_tensor *dx,
                                   void *scratch);
void crd_portable_up_kernel_gradient(crd_pool *pool, const crd_tensor *x, const crd_tensor *dy, float *dkernel,
                                     void *scratch);

void crd_portable_pool_forward(crd_pool *pool, const crd_tensor *x, const float *scale, const float *shift,
                               crd_tensor *y);
void crd_portable_pool_backward(crd_pool *pool, const crd_tensor *x, const float *scale, const float *shift,
                                const crd_tensor *dy, crd_tensor *dx);

void crd_portable_gradient_sums(crd_pool *pool, const crd_tensor *g, const crd_tensor *x, double *sums);
void crd_portable_gradient_apply(crd_pool *pool, const crd_tensor *g, const crd_tensor *x, const float *a,
                                 const float *b, const float *c0, bool relu, crd_tensor *out);
void crd_portable_border_sums(crd_pool *pool, const crd_tensor *g, double *sums);

void crd_portable_summarise(crd_pool *pool, float *samples, int64_t count, int64_t stride, int64_t voxels,
                            const double *percentiles, int64_t percentile_count, float *out);

#endif
