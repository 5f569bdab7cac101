// Everything around the convolutions: folding, norms, the first layer, pooling, draws, summaries. All are launched for
// some samples at once; pointers with a stride hold one set per sample.
#ifndef CRD_CUDA_KERNELS_LAYERS_CUH
#define CRD_CUDA_KERNELS_LAYERS_CUH

#include "backend/cuda/common.cuh"

enum FoldKind { FOLD_CONV, FOLD_UP, FOLD_HEAD };

// Scale and shift of the input folded into kernel and bias (net/fold.h says how), and the kernel packed as its
// convolution wants it. T = float: the folded kernel stays [taps][in][out].
struct FoldArguments {
    const float *kernel; // [samples]: `kernel_stride` apart
    long kernel_stride;
    const float *bias;          // [out], the same for all samples; NULL: bias_classes is not wanted
    const float *scale, *shift; // [samples][in], `affine_stride` apart; NULL: none
    long affine_stride;
    float *tap_shift;    // [samples][27][out]: what each tap adds where it reads inside; hopper/ wants that
    float *bias_classes; // [samples][BORDER_CLASSES][out]
    void *packed;        // [samples], `packed_stride` uint4s (uint2s, floats) apart
    long packed_stride;
    int in, out;
    Open open = {}; // sides on which the input goes on beyond the output
};
template <typename T>
crd_status fold_launch(FoldKind kind, const FoldArguments &arguments, int samples, cudaStream_t stream);
// uint4s (conv, up), uint2s (head) or floats (T = float) of one sample's packed kernel.
template <typename T> long packed_count(FoldKind kind, int in, int out);

// What norms are frozen at: [samples][groups], `stride` apart; NULL: they have the statistics of what they normalise.
struct Frozen {
    const crd_moments *moments = nullptr;
    long stride = 0;
};

// Channel sums from the tiles' partial sums, then scale and shift of the group norm. sums: [samples][2][channels /
// piece]; where the norm is frozen, nothing is summed.
struct NormArguments {
    const float2 *partial; // [samples][tiles][channels / piece]
    int tiles, channels, groups;
    double voxels;
    const float *gamma, *beta;
    const float *mask; // [samples][...], `mask_stride` apart, or NULL: multiplies scale and shift as consumers see them
    long mask_stride;
    double *sums;
    float *scale, *shift;             // [samples][channels]: with the mask
    float *plain_scale, *plain_shift; // without it
    int piece = 1;                    // neighbouring channels that share a sum; divides a group
    Frozen frozen = {};
};
crd_status norm_launch(const NormArguments &arguments, int samples, cudaStream_t stream);

// The merge norm over [skip, up].
struct MergeArguments {
    const double *skip_sums, *up_sums;    // [2][half]; [samples][2][half]
    const float *skip_scale, *skip_shift; // [half]
    const float *up_scale, *up_shift;     // [samples][half]
    const float *gamma, *beta;            // [2 half]
    float *scale, *shift;                 // [samples][2 half]: through both norms
    int half, groups;
    double voxels;
    bool own_skips = false; // the skip's sums, scales and shifts are one set per sample, too
    Frozen frozen = {};
};
crd_status merge_launch(const MergeArguments &arguments, int samples, cudaStream_t stream);

// The moments of each group over several pieces together, from their sums: of a layer, or of a skip and an up layer
// of as many channels, each seen through its own norm, which is the same for all pieces.
struct JoinArguments {
    const double *sums[2];                      // [pieces][2][columns]; the second may be NULL
    int columns;                                // of one layer's sums
    int channels, groups;                       // of the norm
    double voxels;                              // of a piece
    crd_moments *moments;                       // [groups]
    const float *scale[2] = {}, *shift[2] = {}; // [columns], or NULL: the values as they are
};
crd_status join_launch(const JoinArguments &arguments, int pieces, cudaStream_t stream);

// Scale and shift with a mask per sample, from those without: [samples][channels].
crd_status mask_launch(const float *plain_scale, const float *plain_shift, const float *mask, long mask_stride,
                       float *scale, float *shift, int channels, int samples, cudaStream_t stream);

// Weight and bias of the 1x1x1 convolution: out [samples][2].
crd_status point_launch(const float *kernel, long kernel_stride, const float *bias, float *out, int samples,
                        cudaStream_t stream);

// The first convolution, one channel in: y = relu(conv(x) + bias) and its partial sums.
struct FirstArguments {
    const float *x; // of that extent; y's first voxel lies there in it
    Extent whole;
    Place at;
    const float *kernel, *bias;
    void *y;
    float2 *partial;
    int out;
    Extent size; // of y
};
int first_tiles(const Extent &size);
template <typename T> crd_status first_launch(const FirstArguments &arguments, cudaStream_t stream);

// y = max over 2x2x2 of scale * x + shift.
struct PoolPartArguments {
    const void *x; // of that extent; the first voxel that counts lies there in it
    Extent whole;
    Place at;
    const float *scale, *shift;
    void *y;
    int channels;
    Extent size; // of y
};
template <typename T> crd_status pool_launch(const PoolPartArguments &arguments, cudaStream_t stream);

// One Bayesian layer's kernels: loc + sigma * eps, the same bits as on the CPU. kernels: [samples], `stride` apart; the
// samples' numbers are `apart`.
struct DrawArguments {
    const float *loc, *rho;
    float *kernels;
    long stride, count;
    uint64_t seed;
    uint32_t layer, first_sample, apart, example;
};
crd_status draw_launch(const DrawArguments &arguments, int samples, cudaStream_t stream);

// Mean, deviation and percentiles of every value over the samples, as multiples of 2^-24; which samples say so: with
// one plane those above one half, with several those in which the plane is the largest, the first of several; how many
// values aren't finite.
struct SummaryArguments {
    const float *samples; // [count][planes][voxels]
    int count, planes;
    long voxels;
    const double *percentiles;
    int percentile_count;
    uint32_t *rows;                // [2 + percentiles][planes][voxels]
    uint64_t *above;               // [(count + 63) / 64][planes][voxels]
    unsigned long long *nonfinite; // [2], zero before: values that aren't finite; `count` - the first sample with one

    __device__ __host__ long values() const
    {
        return planes * voxels;
    }
};
crd_status summary_launch(const SummaryArguments &arguments, cudaStream_t stream);
// samples: [count][planes][voxels]; out: [voxels], the mean of the samples' entropies in bits * 2^22. One plane is that
// of one of two classes.
crd_status entropy_launch(const float *samples, int count, int planes, long voxels, uint32_t *out, cudaStream_t stream);
// samples: [count][planes][voxels]; out: [probes][count][planes].
crd_status probe_launch(const float *samples, int count, int planes, long voxels, const int64_t *at, int64_t probes,
                        float *out, cudaStream_t stream);

#endif
