// The head in training: 3x3x3 convolution to one channel, ReLU, the 1x1x1 convolution, cross entropy against the label,
// and the gradient back to the 3x3x3 convolution's result, in one pass.
#include "backend/cuda/kernels/head_tile.cuh"
#include "backend/cuda/train/loss.cuh"

enum { THREADS = HeadTile::THREADS };

// Of a block's threads, to its row of `partial`.
__device__ __forceinline__ void store_loss(const float (&sums)[LOSS_SUMS], double *partial)
{
    __shared__ double rows[THREADS / 32][LOSS_SUMS];
    for (int k = 0; k < LOSS_SUMS; k++) {
        double total = sums[k];
        for (int step = 16; step > 0; step >>= 1) total += __shfl_xor_sync(~0u, total, step);
        if (threadIdx.x % 32 == 0) rows[threadIdx.x / 32][k] = total;
    }
    __syncthreads();
    if (threadIdx.x < LOSS_SUMS) {
        double total = 0.0;
        for (int w = 0; w < THREADS / 32; w++) total += rows[w][threadIdx.x];
        partial[threadIdx.x] = total;
    }
}

template <typename T> __global__ __launch_bounds__(THREADS, 3) void loss_kernel(const __grid_constant__ LossArguments p)
{
    const HeadArguments &h = p.head;
    const HeadOrigin origin(h.size);
    HeadShare share;
    head_multiply<T>(h, origin, share);
    const int example = blockIdx.z;
    const float weight = h.point[example * h.point_stride], offset = h.point[example * h.point_stride + 1];
    const float scale = p.gradient != nullptr ? *p.scale : 0.0f;
    float sums[LOSS_SUMS] = {};
    head_finish(h, origin, share, [&](long voxel, float value) {
        loss_voxel(p.label, p.gradient, voxel, value, weight, offset, scale, sums);
    });
    store_loss(sums, p.partial + ((long)example * gridDim.x + blockIdx.x) * LOSS_SUMS);
}

template <> __global__ void loss_kernel<float>(const __grid_constant__ LossArguments p)
{
    const HeadArguments &h = p.head;
    const Extent &size = h.size;
    const long voxel = (long)blockIdx.x * THREADS + threadIdx.x;
    const int example = blockIdx.z, in = h.x.channels;
    float sums[LOSS_SUMS] = {};
    if (voxel < size.voxels()) {
        const int x = voxel % size.width, y = voxel / size.width % size.height,
                  z = voxel / ((long)size.width * size.height);
        const float *weights = reinterpret_cast<const float *>(h.weights) + example * h.weights_stride;
        const float *input = static_cast<const float *>(h.x.data) + example * h.x.stride;
        float total = h.bias[example * BORDER_CLASSES + border_class(size, z, y, x)];
        for (int tap = 0; tap < 27; tap++) {
            const int zz = z + tap / 9 - 1, yy = y + tap / 3 % 3 - 1, xx = x + tap % 3 - 1;
            if (zz < 0 || zz >= size.depth || yy < 0 || yy >= size.height || xx < 0 || xx >= size.width) continue;
            const long from = ((long)zz * size.height + yy) * size.width + xx;
            for (int i = 0; i < in; i++) total = fmaf(__ldg(input + from * in + i), weights[tap * in + i], total);
        }
        loss_voxel(p.label, p.gradient, example * size.voxels() + voxel, relu(total), h.point[example * h.point_stride],
                   h.point[example * h.point_stride + 1], p.gradient != nullptr ? *p.scale : 0.0f, sums);
    }
    store_loss(sums, p.partial + ((long)example * gridDim.x + blockIdx.x) * LOSS_SUMS);
}

template <typename T> int loss_tiles(const Extent &e)
{
    if (sizeof(T) == 4) return (int)((e.voxels() + THREADS - 1) / THREADS);
    return HeadTile::count(e);
}

template <typename T> crd_status loss_launch(const LossArguments &p, int examples, cudaStream_t stream)
{
    const int bytes = sizeof(T) == 4 ? 0 : HeadTile::BYTES;
    CUDA_PASS(cudaFuncSetAttribute(loss_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    loss_kernel<T><<<dim3(loss_tiles<T>(p.head.size), 1, examples), THREADS, bytes, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// One block an example.
__global__ void loss_sum_kernel(LossSumArguments p)
{
    __shared__ double parts[THREADS][LOSS_SUMS];
    const int example = blockIdx.x, k = threadIdx.x;
    double own[LOSS_SUMS] = {};
    for (int tile = threadIdx.x; tile < p.tiles; tile += THREADS) {
        for (int i = 0; i < LOSS_SUMS; i++) own[i] += p.partial[((long)example * p.tiles + tile) * LOSS_SUMS + i];
    }
    for (int i = 0; i < LOSS_SUMS; i++) parts[threadIdx.x][i] = own[i];
    __syncthreads();
    if (k >= LOSS_SUMS) return;
    double total = 0.0;
    for (int i = 0; i < THREADS; i++) total += parts[i][k];
    p.result[example * LOSS_SUMS + k] = total;
    if (p.dweight == nullptr) return;
    if (k == LOSS_WEIGHT) p.dweight[example * p.gradient_stride] = (float)(total * *p.scale);
    if (k == LOSS_BIAS) p.dbias[example * p.gradient_stride] = (float)(total * *p.scale);
    if (k == LOSS_GRADIENT) p.total[example] = (float)total;
}

crd_status loss_sum_launch(const LossSumArguments &p, int examples, cudaStream_t stream)
{
    loss_sum_kernel<<<examples, THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

#define FOR_TYPE(T)                                                                                                    \
    template int loss_tiles<T>(const Extent &);                                                                        \
    template crd_status loss_launch<T>(const LossArguments &, int, cudaStream_t);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
