/* Planning: all tensors lie in one block of memory (base/arena.h). */
#include "net/engine_internal.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "net/tensor_sharing.h"

static float *take_storage(crd_arena *arena, const int64_t size[3], int64_t channels)
{
    return crd_arena_take(arena, crd_tensor_floats(size[0], size[1], size[2], channels), sizeof(float));
}

static crd_tensor take_tensor(crd_arena *arena, const int64_t size[3], int64_t channels)
{
    float *storage = take_storage(arena, size, channels);
    if (storage == NULL) { /* counting: dimensions without data */
        return (crd_tensor){.depth = size[0], .height = size[1], .width = size[2], .channels = channels};
    }
    return crd_tensor_in(storage, size[0], size[1], size[2], channels);
}

static void take_norm(crd_arena *arena, crd_norm *norm, int channels, int groups, int64_t voxels)
{
    norm->channels = channels;
    norm->groups = groups;
    norm->voxels = (double)voxels;
    norm->sum = crd_arena_take(arena, 2 * channels,
                               sizeof(double)); /* sum and square lie together: one output of an operation */
    norm->square = norm->sum == NULL ? NULL : norm->sum + channels;
    norm->mean = crd_arena_take(arena, groups, sizeof(double));
    norm->rstd = crd_arena_take(arena, groups, sizeof(double));
    norm->scale = crd_arena_take(arena, channels, sizeof(float));
    norm->shift = crd_arena_take(arena, channels, sizeof(float));
}

static void take_node(crd_arena *arena, crd_engine *engine, int layer)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    const crd_box *frame = &engine->most.frames[layer >= engine->plan.net->decoder][row->level];
    const int owner = engine->owner[layer];
    crd_node *node = &engine->nodes[layer];
    node->storage = owner != layer ? engine->nodes[owner].storage : take_storage(arena, frame->size, row->channels_out);
    take_norm(arena, &node->norm, row->channels_out, engine->plan.net->groups, engine->voxels[row->level]);
    node->scale = crd_arena_take(arena, row->channels_out, sizeof(float));
    node->shift = crd_arena_take(arena, row->channels_out, sizeof(float));
}

static void take_merge(crd_arena *arena, crd_engine *engine, const crd_conv_layer *row)
{
    crd_merge *merge = &engine->merges[row->merge];
    const int64_t kept = engine->kept_bytes[row->merge];
    if (kept > 0) engine->kept[row->merge] = crd_arena_take(arena, kept, 1);
    take_norm(arena, &merge->norm, row->channels_in, engine->plan.net->groups, engine->voxels[row->level]);
    merge->scale = crd_arena_take(arena, row->channels_in, sizeof(float));
    merge->shift = crd_arena_take(arena, row->channels_in, sizeof(float));
}

static bool keeps_part(const crd_engine *engine)
{
    return engine->plan.keep[0] > 0;
}

/* Without gradients a tensor lives only until its consumer has run. A skip that is kept isn't read by the decoder. */
static void share_storage(crd_engine *engine)
{
    const crd_net *net = engine->plan.net;
    bool kept[CRD_MERGES_MAX];
    for (int merge = 0; merge < net->merge_count; merge++) kept[merge] = engine->kept_bytes[merge] > 0;
    crd_share_outputs(net, keeps_part(engine), kept, engine->owner); /* frames of both halves may differ */
    for (int layer = 0; layer <= net->head && engine->plan.training; layer++) engine->owner[layer] = layer;
}

static void take_activations(crd_arena *arena, crd_engine *engine)
{
    const crd_net *net = engine->plan.net;
    engine->input_storage = take_storage(arena, engine->most.input.size, 1);
    for (int layer = 0; layer <= net->head; layer++) {
        const crd_conv_layer *row = &net->layers[layer];
        if (row->pools) {
            engine->pooled_storage[layer] = take_storage(arena, engine->most.pooled[layer].size, row->channels_in);
        }
        if (row->merge != CRD_NONE) take_merge(arena, engine, row);
        take_node(arena, engine, layer);
    }
}

