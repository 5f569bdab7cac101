// Passes over the voxels of a tensor: through a norm and its ReLU, through the pooling, sums by border class.
#include "backend/cuda/train/kernels.cuh"

enum { THREADS = 256, ROUNDS = 8, POOL_ROUNDS = 4 };

// A block's threads share out the pieces of a voxel's channels first, then voxels.
struct Share {
    int pieces, lanes, piece, lane;
    __device__ Share(int channels, int at_once)
    {
        pieces = channels / at_once;
        lanes = THREADS / pieces;
        piece = threadIdx.x % pieces;
        lane = threadIdx.x / pieces;
    }
};

// Channels that one block can hold: wider tensors take several blocks, each with some of the channels.
template <typename T> static int block_channels(int channels)
{
    const int most = THREADS * CHANNELS_AT_ONCE<T>;
    return channels < most ? channels : most;
}
template <typename T> static int voxels_at_once(int channels)
{
    return THREADS / (block_channels<T>(channels) / CHANNELS_AT_ONCE<T>);
}

// Adds the threads' values by channel, lane after lane; `room` has THREADS * AT_ONCE floats. The result for channel c
// of the block goes to out[c * step].
template <int AT_ONCE>
__device__ __forceinline__ void store_channel_sums(const Share &share, const float (&value)[AT_ONCE], float *room,
                                                   float *out, int step)
{
    __syncthreads();
    if (share.lane < share.lanes) {
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) room[(share.lane * share.pieces + share.piece) * AT_ONCE + i] = value[i];
    }
    __syncthreads();
    const int channels = share.pieces * AT_ONCE;
    for (int c = threadIdx.x; c < channels; c += THREADS) {
        float total = 0.0f;
        for (int lane = 0; lane < share.lanes; lane++) total += room[lane * channels + c];
        out[c * step] = total;
    }
}

template <typename T> int apply_tiles(long voxels, int channels)
{
    const int tile = voxels_at_once<T>(channels) * ROUNDS;
    return (int)((voxels + tile - 1) / tile);
}

template <typename T>
__global__ __launch_bounds__(THREADS) void apply_kernel(const __grid_constant__ ApplyArguments p, int wide)
{
    constexpr int AT_ONCE = CHANNELS_AT_ONCE<T>;
    __shared__ float room[THREADS * AT_ONCE];
    const Share share(wide, AT_ONCE);
    const int example = blockIdx.z, channel = blockIdx.y * wide + share.piece * AT_ONCE;
    const float *coefficients = p.coefficients + (long)example * 3 * p.channels + channel;
    float a[AT_ONCE], b[AT_ONCE], c[AT_ONCE], total[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        a[i] = coefficients[i];
        b[i] = coefficients[p.channels + i];
        c[i] = coefficients[2 * p.channels + i];
        total[i] = 0.0f;
    }
    const long first = (long)blockIdx.x * share.lanes * ROUNDS + share.lane;
#pragma unroll 4
    for (int round = 0; round < ROUNDS; round++) {
        const long voxel = first + round * share.lanes;
        if (voxel >= p.voxels || share.lane >= share.lanes) break;
        const long at = (example * p.voxels + voxel) * p.channels + channel;
        float g[AT_ONCE], y[AT_ONCE];
        load_channels<T>(static_cast<const T *>(p.g) + at, g);
        load_channels<T>(static_cast<const T *>(p.y) + at, y);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) g[i] = y[i] > 0.0f ? fmaf(a[i], g[i], fmaf(b[i], y[i], c[i])) : 0.0f;
        store_channels<T>(g, static_cast<T *>(p.g) + at);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) total[i] += g[i];
    }
    store_channel_sums<AT_ONCE>(
        share, total, room, p.totals + ((long)example * gridDim.x + blockIdx.x) * p.channels + blockIdx.y * wide, 1);
}

static crd_status check_channels(int channels, int wide)
{
    if (channels % wide == 0) return CRD_OK;
    return CUDA_FAIL(CRD_ERR_UNSUPPORTED, "training a network of %d channels is not supported on the GPU", channels);
}

