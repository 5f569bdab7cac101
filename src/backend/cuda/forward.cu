#include "backend/cuda/hopper/hopper.cuh"
#include "backend/cuda/network.cuh"

template <typename T> crd_status Network<T>::mark(int layer)
{
    if (marks == nullptr) return CRD_OK;
    marks->reset(new (std::nothrow) LayerMark{layer, nullptr, nullptr});
    CUDA_NEED(*marks);
    LayerMark &added = **marks;
    CUDA_PASS(cudaEventCreate(&added.event));
    CUDA_PASS(cudaEventRecord(added.event, stream));
    marks = &added.next;
    return CRD_OK;
}

template <typename T> crd_status Network<T>::fold(int layer, const Source &source, const Affine &affine, int count)
{
    const crd_conv_layer &row = net->layers[layer];
    const FoldKind kind = fold_kind(row);
    FoldArguments arguments = {source.kernels + (net->point.kernel[layer] - source.offset),
                               source.stride,
                               point(net->point.bias[layer]),
                               affine.scale,
                               affine.shift,
                               affine.stride,
                               tap_shift,
                               bias_classes,
                               packed,
                               0,
                               row.channels_in,
                               row.channels_out,
                               size[row.level]};
    if constexpr (!PLAIN) {
        if (hopper[layer]) {
            int in0, in1;
            inputs_of(layer, &in0, &in1);
            arguments.packed_stride = hopper_packed_bytes(kind, row.channels_in, row.channels_out);
            return hopper_fold_launch<T>(kind, arguments, hopper_slice(in0, in1, row.channels_out), count, stream);
        }
    }
    arguments.packed_stride = packed_count<T>(kind, row.channels_in, row.channels_out);
    return fold_launch<T>(kind, arguments, count, stream);
}

template <typename T> crd_status Network<T>::normalise(int layer, const float *mask, int count)
{
    const crd_conv_layer &row = net->layers[layer];
    const Node<T> &node = nodes[layer];
    const Sums sums = sums_of(layer);
    return norm_launch({partial, sums.rows, row.channels_out, net->groups, (double)size[row.level].voxels(),
                        point(net->point.gamma[layer]), point(net->point.beta[layer]), mask, (long)net->mask_total,
                        node.sums, node.scale, node.shift, node.plain_scale, node.plain_shift, sums.piece},
                       count, stream);
}

template <typename T>
crd_status Network<T>::convolve(int layer, const Source &source, ConvInput x0, ConvInput x1, const Affine &affine,
                                const float *mask, int count)
{
    const crd_conv_layer &row = net->layers[layer];
    PASS(fold(layer, source, affine, count));
    bool launched = false;
    if constexpr (!PLAIN) {
        if (hopper[layer]) {
            const HopperArguments arguments = {{x0, x1},
                                               packed,
                                               point(net->point.bias[layer]),
                                               affine.shift == nullptr ? nullptr : tap_shift,
                                               nodes[layer].y,
                                               partial,
                                               row.channels_out,
                                               size[row.level]};
            PASS(row.kernel == 2 ? hopper_up_launch<T>(arguments, count, stream)
                                 : hopper_conv_launch<T>(arguments, count, stream));
            launched = true;
        }
    }
    if (!launched) {
        PASS(walk_convolve<T>(row, {x0, x1, packed, bias_classes, nodes[layer].y, partial}, size, count, stream));
    }
    PASS(normalise(layer, mask, count));
    return mark(layer);
}

template <typename T> crd_status Network<T>::encode(const float *chunk)
{
    const Source source = {point(0), 0, 0};
    const ConvInput none = {nullptr, 0, 0};
    const Affine plain = {nullptr, nullptr, 0};
    for (int level = 1; level <= LEVELS; level++) {
        const int a = CRD_E1A + (level - 1) * 2, channels = net->layers[a].channels_out;
        if (level == 1) {
            PASS(first_launch<T>(chunk, point(net->point.kernel[a]), point(net->point.bias[a]), nodes[a].y, partial,
                                 channels, size[1], stream));
            PASS(normalise(a, nullptr, 1));
            PASS(mark(a));
        } else {
            PASS(convolve(a, source, {pooled[level], 0, channels / 2}, none, plain, nullptr, 1));
        }
        PASS(convolve(a + 1, source, {nodes[a].y, 0, channels}, none, {nodes[a].scale, nodes[a].shift, 0}, nullptr, 1));
        if (level == LEVELS) break;
        PASS(pool_launch<T>(nodes[a + 1].y, nodes[a + 1].scale, nodes[a + 1].shift, pooled[level + 1], channels,
                            size[level + 1], stream));
    }
    return CRD_OK;
}

