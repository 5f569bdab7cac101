// From the head back to the first convolution, as net/engine_backward.c does. The kernel that makes a gradient g of
// some values y leaves the sums of g and g * y in `partial`, for the norm that g goes through next.
//
// Three branches: the stream goes from gradient to gradient, `side` makes those of kernels from them, and `adding`
// those of biases, and the sums that `side` wants in the end. What several use is each layer's own; scratch is one
// branch's.
#include "backend/cuda/train/network.cuh"

// The gradient of what consumers saw of a layer becomes that of the convolution's result before its ReLU.
template <typename T> crd_status TrainNet<T>::through_norm(int layer, int tiles, const float *dropout_mask, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const int count = row.channels_out;
    const float2 *sums = partial;
    PASS(few_tiles(&sums, &tiles, count, few, n, stream));
    PASS(norm_back_launch({sums, tiles, count, net->groups, (double)voxels(row.level), nodes[layer].sums,
                           weights(net->point.gamma[layer]), dropout_mask, (long)net->mask_total,
                           dweights(net->point.gamma[layer]), dweights(net->point.beta[layer]), stride(), coefficients},
                          n, stream));
    return apply_launch<T>({gradient[layer], nodes[layer].y, coefficients, totals[layer], count, voxels(row.level)}, n,
                           stream);
}

// The skip's share stays as it is (the encoder applies the coefficients when it gets there); up's goes through the
// merge norm, up's own norm and its ReLU at once.
template <typename T> crd_status TrainNet<T>::through_merge(int layer, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const int number = crd_merge_number(net, row.merge), up = row.source, half = channels(up);
    const Node<T> &skip = nodes[row.skip], &own = nodes[up];
    const int64_t gamma = net->point.gamma[number], beta = net->point.beta[number];
    const float2 *sums = partial, *up_sums = up_partial;
    int tiles = back_tiles(layer, false), up_tiles = back_tiles(layer, true);
    PASS(few_tiles(&sums, &tiles, half, few, n, stream));
    PASS(few_tiles(&up_sums, &up_tiles, half, up_few, n, stream));
    PASS(merge_back_launch({sums,
                            up_sums,
                            tiles,
                            half,
                            net->groups,
                            (double)voxels(row.level),
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
                            skip_coefficients[row.merge],
                            coefficients},
                           n, stream));
    return apply_launch<T>({gradient[up], own.y, coefficients, totals[up], half, voxels(row.level)}, n, stream);
}

// The bias, and the sums of g that unfolding a shift needs. `totals` are g's (loss_total for the head's single
// channel).
template <typename T> crd_status TrainNet<T>::bias_gradient(int layer, const void *g, bool single, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const Extent &e = size[row.level];
    const int count = row.channels_out;
    PASS(single ? border_launch<float>({g, count, e, border}, n, adding)
                : border_launch<T>({g, count, e, border}, n, adding));
    return tap_sum_launch({border, single ? loss_total : totals[layer], single ? 1 : apply_tiles<T>(e.voxels(), count),
                           count, row.kernel, e, everything, tap_sums[layer], dweights(net->point.bias[layer]),
                           stride()},
                          n, adding);
}

// Kernel and bias gradients of the layer that reads the scan.
template <typename T> crd_status TrainNet<T>::first_kernel_gradient(int layer, const float *input, int n)
{
    const Extent &e = size[net->layers[layer].level];
    const int count = channels(layer);
    PASS(bias_gradient(layer, gradient[layer], false, n));
    PASS(correlate_launch<T>({input, gradient[layer], kernel_partial, count, e}, n, side));
    PASS(note_sums());
    return reduce_launch(REDUCE_CONV,
                         {kernel_partial, correlate_slots<T>(e), 1, count, nullptr, nullptr, nullptr,
                          dweights(net->point.kernel[layer]), stride()},
                         n, side);
}

// Products for all taps of a 3x3x3 kernel.
template <typename T> crd_status TrainNet<T>::correlate_all(const KernelArguments &arguments, int n)
{
    if constexpr (!PLAIN) {
        if (hopper) return hopper_kernel_gradient_launch<T>(arguments, n, side);
    }
    return kernel_gradient_launch<T, 1>(arguments, n, side);
}

// Of the others.
template <typename T> crd_status TrainNet<T>::kernel_gradient(int layer, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const int in = row.channels_in, out = row.channels_out;
    const ConvInput none = {}, own = input_of(gradient[layer], row.level, out);
    const Inputs x = inputs_of(layer);
    float *to = dweights(net->point.kernel[layer]);
    PASS(bias_gradient(layer, gradient[layer], false, n));
    if (row.kernel == 2) {
        const Extent &low = size[row.level + 1];
        PASS((kernel_gradient_launch<T, 2>({{own, none}, x.x0, kernel_partial, low}, n, side)));
        PASS(note_sums());
        return reduce_launch(REDUCE_UP,
                             {kernel_partial, kernel_slots<T, 2>(low, out, in), in, out, x.scale, x.shift,
                              tap_sums[layer], to, stride()},
                             n, side);
    }
    PASS(correlate_all({{x.x0, x.x1}, own, kernel_partial, size[row.level]}, n));
    PASS(note_sums());
    return reduce_launch(
        REDUCE_CONV,
        {kernel_partial, slots_of(size[row.level], in, out), in, out, x.scale, x.shift, tap_sums[layer], to, stride()},
        n, side);
}

