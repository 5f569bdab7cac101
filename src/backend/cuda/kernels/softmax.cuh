// The head of a network with more than two classes. Its 3x3x3 convolution is one of kernels/conv.cuh, with as many
// output channels as a matrix instruction takes: those beyond the classes have no weights and stay zero. The 1x1x1
// convolution and the softmax follow in a pass over the voxels.
#ifndef CRD_CUDA_KERNELS_SOFTMAX_CUH
#define CRD_CUDA_KERNELS_SOFTMAX_CUH

#include "backend/cuda/common.cuh"

enum { HEAD_WIDTH = 16 };

// kernel [samples][rows][classes], `kernel_stride` apart, becomes padded [samples][rows][HEAD_WIDTH]; bias [classes]
// becomes padded_bias [HEAD_WIDTH].
struct PadArguments {
    const float *kernel;
    long kernel_stride;
    const float *bias;
    int rows, classes;
    float *padded, *padded_bias;
};
crd_status head_pad_launch(const PadArguments &arguments, int samples, cudaStream_t stream);

// Weights and biases of the 1x1x1 convolution: out [samples][classes * classes + classes].
crd_status points_launch(const float *kernel, long kernel_stride, const float *bias, int classes, float *out,
                         int samples, cudaStream_t stream);

struct SoftmaxArguments {
    const void *y;      // [samples][voxels][HEAD_WIDTH]: after the ReLU
    const float *point; // [samples]: weights [in][out] and biases, `point_stride` floats apart
    long point_stride;
    int classes;
    float inverse_temperature;
    float *probability; // [samples][classes][voxels], the samples `apart` times their values apart
    int apart;
    long voxels;
};
template <typename T> crd_status softmax_launch(const SoftmaxArguments &arguments, int samples, cudaStream_t stream);

// ---- What the kernels share: a voxel's first WIDTH channels, its logits and their powers ----

template <typename T, int WIDTH> __device__ __forceinline__ void load_head(const T *from, float (&to)[WIDTH])
{
    constexpr int PIECES = WIDTH * (int)sizeof(T) / 8; // of 8 bytes, to which every voxel's row is aligned
#pragma unroll
    for (int i = 0; i < PIECES; i++) {
        const uint2 bits = reinterpret_cast<const uint2 *>(from)[i];
        if constexpr (sizeof(T) == 2) {
            const float2 first = Pair<T>::unpack(bits.x), second = Pair<T>::unpack(bits.y);
            to[4 * i] = first.x;
            to[4 * i + 1] = first.y;
            to[4 * i + 2] = second.x;
            to[4 * i + 3] = second.y;
        } else {
            to[2 * i] = __uint_as_float(bits.x);
            to[2 * i + 1] = __uint_as_float(bits.y);
        }
    }
}

// Weights [WIDTH][WIDTH] and biases [WIDTH] in shared memory, zero beyond the classes.
template <int WIDTH> struct SharedPoint {
    float weight[WIDTH * WIDTH], bias[WIDTH];
    __device__ void load(const float *point, int classes)
    {
        for (int i = threadIdx.x; i < WIDTH * WIDTH; i += blockDim.x) {
            const int in = i / WIDTH, out = i % WIDTH;
            weight[i] = in < classes && out < classes ? point[in * classes + out] : 0.0f;
        }
        for (int i = threadIdx.x; i < WIDTH; i += blockDim.x)
            bias[i] = i < classes ? point[classes * classes + i] : 0.0f;
    }
};

template <int WIDTH> struct Softmax {
    float logit[WIDTH], power[WIDTH]; // exp(logit - largest); 0 beyond the classes
    float largest, sum, unsound;      // unsound: 0, or NaN where a logit isn't finite
    int best;                         // the first largest

    __device__ __forceinline__ Softmax(const SharedPoint<WIDTH> &point, const float (&x)[WIDTH], int classes,
                                       float heat)
    {
        unsound = 0.0f;
#pragma unroll
        for (int o = 0; o < WIDTH; o++) {
            float total = point.bias[o];
#pragma unroll
            for (int c = 0; c < WIDTH; c++) total = fmaf(x[c], point.weight[c * WIDTH + o], total);
            logit[o] = total * heat;
            unsound = fmaf(logit[o], 0.0f, unsound);
        }
        largest = logit[0];
        best = 0;
#pragma unroll
        for (int o = 1; o < WIDTH; o++)
            if (o < classes && logit[o] > largest) {
                largest = logit[o];
                best = o;
            }
        sum = 0.0f;
#pragma unroll
        for (int o = 0; o < WIDTH; o++) {
            power[o] = o < classes ? expf(logit[o] - largest) : 0.0f;
            sum += power[o];
        }
    }
};

#endif
