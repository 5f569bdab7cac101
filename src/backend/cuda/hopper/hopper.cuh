// Kernels for compute capability 9.0, with instructions that no other GPU has. They take what those of kernels/conv.cuh
// take, with weights packed their own way (hopper_fold_launch) and the bias not yet spread over border classes; a shape
// they don't know is left to the others.
#ifndef CRD_CUDA_HOPPER_HOPPER_CUH
#define CRD_CUDA_HOPPER_HOPPER_CUH

#include "backend/cuda/kernels/conv.cuh"
#include "backend/cuda/kernels/layers.cuh"

struct HopperArguments {
    ConvInput x[2];         // up: of half the size; a stride is 0 or a whole tensor
    const void *weights;    // [samples], hopper_packed_bytes apart
    const float *bias;      // [out], the same for all samples
    const float *tap_shift; // [samples][taps][out], or NULL: what each tap adds to the bias inside the volume
    void *y;
    float2 *partial; // [samples][rows][columns]: sum and sum of squares over `piece` neighbouring channels
    int out;
    Extent size;    // of the output
    Open open = {}; // sides on which the inputs go on beyond the output
    // Training: every channel has sums of its own, as always in `up`.
    bool sums_by_channel = false;
    // And where this is not NULL, y is a gradient: see ConvArguments. There is one input, and no bias.
    const void *values = nullptr;
};

// The up kernel's weights come in blocks of 48 columns, one for each parity that an offset feeds; the head's as one
// product for each of ten input rows and three columns of the kernel, that of many classes for each of six rows.
enum { HOPPER_UP_BLOCKS = 4 + 3 + 2 + 1, HOPPER_HEAD_PRODUCTS = 30, HOPPER_SOFTMAX_PRODUCTS = 18 };

// Rows of `partial` per sample, and over how many channels each of its entries goes.
struct HopperSums {
    int rows, piece;
};

// Whether there is a kernel for it, norms of that many groups included.
bool hopper_has(FoldKind kind, int in0, int in1, int out, int groups);
int conv_sum_rows(const Extent &size, int in0, int in1);
int up_sum_rows(const Extent &size);
// The same in training, where a volume is divided further.
int conv_training_rows(const Extent &size, int in0, int in1, int out);
int up_training_rows(const Extent &size, int out);
HopperSums hopper_sums(FoldKind kind, int in0, int in1, int out, const Extent &size);
template <typename T> crd_status hopper_conv_launch(const HopperArguments &arguments, int samples, cudaStream_t stream);
template <typename T> crd_status hopper_up_launch(const HopperArguments &arguments, int samples, cudaStream_t stream);

struct HopperHeadArguments {
    HopperArguments conv; // without y, partial; out = 1
    const float *point;   // as in HeadArguments
    long point_stride;
    float inverse_temperature;
    float *probability;
    int apart;
};
template <typename T>
crd_status hopper_head_launch(const HopperHeadArguments &arguments, int samples, cudaStream_t stream);

// The head with its loss, in training: LossArguments (train/kernels.cuh) say what is what.
struct HopperLossArguments {
    HopperArguments conv; // as above
    const float *point;
    long point_stride;
    const uint8_t *label;
    const float *scale;
    float *gradient;
    double *partial; // [examples][hopper_loss_rows][LOSS_SUMS]
};
int hopper_loss_rows(const Extent &size);
template <typename T>
crd_status hopper_loss_launch(const HopperLossArguments &arguments, int examples, cudaStream_t stream);

// The head of more than two classes. Its kernel and bias are padded to HEAD_WIDTH channels (kernels/softmax.cuh).
struct HopperSoftmaxArguments {
    HopperArguments conv; // without y, partial; out = HEAD_WIDTH
    const float *point;   // as in SoftmaxArguments
    long point_stride;
    int classes;
    float inverse_temperature;
    float *probability;
    int apart;
};
bool hopper_softmax_has(int in, int classes);
// Classes that its kernel computes: as many, or more.
int hopper_softmax_width(int classes);
// Columns of its matrix product: those of four threads, each with an even number.
constexpr int softmax_columns(int width)
{
    return (3 * width + 1) / 2 * 8;
}
long hopper_softmax_packed_bytes(int classes);
template <typename T>
crd_status hopper_softmax_fold_launch(const FoldArguments &arguments, int classes, int samples, cudaStream_t stream);
template <typename T>
crd_status hopper_softmax_launch(const HopperSoftmaxArguments &arguments, int samples, cudaStream_t stream);

// The same with its loss, in training: SoftmaxLossArguments (train/kernels.cuh) say what is what. For up to four
// classes: of more, a thread has no room for the sums.
struct HopperSoftmaxLossArguments {
    HopperArguments conv; // as above
    const float *point;
    long point_stride;
    int classes;
    const uint8_t *label;
    const float *scale;
    void *gradient;
    double *partial; // [examples][hopper_softmax_loss_rows][softmax_sums]
};
bool hopper_softmax_loss_has(int in, int classes);
int hopper_softmax_loss_rows(const Extent &size);
template <typename T>
crd_status hopper_softmax_loss_launch(const HopperSoftmaxLossArguments &arguments, int examples, cudaStream_t stream);

// Output channels that one block of the convolution makes: they are packed together.
int hopper_slice(int in0, int in1, int out);
long hopper_packed_bytes(FoldKind kind, int in, int out);
// Packs the folded kernels and makes tap_shift; bias_classes is not touched. packed_stride is taken as the bytes above.
template <typename T>
crd_status hopper_fold_launch(FoldKind kind, const FoldArguments &arguments, int slice, int samples,
                              cudaStream_t stream);

#endif
