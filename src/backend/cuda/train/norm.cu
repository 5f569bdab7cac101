// Group norms backward, as arithmetic on per-channel sums: net/norm.c and net/engine_backward.c on the GPU, one block
// an example.
#include "backend/cuda/train/kernels.cuh"

static const int THREADS = 512;

// Channel sums of the tiles' partial sums: thread t adds every (threads / channels)-th tile of its channel, then the
// parts are added in order. `totals` has room for one double2 a thread; the first `channels` of it are the result.
__device__ void add_tiles(const float2 *partial, int tiles, int channels, double2 *totals)
{
    const int lanes = blockDim.x / channels, channel = threadIdx.x % channels, part = threadIdx.x / channels;
    double2 own = make_double2(0.0, 0.0);
    if (part < lanes) {
        for (int tile = part; tile < tiles; tile += lanes) {
            const float2 value = partial[(long)tile * channels + channel];
            own.x += value.x;
            own.y += value.y;
        }
    }
    totals[threadIdx.x] = own;
    __syncthreads();
    if (part == 0) {
        for (int i = 1; i < lanes; i++) {
            own.x += totals[i * channels + channel].x;
            own.y += totals[i * channels + channel].y;
        }
    }
    __syncthreads();
    if (part == 0) totals[channel] = own;
    __syncthreads();
}

struct Statistics {
    double mean, rstd;
};

// Of the group of `channel`, from the channels' sums.
__device__ Statistics group_statistics(const double *sum, const double *square, int first, int width, double voxels)
{
    double total = 0.0, squares = 0.0;
    for (int c = first; c < first + width; c++) {
        total += sum[c];
        squares += square[c];
    }
    const double count = voxels * width, mean = total / count, variance = squares / count - mean * mean;
    return {mean, 1.0 / sqrt(norm_variance(variance))};
}

struct Back { // of one channel: dgamma and dbeta, and dx = a * g + b * x + c
    double dgamma, dbeta, a, b, c;
};

// g: the sums of g and g * x of all channels.
__device__ Back norm_back(const Statistics &s, const float *gamma, const double2 *g, int channel, int first, int width,
                          double voxels)
{
    const double count = voxels * width;
    double mean_g = 0.0, mean_gn = 0.0;
    for (int c = first; c < first + width; c++) {
        mean_g += gamma[c] * g[c].x / count;
        mean_gn += gamma[c] * (s.rstd * (g[c].y - s.mean * g[c].x)) / count;
    }
    return {s.rstd * (g[channel].y - s.mean * g[channel].x), g[channel].x, s.rstd * gamma[channel],
            -s.rstd * s.rstd * mean_gn, -s.rstd * mean_g + s.rstd * s.rstd * s.mean * mean_gn};
}

__global__ void norm_back_kernel(const __grid_constant__ NormBackArguments p)
{
    extern __shared__ double2 g[];
    const int example = blockIdx.x, channel = threadIdx.x;
    add_tiles(p.partial + (long)example * p.tiles * p.channels, p.tiles, p.channels, g);
    const double mask = p.mask == nullptr || channel >= p.channels ? 1.0 : p.mask[example * p.mask_stride + channel];
    if (channel < p.channels) {
        g[channel].x *= mask;
        g[channel].y *= mask;
    }
    __syncthreads();
    if (channel >= p.channels) return;
    const int width = p.channels / p.groups, first = channel / width * width;
    const double *sums = p.sums + (long)example * 2 * p.channels;
    const Statistics s = group_statistics(sums, sums + p.channels, first, width, p.voxels);
    const Back back = norm_back(s, p.gamma, g, channel, first, width, p.voxels);
    p.dgamma[example * p.gradient_stride + channel] = (float)back.dgamma;
    p.dbeta[example * p.gradient_stride + channel] = (float)back.dbeta;
    float *coefficients = p.coefficients + (long)example * 3 * p.channels + channel;
    coefficients[0] = (float)(back.a * mask);
    coefficients[p.channels] = (float)back.b;
    coefficients[2 * p.channels] = (float)back.c;
}

static crd_status check_width(int channels)
{
    if (channels <= 1024) return CRD_OK;
    return CUDA_FAIL(CRD_ERR_UNSUPPORTED, "a network of %d channels is too wide for the GPU", channels);
}