static void take_gradients(crd_arena *arena, crd_engine *engine)
{
    const crd_net *net = engine->plan.net;
    int owner[CRD_LAYERS_MAX];
    crd_share_gradients(net, owner);
    for (int layer = net->head; layer >= 0; layer--) {
        const crd_conv_layer *row = &net->layers[layer];
        const int64_t *size = engine->size[row->level];
        if (row->pools) engine->pooled_gradient[layer] = take_tensor(arena, size, row->channels_in);
        engine->gradient[layer] =
            owner[layer] != layer ? engine->gradient[owner[layer]] : take_tensor(arena, size, row->channels_out);
    }
}

crd_kernel_shape crd_engine_kernel_shape(const crd_engine *engine, int layer)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    crd_kernel_shape shape = {.edge = row->kernel, .channels_in = row->channels_in, .channels_out = row->channels_out};
    const crd_box *box = &engine->crop.layers[layer];
    for (int axis = 0; axis < 3; axis++) {
        shape.size[axis] = box->size[axis];
        shape.open[axis] = crd_crop_open(box, axis, engine->plan.chunk, row->level);
    }
    return shape;
}

crd_conv_size crd_engine_conv_size(const crd_engine *engine, int layer)
{
    const crd_net *net = engine->plan.net;
    const crd_conv_layer *row = &net->layers[layer];
    const int64_t *size = engine->crop.layers[layer].size;
    const int64_t first = row->skip != CRD_NONE ? net->layers[row->skip].channels_out : row->channels_in;
    return (crd_conv_size){size[0], size[1], size[2], {first, row->channels_in - first}, row->channels_out};
}

crd_engine_input crd_engine_input_of(const crd_engine *engine, int layer)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    const crd_tensor *x = engine->reads[layer];
    if (row->source == CRD_SCAN || row->pools) return (crd_engine_input){.x = {&x[0]}};
    const crd_node *source = &engine->nodes[row->source];
    if (row->merge == CRD_NONE) return (crd_engine_input){{&x[0], NULL}, source->scale, source->shift};
    const crd_merge *merge = &engine->merges[row->merge];
    return (crd_engine_input){{&x[0], &x[1]}, merge->scale, merge->shift};
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The most scratch that any operation of the plan asks for. */
static size_t plan_scratch(const crd_engine *engine)
{
    const crd_engine_plan *plan = &engine->plan;
    const int threads = crd_pool_threads(plan->pool);
    size_t most = 64;
    for (int layer = 0; layer <= plan->net->head; layer++) {
        const crd_conv_size forward = crd_engine_conv_size(engine, layer);
        const crd_conv_size backward = {
            forward.depth, forward.height, forward.width, {forward.channels_out, 0}, forward.channels_in[0]};
        const bool up = plan->net->layers[layer].kernel == 2;
        most = larger(most, plan->ops->scratch_bytes(up ? CRD_OP_UP : CRD_OP_CONV, &forward, threads));
        if (!plan->training) continue;
        most = larger(most, plan->ops->scratch_bytes(up ? CRD_OP_UP_KERNEL : CRD_OP_CONV_KERNEL, &forward, threads));
        most = larger(most, up ? plan->ops->scratch_bytes(CRD_OP_UP_DATA, &forward, threads)
                               : plan->ops->scratch_bytes(CRD_OP_CONV, &backward, threads));
    }
    return most;
}

