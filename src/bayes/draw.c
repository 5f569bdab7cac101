#include "bayes/draw.h"

#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"
#include "base/random/philox.h"

struct crd_noise_source {
    const crd_posterior *posterior;
    float *eps;                /* [weights] */
    float *sign_in, *sign_out; /* [channels_in], [channels_out] */
    void *memory;              /* one block behind all of the above */
    crd_noise noise;           /* what the last call gave out */
    crd_range filled;          /* blocks of eps that hold: */
    uint64_t seed;
    uint32_t step, example;
};

static crd_range point_blocks_of(const crd_posterior *posterior, const crd_posterior_part *part)
{
    return part != NULL ? part->point_blocks : (crd_range){0, posterior->point_block_count};
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_noise_source *source = owner;
    source->eps = crd_arena_take(arena, source->posterior->weights, sizeof(float));
    source->sign_in = crd_arena_take(arena, source->posterior->channels_in, sizeof(float));
    source->sign_out = crd_arena_take(arena, source->posterior->channels_out, sizeof(float));
}

int64_t crd_draw_bytes(const crd_net *net)
{
    crd_posterior posterior;
    crd_noise_source source = {.posterior = &posterior};
    crd_posterior_measure(net, &posterior);
    return crd_posterior_bytes(&posterior) + (int64_t)sizeof source + crd_arena_count(lay_out, &source);
}

crd_status crd_noise_source_create(const crd_posterior *posterior, crd_noise_source **out)
{
    crd_status status = CRD_OK;
    crd_noise_source *source = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *source, "the noise", &source));
    source->posterior = posterior;
    CRD_TRY(crd_arena_carve(lay_out, source, "the noise of the weights", &source->memory));
    *out = source;
    source = NULL;
done:
    crd_noise_source_free(&source);
    return status;
}

void crd_noise_source_free(crd_noise_source **source)
{
    if (*source == NULL) return;
    crd_free(&(*source)->memory);
    crd_free(source);
}

static void fill_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const crd_noise_source *source = context;
    const crd_bayes_block *block = &source->posterior->blocks[source->filled.begin + item];
    const crd_stream stream = {.seed = source->seed,
                               .layer = (uint32_t)block->layer->number,
                               .purpose = CRD_PURPOSE_WEIGHT_NOISE,
                               .step = source->step,
                               .example = source->example};
    crd_random_fill_normal(&stream, (uint64_t)block->first, block->count,
                           source->eps + block->layer->first + block->first);
}

static void fill_signs(uint64_t seed, int layer, enum crd_purpose purpose, uint32_t step, uint32_t example,
                       int64_t count, float *signs)
{
    const crd_stream stream = {
        .seed = seed, .layer = (uint32_t)layer, .purpose = purpose, .step = step, .example = example};
    for (int64_t i = 0; i < count; i++) signs[i] = crd_random_sign(&stream, (uint64_t)i);
}

/* Fills eps for these blocks, unless it is there from an earlier call. */
static void fill_eps(crd_noise_source *source, crd_pool *pool, crd_range blocks, uint64_t seed, uint32_t step,
                     uint32_t example)
{
    const bool same = source->seed == seed && source->step == step && source->example == example;
    if (same && blocks.begin >= source->filled.begin && blocks.end <= source->filled.end) return;
    source->seed = seed;
    source->step = step;
    source->example = example;
    source->filled = blocks;
    crd_pool_run(pool, blocks.end - blocks.begin, fill_block, source);
}

const crd_noise *crd_noise_draw(crd_noise_source *source, crd_pool *pool, const crd_posterior_part *part,
                                crd_estimator estimator, uint64_t seed, uint32_t step, uint32_t example)
{
    const crd_posterior *posterior = source->posterior;
    memset(&source->noise, 0, sizeof source->noise);
    if (estimator == CRD_MEAN) return &source->noise;

    fill_eps(source, pool, crd_posterior_part_blocks(posterior, part), seed, step,
             estimator == CRD_FLIPOUT ? 0 : example);
    for (int i = 0; i < posterior->layer_count; i++) {
        const crd_bayes_layer *layer = &posterior->layers[i];
        CRD_ASSERT(layer->number >= 0 && layer->number < posterior->net->layer_count && layer->first >= 0);
        source->noise.eps[layer->number] = source->eps + layer->first;
        if (estimator != CRD_FLIPOUT) continue;
        float *in = source->sign_in + layer->first_in, *out = source->sign_out + layer->first_out;
        fill_signs(seed, layer->number, CRD_PURPOSE_SIGN_IN, step, example, layer->channels_in, in);
        fill_signs(seed, layer->number, CRD_PURPOSE_SIGN_OUT, step, example, layer->channels_out, out);
        source->noise.sign_in[layer->number] = in;
        source->noise.sign_out[layer->number] = out;
    }
    return &source->noise;
}

typedef struct draw_job {
    const crd_posterior *posterior;
    const crd_noise *noise;
    const float *from;          /* parameters of the model, or the gradient of the point weights */
    float *to;                  /* point weights, or the gradient of the model */
    int64_t block, point_block; /* the first ones */
    int64_t point;              /* the place in the point layout where the gradient begins */
} draw_job;

static void copy_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const draw_job *job = context;
    const crd_point_block *block = &job->posterior->point_blocks[item];
    memcpy(job->to + block->point, job->from + block->model, (size_t)block->count * sizeof(float));
}

