// The data gradient of nearest upsampling by two and a 2x2x2 convolution: with respect to the low resolution it is a
// 3x3x3 convolution of stride two over dy, whose 27 kernels are sums of the eight. Offset -1 of an axis takes offset 1
// of the kernel, offset 1 takes offset 0, and offset 0 both.
#include "backend/cuda/kernels/tile.cuh"
#include "backend/cuda/train/kernels.cuh"

enum { PLANES = 2, WARPS = 4, ROWS = 2 * WARPS, COLUMNS = 8, THREADS = WARPS * 32, OUT = 32, NARROW = OUT / 16 };
enum { IN_PLANES = 2 * PLANES + 1, IN_ROWS = 2 * ROWS + 1, IN_COLUMNS = 2 * COLUMNS + 1 };
enum { BYTES = IN_PLANES * IN_ROWS * IN_COLUMNS * 32, PLAIN_THREADS = 256 };

__device__ __forceinline__ float combined(const UpBackArguments &p, int example, int tap, int in, int out)
{
    const int z = tap / 9, y = tap / 3 % 3, x = tap % 3;
    const float *kernel = p.kernel + example * p.kernel_stride;
    float total = 0.0f;
    for (int i = z == 0; i <= (z < 2); i++)
        for (int j = y == 0; j <= (y < 2); j++)
            for (int k = x == 0; k <= (x < 2); k++)
                total += kernel[((long)(i * 4 + j * 2 + k) * p.in + in) * p.out + out];
    return total;
}

// As pack_kernel of fold.cu: what a lane loads at once. The product's inner channels are the layer's outputs.
template <typename T> __global__ void up_back_pack_kernel(const __grid_constant__ UpBackArguments p)
{
    const int slabs = p.out / SLAB;
    const long at = (long)blockIdx.x * blockDim.x + threadIdx.x, count = (long)p.in / 16 * slabs * 27 * 32;
    if (at >= count) return;
    const int lane = at % 32, tap = at / 32 % 27, slab = at / (32 * 27) % slabs, wide = at / (32L * 27 * slabs);
    uint32_t registers[4];
    for (int i = 0; i < 2; i++)
        for (int half = 0; half < 2; half++) {
            const int n = lane >> 2, in = wide * 16 + 4 * (n >> 1) + 2 * i + (n & 1);
            const int out = slab * SLAB + 2 * (lane & 3) + 8 * half;
            registers[i * 2 + half] =
                Pair<T>::pack(combined(p, blockIdx.y, tap, in, out), combined(p, blockIdx.y, tap, in, out + 1));
        }
    static_cast<uint4 *>(p.packed)[blockIdx.y * count + at] =
        make_uint4(registers[0], registers[1], registers[2], registers[3]);
}

template <typename T>
__global__ __launch_bounds__(THREADS, 4) void up_back_kernel(const __grid_constant__ UpBackArguments p)
{
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, example = blockIdx.z, slabs = p.out / SLAB;
    const int across = (p.low.width + COLUMNS - 1) / COLUMNS, down = (p.low.height + ROWS - 1) / ROWS;
    const int tile = blockIdx.x, x0 = tile % across * COLUMNS, y0 = tile / across % down * ROWS;
    const int z0 = tile / (across * down) * PLANES;
    const Extent high = {2 * p.low.depth, 2 * p.low.height, 2 * p.low.width};
    const T *dy = static_cast<const T *>(p.dy) + example * high.voxels() * p.out;
    const uint4 *weights = static_cast<const uint4 *>(p.packed) + (long)example * (p.in / 16) * slabs * 27 * 32 +
                           (long)blockIdx.y * NARROW * slabs * 27 * 32 + lane;
    const int own_voxel = 2 * (2 * warp + (lane >> 3 & 1)) * IN_COLUMNS + 2 * (lane & 7), piece = lane >> 4;
    float accumulator[PLANES][2 * NARROW][4] = {};
    for (int slab = 0; slab < slabs; slab++) {
        __syncthreads();
        load_tile<IN_PLANES, IN_ROWS, IN_COLUMNS, THREADS>(shared, dy + slab * SLAB, p.out, high, 2 * z0 - 1,
                                                           2 * y0 - 1, 2 * x0 - 1);
        copies_done();
        __syncthreads();
#pragma unroll 3
        for (int tap = 0; tap < 27; tap++) {
            uint4 b[NARROW];
#pragma unroll
            for (int n = 0; n < NARROW; n++) b[n] = __ldg(weights + ((long)(n * slabs + slab) * 27 + tap) * 32);
            const int voxel = own_voxel + (tap / 9 * IN_ROWS + tap / 3 % 3) * IN_COLUMNS + tap % 3;
#pragma unroll
            for (int d = 0; d < PLANES; d++) {
                uint32_t a[4];
                load_matrix(a, voxel_address(shared, voxel + 2 * d * IN_ROWS * IN_COLUMNS, piece));
#pragma unroll
                for (int n = 0; n < NARROW; n++) {
                    Pair<T>::multiply(accumulator[d][2 * n], a, b[n].x, b[n].y);
                    Pair<T>::multiply(accumulator[d][2 * n + 1], a, b[n].z, b[n].w);
                }
            }
        }
    }
    float sum[NARROW][4] = {}, product[NARROW][4] = {};
    const int x = x0 + (lane >> 2), channel = blockIdx.y * OUT + (lane & 3) * 4;
    const long first = example * p.low.voxels() * p.in + channel;
#pragma unroll
    for (int d = 0; d < PLANES; d++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int z = z0 + d, row = y0 + 2 * warp + half;
            if (x >= p.low.width || row >= p.low.height || z >= p.low.depth) continue;
            const long at = first + (((long)z * p.low.height + row) * p.low.width + x) * p.in;
#pragma unroll
            for (int n = 0; n < NARROW; n++) {
                finish_gradient<T>(accumulator[d][2 * n], accumulator[d][2 * n + 1], half,
                                   static_cast<const T *>(p.values) + at + n * 16, static_cast<T *>(p.dx) + at + n * 16,
                                   sum[n], product[n]);
            }
        }
    __syncthreads();
    store_sums<WARPS, OUT>(reinterpret_cast<float2 *>(memory), sum, product,
                           p.partial + ((long)example * gridDim.x + tile) * p.in + blockIdx.y * OUT);
}

