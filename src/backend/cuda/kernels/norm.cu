#include "backend/cuda/kernels/layers.cuh"

static const int THREADS = 512;

// One block a sample. Every column of `partial` has `lanes` threads, which add every lanes-th tile; then halves are
// added to halves. The order depends on the sizes alone.
__global__ void norm_kernel(const NormArguments p)
{
    extern __shared__ double2 parts[];
    const int sample = blockIdx.x, columns = p.channels / p.piece, column = threadIdx.x % columns,
              part = threadIdx.x / columns;
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
    if (threadIdx.x >= p.channels) return;
    const int channel = threadIdx.x, width = p.channels / p.groups, first = channel / width * width / p.piece;
    double sum = 0.0, square = 0.0;
    for (int c = first; c < first + width / p.piece; c++) {
        sum += parts[c].x;
        square += parts[c].y;
    }
    const double count = p.voxels * width, mean = sum / count, variance = square / count - mean * mean;
    const double scale = p.gamma[channel] / sqrt(norm_variance(variance));
    const float plain_scale = (float)scale, plain_shift = (float)(p.beta[channel] - mean * scale);
    const float mask = p.mask == nullptr ? 1.0f : p.mask[sample * p.mask_stride + channel];
    const long at = (long)sample * p.channels + channel;
    p.plain_scale[at] = plain_scale;
    p.plain_shift[at] = plain_shift;
    p.scale[at] = plain_scale * mask;
    p.shift[at] = plain_shift * mask;
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

// One block a sample, one thread a channel of [skip, up].
__global__ void merge_kernel(MergeArguments p)
{
    extern __shared__ double2 values[]; // sums of the inner norms' values
    const int sample = blockIdx.x, channel = threadIdx.x, up = channel >= p.half, i = up ? channel - p.half : channel;
    const long own = up || p.own_skips ? (long)sample * p.half : 0;
    const double *sums = (up ? p.up_sums : p.skip_sums) + 2 * own;
    const float scale = (up ? p.up_scale : p.skip_scale)[own + i], shift = (up ? p.up_shift : p.skip_shift)[own + i];
    const double s = scale, t = shift, sum = sums[i], square = sums[p.half + i];
    values[channel] = make_double2(s * sum + p.voxels * t, s * s * square + 2.0 * s * t * sum + p.voxels * t * t);
    __syncthreads();
    const int width = 2 * p.half / p.groups, first = channel / width * width;
    double total = 0.0, squares = 0.0;
    for (int c = first; c < first + width; c++) {
        total += values[c].x;
        squares += values[c].y;
    }
    const double count = p.voxels * width, mean = total / count, variance = squares / count - mean * mean;
    const double outer = p.gamma[channel] / sqrt(norm_variance(variance));
    const float outer_scale = (float)outer, outer_shift = (float)(p.beta[channel] - mean * outer);
    p.scale[(long)sample * 2 * p.half + channel] = outer_scale * scale;
    p.shift[(long)sample * 2 * p.half + channel] = outer_scale * shift + outer_shift;
}

crd_status merge_launch(const MergeArguments &p, int samples, cudaStream_t stream)
{
    if (2 * p.half > 1024)
        return CUDA_FAIL(CRD_ERR_UNSUPPORTED, "a network of %d channels is too wide for the GPU", 2 * p.half);
    merge_kernel<<<samples, 2 * p.half, (size_t)(2 * p.half) * sizeof(double2), stream>>>(p);
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
