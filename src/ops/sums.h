/* Sums over a tensor that are the same for any number of threads: this divides the work, and a function of the table
 * adds up part of a row with its instructions. */
#ifndef CRD_OPS_SUMS_H
#define CRD_OPS_SUMS_H

#include "ops/ops.h"

/* sum[c] += over `voxels` of a[c], product[c] += of a[c] * b[c], c < channels; voxels are `step` floats apart. */
typedef void crd_row_products(const float *a, const float *b, int64_t step, int64_t voxels, int64_t channels,
                              double *sum, double *product);
void crd_gradient_sums_by(crd_row_products *row, crd_pool *pool, const crd_tensor *g, const crd_tensor *x,
                          double *sums);

/* sum[c] += over `voxels` of a[c]. */
typedef void crd_row_sums(const float *a, int64_t step, int64_t voxels, int64_t channels, double *sum);
void crd_border_sums_by(crd_row_sums *row, crd_pool *pool, const crd_tensor *g, double *sums);

#endif
