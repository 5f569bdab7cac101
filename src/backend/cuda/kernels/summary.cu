#include "backend/cuda/kernels/layers.cuh"

enum { THREADS = 128 };

__device__ __forceinline__ void order(float &a, float &b)
{
    const float low = fminf(a, b), high = fmaxf(a, b);
    a = low;
    b = high;
}

// Batcher's odd-even merge sort. The values stay in registers: every index is known to the compiler, which is why the
// passes are a recursion over templates and not loops.
template <int N, int P, int K> __device__ __forceinline__ void sort_pass(float (&v)[N])
{
#pragma unroll
    for (int j = K % P; j + K < N; j += 2 * K)
#pragma unroll
        for (int i = 0; i < K; i++)
            if (j + i + K < N && (j + i) / (2 * P) == (j + i + K) / (2 * P)) order(v[j + i], v[j + i + K]);
    if constexpr (K > 1) sort_pass<N, P, K / 2>(v);
}
template <int N, int P = 1> __device__ __forceinline__ void sort(float (&v)[N])
{
    sort_pass<N, P, P>(v);
    if constexpr (2 * P < N) sort<N, 2 * P>(v);
}

__device__ __forceinline__ uint32_t fixed_point(float value)
{
    return (uint32_t)__float2int_rn(value * 16777216.0f);
}

__device__ __forceinline__ float between(const SummaryArguments &p, double percentile, float low, float high)
{
    const double position = percentile / 100 * (p.count - 1);
    return (float)(low + ((double)high - low) * (position - floor(position)));
}

__device__ __forceinline__ int position_of(const SummaryArguments &p, int i)
{
    return (int)floor(p.percentiles[i] / 100 * (p.count - 1));
}

__device__ __forceinline__ void store_moments(const SummaryArguments &p, long at, float mean, float squares)
{
    p.rows[at] = fixed_point(mean);
    p.rows[p.values() + at] = fixed_point(sqrtf(squares / (float)p.count));
}

// Of a value whose sum over the samples isn't finite, which is rare.
__device__ __forceinline__ void count_nonfinite(const SummaryArguments &p, long at)
{
    int found = 0, first = 0;
#pragma unroll 1
    for (int s = p.count - 1; s >= 0; s--) {
        if (isfinite(p.samples[s * p.values() + at])) continue;
        found++;
        first = s;
    }
    atomicAdd(&p.nonfinite[0], (unsigned long long)found);
    atomicMax(&p.nonfinite[1], (unsigned long long)(p.count - first));
}

// Up to 64 samples: read once, sorted in registers.
template <int N> __device__ __forceinline__ void load_samples(const SummaryArguments &p, long at, float (&v)[N])
{
    const float *from = p.samples + at;
#pragma unroll
    for (int s = 0; s < N; s++, from += p.values()) v[s] = s < p.count ? *from : INFINITY;
}

// Moments and percentiles of value `at`, and which samples say so: those above one half, or as `above` has them. A
// register array can't be indexed at run time, so the sorted values go through shared memory.
template <int N>
__device__ __forceinline__ void summarise(const SummaryArguments &p, long at, float (&v)[N], const uint32_t *above,
                                          float (*sorted)[THREADS])
{
    float mean = 0.0f, squares = 0.0f;
    uint32_t halves[2] = {0, 0};
#pragma unroll
    for (int s = 0; s < N; s++) {
        if (s >= p.count) continue;
        mean += v[s];
        halves[s / 32] |= (uint32_t)(v[s] > 0.5f) << (s % 32);
    }
    if (above == nullptr) above = halves;
    if (!isfinite(mean)) count_nonfinite(p, at);
    mean /= (float)p.count;
#pragma unroll
    for (int s = 0; s < N; s++) {
        const float difference = v[s] - mean;
        if (s < p.count) squares = fmaf(difference, difference, squares);
    }
    store_moments(p, at, mean, squares);
    p.above[at] = (uint64_t)above[1] << 32 | above[0];
    sort(v);
#pragma unroll
    for (int s = 0; s < N; s++) sorted[s][threadIdx.x] = v[s];
    for (int i = 0; i < p.percentile_count; i++) {
        const int low = position_of(p, i), high = low + 1 < p.count ? low + 1 : low;
        p.rows[(2 + i) * p.values() + at] =
            fixed_point(between(p, p.percentiles[i], sorted[low][threadIdx.x], sorted[high][threadIdx.x]));
    }
}

