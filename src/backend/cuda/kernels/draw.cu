#include "backend/cuda/kernels/layers.cuh"

#include "base/random/normal_transform.h"
#include "base/random/philox.h"
#include "base/random/philox_inline.h"

// Four weights a thread: one Philox block. The arithmetic is that of bayes/draw.c, every operation rounded by itself.
__global__ void draw_kernel(DrawArguments p)
{
    const long block = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * block >= p.count) return;
    uint32_t words[4] = {(uint32_t)block, p.layer << 16 | CRD_PURPOSE_WEIGHT_NOISE,
                         p.first_sample + blockIdx.y * p.apart, p.example};
    crd_philox_inline((uint32_t)p.seed, (uint32_t)(p.seed >> 32), words);
    for (int i = 0; i < 4 && 4 * block + i < p.count; i++) {
        const long at = 4 * block + i;
        const float sigma = (float)(crd_softplus_inline(p.rho[at]) + 1.1920929e-7);
        const float noise = crd_normal_transform(words[i]);
        p.kernels[blockIdx.y * p.stride + at] = __fadd_rn(p.loc[at], __fmul_rn(sigma, noise));
    }
}

crd_status draw_launch(const DrawArguments &p, int samples, cudaStream_t stream)
{
    const long blocks = (p.count + 3) / 4;
    draw_kernel<<<dim3((unsigned)((blocks + 127) / 128), samples), 128, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}
