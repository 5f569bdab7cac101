// 3x3x3 convolution over one or two inputs.
#include "backend/cuda/kernels/conv.cuh"
#include "backend/cuda/kernels/tile.cuh"

// OUT: output channels of a block; PLANES: output planes of its tile; WARPS: two rows each.
template <int OUT_, int PLANES_, int WARPS_, int BLOCKS_> struct ConvShape {
    static constexpr int OUT = OUT_, PLANES = PLANES_, WARPS = WARPS_, ROWS = 2 * WARPS_, COLUMNS = 8;
    static constexpr int THREADS = WARPS * 32, NARROW = OUT / 16, BLOCKS = BLOCKS_; // BLOCKS on one processor
    static constexpr int IN_PLANES = PLANES + 2, IN_ROWS = ROWS + 2, IN_COLUMNS = COLUMNS + 2;
    static constexpr int BYTES = IN_PLANES * IN_ROWS * IN_COLUMNS * 32;
};

template <typename T, class S, bool GRADIENT>
__global__ __launch_bounds__(S::THREADS, S::BLOCKS) void conv_kernel(const __grid_constant__ ConvArguments p)
{
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sample = blockIdx.z;
    const int across = (p.size.width + S::COLUMNS - 1) / S::COLUMNS, down = (p.size.height + S::ROWS - 1) / S::ROWS;
    const int tile = blockIdx.x, x0 = tile % across * S::COLUMNS, y0 = tile / across % down * S::ROWS;
    const int z0 = tile / (across * down) * S::PLANES;
    const int slabs0 = p.x[0].channels / SLAB, slabs = slabs0 + p.x[1].channels / SLAB;

    float accumulator[S::PLANES][2 * S::NARROW][4];
#pragma unroll
    for (int d = 0; d < S::PLANES; d++)
#pragma unroll
        for (int n = 0; n < 2 * S::NARROW; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) accumulator[d][n][i] = 0.0f;

    const int own_voxel = (2 * warp + (lane >> 3 & 1)) * S::IN_COLUMNS + (lane & 7), piece = lane >> 4;
    const uint4 *weights =
        p.weights + sample * p.weights_stride + (long)blockIdx.y * S::NARROW * slabs * 27 * 32 + lane;

    for (int slab = 0; slab < slabs; slab++) {
        const bool second = slab >= slabs0;
        const ConvInput &input = p.x[second];
        const T *from =
            static_cast<const T *>(input.data) + sample * input.stride + (second ? slab - slabs0 : slab) * SLAB;
        __syncthreads();
        load_tile<S::IN_PLANES, S::IN_ROWS, S::IN_COLUMNS, S::THREADS>(
            shared, from, input.channels, input.whole, z0 - 1 + input.at.z, y0 - 1 + input.at.y, x0 - 1 + input.at.x);
        copies_done();
        __syncthreads();
#pragma unroll 1
        for (int row = 0; row < 3; row++) {
#pragma unroll
            for (int column = 0; column < 3; column++) {
                uint4 b[3][S::NARROW]; // for the three planes of the kernel
#pragma unroll
                for (int k = 0; k < 3; k++)
#pragma unroll
                    for (int n = 0; n < S::NARROW; n++) {
                        b[k][n] = __ldg(weights + ((long)(n * slabs + slab) * 27 + (row * 3 + column) * 3 + k) * 32);
                    }
#pragma unroll
                for (int z = 0; z < S::IN_PLANES; z++) {
                    uint32_t a[4];
                    const int voxel = own_voxel + (z * S::IN_ROWS + row) * S::IN_COLUMNS + column;
                    load_matrix(a, voxel_address(shared, voxel, piece));
#pragma unroll
                    for (int k = 0; k < 3; k++) {
                        const int d = z - k;
                        if (d < 0 || d >= S::PLANES) continue;
#pragma unroll
                        for (int n = 0; n < S::NARROW; n++) {
                            Pair<T>::multiply(accumulator[d][2 * n], a, b[k][n].x, b[k][n].y);
                            Pair<T>::multiply(accumulator[d][2 * n + 1], a, b[k][n].z, b[k][n].w);
                        }
                    }
                }
            }
        }
    }

    float sum[S::NARROW][4] = {}, square[S::NARROW][4] = {};
    const int x = x0 + (lane >> 2), channel = blockIdx.y * S::OUT + (lane & 3) * 4;
    T *y = static_cast<T *>(p.y) + sample * p.size.voxels() * p.out + channel;
    const T *values = static_cast<const T *>(p.values) + sample * p.size.voxels() * p.out + channel;
    const float *bias = p.bias + (long)sample * BORDER_CLASSES * p.out + channel;
#pragma unroll
    for (int d = 0; d < S::PLANES; d++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int z = z0 + d, row = y0 + 2 * warp + half;
            if (x >= p.size.width || row >= p.size.height || z >= p.size.depth) continue;
            const float *class_bias = GRADIENT ? nullptr : bias + border_class(p.size, z, row, x) * p.out;
            const long at = (((long)z * p.size.height + row) * p.size.width + x) * p.out;
#pragma unroll
            for (int n = 0; n < S::NARROW; n++) {
                if (GRADIENT) {
                    finish_gradient<T>(accumulator[d][2 * n], accumulator[d][2 * n + 1], half, values + at + n * 16,
                                       y + at + n * 16, sum[n], square[n]);
                } else {
                    finish_voxel<T>(accumulator[d][2 * n], accumulator[d][2 * n + 1], half, class_bias + n * 16,
                                    y + at + n * 16, sum[n], square[n]);
                }
            }
        }
    }
    __syncthreads(); // the tile is used up: its memory takes the sums
    store_sums<S::WARPS, S::OUT>(reinterpret_cast<float2 *>(memory), sum, square,
                                 p.partial + ((long)sample * gridDim.x + tile) * p.out + blockIdx.y * S::OUT);
}

