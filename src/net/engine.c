/* Planning: every size is worked out first, then one block of memory is taken and cut up. The same walk does both: with
 * no memory behind it, it only counts. */
#include "base/assert.h"
#include "net/engine_internal.h"

#include <string.h>

#include "base/memory.h"

typedef struct crd_arena {
    char *base; /* NULL while counting */
    int64_t used;
} crd_arena;

static void *take(crd_arena *arena, int64_t count, size_t size)
{
    void *pointer = arena->base == NULL ? NULL : arena->base + arena->used;
    arena->used += (count * (int64_t)size + 63) / 64 * 64;
    return pointer;
}

static crd_tensor take_tensor(crd_arena *arena, const int64_t size[3], int64_t channels)
{
    float *storage = take(arena, crd_tensor_floats(size[0], size[1], size[2], channels), sizeof(float));
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
    norm->sum = take(arena, 2 * channels, sizeof(double)); /* sum and square lie together: one output of an operation */
    norm->square = norm->sum == NULL ? NULL : norm->sum + channels;
    norm->mean = take(arena, groups, sizeof(double));
    norm->rstd = take(arena, groups, sizeof(double));
    norm->scale = take(arena, channels, sizeof(float));
    norm->shift = take(arena, channels, sizeof(float));
}

static void take_node(crd_arena *arena, crd_engine *engine, int layer, const crd_tensor *shared)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    crd_node *node = &engine->nodes[layer];
    node->y = shared != NULL ? *shared : take_tensor(arena, engine->size[row->level], row->channels_out);
    take_norm(arena, &node->norm, row->channels_out, engine->plan.net->groups, engine->voxels[row->level]);
    node->scale = take(arena, row->channels_out, sizeof(float));
    node->shift = take(arena, row->channels_out, sizeof(float));
}

/* Without gradients a tensor lives only until its consumer has run, so encoder a lends its room to decoder a, and
 * up to decoder b, at the same level; and the skip lends its own to up, where what is kept of it takes its place. */
static void take_activations(crd_arena *arena, crd_engine *engine)
{
    const bool training = engine->plan.training;
    engine->input = take_tensor(arena, engine->size[1], 1);
    for (int level = 1; level <= CRD_LEVELS; level++) {
        const int a = crd_encoder_a(level);
        take_node(arena, engine, a, NULL);
        take_node(arena, engine, a + 1, NULL);
        if (level < CRD_LEVELS) {
            engine->pooled[level + 1] =
                take_tensor(arena, engine->size[level + 1], engine->plan.net->layers[a + 1].channels_out);
        }
    }
    for (int level = CRD_LEVELS - 1; level >= 1; level--) {
        const int up = crd_stage_up(level);
        const crd_node *encoder = &engine->nodes[crd_encoder_a(level)]; /* a, b */
        crd_merge *merge = &engine->merges[3 - level];
        const int channels = engine->plan.net->layers[up + 1].channels_in;
        const bool keeps = engine->kept_bytes[level] > 0;
        if (keeps) engine->kept[level] = take(arena, engine->kept_bytes[level], 1);
        take_node(arena, engine, up, keeps ? &encoder[1].y : NULL);
        take_node(arena, engine, up + 1, training ? NULL : &encoder[0].y);
        take_node(arena, engine, up + 2, training ? NULL : &engine->nodes[up].y);
        take_norm(arena, &merge->norm, channels, engine->plan.net->groups, engine->voxels[level]);
        merge->scale = take(arena, channels, sizeof(float));
        merge->shift = take(arena, channels, sizeof(float));
    }
    take_node(arena, engine, CRD_SPATIAL, NULL);
}

static void take_gradients(crd_arena *arena, crd_engine *engine)
{
    for (int level = 1; level <= CRD_LEVELS; level++) {
        const int64_t channels = engine->plan.net->layers[crd_encoder_a(level)].channels_out;
        for (int i = 0; i < (level == CRD_LEVELS ? 2 : 3); i++) {
            engine->gradient[level][i] = take_tensor(arena, engine->size[level], channels);
        }
        if (level > 1) engine->pooled_gradient[level] = take_tensor(arena, engine->size[level], channels / 2);
    }
    engine->head_gradient = take_tensor(arena, engine->size[1], 1);
}

crd_kernel_shape crd_engine_kernel_shape(const crd_engine *engine, int layer)
{
    const crd_conv_layer *row = &engine->plan.net->layers[layer];
    crd_kernel_shape shape = {.edge = row->kernel, .channels_in = row->channels_in, .channels_out = row->channels_out};
    memcpy(shape.size, engine->size[row->level], sizeof shape.size);
    return shape;
}

