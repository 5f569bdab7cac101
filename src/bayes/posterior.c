#include "bayes/posterior.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "bayes/weight_math.h"

enum { BLOCK = 4096, POINT_BLOCK = 32768 };

static void find_layers(crd_posterior *posterior)
{
    const crd_net *net = posterior->net;
    for (int i = 0; i < net->layer_count; i++) {
        if (net->model.rho[i] < 0) continue;
        const crd_conv_layer *layer = &net->layers[i];
        const int64_t taps = (int64_t)layer->kernel * layer->kernel * layer->kernel;
        crd_bayes_layer *own = &posterior->layers[posterior->layer_count++];
        *own = (crd_bayes_layer){
            .number = i,
            .channels_in = layer->channels_in,
            .channels_out = layer->channels_out,
            .count = taps * layer->channels_in * layer->channels_out,
            .first = posterior->weights,
            .first_in = posterior->channels_in,
            .first_out = posterior->channels_out,
            .loc = net->model.kernel[i],
            .rho = net->model.rho[i],
            .kernel = net->point.kernel[i],
        };
        posterior->weights += own->count;
        posterior->channels_in += own->channels_in;
        posterior->channels_out += own->channels_out;
    }
}

/* Cuts the layers into blocks of whole rows. Without memory for them it only counts. */
static void cut_layers(crd_posterior *posterior)
{
    posterior->block_count = 0;
    for (int i = 0; i < posterior->layer_count; i++) {
        const crd_bayes_layer *layer = &posterior->layers[i];
        const int64_t rows = layer->channels_out < BLOCK ? BLOCK / layer->channels_out : 1;
        const int64_t step = rows * layer->channels_out;
        for (int64_t first = 0; first < layer->count; first += step) {
            const int64_t left = layer->count - first;
            if (posterior->blocks != NULL)
                posterior->blocks[posterior->block_count] =
                    (crd_bayes_block){.layer = layer, .first = first, .count = left < step ? left : step};
            posterior->block_count++;
        }
    }
}

/* The same for the parameters that both layouts share; `kernel` of a Bayesian layer is the only one they don't. */
static void cut_points(crd_posterior *posterior)
{
    const crd_net *net = posterior->net;
    posterior->point_block_count = 0;
    int p = 0; /* in the point layout, which lists the same parameters in the same order, without the rhos */
    for (int m = 0; m < net->model.count; m++) {
        const crd_parameter *parameter = &net->model.parameters[m];
        if (parameter->role == CRD_ROLE_RHO) continue;
        const crd_parameter *twin = &net->point.parameters[p++];
        if (parameter->role == CRD_ROLE_LOC) continue;
        for (int64_t first = 0; first < parameter->count; first += POINT_BLOCK) {
            const int64_t left = parameter->count - first;
            if (posterior->point_blocks != NULL)
                posterior->point_blocks[posterior->point_block_count] =
                    (crd_point_block){.model = parameter->offset + first,
                                      .point = twin->offset + first,
                                      .count = left < POINT_BLOCK ? left : POINT_BLOCK};
            posterior->point_block_count++;
        }
    }
}

void crd_posterior_measure(const crd_net *net, crd_posterior *posterior)
{
    memset(posterior, 0, sizeof *posterior);
    posterior->net = net;
    find_layers(posterior);
    cut_layers(posterior);
    cut_points(posterior);
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_posterior *posterior = owner;
    posterior->blocks = crd_arena_take(arena, posterior->block_count, sizeof *posterior->blocks);
    posterior->point_blocks = crd_arena_take(arena, posterior->point_block_count, sizeof *posterior->point_blocks);
    posterior->sigma = crd_arena_take(arena, posterior->weights, sizeof(float));
    posterior->slope = crd_arena_take(arena, posterior->weights, sizeof(float));
    posterior->sums = crd_arena_take(arena, 2 * posterior->block_count, sizeof(double));
}

int64_t crd_posterior_bytes(const crd_posterior *posterior)
{
    crd_posterior counted = *posterior;
    return (int64_t)sizeof counted + crd_arena_count(lay_out, &counted);
}

crd_status crd_posterior_create(const crd_net *net, crd_posterior **out)
{
    crd_status status = CRD_OK;
    crd_posterior *posterior = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *posterior, "the posterior", &posterior));
    crd_posterior_measure(net, posterior);
    CRD_TRY(crd_arena_carve(lay_out, posterior, "the posterior", &posterior->memory));
    cut_layers(posterior);
    cut_points(posterior);
    *out = posterior;
    posterior = NULL;
done:
    crd_posterior_free(&posterior);
    return status;
}

void crd_posterior_free(crd_posterior **posterior)
{
    if (*posterior == NULL) return;
    crd_free(&(*posterior)->memory);
    crd_free(posterior);
}

typedef struct update_job {
    crd_posterior *posterior;
    const float *model;
    int64_t first; /* block */
} update_job;

static void update_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const update_job *job = context;
    const crd_bayes_block *block = &job->posterior->blocks[job->first + item];
    const float *rho = job->model + block->layer->rho + block->first;
    float *sigma = job->posterior->sigma + block->layer->first + block->first;
    float *slope = job->posterior->slope + block->layer->first + block->first;
    crd_weight_math_best()->sigmas(block->count, rho, sigma, slope);
}

void crd_posterior_update(crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part, const float *model)
{
    const crd_range blocks = crd_posterior_part_blocks(posterior, part);
    update_job job = {posterior, model, blocks.begin};
    crd_pool_run(pool, blocks.end - blocks.begin, update_block, &job);
}

typedef struct summary_job {
    const crd_posterior *posterior;
    const float *model;
} summary_job;

static void summarise_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const summary_job *job = context;
    const crd_bayes_block *block = &job->posterior->blocks[item];
    const float *loc = job->model + block->layer->loc + block->first;
    const float *sigma = job->posterior->sigma + block->layer->first + block->first;
    double sum = 0;
    int64_t certain = 0;
    for (int64_t i = 0; i < block->count; i++) {
        sum += sigma[i];
        certain += fabsf(loc[i]) > sigma[i];
    }
    job->posterior->sums[2 * item] = sum;
    job->posterior->sums[2 * item + 1] = (double)certain;
}

void crd_posterior_summarise(const crd_posterior *posterior, crd_pool *pool, const float *model,
                             crd_posterior_summary *out)
{
    *out = (crd_posterior_summary){0};
    if (posterior->weights == 0) return;
    summary_job job = {posterior, model};
    crd_pool_run(pool, posterior->block_count, summarise_block, &job);
    for (int64_t i = 0; i < posterior->block_count; i++) {
        out->mean_sigma += posterior->sums[2 * i];
        out->certain_share += posterior->sums[2 * i + 1];
    }
    out->mean_sigma /= (double)posterior->weights;
    out->certain_share /= (double)posterior->weights;
}
