// Gradients of kernels: products of two tensors summed over voxels, for all 27 taps.
//
// A block takes 16 channels of a and 16 or 32 of b, and walks over tiles of b's voxels. Voxels are the inner dimension
// of the matrix product; both operands lie voxel by voxel in shared memory and are transposed on the way to registers.
// A warp owns one row of taps: what it loads of a plane of a serves three planes of b. Sums stay in registers from the
// first tile to the last; then every block writes its own, and reduce_kernel adds them in order.
#include "backend/cuda/kernels/tile.cuh"
#include "backend/cuda/train/kernels.cuh"

// SLABS: of 16 channels of b. With one, the two teams of three warps share the rows of a tile; with two, each has one.
template <int STRIDE_, int SLABS_> struct KernelShape {
    static constexpr int STRIDE = STRIDE_, SLABS = SLABS_, TEAMS = 2, WARPS = 3 * TEAMS, THREADS = WARPS * 32,
                         COLUMNS = 8;
    static constexpr int PLANES = STRIDE == 1 ? 8 : 4, ROWS = STRIDE == 1 && SLABS == 1 ? 16 : STRIDE == 1 ? 8 : 4;
    static constexpr int A_PLANES = (PLANES - 1) * STRIDE + 3, A_ROWS = (ROWS - 1) * STRIDE + 3;
    static constexpr int A_COLUMNS = (COLUMNS - 1) * STRIDE + 3;
    static constexpr int A_BYTES = A_PLANES * A_ROWS * A_COLUMNS * 32, B_BYTES = PLANES * ROWS * COLUMNS * 32;
    static constexpr int BYTES = A_BYTES + SLABS * B_BYTES;
    static constexpr int SLOTS = SLABS == 1 ? TEAMS : 1; // of one block
};

template <class S> __host__ __device__ __forceinline__ int tiles_of(const Extent &size)
{
    return (size.width + S::COLUMNS - 1) / S::COLUMNS * ((size.height + S::ROWS - 1) / S::ROWS) *
           ((size.depth + S::PLANES - 1) / S::PLANES);
}

// sum[kd][kw][narrow][4] += over one pair of rows of a tile, all its planes.
template <typename T, class S>
__device__ __forceinline__ void add_rows(float (&sum)[3][3][2][4], uint32_t a_shared, uint32_t b_shared, int row,
                                         int kh)
{
    const int lane = threadIdx.x & 31, own_row = lane >> 4, column = lane & 7, piece = lane >> 3 & 1;
    const int a_voxel = (S::STRIDE * (row + own_row) + kh) * S::A_COLUMNS + S::STRIDE * column;
    const int b_voxel = (row + own_row) * S::COLUMNS + column;
    uint32_t b[3][4]; // planes z, z - 1, z - 2 of b
#pragma unroll
    for (int z = 0; z < S::PLANES + 2; z++) { // for stride 1 a plane of a, else a plane of b
        if (S::STRIDE == 2 && z >= S::PLANES) break;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            b[2][i] = b[1][i];
            b[1][i] = b[0][i];
        }
        if (z < S::PLANES) load_transposed(b[0], voxel_address(b_shared, b_voxel + z * S::ROWS * S::COLUMNS, piece));
        if constexpr (S::STRIDE == 1) {
#pragma unroll
            for (int kw = 0; kw < 3; kw++) {
                uint32_t a[4];
                load_transposed(a, voxel_address(a_shared, a_voxel + z * S::A_ROWS * S::A_COLUMNS + kw, piece));
#pragma unroll
                for (int kd = 0; kd < 3; kd++) {
                    if (z - kd < 0 || z - kd >= S::PLANES) continue;
                    Pair<T>::multiply(sum[kd][kw][0], a, b[kd][0], b[kd][2]);
                    Pair<T>::multiply(sum[kd][kw][1], a, b[kd][1], b[kd][3]);
                }
            }
        } else {
#pragma unroll
            for (int kd = 0; kd < 3; kd++)
#pragma unroll
                for (int kw = 0; kw < 3; kw++) {
                    uint32_t a[4];
                    load_transposed(
                        a, voxel_address(a_shared, a_voxel + (2 * z + kd) * S::A_ROWS * S::A_COLUMNS + kw, piece));
                    Pair<T>::multiply(sum[kd][kw][0], a, b[0][0], b[0][2]);
                    Pair<T>::multiply(sum[kd][kw][1], a, b[0][1], b[0][3]);
                }
        }
    }
}

