/* The table for AVX2 with FMA. Compiled with the flags of those instructions; see cmake/sources.cmake. */
#include "backend/cpu/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "backend/cpu/tables.h"
#include "base/portable_math_inline.h"
#include "ops/blocks.h"
#include "ops/entropy.h"
#include "ops/portable.h"
#include "ops/sorting_network.h"
#include "ops/sums.h"

#define NARROWER crd_ops_portable
#include "backend/cpu/common.inc"

#include "backend/cpu/winograd_tiles.inc"

#include "backend/cpu/winograd_f32.inc"

#include "backend/cpu/winograd_input.inc"

#include "backend/cpu/winograd_kernel.inc"

#include "backend/cpu/winograd_forward.inc"

#include "backend/cpu/winograd_keep.inc"

#include "backend/cpu/winograd_gradient.inc"

#include "backend/cpu/direct.inc"

#include "backend/cpu/single.inc"

#include "backend/cpu/few.inc"

#include "backend/cpu/up_forward.inc"

#include "backend/cpu/up_gradient.inc"

#include "ops/head.inc"

#include "ops/softmax.inc"

#include "ops/entropy.inc"

#include "backend/cpu/summary.inc"

#include "backend/cpu/norm.inc"

#include "backend/cpu/dispatch.inc"

#include "backend/cpu/peak.inc"

const crd_ops crd_ops_avx2 = {
    .version = CRD_OPS_VERSION,
    .name = "avx2",
    .level = CRD_CPU_AVX2,
    .scratch_bytes = fast_scratch_bytes,
    .conv_forward = fast_conv_forward,
    .keep_bytes = fast_keep_bytes,
    .conv_keep = fast_conv_keep,
    .conv_kernel_gradient = fast_conv_kernel_gradient,
    .up_forward = fast_up_forward,
    .up_data_gradient = fast_up_data_gradient,
    .up_kernel_gradient = fast_up_kernel_gradient,
    .pool_forward = fast_pool_forward,
    .pool_backward = fast_pool_backward,
    .gradient_sums = fast_gradient_sums,
    .gradient_apply = fast_gradient_apply,
    .border_sums = fast_border_sums,
    .head_probability = voxel_head_probability,
    .head_loss = voxel_head_loss,
    .softmax_probability = voxel_softmax_probability,
    .softmax_loss = voxel_softmax_loss,
    .summarise = fast_summarise,
    .entropy = voxel_entropy,
};

const crd_peak crd_peak_avx2 = {peak_loop, 2.0 * LANES *CHAINS};
