// One network on one GPU: its memory, and the order of its kernels. The encoder runs once per chunk; the decoder runs
// for `together` samples in one launch of each kernel. What happens around it, queues and copies, is predictor.cu's.
//
// Networks of an ensemble share all of that and take turns: `turn` says whose weights are at work, and its samples are
// those from number `turn` on, apart() apart.
//
// Or norms are measured (norms.cu): then `together` pieces are in one launch, of the encoder as of one sample's
// decoder, and every norm is frozen at its moments over all of them before the next layer runs. The head isn't run.
#ifndef CRD_CUDA_PREDICT_NETWORK_CUH
#define CRD_CUDA_PREDICT_NETWORK_CUH

#include "backend/cuda/arena.cuh"
#include "backend/cuda/kernels/softmax.cuh"
#include "backend/cuda/walk.cuh"
#include "net/crop.h"

// When the work of a layer ends: events recorded on the stream, for measuring.
struct LayerMark {
    int layer;
    cudaEvent_t event;
    std::unique_ptr<LayerMark> next;
};

template <typename T> struct Network {
    crd_predictor_plan plan;
    const crd_net *net;
    bool measuring;
    int64_t turn = 0;
    int64_t together, decoder;        // where it begins in the point layout
    crd_crop crop;                    // what each layer computes; the most of it until keep() is called
    bool hopper[CRD_LAYERS_MAX] = {}; // layers that have a kernel for this very GPU
    cudaStream_t stream = nullptr;
    std::unique_ptr<LayerMark> *marks = nullptr; // where the next one goes; NULL: nothing is measured

    float *weights, *draws, *masks, *samples, *merge_scale, *merge_shift, *tap_shift, *bias_classes, *points;
    float *head_kernel, *head_bias; // of many classes: padded
    T *head_y;
    void *packed;
    float2 *partial;
    crd_moments *moments; // [samples][crd_net_moments]: what norms are frozen at, or will be
    Node<T> nodes[CRD_LAYERS_MAX];
    T *pooled[CRD_LAYERS_MAX]; // what a layer that pools reads

    Network(const crd_predictor_plan &p, int64_t at_once, bool use_hopper, bool measure = false);

    bool stochastic() const
    {
        return plan.estimator != CRD_MEAN;
    }
    bool drawn() const
    {
        return stochastic() && net->kind == CRD_BCNN;
    }
    int64_t decoder_count() const
    {
        return net->point.total - decoder;
    }
    int64_t turns() const
    {
        return crd_plan_turns(&plan);
    }
    int64_t apart() const
    {
        return crd_plan_members(&plan);
    }
    // Samples of the network whose turn it is.
    int64_t own_samples() const
    {
        return (plan.samples - turn + apart() - 1) / apart();
    }

    // Voxels of a chunk, and of the part of it that is kept.
    int64_t chunk_voxels() const
    {
        return plan.chunk[0] * plan.chunk[1] * plan.chunk[2];
    }
    int64_t kept_voxels() const
    {
        return crop.keep.size[0] * crop.keep.size[1] * crop.keep.size[2];
    }

    // network.cu: memory and parameters. Call lay_out twice: to count, and with memory; both before keep.
    void lay_out(Arena &arena);
    void keep(const crd_box &box);
    crd_status upload_parameters();
    crd_status upload_masks(uint32_t example);
    // Kernels of `count` samples of the plan from `first` on, apart() apart; `to`: `stride` apart.
    crd_status draw(int64_t first, int64_t count, uint32_t example, float *to, int64_t stride);
    // All that are kept, of all networks.
    crd_status draw_all();

    // forward.cu: from a normalised chunk to the probabilities of `count` samples from `first` on; or, measuring, from
    // all pieces to the moments of norms: of the encoder's, and of the decoder's of sample `first`.
    crd_status encode(const float *chunk);
    crd_status decode(int64_t first, int count);

  private:
    struct Source {           // kernels of the samples at work
        const float *kernels; // point layout from `offset` on
        long stride;
        int64_t offset;
    };
    struct Affine { // of a layer's input; `stride` 0: shared by all samples
        const float *scale, *shift;
        long stride;
    };
    struct Sums { // of a layer: rows of partial, and channels that share an entry
        int rows, piece;
    };
    static constexpr bool PLAIN = sizeof(T) == 4;
    static Extent extent_of(const crd_box &box)
    {
        return {(int)box.size[0], (int)box.size[1], (int)box.size[2]};
    }
    Extent extent_of(int layer) const
    {
        return extent_of(crop.layers[layer]);
    }
    // Where the first voxel of a box lies in another.
    static Place place_of(const crd_box &box, const crd_box &in)
    {
        return {(int)(box.origin[0] - in.origin[0]), (int)(box.origin[1] - in.origin[1]),
                (int)(box.origin[2] - in.origin[2])};
    }
    Open open_of(int layer) const;
    const float *parameter(int64_t model_offset) const
    {
        return weights + turn * weights_each() + model_offset;
    }
    const float *point(int64_t point_offset) const
    {
        return weights + turn * weights_each() + net->model.total + point_offset;
    }
    // Model layout, then point layout of the means.
    int64_t weights_each() const
    {
        return net->model.total + net->point.total;
    }
    bool frozen() const
    {
        return plan.moments != nullptr || measuring;
    }
    // Whether one tensor of the layer serves all that is in a launch; else there are `together`.
    bool shared(int layer) const
    {
        return layer < net->decoder && !measuring;
    }
    int64_t room_of(int layer) const
    {
        return shared(layer) ? 1 : together;
    }
    long mask_stride() const
    {
        return measuring ? 0 : (long)(apart() * net->mask_total);
    }
    int64_t draws_kept() const
    {
        return measuring ? 1 : plan.draws_per_chunk ? together : plan.samples;
    }
    // More than two classes: the head is as wide as a matrix instruction (kernels/softmax.cuh).
    bool wide() const
    {
        return net->classes > 2;
    }
    // Its convolution has a pass of its own, which leaves all those channels.
    bool wide_alone() const
    {
        return wide() && !hopper[net->head];
    }
    crd_conv_layer row_of(int layer) const
    {
        crd_conv_layer row = net->layers[layer];
        if (layer == net->head && wide()) row.channels_out = HEAD_WIDTH;
        return row;
    }
    void inputs_of(int layer, int *in0, int *in1) const;
    int64_t packed_bytes(int layer) const;
    Sums sums_of(int layer) const;
    void take_node(Arena &arena, int layer, int64_t values, T *shared);
    crd_status upload_turn(int64_t number, float *means);
    void draw_masks(uint32_t example, float *out) const;
    const float *mask_of(int layer, int64_t first) const;
    ConvInput input_of(int layer, int reader) const;
    Affine affine_of(int layer) const;
    crd_moments *moments_of(int norm, int64_t sample) const
    {
        return moments + sample * crd_net_moments(net) + (int64_t)norm * net->groups;
    }
    Frozen frozen_at(int norm, int64_t first) const;
    crd_status mark(int layer);
    crd_status fold(int layer, const Source &source, const Affine &affine, int count);
    crd_status read_scan(int layer, const float *chunk);
    crd_status normalise(int layer, int64_t first, int count);
    crd_status convolve(int layer, const Source &source, ConvInput x0, ConvInput x1, const Affine &affine,
                        int64_t first, int count);
    crd_status merge(const crd_conv_layer &row, int64_t first, int count);
    crd_status run(int layer, const Source &source, int64_t first, int count);
    crd_status head(const Source &source, int64_t first, int count);
    crd_status wide_head(const Source &source, int64_t first, int count);
};

#endif
