#include "backend/cuda/layers.cuh"

static const int THREADS = 512;
__device__ const double EPSILON = 1e-5;

// One block a sample. Thread t adds every (THREADS / channels)-th tile of its channel; then the parts are added in order.
__global__ void norm_kernel(NormArguments p)
{
    extern __shared__ double2 parts[];
    const int sample = blockIdx.x, lanes = blockDim.x / p.channels, channel = threadIdx.x % p.channels;
    const int part = threadIdx.x / p.channels;
    double2 own = make_double2(0.0, 0.0);
    if (part < lanes) {
        const float2 *partial = p.partial + (long)sample * p.tiles * p.channels + channel;
        for (int tile = part; tile < p.tiles; tile += lanes) {
            const float2 value = partial[(long)tile * p.channels];
            own.x += value.x;
            own.y += value.y;
        }
        parts[part * p.channels + channel] = own;
    }
    __syncthreads();
    double *sums = p.sums + (long)sample * 2 * p.channels;
    if (threadIdx.x < p.channels) {
        double2 total = make_double2(0.0, 0.0);
        for (int i = 0; i < lanes; i++) {
            total.x += parts[i * p.channels + channel].x;
            total.y += parts[i * p.channels + channel].y;
        }
        sums[channel] = total.x;
        sums[p.channels + channel] = total.y;
    }
    __syncthreads();
    if (threadIdx.x >= p.channels) return;
    const int width = p.channels / p.groups, first = channel / width * width;
    double sum = 0.0, square = 0.0;
    for (int c = first; c < first + width; c++) {
        sum += sums[c];
        square += sums[p.channels + c];
    }
    const double count = p.voxels * width, mean = sum / count, variance = square / count - mean * mean;
    const double scale = p.gamma[channel] / sqrt((variance > 0.0 ? variance : 0.0) + EPSILON);
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
    if (p.channels > 1024) return CUDA_FAIL(CRD_ERR_UNSUPPORTED, "a network of %d channels is too wide for the GPU", p.channels);
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
    const double outer = p.gamma[channel] / sqrt((variance > 0.0 ? variance : 0.0) + EPSILON);
    const float outer_scale = (float)outer, outer_shift = (float)(p.beta[channel] - mean * outer);
    p.scale[(long)sample * 2 * p.half + channel] = outer_scale * scale;
    p.shift[(long)sample * 2 * p.half + channel] = outer_scale * shift + outer_shift;
}

crd_status merge_launch(const MergeArguments &p, int samples, cudaStream_t stream)
{
    if (2 * p.half > 1024) return CUDA_FAIL(CRD_ERR_UNSUPPORTED, "a network of %d channels is too wide for the GPU", 2 * p.half);
    merge_kernel<<<samples, 2 * p.half, (size_t)(2 * p.half) * sizeof(double2), stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}
