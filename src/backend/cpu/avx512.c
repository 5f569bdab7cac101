/* The table for AVX-512 (F, BW, DQ, VL). Compiled with the flags of those instructions; see cmake/sources.cmake. */
#include "backend/cpu/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "backend/cpu/tables.h"
#include "ops/portable.h"

#include "backend/cpu/sums.inc"

#include "backend/cpu/winograd.inc"

#include "backend/cpu/winograd_forward.inc"

#include "backend/cpu/winograd_gradient.inc"

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
};

const crd_peak crd_peak_avx512 = {peak_loop, 2.0 * LANES *CHAINS};
