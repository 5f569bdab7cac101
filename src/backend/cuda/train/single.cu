// Convolutions with one channel on one side, the first layer's and both gradients of the head, on matrix instructions.
//
// The single channel s lies in shared memory twice, the second time moved by one voxel: two neighbours in x, wherever
// they begin, are then one word of one of the two. In `spread` taps are the inner dimension of the product, four for
// each row of three; in `correlate` voxels are, and taps are the rows of the result. Plain kernels for float are at the
// end.
#include "backend/cuda/kernels/tile.cuh"
#include "backend/cuda/train/kernels.cuh"

enum { PLANES = 8, WARPS = 8, ROWS = 2 * WARPS, COLUMNS = 8, THREADS = WARPS * 32 };
enum {
    S_PLANES = PLANES + 2,
    S_ROWS = ROWS + 2,
    S_COLUMNS = COLUMNS + 2,
    PITCH = 12 /* values; even, and all of a row */
};
enum { S_VALUES = S_PLANES * S_ROWS * PITCH, COPY_WORDS = S_VALUES / 2 + 16 };
enum { T_BYTES = PLANES * ROWS * COLUMNS * 32, PARTS = 264 /* blocks that share an example's tiles in `correlate` */ };

static int tiles_of(const Extent &e)
{
    return (e.width + COLUMNS - 1) / COLUMNS * ((e.height + ROWS - 1) / ROWS) * ((e.depth + PLANES - 1) / PLANES);
}

struct Corner { // of a tile
    int z, y, x;
    __device__ Corner(const Extent &e, int tile)
    {
        const int across = (e.width + COLUMNS - 1) / COLUMNS, down = (e.height + ROWS - 1) / ROWS;
        x = tile % across * COLUMNS;
        y = tile / across % down * ROWS;
        z = tile / (across * down) * PLANES;
    }
};

// The tile and one voxel around it, zero outside the volume. Value i is half i % 2 of word i / 2 in the first copy, and
// of word (i - 1) / 2 in the second.
template <typename T>
__device__ __forceinline__ void load_single(uint32_t (&copies)[2][COPY_WORDS], const float *s, const Extent &e,
                                            const Corner &at)
{
    T *first = reinterpret_cast<T *>(copies[0]), *second = reinterpret_cast<T *>(copies[1]);
    for (int i = threadIdx.x; i < S_VALUES; i += THREADS) {
        const int column = i % PITCH, row = i / PITCH % S_ROWS, plane = i / (PITCH * S_ROWS);
        const int x = at.x + column - 1, y = at.y + row - 1, z = at.z + plane - 1;
        const bool inside =
            column < S_COLUMNS && x >= 0 && x < e.width && y >= 0 && y < e.height && z >= 0 && z < e.depth;
        const T value = (T)(inside ? __ldg(s + ((long)z * e.height + y) * e.width + x) : 0.0f);
        first[i] = value;
        if (i > 0) second[i - 1] = value;
    }
    if (threadIdx.x == 0) second[S_VALUES - 1] = (T)0.0f;
}

template <typename T>
__global__ __launch_bounds__(THREADS) void spread_kernel(const __grid_constant__ SpreadArguments p)
{
    __shared__ __align__(16) uint32_t copies[2][COPY_WORDS];
    __shared__ float2 sums[WARPS * 16];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3, example = blockIdx.z;
    const int first = blockIdx.y * 16;
    const bool gradient = p.values != nullptr;
    const Corner at(p.size, blockIdx.x);
    load_single<T>(copies, p.s + example * p.size.voxels(), p.size, at);
    uint32_t b[3][2][2]; // weights: the inner index is 4 * (row of taps) + place in x, the fourth place being empty
    const float *kernel = p.kernel + example * p.kernel_stride + first;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++)
            for (int half = 0; half < 2; half++) {
                float pair[2];
                for (int e = 0; e < 2; e++) {
                    const int inner = 16 * k + 2 * q + 8 * half + e, row = inner / 4, place = inner % 4,
                              tap = row * 3 + place;
                    const bool real = row < 9 && place < 3;
                    const int channel = 4 * (g >> 1) + 2 * i + (g & 1);
                    pair[e] = real ? kernel[(gradient ? 26 - tap : tap) * p.channels + channel] : 0.0f;
                }
                b[k][i][half] = Pair<T>::pack(pair[0], pair[1]);
            }
    __syncthreads();
    const uint32_t *own = copies[g & 1] + (g >> 1) + (q & 1);
    float sum[1][4] = {}, product[1][4] = {};
    const int x = at.x + g, channel = first + 4 * q;
    for (int d = 0; d < PLANES; d++) {
        float accumulator[2][4] = {};
#pragma unroll
        for (int k = 0; k < 3; k++) {
            uint32_t a[4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int row = min(4 * k + 2 * i + (q >> 1), 8);
                const uint32_t *from = own + ((d + row / 3) * S_ROWS + 2 * warp + row % 3) * (PITCH / 2);
                a[2 * i] = from[0];
                a[2 * i + 1] = from[PITCH / 2];
            }
            Pair<T>::multiply(accumulator[0], a, b[k][0][0], b[k][0][1]);
            Pair<T>::multiply(accumulator[1], a, b[k][1][0], b[k][1][1]);
        }
        const int z = at.z + d;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int y = at.y + 2 * warp + half;
            if (x >= p.size.width || y >= p.size.height || z >= p.size.depth) continue;
            const long to =
                (((long)(example * p.size.depth + z) * p.size.height + y) * p.size.width + x) * p.channels + channel;
            if (gradient) {
                finish_gradient<T>(accumulator[0], accumulator[1], half, static_cast<const T *>(p.values) + to,
                                   static_cast<T *>(p.y) + to, sum[0], product[0]);
            } else {
                finish_voxel<T>(accumulator[0], accumulator[1], half, p.bias + channel, static_cast<T *>(p.y) + to,
                                sum[0], product[0]);
            }
        }
    }
    store_sums<WARPS, 16>(sums, sum, product,
                          p.partial + ((long)example * gridDim.x + blockIdx.x) * p.channels + first);
}

