#include "backend/cuda/kernels/layers.cuh"

static const int THREADS = 512;

// Mean and mean square over `count` sums of values and squares, `number` values in all.
__device__ __forceinline__ crd_moments moments_of(const double2 *sums, int count, double number)
{
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < count; i++) {
        sum += sums[i].x;
        square += sums[i].y;
    }
    return {sum / number, square / number};
}

// Scale and shift of a channel of a group with these moments.
__device__ __forceinline__ float2 affine_at(const crd_moments &m, float gamma, float beta)
{
    const double variance = m.square - m.mean * m.mean, scale = gamma / sqrt(norm_variance(variance));
    return make_float2((float)scale, (float)(beta - m.mean * scale));
}

// A sample's sums over its tiles, into the first of `parts`. Every column of `partial` has `lanes` threads, which add
// every lanes-th tile; then halves are added to halves. The order depends on the sizes alone.
__device__ void add_tiles(const NormArguments &p, int sample, double2 *parts)
{
    const int columns = p.channels / p.piece, column = threadIdx.x % columns, part = threadIdx.x / columns;
    int lanes = blockDim.x / columns;
    if (part < lanes) {
        double2 own = make_double2(0.0, 0.0);
        const float2 *partial = p.partial + (long)sample * p.tiles * columns + column;
        for (int tile = part; tile < p.tiles; tile += lanes) {
            const float2 value = partial[(long)tile * columns];
            own.x += value.x;
            own.y += value.y;
        }
        parts[part * columns + column] = own;
    }
    while (lanes > 1) {
        __syncthreads();
        const int half = (lanes + 1) / 2;
        if (part + half < lanes) {
            parts[part * columns + column].x += parts[(part + half) * columns + column].x;
            parts[part * columns + column].y += parts[(part + half) * columns + column].y;
        }
        lanes = half;
    }
    __syncthreads();
    double *sums = p.sums + (long)sample * 2 * columns;
    if (threadIdx.x < columns) {
        sums[column] = parts[column].x;
        sums[columns + column] = parts[column].y;
    }
}

// One block a sample.
__global__ void norm_kernel(const NormArguments p)
{
    extern __shared__ double2 parts[];
    const int sample = blockIdx.x, channel = threadIdx.x, width = p.channels / p.groups, group = channel / width;
    if (p.frozen.moments == nullptr) add_tiles(p, sample, parts);
    if (channel >= p.channels) return;
    const crd_moments moments = p.frozen.moments != nullptr
                                    ? p.frozen.moments[sample * p.frozen.stride + group]
                                    : moments_of(parts + group * width / p.piece, width / p.piece, p.voxels * width);
    const float2 plain = affine_at(moments, p.gamma[channel], p.beta[channel]);
    const float mask = p.mask == nullptr ? 1.0f : p.mask[sample * p.mask_stride + channel];
    const long at = (long)sample * p.channels + channel;
    p.plain_scale[at] = plain.x;
    p.plain_shift[at] = plain.y;
    p.scale[at] = plain.x * mask;
    p.shift[at] = plain.y * mask;
}

