#include "backend/cuda/hopper/hopper.cuh"
#include "backend/cuda/predict/network.cuh"

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
                               open_of(layer)};
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

// Norm number `norm` for samples from `first` on, or for all pieces.
template <typename T> Frozen Network<T>::frozen_at(int norm, int64_t first) const
{
    if (!frozen()) return {};
    return {moments_of(norm, first), measuring ? 0 : (long)(apart() * crd_net_moments(net))};
}

// The latent's mask, a sample's own, comes later than the norm.
template <typename T> crd_status Network<T>::normalise(int layer, int64_t first, int count)
{
    const crd_conv_layer &row = net->layers[layer];
    const Node<T> &node = nodes[layer];
    const Sums sums = sums_of(layer);
    const float *mask = layer < net->decoder ? nullptr : mask_of(layer, first);
    const double level_voxels = (double)extent_of(layer).voxels();
    NormArguments arguments = {partial,
                               sums.rows,
                               row.channels_out,
                               net->groups,
                               level_voxels,
                               point(net->point.gamma[layer]),
                               point(net->point.beta[layer]),
                               mask,
                               mask_stride(),
                               node.sums,
                               node.scale,
                               node.shift,
                               node.plain_scale,
                               node.plain_shift,
                               sums.piece};
    if (measuring) {
        PASS(norm_launch(arguments, count, stream)); // each piece's sums
        PASS(join_launch({{node.sums, nullptr},
                          row.channels_out / sums.piece,
                          row.channels_out,
                          net->groups,
                          level_voxels,
                          moments_of(layer, first)},
                         count, stream));
    }
    arguments.frozen = frozen_at(layer, first);
    return norm_launch(arguments, count, stream);
}

template <typename T>
crd_status Network<T>::convolve(int layer, const Source &source, ConvInput x0, ConvInput x1, const Affine &affine,
                                int64_t first, int count)
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
                                               extent_of(layer),
                                               open_of(layer)};
            PASS(row.kernel == 2 ? hopper_up_launch<T>(arguments, count, stream)
                                 : hopper_conv_launch<T>(arguments, count, stream));
            launched = true;
        }
    }
    if (!launched) {
        PASS(walk_convolve<T>(row, {x0, x1, packed, bias_classes, nodes[layer].y, partial}, extent_of(layer), count,
                              stream));
    }
    PASS(normalise(layer, first, count));
    return mark(layer);
}

template <typename T> const float *Network<T>::mask_of(int layer, int64_t first) const
{
    const int site = net->layers[layer].mask;
    if (site == CRD_NONE || net->kind != CRD_MCDN || !stochastic()) return nullptr;
    return masks + first * net->mask_total + net->mask_offset[site];
}

// What a layer gives, for another that reads it: in prediction the encoder's is shared by all samples. An `up` reads
// all of it.
template <typename T> ConvInput Network<T>::input_of(int layer, int reader) const
{
    const int channels = net->layers[layer].channels_out;
    const Extent whole = extent_of(layer);
    const Place at = net->layers[reader].kernel == 2 ? Place{} : place_of(crop.layers[reader], crop.layers[layer]);
    return {nodes[layer].y, shared(layer) ? 0 : whole.voxels() * channels, channels, whole, at};
}

// Its scale and shift are shared only where no mask makes them a sample's own.
template <typename T> typename Network<T>::Affine Network<T>::affine_of(int layer) const
{
    const bool own = !shared(layer) || mask_of(layer, 0) != nullptr;
    return {nodes[layer].scale, nodes[layer].shift, own ? net->layers[layer].channels_out : 0};
}

template <typename T> crd_status Network<T>::merge(const crd_conv_layer &row, int64_t first, int count)
{
    const Node<T> &skip = nodes[row.skip], &up = nodes[row.source];
    const int number = crd_merge_number(net, row.merge), half = net->layers[row.source].channels_out;
    const double level_voxels = (double)extent_of(row.source).voxels();
    if (measuring) {
        PASS(join_launch({{skip.sums, up.sums},
                          half,
                          2 * half,
                          net->groups,
                          level_voxels,
                          moments_of(number, first),
                          {skip.plain_scale, up.plain_scale},
                          {skip.plain_shift, up.plain_shift}},
                         count, stream));
    }
    return merge_launch({skip.sums, up.sums, skip.plain_scale, skip.plain_shift, up.plain_scale, up.plain_shift,
                         point(net->point.gamma[number]), point(net->point.beta[number]), merge_scale, merge_shift,
                         half, net->groups, level_voxels, measuring, frozen_at(number, first)},
                        count, stream);
}