template <typename T> const float *Network<T>::mask_of(int site, int64_t first) const
{
    return net->kind == CRD_MCDN && stochastic() ? masks + first * net->mask_total + net->mask_offset[site] : nullptr;
}

template <typename T> crd_status Network<T>::merge(int up, int count)
{
    const int stage = (up - CRD_D3UP) / 3, half = net->layers[up].channels_out, skip = CRD_E3B - 2 * stage;
    return merge_launch({nodes[skip].sums, nodes[up].sums, nodes[skip].plain_scale, nodes[skip].plain_shift,
                         nodes[up].plain_scale, nodes[up].plain_shift, point(net->point.gamma[CRD_CONV_COUNT + stage]),
                         point(net->point.beta[CRD_CONV_COUNT + stage]), merge_scale, merge_shift, half, net->groups,
                         (double)size[net->layers[up].level].voxels()},
                        count, stream);
}

template <typename T>
crd_status Network<T>::head(const Source &source, const ConvInput &x, const Affine &affine, int64_t first, int count)
{
    PASS(fold(CRD_SPATIAL, source, affine, count));
    // The 1x1x1 kernel is drawn, too; its bias is not.
    PASS(point_launch(source.kernels + (net->point.kernel[CRD_POINT] - source.offset), source.stride,
                      point(net->point.bias[CRD_POINT]), points, count, stream));
    float *probability = samples + first * voxels;
    if constexpr (!PLAIN) {
        if (hopper[CRD_SPATIAL]) {
            const HopperArguments conv = {{x, {nullptr, 0, 0}},
                                          packed,
                                          point(net->point.bias[CRD_SPATIAL]),
                                          tap_shift,
                                          nullptr,
                                          nullptr,
                                          1,
                                          size[1]};
            PASS(hopper_head_launch<T>({conv, points, 2, plan.inverse_temperature, probability}, count, stream));
            return mark(CRD_SPATIAL);
        }
    }
    PASS(head_launch<T>({x, (const uint2 *)packed, packed_count<T>(FOLD_HEAD, x.channels, 1), bias_classes, points, 2,
                         plan.inverse_temperature, probability, size[1]},
                        count, stream));
    return mark(CRD_SPATIAL);
}

template <typename T> crd_status Network<T>::decode(int64_t first, int count)
{
    const bool own = drawn();
    const float *kernels = !own ? point(decoder) : plan.draws_per_chunk ? draws : draws + first * decoder_count();
    const Source source = {kernels, own ? (long)decoder_count() : 0, decoder};
    const ConvInput none = {nullptr, 0, 0};
    // The latent is shared; its scale and shift only where no mask makes them a sample's own.
    int below = CRD_E4B;
    long affine = 0, below_stride = 0;
    const float *latent_mask = mask_of(CRD_MASK_LATENT, first);
    if (latent_mask != nullptr) {
        const Node<T> &latent = nodes[CRD_E4B];
        affine = net->layers[CRD_E4B].channels_out;
        PASS(mask_launch(latent.plain_scale, latent.plain_shift, latent_mask, (long)net->mask_total, latent.scale,
                         latent.shift, (int)affine, count, stream));
    }
    for (int up = CRD_D3UP; up <= CRD_D1UP; up += 3) {
        const int stage = (up - CRD_D3UP) / 3, channels = net->layers[up].channels_out, skip = CRD_E3B - 2 * stage;
        const long values = size[net->layers[up].level].voxels() * channels;
        PASS(convolve(up, source, {nodes[below].y, below_stride, net->layers[up].channels_in}, none,
                      {nodes[below].scale, nodes[below].shift, affine}, nullptr, count));
        PASS(merge(up, count));
        PASS(convolve(up + 1, source, {nodes[skip].y, 0, channels}, {nodes[up].y, values, channels},
                      {merge_scale, merge_shift, 2 * channels}, nullptr, count));
        PASS(convolve(up + 2, source, {nodes[up + 1].y, values, channels}, none,
                      {nodes[up + 1].scale, nodes[up + 1].shift, channels}, mask_of(CRD_MASK_D3 + stage, first),
                      count));
        below = up + 2;
        below_stride = values;
        affine = channels;
    }
    return head(source, {nodes[below].y, below_stride, net->layers[CRD_D1B].channels_out},
                {nodes[below].scale, nodes[below].shift, affine}, first, count);
}

template struct Network<float>;
template struct Network<__half>;
template struct Network<__nv_bfloat16>;
