// The first layer and the pooling.
#include "backend/cuda/kernels/layers.cuh"

template <typename T> __device__ __forceinline__ T store_as(float value)
{
    return (T)value;
}

enum {
    THREADS = 256,
    ROUNDS = 8, // voxels of a thread
    GROUP = 16  // output channels that a thread makes at a time
};

int first_tiles(const Extent &size)
{
    return (int)((size.voxels() + THREADS * ROUNDS - 1) / (THREADS * ROUNDS));
}

// The 3x3x3 surroundings of a voxel of y; what lies outside is zero.
__device__ __forceinline__ void read_around(const FirstArguments &p, long voxel, float (&around)[27])
{
    const Extent &size = p.whole;
    const int column = voxel % p.size.width + p.at.x, row = voxel / p.size.width % p.size.height + p.at.y,
              plane = voxel / ((long)p.size.width * p.size.height) + p.at.z;
    const bool left = column > 0, right = column + 1 < size.width;
#pragma unroll
    for (int tap = 0; tap < 27; tap += 3) {
        const int dz = plane + tap / 9 - 1, dy = row + tap / 3 % 3 - 1;
        const bool read = dz >= 0 && dz < size.depth && dy >= 0 && dy < size.height;
        const float *at = p.x + ((long)dz * size.height + dy) * size.width + column;
        around[tap] = read && left ? at[-1] : 0.0f;
        around[tap + 1] = read ? at[0] : 0.0f;
        around[tap + 2] = read && right ? at[1] : 0.0f;
    }
}

// GROUP channels as they are stored, in as few accesses as the type allows.
template <typename T> __device__ __forceinline__ void store_group(T *to, const T (&values)[GROUP])
{
#pragma unroll
    for (int i = 0; i < GROUP; i += 16 / (int)sizeof(T))
        *reinterpret_cast<uint4 *>(to + i) = *reinterpret_cast<const uint4 *>(values + i);
}

template <typename T> __global__ __launch_bounds__(THREADS) void first_kernel(const __grid_constant__ FirstArguments p)
{
    const int out = p.out;
    __shared__ __align__(16) float weights[27 * GROUP];
    __shared__ float2 sums[THREADS / 32][GROUP];
    const long tile = (long)blockIdx.x * THREADS * ROUNDS + threadIdx.x;
    for (int first = 0; first < out; first += GROUP) {
        const int channels = out - first < GROUP ? out - first : GROUP;
        __syncthreads();
        for (int i = threadIdx.x; i < 27 * GROUP; i += THREADS) {
            weights[i] = i % GROUP < channels ? p.kernel[i / GROUP * out + first + i % GROUP] : 0.0f;
        }
        __syncthreads();
        float sum[GROUP] = {}, square[GROUP] = {}, start[GROUP];
#pragma unroll
        for (int c = 0; c < GROUP; c++) start[c] = c < channels ? p.bias[first + c] : 0.0f;
        for (int round = 0; round < ROUNDS; round++) {
            const long voxel = tile + round * THREADS;
            if (voxel >= p.size.voxels()) break;
            float around[27], value[GROUP];
            asm volatile("" ::: "memory"); // or all weights are kept in registers, which don't suffice
            read_around(p, voxel, around);
#pragma unroll
            for (int c = 0; c < GROUP; c++) value[c] = start[c];
#pragma unroll
            for (int tap = 0; tap < 27; tap++)
#pragma unroll
                for (int c = 0; c < GROUP; c += 4) {
                    const float4 w = *reinterpret_cast<const float4 *>(weights + tap * GROUP + c);
                    value[c] = fmaf(around[tap], w.x, value[c]);
                    value[c + 1] = fmaf(around[tap], w.y, value[c + 1]);
                    value[c + 2] = fmaf(around[tap], w.z, value[c + 2]);
                    value[c + 3] = fmaf(around[tap], w.w, value[c + 3]);
                }
            __align__(16) T stored[GROUP];
#pragma unroll
            for (int c = 0; c < GROUP; c++) {
                stored[c] = store_as<T>(relu(value[c]));
                sum[c] += (float)stored[c];
                square[c] = fmaf((float)stored[c], (float)stored[c], square[c]);
            }
            T *to = static_cast<T *>(p.y) + voxel * out + first;
            if (channels == GROUP && out % GROUP == 0) {
                store_group(to, stored);
            } else {
#pragma unroll
                for (int c = 0; c < GROUP; c++)
                    if (c < channels) to[c] = stored[c];
            }
        }
#pragma unroll
        for (int c = 0; c < GROUP; c++) {
#pragma unroll
            for (int step = 16; step > 0; step >>= 1) {
                sum[c] += __shfl_xor_sync(~0u, sum[c], step);
                square[c] += __shfl_xor_sync(~0u, square[c], step);
            }
            if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32][c] = make_float2(sum[c], square[c]);
        }
        __syncthreads();
        if (threadIdx.x < channels) {
            float2 total = make_float2(0.0f, 0.0f);
            for (int w = 0; w < THREADS / 32; w++) {
                total.x += sums[w][threadIdx.x].x;
                total.y += sums[w][threadIdx.x].y;
            }
            p.partial[(long)blockIdx.x * out + first + threadIdx.x] = total;
        }
    }
}

template <typename T> crd_status first_launch(const FirstArguments &p, cudaStream_t stream)
{
    first_kernel<T><<<first_tiles(p.size), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T> __global__ void pool_kernel(const __grid_constant__ PoolPartArguments p)
{
    const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= p.size.voxels() * p.channels) return;
    const int channel = at % p.channels;
    const long voxel = at / p.channels, column = voxel % p.size.width, row = voxel / p.size.width % p.size.height,
               plane = voxel / ((long)p.size.width * p.size.height);
    const long corner =
        ((2 * plane + p.at.z) * p.whole.height + 2 * row + p.at.y) * p.whole.width + 2 * column + p.at.x;
    const T *x = static_cast<const T *>(p.x) + channel;
    const float s = p.scale[channel], t = p.shift[channel];
    float most = -INFINITY;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const long from = corner + ((i >> 2) * (long)p.whole.height + (i >> 1 & 1)) * p.whole.width + (i & 1);
        most = fmaxf(most, fmaf(s, (float)x[from * p.channels], t));
    }
    static_cast<T *>(p.y)[at] = store_as<T>(most);
}

template <typename T> crd_status pool_launch(const PoolPartArguments &p, cudaStream_t stream)
{
    const long values = p.size.voxels() * p.channels;
    pool_kernel<T><<<(unsigned)((values + 255) / 256), 256, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

#define FOR_TYPE(T)                                                                                                    \
    template crd_status first_launch<T>(const FirstArguments &, cudaStream_t);                                         \
    template crd_status pool_launch<T>(const PoolPartArguments &, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
