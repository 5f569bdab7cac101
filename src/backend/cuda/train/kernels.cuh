// The kernels that only training needs: gradients, and the layers whose forward pass keeps more than prediction's does.
// Tensors are (example, depth, height, width, channel); T is __half, __nv_bfloat16, or float for the path of checks.
// All sums run in a fixed order: partial sums of fixed parts, then the parts in order.
#ifndef CRD_CUDA_TRAIN_KERNELS_CUH
#define CRD_CUDA_TRAIN_KERNELS_CUH

#include "backend/cuda/kernels/conv.cuh"

// ---- One channel in, or one channel out (single.cu) ----

// y[v][c] = sum over taps of s[v + tap] * kernel[tap][c]. Forward (values NULL): plus bias, ReLU, and the sums of y and
// y^2. Gradient of the head's input: taps mirrored, and the sums of y and y * values.
struct SpreadArguments {
    const float *s;      // [examples][voxels]
    const float *kernel; // [examples][27][channels], `kernel_stride` apart
    long kernel_stride;
    const float *bias; // [channels], forward only
    const void *values;
    void *y;
    float2 *partial; // [examples][spread_tiles][channels]
    int channels;
    Extent size;
};
template <typename T> int spread_tiles(const Extent &size);
template <typename T> crd_status spread_launch(const SpreadArguments &arguments, int examples, cudaStream_t stream);

// out[slot][tap][c] = sum over a part of the voxels of s[v + tap] * t[v][c]. Returns through reduce_launch.
struct CorrelateArguments {
    const float *s; // [examples][voxels]
    const void *t;  // [examples][voxels][channels]
    float *partial; // [examples][correlate_slots][27][channels]
    int channels;
    Extent size;
};
template <typename T> int correlate_slots(const Extent &size);
template <typename T>
crd_status correlate_launch(const CorrelateArguments &arguments, int examples, cudaStream_t stream);

// ---- The head with its loss (head.cu) ----

enum LossSum { LOSS_BCE, LOSS_LABELLED, LOSS_WEIGHT, LOSS_BIAS, LOSS_CORRECT, LOSS_VALUE, LOSS_GRADIENT, LOSS_SUMS };
struct LossArguments {
    HeadArguments head;   // probability and inverse_temperature are not used
    const uint8_t *label; // [examples][voxels]
    const float *scale;   // of the gradients, on the device
    float *gradient;      // [examples][voxels] of the spatial convolution before its ReLU; NULL: none, and no scale
    double *partial;      // [examples][loss_tiles][LOSS_SUMS]
};
template <typename T> int loss_tiles(const Extent &size);
template <typename T> crd_status loss_launch(const LossArguments &arguments, int examples, cudaStream_t stream);
// result: [examples][LOSS_SUMS]. With gradients, those of the last layer go where the others are, and `total`,
// [examples], takes the sum of `gradient` above.
struct LossSumArguments {
    const double *partial;
    int tiles;
    const float *scale;
    double *result;
    float *dweight, *dbias, *total; // NULL: no gradients
    long gradient_stride;
};
crd_status loss_sum_launch(const LossSumArguments &arguments, int examples, cudaStream_t stream);

// ---- More than two classes (softmax.cu) ----

struct SoftmaxLossArguments {
    const void *y;      // [examples][voxels][HEAD_WIDTH] (kernels/softmax.cuh): the spatial convolution after its ReLU
    const float *point; // [examples]: weights [in][out] and biases of the last layer, `point_stride` floats apart
    long point_stride;
    int classes;
    const uint8_t *label; // [examples][voxels]
    const float *scale;   // of the gradients, on the device
    void *gradient;       // as y, before the ReLU; NULL: none, and no scale
    double *partial;      // [examples][softmax_loss_tiles][softmax_sums] (softmax_loss.cuh)
    Extent size;
};
int softmax_loss_tiles(const Extent &size);
template <typename T>
crd_status softmax_loss_launch(const SoftmaxLossArguments &arguments, int examples, cudaStream_t stream);
// As LossSumArguments; totals: [examples][HEAD_WIDTH], the sums of `gradient` above.
struct SoftmaxSumArguments {
    const double *partial;
    int tiles, classes;
    const float *scale;
    double *result;
    float *dweight, *dbias, *totals; // NULL: no gradients
    long gradient_stride;
};
crd_status softmax_sum_launch(const SoftmaxSumArguments &arguments, int examples, cudaStream_t stream);

