#include "backend/cuda/train/network.cuh"
#include "backend/cuda/train/softmax_loss.cuh"

template <typename T>
void TrainNet<T>::describe(const crd_net *network, const int64_t chunk[3], int64_t examples, bool use_hopper)
{
    net = network;
    together = (int)examples;
    hopper = use_hopper;
    for (int level = 1; level <= net->levels; level++) {
        size[level] = {(int)(chunk[0] >> (level - 1)), (int)(chunk[1] >> (level - 1)), (int)(chunk[2] >> (level - 1))};
    }
}

template <typename T> crd_status TrainNet<T>::open()
{
    int low, high;
    CUDA_PASS(cudaDeviceGetStreamPriorityRange(&low, &high));
    CUDA_PASS(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, high)); // all else waits for it
    for (cudaStream_t *one : {&side, &adding}) CUDA_PASS(cudaStreamCreateWithPriority(one, cudaStreamNonBlocking, low));
    for (cudaEvent_t *one : {&fork, &added, &join}) CUDA_PASS(cudaEventCreateWithFlags(one, cudaEventDisableTiming));
    return CRD_OK;
}

template <typename T> void TrainNet<T>::close()
{
    for (cudaStream_t one : {stream, side, adding}) {
        if (one == nullptr) continue;
        cudaStreamSynchronize(one);
        cudaStreamDestroy(one);
    }
    for (cudaEvent_t one : {fork, added, join}) {
        if (one != nullptr) cudaEventDestroy(one);
    }
}

// What the branches do from here on comes after what the stream has done up to here,
template <typename T> crd_status TrainNet<T>::branch()
{
    CUDA_PASS(cudaEventRecord(fork, stream));
    CUDA_PASS(cudaStreamWaitEvent(side, fork, 0));
    CUDA_PASS(cudaStreamWaitEvent(adding, fork, 0));
    return CRD_OK;
}

// what `side` does after what `adding` has done,
template <typename T> crd_status TrainNet<T>::note_sums()
{
    CUDA_PASS(cudaEventRecord(added, adding));
    CUDA_PASS(cudaStreamWaitEvent(side, added, 0));
    return CRD_OK;
}

