#include "ops/portable.h"

#include <math.h>
#include <string.h>

#include "base/portable_math_inline.h"
#include "ops/blocks.h"
#include "ops/entropy.h"
#include "ops/portable_rows.h"

#include "ops/head.inc"

#include "ops/softmax.inc"

#include "ops/entropy.inc"

size_t crd_portable_scratch_bytes(crd_op op, const crd_conv_size *size, int threads)
{
    (void)threads;
    const int64_t in = size->channels_in[0] + size->channels_in[1], out = size->channels_out;
    const int64_t rows = size->depth * size->height, low_rows = size->depth / 2 * (size->height / 2);
    const size_t row_sums = (size_t)(rows * 2 * out) * sizeof(double);
    const size_t kernel = (size_t)(27 * in * out) * sizeof(float);
    switch (op) {
    case CRD_OP_CONV:
        return row_sums;
    case CRD_OP_CONV_KERNEL:
        return (size_t)crd_portable_slabs(rows, 27 * in * out) * kernel;
    case CRD_OP_UP:
        return row_sums + kernel;
    case CRD_OP_UP_DATA:
        return kernel;
    case CRD_OP_UP_KERNEL:
        return (size_t)crd_portable_slabs(low_rows, 27 * in * out) * kernel;
    }
    return 0;
}

const crd_ops crd_ops_portable = {
    .version = CRD_OPS_VERSION,
    .name = "portable",
    .level = CRD_CPU_PORTABLE,
    .scratch_bytes = crd_portable_scratch_bytes,
    .conv_forward = crd_portable_conv_forward,
    .keep_bytes = crd_portable_keep_bytes,
    .conv_keep = crd_portable_conv_keep,
    .conv_kernel_gradient = crd_portable_conv_kernel_gradient,
    .up_forward = crd_portable_up_forward,
    .up_data_gradient = crd_portable_up_data_gradient,
    .up_kernel_gradient = crd_portable_up_kernel_gradient,
    .pool_forward = crd_portable_pool_forward,
    .pool_backward = crd_portable_pool_backward,
    .gradient_sums = crd_portable_gradient_sums,
    .gradient_apply = crd_portable_gradient_apply,
    .border_sums = crd_portable_border_sums,
    .head_probability = voxel_head_probability,
    .head_loss = voxel_head_loss,
    .softmax_probability = voxel_softmax_probability,
    .softmax_loss = voxel_softmax_loss,
    .summarise = crd_portable_summarise,
    .entropy = voxel_entropy,
};