// From the gradients of a padded kernel [examples][rows][HEAD_WIDTH] and bias [examples][HEAD_WIDTH] to the layer's.
struct UnpadArguments {
    const float *padded, *padded_bias;
    int rows, classes;
    float *kernel, *bias; // `gradient_stride` apart
    long gradient_stride;
};
crd_status unpad_launch(const UnpadArguments &arguments, int examples, cudaStream_t stream);

// ---- Norms backward (norm.cu) ----

// From the sums of g and g * y to the coefficients of the gradient before the norm: a * g + b * y + c.
struct NormBackArguments {
    const float2 *partial; // [examples][tiles][channels]
    int tiles, channels, groups;
    double voxels;
    const double *sums; // of the forward pass, [examples][2][channels]
    const float *gamma;
    const float *mask; // the dropout between the norm and its consumers, or NULL
    long mask_stride;
    float *dgamma, *dbeta; // [examples], `gradient_stride` apart
    long gradient_stride;
    float *coefficients; // [examples][3][channels]
};
crd_status norm_back_launch(const NormBackArguments &arguments, int examples, cudaStream_t stream);

// The same through the merge norm, and for the upper half through its own norm as well.
struct MergeBackArguments {
    const float2 *skip_partial, *up_partial;
    int tiles, half, groups;
    double voxels;
    const double *skip_sums, *up_sums;                          // [examples][2][half]
    const float *skip_scale, *skip_shift, *up_scale, *up_shift; // [examples][half], without masks
    const float *merge_gamma, *up_gamma;
    float *merge_dgamma, *merge_dbeta, *up_dgamma, *up_dbeta;
    long gradient_stride;
    float *skip_coefficients, *up_coefficients; // [examples][3][half]
};
crd_status merge_back_launch(const MergeBackArguments &arguments, int examples, cudaStream_t stream);

// Many tiles' partial sums become those of FEW_TILES parts: one block could not add thousands in good time. `room`
// takes [examples][FEW_TILES][channels]; where there are few enough already, nothing happens.
enum { FEW_TILES = 32 };
crd_status few_tiles(const float2 **partial, int *tiles, int channels, float2 *room, int examples, cudaStream_t stream);

// ---- Passes over voxels (voxels.cu) ----

// g = a * g + b * y + c, zero where y <= 0; totals: [examples][apply_tiles][channels] of what g becomes.
struct ApplyArguments {
    void *g;
    const void *y;
    const float *coefficients; // [examples][3][channels]
    float *totals;
    int channels;
    long voxels;
};
template <typename T> int apply_tiles(long voxels, int channels);
template <typename T> crd_status apply_launch(const ApplyArguments &arguments, int examples, cudaStream_t stream);

// y = max over 2x2x2 of scale * x + shift; `size` is y's.
struct PoolArguments {
    const void *x;
    const float *scale, *shift; // [examples][channels]
    void *y;
    int channels;
    Extent size;
};
template <typename T> crd_status pool_train_launch(const PoolArguments &arguments, int examples, cudaStream_t stream);

// g = a * g + b * x + c, plus dy at the first maximum of each 2x2x2: the gradient of an encoder level's output from the
// skip's share and the pooling's. partial: the sums of g and g * x.
struct PoolBackArguments {
    PoolArguments pool;        // y is the gradient of the pooled tensor
    void *g;                   // [examples][voxels of x][channels]
    const float *coefficients; // [examples][3][channels]
    float2 *partial;           // [examples][pool_back_tiles][channels]
};
template <typename T> int pool_back_tiles(const Extent &size, int channels);
template <typename T>
crd_status pool_back_launch(const PoolBackArguments &arguments, int examples, cudaStream_t stream);

// Sums of g by border class, for the gradient of what folding made of a shift.
enum { BORDER_PARTS = 8 };
struct BorderArguments {
    const void *g;
    int channels;
    Extent size;
    float *partial; // [examples][BORDER_CLASSES][BORDER_PARTS][channels]
};
template <typename T> crd_status border_launch(const BorderArguments &arguments, int examples, cudaStream_t stream);

// tap_sums: [examples][taps][channels], the sum of g over the voxels for which a tap reads inside; dbias: that over
// all.
struct TapSumArguments {
    const float *border; // of border_launch
    const float *totals; // of apply_launch: [examples][tiles][channels]
    int tiles, channels, edge;
    Extent size;
    double *everything; // scratch, [examples][channels]
    float *tap_sums, *dbias;
    long gradient_stride; // of dbias
};
crd_status tap_sum_launch(const TapSumArguments &arguments, int examples, cudaStream_t stream);

