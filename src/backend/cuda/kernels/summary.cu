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

__device__ __forceinline__ void store_moments(const SummaryArguments &p, long voxel, float mean, float squares)
{
    p.rows[voxel] = fixed_point(mean);
    p.rows[p.voxels + voxel] = fixed_point(sqrtf(squares / (float)p.count));
}

// Of a voxel whose sum over the samples isn't finite, which is rare.
__device__ __forceinline__ void count_nonfinite(const SummaryArguments &p, long voxel)
{
    int found = 0, first = 0;
#pragma unroll 1
    for (int s = p.count - 1; s >= 0; s--) {
        if (isfinite(p.samples[s * p.voxels + voxel])) continue;
        found++;
        first = s;
    }
    atomicAdd(&p.nonfinite[0], (unsigned long long)found);
    atomicMax(&p.nonfinite[1], (unsigned long long)(p.count - first));
}

// Up to 64 samples: read once, sorted in registers. A register array can't be indexed at run time, so the wanted places
// are compared.
template <int N> __global__ __launch_bounds__(THREADS) void summary_kernel(const SummaryArguments p)
{
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    if (voxel >= p.voxels) return;
    float v[N], mean = 0.0f, squares = 0.0f;
#pragma unroll
    for (int s = 0; s < N; s++) v[s] = s < p.count ? p.samples[s * p.voxels + voxel] : INFINITY;
    uint32_t above[2] = {0, 0};
#pragma unroll
    for (int s = 0; s < N; s++) {
        if (s >= p.count) continue;
        mean += v[s];
        above[s / 32] |= (uint32_t)(v[s] > 0.5f) << (s % 32);
    }
    if (!isfinite(mean)) count_nonfinite(p, voxel);
    mean /= (float)p.count;
#pragma unroll
    for (int s = 0; s < N; s++) {
        const float difference = v[s] - mean;
        if (s < p.count) squares = fmaf(difference, difference, squares);
    }
    store_moments(p, voxel, mean, squares);
    p.above[voxel] = (uint64_t)above[1] << 32 | above[0];
    sort(v);
    for (int i = 0; i < p.percentile_count; i++) {
        const int at = position_of(p, i), next = at + 1 < p.count ? at + 1 : at;
        float low = 0.0f, high = 0.0f;
#pragma unroll
        for (int s = 0; s < N; s++) {
            low = s == at ? v[s] : low;
            high = s == next ? v[s] : high;
        }
        p.rows[(2 + i) * p.voxels + voxel] = fixed_point(between(p, p.percentiles[i], low, high));
    }
}

// Any number of samples: the k-th smallest by halving the range of bit patterns; probabilities are not negative, so
// their bits are ordered as they are.
__device__ float order_statistic(const SummaryArguments &p, long voxel, int k)
{
    uint32_t low = 0, high = 0x3f800000u; // 0 to 1
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        int below = 0;
        for (int s = 0; s < p.count; s++) below += __float_as_uint(p.samples[s * p.voxels + voxel]) <= middle;
        if (below > k)
            high = middle;
        else
            low = middle + 1;
    }
    return __uint_as_float(low);
}

__global__ __launch_bounds__(THREADS) void summary_many_kernel(SummaryArguments p)
{
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    if (voxel >= p.voxels) return;
    float mean = 0.0f, squares = 0.0f;
    for (int s = 0; s < p.count; s++) mean += p.samples[s * p.voxels + voxel];
    if (!isfinite(mean)) count_nonfinite(p, voxel);
    mean /= (float)p.count;
    for (int word = 0; word < (p.count + 63) / 64; word++) {
        uint64_t bits = 0;
        for (int s = word * 64; s < p.count && s < word * 64 + 64; s++) {
            const float value = p.samples[s * p.voxels + voxel];
            squares = fmaf(value - mean, value - mean, squares);
            bits |= (uint64_t)(value > 0.5f) << (s & 63);
        }
        p.above[word * p.voxels + voxel] = bits;
    }
    store_moments(p, voxel, mean, squares);
    for (int i = 0; i < p.percentile_count; i++) {
        const int at = position_of(p, i), next = at + 1 < p.count ? at + 1 : at;
        const float value =
            between(p, p.percentiles[i], order_statistic(p, voxel, at), order_statistic(p, voxel, next));
        p.rows[(2 + i) * p.voxels + voxel] = fixed_point(value);
    }
}

crd_status summary_launch(const SummaryArguments &p, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)((p.voxels + THREADS - 1) / THREADS);
    if (p.count <= 8)
        summary_kernel<8><<<blocks, THREADS, 0, stream>>>(p);
    else if (p.count <= 16)
        summary_kernel<16><<<blocks, THREADS, 0, stream>>>(p);
    else if (p.count <= 32)
        summary_kernel<32><<<blocks, THREADS, 0, stream>>>(p);
    else if (p.count <= 48)
        summary_kernel<48><<<blocks, THREADS, 0, stream>>>(p);
    else if (p.count <= 64)
        summary_kernel<64><<<blocks, THREADS, 0, stream>>>(p);
    else
        summary_many_kernel<<<blocks, THREADS, 0, stream>>>(p);
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
    entropy_kernel<<<(unsigned)((voxels + THREADS - 1) / THREADS), THREADS, 0, stream>>>(samples, count, planes, voxels,
                                                                                         out);
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
