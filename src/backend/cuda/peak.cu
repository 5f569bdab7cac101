#include "backend/cuda/peak.cuh"

#include <algorithm>

enum { THREADS = 512, ROUNDS = 4000, CHAINS = 8 };

__device__ __forceinline__ uint32_t scramble(uint32_t x)
{
    x = (x ^ x >> 15) * 2246822519u;
    return x ^ x >> 13;
}
__device__ __forceinline__ float random_value(uint32_t i)
{
    return (float)(int)(scramble(i * 2654435761u) & 0xffff) / 65536.0f - 0.5f;
}

template <typename T> __global__ __launch_bounds__(THREADS, 1) void products_kernel(float *out)
{
    float sums[CHAINS][4] = {};
    uint32_t a[4], b[2];
    for (int i = 0; i < 4; i++)
        a[i] = Pair<T>::pack(random_value(threadIdx.x * 8 + i), random_value(threadIdx.x * 8 + i + 9));
    for (int i = 0; i < 2; i++)
        b[i] = Pair<T>::pack(random_value(threadIdx.x * 8 + i + 4), random_value(threadIdx.x * 8 + i + 5));
    for (int round = 0; round < ROUNDS; round++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++) Pair<T>::multiply(sums[k], a, b[0], b[1]);
    float total = 0.0f;
    for (int k = 0; k < CHAINS; k++) total += sums[k][0] + sums[k][1] + sums[k][2] + sums[k][3];
    out[blockIdx.x * THREADS + threadIdx.x] = total;
}

__global__ __launch_bounds__(THREADS, 2) void multiply_adds_kernel(float *out)
{
    float sums[CHAINS];
    const float a = 0.5f + random_value(threadIdx.x) / 4.0f, b = random_value(threadIdx.x + 77);
    for (int k = 0; k < CHAINS; k++) sums[k] = random_value(threadIdx.x * CHAINS + k);
    for (int round = 0; round < ROUNDS; round++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++) sums[k] = fmaf(sums[k], a, b);
    float total = 0.0f;
    for (int k = 0; k < CHAINS; k++) total += sums[k];
    out[blockIdx.x * THREADS + threadIdx.x] = total;
}

static crd_status launch(const Path &path, float *out, int processors, double *operations)
{
    const double threads = (double)processors * THREADS * ROUNDS * CHAINS;
    if (path.precision == CRD_PRECISION_F32) {
        multiply_adds_kernel<<<2 * processors, THREADS>>>(out);
        *operations = 2.0 * 2.0 * threads;
    } else if (path.hopper) {
        return path.precision == CRD_PRECISION_BF16 ? hopper_products<__nv_bfloat16>(out, processors, operations)
                                                    : hopper_products<__half>(out, processors, operations);
    } else {
        if (path.precision == CRD_PRECISION_BF16)
            products_kernel<__nv_bfloat16><<<processors, THREADS>>>(out);
        else
            products_kernel<__half><<<processors, THREADS>>>(out);
        *operations = threads / 32.0 * 2.0 * 16.0 * 8.0 * 16.0;
    }
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// Median seconds of some calls of `work`, after one that doesn't count.
template <typename WORK> static crd_status median_seconds(WORK work, double *seconds)
{
    enum { CALLS = 15 };
    cudaEvent_t events[CALLS + 1];
    float took[CALLS];
    for (cudaEvent_t &event : events) CUDA_PASS(cudaEventCreate(&event));
    PASS(work());
    for (cudaEvent_t &event : events) {
        CUDA_PASS(cudaEventRecord(event));
        if (&event != &events[CALLS]) PASS(work());
    }
    CUDA_PASS(cudaDeviceSynchronize());
    for (int i = 0; i < CALLS; i++) {
        CUDA_PASS(cudaEventElapsedTime(&took[i], events[i], events[i + 1]));
    }
    for (cudaEvent_t event : events) cudaEventDestroy(event);
    std::sort(took, took + CALLS);
    *seconds = 1e-3 * took[CALLS / 2];
    return CRD_OK;
}

crd_status peak_matrix(const Path &path, double *gflops)
{
    int device, processors;
    float *out = nullptr;
    double operations = 0.0, seconds = 0.0;
    CUDA_PASS(cudaGetDevice(&device));
    CUDA_PASS(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CUDA_PASS(cudaMalloc(&out, (size_t)processors * 2 * THREADS * sizeof(float)));
    const crd_status status = median_seconds([&]() { return launch(path, out, processors, &operations); }, &seconds);
    cudaFree(out);
    PASS(status);
    *gflops = 1e-9 * operations / seconds;
    return CRD_OK;
}

crd_status peak_copy(double *gigabytes)
{
    const size_t bytes = (size_t)1 << 30;
    char *block = nullptr;
    double seconds = 0.0;
    CUDA_PASS(cudaMalloc(&block, 2 * bytes));
    const crd_status status = median_seconds(
        [&]() {
            CUDA_PASS(cudaMemcpyAsync(block, block + bytes, bytes, cudaMemcpyDeviceToDevice));
            return CRD_OK;
        },
        &seconds);
    cudaFree(block);
    PASS(status);
    *gigabytes = 2e-9 * (double)bytes / seconds;
    return CRD_OK;
}