// A layer with norm that doesn't read the scan.
template <typename T> crd_status Network<T>::run(int layer, const Source &source, int64_t first, int count)
{
    const crd_conv_layer &row = net->layers[layer];
    const ConvInput none = {};
    if (row.pools) {
        const Node<T> &from = nodes[row.source];
        const crd_box &box = crop.pooled[layer], twice = crd_crop_twice(&box);
        Extent all = extent_of(box), whole = extent_of(row.source);
        const ConvInput x = {pooled[layer], shared(layer) ? 0 : all.voxels() * row.channels_in, row.channels_in, all,
                             place_of(crop.layers[layer], box)};
        all.depth *= (int)room_of(layer); // pieces lie one behind the other, their scales are the same
        whole.depth *= (int)room_of(layer);
        PASS(pool_launch<T>({from.y, whole, place_of(twice, crop.layers[row.source]), from.scale, from.shift,
                             pooled[layer], row.channels_in, all},
                            stream));
        return convolve(layer, source, x, none, {nullptr, nullptr, 0}, first, count);
    }
    if (row.merge == CRD_NONE)
        return convolve(layer, source, input_of(row.source, layer), none, affine_of(row.source), first, count);
    PASS(merge(row, first, count));
    return convolve(layer, source, input_of(row.skip, layer), input_of(row.source, layer),
                    {merge_scale, merge_shift, row.channels_in}, first, count);
}

template <typename T> crd_status Network<T>::read_scan(int layer, const float *chunk)
{
    const crd_conv_layer &row = net->layers[layer];
    const Extent e = extent_of(layer), whole = {(int)plan.chunk[0], (int)plan.chunk[1], (int)plan.chunk[2]};
    const int64_t *origin = crop.layers[layer].origin;
    const Place at = {(int)origin[0], (int)origin[1], (int)origin[2]};
    for (int64_t i = 0; i < room_of(layer); i++) {
        PASS(first_launch<T>({chunk + i * whole.voxels(), whole, at, point(net->point.kernel[layer]),
                              point(net->point.bias[layer]), nodes[layer].y + i * e.voxels() * row.channels_out,
                              partial + i * sums_of(layer).rows * row.channels_out, row.channels_out, e},
                             stream));
    }
    return CRD_OK;
}

template <typename T> crd_status Network<T>::encode(const float *chunk)
{
    for (int layer = 0; layer < net->decoder; layer++) {
        const crd_conv_layer &row = net->layers[layer];
        if (row.source != CRD_SCAN) {
            PASS(run(layer, {point(0), 0, 0}, turn, (int)room_of(layer)));
            continue;
        }
        PASS(read_scan(layer, chunk));
        PASS(normalise(layer, turn, (int)room_of(layer)));
        PASS(mark(layer));
    }
    return CRD_OK;
}