template <typename T> int TrainNet<T>::share_of(int layer) const
{
    const crd_conv_layer &row = net->layers[layer];
    return row.skip != CRD_NONE ? channels(row.skip) : 0;
}

template <typename T> int TrainNet<T>::count_of(int layer, bool source) const
{
    return source ? net->layers[layer].channels_in - share_of(layer) : share_of(layer);
}

// Of a layer's kernel packed for the gradient of its source, or of its skip; for one example.
template <typename T> int64_t TrainNet<T>::back_bytes(int layer, bool source) const
{
    const crd_conv_layer row = row_of(layer);
    const int count = count_of(layer, source);
    if (row.source == CRD_SCAN || (layer == net->head && !wide())) return 0;
    if (row.kernel == 2) return source ? up_back_packed<T>(row.channels_in, row.channels_out) : 0;
    if (own_back(layer, source)) return hopper_packed_bytes(FOLD_CONV, row.channels_out, count);
    return (PLAIN ? 4 : 16) * packed_count<T>(FOLD_CONV, row.channels_out, count);
}

// All kernels that the way back needs. They depend on the weights alone, and the way forward doesn't wait for them.
template <typename T> crd_status TrainNet<T>::pack_back(int n)
{
    PASS(branch());
    for (int layer = net->head; layer >= 0; layer--) {
        const crd_conv_layer row = row_of(layer);
        const bool padded = layer == net->head; // whose kernel isn't ready yet
        if (row.source == CRD_SCAN || padded) continue;
        if (row.kernel == 2) {
            PASS(up_back_pack_launch<T>({nullptr,
                                         weights(net->point.kernel[layer]),
                                         stride(),
                                         packed_back[layer][1],
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         row.channels_in,
                                         row.channels_out,
                                         {}},
                                        n, side));
            continue;
        }
        for (bool source : {false, true}) {
            if (count_of(layer, source) == 0) continue;
            PASS(pack_flipped(layer, source, weights(net->point.kernel[layer]), stride(), n));
        }
    }
    return CRD_OK;
}

template <typename T>
crd_status TrainNet<T>::pack_flipped(int layer, bool source, const float *kernel, long kernel_stride, int n)
{
    const crd_conv_layer row = row_of(layer);
    const int out = row.channels_out, count = count_of(layer, source), first = source ? share_of(layer) : 0;
    FoldArguments fold = {flipped,
                          27L * out * count,
                          nullptr,
                          nullptr,
                          nullptr,
                          0,
                          nullptr,
                          nullptr,
                          packed_back[layer][source],
                          packed_count<T>(FOLD_CONV, out, count),
                          out,
                          count};
    PASS(flip_launch({kernel, kernel_stride, row.channels_in, out, first, count, flipped}, n, side));
    if constexpr (!PLAIN) {
        if (own_back(layer, source)) {
            fold.packed_stride = back_bytes(layer, source);
            return hopper_fold_launch<T>(FOLD_CONV, fold, hopper_slice(out, 0, count), n, side);
        }
    }
    return fold_launch<T>(FOLD_CONV, fold, n, side);
}

// The gradient of a layer's source, or of its skip, whose output is `values`.
template <typename T>
crd_status TrainNet<T>::data_gradient(int layer, bool source, const T *values, float2 *sums, T *dx, int n)
{
    const crd_conv_layer row = row_of(layer);
    const int out = row.channels_out, count = count_of(layer, source);
    const ConvInput x = input_of(gradient[layer], row.level, out);
    const void *kernel = packed_back[layer][source];
    if constexpr (!PLAIN) {
        if (own_back(layer, source)) {
            HopperArguments arguments = {{x, {}}, kernel, nullptr, nullptr, dx, sums, count, size[row.level]};
            arguments.values = values;
            return hopper_conv_launch<T>(arguments, n, stream);
        }
    }
    return conv_launch<T>({{x, {}},
                           static_cast<const uint4 *>(kernel),
                           packed_count<T>(FOLD_CONV, out, count),
                           bias_classes,
                           dx,
                           sums,
                           count,
                           size[row.level],
                           values},
                          n, stream);
}