// and what the stream does after what both have done.
template <typename T> crd_status TrainNet<T>::rejoin()
{
    PASS(note_sums());
    CUDA_PASS(cudaEventRecord(join, side));
    CUDA_PASS(cudaStreamWaitEvent(stream, join, 0));
    return CRD_OK;
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

// Whether there is a kernel for this very GPU: of the layer itself, which for the head has its loss with it. Not for a
// head that is padded (own_wide_head), and not where an axis has one voxel, at which both ends are: Hopper's biases
// know one of them.
template <typename T> bool TrainNet<T>::own_kernel(int layer) const
{
    const crd_conv_layer &row = net->layers[layer];
    const Extent &e = size[row.level];
    if (!hopper || row.source == CRD_SCAN || (layer == net->head && wide())) return false;
    if (e.depth < 2 || e.height < 2 || e.width < 2) return false;
    const int second = row.merge == CRD_NONE ? 0 : channels(row.source);
    return hopper_has(fold_kind(row), row.channels_in - second, second, row.channels_out, net->groups);
}

template <typename T> bool TrainNet<T>::own_wide_head() const
{
    return hopper && wide() && hopper_softmax_loss_has(net->layers[net->head].channels_in, net->classes);
}

// Of the gradient of its source, or of its skip.
template <typename T> bool TrainNet<T>::own_back(int layer, bool source) const
{
    const crd_conv_layer row = row_of(layer);
    if (!hopper || row.source == CRD_SCAN || row.kernel == 2 || (layer == net->head && !wide())) return false;
    return hopper_has(FOLD_CONV, row.channels_out, 0, count_of(layer, source), net->groups);
}

// Of a layer's kernel as its convolution wants it, for one example.
template <typename T> int64_t TrainNet<T>::packed_bytes(int layer) const
{
    const crd_conv_layer row = row_of(layer);
    const FoldKind kind = fold_kind(row);
    if (own_kernel(layer)) return hopper_packed_bytes(kind, row.channels_in, row.channels_out);
    if (layer == net->head && own_wide_head()) return hopper_softmax_packed_bytes(net->classes);
    const int64_t unit = PLAIN ? 4 : kind == FOLD_HEAD ? 8 : 16;
    return unit * packed_count<T>(kind, row.channels_in, row.channels_out);
}

// Rows of `partial` that a layer's convolution leaves,
template <typename T> int TrainNet<T>::forward_tiles(int layer) const
{
    const crd_conv_layer row = row_of(layer);
    if (row.source == CRD_SCAN) return spread_tiles<T>(size[1]);
    if (own_kernel(layer)) {
        const int second = row.merge == CRD_NONE ? 0 : channels(row.source);
        return row.kernel == 2
                   ? up_training_rows(size[row.level], row.channels_out)
                   : conv_training_rows(size[row.level], row.channels_in - second, second, row.channels_out);
    }
    if (PLAIN) return plain_tiles(size[row.level]);
    return row.kernel == 2 ? up_tiles(size[row.level + 1]) : conv_tiles(size[row.level], row.channels_out);
}

// and that the gradient of its source, or of its skip, does.
template <typename T> int TrainNet<T>::back_tiles(int layer, bool source) const
{
    const crd_conv_layer row = row_of(layer);
    if (PLAIN) return plain_tiles(size[row.level]);
    const int count = count_of(layer, source);
    if (own_back(layer, source)) return conv_training_rows(size[row.level], row.channels_out, 0, count);
    return conv_tiles(size[row.level], count);
}

static void at_least(int64_t *most, int64_t value)
{
    if (value > *most) *most = value;
}

template <typename T> void TrainNet<T>::take_scratch(Arena &arena)
{
    int64_t packs = 0, sums = 0, biases = 0, slots = 0, kernel = 0, widest = 0;
    const int64_t n = together;
    at_least(&sums, n * spread_tiles<T>(size[1]) * net->layers[net->head].channels_in);
    for (int layer = 0; layer <= net->head; layer++) {
        const crd_conv_layer row = row_of(layer);
        const bool single = layer == net->head && !wide();
        const int level = row.level, in = row.channels_in, out = row.channels_out;
        const int64_t taps = (int64_t)row.kernel * row.kernel * row.kernel;
        at_least(&kernel, taps * in * out);
        at_least(&biases, BORDER_CLASSES * (int64_t)(in > out ? in : out));
        at_least(&widest, in > out ? in : out);
        at_least(&sums, n * (single ? 0 : forward_tiles(layer)) * out);
        tap_sums[layer] = arena.take<float>(n * taps * out);
        if (layer != net->head) totals[layer] = arena.take<float>(n * apply_tiles<T>(voxels(level), out) * out);
        for (int source = 0; source < 2; source++)
            packed_back[layer][source] = arena.take<char>(n * back_bytes(layer, source == 1));
        if (row.source == CRD_SCAN) {
            at_least(&slots, n * correlate_slots<T>(size[1]) * 27 * out);
            continue;
        }
        at_least(&packs, packed_bytes(layer));
        if (single) {
            at_least(&slots, n * correlate_slots<T>(size[1]) * 27 * in);
        } else if (row.kernel == 2) {
            at_least(&sums, n * up_back_tiles<T>(size[level + 1]) * in);
            at_least(&slots, n * kernel_slots<T, 2>(size[level + 1], out, in) * 27 * in * out);
        } else {
            for (bool source : {false, true}) {
                const int64_t count = count_of(layer, source);
                if (count > 0) at_least(&sums, n * back_tiles(layer, source) * count);
            }
            at_least(&slots, n * slots_of(size[level], in, out) * 27 * in * out);
            if (row.pools) at_least(&sums, n * pool_back_tiles<T>(size[level], in) * in);
        }
    }
    packed = arena.take<char>(n * packs);
    partial = arena.take<float2>(sums);
    up_partial = arena.take<float2>(sums);
    few = arena.take<float2>(n * FEW_TILES * widest);
    up_few = arena.take<float2>(n * FEW_TILES * widest);
    bias_classes = arena.take<float>(n * biases);
    tap_shift = arena.take<float>(n * 27 * widest);
    kernel_partial = arena.take<float>(slots);
    flipped = arena.take<float>(n * kernel);
    coefficients = arena.take<float>(n * 3 * widest);
    border = arena.take<float>(n * BORDER_CLASSES * BORDER_PARTS * widest);
    everything = arena.take<double>(n * widest);
    loss_total = arena.take<float>(n);
    loss_partial =
        arena.take<double>(n * loss_rows() * (int64_t)(wide() ? softmax_sums(net->classes) : (int)LOSS_SUMS));
    loss_result = arena.take<double>(n * LOSS_SUMS);
}

template <typename T> void TrainNet<T>::take_wide_head(Arena &arena)
{
    const int64_t n = together, values = n * voxels(1) * HEAD_WIDTH, kernel = n * head_rows() * (int64_t)HEAD_WIDTH;
    if (!own_wide_head()) nodes[net->head].y = arena.take<T>(values);
    gradient[net->head] = arena.take<T>(values);
    head_kernel = arena.take<float>(kernel);
    head_dkernel = arena.take<float>(kernel);
    head_bias = arena.take<float>(HEAD_WIDTH);
    head_dbias = arena.take<float>(n * HEAD_WIDTH);
    head_totals = arena.take<float>(n * HEAD_WIDTH);
}

template <typename T> void TrainNet<T>::lay_out(Arena &arena, int64_t sign_count)
{
    const int64_t n = together;
    point = arena.take<float>(n * net->point.total);
    point_gradient = arena.take<float>(n * net->point.total);
    masks = arena.take<float>(n * net->mask_total);
    signs = arena.take<float>(n * sign_count);
    for (int layer = net->head - 1; layer >= 0; layer--) {
        const crd_conv_layer &row = net->layers[layer];
        const int64_t values = n * voxels(row.level);
        take_node(arena, layer);
        gradient[layer] = arena.take<T>(values * row.channels_out); // its own: the branch may come to it much later
        if (row.pools) {
            pooled[layer] = arena.take<T>(values * row.channels_in);
            pooled_gradient[layer] = arena.take<T>(values * row.channels_in);
        }
        if (row.merge == CRD_NONE) continue;
        merge_scale[row.merge] = arena.take<float>(n * row.channels_in);
        merge_shift[row.merge] = arena.take<float>(n * row.channels_in);
        skip_coefficients[row.merge] = arena.take<float>(n * 3 * channels(row.skip));
    }
    if (wide())
        take_wide_head(arena);
    else
        head_gradient = arena.take<float>(n * voxels(1));
    take_scratch(arena);
}

template <typename T> crd_status TrainNet<T>::fold(int layer, const float *scale, const float *shift, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    const FoldKind kind = fold_kind(row);
    FoldArguments arguments = {weights(net->point.kernel[layer]),
                               stride(),
                               weights(net->point.bias[layer]),
                               scale,
                               shift,
                               (long)row.channels_in,
                               tap_shift,
                               bias_classes,
                               packed,
                               packed_count<T>(kind, row.channels_in, row.channels_out),
                               row.channels_in,
                               row.channels_out};
    if constexpr (!PLAIN) {
        if (own_kernel(layer)) {
            const int second = row.merge == CRD_NONE ? 0 : channels(row.source);
            arguments.packed_stride = packed_bytes(layer);
            return hopper_fold_launch<T>(kind, arguments,
                                         hopper_slice(row.channels_in - second, second, row.channels_out), n, stream);
        }
    }
    return fold_launch<T>(kind, arguments, n, stream);
}

template <typename T> crd_status TrainNet<T>::convolve(int layer, const Inputs &in, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    if constexpr (!PLAIN) {
        if (own_kernel(layer)) {
            HopperArguments arguments = {{in.x0, in.x1},
                                         packed,
                                         weights(net->point.bias[layer]),
                                         in.shift == nullptr ? nullptr : tap_shift,
                                         nodes[layer].y,
                                         partial,
                                         row.channels_out,
                                         size[row.level]};
            arguments.sums_by_channel = true;
            return row.kernel == 2 ? hopper_up_launch<T>(arguments, n, stream)
                                   : hopper_conv_launch<T>(arguments, n, stream);
        }
    }
    return walk_convolve<T>(row, {in.x0, in.x1, packed, bias_classes, nodes[layer].y, partial}, size[row.level], n,
                            stream);
}

template <typename T> int TrainNet<T>::loss_rows() const
{
    if (wide()) return own_wide_head() ? hopper_softmax_loss_rows(size[1]) : softmax_loss_tiles(size[1]);
    return own_kernel(net->head) ? hopper_loss_rows(size[1]) : loss_tiles<T>(size[1]);
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

template <typename T> crd_status TrainNet<T>::merge(const crd_conv_layer &row, int n)
{
    const Node<T> &skip = nodes[row.skip], &up = nodes[row.source];
    const int number = crd_merge_number(net, row.merge);
    return merge_launch({skip.sums, up.sums, skip.plain_scale, skip.plain_shift, up.plain_scale, up.plain_shift,
                         weights(net->point.gamma[number]), weights(net->point.beta[number]), merge_scale[row.merge],
                         merge_shift[row.merge], channels(row.source), net->groups, (double)voxels(row.level), true},
                        n, stream);
}

template <typename T> typename TrainNet<T>::Inputs TrainNet<T>::inputs_of(int layer) const
{
    const crd_conv_layer &row = net->layers[layer];
    const ConvInput none = {};
    if (row.pools) return {input_of(pooled[layer], row.level, row.channels_in), none, nullptr, nullptr};
    const Node<T> &source = nodes[row.source];
    if (row.merge == CRD_NONE) return {output_of(row.source), none, source.scale, source.shift};
    return {output_of(row.skip), output_of(row.source), merge_scale[row.merge], merge_shift[row.merge]};
}

template <typename T> crd_status TrainNet<T>::run(int layer, const float *input, bool dropout, int n)
{
    const crd_conv_layer &row = net->layers[layer];
    if (row.source == CRD_SCAN) {
        PASS(spread_launch<T>({input, weights(net->point.kernel[layer]), stride(), weights(net->point.bias[layer]),
                               nullptr, nodes[layer].y, partial, row.channels_out, size[row.level]},
                              n, stream));
        return normalise(layer, mask_of(layer, dropout), n);
    }
    if (row.pools) {
        const Node<T> &from = nodes[row.source];
        PASS(pool_train_launch<T>({from.y, from.scale, from.shift, pooled[layer], row.channels_in, size[row.level]}, n,
                                  stream));
    }
    if (row.merge != CRD_NONE) PASS(merge(row, n));
    const Inputs in = inputs_of(layer);
    PASS(fold(layer, in.scale, in.shift, n));
    PASS(convolve(layer, in, n));
    return normalise(layer, mask_of(layer, dropout), n);
}

template <typename T> crd_status TrainNet<T>::wide_loss(const uint8_t *label, const float *scale, int n)
{
    const crd_conv_layer row = row_of(net->head);
    const Node<T> &source = nodes[row.source];
    const ConvInput x = output_of(row.source);
    const Extent &e = size[row.level];
    const float *point_of = weights(net->point.kernel[net->last]); // the weights, and behind them the biases
    T *to = scale != nullptr ? gradient[net->head] : nullptr;
    FoldArguments arguments = {head_kernel,     (long)head_rows() * HEAD_WIDTH,
                               head_bias,       source.scale,
                               source.shift,    (long)row.channels_in,
                               tap_shift,       bias_classes,
                               packed,          packed_count<T>(FOLD_CONV, row.channels_in, HEAD_WIDTH),
                               row.channels_in, HEAD_WIDTH};
    if constexpr (!PLAIN) {
        if (own_wide_head()) {
            const HopperArguments conv = {{x, {}}, packed, head_bias, tap_shift, nullptr, nullptr, HEAD_WIDTH, e};
            arguments.packed_stride = hopper_softmax_packed_bytes(net->classes);
            PASS(hopper_softmax_fold_launch<T>(arguments, net->classes, n, stream));
            return hopper_softmax_loss_launch<T>(
                {conv, point_of, stride(), net->classes, label, scale, to, loss_partial}, n, stream);
        }
    }
    PASS(fold_launch<T>(FOLD_CONV, arguments, n, stream));
    PASS(walk_convolve<T>(row, {x, {}, packed, bias_classes, nodes[net->head].y, partial}, e, n, stream));
    return softmax_loss_launch<T>(
        {nodes[net->head].y, point_of, stride(), net->classes, label, scale, to, loss_partial, e}, n, stream);
}

template <typename T> crd_status TrainNet<T>::wide_head(const uint8_t *label, const float *scale, int n)
{
    const int64_t kernel = net->point.kernel[net->last], bias = net->point.bias[net->last];
    PASS(head_pad_launch({weights(net->point.kernel[net->head]), stride(), weights(net->point.bias[net->head]),
                          head_rows(), net->classes, head_kernel, head_bias},
                         n, stream));
    PASS(wide_loss(label, scale, n));
    return softmax_sum_launch({loss_partial, loss_rows(), net->classes, scale, loss_result,
                               scale != nullptr ? dweights(kernel) : nullptr, dweights(bias), head_totals, stride()},
                              n, stream);
}

template <typename T> crd_status TrainNet<T>::loss(const uint8_t *label, const float *scale, int n)
{
    const crd_conv_layer &row = net->layers[net->head];
    const ConvInput x = output_of(row.source);
    const float *point_of = weights(net->point.kernel[net->last]); // the weight, and behind it the bias
    float *to = scale != nullptr ? head_gradient : nullptr;
    if constexpr (!PLAIN) {
        if (own_kernel(net->head)) {
            const HopperArguments conv = {{x, {}},          packed,         weights(net->point.bias[net->head]),
                                          tap_shift,        nullptr,        nullptr,
                                          row.channels_out, size[row.level]};
            return hopper_loss_launch<T>({conv, point_of, stride(), label, scale, to, loss_partial}, n, stream);
        }
    }
    const HeadArguments head = {x,
                                (const uint2 *)packed,
                                packed_count<T>(FOLD_HEAD, row.channels_in, row.channels_out),
                                bias_classes,
                                point_of,
                                stride(),
                                1.0f,
                                nullptr,
                                1,
                                size[row.level]};
    return loss_launch<T>({head, label, scale, to, loss_partial}, n, stream);
}

template <typename T>
crd_status TrainNet<T>::forward(const float *input, const uint8_t *label, bool dropout, const float *scale, int n)
{
    const crd_conv_layer &row = net->layers[net->head];
    const int64_t kernel = net->point.kernel[net->last], bias = net->point.bias[net->last];
    if (scale != nullptr) PASS(pack_back(n));
    for (int layer = 0; layer < net->head; layer++) PASS(run(layer, input, dropout, n));
    if (wide()) return wide_head(label, scale, n);
    PASS(fold(net->head, nodes[row.source].scale, nodes[row.source].shift, n));
    PASS(loss(label, scale, n));
    return loss_sum_launch({loss_partial, loss_rows(), scale, loss_result,
                            scale != nullptr ? dweights(kernel) : nullptr, dweights(bias), loss_total, stride()},
                           n, stream);
}

#define FOR_TYPE(T)                                                                                                    \
    template crd_status TrainNet<T>::open();                                                                           \
    template void TrainNet<T>::close();                                                                                \
    template crd_status TrainNet<T>::branch();                                                                         \
    template crd_status TrainNet<T>::note_sums();                                                                      \
    template crd_status TrainNet<T>::rejoin();                                                                         \
    template void TrainNet<T>::describe(const crd_net *, const int64_t[3], int64_t, bool);                             \
    template void TrainNet<T>::lay_out(Arena &, int64_t);                                                              \
    template typename TrainNet<T>::Inputs TrainNet<T>::inputs_of(int) const;                                           \
    template bool TrainNet<T>::own_back(int, bool) const;                                                              \
    template int TrainNet<T>::back_tiles(int, bool) const;                                                             \
    template crd_status TrainNet<T>::forward(const float *, const uint8_t *, bool, const float *, int);
FOR_TYPE(float)
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
