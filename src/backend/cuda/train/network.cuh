// The network of some examples at once, forward and backward: what net/engine_forward.c and net/engine_backward.c do on
// the CPU. Every example has weights of its own, in the point layout.
#ifndef CRD_CUDA_TRAIN_NETWORK_CUH
#define CRD_CUDA_TRAIN_NETWORK_CUH

#include "backend/cuda/arena.cuh"
#include "backend/cuda/hopper/hopper.cuh"
#include "backend/cuda/hopper/kernel_gradient.cuh"
#include "backend/cuda/kernels/softmax.cuh"
#include "backend/cuda/train/kernels.cuh"
#include "backend/cuda/walk.cuh"

template <typename T> struct TrainNet {
    const crd_net *net;
    int together;                    // examples that there is room for
    bool hopper = false;             // whether the kernels for this very GPU may be used (hopper/)
    Extent size[CRD_LEVELS_MAX + 1]; // of each level, from 1 on
    // Gradients of kernels and biases depend on what the way back makes, but not the other way round. They are
    // branches: `side` makes products of tensors, and before that packs weights for the way back; `sums` adds up
    // gradients.
    cudaStream_t stream = nullptr, side = nullptr, adding = nullptr;
    cudaEvent_t fork = nullptr, added = nullptr, join = nullptr;

    float *point, *point_gradient, *masks, *signs; // [together][...]
    Node<T> nodes[CRD_LAYERS_MAX];
    T *gradient[CRD_LAYERS_MAX]; // of what a layer's consumers saw of it, then of the convolution's result
    T *pooled[CRD_LAYERS_MAX], *pooled_gradient[CRD_LAYERS_MAX]; // what a layer that pools reads
    float *merge_scale[CRD_MERGES_MAX], *merge_shift[CRD_MERGES_MAX], *skip_coefficients[CRD_MERGES_MAX];
    float *head_gradient;
    float *head_kernel, *head_bias, *head_dkernel, *head_dbias, *head_totals; // of many classes: padded
    double *loss_partial, *loss_result;                                       // result: [together][LOSS_SUMS]

    float *tap_sums[CRD_LAYERS_MAX]; // of a layer's gradient: [together][taps][channels]
    float *totals[CRD_LAYERS_MAX];   // of a layer's gradient: [together][apply_tiles][channels]
    void *packed_back[CRD_LAYERS_MAX]
                     [2]; // a layer's kernel for the gradients of what it read: of its skip, of its source

    // Scratch of the operation at work.
    void *packed;
    float2 *partial, *up_partial, *few, *up_few;
    float *bias_classes, *tap_shift, *coefficients, *loss_total;
    // The same of the branches.
    float *kernel_partial, *flipped, *border;
    double *everything;

    static constexpr bool PLAIN = sizeof(T) == 4;

    crd_status open();
    void close();
    void describe(const crd_net *network, const int64_t chunk[3], int64_t examples, bool use_hopper);
    void lay_out(Arena &arena, int64_t sign_count);

    // More than two classes: the head is as wide as a matrix instruction (kernels/softmax.cuh).
    bool wide() const
    {
        return net->classes > 2;
    }
    crd_conv_layer row_of(int layer) const
    {
        crd_conv_layer row = net->layers[layer];
        if (layer == net->head && wide()) row.channels_out = HEAD_WIDTH;
        return row;
    }
    int head_rows() const
    {
        return 27 * net->layers[net->head].channels_in;
    }
    long voxels(int level) const
    {
        return size[level].voxels();
    }
    int channels(int layer) const
    {
        return net->layers[layer].channels_out;
    }
    const float *weights(int64_t offset) const
    {
        return point + offset;
    }
    float *dweights(int64_t offset) const
    {
        return point_gradient + offset;
    }
    long stride() const
    {
        return (long)net->point.total;
    } // between the examples' weights
    ConvInput input_of(const T *data, int level, int count) const
    {
        return {data, voxels(level) * count, count, size[level], {}};
    }
    ConvInput output_of(int layer) const
    {
        return input_of(nodes[layer].y, net->layers[layer].level, channels(layer));
    }
    const float *mask_of(int layer, bool dropout) const
    {
        const int site = net->layers[layer].mask;
        return dropout && site != CRD_NONE ? masks + net->mask_offset[site] : nullptr;
    }

    // Losses of n examples; input [n][voxels], label [n][voxels]. `scale`, on the device, multiplies all gradients: the
    // head's is kept, and backward() goes on from it. NULL: no gradients.
    crd_status forward(const float *input, const uint8_t *label, bool dropout, const float *scale, int n);
    // Fills point_gradient.
    crd_status backward(const float *input, bool dropout, int n);

  private:
    struct Inputs { // scale * [x0, x1] + shift is what a layer's convolution sees
        ConvInput x0, x1;
        const float *scale, *shift;
    };
    Inputs inputs_of(int layer) const;
    bool own_kernel(int layer) const;
    bool own_back(int layer, bool source) const;
    int64_t packed_bytes(int layer) const;
    int forward_tiles(int layer) const;
    int back_tiles(int layer, bool source) const;
    // Of a 3x3x3 kernel's gradient.
    int slots_of(const Extent &e, int in, int out) const
    {
        return hopper ? hopper_kernel_slots(e, in, out) : kernel_slots<T, 1>(e, in, out);
    }
    crd_status correlate_all(const KernelArguments &arguments, int n);
    void take_node(Arena &arena, int layer);
    void take_scratch(Arena &arena);
    void take_wide_head(Arena &arena);

    crd_status fold(int layer, const float *scale, const float *shift, int n);
    crd_status convolve(int layer, const Inputs &in, int n);
    bool own_wide_head() const;
    int loss_rows() const; // of loss_partial
    crd_status loss(const uint8_t *label, const float *scale, int n);
    crd_status normalise(int layer, const float *dropout_mask, int n);
    crd_status merge(const crd_conv_layer &row, int n);
    crd_status run(int layer, const float *input, bool dropout, int n);

    crd_status through_norm(int layer, int tiles, const float *dropout_mask, int n);
    crd_status through_merge(int layer, int n);
    crd_status bias_gradient(int layer, const void *g, bool single, int n);
    crd_status first_kernel_gradient(int layer, const float *input, int n);
    crd_status kernel_gradient(int layer, int n);
    // Of the channels that a layer reads: its skip's, and how many are of its source, or of its skip.
    int share_of(int layer) const;
    int count_of(int layer, bool source) const;
    int64_t back_bytes(int layer, bool source) const;
    crd_status pack_back(int n);
    crd_status pack_flipped(int layer, bool source, const float *kernel, long kernel_stride, int n);
    crd_status branch();
    crd_status note_sums();
    crd_status rejoin();
    crd_status data_gradient(int layer, bool source, const T *values, float2 *sums, T *dx, int n);
    crd_status input_gradients(int layer, int *tiles, int n);
    crd_status head_back(int n);
    crd_status wide_loss(const uint8_t *label, const float *scale, int n);
    crd_status wide_head(const uint8_t *label, const float *scale, int n);
    crd_status wide_head_back(int n);
};

#endif