// The gradients of what a layer read; *tiles: those of the sums in `partial`.
template <typename T> crd_status TrainNet<T>::input_gradients(int layer, int *tiles, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const Node<T> &source = nodes[row.source];
    T *to = gradient[row.source];
    if (row.kernel == 2) {
        const Extent &low = size[net->layers[row.source].level];
        *tiles = up_back_tiles<T>(low);
        return up_back_launch<T>({gradient[layer], weights(net->point.kernel[layer]), stride(), packed_back[layer][1],
                                  source.y, to, partial, row.channels_in, row.channels_out, low},
                                 n, stream);
    }
    if (row.pools) {
        const int merge = net->layers[net->layers[row.source].skipper].merge;
        // Only the values of the gradient are wanted of this one: its sums go unused.
        PASS(data_gradient(layer, true, pooled[layer], partial, pooled_gradient[layer], n));
        *tiles = pool_back_tiles<T>(size[row.level], row.channels_in);
        return pool_back_launch<T>(
            {{source.y, source.scale, source.shift, pooled_gradient[layer], row.channels_in, size[row.level]},
             to,
             skip_coefficients[merge],
             partial},
            n, stream);
    }
    *tiles = back_tiles(layer, true);
    if (row.merge == CRD_NONE) return data_gradient(layer, true, source.y, partial, to, n);
    PASS(data_gradient(layer, false, nodes[row.skip].y, partial, gradient[row.skip], n));
    PASS(data_gradient(layer, true, source.y, up_partial, to, n));
    return through_merge(layer, n);
}

template <typename T> crd_status TrainNet<T>::head_back(int n)
{
    const crd_conv_layer &row = net->layers[net->head];
    const Node<T> &source = nodes[row.source];
    const Extent &e = size[row.level];
    const int64_t kernel = net->point.kernel[net->head];
    PASS(branch());
    PASS(bias_gradient(net->head, head_gradient, true, n));
    PASS(correlate_launch<T>({head_gradient, source.y, kernel_partial, row.channels_in, e}, n, side));
    PASS(note_sums());
    PASS(reduce_launch(REDUCE_MIRRORED,
                       {kernel_partial, correlate_slots<T>(e), row.channels_in, row.channels_out, source.scale,
                        source.shift, tap_sums[net->head], dweights(kernel), stride()},
                       n, side));
    return spread_launch<T>({head_gradient, weights(kernel), stride(), nullptr, source.y, gradient[row.source], partial,
                             row.channels_in, e},
                            n, stream);
}

// As any other convolution, but that its padded kernel and bias have gradients of their own.
template <typename T> crd_status TrainNet<T>::wide_head_back(int n)
{
    const crd_conv_layer row = row_of(net->head);
    const Node<T> &source = nodes[row.source];
    const Extent &e = size[row.level];
    const int in = row.channels_in;
    const long kernel_values = (long)head_rows() * HEAD_WIDTH;
    const ConvInput none = {}, own = input_of(gradient[net->head], row.level, HEAD_WIDTH);
    PASS(branch());
    PASS(pack_flipped(net->head, true, head_kernel, kernel_values, n));
    PASS(rejoin());
    PASS(border_launch<T>({gradient[net->head], HEAD_WIDTH, e, border}, n, adding));
    PASS(tap_sum_launch(
        {border, head_totals, 1, HEAD_WIDTH, row.kernel, e, everything, tap_sums[net->head], head_dbias, HEAD_WIDTH}, n,
        adding));
    PASS(correlate_all({{output_of(row.source), none}, own, kernel_partial, e}, n));
    PASS(note_sums());
    PASS(reduce_launch(REDUCE_CONV,
                       {kernel_partial, slots_of(e, in, HEAD_WIDTH), in, HEAD_WIDTH, source.scale, source.shift,
                        tap_sums[net->head], head_dkernel, kernel_values},
                       n, side));
    PASS(unpad_launch({head_dkernel, head_dbias, head_rows(), net->classes, dweights(net->point.kernel[net->head]),
                       dweights(net->point.bias[net->head]), stride()},
                      n, side));
    return data_gradient(net->head, true, source.y, partial, gradient[row.source], n);
}

template <typename T> crd_status TrainNet<T>::backward(const float *input, bool dropout, int n)
{
    const crd_conv_layer &head = net->layers[net->head];
    PASS(rejoin()); // kernels are packed
    PASS(wide() ? wide_head_back(n) : head_back(n));
    int tiles = wide() ? back_tiles(net->head, true) : spread_tiles<T>(size[head.level]);
    for (int layer = net->head - 1; layer >= 0; layer--) {
        const crd_conv_layer &row = net->layers[layer];
        const bool merged = net->layers[row.reader].merge != CRD_NONE; // its norm is behind us, with the merge's
        if (!merged) PASS(through_norm(layer, tiles, mask_of(layer, dropout), n));
        PASS(branch());
        if (row.source == CRD_SCAN) {
            PASS(first_kernel_gradient(layer, input, n));
            break;
        }
        PASS(kernel_gradient(layer, n));
        PASS(input_gradients(layer, &tiles, n));
    }
    return rejoin();
}

#define FOR_TYPE(T)                                                                                                    \
    template crd_status TrainNet<T>::backward(const float *, bool, int);                                               \
    template crd_status TrainNet<T>::pack_back(int);                                                                   \
    template int TrainNet<T>::count_of(int, bool) const;                                                               \
    template int64_t TrainNet<T>::back_bytes(int, bool) const;
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