// The path of checks: a thread for each value.
__global__ void up_back_plain_kernel(const __grid_constant__ UpBackArguments p)
{
    const long at = (long)blockIdx.x * PLAIN_THREADS + threadIdx.x;
    if (at >= p.low.voxels() * p.in) return;
    const int in = at % p.in, example = blockIdx.y;
    const long voxel = at / p.in;
    const Extent high = {2 * p.low.depth, 2 * p.low.height, 2 * p.low.width};
    const int x = voxel % p.low.width, y = voxel / p.low.width % p.low.height,
              z = voxel / ((long)p.low.width * p.low.height);
    const float *dy = static_cast<const float *>(p.dy) + example * high.voxels() * p.out;
    float total = 0.0f;
    for (int tap = 0; tap < 27; tap++) {
        const int zz = 2 * z + tap / 9 - 1, yy = 2 * y + tap / 3 % 3 - 1, xx = 2 * x + tap % 3 - 1;
        if (zz < 0 || yy < 0 || xx < 0) continue; // the other side is never reached
        const float *from = dy + (((long)zz * high.height + yy) * high.width + xx) * p.out;
        for (int out = 0; out < p.out; out++)
            total = fmaf(combined(p, example, tap, in, out), __ldg(from + out), total);
    }
    static_cast<float *>(p.dx)[example * p.low.voxels() * p.in + at] = total;
}

template <typename T> int64_t up_back_packed(int in, int out)
{
    return sizeof(T) == 4 ? 0 : (int64_t)in / 16 * (out / SLAB) * 27 * 32 * (int64_t)sizeof(uint4);
}

template <typename T> int up_back_tiles(const Extent &low)
{
    if (sizeof(T) == 4) return plain_tiles(low);
    return (low.width + COLUMNS - 1) / COLUMNS * ((low.height + ROWS - 1) / ROWS) * ((low.depth + PLANES - 1) / PLANES);
}

template <typename T> crd_status up_back_pack_launch(const UpBackArguments &p, int examples, cudaStream_t stream)
{
    const long packs = (long)p.in / 16 * (p.out / SLAB) * 27 * 32;
    if constexpr (sizeof(T) == 2) {
        up_back_pack_kernel<T><<<dim3((unsigned)((packs + 255) / 256), examples), 256, 0, stream>>>(p);
        CUDA_PASS(cudaGetLastError());
    }
    return CRD_OK;
}

template <typename T> crd_status up_back_launch(const UpBackArguments &p, int examples, cudaStream_t stream)
{
    if constexpr (sizeof(T) == 4) {
        const long values = p.low.voxels() * p.in;
        up_back_plain_kernel<<<dim3((unsigned)((values + PLAIN_THREADS - 1) / PLAIN_THREADS), examples), PLAIN_THREADS,
                               0, stream>>>(p);
        CUDA_PASS(cudaGetLastError());
        return plain_sums(p.dx, p.values, p.partial, p.in, p.low, examples, stream);
    } else {
        const dim3 grid(up_back_tiles<T>(p.low), p.in / OUT, examples);
        CUDA_PASS(cudaFuncSetAttribute(up_back_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
        up_back_kernel<T><<<grid, THREADS, BYTES, stream>>>(p);
        CUDA_PASS(cudaGetLastError());
        return CRD_OK;
    }
}

__global__ void flip_kernel(const __grid_constant__ FlipArguments p)
{
    const long at = (long)blockIdx.x * blockDim.x + threadIdx.x, values = 27L * p.out * p.count;
    if (at >= values) return;
    const int i = at % p.count, o = at / p.count % p.out, tap = at / ((long)p.count * p.out);
    p.flipped[blockIdx.y * values + at] =
        p.kernel[blockIdx.y * p.kernel_stride + ((26L - tap) * p.in + p.first + i) * p.out + o];
}

crd_status flip_launch(const FlipArguments &p, int examples, cudaStream_t stream)
{
    const long values = 27L * p.out * p.count;
    flip_kernel<<<dim3((unsigned)((values + 255) / 256), examples), 256, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

#define FOR_TYPE(T)                                                                                                    \
    template int64_t up_back_packed<T>(int, int);                                                                      \
    template int up_back_tiles<T>(const Extent &);                                                                     \
    template crd_status up_back_pack_launch<T>(const UpBackArguments &, int, cudaStream_t);                            \
    template crd_status up_back_launch<T>(const UpBackArguments &, int, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