template <typename T, class S>
__global__ __launch_bounds__(S::THREADS, 2) void kernel_gradient_kernel(const __grid_constant__ KernelArguments p)
{
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t a_shared = (uint32_t)__cvta_generic_to_shared(memory), b_shared = a_shared + S::A_BYTES;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, kh = warp % 3, team = warp / 3, example = blockIdx.z;
    const int slabs0 = p.a[0].channels / SLAB, slabs = slabs0 + p.a[1].channels / SLAB;
    const int slab = blockIdx.y % slabs, b_first = blockIdx.y / slabs * S::SLABS * SLAB;
    const bool second = slab >= slabs0;
    const ConvInput &input = p.a[second];
    const T *a = static_cast<const T *>(input.data) + example * input.stride + (second ? slab - slabs0 : slab) * SLAB;
    const T *b = static_cast<const T *>(p.b.data) + example * p.b.stride + b_first;
    const Extent a_size = {S::STRIDE * p.size.depth, S::STRIDE * p.size.height, S::STRIDE * p.size.width};
    const int across = (p.size.width + S::COLUMNS - 1) / S::COLUMNS, down = (p.size.height + S::ROWS - 1) / S::ROWS;

    float sum[3][3][2][4] = {};
    for (int tile = blockIdx.x; tile < tiles_of<S>(p.size); tile += gridDim.x) {
        const int x0 = tile % across * S::COLUMNS, y0 = tile / across % down * S::ROWS;
        const int z0 = tile / (across * down) * S::PLANES;
        __syncthreads();
        load_tile<S::A_PLANES, S::A_ROWS, S::A_COLUMNS, S::THREADS>(
            a_shared, a, input.channels, a_size, S::STRIDE * z0 - 1, S::STRIDE * y0 - 1, S::STRIDE * x0 - 1);
#pragma unroll
        for (int k = 0; k < S::SLABS; k++) {
            load_tile<S::PLANES, S::ROWS, S::COLUMNS, S::THREADS>(b_shared + k * S::B_BYTES, b + k * SLAB, p.b.channels,
                                                                  p.size, z0, y0, x0);
        }
        copies_done();
        __syncthreads();
        if (S::SLABS == 1) {
#pragma unroll 1
            for (int row = 2 * team; row < S::ROWS; row += 2 * S::TEAMS)
                add_rows<T, S>(sum, a_shared, b_shared, row, kh);
        } else {
#pragma unroll 1
            for (int row = 0; row < S::ROWS; row += 2)
                add_rows<T, S>(sum, a_shared, b_shared + team * S::B_BYTES, row, kh);
        }
    }

    const int in = p.a[0].channels + p.a[1].channels, out = p.b.channels;
    const int slot = blockIdx.x * S::SLOTS + (S::SLABS == 1 ? team : 0);
    float *to = p.partial + ((long)example * gridDim.x * S::SLOTS + slot) * 27 * in * out +
                (long)(slab * SLAB + (lane >> 2)) * out + b_first + (S::SLABS == 1 ? 0 : team * SLAB) + 2 * (lane & 3);
#pragma unroll
    for (int kd = 0; kd < 3; kd++)
#pragma unroll
        for (int kw = 0; kw < 3; kw++)
#pragma unroll
            for (int n = 0; n < 2; n++) {
                float *at = to + (long)(kd * 9 + kh * 3 + kw) * in * out + n * 8;
                const float(&s)[4] = sum[kd][kw][n];
                *reinterpret_cast<float2 *>(at) = make_float2(s[0], s[1]);
                *reinterpret_cast<float2 *>(at + 8L * out) = make_float2(s[2], s[3]);
            }
}

enum { BLOCKS = 264 /* that fill a large GPU twice over */, PLAIN_ROWS = 16, PLAIN_THREADS = 256 };

// Blocks that share the tiles of one pair of channel blocks.
static int parts_of(int tiles, int pairs)
{
    const int parts = (BLOCKS + pairs - 1) / pairs;
    return parts < tiles ? parts : tiles;
}

