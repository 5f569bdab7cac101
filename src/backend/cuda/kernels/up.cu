// Nearest upsampling by two, then a 2x2x2 convolution, as eight small convolutions at low resolution: an output voxel
// with even coordinate sees one input voxel in that axis (both taps fall on it), one with odd coordinate two.
#include "backend/cuda/kernels/conv.cuh"
#include "backend/cuda/kernels/tile.cuh"

enum { PLANES = 4, WARPS = 4, ROWS = 2 * WARPS, COLUMNS = 8, THREADS = WARPS * 32 };
enum {
    IN_PLANES = PLANES + 1,
    IN_ROWS = ROWS + 1,
    IN_COLUMNS = COLUMNS + 1,
    TILE_BYTES = IN_PLANES * IN_ROWS * IN_COLUMNS * 32
};

template <typename T> __global__ __launch_bounds__(THREADS, 4) void up_kernel(const __grid_constant__ UpArguments p)
{
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sample = blockIdx.z;
    const int across = (p.low.width + COLUMNS - 1) / COLUMNS, down = (p.low.height + ROWS - 1) / ROWS;
    const int tile = blockIdx.x, x0 = tile % across * COLUMNS, y0 = tile / across % down * ROWS;
    const int z0 = tile / (across * down) * PLANES, slabs = p.x.channels / SLAB;
    const Extent high = {2 * p.low.depth, 2 * p.low.height, 2 * p.low.width};
    const T *from = static_cast<const T *>(p.x.data) + sample * p.x.stride;
    for (int slab = 0; slab < slabs; slab++) {
        load_tile<IN_PLANES, IN_ROWS, IN_COLUMNS, THREADS>(shared + slab * TILE_BYTES, from + slab * SLAB, p.x.channels,
                                                           p.low, z0, y0, x0);
    }
    copies_done();
    __syncthreads();

    const int own_voxel = (2 * warp + (lane >> 3 & 1)) * IN_COLUMNS + (lane & 7), piece = lane >> 4;
    const int channel = blockIdx.y * 16 + (lane & 3) * 4;
    const uint4 *weights = p.weights + sample * p.weights_stride + (long)blockIdx.y * slabs * 27 * 32 + lane;
    const float *bias = p.bias + (long)sample * BORDER_CLASSES * p.out + channel;
    T *y = static_cast<T *>(p.y) + sample * high.voxels() * p.out + channel;
    float sum[1][4] = {}, square[1][4] = {};
    int first_tap = 0; // of this parity, among the 27
#pragma unroll
    for (int parity = 0; parity < 8; parity++) {
        const int pz = parity >> 2, py = parity >> 1 & 1, px = parity & 1, taps = (1 + pz) * (1 + py) * (1 + px);
        float accumulator[PLANES][2][4];
#pragma unroll
        for (int d = 0; d < PLANES; d++)
#pragma unroll
            for (int i = 0; i < 4; i++) accumulator[d][0][i] = accumulator[d][1][i] = 0.0f;
        for (int slab = 0; slab < slabs; slab++) {
            int tap = first_tap;
#pragma unroll
            for (int a = 0; a <= pz; a++)
#pragma unroll
                for (int b = 0; b <= py; b++)
#pragma unroll
                    for (int c = 0; c <= px; c++, tap++) {
                        const uint4 w = __ldg(weights + (long)(slab * 27 + tap) * 32);
                        const int offset = own_voxel + (a * IN_ROWS + b) * IN_COLUMNS + c;
#pragma unroll
                        for (int d = 0; d < PLANES; d++) {
                            uint32_t m[4];
                            load_matrix(
                                m, voxel_address(shared + slab * TILE_BYTES, offset + d * IN_ROWS * IN_COLUMNS, piece));
                            Pair<T>::multiply(accumulator[d][0], m, w.x, w.y);
                            Pair<T>::multiply(accumulator[d][1], m, w.z, w.w);
                        }
                    }
        }
        first_tap += taps;
        const int x = 2 * (x0 + (lane >> 2)) + px;
#pragma unroll
        for (int d = 0; d < PLANES; d++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int z = 2 * (z0 + d) + pz, row = 2 * (y0 + 2 * warp + half) + py;
                if (x >= high.width || row >= high.height || z >= high.depth) continue;
                finish_voxel<T>(accumulator[d][0], accumulator[d][1], half,
                                bias + border_class(high, z, row, x) * p.out,
                                y + (((long)z * high.height + row) * high.width + x) * p.out, sum[0], square[0]);
            }
    }
    __syncthreads();
    store_sums<WARPS, 16>(reinterpret_cast<float2 *>(memory), sum, square,
                          p.partial + ((long)sample * gridDim.x + tile) * p.out + blockIdx.y * 16);
}

int up_tiles(const Extent &low)
{
    return (low.width + COLUMNS - 1) / COLUMNS * ((low.height + ROWS - 1) / ROWS) * ((low.depth + PLANES - 1) / PLANES);
}

template <typename T> crd_status up_launch(const UpArguments &arguments, int samples, cudaStream_t stream)
{
    const int bytes = arguments.x.channels / SLAB * TILE_BYTES;
    const dim3 grid(up_tiles(arguments.low), arguments.out / 16, samples);
    // The limit belongs to the kernel, not to the launch: with this launch's bytes, another thread's launch of another
    // layer would fail in between.
    int device, most;
    CUDA_PASS(cudaGetDevice(&device));
    CUDA_PASS(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUDA_PASS(cudaFuncSetAttribute(up_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    up_kernel<T><<<grid, THREADS, bytes, stream>>>(arguments);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template crd_status up_launch<__half>(const UpArguments &, int, cudaStream_t);
template crd_status up_launch<__nv_bfloat16>(const UpArguments &, int, cudaStream_t);