static void take_workspace(crd_arena *arena, crd_engine *engine)
{
    int64_t kernel = 0, taps_out = 0, channels = 0;
    for (int layer = 0; layer < engine->plan.net->layer_count; layer++) {
        const crd_conv_layer *row = &engine->plan.net->layers[layer];
        const int64_t taps = (int64_t)row->kernel * row->kernel * row->kernel;
        const int64_t values = taps * row->channels_in * row->channels_out;
        if (values > kernel) kernel = values;
        if (taps * row->channels_out > taps_out) taps_out = taps * row->channels_out;
        if (row->channels_in > channels) channels = row->channels_in;
        if (row->channels_out > channels) channels = row->channels_out;
    }
    engine->folded = crd_arena_take(arena, kernel, sizeof(float));
    engine->bias_classes = crd_arena_take(arena, CRD_BORDER_CLASSES * channels, sizeof(float));
    engine->tap_shift = crd_arena_take(arena, taps_out, sizeof(float));
    if (engine->plan.training) {
        engine->flipped = crd_arena_take(arena, kernel, sizeof(float));
        engine->channel_sums = crd_arena_take(arena, 2 * channels, sizeof(double));
        engine->border_sums = crd_arena_take(arena, CRD_BORDER_CLASSES * channels, sizeof(double));
        engine->coefficients = crd_arena_take(arena, 6 * channels, sizeof(double));
        engine->apply = crd_arena_take(arena, 3 * channels, sizeof(float));
    }
    engine->scratch = crd_arena_take(arena, (int64_t)plan_scratch(engine), 1);
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_engine *engine = owner;
    take_activations(arena, engine);
    if (engine->plan.training) take_gradients(arena, engine);
    take_workspace(arena, engine);
}

static crd_status plan_sizes(crd_engine *engine, const crd_engine_plan *plan)
{
    int64_t floats;
    CRD_PASS(crd_net_check_chunk(plan->net, plan->chunk));
    CRD_PASS(crd_product(plan->chunk[0], plan->chunk[1], plan->chunk[2], &floats));
    CRD_PASS(crd_product(floats, (int64_t)plan->net->filters, 1024, &floats)); /* all that follows fits 62 bits */
    for (int axis = 0; axis < 3; axis++) {
        if (plan->keep[axis] >= 0 && plan->keep[axis] <= plan->chunk[axis] &&
            (plan->keep[axis] > 0) == (plan->keep[0] > 0) && !(plan->training && plan->keep[0] > 0))
            continue;
        return crd_fail(CRD_ERR_INTERNAL, "a part of %lld voxels of a chunk's %lld can't be kept",
                        (long long)plan->keep[axis], (long long)plan->chunk[axis]);
    }
    engine->plan = *plan;
    crd_crop_most(plan->net, plan->chunk, keeps_part(engine) ? plan->keep : plan->chunk, &engine->most);
    engine->crop = engine->most;
    for (int level = 1; level <= plan->net->levels; level++) {
        engine->voxels[level] = 1;
        for (int axis = 0; axis < 3; axis++) {
            engine->size[level][axis] = plan->chunk[axis] >> (level - 1);
            engine->voxels[level] *= engine->size[level][axis];
        }
    }
    for (int layer = 0; layer <= plan->net->head; layer++) {
        const crd_conv_layer *row = &plan->net->layers[layer];
        if (row->merge == CRD_NONE || plan->keep_from == 0 || row->level < plan->keep_from || plan->training) continue;
        const crd_conv_size size = crd_engine_conv_size(engine, layer);
        engine->kept_bytes[row->merge] = (int64_t)plan->ops->keep_bytes(&size);
    }
    share_storage(engine);
    return CRD_OK;
}

crd_status crd_engine_bytes(const crd_engine_plan *plan, int64_t *bytes)
{
    crd_engine engine;
    memset(&engine, 0, sizeof engine);
    CRD_PASS(plan_sizes(&engine, plan));
    *bytes = crd_arena_count(lay_out, &engine) + (int64_t)sizeof engine;
    return CRD_OK;
}

crd_status crd_engine_create(const crd_engine_plan *plan, crd_engine **out)
{
    crd_status status = CRD_OK;
    crd_engine *engine = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *engine, "the network's plan", &engine));
    CRD_TRY(plan_sizes(engine, plan));
    CRD_TRY(crd_arena_carve(lay_out, engine, "the network's activations", &engine->memory));
    const int64_t *keep = keeps_part(engine) ? plan->keep : plan->chunk;
    crd_engine_keep(engine, &(crd_box){{0, 0, 0}, {keep[0], keep[1], keep[2]}});
    *out = engine;
    engine = NULL;