template <int N> __global__ __launch_bounds__(THREADS) void summary_kernel(const SummaryArguments p)
{
    __shared__ float sorted[N][THREADS];
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    float v[N];
    if (voxel >= p.voxels) return;
    load_samples(p, voxel, v);
    summarise(p, voxel, v, nullptr, sorted);
}

// Several planes: a sample says the class that is the largest, the first of several. From the first plane to the last,
// which samples exceed all planes before; then backwards, which of those no later plane exceeds.
template <int N> __global__ __launch_bounds__(THREADS) void summary_planes_kernel(const SummaryArguments p)
{
    __shared__ float sorted[N][THREADS];
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    uint32_t taken[2] = {0, 0};
    float v[N];
    if (voxel >= p.voxels) return;
    load_samples(p, voxel, v);
    for (int plane = 1; plane < p.planes; plane++) {
        const float *from = p.samples + plane * p.voxels + voxel;
        uint32_t more[2] = {0, 0};
#pragma unroll
        for (int s = 0; s < N; s++, from += p.values()) {
            if (s >= p.count) continue;
            const float value = *from;
            more[s / 32] |= (uint32_t)(value > v[s]) << (s % 32);
            v[s] = value > v[s] ? value : v[s];
        }
        p.above[plane * p.voxels + voxel] = (uint64_t)more[1] << 32 | more[0];
    }
    p.above[voxel] = p.count < 64 ? ((uint64_t)1 << p.count) - 1 : ~(uint64_t)0;
    for (int plane = p.planes - 1; plane >= 0; plane--) {
        const long at = plane * p.voxels + voxel;
        const uint64_t more = p.above[at];
        const uint32_t own[2] = {(uint32_t)more & ~taken[0], (uint32_t)(more >> 32) & ~taken[1]};
        taken[0] |= own[0];
        taken[1] |= own[1];
        load_samples(p, at, v);
        summarise(p, at, v, own, sorted);
    }
}

// Any number of samples: the k-th smallest by halving the range of bit patterns; probabilities are not negative, so
// their bits are ordered as they are.
__device__ float order_statistic(const SummaryArguments &p, long at, int k)
{
    uint32_t low = 0, high = 0x3f800000u; // 0 to 1
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        int below = 0;
        for (int s = 0; s < p.count; s++) below += __float_as_uint(p.samples[s * p.values() + at]) <= middle;
        if (below > k)
            high = middle;
        else
            low = middle + 1;
    }
    return __uint_as_float(low);
}

__global__ __launch_bounds__(THREADS) void summary_many_kernel(SummaryArguments p)
{
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    if (at >= p.values()) return;
    float mean = 0.0f, squares = 0.0f;
    for (int s = 0; s < p.count; s++) mean += p.samples[s * p.values() + at];
    if (!isfinite(mean)) count_nonfinite(p, at);
    mean /= (float)p.count;
    for (int word = 0; word < (p.count + 63) / 64; word++) {
        uint64_t bits = 0;
        for (int s = word * 64; s < p.count && s < word * 64 + 64; s++) {
            const float value = p.samples[s * p.values() + at];
            squares = fmaf(value - mean, value - mean, squares);
            bits |= (uint64_t)(value > 0.5f) << (s & 63);
        }
        p.above[word * p.values() + at] = bits;
    }
    store_moments(p, at, mean, squares);
    for (int i = 0; i < p.percentile_count; i++) {
        const int low = position_of(p, i), high = low + 1 < p.count ? low + 1 : low;
        const float value = between(p, p.percentiles[i], order_statistic(p, at, low), order_statistic(p, at, high));
        p.rows[(2 + i) * p.values() + at] = fixed_point(value);
    }
}

