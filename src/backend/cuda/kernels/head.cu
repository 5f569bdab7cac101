// The head: 3x3x3 convolution to one channel, ReLU, the 1x1x1 convolution and the sigmoid, in one pass.
#include "backend/cuda/kernels/head_tile.cuh"

template <typename T>
__global__ __launch_bounds__(HeadTile::THREADS, 3) void head_kernel(const __grid_constant__ HeadArguments p)
{
    const HeadOrigin origin(p.size);
    HeadShare share;
    head_multiply<T>(p, origin, share);
    const int sample = blockIdx.z;
    const float weight = p.point[sample * p.point_stride], offset = p.point[sample * p.point_stride + 1];
    head_finish(p, origin, share, [&](long voxel, float value) {
        const long beyond = (long)sample * (p.apart - 1) * p.size.voxels();
        p.probability[voxel + beyond] = sigmoid((weight * value + offset) * p.inverse_temperature);
    });
}

template <typename T> crd_status head_launch(const HeadArguments &arguments, int samples, cudaStream_t stream)
{
    const int bytes = HeadTile::BYTES;
    CUDA_PASS(cudaFuncSetAttribute(head_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    head_kernel<T><<<dim3(HeadTile::count(arguments.size), 1, samples), HeadTile::THREADS, bytes, stream>>>(arguments);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template crd_status head_launch<__half>(const HeadArguments &, int, cudaStream_t);
template crd_status head_launch<__nv_bfloat16>(const HeadArguments &, int, cudaStream_t);
