/* The table for AVX-512 (F, BW, DQ, VL). Compiled with the flags of those instructions; see cmake/sources.cmake. */
#include "backend/cpu/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "backend/cpu/tables.h"
#include "ops/portable.h"

#include "backend/cpu/common.inc"

#include "backend/cpu/winograd.inc"

#include "backend/cpu/winograd_forward.inc"

#include "backend/cpu/winograd_gradient.inc"

#include "backend/cpu/direct.inc"

#include "backend/cpu/single.inc"

#include "backend/cpu/up_forward.inc"

#include "backend/cpu/up_gradient.inc"

#define NARROWER crd_ops_avx2
#include "backend/cpu/dispatch.inc"

#include "backend/cpu/peak.inc"

static bool avx512_available(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

const crd_ops crd_ops_avx512 = {
    .version = CRD_OPS_VERSION,
    .name = "avx512",
    .available = avx512_available,
    .scratch_bytes = fast_scratch_bytes,
    .conv_forward = fast_conv_forward,
    .conv_kernel_gradient = fast_conv_kernel_gradient,
    .up_forward = fast_up_forward,
    .up_data_gradient = fast_up_data_gradient,
    .up_kernel_gradient = fast_up_kernel_gradient,
};

const crd_peak crd_peak_avx512 = {peak_loop, 2.0 * LANES *CHAINS};
