// Loading a tile of one 16-channel slab into shared memory, and finding a lane's rows in it.
#ifndef CRD_CUDA_KERNELS_TILE_CUH
#define CRD_CUDA_KERNELS_TILE_CUH

#include "backend/cuda/common.cuh"

// Planes x rows x columns of voxels with their origin in the volume; outside the volume is zero.
template <int PLANES, int ROWS, int COLUMNS, int THREADS, typename T>
__device__ __forceinline__ void load_tile(uint32_t shared, const T *slab, int channels, const Extent &size, int z0,
                                          int y0, int x0)
{
    constexpr int VOXELS = PLANES * ROWS * COLUMNS;
#pragma unroll 4
    for (int i = threadIdx.x; i < VOXELS * 2; i += THREADS) {
        const int voxel = i >> 1, piece = i & 1;
        const int x = x0 + voxel % COLUMNS, y = y0 + voxel / COLUMNS % ROWS, z = z0 + voxel / (COLUMNS * ROWS);
        const bool inside = x >= 0 && x < size.width && y >= 0 && y < size.height && z >= 0 && z < size.depth;
        const long at = inside ? (((long)z * size.height + y) * size.width + x) * channels + piece * 8 : 0;
        copy_async(voxel_address(shared, voxel, piece), slab + at, inside);
    }
}

// Sums of four channels over the eight lanes that hold the same ones.
__device__ __forceinline__ void sum_over_rows(float (&value)[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int step = 4; step < 32; step <<= 1) value[i] += __shfl_xor_sync(~0u, value[i], step);
    }
}

// Bias, ReLU, rounding and storing of the four channels that a lane has of one voxel; adds what was stored to the sums.
template <typename T>
__device__ __forceinline__ void finish_voxel(const float (&low)[4], const float (&high)[4], int half, const float *bias,
                                             T *to, float (&sum)[4], float (&square)[4])
{
    const float4 b = __ldg(reinterpret_cast<const float4 *>(bias));
    const uint32_t first = Pair<T>::pack(relu(low[half * 2] + b.x), relu(low[half * 2 + 1] + b.y));
    const uint32_t second = Pair<T>::pack(relu(high[half * 2] + b.z), relu(high[half * 2 + 1] + b.w));
    const float2 f = Pair<T>::unpack(first), s = Pair<T>::unpack(second);
    const float stored[4] = {f.x, f.y, s.x, s.y};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[i] += stored[i];
        square[i] = fmaf(stored[i], stored[i], square[i]);
    }
    *reinterpret_cast<uint2 *>(to) = make_uint2(first, second);
}

// The same for a gradient: no bias and no ReLU, and the sums are those of the gradient and of gradient * value.
template <typename T>
__device__ __forceinline__ void finish_gradient(const float (&low)[4], const float (&high)[4], int half,
                                                const T *values, T *to, float (&sum)[4], float (&product)[4])
{
    const uint32_t first = Pair<T>::pack(low[half * 2], low[half * 2 + 1]);
    const uint32_t second = Pair<T>::pack(high[half * 2], high[half * 2 + 1]);
    const uint2 packed = __ldg(reinterpret_cast<const uint2 *>(values));
    const float2 f = Pair<T>::unpack(first), s = Pair<T>::unpack(second);
    const float2 u = Pair<T>::unpack(packed.x), v = Pair<T>::unpack(packed.y);
    const float stored[4] = {f.x, f.y, s.x, s.y}, value[4] = {u.x, u.y, v.x, v.y};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[i] += stored[i];
        product[i] = fmaf(stored[i], value[i], product[i]);
    }
    *reinterpret_cast<uint2 *>(to) = make_uint2(first, second);
}

// Sums of a block over its warps, in their order, to the tile's row of `partial`.
template <int WARPS, int CHANNELS>
__device__ __forceinline__ void store_sums(float2 *shared, float (&sum)[CHANNELS / 16][4],
                                           float (&square)[CHANNELS / 16][4], float2 *partial)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int j = 0; j < CHANNELS / 16; j++) {
        sum_over_rows(sum[j]);
        sum_over_rows(square[j]);
        if (lane < 4) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                shared[warp * CHANNELS + j * 16 + lane * 4 + i] = make_float2(sum[j][i], square[j][i]);
            }
        }
    }
    __syncthreads();
    for (int channel = threadIdx.x; channel < CHANNELS; channel += WARPS * 32) {
        float2 total = make_float2(0.0f, 0.0f);
        for (int w = 0; w < WARPS; w++) {
            total.x += shared[w * CHANNELS + channel].x;
            total.y += shared[w * CHANNELS + channel].y;
        }
        partial[channel] = total;
    }
}

#endif