template <typename T>
__global__ __launch_bounds__(THREADS) void correlate_kernel(const __grid_constant__ CorrelateArguments p)
{
    extern __shared__ __align__(128) uint8_t memory[];
    uint32_t(&copies)[2][COPY_WORDS] = *reinterpret_cast<uint32_t(*)[2][COPY_WORDS]>(memory + T_BYTES);
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, q = lane & 3, example = blockIdx.z;
    const int first = blockIdx.y * 16, tiles = (int)gridDim.x;
    const T *t = static_cast<const T *>(p.t) + example * p.size.voxels() * p.channels + first;
    const uint32_t *own[2][2]; // of the taps g, g + 8, g + 16, g + 24 (those beyond 26 come to nothing)
#pragma unroll
    for (int m = 0; m < 4; m++) {
        const int tap = min(g + 8 * m, 26), place = tap % 3;
        own[m / 2][m % 2] =
            copies[place & 1] + (tap / 9 * S_ROWS + 2 * warp + tap / 3 % 3) * (PITCH / 2) + q + place / 2;
    }
    const int t_voxel = (2 * warp + (lane >> 4)) * COLUMNS + (lane & 7), piece = lane >> 3 & 1;
    const int all = ((p.size.width + COLUMNS - 1) / COLUMNS) * ((p.size.height + ROWS - 1) / ROWS) *
                    ((p.size.depth + PLANES - 1) / PLANES);
    float sum[2][2][4] = {};
    for (int tile = blockIdx.x; tile < all; tile += tiles) {
        const Corner at(p.size, tile);
        __syncthreads();
        load_tile<PLANES, ROWS, COLUMNS, THREADS>(shared, t, p.channels, p.size, at.z, at.y, at.x);
        load_single<T>(copies, p.s + example * p.size.voxels(), p.size, at);
        copies_done();
        __syncthreads();
#pragma unroll
        for (int d = 0; d < PLANES; d++) {
            uint32_t b[4];
            load_transposed(b, voxel_address(shared, t_voxel + d * ROWS * COLUMNS, piece));
#pragma unroll
            for (int m = 0; m < 2; m++) {
                const int plane = d * S_ROWS * (PITCH / 2);
                const uint32_t a[4] = {own[m][0][plane], own[m][1][plane], own[m][0][plane + PITCH / 2],
                                       own[m][1][plane + PITCH / 2]};
                Pair<T>::multiply(sum[m][0], a, b[0], b[2]);
                Pair<T>::multiply(sum[m][1], a, b[1], b[3]);
            }
        }
    }
    __syncthreads();
    float *room = reinterpret_cast<float *>(memory); // [WARPS][32 taps][16]
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                room[(warp * 32 + 16 * m + g + 8 * (i >> 1)) * 16 + 8 * n + 2 * q + (i & 1)] = sum[m][n][i];
    __syncthreads();
    float *out = p.partial + ((long)example * gridDim.x + blockIdx.x) * 27 * p.channels + first;
    for (int i = threadIdx.x; i < 27 * 16; i += THREADS) {
        float total = 0.0f;
        for (int w = 0; w < WARPS; w++) total += room[w * 32 * 16 + i];
        out[i / 16 * p.channels + i % 16] = total;
    }
}

// ---- The path of checks: a thread makes all channels of a voxel, or one value of a kernel ----

enum { PLAIN_THREADS = 256, PLAIN_ROWS = 64 };

