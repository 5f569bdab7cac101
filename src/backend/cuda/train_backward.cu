// From the head back to the first convolution; net/engine_backward.c says which tensor holds what.
#include "backend/cuda/train_net.cuh"

// g, the gradient of what consumers saw of a layer, becomes that of the convolution's result before its ReLU. `sums`
// are those of g and g * y, as the kernel that made g left them.
template <typename T>
crd_status TrainNet<T>::through_norm(int layer, const float2 *sums, int tiles, const float *dropout_mask, T *g, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const int count = row.channels_out;
    PASS(few_tiles(&sums, &tiles, count, few, n, stream));
    PASS(norm_back_launch({sums, tiles, count, net->groups, (double)voxels(row.level), nodes[layer].sums,
                           weights(net->point.gamma[layer]), dropout_mask, (long)net->mask_total,
                           dweights(net->point.gamma[layer]), dweights(net->point.beta[layer]), stride(), coefficients},
                          n, stream));
    return apply_launch<T>({g, nodes[layer].y, coefficients, totals, count, voxels(row.level)}, n, stream);
}

// R takes the skip's share as it is (the encoder applies the coefficients when it gets there); P goes through the merge
// norm, up's own norm and its ReLU at once.
template <typename T> crd_status TrainNet<T>::through_merge(int level, int n)
{
    const int stage = 3 - level, up = stage_up(level), half = channels(up);
    const Node<T> &skip = nodes[encoder_a(level) + 1], &own = nodes[up];
    const int64_t gamma = net->point.gamma[CRD_CONV_COUNT + stage], beta = net->point.beta[CRD_CONV_COUNT + stage];
    const float2 *sums = partial, *up_sums = up_partial;
    int tiles = gradient_tiles(level, half), up_tiles = tiles;
    PASS(few_tiles(&sums, &tiles, half, few, n, stream));
    PASS(few_tiles(&up_sums, &up_tiles, half, up_few, n, stream));
    PASS(merge_back_launch({sums,
                            up_sums,
                            tiles,
                            half,
                            net->groups,
                            (double)voxels(level),
                            skip.sums,
                            own.sums,
                            skip.plain_scale,
                            skip.plain_shift,
                            own.plain_scale,
                            own.plain_shift,
                            weights(gamma),
                            weights(net->point.gamma[up]),
                            dweights(gamma),
                            dweights(beta),
                            dweights(net->point.gamma[up]),
                            dweights(net->point.beta[up]),
                            stride(),
                            skip_coefficients[level],
                            coefficients},
                           n, stream));
    return apply_launch<T>({gradient[level][P], own.y, coefficients, totals, half, voxels(level)}, n, stream);
}

// The bias, and the sums of g that unfolding a shift needs. `totals` are g's (loss_total for the head's single
// channel).
template <typename T> crd_status TrainNet<T>::bias_gradient(int layer, const void *g, bool single, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const Extent &e = size[row.level];
    const int count = row.channels_out;
    PASS(single ? border_launch<float>({g, count, e, border}, n, stream)
                : border_launch<T>({g, count, e, border}, n, stream));
    return tap_sum_launch({border, single ? loss_total : totals, single ? 1 : apply_tiles<T>(e.voxels(), count), count,
                           row.kernel, e, everything, tap_sums, dweights(net->point.bias[layer]), stride()},
                          n, stream);
}

// Kernel and bias gradients of a layer whose input was scale * [x0, x1] + shift.
template <typename T>
crd_status TrainNet<T>::kernel_gradient(int layer, ConvInput x0, ConvInput x1, const float *scale, const float *shift,
                                        const T *dy, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const int in = row.channels_in, out = row.channels_out;
    const ConvInput none = {nullptr, 0, 0}, own = input_of(dy, row.level, out);
    float *to = dweights(net->point.kernel[layer]);
    PASS(bias_gradient(layer, dy, false, n));
    if (row.kernel == 2) {
        const Extent &low = size[row.level + 1];
        PASS((kernel_gradient_launch<T, 2>({{own, none}, x0, kernel_partial, low}, n, stream)));
        return reduce_launch(
            REDUCE_UP,
            {kernel_partial, kernel_slots<T, 2>(low, out, in), in, out, scale, shift, tap_sums, to, stride()}, n,
            stream);
    }
    PASS((kernel_gradient_launch<T, 1>({{x0, x1}, own, kernel_partial, size[row.level]}, n, stream)));
    return reduce_launch(
        REDUCE_CONV,
        {kernel_partial, kernel_slots<T, 1>(size[row.level], in, out), in, out, scale, shift, tap_sums, to, stride()},
        n, stream);
}

// The gradient of input channels [first, first + count), which are those of a layer with the output `values`.
template <typename T>
crd_status TrainNet<T>::data_gradient(int layer, const T *dy, int first, int count, const T *values, float2 *sums,
                                      T *dx, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const int out = row.channels_out;
    const long packed_stride = packed_count<T>(FOLD_CONV, out, count);
    PASS(flip_launch({weights(net->point.kernel[layer]), stride(), row.channels_in, out, first, count, flipped}, n,
                     stream));
    PASS(fold_launch<T>(FOLD_CONV,
                        {flipped, 27L * out * count, nullptr, nullptr, nullptr, 0, tap_shift, bias_classes, packed,
                         packed_stride, out, count, size[row.level]},
                        n, stream));
    return conv_launch<T>({{input_of(dy, row.level, out), {nullptr, 0, 0}},
                           (const uint4 *)packed,
                           packed_stride,
                           bias_classes,
                           dx,
                           sums,
                           count,
                           size[row.level],
                           values},
                          n, stream);
}

