#include "backend/cuda/train_net.cuh"

template <typename T> void TrainNet<T>::describe(const crd_net *network, const int64_t chunk[3], int64_t examples)
{
    net = network;
    together = (int)examples;
    for (int level = 1; level <= LEVELS; level++) {
        size[level] = {(int)(chunk[0] >> (level - 1)), (int)(chunk[1] >> (level - 1)), (int)(chunk[2] >> (level - 1))};
    }
}

template <typename T> void TrainNet<T>::take_node(Arena &arena, int layer)
{
    const int64_t count = (int64_t)together * channels(layer);
    Node<T> &node = nodes[layer];
    node.y = arena.take<T>(count * voxels(net->layers[layer].level));
    node.sums = arena.take<double>(2 * count);
    node.scale = arena.take<float>(count);
    node.shift = arena.take<float>(count);
    node.plain_scale = arena.take<float>(count);
    node.plain_shift = arena.take<float>(count);
}

template <typename T> int TrainNet<T>::forward_tiles(int layer) const
{
    const crd_conv_layer &row = net->layers[layer];
    if (layer == CRD_E1A) return spread_tiles<T>(size[1]);
    if (PLAIN) return plain_tiles(size[row.level]);
    return row.kernel == 2 ? up_tiles(size[row.level + 1]) : conv_tiles(size[row.level], row.channels_out);
}

// Of a data gradient with that many channels.
template <typename T> int TrainNet<T>::gradient_tiles(int level, int count) const
{
    return PLAIN ? plain_tiles(size[level]) : conv_tiles(size[level], count);
}

static void at_least(int64_t *most, int64_t value)
{
    if (value > *most) *most = value;
}

template <typename T> void TrainNet<T>::take_scratch(Arena &arena)
{
    int64_t packs = 0, sums = 0, biases = 0, shifts = 0, slots = 0, kernel = 0, wide = 0, total = 0;
    const int64_t n = together;
    at_least(&sums, n * spread_tiles<T>(size[1]) * channels(CRD_D1B));
    for (int layer = CRD_E1A; layer <= CRD_SPATIAL; layer++) {
        const crd_conv_layer &row = net->layers[layer];
        const int level = row.level, in = row.channels_in, out = row.channels_out;
        const int64_t taps = (int64_t)row.kernel * row.kernel * row.kernel;
        at_least(&kernel, taps * in * out);
        at_least(&biases, BORDER_CLASSES * (int64_t)(in > out ? in : out));
        at_least(&shifts, 27 * (int64_t)out);
        at_least(&wide, in > out ? in : out);
        at_least(&sums, n * (layer == CRD_SPATIAL ? 0 : forward_tiles(layer)) * out);
        if (layer != CRD_SPATIAL) at_least(&total, apply_tiles<T>(voxels(level), out) * (int64_t)out);
        const int64_t unit = PLAIN ? 4 : fold_kind(row) == FOLD_HEAD ? 8 : 16;
        if (layer == CRD_E1A) {
            at_least(&slots, n * correlate_slots<T>(size[1]) * 27 * out);
            continue;
        }
        at_least(&packs, unit * packed_count<T>(fold_kind(row), in, out));
        if (layer == CRD_SPATIAL) {
            at_least(&slots, n * correlate_slots<T>(size[1]) * 27 * in);
        } else if (row.kernel == 2) {
            at_least(&packs, up_back_packed<T>(in, out));
            at_least(&sums, n * up_back_tiles<T>(size[level + 1]) * in);
            at_least(&slots, n * kernel_slots<T, 2>(size[level + 1], out, in) * 27 * in * out);
        } else {
            const bool merged = layer == CRD_D3A || layer == CRD_D2A || layer == CRD_D1A;
            const int share = merged ? in / 2 : in;
            at_least(&packs, (PLAIN ? 4 : 16) * packed_count<T>(FOLD_CONV, out, share));
            at_least(&sums, n * gradient_tiles(level, share) * share);
            at_least(&slots, n * kernel_slots<T, 1>(size[level], in, out) * 27 * in * out);
        }
    }
    for (int level = 1; level < LEVELS; level++) {
        const int count = channels(encoder_a(level) + 1);
        at_least(&sums, n * pool_back_tiles<T>(size[level + 1], count) * count);
    }
    packed = arena.take<char>(n * packs);
    partial = arena.take<float2>(sums);
    up_partial = arena.take<float2>(sums);
    few = arena.take<float2>(n * FEW_TILES * wide);
    up_few = arena.take<float2>(n * FEW_TILES * wide);
    bias_classes = arena.take<float>(n * biases);
    tap_shift = arena.take<float>(n * shifts);
    kernel_partial = arena.take<float>(slots);
    flipped = arena.take<float>(n * kernel);
    coefficients = arena.take<float>(n * 3 * wide);
    totals = arena.take<float>(n * total);
    border = arena.take<float>(n * BORDER_CLASSES * BORDER_PARTS * wide);
    everything = arena.take<double>(n * wide);
    tap_sums = arena.take<float>(n * 27 * wide);
    loss_total = arena.take<float>(n);
    loss_partial = arena.take<double>(n * loss_tiles<T>(size[1]) * LOSS_SUMS);
    loss_result = arena.take<double>(n * LOSS_SUMS);
}