template <> __global__ void spread_kernel<float>(const __grid_constant__ SpreadArguments p)
{
    const long at = (long)blockIdx.x * PLAIN_THREADS + threadIdx.x, voxels = p.size.voxels();
    if (at >= voxels * p.channels) return;
    const int channel = at % p.channels, example = blockIdx.z;
    const long voxel = at / p.channels;
    const int x = voxel % p.size.width, y = voxel / p.size.width % p.size.height,
              z = voxel / ((long)p.size.width * p.size.height);
    const bool gradient = p.values != nullptr;
    const float *kernel = p.kernel + example * p.kernel_stride + channel, *s = p.s + example * voxels;
    float total = gradient ? 0.0f : p.bias[channel];
    for (int tap = 0; tap < 27; tap++) {
        const int zz = z + tap / 9 - 1, yy = y + tap / 3 % 3 - 1, xx = x + tap % 3 - 1;
        if (zz < 0 || zz >= p.size.depth || yy < 0 || yy >= p.size.height || xx < 0 || xx >= p.size.width) continue;
        total = fmaf(__ldg(s + ((long)zz * p.size.height + yy) * p.size.width + xx),
                     kernel[(gradient ? 26 - tap : tap) * p.channels], total);
    }
    static_cast<float *>(p.y)[example * voxels * p.channels + at] = gradient ? total : relu(total);
}

template <> __global__ void correlate_kernel<float>(const __grid_constant__ CorrelateArguments p)
{
    const int at = blockIdx.y * PLAIN_THREADS + threadIdx.x, example = blockIdx.z;
    if (at >= 27 * p.channels) return;
    const int channel = at % p.channels, tap = at / p.channels, width = p.size.width;
    const float *s = p.s + example * p.size.voxels();
    const float *t = static_cast<const float *>(p.t) + example * p.size.voxels() * p.channels + channel;
    float total = 0.0f;
    for (int row = blockIdx.x * PLAIN_ROWS; row < (blockIdx.x + 1) * PLAIN_ROWS && row < p.size.depth * p.size.height;
         row++) {
        const int z = row / p.size.height + tap / 9 - 1, y = row % p.size.height + tap / 3 % 3 - 1;
        if (z < 0 || z >= p.size.depth || y < 0 || y >= p.size.height) continue;
        for (int x = 0; x < width; x++) {
            const int from = x + tap % 3 - 1;
            if (from < 0 || from >= width) continue;
            total = fmaf(__ldg(s + ((long)z * p.size.height + y) * width + from),
                         __ldg(t + ((long)row * width + x) * p.channels), total);
        }
    }
    p.partial[((long)example * gridDim.x + blockIdx.x) * 27 * p.channels + at] = total;
}

// ---- Launches ----

template <typename T> int spread_tiles(const Extent &size)
{
    return sizeof(T) == 4 ? plain_tiles(size) : tiles_of(size);
}

template <typename T> crd_status spread_launch(const SpreadArguments &p, int examples, cudaStream_t stream)
{
    if (sizeof(T) == 4) {
        const long values = p.size.voxels() * p.channels;
        spread_kernel<T>
            <<<dim3((unsigned)((values + PLAIN_THREADS - 1) / PLAIN_THREADS), 1, examples), PLAIN_THREADS, 0, stream>>>(
                p);
        CUDA_PASS(cudaGetLastError());
        return plain_sums(p.y, p.values, p.partial, p.channels, p.size, examples, stream);
    }
    spread_kernel<T><<<dim3(spread_tiles<T>(p.size), p.channels / 16, examples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T> int correlate_slots(const Extent &size)
{
    if (sizeof(T) == 4) return (size.depth * size.height + PLAIN_ROWS - 1) / PLAIN_ROWS;
    return tiles_of(size) < PARTS ? tiles_of(size) : PARTS;
}

template <typename T> crd_status correlate_launch(const CorrelateArguments &p, int examples, cudaStream_t stream)
{
    const int slots = correlate_slots<T>(p.size), bytes = sizeof(T) == 4 ? 0 : T_BYTES + 2 * COPY_WORDS * 4;
    const dim3 grid(slots, sizeof(T) == 4 ? (27 * p.channels + PLAIN_THREADS - 1) / PLAIN_THREADS : p.channels / 16,
                    examples);
    CUDA_PASS(cudaFuncSetAttribute(correlate_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    correlate_kernel<T><<<grid, sizeof(T) == 4 ? (int)PLAIN_THREADS : (int)THREADS, bytes, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

#define FOR_TYPE(T)                                                                                                    \
    template int spread_tiles<T>(const Extent &);                                                                      \
    template int correlate_slots<T>(const Extent &);                                                                   \
    template crd_status spread_launch<T>(const SpreadArguments &, int, cudaStream_t);                                  \
    template crd_status correlate_launch<T>(const CorrelateArguments &, int, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
