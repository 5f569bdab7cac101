// Convolutions of the network on matrix instructions that every GPU from compute capability 8.0 on has.
//
// Tensors are (sample, depth, height, width, channel), channels a multiple of 16, without halo. A block makes a tile of
// output voxels; the 16 voxels of a matrix row block are two rows of eight, and a warp owns the same sixteen in all
// planes of the tile: an input plane, once in registers, serves three output planes. Weights come packed in the order
// in which lanes need them (fold.cu). The sums that the next norm needs leave per tile, and are added in order later.
#ifndef CRD_CUDA_KERNELS_CONV_CUH
#define CRD_CUDA_KERNELS_CONV_CUH

#include "backend/cuda/common.cuh"

// What an output reads may be a part of a larger tensor. Outside the tensor is zero.
struct ConvInput {
    const void *data;
    long stride;  // elements between samples; 0: all samples share it
    int channels; // 0: no such input
    Extent whole; // of the tensor
    Place at;     // where the output's first voxel lies in it; 0, 0, 0 for an `up`
};

struct ConvArguments {
    ConvInput x[2];
    const uint4 *weights; // [samples][out / 16][in / 16][27][32]
    long weights_stride;
    const float *bias; // [samples][BORDER_CLASSES][out]
    void *y;           // [samples][voxels][out]
    float2 *partial;   // [samples][tiles][out]: sum and sum of squares
    int out;
    Extent size; // of the output
    // Training: where this is not NULL, y is the gradient of a layer's output, and these are that layer's values. Then
    // there is no ReLU, and `partial` has the sums of y and of y * values.
    const void *values = nullptr;
};

// Tiles that a launch of that many output channels divides the volume into: the rows of `partial`.
int conv_tiles(const Extent &size, int out);
template <typename T> crd_status conv_launch(const ConvArguments &arguments, int samples, cudaStream_t stream);

struct UpArguments {
    ConvInput x;          // low resolution
    const uint4 *weights; // [samples][out / 16][in / 16][27][32]: 27 = taps of all eight parities
    long weights_stride;
    const float *bias;
    void *y;
    float2 *partial;
    int out;
    Extent low; // of the input; the output has twice its edges
};
int up_tiles(const Extent &low);
template <typename T> crd_status up_launch(const UpArguments &arguments, int samples, cudaStream_t stream);

struct HeadArguments {
    ConvInput x;
    const uint2 *weights; // [samples][in / 16][9][32]
    long weights_stride;
    const float *bias;  // [samples][BORDER_CLASSES]
    const float *point; // [samples]: weight and bias of the last 1x1x1 convolution, `point_stride` floats apart
    long point_stride;
    float inverse_temperature;
    float *probability; // [samples][voxels], the samples `apart` times their voxels apart
    int apart;
    Extent size;
};
// Tiles of the float32 path, whatever the convolution.
int plain_tiles(const Extent &size);
// Sums of y and of y * values (NULL: y) by those tiles.
crd_status plain_sums(const void *y, const void *values, float2 *partial, int channels, const Extent &size, int samples,
                      cudaStream_t stream);
template <> crd_status conv_launch<float>(const ConvArguments &arguments, int samples, cudaStream_t stream);
template <> crd_status up_launch<float>(const UpArguments &arguments, int samples, cudaStream_t stream);

template <typename T> crd_status head_launch(const HeadArguments &arguments, int samples, cudaStream_t stream);
template <> crd_status head_launch<float>(const HeadArguments &arguments, int samples, cudaStream_t stream);

#endif