template <typename T> crd_status apply_launch(const ApplyArguments &p, int examples, cudaStream_t stream)
{
    const int wide = block_channels<T>(p.channels);
    PASS(check_channels(p.channels, wide));
    apply_kernel<T>
        <<<dim3(apply_tiles<T>(p.voxels, p.channels), p.channels / wide, examples), THREADS, 0, stream>>>(p, wide);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// The eight voxels of x behind one of y: offsets in voxels from the first.
__device__ __forceinline__ long corner(const Extent &high, int i)
{
    return ((long)(i >> 2) * high.height + (i >> 1 & 1)) * high.width + (i & 1);
}
__device__ __forceinline__ long first_corner(const Extent &size, const Extent &high, long voxel)
{
    const long column = voxel % size.width, row = voxel / size.width % size.height;
    const long plane = voxel / ((long)size.width * size.height);
    return (2 * plane * high.height + 2 * row) * high.width + 2 * column;
}
// As the CPU does it: which of two nearly equal values is larger depends on the rounding.
__device__ __forceinline__ float affine(float scale, float x, float shift)
{
    return __fadd_rn(__fmul_rn(scale, x), shift);
}

template <typename T>
__global__ __launch_bounds__(THREADS) void pool_train_kernel(const __grid_constant__ PoolArguments p)
{
    constexpr int AT_ONCE = CHANNELS_AT_ONCE<T>;
    const Extent high = {2 * p.size.depth, 2 * p.size.height, 2 * p.size.width};
    const int pieces = p.channels / AT_ONCE, example = blockIdx.z;
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    if (at >= p.size.voxels() * pieces) return;
    const int channel = at % pieces * AT_ONCE;
    const T *x = static_cast<const T *>(p.x) + example * high.voxels() * p.channels + channel;
    const long from = first_corner(p.size, high, at / pieces);
    const float *scale = p.scale + (long)example * p.channels + channel,
                *shift = p.shift + (long)example * p.channels + channel;
    float most[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) most[i] = -INFINITY;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        float value[AT_ONCE];
        load_channels<T>(x + (from + corner(high, k)) * p.channels, value);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) most[i] = fmaxf(most[i], affine(scale[i], value[i], shift[i]));
    }
    store_channels<T>(most, static_cast<T *>(p.y) + example * p.size.voxels() * p.channels + at * AT_ONCE);
}

template <typename T> crd_status pool_train_launch(const PoolArguments &p, int examples, cudaStream_t stream)
{
    const long pieces = p.size.voxels() * (p.channels / CHANNELS_AT_ONCE<T>);
    pool_train_kernel<T><<<dim3((unsigned)((pieces + THREADS - 1) / THREADS), 1, examples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T> int pool_back_tiles(const Extent &size, int channels)
{
    const int tile = voxels_at_once<T>(channels) * POOL_ROUNDS;
    return (int)((size.voxels() + tile - 1) / tile);
}

template <typename T>
__global__ __launch_bounds__(THREADS) void pool_back_kernel(const __grid_constant__ PoolBackArguments p, int wide)
{
    constexpr int AT_ONCE = CHANNELS_AT_ONCE<T>;
    __shared__ float room[THREADS * AT_ONCE];
    const Extent &size = p.pool.size, high = {2 * size.depth, 2 * size.height, 2 * size.width};
    const Share share(wide, AT_ONCE);
    const int example = blockIdx.z, channels = p.pool.channels, channel = blockIdx.y * wide + share.piece * AT_ONCE;
    const float *coefficients = p.coefficients + (long)example * 3 * channels + channel;
    float sum[AT_ONCE], product[AT_ONCE], scale[AT_ONCE], shift[AT_ONCE], a[AT_ONCE], b[AT_ONCE], c[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
        sum[i] = product[i] = 0.0f;
        a[i] = coefficients[i];
        b[i] = coefficients[channels + i];
        c[i] = coefficients[2 * channels + i];
        scale[i] = p.pool.scale[(long)example * channels + channel + i];
        shift[i] = p.pool.shift[(long)example * channels + channel + i];
    }
    const T *x = static_cast<const T *>(p.pool.x) + example * high.voxels() * channels + channel;
    T *g = static_cast<T *>(p.g) + example * high.voxels() * channels + channel;
    const T *dy = static_cast<const T *>(p.pool.y) + example * size.voxels() * channels + channel;
    for (int round = 0; round < POOL_ROUNDS; round++) {
        const long voxel = ((long)blockIdx.x * POOL_ROUNDS + round) * share.lanes + share.lane;
        if (voxel >= size.voxels() || share.lane >= share.lanes) break;
        const long from = first_corner(size, high, voxel);
        float most[AT_ONCE], down[AT_ONCE];
        int which[AT_ONCE];
        load_channels<T>(dy + voxel * channels, down);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            most[i] = -INFINITY;
            which[i] = 0;
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float value[AT_ONCE];
            load_channels<T>(x + (from + corner(high, k)) * channels, value);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const float v = affine(scale[i], value[i], shift[i]);
                if (v > most[i]) {
                    most[i] = v;
                    which[i] = k;
                }
            }
        }
#pragma unroll
        for (int k = 0; k < 8; k++) { // x comes from the cache this time
            const long at = (from + corner(high, k)) * channels;
            float value[AT_ONCE], own[AT_ONCE];
            load_channels<T>(x + at, value);
            load_channels<T>(g + at, own);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                own[i] = fmaf(a[i], own[i], fmaf(b[i], value[i], c[i])) + (which[i] == k ? down[i] : 0.0f);
            }
            store_channels<T>(own, g + at);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                sum[i] += own[i];
                product[i] = fmaf(own[i], value[i], product[i]);
            }
        }
    }
    float *out =
        reinterpret_cast<float *>(p.partial + ((long)example * gridDim.x + blockIdx.x) * channels + blockIdx.y * wide);
    store_channel_sums<AT_ONCE>(share, sum, room, out, 2);
    store_channel_sums<AT_ONCE>(share, product, room, out + 1, 2);
}