crd_conv_size crd_engine_merge_size(const crd_engine *engine, int level)
{
    const crd_conv_layer *row = &engine->plan.net->layers[crd_stage_up(level) + 1];
    const int64_t *size = engine->size[level], half = row->channels_in / 2;
    return (crd_conv_size){size[0], size[1], size[2], {half, half}, row->channels_out};
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
    for (int layer = 0; layer < CRD_POINT; layer++) {
        const crd_conv_layer *row = &plan->net->layers[layer];
        const int64_t *size = engine->size[row->level];
        const bool two = layer == CRD_D3A || layer == CRD_D2A || layer == CRD_D1A;
        const int64_t first = two ? row->channels_in / 2 : row->channels_in;
        const crd_conv_size forward = {size[0], size[1], size[2], {first, row->channels_in - first}, row->channels_out};
        const crd_conv_size backward = {size[0], size[1], size[2], {row->channels_out, 0}, first};
        const bool up = row->kernel == 2;
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
    for (int layer = 0; layer < CRD_CONV_COUNT; layer++) {
        const crd_conv_layer *row = &engine->plan.net->layers[layer];
        const int64_t taps = (int64_t)row->kernel * row->kernel * row->kernel;
        const int64_t values = taps * row->channels_in * row->channels_out;
        if (values > kernel) kernel = values;
        if (taps * row->channels_out > taps_out) taps_out = taps * row->channels_out;
        if (row->channels_in > channels) channels = row->channels_in;
        if (row->channels_out > channels) channels = row->channels_out;
    }
    engine->folded = take(arena, kernel, sizeof(float));
    engine->bias_classes = take(arena, CRD_BORDER_CLASSES * channels, sizeof(float));
    engine->tap_shift = take(arena, taps_out, sizeof(float));
    if (engine->plan.training) {
        engine->flipped = take(arena, kernel, sizeof(float));
        engine->channel_sums = take(arena, 2 * channels, sizeof(double));
        engine->border_sums = take(arena, CRD_BORDER_CLASSES * channels, sizeof(double));
        engine->coefficients = take(arena, 6 * channels, sizeof(double));
        engine->apply = take(arena, 3 * channels, sizeof(float));
    }
    engine->scratch = take(arena, (int64_t)plan_scratch(engine), 1);
}

static int64_t lay_out(crd_engine *engine, char *memory)
{
    crd_arena arena = {.base = memory};
    take_activations(&arena, engine);
    if (engine->plan.training) take_gradients(&arena, engine);
    take_workspace(&arena, engine);
    return arena.used;
}

static crd_status plan_sizes(crd_engine *engine, const crd_engine_plan *plan)
{
    int64_t floats;
    CRD_PASS(crd_net_check_chunk(plan->chunk));
    CRD_PASS(crd_product(plan->chunk[0], plan->chunk[1], plan->chunk[2], &floats));
    CRD_PASS(crd_product(floats, (int64_t)plan->net->filters, 1024, &floats)); /* all that follows fits 62 bits */
    engine->plan = *plan;
    for (int level = 1; level <= CRD_LEVELS; level++) {
        engine->voxels[level] = 1;
        for (int axis = 0; axis < 3; axis++) {
            engine->size[level][axis] = plan->chunk[axis] >> (level - 1);
            engine->voxels[level] *= engine->size[level][axis];
        }
    }
    for (int level = plan->keep_from; level > 0 && level < CRD_LEVELS && !plan->training; level++) {
        const crd_conv_size size = crd_engine_merge_size(engine, level);
        engine->kept_bytes[level] = (int64_t)plan->ops->keep_bytes(&size);
    }
    return CRD_OK;
}

crd_status crd_engine_bytes(const crd_engine_plan *plan, int64_t *bytes)
{
    crd_engine engine;
    memset(&engine, 0, sizeof engine);
    CRD_PASS(plan_sizes(&engine, plan));
    *bytes = lay_out(&engine, NULL) + (int64_t)sizeof engine;
    return CRD_OK;
}

crd_status crd_engine_create(const crd_engine_plan *plan, crd_engine **out)
{
    crd_status status = CRD_OK;
    crd_engine *engine = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *engine, "the network's plan", &engine));
    CRD_TRY(plan_sizes(engine, plan));
    const int64_t bytes = lay_out(engine, NULL);
    CRD_TRY(crd_alloc(bytes, 1, "the network's activations", &engine->memory));
    const int64_t carved = lay_out(engine, engine->memory);
    CRD_ASSERT(carved == bytes);
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
    const crd_layout *layout = &engine->plan.net->point;
    const int64_t first = crd_decoder_offset(engine->plan.net);
    crd_engine_forward_decoder(engine, decoder_weights, masks);
    engine->plan.ops->head_probability(
        engine->plan.pool, &engine->nodes[CRD_SPATIAL].y, decoder_weights[layout->kernel[CRD_POINT] - first],
        decoder_weights[layout->bias[CRD_POINT] - first], inverse_temperature, probability);
}

void crd_engine_loss(crd_engine *engine, const float *weights, const float *masks, const float *input,
                     const uint8_t *label, float scale, float *gradient, crd_loss *loss)
{
    const crd_layout *layout = &engine->plan.net->point;
    const crd_tensor *head = &engine->nodes[CRD_SPATIAL].y;
    double result[5];
    crd_engine_forward_encoder(engine, weights, input);
    crd_engine_forward_decoder(engine, weights + crd_decoder_offset(engine->plan.net), masks);
    engine->plan.ops->head_loss(engine->plan.pool, head, weights[layout->kernel[CRD_POINT]],
                                weights[layout->bias[CRD_POINT]], label, scale,
                                gradient == NULL ? NULL : &engine->head_gradient, result);
    loss->bce_sum = result[0];
    loss->labelled = (int64_t)result[1];
    loss->correct = (int64_t)result[4];
    loss->head_dead = engine->nodes[CRD_SPATIAL].norm.sum[0] <= 0.0;
    if (gradient == NULL) return;
    gradient[layout->kernel[CRD_POINT]] = (float)result[2];
    gradient[layout->bias[CRD_POINT]] = (float)result[3];
    crd_engine_backward(engine, weights, masks, gradient);
}