crd_status norm_launch(const NormArguments &p, int samples, cudaStream_t stream)
{
    const int threads = p.channels > THREADS ? p.channels : THREADS;
    if (p.channels > 1024)
        return CUDA_FAIL(CRD_ERR_UNSUPPORTED, "a network of %d channels is too wide for the GPU", p.channels);
    norm_kernel<<<samples, threads, (size_t)threads * sizeof(double2), stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// The sums of values, and of their squares, seen through a scale and a shift.
__device__ __forceinline__ double2 seen_through(float scale, float shift, double sum, double square, double voxels)
{
    const double s = scale, t = shift, shifts = voxels * t;
    return make_double2(fma(s, sum, shifts), fma(shifts, t, fma(s * s, square, 2.0 * s * t * sum)));
}

// One block a sample, one thread a channel of [skip, up].
__global__ void merge_kernel(MergeArguments p)
{
    extern __shared__ double2 values[]; // sums of the inner norms' values
    const int sample = blockIdx.x, channel = threadIdx.x, up = channel >= p.half, i = up ? channel - p.half : channel;
    const int width = 2 * p.half / p.groups, group = channel / width;
    const long own = up || p.own_skips ? (long)sample * p.half : 0;
    const double *sums = (up ? p.up_sums : p.skip_sums) + 2 * own;
    const float scale = (up ? p.up_scale : p.skip_scale)[own + i], shift = (up ? p.up_shift : p.skip_shift)[own + i];
    if (p.frozen.moments == nullptr) {
        values[channel] = seen_through(scale, shift, sums[i], sums[p.half + i], p.voxels);
        __syncthreads();
    }
    const crd_moments moments = p.frozen.moments != nullptr
                                    ? p.frozen.moments[sample * p.frozen.stride + group]
                                    : moments_of(values + group * width, width, p.voxels * width);
    const float2 outer = affine_at(moments, p.gamma[channel], p.beta[channel]);
    p.scale[(long)sample * 2 * p.half + channel] = outer.x * scale;
    p.shift[(long)sample * 2 * p.half + channel] = outer.x * shift + outer.y;
}

crd_status merge_launch(const MergeArguments &p, int samples, cudaStream_t stream)
{
    if (2 * p.half > 1024)
        return CUDA_FAIL(CRD_ERR_UNSUPPORTED, "a network of %d channels is too wide for the GPU", 2 * p.half);
    merge_kernel<<<samples, 2 * p.half, (size_t)(2 * p.half) * sizeof(double2), stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// One thread a column; then one a group.
__global__ void join_kernel(const JoinArguments p, int pieces)
{
    extern __shared__ double2 values[];
    const int column = threadIdx.x, up = column >= p.columns, i = up ? column - p.columns : column;
    const double voxels = p.voxels * pieces;
    double sum = 0.0, square = 0.0;
    for (int piece = 0; piece < pieces; piece++) {
        const double *sums = p.sums[up] + (long)piece * 2 * p.columns + i;
        sum += sums[0];
        square += sums[p.columns];
    }
    values[column] = p.scale[up] == nullptr ? make_double2(sum, square)
                                            : seen_through(p.scale[up][i], p.shift[up][i], sum, square, voxels);
    __syncthreads();
    const int width = (int)blockDim.x / p.groups;
    if (column >= p.groups) return;
    p.moments[column] = moments_of(values + column * width, width, voxels * (p.channels / p.groups));
}

crd_status join_launch(const JoinArguments &p, int pieces, cudaStream_t stream)
{
    const int columns = p.sums[1] == nullptr ? p.columns : 2 * p.columns;
    join_kernel<<<1, columns, (size_t)columns * sizeof(double2), stream>>>(p, pieces);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

__global__ void mask_kernel(const float *plain_scale, const float *plain_shift, const float *mask, long mask_stride,
                            float *scale, float *shift)
{
    const int channel = threadIdx.x, sample = blockIdx.x, channels = blockDim.x;
    scale[sample * channels + channel] = plain_scale[channel] * mask[sample * mask_stride + channel];
    shift[sample * channels + channel] = plain_shift[channel] * mask[sample * mask_stride + channel];
}

crd_status mask_launch(const float *plain_scale, const float *plain_shift, const float *mask, long mask_stride,
                       float *scale, float *shift, int channels, int samples, cudaStream_t stream)
{
    mask_kernel<<<samples, channels, 0, stream>>>(plain_scale, plain_shift, mask, mask_stride, scale, shift);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

__global__ void point_kernel(const float *kernel, long stride, const float *bias, float *out)
{
    const int sample = blockIdx.x;
    out[2 * sample] = kernel[sample * stride];
    out[2 * sample + 1] = bias[0];
}

crd_status point_launch(const float *kernel, long kernel_stride, const float *bias, float *out, int samples,
                        cudaStream_t stream)
{
    point_kernel<<<samples, 1, 0, stream>>>(kernel, kernel_stride, bias, out);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}