template <typename T> crd_status pool_back_launch(const PoolBackArguments &p, int examples, cudaStream_t stream)
{
    const int channels = p.pool.channels, wide = block_channels<T>(channels);
    PASS(check_channels(channels, wide));
    const dim3 grid(pool_back_tiles<T>(p.pool.size, channels), channels / wide, examples);
    pool_back_kernel<T><<<grid, THREADS, 0, stream>>>(p, wide);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// First voxel and number of voxels of an axis class: 1 first, 2 last, 0 between, 3 the only one.
__device__ __forceinline__ void axis_range(int axis_class, int n, int *first, int *count)
{
    *first = axis_class == 2 ? n - 1 : axis_class == 0 ? 1 : 0;
    *count = axis_class == 0 ? max(n - 2, 0) : axis_class == 3 ? n == 1 : n > 1;
}

template <typename T>
__global__ __launch_bounds__(THREADS) void border_kernel(const __grid_constant__ BorderArguments p, int wide)
{
    constexpr int AT_ONCE = CHANNELS_AT_ONCE<T>;
    __shared__ float room[THREADS * AT_ONCE];
    const Share share(wide, AT_ONCE);
    const int border = blockIdx.x / BORDER_PARTS, part = blockIdx.x % BORDER_PARTS, example = blockIdx.z;
    int z0, y0, x0, depth, height, width;
    axis_range(border >> 4, p.size.depth, &z0, &depth);
    axis_range(border >> 2 & 3, p.size.height, &y0, &height);
    axis_range(border & 3, p.size.width, &x0, &width);
    // what lies inside is the rest of the sum over everything
    const long count = border == 0 ? 0 : (long)depth * height * width;
    const T *g = static_cast<const T *>(p.g) + example * p.size.voxels() * p.channels + blockIdx.y * wide +
                 share.piece * AT_ONCE;
    float total[AT_ONCE] = {};
#pragma unroll 4
    for (long i = (long)part * share.lanes + share.lane; i < count && share.lane < share.lanes;
         i += BORDER_PARTS * share.lanes) {
        const int x = x0 + (int)(i % width), y = y0 + (int)(i / width % height),
                  z = z0 + (int)(i / ((long)width * height));
        float value[AT_ONCE];
        load_channels<T>(g + (((long)z * p.size.height + y) * p.size.width + x) * p.channels, value);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) total[k] += value[k];
    }
    store_channel_sums<AT_ONCE>(
        share, total, room,
        p.partial + (((long)example * BORDER_CLASSES + border) * BORDER_PARTS + part) * p.channels + blockIdx.y * wide,
        1);
}

template <typename T> crd_status border_launch(const BorderArguments &p, int examples, cudaStream_t stream)
{
    const int wide = block_channels<T>(p.channels);
    PASS(check_channels(p.channels, wide));
    border_kernel<T><<<dim3(BORDER_CLASSES * BORDER_PARTS, p.channels / wide, examples), THREADS, 0, stream>>>(p, wide);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

#define FOR_TYPE(T)                                                                                                    \
    template int apply_tiles<T>(long, int);                                                                            \
    template crd_status apply_launch<T>(const ApplyArguments &, int, cudaStream_t);                                    \
    template crd_status pool_train_launch<T>(const PoolArguments &, int, cudaStream_t);                                \
    template int pool_back_tiles<T>(const Extent &, int);                                                              \
    template crd_status pool_back_launch<T>(const PoolBackArguments &, int, cudaStream_t);                             \
    template crd_status border_launch<T>(const BorderArguments &, int, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