done:
    crd_engine_free(&engine);
    return status;
}

void crd_engine_free(crd_engine **engine)
{
    if (*engine == NULL) return;
    crd_free(&(*engine)->memory);
    crd_free(engine);
}

void crd_engine_encode(crd_engine *engine, const float *weights, const float *input)
{
    crd_engine_forward_encoder(engine, weights, input);
}

void crd_engine_decode(crd_engine *engine, const float *decoder_weights, const float *masks, float inverse_temperature,
                       float *probability)
{
    const crd_net *net = engine->plan.net;
    const int64_t first = crd_decoder_offset(net);
    const float *weight = decoder_weights + (net->point.kernel[net->last] - first);
    const float *bias = decoder_weights + (net->point.bias[net->last] - first);
    const crd_tensor *x = &engine->nodes[net->head].y;
    crd_engine_forward_decoder(engine, decoder_weights, masks);
    if (net->classes == 2) {
        engine->plan.ops->head_probability(engine->plan.pool, x, *weight, *bias, inverse_temperature, probability);
    } else {
        engine->plan.ops->softmax_probability(engine->plan.pool, x, weight, bias, inverse_temperature, probability);
    }
}

static bool head_dead(const crd_engine *engine)
{
    const crd_norm *head = &engine->nodes[engine->plan.net->head].norm;
    for (int c = 0; c < head->channels; c++)
        if (!(head->sum[c] <= 0.0)) return false;
    return true;
}

/* The head against the label: two classes. */
static void sigmoid_loss(crd_engine *engine, const float *weights, const uint8_t *label, float scale, float *gradient,
                         crd_loss *loss)
{
    const crd_net *net = engine->plan.net;
    const int64_t kernel = net->point.kernel[net->last], bias = net->point.bias[net->last];
    double result[5];
    engine->plan.ops->head_loss(engine->plan.pool, &engine->nodes[net->head].y, weights[kernel], weights[bias], label,
                                scale, gradient == NULL ? NULL : &engine->gradient[net->head], result);
    loss->bce_sum = result[0];
    loss->labelled = (int64_t)result[1];
    loss->correct = (int64_t)result[4];
    if (gradient == NULL) return;
    gradient[kernel] = (float)result[2];
    gradient[bias] = (float)result[3];
}

/* More than two. */
static void softmax_loss(crd_engine *engine, const float *weights, const uint8_t *label, float scale, float *gradient,
                         crd_loss *loss)
{
    const crd_net *net = engine->plan.net;
    const int64_t kernel = net->point.kernel[net->last], bias = net->point.bias[net->last], classes = net->classes;
    double result[CRD_SOFTMAX_RESULTS];
    engine->plan.ops->softmax_loss(engine->plan.pool, &engine->nodes[net->head].y, weights + kernel, weights + bias,
                                   label, scale, gradient == NULL ? NULL : &engine->gradient[net->head], result);
    loss->bce_sum = result[0];
    loss->labelled = (int64_t)result[1];
    loss->correct = (int64_t)result[2];
    if (gradient == NULL) return;
    for (int64_t i = 0; i < classes * classes; i++) gradient[kernel + i] = (float)result[3 + i];
    for (int64_t i = 0; i < classes; i++) gradient[bias + i] = (float)result[3 + classes * classes + i];
}

void crd_engine_loss(crd_engine *engine, const float *weights, const float *masks, const float *input,
                     const uint8_t *label, float scale, float *gradient, crd_loss *loss)
{
    const crd_net *net = engine->plan.net;
    crd_engine_forward_encoder(engine, weights, input);
    crd_engine_forward_decoder(engine, weights + crd_decoder_offset(net), masks);
    (net->classes == 2 ? sigmoid_loss : softmax_loss)(engine, weights, label, scale, gradient, loss);
    loss->head_dead = head_dead(engine);
    if (gradient != NULL) crd_engine_backward(engine, weights, masks, gradient);
}
