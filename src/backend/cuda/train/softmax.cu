// The loss of more than two classes: the 1x1x1 convolution, the cross entropy against the label, and the gradient back
// to the 3x3x3 convolution's result, in a pass over the voxels; the gradients of the last layer as sums of products.
#include "backend/cuda/kernels/softmax.cuh"
#include "backend/cuda/train/kernels.cuh"

enum { THREADS = 128, SHARE = 4096 /* voxels of a block */, PAIRS_AT_ONCE = 3 };
// What a block leaves behind: four sums, then d/dweight [in][out], d/dbias [out] and the sums of the gradient [in].
enum { CROSS_ENTROPY, LABELLED, CORRECT, VALUE, SINGLES };

__host__ __device__ static int sums_of(int classes)
{
    return SINGLES + classes * (classes + 2);
}

int softmax_loss_tiles(const Extent &e)
{
    return (int)((e.voxels() + SHARE - 1) / SHARE);
}

template <int WIDTH> struct Rows { // of the voxels at work; one more column keeps banks apart
    float x[THREADS][WIDTH + 1], slope[THREADS][WIDTH + 1], gradient[THREADS][WIDTH + 1];
};

// One voxel: adds to the sums, stores its rows and its gradient.
template <typename T, int WIDTH>
__device__ __forceinline__ void loss_voxel(const SoftmaxLossArguments &p, const SharedPoint<WIDTH> &point, long voxel,
                                           float scale, Rows<WIDTH> &rows, float (&sums)[SINGLES])
{
    const int row = threadIdx.x;
    float x[WIDTH];
    load_head<T, WIDTH>(static_cast<const T *>(p.y) + voxel * HEAD_WIDTH, x);
    const Softmax<WIDTH> s(point, x, p.classes, 1.0f);
    const int label = p.label[voxel];
    const float counts = label != 255 ? 1.0f : 0.0f;
    float own = 0.0f, slope[WIDTH];
#pragma unroll
    for (int c = 0; c < WIDTH; c++) {
        own = c == label ? s.logit[c] : own;
        slope[c] = counts * (s.power[c] / s.sum - (c == label ? 1.0f : 0.0f));
        rows.x[row][c] = x[c];
        rows.slope[row][c] = slope[c];
        sums[VALUE] += x[c];
    }
    sums[CROSS_ENTROPY] += counts * (logf(s.sum) + (s.largest - own) + s.unsound);
    sums[LABELLED] += counts;
    sums[CORRECT] += s.best == label ? counts : 0.0f;
    T *to = p.gradient == nullptr ? nullptr : static_cast<T *>(p.gradient) + voxel * HEAD_WIDTH;
#pragma unroll
    for (int c = 0; c < WIDTH; c++) {
        float gradient = 0.0f;
#pragma unroll
        for (int o = 0; o < WIDTH; o++) gradient = fmaf(point.weight[c * WIDTH + o], slope[o], gradient);
        const T rounded = (T)(x[c] > 0.0f ? scale * gradient : 0.0f);
        rows.gradient[row][c] = (float)rounded;
        if (to != nullptr) to[c] = rounded;
    }
    for (int c = WIDTH; c < HEAD_WIDTH && to != nullptr; c++) to[c] = (T)0.0f;
}

// The sum over the rows that belongs to number `pair` of what follows the four single sums.
template <int WIDTH> __device__ __forceinline__ float add_rows(const Rows<WIDTH> &rows, int pair, int classes)
{
    const int weights = classes * classes;
    float total = 0.0f;
    if (pair < weights) {
        for (int i = 0; i < THREADS; i++) total = fmaf(rows.x[i][pair / classes], rows.slope[i][pair % classes], total);
    } else if (pair < weights + classes) {
        for (int i = 0; i < THREADS; i++) total += rows.slope[i][pair - weights];
    } else {
        for (int i = 0; i < THREADS; i++) total += rows.gradient[i][pair - weights - classes];
    }
    return total;
}

template <typename T, int WIDTH>
__global__ __launch_bounds__(THREADS) void softmax_loss_kernel(const __grid_constant__ SoftmaxLossArguments p)
{
    __shared__ SharedPoint<WIDTH> point;
    __shared__ Rows<WIDTH> rows;
    __shared__ double singles[THREADS / 32][SINGLES];
    const int example = blockIdx.y, row = threadIdx.x, pairs = p.classes * (p.classes + 2);
    const long voxels = p.size.voxels(), first = (long)blockIdx.x * SHARE;
    const long end = first + SHARE < voxels ? first + SHARE : voxels;
    const float scale = p.gradient != nullptr ? *p.scale : 0.0f;
    float sums[SINGLES] = {};
    double products[PAIRS_AT_ONCE] = {};
    point.load(p.point + example * p.point_stride, p.classes);
    __syncthreads();
    for (long base = first; base < end; base += THREADS) {
        if (base + row < end) {
            loss_voxel<T, WIDTH>(p, point, example * voxels + base + row, scale, rows, sums);
        } else {
            for (int c = 0; c < WIDTH; c++) rows.x[row][c] = rows.slope[row][c] = rows.gradient[row][c] = 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < PAIRS_AT_ONCE; i++) {
            const int pair = i * THREADS + row;
            if (pair < pairs) products[i] += add_rows<WIDTH>(rows, pair, p.classes);
        }
        __syncthreads();
    }
    double *partial = p.partial + ((long)example * gridDim.x + blockIdx.x) * sums_of(p.classes);
    for (int i = 0; i < PAIRS_AT_ONCE; i++) {
        const int pair = i * THREADS + row;
        if (pair < pairs) partial[SINGLES + pair] = products[i];
    }
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

// One block an example, one thread a sum.
__global__ void softmax_sum_kernel(SoftmaxSumArguments p)
{
    const int example = blockIdx.x, k = threadIdx.x, count = sums_of(p.classes), weights = p.classes * p.classes;
    if (k >= count) return;
    const double *partial = p.partial + (long)example * p.tiles * count + k;
    double total = 0.0;
    for (int tile = 0; tile < p.tiles; tile++) total += partial[(long)tile * count];
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
    softmax_sum_kernel<<<examples, (unsigned)(sums_of(p.classes) + 31) / 32 * 32, 0, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

int64_t softmax_partial_count(const Extent &size, int classes)
{
    return (int64_t)softmax_loss_tiles(size) * sums_of(classes);
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
