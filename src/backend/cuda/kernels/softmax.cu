#include "backend/cuda/kernels/softmax.cuh"

enum { THREADS = 256 };

static unsigned blocks_of(long items)
{
    return (unsigned)((items + THREADS - 1) / THREADS);
}

__global__ void head_pad_kernel(PadArguments p)
{
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    const int sample = blockIdx.y, column = at % HEAD_WIDTH;
    if (at >= (long)p.rows * HEAD_WIDTH) return;
    p.padded[(long)sample * p.rows * HEAD_WIDTH + at] =
        column < p.classes ? p.kernel[sample * p.kernel_stride + at / HEAD_WIDTH * p.classes + column] : 0.0f;
    if (sample == 0 && at < HEAD_WIDTH) p.padded_bias[at] = at < p.classes ? p.bias[at] : 0.0f;
}

crd_status head_pad_launch(const PadArguments &p, int samples, cudaStream_t stream)
{
    head_pad_kernel<<<dim3(blocks_of((long)p.rows * HEAD_WIDTH), samples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

__global__ void points_kernel(const float *kernel, long kernel_stride, const float *bias, int classes, float *out)
{
    const int weights = classes * classes, count = weights + classes, sample = blockIdx.x;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        out[sample * count + i] = i < weights ? kernel[sample * kernel_stride + i] : bias[i - weights];
}

crd_status points_launch(const float *kernel, long kernel_stride, const float *bias, int classes, float *out,
                         int samples, cudaStream_t stream)
{
    points_kernel<<<samples, 128, 0, stream>>>(kernel, kernel_stride, bias, classes, out);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T, int WIDTH> __global__ __launch_bounds__(THREADS) void softmax_kernel(SoftmaxArguments p)
{
    __shared__ SharedPoint<WIDTH> point;
    const int sample = blockIdx.y;
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    point.load(p.point + sample * p.point_stride, p.classes);
    __syncthreads();
    if (voxel >= p.voxels) return;
    float x[WIDTH];
    load_head<T, WIDTH>(static_cast<const T *>(p.y) + (sample * p.voxels + voxel) * HEAD_WIDTH, x);
    const Softmax<WIDTH> s(point, x, p.classes, p.inverse_temperature);
    float *to = p.probability + (long)sample * p.apart * p.classes * p.voxels + voxel;
#pragma unroll
    for (int c = 0; c < WIDTH; c++)
        if (c < p.classes) to[c * p.voxels] = s.power[c] / s.sum + s.unsound;
}

template <typename T> crd_status softmax_launch(const SoftmaxArguments &p, int samples, cudaStream_t stream)
{
    const dim3 grid(blocks_of(p.voxels), samples);
    if (p.classes <= 4)
        softmax_kernel<T, 4><<<grid, THREADS, 0, stream>>>(p);
    else if (p.classes <= 8)
        softmax_kernel<T, 8><<<grid, THREADS, 0, stream>>>(p);
    else
        softmax_kernel<T, 16><<<grid, THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template crd_status softmax_launch<float>(const SoftmaxArguments &, int, cudaStream_t);
template crd_status softmax_launch<__half>(const SoftmaxArguments &, int, cudaStream_t);
template crd_status softmax_launch<__nv_bfloat16>(const SoftmaxArguments &, int, cudaStream_t);
