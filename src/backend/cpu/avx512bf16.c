/* The table for prediction in bfloat16: Winograd's products, everything else as in float. Compiled with the flags of
 * AVX-512 and AVX512_BF16; see cmake/sources.cmake. */
#include "backend/cpu/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "backend/cpu/tables.h"
#include "ops/ops.h"

#include "backend/cpu/common.inc"

#include "backend/cpu/winograd_tiles.inc"

#include "backend/cpu/winograd_bf16.inc"

#include "backend/cpu/winograd_input.inc"

#include "backend/cpu/winograd_kernel.inc"

#include "backend/cpu/winograd_forward.inc"

#include "backend/cpu/winograd_keep.inc"

static bool takes(int64_t in0, int64_t in1, int64_t out)
{
    return fills_vectors(in0) && fills_vectors(in1) && fills_vectors(out);
}

static size_t bf16_scratch_bytes(crd_op op, const crd_conv_size *size, int threads)
{
    if (op == CRD_OP_CONV && takes(size->channels_in[0], size->channels_in[1], size->channels_out))
        return wino_forward_bytes(size, threads);
    return crd_ops_avx512.scratch_bytes(op, size, threads);
}

static void bf16_conv_forward(crd_pool *pool, const crd_conv *conv)
{
    const int64_t in1 = conv->x[1] != NULL ? conv->x[1]->channels : 0;
    if (takes(conv->x[0]->channels, in1, conv->y->channels))
        wino_forward_run(pool, conv);
    else
        crd_ops_avx512.conv_forward(pool, conv);
}

static size_t bf16_keep_bytes(const crd_conv_size *size)
{
    const bool own = takes(size->channels_in[0], size->channels_in[1], size->channels_out);
    return (own ? wino_keep_bytes : crd_ops_avx512.keep_bytes)(size);
}

static void bf16_conv_keep(crd_pool *pool, const crd_tensor *x, const crd_conv_size *size, void *kept)
{
    const bool own = takes(size->channels_in[0], size->channels_in[1], size->channels_out);
    (own ? wino_keep_run : crd_ops_avx512.conv_keep)(pool, x, size, kept);
}

const crd_ops crd_ops_avx512_bf16 = {
    .version = CRD_OPS_VERSION,
    .name = "avx512, bf16",
    .level = CRD_CPU_AVX512_BF16,
    .scratch_bytes = bf16_scratch_bytes,
    .conv_forward = bf16_conv_forward,
    .keep_bytes = bf16_keep_bytes,
    .conv_keep = bf16_conv_keep,
};