template <typename T> void TrainNet<T>::lay_out(Arena &arena, int64_t sign_count)
{
    const int64_t n = together;
    point = arena.take<float>(n * net->point.total);
    point_gradient = arena.take<float>(n * net->point.total);
    masks = arena.take<float>(n * net->mask_total);
    signs = arena.take<float>(n * sign_count);
    for (int layer = CRD_E1A; layer < CRD_SPATIAL; layer++) take_node(arena, layer);
    for (int level = 1; level <= LEVELS; level++) {
        const int64_t count = channels(encoder_a(level)), values = n * voxels(level) * count;
        for (int i = 0; i < (level == LEVELS ? 2 : 3); i++) gradient[level][i] = arena.take<T>(values);
        if (level > 1) {
            pooled[level] = arena.take<T>(values / 2);
            pooled_gradient[level] = arena.take<T>(values / 2);
        }
        skip_coefficients[level] = arena.take<float>(n * 3 * count);
    }
    for (int stage = 0; stage < CRD_MERGE_COUNT; stage++) {
        const int64_t count = n * net->layers[CRD_D3A + 3 * stage].channels_in;
        merge_scale[stage] = arena.take<float>(count);
        merge_shift[stage] = arena.take<float>(count);
    }
    head_gradient = arena.take<float>(n * voxels(1));
    take_scratch(arena);
}

template <typename T> crd_status TrainNet<T>::fold(int layer, const float *scale, const float *shift, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const FoldKind kind = fold_kind(row);
    return fold_launch<T>(kind,
                          {weights(net->point.kernel[layer]), stride(), weights(net->point.bias[layer]), scale, shift,
                           (long)row.channels_in, tap_shift, bias_classes, packed,
                           packed_count<T>(kind, row.channels_in, row.channels_out), row.channels_in, row.channels_out,
                           size[row.level]},
                          n, stream);
}

template <typename T> crd_status TrainNet<T>::normalise(int layer, const float *dropout_mask, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    Node<T> &node = nodes[layer];
    const float2 *sums = partial;
    int tiles = forward_tiles(layer);
    PASS(few_tiles(&sums, &tiles, row.channels_out, few, n, stream));
    return norm_launch({sums, tiles, row.channels_out, net->groups, (double)voxels(row.level),
                        weights(net->point.gamma[layer]), weights(net->point.beta[layer]), dropout_mask,
                        (long)net->mask_total, node.sums, node.scale, node.shift, node.plain_scale, node.plain_shift},
                       n, stream);
}

template <typename T>
crd_status TrainNet<T>::convolve(int layer, ConvInput x0, ConvInput x1, const float *scale, const float *shift,
                                 const float *dropout_mask, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    PASS(fold(layer, scale, shift, n));
    PASS(walk_convolve<T>(row, {x0, x1, packed, bias_classes, nodes[layer].y, partial}, size, n, stream));
    return normalise(layer, dropout_mask, n);
}

