// The first layer and the pooling: one thread a voxel.
#include "backend/cuda/layers.cuh"

template <typename T> __device__ __forceinline__ T store_as(float value)
{
    return (T)value;
}

enum { THREADS = 256, GROUP = 16 /* output channels that a thread makes at a time */ };

int first_tiles(const Extent &size)
{
    return (int)((size.voxels() + THREADS - 1) / THREADS);
}

template <typename T>
__global__ __launch_bounds__(THREADS) void first_kernel(const float *x, const float *kernel, const float *bias, T *y,
                                                        float2 *partial, int out, Extent size)
{
    __shared__ float weights[27 * GROUP];
    __shared__ float2 sums[THREADS / 32][GROUP];
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    const bool inside = voxel < size.voxels();
    const int column = voxel % size.width, row = voxel / size.width % size.height, plane = voxel / ((long)size.width * size.height);
    float around[27];
#pragma unroll
    for (int tap = 0; tap < 27; tap++) {
        const int dz = plane + tap / 9 - 1, dy = row + tap / 3 % 3 - 1, dx = column + tap % 3 - 1;
        const bool read = inside && dz >= 0 && dz < size.depth && dy >= 0 && dy < size.height && dx >= 0 && dx < size.width;
        around[tap] = read ? x[((long)dz * size.height + dy) * size.width + dx] : 0.0f;
    }
    for (int first = 0; first < out; first += GROUP) {
        const int channels = out - first < GROUP ? out - first : GROUP;
        __syncthreads();
        for (int i = threadIdx.x; i < 27 * GROUP; i += THREADS) {
            weights[i] = i % GROUP < channels ? kernel[i / GROUP * out + first + i % GROUP] : 0.0f;
        }
        __syncthreads();
        for (int c = 0; c < channels; c++) {
            float value = bias[first + c];
#pragma unroll
            for (int tap = 0; tap < 27; tap++) value = fmaf(around[tap], weights[tap * GROUP + c], value);
            const T stored = store_as<T>(inside ? fmaxf(value, 0.0f) : 0.0f);
            if (inside) y[voxel * out + first + c] = stored;
            float sum = (float)stored, square = sum * sum;
            for (int step = 16; step > 0; step >>= 1) {
                sum += __shfl_xor_sync(~0u, sum, step);
                square += __shfl_xor_sync(~0u, square, step);
            }
            if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32][c] = make_float2(sum, square);
        }
        __syncthreads();
        if (threadIdx.x < channels) {
            float2 total = make_float2(0.0f, 0.0f);
            for (int w = 0; w < THREADS / 32; w++) {
                total.x += sums[w][threadIdx.x].x;
                total.y += sums[w][threadIdx.x].y;
            }
            partial[(long)blockIdx.x * out + first + threadIdx.x] = total;
        }
    }
}

template <typename T>
crd_status first_launch(const float *x, const float *kernel, const float *bias, T *y, float2 *partial, int out,
                        const Extent &size, cudaStream_t stream)
{
    first_kernel<T><<<first_tiles(size), THREADS, 0, stream>>>(x, kernel, bias, y, partial, out, size);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T>
__global__ void pool_kernel(const T *x, const float *scale, const float *shift, T *y, int channels, Extent size)
{
    const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= size.voxels() * channels) return;
    const int channel = at % channels;
    const long voxel = at / channels, width = 2L * size.width, height = 2L * size.height;
    const long column = voxel % size.width, row = voxel / size.width % size.height, plane = voxel / ((long)size.width * size.height);
    const float s = scale[channel], t = shift[channel];
    float most = -INFINITY;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const long from = ((2 * plane + (i >> 2)) * height + 2 * row + (i >> 1 & 1)) * width + 2 * column + (i & 1);
        most = fmaxf(most, fmaf(s, (float)x[from * channels + channel], t));
    }
    y[at] = store_as<T>(most);
}

template <typename T>
crd_status pool_launch(const T *x, const float *scale, const float *shift, T *y, int channels, const Extent &size,
                       cudaStream_t stream)
{
    const long values = size.voxels() * channels;
    pool_kernel<T><<<(unsigned)((values + 255) / 256), 256, 0, stream>>>(x, scale, shift, y, channels, size);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

#define FOR_TYPE(T)                                                                                                    \
    template crd_status first_launch<T>(const float *, const float *, const float *, T *, float2 *, int, const Extent &, \
                                        cudaStream_t);                                                                 \
    template crd_status pool_launch<T>(const T *, const float *, const float *, T *, int, const Extent &, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
