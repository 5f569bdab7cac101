/* What the portable convolutions are made of: one row of output voxels at a time. */
#ifndef CRD_OPS_PORTABLE_ROWS_H
#define CRD_OPS_PORTABLE_ROWS_H

#include "ops/ops.h"

/* A place that an output voxel reads from, and the weights [channels][channels_out] it is multiplied with. */
typedef struct crd_tap {
    const float *x; /* for the first voxel of the row */
    const float *weights;
    int64_t channels;
    int64_t step; /* floats to the next voxel */
} crd_tap;

/* y[i] = sum over taps of x[i] * weights, for the `voxels` of a row; those of y are y_step floats apart. */
void crd_gather_row(const crd_tap *taps, int tap_count, int64_t voxels, int64_t channels_out, float *y, int64_t y_step);

/* Bias, ReLU and sums of a finished row of y; `z` and `y` say which. sums: [2][channels], overwritten, or NULL. */
void crd_finish_row(const crd_tensor *tensor, int64_t z, int64_t y, const float *bias, bool relu, double *sums);

/* total [2][channels] = the rows' sums, added in order. */
void crd_add_row_sums(const double *row_sums, int64_t rows, int64_t channels, double *total);

/* out[i * out_step + j] += sum over n voxels of a[i] * b[j], i < a_count, j < b_count. */
void crd_outer_row(const float *a, int64_t a_step, int64_t a_count, const float *b, int64_t b_step, int64_t b_count,
                   int64_t voxels, float *out, int64_t out_step);

/* Kernel gradients are summed over slabs of rows apart, then over slabs: how many for a kernel of that size. */
int64_t crd_portable_slabs(int64_t rows, int64_t kernel_floats);

#endif
