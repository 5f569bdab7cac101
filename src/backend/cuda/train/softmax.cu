// The loss of more than two classes: the 1x1x1 convolution, the cross entropy against the label, and the gradient back
// to the 3x3x3 convolution's result, in a pass over the voxels; the gradients of the last layer as sums of products.
#include "backend/cuda/train/kernels.cuh"
#include "backend/cuda/train/softmax_loss.cuh"

#include <type_traits>

enum { THREADS = 128, SHARE = 4096 /* voxels of a block */, PAIRS_AT_ONCE = 3 };

int softmax_loss_tiles(const Extent &e)
{
    return (int)((e.voxels() + SHARE - 1) / SHARE);
}

// Of few classes every thread has the sums of all its own voxels in registers, and they meet at the end.
template <int WIDTH> struct InRegisters {
    struct Room {
        double totals[THREADS / 32][WIDTH * (WIDTH + 2)];
    };
    OwnSums<WIDTH> own;

    __device__ __forceinline__ void add(Room &, bool, const float (&x)[WIDTH], const float (&slope)[WIDTH],
                                        const float (&g)[WIDTH], int)
    {
        own.add(x, slope, g);
    }

    __device__ __forceinline__ void store(Room &room, int classes, double *to) const
    {
        own.store(classes, room.totals[threadIdx.x / 32]);
        __syncthreads();
        for (int i = threadIdx.x; i < classes * (classes + 2); i += THREADS) {
            double total = 0.0;
            for (int w = 0; w < THREADS / 32; w++) total += room.totals[w][i];
            to[i] = total;
        }
    }
};

// Of many classes they would not fit there: the voxels at work lie in shared memory, and a thread adds up some of the
// sums over all of them.
template <int WIDTH> struct InShared {
    struct Room { // one more column keeps banks apart
        float x[THREADS][WIDTH + 1], slope[THREADS][WIDTH + 1], gradient[THREADS][WIDTH + 1];
    };
    double own[PAIRS_AT_ONCE];

    __device__ __forceinline__ InShared() : own{}
    {
    }

    static __device__ __forceinline__ float over_rows(const Room &room, int number, int classes)
    {
        const int weights = classes * classes;
        float total = 0.0f;
        if (number < weights) {
            const int c = number / classes, o = number % classes;
            for (int i = 0; i < THREADS; i++) total = fmaf(room.x[i][c], room.slope[i][o], total);
        } else if (number < weights + classes) {
            for (int i = 0; i < THREADS; i++) total += room.slope[i][number - weights];
        } else {
            for (int i = 0; i < THREADS; i++) total += room.gradient[i][number - weights - classes];
        }
        return total;
    }

    __device__ __forceinline__ void add(Room &room, bool inside, const float (&x)[WIDTH], const float (&slope)[WIDTH],
                                        const float (&g)[WIDTH], int classes)
    {
        const int row = threadIdx.x;
#pragma unroll
        for (int c = 0; c < WIDTH; c++) {
            room.x[row][c] = inside ? x[c] : 0.0f;
            room.slope[row][c] = inside ? slope[c] : 0.0f;
            room.gradient[row][c] = inside ? g[c] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < PAIRS_AT_ONCE; i++) {
            const int number = i * THREADS + row;
            if (number < classes * (classes + 2)) own[i] += over_rows(room, number, classes);
        }
        __syncthreads();
    }

    __device__ __forceinline__ void store(Room &, int classes, double *to) const
    {
        for (int i = 0; i < PAIRS_AT_ONCE; i++) {
            const int number = i * THREADS + (int)threadIdx.x;
            if (number < classes * (classes + 2)) to[number] = own[i];
        }
    }
};

template <int WIDTH> using Sums = std::conditional_t<WIDTH <= 8, InRegisters<WIDTH>, InShared<WIDTH>>;