template <int STRIDE> static int parts_for(const Extent &size, int a, int b)
{
    if (b % 32 == 0) return parts_of(tiles_of<KernelShape<STRIDE, 2>>(size), a / SLAB * (b / 32));
    return parts_of(tiles_of<KernelShape<STRIDE, 1>>(size), a / SLAB * (b / SLAB));
}

template <typename T, int STRIDE> int kernel_slots(const Extent &size, int a, int b)
{
    if (sizeof(T) == 4) return (size.depth * size.height + PLAIN_ROWS - 1) / PLAIN_ROWS;
    return parts_for<STRIDE>(size, a, b) * (b % 32 == 0 ? 1 : 2);
}

template <typename T, class S>
static crd_status launch(const KernelArguments &p, int parts, int examples, cudaStream_t stream)
{
    const int in = p.a[0].channels + p.a[1].channels;
    const dim3 grid(parts, in / SLAB * (p.b.channels / (SLAB * S::SLABS)), examples);
    CUDA_PASS(
        cudaFuncSetAttribute(kernel_gradient_kernel<T, S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    kernel_gradient_kernel<T, S><<<grid, S::THREADS, S::BYTES, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// The path of checks: a thread for each value of the kernel, which walks over some rows of b.
template <int STRIDE> __global__ void kernel_plain_kernel(const __grid_constant__ KernelArguments p)
{
    const int in = p.a[0].channels + p.a[1].channels, out = p.b.channels, example = blockIdx.z;
    const long at = (long)blockIdx.x * PLAIN_THREADS + threadIdx.x;
    if (at >= 27L * in * out) return;
    const int o = at % out, i = at / out % in, tap = at / ((long)in * out);
    const bool second = i >= p.a[0].channels;
    const ConvInput &input = p.a[second];
    const float *a =
        static_cast<const float *>(input.data) + example * input.stride + (second ? i - p.a[0].channels : i);
    const float *b = static_cast<const float *>(p.b.data) + example * p.b.stride + o;
    const Extent size = {STRIDE * p.size.depth, STRIDE * p.size.height, STRIDE * p.size.width};
    float total = 0.0f;
    for (int row = blockIdx.y * PLAIN_ROWS; row < (blockIdx.y + 1) * PLAIN_ROWS && row < p.size.depth * p.size.height;
         row++) {
        const int z = STRIDE * (row / p.size.height) + tap / 9 - 1,
                  y = STRIDE * (row % p.size.height) + tap / 3 % 3 - 1;
        if (z < 0 || z >= size.depth || y < 0 || y >= size.height) continue;
        for (int x = 0; x < p.size.width; x++) {
            const int from = STRIDE * x + tap % 3 - 1;
            if (from < 0 || from >= size.width) continue;
            total = fmaf(__ldg(a + (((long)z * size.height + y) * size.width + from) * input.channels),
                         __ldg(b + ((long)row * p.size.width + x) * out), total);
        }
    }
    p.partial[((long)example * gridDim.y + blockIdx.y) * 27 * in * out + at] = total;
}

template <typename T, int STRIDE>
crd_status kernel_gradient_launch(const KernelArguments &p, int examples, cudaStream_t stream)
{
    const int in = p.a[0].channels + p.a[1].channels, out = p.b.channels;
    if constexpr (sizeof(T) == 4) {
        const long values = 27L * in * out;
        const dim3 grid((unsigned)((values + PLAIN_THREADS - 1) / PLAIN_THREADS),
                        kernel_slots<T, STRIDE>(p.size, in, out), examples);
        kernel_plain_kernel<STRIDE><<<grid, PLAIN_THREADS, 0, stream>>>(p);
        CUDA_PASS(cudaGetLastError());
        return CRD_OK;
    } else {
        const int parts = parts_for<STRIDE>(p.size, in, out);
        if (out % 32 == 0) return launch<T, KernelShape<STRIDE, 2>>(p, parts, examples, stream);
        return launch<T, KernelShape<STRIDE, 1>>(p, parts, examples, stream);
    }
}

#define FOR_TYPE(T)                                                                                                    \
    template int kernel_slots<T, 1>(const Extent &, int, int);                                                         \
    template int kernel_slots<T, 2>(const Extent &, int, int);                                                         \
    template crd_status kernel_gradient_launch<T, 1>(const KernelArguments &, int, cudaStream_t);                      \
    template crd_status kernel_gradient_launch<T, 2>(const KernelArguments &, int, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
