#include "backend/cuda/predict/network.cuh"

#include <string.h>

#include "backend/cuda/hopper/hopper.cuh"
#include "base/random/philox.h"
#include "base/random/philox_inline.h"
#include "net/tensor_sharing.h"

// Channels of a layer's two inputs: one with a skip reads [skip, source].
template <typename T> void Network<T>::inputs_of(int layer, int *in0, int *in1) const
{
    const crd_conv_layer &row = net->layers[layer];
    *in0 = row.skip != CRD_NONE ? net->layers[row.skip].channels_out : row.channels_in;
    *in1 = row.channels_in - *in0;
}

template <typename T>
Network<T>::Network(const crd_predictor_plan &p, int64_t at_once, bool use_hopper, bool measure)
    : plan(p), net(p.net), measuring(measure), together(at_once)
{
    decoder = crd_decoder_offset(net);
    crd_crop_most(net, plan.chunk, plan.keep[0] > 0 ? plan.keep : plan.chunk, &crop);
    for (int layer = net->decoder; layer <= net->head && use_hopper && !PLAIN; layer++) {
        int in0, in1;
        inputs_of(layer, &in0, &in1);
        hopper[layer] = layer == net->head && wide() ? hopper_softmax_has(in0, net->classes)
                                                     : hopper_has(fold_kind(net->layers[layer]), in0, in1,
                                                                  net->layers[layer].channels_out, net->groups);
    }
}

template <typename T> typename Network<T>::Sums Network<T>::sums_of(int layer) const
{
    const crd_conv_layer row = row_of(layer);
    const Extent e = extent_of(layer);
    if (row.source == CRD_SCAN) return {first_tiles(e), 1};
    if (PLAIN) return {plain_tiles(e), 1};
    if (hopper[layer]) {
        int in0, in1;
        inputs_of(layer, &in0, &in1);
        const HopperSums sums = hopper_sums(fold_kind(row), in0, in1, row.channels_out, e);
        return {sums.rows, sums.piece};
    }
    return {row.kernel == 2 ? up_tiles({e.depth / 2, e.height / 2, e.width / 2}) : conv_tiles(e, row.channels_out), 1};
}

template <typename T> int64_t Network<T>::packed_bytes(int layer) const
{
    const crd_conv_layer row = row_of(layer);
    const FoldKind kind = fold_kind(row);
    if (row.source == CRD_SCAN) return 0;
    if (hopper[layer] && layer == net->head && wide()) return hopper_softmax_packed_bytes(net->classes);
    if (hopper[layer]) return hopper_packed_bytes(kind, row.channels_in, row.channels_out);
    return packed_count<T>(kind, row.channels_in, row.channels_out) * (PLAIN ? 4 : kind == FOLD_HEAD ? 8 : 16);
}

template <typename T> void Network<T>::take_node(Arena &arena, int layer, int64_t values, T *shared)
{
    const crd_conv_layer &row = net->layers[layer];
    const int64_t count = room_of(layer);
    Node<T> &node = nodes[layer];
    node.y = values == 0 ? shared : arena.take<T>(count * values);
    node.sums = arena.take<double>(count * 2 * row.channels_out);
    node.scale = arena.take<float>(count * row.channels_out);
    node.shift = arena.take<float>(count * row.channels_out);
    node.plain_scale = arena.take<float>(count * row.channels_out);
    node.plain_shift = arena.take<float>(count * row.channels_out);
}

template <typename T> void Network<T>::keep(const crd_box &box)
{
    crd_crop_make(net, plan.chunk, &box, &crop);
}

template <typename T> Open Network<T>::open_of(int layer) const
{
    const crd_box *box = &crop.layers[layer];
    const int level = net->layers[layer].level;
    return {crd_crop_open(box, 0, plan.chunk, level), crd_crop_open(box, 1, plan.chunk, level),
            crd_crop_open(box, 2, plan.chunk, level)};
}

static void raise(int64_t *most, int64_t value)
{
    if (value > *most) *most = value;
}

template <typename T> void Network<T>::lay_out(Arena &arena)
{
    weights = arena.take<float>(turns() * weights_each());
    draws = arena.take<float>(drawn() ? draws_kept() * decoder_count() : 0);
    masks = arena.take<float>(plan.samples * net->mask_total);
    samples = arena.take<float>(measuring ? 0 : plan.samples * crd_net_planes(net) * kept_voxels());
    moments = arena.take<crd_moments>(frozen() ? plan.samples * crd_net_moments(net) : 0);
    int owner[CRD_LAYERS_MAX];
    int64_t values[CRD_LAYERS_MAX] = {}; // of what a layer shares with others the most
    crd_share_outputs(net, true, nullptr, owner);
    for (int layer = 0; layer < net->head; layer++) {
        raise(&values[owner[layer]], extent_of(layer).voxels() * net->layers[layer].channels_out);
    }
    for (int layer = 0; layer < net->head; layer++) {
        const crd_conv_layer &row = net->layers[layer];
        if (row.pools) {
            pooled[layer] = arena.take<T>(room_of(layer) * extent_of(crop.pooled[layer]).voxels() * row.channels_in);
        }
        take_node(arena, layer, values[layer], nodes[owner[layer]].y);
    }
    // The latent's scale and shift carry a mask per sample.
    const int latent = net->layers[net->decoder].source;
    nodes[latent].scale = arena.take<float>(together * net->layers[latent].channels_out);
    nodes[latent].shift = arena.take<float>(together * net->layers[latent].channels_out);
    int64_t most_packed = 0, most_partial = 0, most_bias = 0, most_shift = 0, most_merge = 0;
    for (int layer = 0; layer <= net->head; layer++) {
        const crd_conv_layer row = row_of(layer);
        const int64_t count = room_of(layer);
        const Sums sums = sums_of(layer);
        raise(&most_packed, count * packed_bytes(layer));
        if (layer != net->head || wide_alone())
            raise(&most_partial, count * sums.rows * (row.channels_out / sums.piece));
        raise(&most_bias, count * BORDER_CLASSES * row.channels_out);
        raise(&most_shift, count * 27 * row.channels_out);
        raise(&most_merge, count * row.channels_in);
    }
    packed = arena.take<char>(most_packed);
    partial = arena.take<float2>(most_partial);
    bias_classes = arena.take<float>(most_bias);
    tap_shift = arena.take<float>(most_shift);
    merge_scale = arena.take<float>(most_merge);
    merge_shift = arena.take<float>(most_merge);
    points = arena.take<float>(together * (wide() ? net->classes * (net->classes + 1) : 2));
    head_y = arena.take<T>(wide_alone() ? together * kept_voxels() * HEAD_WIDTH : 0);
    head_kernel = arena.take<float>(wide() ? together * 27 * net->layers[net->head].channels_in * HEAD_WIDTH : 0);
    head_bias = arena.take<float>(wide() ? HEAD_WIDTH : 0);
}