// Which of several planes is the largest, for 64 of many samples.
__global__ __launch_bounds__(THREADS) void largest_kernel(SummaryArguments p)
{
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    const int word = blockIdx.y;
    if (voxel >= p.voxels) return;
    uint64_t *to = p.above + word * p.values() + voxel;
    for (int plane = 0; plane < p.planes; plane++) to[plane * p.voxels] = 0;
    for (int s = 64 * word; s < p.count && s < 64 * (word + 1); s++) {
        const float *from = p.samples + s * p.values() + voxel;
        float largest = from[0];
        int best = 0;
        for (int plane = 1; plane < p.planes; plane++) {
            const float value = from[plane * p.voxels];
            best = value > largest ? plane : best;
            largest = value > largest ? value : largest;
        }
        to[best * p.voxels] |= (uint64_t)1 << (s % 64);
    }
}

static unsigned blocks_of(long items)
{
    return (unsigned)((items + THREADS - 1) / THREADS);
}

template <int N> static void launch_sorted(const SummaryArguments &p, cudaStream_t stream)
{
    if (p.planes == 1)
        summary_kernel<N><<<blocks_of(p.voxels), THREADS, 0, stream>>>(p);
    else
        summary_planes_kernel<N><<<blocks_of(p.voxels), THREADS, 0, stream>>>(p);
}

static void launch_many(const SummaryArguments &p, cudaStream_t stream)
{
    summary_many_kernel<<<blocks_of(p.values()), THREADS, 0, stream>>>(p);
    if (p.planes == 1) return;
    largest_kernel<<<dim3(blocks_of(p.voxels), (p.count + 63) / 64), THREADS, 0, stream>>>(p);
}

crd_status summary_launch(const SummaryArguments &p, cudaStream_t stream)
{
    if (p.count <= 8)
        launch_sorted<8>(p, stream);
    else if (p.count <= 16)
        launch_sorted<16>(p, stream);
    else if (p.count <= 32)
        launch_sorted<32>(p, stream);
    else if (p.count <= 48)
        launch_sorted<48>(p, stream);
    else if (p.count <= 64)
        launch_sorted<64>(p, stream);
    else
        launch_many(p, stream);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

__device__ __forceinline__ float entropy_term(float p)
{
    return p > 0.0f ? -p * log2f(p) : 0.0f;
}

__global__ __launch_bounds__(THREADS) void entropy_kernel(const float *samples, int count, int planes, long voxels,
                                                          uint32_t *out)
{
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    if (voxel >= voxels) return;
    double sum = 0.0; // of up to thousands of terms
    for (int s = 0; s < count; s++) {
        float one = 0.0f;
        for (int plane = 0; plane < planes; plane++) {
            const float p = samples[((long)s * planes + plane) * voxels + voxel];
            one += entropy_term(p);
            if (planes == 1) one += entropy_term(1.0f - p);
        }
        sum += one;
    }
    out[voxel] = (uint32_t)__double2int_rn(sum / count * 4194304.0);
}

crd_status entropy_launch(const float *samples, int count, int planes, long voxels, uint32_t *out, cudaStream_t stream)
{
    entropy_kernel<<<blocks_of(voxels), THREADS, 0, stream>>>(samples, count, planes, voxels, out);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// `each`: values of one probe, [count][planes].
__global__ void probe_kernel(const float *samples, long each, long voxels, const int64_t *at, int64_t probes,
                             float *out)
{
    const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < probes * each) out[i] = samples[i % each * voxels + at[i / each]];
}

crd_status probe_launch(const float *samples, int count, int planes, long voxels, const int64_t *at, int64_t probes,
                        float *out, cudaStream_t stream)
{
    const long each = (long)count * planes;
    if (probes == 0) return CRD_OK;
    probe_kernel<<<(unsigned)((probes * each + 255) / 256), 256, 0, stream>>>(samples, each, voxels, at, probes, out);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}