template <typename T, int WIDTH>
__global__ __launch_bounds__(THREADS) void softmax_loss_kernel(const __grid_constant__ SoftmaxLossArguments p)
{
    __shared__ SharedPoint<WIDTH> shared_point;
    __shared__ typename Sums<WIDTH>::Room room;
    __shared__ double singles[THREADS / 32][SINGLES];
    const int example = blockIdx.y, row = threadIdx.x;
    const long voxels = p.size.voxels(), first = (long)blockIdx.x * SHARE;
    const long end = first + SHARE < voxels ? first + SHARE : voxels;
    const float scale = p.gradient != nullptr ? *p.scale : 0.0f;
    float sums[SINGLES] = {};
    Sums<WIDTH> products;
    shared_point.load(p.point + example * p.point_stride, p.classes);
    __syncthreads();
    const SharedPoint<WIDTH> own_point = shared_point; // a few classes' weights stay in registers
    const SharedPoint<WIDTH> &point = WIDTH <= 4 ? own_point : shared_point;
    for (long base = first; base < end; base += THREADS) { // all threads together: InShared waits
        const bool inside = base + row < end;
        float x[WIDTH] = {}, slope[WIDTH] = {}, gradient[WIDTH] = {};
        if (inside) {
            const long voxel = example * voxels + base + row;
            load_head<T, WIDTH>(static_cast<const T *>(p.y) + voxel * HEAD_WIDTH, x);
            softmax_voxel<WIDTH>(point, p.classes, p.label[voxel], scale, x, slope, gradient, sums);
            if (p.gradient != nullptr)
                store_head<T, WIDTH>(gradient, static_cast<T *>(p.gradient) + voxel * HEAD_WIDTH);
        }
        products.add(room, inside, x, slope, gradient, p.classes);
    }
    double *partial = p.partial + ((long)example * gridDim.x + blockIdx.x) * softmax_sums(p.classes);
    products.store(room, p.classes, partial + SINGLES);
    for (int k = 0; k < SINGLES; k++) {
        double total = sums[k];
        for (int step = 16; step > 0; step >>= 1) total += __shfl_xor_sync(~0u, total, step);
        if (row % 32 == 0) singles[row / 32][k] = total;
    }
    __syncthreads();
    if (row >= SINGLES) return;
    double total = 0.0;
    for (int w = 0; w < THREADS / 32; w++) total += singles[w][row];
    partial[row] = total;
}

template <typename T> crd_status softmax_loss_launch(const SoftmaxLossArguments &p, int examples, cudaStream_t stream)
{
    const dim3 grid(softmax_loss_tiles(p.size), examples);
    if (p.classes <= 4)
        softmax_loss_kernel<T, 4><<<grid, THREADS, 0, stream>>>(p);
    else if (p.classes <= 8)
        softmax_loss_kernel<T, 8><<<grid, THREADS, 0, stream>>>(p);
    else
        softmax_loss_kernel<T, 16><<<grid, THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// One block a sum of an example.
__global__ void softmax_sum_kernel(SoftmaxSumArguments p)
{
    __shared__ double parts[THREADS];
    const int k = blockIdx.x, example = blockIdx.y, count = softmax_sums(p.classes), weights = p.classes * p.classes;
    const double *partial = p.partial + (long)example * p.tiles * count + k;
    double own = 0.0;
    for (int tile = threadIdx.x; tile < p.tiles; tile += THREADS) own += partial[(long)tile * count];
    parts[threadIdx.x] = own;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x > 0) return;
    const double total = parts[0];
    double *result = p.result + example * LOSS_SUMS;
    if (k == CROSS_ENTROPY) result[LOSS_BCE] = total;
    if (k == LABELLED) result[LOSS_LABELLED] = total;
    if (k == CORRECT) result[LOSS_CORRECT] = total;
    if (k == VALUE) result[LOSS_VALUE] = total;
    if (p.dweight == nullptr || k < SINGLES) return;
    const int pair = k - SINGLES;
    if (pair < weights)
        p.dweight[example * p.gradient_stride + pair] = (float)(total * *p.scale);
    else if (pair < weights + p.classes)
        p.dbias[example * p.gradient_stride + pair - weights] = (float)(total * *p.scale);
    else
        p.totals[example * HEAD_WIDTH + pair - weights - p.classes] = (float)total;
}

crd_status softmax_sum_launch(const SoftmaxSumArguments &p, int examples, cudaStream_t stream)
{
    softmax_sum_kernel<<<dim3((unsigned)softmax_sums(p.classes), (unsigned)examples), THREADS, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// The classes' share of a padded kernel's and bias's gradient.
__global__ void unpad_kernel(UnpadArguments p)
{
    const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
    const int example = blockIdx.y;
    if (at >= (long)p.rows * p.classes) return;
    p.kernel[example * p.gradient_stride + at] =
        p.padded[((long)example * p.rows + at / p.classes) * HEAD_WIDTH + at % p.classes];
    if (at < p.classes) p.bias[example * p.gradient_stride + at] = p.padded_bias[example * HEAD_WIDTH + at];
}

crd_status unpad_launch(const UnpadArguments &p, int examples, cudaStream_t stream)
{
    unpad_kernel<<<dim3((unsigned)(((long)p.rows * p.classes + 255) / 256), examples), 256, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template crd_status softmax_loss_launch<float>(const SoftmaxLossArguments &, int, cudaStream_t);
template crd_status softmax_loss_launch<__half>(const SoftmaxLossArguments &, int, cudaStream_t);
template crd_status softmax_loss_launch<__nv_bfloat16>(const SoftmaxLossArguments &, int, cudaStream_t);