template <typename T> crd_status Network<T>::wide_head(const Source &source, int64_t first, int count)
{
    const crd_conv_layer row = row_of(net->head);
    const int rows = 27 * row.channels_in, classes = net->classes;
    const Affine affine = affine_of(row.source);
    const ConvInput x = input_of(row.source, net->head);
    const Extent e = extent_of(net->head);
    const Open open = open_of(net->head);
    const long stride = (long)classes * (classes + 1);
    float *probability = samples + first * classes * kept_voxels();
    FoldArguments arguments = {head_kernel,
                               (long)rows * HEAD_WIDTH,
                               head_bias,
                               affine.scale,
                               affine.shift,
                               affine.stride,
                               tap_shift,
                               bias_classes,
                               packed,
                               0,
                               row.channels_in,
                               HEAD_WIDTH,
                               open};
    PASS(head_pad_launch({source.kernels + (net->point.kernel[net->head] - source.offset), source.stride,
                          point(net->point.bias[net->head]), rows, classes, head_kernel, head_bias},
                         count, stream));
    PASS(points_launch(source.kernels + (net->point.kernel[net->last] - source.offset), source.stride,
                       point(net->point.bias[net->last]), classes, points, count, stream));
    if constexpr (!PLAIN) {
        if (hopper[net->head]) {
            const float *shift = affine.shift == nullptr ? nullptr : tap_shift;
            arguments.packed_stride = hopper_softmax_packed_bytes(classes);
            PASS(hopper_softmax_fold_launch<T>(arguments, classes, count, stream));
            PASS(hopper_softmax_launch<T>({{{x, {}}, packed, head_bias, shift, nullptr, nullptr, HEAD_WIDTH, e, open},
                                           points,
                                           stride,
                                           classes,
                                           plan.inverse_temperature,
                                           probability,
                                           (int)apart()},
                                          count, stream));
            return mark(net->head);
        }
    }
    arguments.packed_stride = packed_count<T>(FOLD_CONV, row.channels_in, HEAD_WIDTH);
    PASS(fold_launch<T>(FOLD_CONV, arguments, count, stream));
    PASS(walk_convolve<T>(row, {x, {}, packed, bias_classes, head_y, partial}, e, count, stream));
    PASS(softmax_launch<T>(
        {head_y, points, stride, classes, plan.inverse_temperature, probability, (int)apart(), (long)kept_voxels()},
        count, stream));
    return mark(net->head);
}

template <typename T> crd_status Network<T>::head(const Source &source, int64_t first, int count)
{
    const crd_conv_layer &row = net->layers[net->head];
    const ConvInput x = input_of(row.source, net->head);
    if (wide()) return wide_head(source, first, count);
    PASS(fold(net->head, source, affine_of(row.source), count));
    // The 1x1x1 kernel is drawn, too; its bias is not.
    PASS(point_launch(source.kernels + (net->point.kernel[net->last] - source.offset), source.stride,
                      point(net->point.bias[net->last]), points, count, stream));
    float *probability = samples + first * kept_voxels();
    if constexpr (!PLAIN) {
        if (hopper[net->head]) {
            const HopperArguments conv = {{x, {}},
                                          packed,
                                          point(net->point.bias[net->head]),
                                          tap_shift,
                                          nullptr,
                                          nullptr,
                                          row.channels_out,
                                          extent_of(net->head),
                                          open_of(net->head)};
            PASS(hopper_head_launch<T>({conv, points, 2, plan.inverse_temperature, probability, (int)apart()}, count,
                                       stream));
            return mark(net->head);
        }
    }
    PASS(head_launch<T>({x, (const uint2 *)packed, packed_count<T>(FOLD_HEAD, x.channels, row.channels_out),
                         bias_classes, points, 2, plan.inverse_temperature, probability, (int)apart(),
                         extent_of(net->head)},
                        count, stream));
    return mark(net->head);
}

template <typename T> crd_status Network<T>::decode(int64_t first, int count)
{
    const bool own = drawn();
    const bool kept = !plan.draws_per_chunk && !measuring; // all samples' draws, not only those at work
    const float *kernels = !own ? point(decoder) : kept ? draws + first * decoder_count() : draws;
    const int64_t stride = !own || measuring ? 0 : (kept ? apart() : 1) * decoder_count();
    const Source source = {kernels, (long)stride, decoder};
    const int latent = net->layers[net->decoder].source;
    const float *latent_mask = mask_of(latent, first);
    if (latent_mask != nullptr) {
        const Node<T> &node = nodes[latent];
        PASS(mask_launch(node.plain_scale, node.plain_shift, latent_mask, mask_stride(), node.scale, node.shift,
                         net->layers[latent].channels_out, count, stream));
    }
    for (int layer = net->decoder; layer < net->head; layer++) PASS(run(layer, source, first, count));
    return measuring ? CRD_OK : head(source, first, count);
}

template struct Network<float>;
template struct Network<__half>;
template struct Network<__nv_bfloat16>;
