// The convolutions in float32, for any number of channels: the path of --precision f32 and of narrow networks. Plain
// loops, for checks rather than for speed.
#include "backend/cuda/kernels/conv.cuh"

enum { THREADS = 256 };

// The channels of the voxel that lies there from the output's first voxel on; NULL outside.
__device__ __forceinline__ const float *input_voxel(const ConvInput &input, int sample, int z, int y, int x)
{
    const Extent &whole = input.whole;
    z += input.at.z;
    y += input.at.y;
    x += input.at.x;
    if (z < 0 || z >= whole.depth || y < 0 || y >= whole.height || x < 0 || x >= whole.width) return nullptr;
    return static_cast<const float *>(input.data) + sample * input.stride +
           (((long)z * whole.height + y) * whole.width + x) * input.channels;
}

// One thread makes one channel of one voxel.
__global__ void conv_plain_kernel(const __grid_constant__ ConvArguments p)
{
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    if (at >= p.size.voxels() * p.out) return;
    const int out = at % p.out, sample = blockIdx.y, in = p.x[0].channels + p.x[1].channels;
    const long voxel = at / p.out;
    const int x = voxel % p.size.width, y = voxel / p.size.width % p.size.height,
              z = voxel / ((long)p.size.width * p.size.height);
    const float *weights = reinterpret_cast<const float *>(p.weights) + sample * p.weights_stride + out;
    const long biased = ((long)sample * BORDER_CLASSES + border_class(p.size, z, y, x)) * p.out + out;
    float total = p.values == nullptr ? p.bias[biased] : 0.0f;
    for (int tap = 0; tap < 27; tap++) {
        for (int input = 0, first = 0; input < 2; first += p.x[input++].channels) {
            if (p.x[input].channels == 0) continue;
            const float *from = input_voxel(p.x[input], sample, z + tap / 9 - 1, y + tap / 3 % 3 - 1, x + tap % 3 - 1);
            for (int i = 0; from != nullptr && i < p.x[input].channels; i++)
                total = fmaf(__ldg(from + i), weights[((long)tap * in + first + i) * p.out], total);
        }
    }
    static_cast<float *>(p.y)[(long)sample * p.size.voxels() * p.out + at] = p.values == nullptr ? relu(total) : total;
}

__global__ void up_plain_kernel(const __grid_constant__ UpArguments p)
{
    const Extent high = {2 * p.low.depth, 2 * p.low.height, 2 * p.low.width};
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    if (at >= high.voxels() * p.out) return;
    const int out = at % p.out, sample = blockIdx.y, in = p.x.channels;
    const long voxel = at / p.out;
    const int x = voxel % high.width, y = voxel / high.width % high.height,
              z = voxel / ((long)high.width * high.height);
    const float *weights = reinterpret_cast<const float *>(p.weights) + sample * p.weights_stride + out;
    const float *input = static_cast<const float *>(p.x.data) + sample * p.x.stride;
    float total = p.bias[((long)sample * BORDER_CLASSES + border_class(high, z, y, x)) * p.out + out];
    for (int tap = 0; tap < 8; tap++) {
        const int zz = z + (tap >> 2), yy = y + (tap >> 1 & 1), xx = x + (tap & 1);
        if (zz >= high.depth || yy >= high.height || xx >= high.width) continue;
        const long from = ((long)(zz / 2) * p.low.height + yy / 2) * p.low.width + xx / 2;
        for (int i = 0; i < in; i++)
            total = fmaf(__ldg(input + from * in + i), weights[((long)tap * in + i) * p.out], total);
    }
    static_cast<float *>(p.y)[(long)sample * high.voxels() * p.out + at] = relu(total);
}

__global__ void head_plain_kernel(const __grid_constant__ HeadArguments p)
{
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    if (voxel >= p.size.voxels()) return;
    const int sample = blockIdx.y, in = p.x.channels;
    const int x = voxel % p.size.width, y = voxel / p.size.width % p.size.height,
              z = voxel / ((long)p.size.width * p.size.height);
    const float *weights = reinterpret_cast<const float *>(p.weights) + sample * p.weights_stride;
    float total = p.bias[sample * BORDER_CLASSES + border_class(p.size, z, y, x)];
    for (int tap = 0; tap < 27; tap++) {
        const float *from = input_voxel(p.x, sample, z + tap / 9 - 1, y + tap / 3 % 3 - 1, x + tap % 3 - 1);
        for (int i = 0; from != nullptr && i < in; i++) total = fmaf(__ldg(from + i), weights[tap * in + i], total);
    }
    const float logit =
        (p.point[sample * p.point_stride] * relu(total) + p.point[sample * p.point_stride + 1]) * p.inverse_temperature;
    p.probability[sample * p.apart * p.size.voxels() + voxel] = sigmoid(logit);
}

// Sums of a finished tensor, and of its products with `values` (itself where NULL), 4096 voxels a block: the tiles of
// this path.
enum { ROW = 4096 };
__global__ void sums_kernel(const float *y, const float *values, float2 *partial, int channels, long voxels)
{
    const int sample = blockIdx.y;
    const long first = (long)blockIdx.x * ROW, end = first + ROW < voxels ? first + ROW : voxels;
    for (int c = threadIdx.x; c < channels; c += blockDim.x) {
        float2 total = make_float2(0.0f, 0.0f);
        for (long v = first; v < end; v++) {
            const long at = ((long)sample * voxels + v) * channels + c;
            total.x += y[at];
            total.y = fmaf(y[at], values[at], total.y);
        }
        partial[((long)sample * gridDim.x + blockIdx.x) * channels + c] = total;
    }
}

int plain_tiles(const Extent &size)
{
    return (int)((size.voxels() + ROW - 1) / ROW);
}

crd_status plain_sums(const void *y, const void *values, float2 *partial, int channels, const Extent &size, int samples,
                      cudaStream_t stream)
{
    const int threads = channels < 256 ? (channels + 31) / 32 * 32 : 256;
    sums_kernel<<<dim3(plain_tiles(size), samples), threads, 0, stream>>>(
        static_cast<const float *>(y), static_cast<const float *>(values != nullptr ? values : y), partial, channels,
        size.voxels());
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <> crd_status conv_launch<float>(const ConvArguments &p, int samples, cudaStream_t stream)
{
    const long values = p.size.voxels() * p.out;
    conv_plain_kernel<<<dim3((unsigned)((values + THREADS - 1) / THREADS), samples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return plain_sums(p.y, p.values, p.partial, p.out, p.size, samples, stream);
}

template <> crd_status up_launch<float>(const UpArguments &p, int samples, cudaStream_t stream)
{
    const Extent high = {2 * p.low.depth, 2 * p.low.height, 2 * p.low.width};
    const long values = high.voxels() * p.out;
    up_plain_kernel<<<dim3((unsigned)((values + THREADS - 1) / THREADS), samples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return plain_sums(p.y, nullptr, p.partial, p.out, high, samples, stream);
}

template <> crd_status head_launch<float>(const HeadArguments &p, int samples, cudaStream_t stream)
{
    head_plain_kernel<<<dim3((unsigned)((p.size.voxels() + THREADS - 1) / THREADS), samples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}
