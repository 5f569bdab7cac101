// Convolutions with one channel on one side: the first layer, and both gradients of the head. Plain float arithmetic.
#include "backend/cuda/train.cuh"

enum { THREADS = 256, GROUP = 16 /* channels that a thread makes at a time */, ROUNDS = 4, TILE = THREADS * ROUNDS };

int spread_tiles(const Extent &size)
{
    return (int)((size.voxels() + TILE - 1) / TILE);
}

// Sums of 16 values over the lanes of a warp: every step halves the values that a lane keeps. Lane l ends up with
// value number `sum_place(l)`, twice over.
__device__ __forceinline__ float sum_sixteen(float (&v)[16])
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int half = 8, bit = 16; half > 0; half >>= 1, bit >>= 1) {
        const bool upper = (lane & bit) != 0;
#pragma unroll
        for (int i = 0; i < half; i++) {
            const float send = upper ? v[i] : v[i + half], keep = upper ? v[i + half] : v[i];
            v[i] = keep + __shfl_xor_sync(~0u, send, bit);
        }
    }
    return v[0] + __shfl_xor_sync(~0u, v[0], 1);
}
__device__ __forceinline__ int sum_place(int lane)
{
    return lane >> 1; // bit 16 of the lane chose +8, ..., bit 2 chose +1
}

template <typename T> __device__ __forceinline__ void load_group(const T *from, int count, float (&to)[GROUP])
{
    if constexpr (sizeof(T) == 2) {
        float low[8], high[8];
        load_channels<T>(from, low);
        load_channels<T>(from + 8, high);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            to[i] = low[i];
            to[i + 8] = high[i];
        }
    } else {
        for (int i = 0; i < GROUP; i++) to[i] = i < count ? from[i] : 0.0f;
    }
}

template <typename T> __device__ __forceinline__ void store_group(float (&from)[GROUP], int count, T *to)
{
    if constexpr (sizeof(T) == 2) {
        float low[8], high[8];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            low[i] = from[i];
            high[i] = from[i + 8];
        }
        store_channels<T>(low, to);
        store_channels<T>(high, to + 8);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            from[i] = low[i];
            from[i + 8] = high[i];
        }
    } else {
        for (int i = 0; i < count; i++) to[i] = from[i];
    }
}

template <typename T> __global__ __launch_bounds__(THREADS) void spread_kernel(const __grid_constant__ SpreadArguments p)
{
    __shared__ float weights[27][GROUP];
    __shared__ float2 sums[THREADS / 32][GROUP];
    const int example = blockIdx.z, first = blockIdx.y * GROUP, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int channels = p.channels - first < GROUP ? p.channels - first : GROUP;
    const bool gradient = p.values != nullptr;
    const long voxels = p.size.voxels();
    const float *kernel = p.kernel + example * p.kernel_stride + first, *s = p.s + example * voxels;
    for (int i = threadIdx.x; i < 27 * GROUP; i += THREADS) {
        const int tap = i / GROUP, c = i % GROUP;
        weights[tap][c] = c < channels ? kernel[(gradient ? 26 - tap : tap) * p.channels + c] : 0.0f;
    }
    __syncthreads();
    float sum[GROUP] = {}, product[GROUP] = {};
    for (int round = 0; round < ROUNDS; round++) {
        const long voxel = (long)blockIdx.x * TILE + round * THREADS + threadIdx.x;
        if (voxel >= voxels) break;
        const int column = voxel % p.size.width, row = voxel / p.size.width % p.size.height;
        const int plane = voxel / ((long)p.size.width * p.size.height);
        float value[GROUP];
#pragma unroll
        for (int c = 0; c < GROUP; c++) value[c] = gradient || c >= channels ? 0.0f : p.bias[first + c];
#pragma unroll
        for (int tap = 0; tap < 27; tap++) {
            const int dz = tap / 9 - 1, dy = tap / 3 % 3 - 1, dx = tap % 3 - 1;
            const bool inside = (unsigned)(plane + dz) < (unsigned)p.size.depth &&
                                (unsigned)(row + dy) < (unsigned)p.size.height &&
                                (unsigned)(column + dx) < (unsigned)p.size.width;
            const float x = inside ? __ldg(s + voxel + ((long)dz * p.size.height + dy) * p.size.width + dx) : 0.0f;
#pragma unroll
            for (int c = 0; c < GROUP; c++) value[c] = fmaf(x, weights[tap][c], value[c]);
        }
        const long at = (example * voxels + voxel) * p.channels + first;
        if (!gradient) {
#pragma unroll
            for (int c = 0; c < GROUP; c++) value[c] = fmaxf(value[c], 0.0f);
        }
        store_group<T>(value, channels, static_cast<T *>(p.y) + at);
        float other[GROUP];
        if (gradient) load_group<T>(static_cast<const T *>(p.values) + at, channels, other);
#pragma unroll
        for (int c = 0; c < GROUP; c++) {
            sum[c] += value[c];
            product[c] = fmaf(value[c], gradient ? other[c] : value[c], product[c]);
        }
    }
    const float total = sum_sixteen(sum), products = sum_sixteen(product);
    if ((lane & 1) == 0) sums[warp][sum_place(lane)] = make_float2(total, products);
    __syncthreads();
    if (threadIdx.x < channels) {
        float2 all = make_float2(0.0f, 0.0f);
        for (int w = 0; w < THREADS / 32; w++) {
            all.x += sums[w][threadIdx.x].x;
            all.y += sums[w][threadIdx.x].y;
        }
        p.partial[((long)example * gridDim.x + blockIdx.x) * p.channels + first + threadIdx.x] = all;
    }
}