// The fastest of those tried on an H200 at the network's sizes.
typedef ConvShape<16, 8, 8, 2> Narrow;
typedef ConvShape<32, 4, 4, 4> Middle;
typedef ConvShape<64, 4, 4, 2> Wide;

template <class S> static int tiles_of(const Extent &size)
{
    return (size.width + S::COLUMNS - 1) / S::COLUMNS * ((size.height + S::ROWS - 1) / S::ROWS) *
           ((size.depth + S::PLANES - 1) / S::PLANES);
}

int conv_tiles(const Extent &size, int out)
{
    return out % 64 == 0 ? tiles_of<Wide>(size) : out % 32 == 0 ? tiles_of<Middle>(size) : tiles_of<Narrow>(size);
}

template <typename T, class S, bool GRADIENT>
static crd_status launch(const ConvArguments &arguments, int samples, cudaStream_t stream)
{
    const dim3 grid(tiles_of<S>(arguments.size), arguments.out / S::OUT, samples);
    CUDA_PASS(cudaFuncSetAttribute(conv_kernel<T, S, GRADIENT>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    conv_kernel<T, S, GRADIENT><<<grid, S::THREADS, S::BYTES, stream>>>(arguments);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T, bool GRADIENT>
static crd_status launch_by_width(const ConvArguments &arguments, int samples, cudaStream_t stream)
{
    if (arguments.out % 64 == 0) return launch<T, Wide, GRADIENT>(arguments, samples, stream);
    if (arguments.out % 32 == 0) return launch<T, Middle, GRADIENT>(arguments, samples, stream);
    return launch<T, Narrow, GRADIENT>(arguments, samples, stream);
}

template <typename T> crd_status conv_launch(const ConvArguments &arguments, int samples, cudaStream_t stream)
{
    return arguments.values == nullptr ? launch_by_width<T, false>(arguments, samples, stream)
                                       : launch_by_width<T, true>(arguments, samples, stream);
}

template crd_status conv_launch<__half>(const ConvArguments &, int, cudaStream_t);
template crd_status conv_launch<__nv_bfloat16>(const ConvArguments &, int, cudaStream_t);