crd_status norm_back_launch(const NormBackArguments &p, int examples, cudaStream_t stream)
{
    const int threads = p.channels > THREADS ? p.channels : THREADS;
    PASS(check_width(p.channels));
    norm_back_kernel<<<examples, threads, (size_t)threads * sizeof(double2), stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// Threads 0 .. half - 1 have the skip's channels, the next `half` the up layer's. Shared memory: see the launch.
__global__ void merge_back_kernel(const __grid_constant__ MergeBackArguments p)
{
    extern __shared__ double2 shared[];
    const int example = blockIdx.x, channel = threadIdx.x, half = p.half, channels = 2 * half;
    const bool up = channel >= half, present = channel < channels;
    const int i = up ? channel - half : channel;
    double2 *scratch = shared, *g = scratch + blockDim.x; // g: [channels], the sums of g2 and g2 * v
    double *sum = reinterpret_cast<double *>(g + channels), *square = sum + channels; // of v, the inner norm's value
    double2 gy = make_double2(0.0, 0.0); // the sums of g2 and g2 * y of this thread's channel
    for (int side = 0; side < 2; side++) {
        add_tiles((side ? p.up_partial : p.skip_partial) + (long)example * p.tiles * half, p.tiles, half, scratch);
        if (present && up == (side == 1)) gy = scratch[i];
        __syncthreads();
    }
    const long at = (long)example * half + (present ? i : 0);
    const double scale = up ? p.up_scale[at] : p.skip_scale[at], shift = up ? p.up_shift[at] : p.skip_shift[at];
    const double *own = (up ? p.up_sums : p.skip_sums) + (long)example * 2 * half;
    if (present) {
        g[channel] = make_double2(gy.x, scale * gy.y + shift * gy.x);
        sum[channel] = scale * own[i] + p.voxels * shift;
        square[channel] = scale * scale * own[half + i] + 2.0 * scale * shift * own[i] + p.voxels * shift * shift;
    }
    __syncthreads();
    double a = 0.0, b = 0.0, c = 0.0; // dv = a * g2 + b * y + c
    if (present) {
        const int width = channels / p.groups, first = channel / width * width;
        const Statistics s = group_statistics(sum, square, first, width, p.voxels);
        const Back back = norm_back(s, p.merge_gamma, g, channel, first, width, p.voxels);
        p.merge_dgamma[example * p.gradient_stride + channel] = (float)back.dgamma;
        p.merge_dbeta[example * p.gradient_stride + channel] = (float)back.dbeta;
        a = back.a;
        b = back.b * scale;
        c = back.c + back.b * shift;
    }
    __syncthreads();
    if (present && !up) {
        float *coefficients = p.skip_coefficients + (long)example * 3 * half + i;
        coefficients[0] = (float)a;
        coefficients[half] = (float)b;
        coefficients[2 * half] = (float)c;
    }
    if (present && up) { // the sums of dv and dv * y, in place of those of g2
        g[i] = make_double2(a * gy.x + b * own[i] + c * p.voxels, a * gy.y + b * own[half + i] + c * own[i]);
    }
    __syncthreads();
    if (!present || !up) return;
    const int width = half / p.groups, first = i / width * width;
    const Statistics s = group_statistics(own, own + half, first, width, p.voxels);
    const Back back = norm_back(s, p.up_gamma, g, i, first, width, p.voxels);
    p.up_dgamma[example * p.gradient_stride + i] = (float)back.dgamma;
    p.up_dbeta[example * p.gradient_stride + i] = (float)back.dbeta;
    float *coefficients = p.up_coefficients + (long)example * 3 * half + i;
    coefficients[0] = (float)(back.a * a);
    coefficients[half] = (float)(back.a * b + back.b);
    coefficients[2 * half] = (float)(back.a * c + back.c);
}

crd_status merge_back_launch(const MergeBackArguments &p, int examples, cudaStream_t stream)
{
    const int channels = 2 * p.half, threads = channels > THREADS ? channels : THREADS;
    PASS(check_width(channels));
    merge_back_kernel<<<examples, threads, (size_t)(threads + 2 * channels) * sizeof(double2), stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}