template <typename T> crd_status spread_launch(const SpreadArguments &p, int examples, cudaStream_t stream)
{
    spread_kernel<T><<<dim3(spread_tiles(p.size), (p.channels + GROUP - 1) / GROUP, examples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// A thread takes one row of three taps and two channels, and walks along rows of voxels: what it reads of s slides through
// three registers.
enum { TEAMS = 4 /* in a block, each with rows of its own */, TEAM = 9 * GROUP / 2, ROWS = 64 /* of a block */ };

int correlate_slots(const Extent &size)
{
    return (size.depth * size.height + ROWS - 1) / ROWS * TEAMS;
}

template <typename T> __device__ __forceinline__ float2 load_two(const T *from, int count)
{
    if constexpr (sizeof(T) == 2) {
        return Pair<T>::unpack(__ldg(reinterpret_cast<const uint32_t *>(from)));
    } else {
        return make_float2(count > 0 ? __ldg(from) : 0.0f, count > 1 ? __ldg(from + 1) : 0.0f);
    }
}

template <typename T>
__global__ __launch_bounds__(TEAM *TEAMS) void correlate_kernel(const __grid_constant__ CorrelateArguments p)
{
    const int team = threadIdx.x / TEAM, member = threadIdx.x % TEAM, pair = member % (GROUP / 2), taps = member / (GROUP / 2);
    const int channel = blockIdx.y * GROUP + 2 * pair, count = p.channels - channel, example = blockIdx.z;
    const int width = p.size.width, rows = p.size.depth * p.size.height;
    const long voxels = p.size.voxels();
    const T *t = static_cast<const T *>(p.t) + example * voxels * p.channels + channel;
    float2 sum[3] = {};
    for (int i = team; i < ROWS && count > 0; i += TEAMS) {
        const int row = blockIdx.x * ROWS + i;
        if (row >= rows) break;
        const int z = row / p.size.height + taps / 3 - 1, y = row % p.size.height + taps % 3 - 1;
        if (z < 0 || z >= p.size.depth || y < 0 || y >= p.size.height) continue;
        const float *s = p.s + example * voxels + ((long)z * p.size.height + y) * width;
        const T *from = t + (long)row * width * p.channels;
        float before = 0.0f, here = __ldg(s);
#pragma unroll 4
        for (int x = 0; x < width; x++) {
            const float after = x + 1 < width ? __ldg(s + x + 1) : 0.0f;
            const float2 value = load_two<T>(from + (long)x * p.channels, count);
            sum[0].x = fmaf(before, value.x, sum[0].x);
            sum[0].y = fmaf(before, value.y, sum[0].y);
            sum[1].x = fmaf(here, value.x, sum[1].x);
            sum[1].y = fmaf(here, value.y, sum[1].y);
            sum[2].x = fmaf(after, value.x, sum[2].x);
            sum[2].y = fmaf(after, value.y, sum[2].y);
            before = here;
            here = after;
        }
    }
    float *out = p.partial + ((long)example * gridDim.x * TEAMS + blockIdx.x * TEAMS + team) * 27 * p.channels;
    for (int k = 0; k < 3; k++) {
        if (count > 0) out[(taps * 3 + k) * p.channels + channel] = sum[k].x;
        if (count > 1) out[(taps * 3 + k) * p.channels + channel + 1] = sum[k].y;
    }
}

template <typename T> crd_status correlate_launch(const CorrelateArguments &p, int examples, cudaStream_t stream)
{
    const dim3 grid(correlate_slots(p.size) / TEAMS, (p.channels + GROUP - 1) / GROUP, examples);
    correlate_kernel<T><<<grid, TEAM * TEAMS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

#define FOR_TYPE(T)                                                                   \
    template crd_status spread_launch<T>(const SpreadArguments &, int, cudaStream_t); \
    template crd_status correlate_launch<T>(const CorrelateArguments &, int, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