void crd_draw_points(const crd_posterior *posterior, crd_pool *pool, const float *model, float *point)
{
    draw_job job = {.posterior = posterior, .from = model, .to = point};
    crd_pool_run(pool, posterior->point_block_count, copy_block, &job);
}

/* One row of a kernel: the weights of one tap and one input channel. NULL: all signs are 1. */
typedef struct noise_row {
    const float *eps;
    const float *sign_out;
    float sign_in;
} noise_row;

static noise_row noise_of_row(const crd_noise *noise, const crd_bayes_layer *layer, int64_t first)
{
    const float *sign_in = noise->sign_in[layer->number];
    return (noise_row){
        .eps = noise->eps[layer->number] + first,
        .sign_out = noise->sign_out[layer->number],
        .sign_in = sign_in != NULL ? sign_in[first / layer->channels_out % layer->channels_in] : 1,
    };
}

static void draw_row(int64_t count, const float *restrict loc, const float *restrict sigma, const noise_row *row,
                     float *restrict kernel)
{
    const float *restrict eps = row->eps, *restrict sign_out = row->sign_out;
    const float sign_in = row->sign_in;
    if (sign_out != NULL)
        for (int64_t o = 0; o < count; o++) kernel[o] = loc[o] + sign_in * (sigma[o] * eps[o]) * sign_out[o];
    else
        for (int64_t o = 0; o < count; o++) kernel[o] = loc[o] + sign_in * (sigma[o] * eps[o]);
}

static void draw_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const draw_job *job = context;
    const crd_bayes_block *block = &job->posterior->blocks[item];
    const crd_bayes_layer *layer = block->layer;
    const float *loc = job->from + layer->loc, *sigma = job->posterior->sigma + layer->first;
    float *kernel = job->to + layer->kernel;
    if (job->noise->eps[layer->number] == NULL) {
        memcpy(kernel + block->first, loc + block->first, (size_t)block->count * sizeof(float));
        return;
    }
    for (int64_t i = block->first; i < block->first + block->count; i += layer->channels_out) {
        const noise_row row = noise_of_row(job->noise, layer, i);
        draw_row(layer->channels_out, loc + i, sigma + i, &row, kernel + i);
    }
}

void crd_draw_kernels(const crd_posterior *posterior, crd_pool *pool, const float *model, const crd_noise *noise,
                      float *point)
{
    draw_job job = {.posterior = posterior, .noise = noise, .from = model, .to = point};
    crd_pool_run(pool, posterior->block_count, draw_block, &job);
}

static void add(int64_t count, const float *restrict from, float *restrict to)
{
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}

static void add_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const draw_job *job = context;
    const crd_point_block *block = &job->posterior->point_blocks[job->point_block + item];
    add(block->count, job->from + (block->point - job->point), job->to + block->model);
}

static void add_rho_row(int64_t count, const float *restrict gradient, const float *restrict slope,
                        const noise_row *row, float *restrict rho)
{
    const float *restrict eps = row->eps, *restrict sign_out = row->sign_out;
    const float sign_in = row->sign_in;
    if (sign_out != NULL)
        for (int64_t o = 0; o < count; o++) rho[o] += gradient[o] * (sign_in * eps[o] * sign_out[o]) * slope[o];
    else
        for (int64_t o = 0; o < count; o++) rho[o] += gradient[o] * (sign_in * eps[o]) * slope[o];
}

static void backward_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const draw_job *job = context;
    const crd_bayes_block *block = &job->posterior->blocks[job->block + item];
    const crd_bayes_layer *layer = block->layer;
    const float *gradient = job->from + (layer->kernel + block->first - job->point);
    const float *slope = job->posterior->slope + layer->first + block->first;
    float *loc = job->to + layer->loc + block->first, *rho = job->to + layer->rho + block->first;
    add(block->count, gradient, loc);
    if (job->noise->eps[layer->number] == NULL) return;
    for (int64_t i = 0; i < block->count; i += layer->channels_out) {
        const noise_row row = noise_of_row(job->noise, layer, block->first + i);
        add_rho_row(layer->channels_out, gradient + i, slope + i, &row, rho + i);
    }
}

void crd_draw_backward(const crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part,
                       const crd_noise *noise, const float *point_gradient, float *model_gradient)
{
    const crd_range blocks = crd_posterior_part_blocks(posterior, part), points = point_blocks_of(posterior, part);
    draw_job job = {.posterior = posterior,
                    .noise = noise,
                    .from = point_gradient,
                    .to = model_gradient,
                    .block = blocks.begin,
                    .point_block = points.begin,
                    .point = part != NULL ? part->points.begin : 0};
    crd_pool_run(pool, points.end - points.begin, add_block, &job);
    crd_pool_run(pool, blocks.end - blocks.begin, backward_block, &job);
}

void crd_dropout_draw(const crd_net *net, uint64_t seed, uint32_t step, uint32_t example, float *masks)
{
    for (int site = 0; site < net->mask_count; site++) {
        float *mask = masks + net->mask_offset[site];
        fill_signs(seed, crd_mask_stream(net, site), CRD_PURPOSE_DROPOUT, step, example, net->mask_channels[site],
                   mask);
        for (int i = 0; i < net->mask_channels[site]; i++) mask[i] += 1; /* -1 or 1 becomes 0 or 2 */
    }
}
