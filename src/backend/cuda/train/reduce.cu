// From partial sums to gradients of kernels and biases: parts in order, shifts and scales of the input unfolded.
#include "backend/cuda/train/kernels.cuh"

enum { THREADS = 256, ENOUGH = 8192 /* partial sums that one block adds in good time */ };

// One block a channel and example.
__global__ void add_totals_kernel(const float *totals, int tiles, int channels, double *everything, float *dbias,
                                  long gradient_stride)
{
    __shared__ double parts[THREADS];
    const int channel = blockIdx.x, example = blockIdx.y;
    double total = 0.0;
    for (int tile = threadIdx.x; tile < tiles; tile += THREADS) {
        total += totals[((long)example * tiles + tile) * channels + channel];
    }
    parts[threadIdx.x] = total;
    for (int half = THREADS / 2; half > 0; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    if (threadIdx.x > 0) return;
    everything[example * channels + channel] = parts[0];
    dbias[example * gradient_stride + channel] = (float)parts[0];
}

// Does offset number k of a kernel's axis read inside for a voxel of that class (1 first, 2 last, 3 both)?
__device__ __forceinline__ bool axis_inside(int edge, int k, int axis_class)
{
    const int offset = edge == 3 ? k - 1 : k;
    return offset < 0 ? (axis_class & 1) == 0 : offset > 0 ? (axis_class & 2) == 0 : true;
}
__device__ __forceinline__ bool axis_exists(int axis_class, int n)
{
    return n == 1 ? axis_class == 3 : axis_class == 0 ? n > 2 : axis_class != 3;
}

// One block a tap and example: everything but what lies where the tap reads outside.
__global__ void tap_sum_kernel(const __grid_constant__ TapSumArguments p)
{
    const int tap = blockIdx.x, example = blockIdx.y, taps = gridDim.x, edge = p.edge;
    for (int c = threadIdx.x; c < p.channels; c += blockDim.x) {
        double outside = 0.0;
        for (int border = 1; border < BORDER_CLASSES; border++) {
            const int z = border >> 4, y = border >> 2 & 3, x = border & 3;
            if (!axis_exists(z, p.size.depth) || !axis_exists(y, p.size.height) || !axis_exists(x, p.size.width))
                continue;
            if (axis_inside(edge, tap / (edge * edge), z) && axis_inside(edge, tap / edge % edge, y) &&
                axis_inside(edge, tap % edge, x)) {
                continue;
            }
            const float *parts = p.border + ((long)example * BORDER_CLASSES + border) * BORDER_PARTS * p.channels + c;
#pragma unroll
            for (int i = 0; i < BORDER_PARTS; i++) outside += parts[(long)i * p.channels];
        }
        p.tap_sums[((long)example * taps + tap) * p.channels + c] =
            (float)(p.everything[example * p.channels + c] - outside);
    }
}

crd_status tap_sum_launch(const TapSumArguments &p, int examples, cudaStream_t stream)
{
    const int threads = p.channels < THREADS ? (p.channels + 31) / 32 * 32 : THREADS;
    add_totals_kernel<<<dim3(p.channels, examples), THREADS, 0, stream>>>(p.totals, p.tiles, p.channels, p.everything,
                                                                          p.dbias, p.gradient_stride);
    CUDA_PASS(cudaGetLastError());
    tap_sum_kernel<<<dim3(p.edge * p.edge * p.edge, examples), threads, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

enum { VALUES = 32, GROUPS = THREADS / VALUES };

// One value of a kernel over the slots of this thread's group.
__device__ __forceinline__ double add_slots(const ReduceArguments &p, long values, int example, long at)
{
    const float *partial = p.partial + (long)example * p.slots * values + at;
    double total = 0.0;
#pragma unroll 4
    for (int slot = threadIdx.x / VALUES; slot < p.slots; slot += GROUPS) total += __ldg(partial + slot * values);
    return total;
}

// A block makes some values of a kernel; its groups of threads share the slots, and what they have is added in order.
template <ReduceKind KIND> __global__ void reduce_kernel(const __grid_constant__ ReduceArguments p)
{
    __shared__ double parts[GROUPS][VALUES];
    constexpr int TAPS = KIND == REDUCE_UP ? 8 : 27;
    const long at = (long)blockIdx.x * VALUES + threadIdx.x % VALUES, values = 27L * p.in * p.out;
    const int example = blockIdx.y, tap = at / ((long)p.in * p.out), inner = KIND == REDUCE_UP ? p.in : p.out;
    const int low = at % inner, high = at / inner % (p.in * p.out / inner); // in the order of `partial`
    const int in = KIND == REDUCE_UP ? low : high, out = KIND == REDUCE_UP ? high : low;
    const bool present = at < (long)TAPS * p.in * p.out;
    double total = 0.0;
    if (present && KIND == REDUCE_UP) {
        // The 27 products are of dy[2q - 1], dy[2q] and dy[2q + 1] with x[q], per axis. Of the plain kernel, offset 0
        // takes the last two and offset 1 the first two.
        for (int i = 0; i < 8; i++) {
            const int z = 1 - (tap >> 2) + (i >> 2), y = 1 - (tap >> 1 & 1) + (i >> 1 & 1), x = 1 - (tap & 1) + (i & 1);
            total += add_slots(p, values, example, ((long)(z * 9 + y * 3 + x) * p.out + out) * p.in + in);
        }
    } else if (present) {
        total = add_slots(p, values, example, KIND == REDUCE_MIRRORED ? (26L - tap) * p.in + in : at);
    }
    parts[threadIdx.x / VALUES][threadIdx.x % VALUES] = total;
    __syncthreads();
    if (!present || threadIdx.x >= VALUES) return;
    for (int i = 1; i < GROUPS; i++) total += parts[i][threadIdx.x];
    float value = (float)total;
    if (p.scale != nullptr) {
        value = value * p.scale[example * p.in + in] +
                p.shift[example * p.in + in] * p.tap_sums[((long)example * TAPS + tap) * p.out + out];
    }
    p.gradient[example * p.gradient_stride + ((long)tap * p.in + in) * p.out + out] = value;
}

crd_status reduce_launch(ReduceKind kind, const ReduceArguments &p, int examples, cudaStream_t stream)
{
    const long values = (kind == REDUCE_UP ? 8L : 27L) * p.in * p.out;
    const dim3 grid((unsigned)((values + VALUES - 1) / VALUES), examples);
    if (kind == REDUCE_CONV) reduce_kernel<REDUCE_CONV><<<grid, THREADS, 0, stream>>>(p);
    if (kind == REDUCE_UP) reduce_kernel<REDUCE_UP><<<grid, THREADS, 0, stream>>>(p);
    if (kind == REDUCE_MIRRORED) reduce_kernel<REDUCE_MIRRORED><<<grid, THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// A block takes the tiles of one part, a thread every so-manieth of them for one channel.
__global__ void few_tiles_kernel(const float2 *partial, int tiles, int channels, float2 *out)
{
    extern __shared__ double2 totals[];
    const int part = blockIdx.x, example = blockIdx.y, lanes = blockDim.x / channels;
    const int channel = threadIdx.x % channels, lane = threadIdx.x / channels;
    const int first = (int)((long)tiles * part / FEW_TILES), end = (int)((long)tiles * (part + 1) / FEW_TILES);
    double2 own = make_double2(0.0, 0.0);
    for (int tile = first + lane; tile < end && lane < lanes; tile += lanes) {
        const float2 value = partial[((long)example * tiles + tile) * channels + channel];
        own.x += value.x;
        own.y += value.y;
    }
    totals[threadIdx.x] = own;
    __syncthreads();
    if (lane > 0) return;
    for (int i = 1; i < lanes; i++) {
        own.x += totals[i * channels + channel].x;
        own.y += totals[i * channels + channel].y;
    }
    out[((long)example * FEW_TILES + part) * channels + channel] = make_float2((float)own.x, (float)own.y);
}

crd_status few_tiles(const float2 **partial, int *tiles, int channels, float2 *room, int examples, cudaStream_t stream)
{
    if (*tiles * channels <= ENOUGH || channels > THREADS) return CRD_OK;
    few_tiles_kernel<<<dim3(FEW_TILES, examples), THREADS, THREADS * sizeof(double2), stream>>>(*partial, *tiles,
                                                                                                channels, room);
    CUDA_PASS(cudaGetLastError());
    *partial = room;
    *tiles = FEW_TILES;
    return CRD_OK;
}
