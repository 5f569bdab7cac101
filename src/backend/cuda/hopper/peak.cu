#include "backend/cuda/hopper/march.cuh"
#include "backend/cuda/peak.cuh"

enum { GROUPS = 4, THREADS = GROUPS * GROUP_THREADS, ROUNDS = 1000, PRODUCTS = 12, COLUMNS = 96, OPERAND = 32768 };

// As the convolutions do it: both operands from shared memory, four warpgroups a processor.
template <typename T> __global__ __launch_bounds__(THREADS, 1) void products_kernel(float *out)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    T *values = reinterpret_cast<T *>(memory);
    for (uint32_t i = threadIdx.x; i < 2 * OPERAND / sizeof(T); i += THREADS) {
        uint32_t x = i * 2654435761u;
        x = (x ^ x >> 15) * 2246822519u;
        values[i] = (T)((float)((int)((x ^ x >> 13) & 0xffff) - 32768) / 65536.0f);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory);
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP_THREADS, 0);
    const uint64_t a = operand(shared + group * 5888, 640), b = operand(shared + OPERAND, 256);
    float sums[COLUMNS / 2] = {};
    for (int round = 0; round < ROUNDS; round++) {
        wgmma_pin(sums);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++) {
            Wgmma<T, COLUMNS>::add(sums, operand_at(a, (k / 3 * 10 + k % 3) * VOXEL_BYTES), operand_at(b, k * 768));
        }
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_pin(sums);
    }
    float total = 0.0f;
    for (float sum : sums) total += sum;
    out[blockIdx.x * THREADS + threadIdx.x] = total;
}

template <typename T> crd_status hopper_products(float *out, int processors, double *operations)
{
    CUDA_PASS(cudaFuncSetAttribute(products_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * OPERAND));
    products_kernel<T><<<processors, THREADS, 2 * OPERAND>>>(out);
    CUDA_PASS(cudaGetLastError());
    *operations = (double)processors * GROUPS * ROUNDS * PRODUCTS * 2.0 * 64.0 * COLUMNS * 16.0;
    return CRD_OK;
}

template crd_status hopper_products<__half>(float *, int, double *);
template crd_status hopper_products<__nv_bfloat16>(float *, int, double *);