template <typename T>
crd_status Network<T>::draw(int64_t first, int64_t count, uint32_t example, float *to, int64_t stride)
{
    for (int layer = net->decoder; layer <= net->last; layer++) {
        const crd_conv_layer &row = net->layers[layer];
        const long values = (long)row.kernel * row.kernel * row.kernel * row.channels_in * row.channels_out;
        PASS(draw_launch({parameter(net->model.kernel[layer]), parameter(net->model.rho[layer]),
                          to + (net->point.kernel[layer] - decoder), (long)stride, values, plan.seed, (uint32_t)layer,
                          (uint32_t)(plan.first_sample + first), (uint32_t)apart(), example},
                         (int)count, stream));
    }
    return CRD_OK;
}

template <typename T> crd_status Network<T>::draw_all()
{
    for (turn = 0; turn < turns(); turn++)
        PASS(draw(turn, own_samples(), 0, draws + turn * decoder_count(), apart() * decoder_count()));
    turn = 0;
    return CRD_OK;
}

// The host's half of crd_dropout_draw: a few hundred numbers a sample.
template <typename T> void Network<T>::draw_masks(uint32_t example, float *out) const
{
    for (int64_t s = 0; s < plan.samples; s++)
        for (int site = 0; site < net->mask_count; site++)
            for (int c = 0; c < net->mask_channels[site]; c++) {
                uint32_t words[4] = {(uint32_t)c / 4, (uint32_t)crd_mask_stream(net, site) << 16 | CRD_PURPOSE_DROPOUT,
                                     (uint32_t)(plan.first_sample + s), example};
                crd_philox_inline((uint32_t)plan.seed, (uint32_t)(plan.seed >> 32), words);
                out[s * net->mask_total + net->mask_offset[site] + c] = words[c % 4] >> 31 ? 2.0f : 0.0f;
            }
}

template <typename T> crd_status Network<T>::upload_masks(uint32_t example)
{
    if (net->kind != CRD_MCDN || !stochastic()) return CRD_OK;
    const int64_t count = plan.samples * net->mask_total;
    const auto host = host_array<float>(count);
    CUDA_NEED(host);
    draw_masks(example, host.get());
    CUDA_PASS(cudaMemcpyAsync(masks, host.get(), (size_t)count * sizeof(float), cudaMemcpyHostToDevice, stream));
    CUDA_PASS(cudaStreamSynchronize(stream));
    return CRD_OK;
}

template <typename T> crd_status Network<T>::upload_turn(int64_t number, float *means)
{
    const float *parameters = crd_plan_parameters(&plan, number);
    float *to_weights = weights + number * weights_each();
    for (int i = 0; i < net->point.count; i++) { // the means, and all that is a point in both layouts
        const crd_parameter &to = net->point.parameters[i];
        for (int k = 0; k < net->model.count; k++) {
            const crd_parameter &from = net->model.parameters[k];
            const bool kernels =
                to.role == CRD_ROLE_KERNEL && (from.role == CRD_ROLE_KERNEL || from.role == CRD_ROLE_LOC);
            if (from.layer == to.layer && (kernels || from.role == to.role)) {
                memcpy(means + to.offset, parameters + from.offset, (size_t)to.count * sizeof(float));
            }
        }
    }
    CUDA_PASS(cudaMemcpyAsync(to_weights, parameters, (size_t)net->model.total * sizeof(float), cudaMemcpyHostToDevice,
                              stream));
    CUDA_PASS(cudaMemcpyAsync(to_weights + net->model.total, means, (size_t)net->point.total * sizeof(float),
                              cudaMemcpyHostToDevice, stream));
    CUDA_PASS(cudaStreamSynchronize(stream));
    return CRD_OK;
}

template <typename T> crd_status Network<T>::upload_parameters()
{
    const auto means = host_array<float>(net->point.total);
    CUDA_NEED(means);
    for (int64_t number = 0; number < turns(); number++) PASS(upload_turn(number, means.get()));
    if (plan.moments != nullptr) {
        CUDA_PASS(cudaMemcpyAsync(moments, plan.moments,
                                  (size_t)(plan.samples * crd_net_moments(net)) * sizeof *moments,
                                  cudaMemcpyHostToDevice, stream));
    }
    CUDA_PASS(cudaStreamSynchronize(stream));
    return CRD_OK;
}

template struct Network<float>;
template struct Network<__half>;
template struct Network<__nv_bfloat16>;