template <typename T> crd_status TrainNet<T>::head_back(int n)
{
    const int last = CRD_D1B, count = channels(last);
    const Node<T> &node = nodes[last];
    PASS(bias_gradient(CRD_SPATIAL, head_gradient, true, n));
    PASS(correlate_launch<T>({head_gradient, node.y, kernel_partial, count, size[1]}, n, stream));
    PASS(reduce_launch(REDUCE_MIRRORED,
                       {kernel_partial, correlate_slots<T>(size[1]), count, 1, node.scale, node.shift, tap_sums,
                        dweights(net->point.kernel[CRD_SPATIAL]), stride()},
                       n, stream));
    return spread_launch<T>({head_gradient, weights(net->point.kernel[CRD_SPATIAL]), stride(), nullptr, node.y,
                             gradient[1][P], partial, count, size[1]},
                            n, stream);
}

template <typename T> crd_status TrainNet<T>::decoder_stage(int level, bool dropout, int n)
{
    const int up = stage_up(level), stage = 3 - level, count = channels(up);
    const int below = level == LEVELS - 1 ? (int)CRD_E4B : up - 1, skip = encoder_a(level) + 1;
    const Node<T> &a = nodes[up + 1], &source = nodes[below];
    const ConvInput none = {nullptr, 0, 0};
    T *p = gradient[level][P], *q = gradient[level][Q], *r = gradient[level][R];
    const int tiles = level == 1 ? spread_tiles<T>(size[1]) : up_back_tiles<T>(size[level]);

    PASS(through_norm(up + 2, partial, tiles, mask(dropout, CRD_MASK_D3 + stage), p, n));
    PASS(kernel_gradient(up + 2, input_of(a.y, level, count), none, a.scale, a.shift, p, n));
    PASS(data_gradient(up + 2, p, 0, count, a.y, partial, q, n));

    PASS(through_norm(up + 1, partial, gradient_tiles(level, count), nullptr, q, n));
    PASS(kernel_gradient(up + 1, input_of(nodes[skip].y, level, count), input_of(nodes[up].y, level, count),
                         merge_scale[stage], merge_shift[stage], q, n));
    PASS(data_gradient(up + 1, q, 0, count, nodes[skip].y, partial, r, n));
    PASS(data_gradient(up + 1, q, count, count, nodes[up].y, up_partial, p, n));

    PASS(through_merge(level, n));
    PASS(kernel_gradient(up, input_of(source.y, level + 1, channels(below)), none, source.scale, source.shift, p, n));
    return up_back_launch<T>({p, weights(net->point.kernel[up]), stride(), packed, source.y, gradient[level + 1][P],
                              partial, channels(below), count, size[level + 1]},
                             n, stream);
}

// g is the gradient of the level's output; `sums` as above. At its end `partial` has those of the level above's.
template <typename T>
crd_status TrainNet<T>::encoder_level(int level, const float *input, const float *dropout_mask, const float2 *sums,
                                      int tiles, T *g, T *spare, int n)
{
    const int a = encoder_a(level), count = channels(a);
    const Node<T> &first = nodes[a];
    const ConvInput none = {nullptr, 0, 0};
    PASS(through_norm(a + 1, sums, tiles, dropout_mask, g, n));
    PASS(kernel_gradient(a + 1, input_of(first.y, level, count), none, first.scale, first.shift, g, n));
    PASS(data_gradient(a + 1, g, 0, count, first.y, partial, spare, n));
    PASS(through_norm(a, partial, gradient_tiles(level, count), nullptr, spare, n));
    if (level == 1) {
        PASS(bias_gradient(a, spare, false, n));
        PASS(correlate_launch<T>({input, spare, kernel_partial, count, size[1]}, n, stream));
        return reduce_launch(REDUCE_CONV,
                             {kernel_partial, correlate_slots<T>(size[1]), 1, count, nullptr, nullptr, nullptr,
                              dweights(net->point.kernel[a]), stride()},
                             n, stream);
    }
    PASS(kernel_gradient(a, input_of(pooled[level], level, count / 2), none, nullptr, nullptr, spare, n));
    // Only the values of the gradient are wanted of this one: its sums go unused.
    PASS(data_gradient(a, spare, 0, count / 2, pooled[level], partial, pooled_gradient[level], n));
    const Node<T> &above = nodes[a - 1];
    return pool_back_launch<T>({{above.y, above.scale, above.shift, pooled_gradient[level], count / 2, size[level]},
                                gradient[level - 1][R],
                                skip_coefficients[level - 1],
                                partial},
                               n, stream);
}

template <typename T> crd_status TrainNet<T>::backward(const float *input, bool dropout, int n)
{
    PASS(head_back(n));
    for (int level = 1; level < LEVELS; level++) PASS(decoder_stage(level, dropout, n));
    PASS(encoder_level(LEVELS, input, mask(dropout, CRD_MASK_LATENT), partial, up_back_tiles<T>(size[LEVELS]),
                       gradient[LEVELS][P], gradient[LEVELS][Q], n));
    for (int level = LEVELS - 1; level >= 1; level--) {
        PASS(encoder_level(level, input, nullptr, partial,
                           pool_back_tiles<T>(size[level + 1], channels(encoder_a(level))), gradient[level][R],
                           gradient[level][P], n));
    }
    return CRD_OK;
}

#define FOR_TYPE(T) template crd_status TrainNet<T>::backward(const float *, bool, int);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
