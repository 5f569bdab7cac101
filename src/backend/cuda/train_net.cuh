// The network of some examples at once, forward and backward: what net/engine_forward.c and net/engine_backward.c do on
// the CPU. Every example has weights of its own, in the point layout.
#ifndef CRD_CUDA_TRAIN_NET_CUH
#define CRD_CUDA_TRAIN_NET_CUH

#include "backend/cuda/arena.cuh"
#include "backend/cuda/train.cuh"
#include "backend/cuda/walk.cuh"

enum { P = 0, Q = 1, R = 2 /* the gradients of a level, as in net/engine_backward.c */ };

template <typename T> struct TrainNet {
    const crd_net *net;
    int together; // examples that there is room for
    Extent size[LEVELS + 1];
    cudaStream_t stream = nullptr;

    float *point, *point_gradient, *masks, *signs; // [together][...]
    Node<T> nodes[CRD_CONV_COUNT];
    T *pooled[LEVELS + 1], *pooled_gradient[LEVELS + 1], *gradient[LEVELS + 1][3];
    float *merge_scale[CRD_MERGE_COUNT], *merge_shift[CRD_MERGE_COUNT];
    float *skip_coefficients[LEVELS + 1];
    float *head_gradient;
    double *loss_partial, *loss_result; // result: [together][LOSS_SUMS]

    // Scratch of the operation at work.
    void *packed;
    float2 *partial, *up_partial, *few, *up_few;
    float *bias_classes, *tap_shift, *kernel_partial, *flipped, *coefficients, *totals, *border, *tap_sums, *loss_total;
    double *everything;

    static constexpr bool PLAIN = sizeof(T) == 4;

    void describe(const crd_net *network, const int64_t chunk[3], int64_t examples);
    void lay_out(Arena &arena, int64_t sign_count);

    long voxels(int level) const
    {
        return size[level].voxels();
    }
    int channels(int layer) const
    {
        return net->layers[layer].channels_out;
    }
    static int encoder_a(int level)
    {
        return CRD_E1A + (level - 1) * 2;
    }
    static int stage_up(int level)
    {
        return CRD_D3UP + (3 - level) * 3;
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
        return {data, voxels(level) * count, count};
    }
    const float *mask(bool dropout, int site) const
    {
        return dropout ? masks + net->mask_offset[site] : nullptr;
    }

    // Probabilities' losses of n examples; input [n][voxels], label [n][voxels]. `scale` multiplies all gradients; with
    // `backward` the head's gradient is kept, and back() goes on from it.
    crd_status forward(const float *input, const uint8_t *label, bool dropout, float scale, bool with_gradient, int n);
    // Fills point_gradient.
    crd_status backward(const float *input, bool dropout, int n);

  private:
    int forward_tiles(int layer) const;
    void take_node(Arena &arena, int layer);
    void take_scratch(Arena &arena);

    crd_status fold(int layer, const float *scale, const float *shift, int n);
    crd_status normalise(int layer, const float *dropout_mask, int n);
    crd_status convolve(int layer, ConvInput x0, ConvInput x1, const float *scale, const float *shift,
                        const float *dropout_mask, int n);
    crd_status encode(const float *input, const float *latent_mask, int n);
    crd_status merge(int level, int n);
    crd_status decode(bool dropout, int n);

    crd_status through_norm(int layer, const float2 *sums, int tiles, const float *dropout_mask, T *g, int n);
    crd_status through_merge(int level, int n);
    crd_status bias_gradient(int layer, const void *g, bool single, int n);
    crd_status kernel_gradient(int layer, ConvInput x0, ConvInput x1, const float *scale, const float *shift,
                               const T *dy, int n);
    crd_status data_gradient(int layer, const T *dy, int first, int count, const T *values, float2 *sums, T *dx, int n);
    crd_status head_back(int n);
    crd_status decoder_stage(int level, bool dropout, int n);
    crd_status encoder_level(int level, const float *input, const float *dropout_mask, const float2 *sums, int tiles,
                             T *g, T *spare, int n);
    int gradient_tiles(int level, int count) const;
};

#endif