template <typename T> crd_status TrainNet<T>::encode(const float *input, const float *latent_mask, int n)
{
    const ConvInput none = {nullptr, 0, 0};
    for (int level = 1; level <= LEVELS; level++) {
        const int a = encoder_a(level), count = channels(a);
        const Node<T> &first = nodes[a], &second = nodes[a + 1];
        if (level == 1) {
            PASS(spread_launch<T>({input, weights(net->point.kernel[a]), stride(), weights(net->point.bias[a]), nullptr,
                                   first.y, partial, count, size[1]},
                                  n, stream));
            PASS(normalise(a, nullptr, n));
        } else {
            PASS(convolve(a, input_of(pooled[level], level, count / 2), none, nullptr, nullptr, nullptr, n));
        }
        PASS(convolve(a + 1, input_of(first.y, level, count), none, first.scale, first.shift,
                      level == LEVELS ? latent_mask : nullptr, n));
        if (level == LEVELS) break;
        PASS(pool_train_launch<T>({second.y, second.scale, second.shift, pooled[level + 1], count, size[level + 1]}, n,
                                  stream));
    }
    return CRD_OK;
}

template <typename T> crd_status TrainNet<T>::merge(int level, int n)
{
    const int up = stage_up(level), stage = 3 - level;
    const Node<T> &skip = nodes[encoder_a(level) + 1], &own = nodes[up];
    return merge_launch({skip.sums, own.sums, skip.plain_scale, skip.plain_shift, own.plain_scale, own.plain_shift,
                         weights(net->point.gamma[CRD_CONV_COUNT + stage]),
                         weights(net->point.beta[CRD_CONV_COUNT + stage]), merge_scale[stage], merge_shift[stage],
                         channels(up), net->groups, (double)voxels(level), true},
                        n, stream);
}

template <typename T> crd_status TrainNet<T>::decode(bool dropout, int n)
{
    const ConvInput none = {nullptr, 0, 0};
    int below = CRD_E4B;
    for (int level = LEVELS - 1; level >= 1; level--) {
        const int up = stage_up(level), stage = 3 - level, count = channels(up), skip = encoder_a(level) + 1;
        PASS(convolve(up, input_of(nodes[below].y, level + 1, channels(below)), none, nodes[below].scale,
                      nodes[below].shift, nullptr, n));
        PASS(merge(level, n));
        PASS(convolve(up + 1, input_of(nodes[skip].y, level, count), input_of(nodes[up].y, level, count),
                      merge_scale[stage], merge_shift[stage], nullptr, n));
        PASS(convolve(up + 2, input_of(nodes[up + 1].y, level, count), none, nodes[up + 1].scale, nodes[up + 1].shift,
                      mask(dropout, CRD_MASK_D3 + stage), n));
        below = up + 2;
    }
    return CRD_OK;
}

template <typename T>
crd_status TrainNet<T>::forward(const float *input, const uint8_t *label, bool dropout, float scale, bool with_gradient,
                                int n)
{
    const int last = CRD_D1B, count = channels(last), tiles = loss_tiles<T>(size[1]);
    PASS(encode(input, mask(dropout, CRD_MASK_LATENT), n));
    PASS(decode(dropout, n));
    PASS(fold(CRD_SPATIAL, nodes[last].scale, nodes[last].shift, n));
    // The last layer's weight and bias are neighbours in the point layout.
    const HeadArguments head = {input_of(nodes[last].y, 1, count),
                                (const uint2 *)packed,
                                packed_count<T>(FOLD_HEAD, count, 1),
                                bias_classes,
                                weights(net->point.kernel[CRD_POINT]),
                                stride(),
                                1.0f,
                                nullptr,
                                size[1]};
    PASS(loss_launch<T>({head, label, scale, with_gradient ? head_gradient : nullptr, loss_partial}, n, stream));
    return loss_sum_launch({loss_partial, tiles, scale, loss_result,
                            with_gradient ? dweights(net->point.kernel[CRD_POINT]) : nullptr,
                            dweights(net->point.bias[CRD_POINT]), loss_total, stride()},
                           n, stream);
}

#define FOR_TYPE(T)                                                                                                    \
    template void TrainNet<T>::describe(const crd_net *, const int64_t[3], int64_t);                                   \
    template void TrainNet<T>::lay_out(Arena &, int64_t);                                                              \
    template int TrainNet<T>::gradient_tiles(int, int) const;                                                          \
    template crd_status TrainNet<T>::forward(const float *, const uint8_t *, bool, float, bool, int);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
