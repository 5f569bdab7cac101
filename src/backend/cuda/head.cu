// The head: 3x3x3 convolution to one channel, ReLU, the 1x1x1 convolution and the sigmoid, in one pass.
//
// The matrix product has eight columns and the head one output, so the three planes of the kernel take a column each:
// an input plane gives its share of three output planes at once, and those meet in registers.
#include "backend/cuda/conv.cuh"
#include "backend/cuda/tile.cuh"

enum { PLANES = 8, WARPS = 8, ROWS = 2 * WARPS, COLUMNS = 8, THREADS = WARPS * 32 };
enum {
    IN_PLANES = PLANES + 2,
    IN_ROWS = ROWS + 2,
    IN_COLUMNS = COLUMNS + 2,
    BYTES = IN_PLANES * IN_ROWS * IN_COLUMNS * 32
};

template <typename T> __global__ __launch_bounds__(THREADS, 3) void head_kernel(const __grid_constant__ HeadArguments p)
{
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sample = blockIdx.z;
    const int across = (p.size.width + COLUMNS - 1) / COLUMNS, down = (p.size.height + ROWS - 1) / ROWS;
    const int x0 = blockIdx.x % across * COLUMNS, y0 = blockIdx.x / across % down * ROWS;
    const int z0 = blockIdx.x / (across * down) * PLANES, slabs = p.x.channels / SLAB;
    float share[IN_PLANES]
               [4]; // columns 2q and 2q + 1 of two rows: q = 0 has planes 0 and 1 of the kernel, q = 1 plane 2
#pragma unroll
    for (int z = 0; z < IN_PLANES; z++)
#pragma unroll
        for (int i = 0; i < 4; i++) share[z][i] = 0.0f;
    const int own_voxel = (2 * warp + (lane >> 3 & 1)) * IN_COLUMNS + (lane & 7), piece = lane >> 4;
    const uint2 *weights = p.weights + sample * p.weights_stride + lane;
    for (int slab = 0; slab < slabs; slab++) {
        const T *from = static_cast<const T *>(p.x.data) + sample * p.x.stride + slab * SLAB;
        __syncthreads();
        load_tile<IN_PLANES, IN_ROWS, IN_COLUMNS, THREADS>(shared, from, p.x.channels, p.size, z0 - 1, y0 - 1, x0 - 1);
        copies_done();
        __syncthreads();
#pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            const uint2 b = __ldg(weights + (slab * 9 + tap) * 32);
#pragma unroll
            for (int z = 0; z < IN_PLANES; z++) {
                uint32_t a[4];
                load_matrix(a,
                            voxel_address(shared, own_voxel + (z * IN_ROWS + tap / 3) * IN_COLUMNS + tap % 3, piece));
                Pair<T>::multiply(share[z], a, b.x, b.y);
            }
        }
    }
    const float weight = p.point[sample * p.point_stride], offset = p.point[sample * p.point_stride + 1];
    const int x = x0 + (lane >> 2);
#pragma unroll
    for (int d = 0; d < PLANES; d++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float last = __shfl_down_sync(~0u, share[d + 2][half * 2], 1); // plane 2, from the neighbour
            const int z = z0 + d, y = y0 + 2 * warp + half;
            if ((lane & 3) != 0 || x >= p.size.width || y >= p.size.height || z >= p.size.depth) continue;
            const float bias = __ldg(p.bias + sample * BORDER_CLASSES + border_class(p.size, z, y, x));
            const float value = fmaxf(share[d][half * 2] + share[d + 1][half * 2 + 1] + last + bias, 0.0f);
            const float logit = (weight * value + offset) * p.inverse_temperature;
            p.probability[sample * p.size.voxels() + ((long)z * p.size.height + y) * p.size.width + x] =
                1.0f / (1.0f + expf(-logit));
        }
}

template <typename T> crd_status head_launch(const HeadArguments &arguments, int samples, cudaStream_t stream)
{
    const Extent &e = arguments.size;
    const dim3 grid((e.width + COLUMNS - 1) / COLUMNS * ((e.height + ROWS - 1) / ROWS) *
                        ((e.depth + PLANES - 1) / PLANES),
                    1, samples);
    CUDA_PASS(cudaFuncSetAttribute(head_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
    head_kernel<T><<<grid, THREADS, BYTES, stream>>>(arguments);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template crd_status head_launch<__half>(const HeadArguments &, int, cudaStream_t);
template crd_status head_launch<__nv_bfloat16>(const HeadArguments &, int, cudaStream_t);
