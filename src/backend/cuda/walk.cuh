// What prediction (predict/network.cuh) and training (train/network.cuh) share when they walk through the network's
// table.
#ifndef CRD_CUDA_WALK_CUH
#define CRD_CUDA_WALK_CUH

#include "backend/cuda/kernels/conv.cuh"
#include "backend/cuda/kernels/layers.cuh"

// A convolution's output for some samples, its sums, and scale and shift of its norm, with and without dropout.
template <typename T> struct Node {
    T *y;
    double *sums;
    float *scale, *shift, *plain_scale, *plain_shift;
};

inline FoldKind fold_kind(const crd_conv_layer &row)
{
    return row.kernel == 2 ? FOLD_UP : row.channels_out == 1 ? FOLD_HEAD : FOLD_CONV;
}

// A convolution with its kernels packed by fold_launch, on instructions that every GPU has. `size`: of what it gives.
template <typename T> struct Convolution {
    ConvInput x0, x1;
    const void *packed;
    const float *bias_classes;
    T *y;
    float2 *partial;
};
template <typename T>
crd_status walk_convolve(const crd_conv_layer &row, const Convolution<T> &c, const Extent &size, int count,
                         cudaStream_t stream)
{
    const uint4 *weights = static_cast<const uint4 *>(c.packed);
    const long stride = packed_count<T>(fold_kind(row), row.channels_in, row.channels_out);
    if (row.kernel == 2) {
        return up_launch<T>({c.x0, weights, stride, c.bias_classes, c.y, c.partial, row.channels_out, c.x0.whole},
                            count, stream);
    }
    return conv_launch<T>({{c.x0, c.x1}, weights, stride, c.bias_classes, c.y, c.partial, row.channels_out, size},
                          count, stream);
}

#endif
