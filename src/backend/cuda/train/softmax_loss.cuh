// The loss of one voxel of more than two classes, and the sums over voxels that training wants, for the kernels that
// compute it.
#ifndef CRD_CUDA_TRAIN_SOFTMAX_LOSS_CUH
#define CRD_CUDA_TRAIN_SOFTMAX_LOSS_CUH

#include "backend/cuda/kernels/softmax.cuh"

// What some voxels leave behind: four sums, then d/dweight [in][out], d/dbias [out] and the sums of the gradient [in].
enum SoftmaxSum { CROSS_ENTROPY, LABELLED, CORRECT, VALUE, SINGLES };

__host__ __device__ inline int softmax_sums(int classes)
{
    return SINGLES + classes * (classes + 2);
}

// One voxel, whose values are x: adds to the single sums. `gradient` is that of what x is the ReLU of.
template <int WIDTH>
__device__ __forceinline__ void softmax_voxel(const SharedPoint<WIDTH> &point, int classes, int label, float scale,
                                              const float (&x)[WIDTH], float (&slope)[WIDTH], float (&gradient)[WIDTH],
                                              float (&sums)[SINGLES])
{
    const Softmax<WIDTH> s(point, x, classes, 1.0f);
    const float counts = label != 255 ? 1.0f : 0.0f, share = 1.0f / s.sum;
    float own = 0.0f;
#pragma unroll
    for (int c = 0; c < WIDTH; c++) {
        own = c == label ? s.logit[c] : own;
        slope[c] = counts * (s.power[c] * share - (c == label ? 1.0f : 0.0f));
        sums[VALUE] += x[c];
    }
    sums[CROSS_ENTROPY] += counts * (logf(s.sum) + (s.largest - own) + s.unsound);
    sums[LABELLED] += counts;
    sums[CORRECT] += s.best == label ? counts : 0.0f;
#pragma unroll
    for (int c = 0; c < WIDTH; c++) {
        float total = 0.0f;
#pragma unroll
        for (int o = 0; o < WIDTH; o++) total = fmaf(point.weight[c * WIDTH + o], slope[o], total);
        gradient[c] = x[c] > 0.0f ? scale * total : 0.0f;
    }
}

// Writes a voxel's gradients, rounds them to what is stored, and fills up the row with zeros.
template <typename T, int WIDTH> __device__ __forceinline__ void store_head(float (&values)[WIDTH], T *to)
{
    constexpr int WORDS = HEAD_WIDTH * (int)sizeof(T) / 4;
    uint32_t words[WORDS] = {};
    if constexpr (sizeof(T) == 2) {
#pragma unroll
        for (int i = 0; i < (WIDTH + 1) / 2; i++) {
            words[i] = Pair<T>::pack(values[2 * i], 2 * i + 1 < WIDTH ? values[2 * i + 1] : 0.0f);
            const float2 pair = Pair<T>::unpack(words[i]);
            values[2 * i] = pair.x;
            if (2 * i + 1 < WIDTH) values[2 * i + 1] = pair.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < WIDTH; i++) words[i] = __float_as_uint(values[i]);
    }
#pragma unroll
    for (int i = 0; i < WORDS; i += 4)
        reinterpret_cast<uint4 *>(to)[i / 4] = make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
}

__device__ __forceinline__ void store_warp_sum(float value, double *to)
{
    double total = value;
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) total += __shfl_xor_sync(~0u, total, step);
    if (threadIdx.x % 32 == 0) *to = total;
}

// Sums over voxels of a thread: values times slopes, slopes, gradients.
template <int WIDTH> struct OwnSums {
    float weight[WIDTH][WIDTH], bias[WIDTH], gradient[WIDTH];

    __device__ __forceinline__ OwnSums() : weight{}, bias{}, gradient{}
    {
    }

    __device__ __forceinline__ void add(const float (&x)[WIDTH], const float (&slope)[WIDTH], const float (&g)[WIDTH])
    {
#pragma unroll
        for (int o = 0; o < WIDTH; o++) {
#pragma unroll
            for (int c = 0; c < WIDTH; c++) weight[c][o] = fmaf(x[c], slope[o], weight[c][o]);
            bias[o] += slope[o];
            gradient[o] += g[o];
        }
    }

    // Those of a warp together, each to its place behind the single ones.
    __device__ __forceinline__ void store(int classes, double *to) const
    {
#pragma unroll
        for (int o = 0; o < WIDTH; o++) {
            if (o >= classes) break;
#pragma unroll
            for (int c = 0; c < WIDTH; c++)
                if (c < classes) store_warp_sum(weight[c][o], to + c * classes + o);
            store_warp_sum(bias[o], to + classes * classes + o);
            store_warp_sum(gradient[o], to + classes * (classes + 1) + o);
        }
    }
};

#endif