// ---- Kernel gradients (kernel_gradient.cu, reduce.cu) ----

// out[slot][27][a's channels][b's channels] = sum over a part of b's voxels v of a[stride * v + tap - 1] * b[v]. Stride
// 1: a is a layer's input, b the gradient of its output. Stride 2: an up layer, a the gradient at high resolution, b
// its input.
struct KernelArguments {
    ConvInput a[2];
    ConvInput b;
    float *partial; // [examples][kernel_slots][27][a][b]
    Extent size;    // of b
};
// Does not depend on the number of examples: an example's gradient has the same bits in any company.
template <typename T, int STRIDE> int kernel_slots(const Extent &size, int a, int b);
template <typename T, int STRIDE>
crd_status kernel_gradient_launch(const KernelArguments &arguments, int examples, cudaStream_t stream);

// From the slots to the gradient of a layer's kernel, with the input's scale and shift unfolded.
enum ReduceKind { REDUCE_CONV, REDUCE_UP, REDUCE_MIRRORED /* of correlate_launch on the head */ };
struct ReduceArguments {
    const float *partial;
    int slots, in, out;         // of the layer
    const float *scale, *shift; // [examples][in], NULL: none
    const float *tap_sums;      // [examples][taps][out]
    float *gradient;            // [examples][taps][in][out], `gradient_stride` apart
    long gradient_stride;
};
crd_status reduce_launch(ReduceKind kind, const ReduceArguments &arguments, int examples, cudaStream_t stream);

// ---- Data gradient of up layers (up.cu) ----

struct UpBackArguments {
    const void *dy;      // high resolution, [examples][voxels][out]
    const float *kernel; // [examples][8][in][out], `kernel_stride` apart
    long kernel_stride;
    void *packed;       // [examples] * up_back_packed bytes, of up_back_pack_launch
    const void *values; // low resolution, of the layer whose gradient this is
    void *dx;           // [examples][voxels][in]
    float2 *partial;    // [examples][up_back_tiles][in]
    int in, out;
    Extent low;
};
template <typename T> int64_t up_back_packed(int in, int out); // 0: the kernel is taken as it is
// Needs kernel, packed, in and out alone.
template <typename T>
crd_status up_back_pack_launch(const UpBackArguments &arguments, int examples, cudaStream_t stream);
template <typename T> int up_back_tiles(const Extent &low);
template <typename T> crd_status up_back_launch(const UpBackArguments &arguments, int examples, cudaStream_t stream);

// The kernel of a 3x3x3 layer's data gradient for input channels [first, first + count): taps mirrored, channels
// swapped.
struct FlipArguments {
    const float *kernel; // [examples][27][in][out]
    long kernel_stride;
    int in, out, first, count;
    float *flipped; // [examples][27][out][count]
};
crd_status flip_launch(const FlipArguments &arguments, int examples, cudaStream_t stream);

// ---- Small helpers of these kernels ----

__device__ __forceinline__ void load_transposed(uint32_t (&a)[4], uint32_t shared_address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address));
}

// Channels that a thread of a pass over voxels takes at once: 16 bytes in half precision.
template <typename T> constexpr int CHANNELS_AT_ONCE = sizeof(T) == 2 ? 8 : 1;

template <typename T> __device__ __forceinline__ void load_channels(const T *from, float (&to)[CHANNELS_AT_ONCE<T>])
{
    if constexpr (sizeof(T) == 2) {
        const uint4 bits = *reinterpret_cast<const uint4 *>(from);
        const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float2 pair = Pair<T>::unpack(words[i]);
            to[2 * i] = pair.x;
            to[2 * i + 1] = pair.y;
        }
    } else {
        to[0] = *from;
    }
}

// Rounds `from` to what is stored.
template <typename T> __device__ __forceinline__ void store_channels(float (&from)[CHANNELS_AT_ONCE<T>], T *to)
{
    if constexpr (sizeof(T) == 2) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            words[i] = Pair<T>::pack(from[2 * i], from[2 * i + 1]);
            const float2 pair = Pair<T>::unpack(words[i]);
            from[2 * i] = pair.x;
            from[2 * i + 1] = pair.y;
        }
        *reinterpret_cast<uint4 *>(to) = make_uint4(words[0], words[1], words[2], words[3]);
    } else {
        *to = from[0];
    }
}

#endif
