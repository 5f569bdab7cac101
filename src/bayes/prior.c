#include "bayes/prior.h"

#include <stddef.h>

#include "base/portable_math.h"
#include "bayes/weight_math.h"

enum { TILE = 512 };

/* ln(s / sigma) + (sigma^2 + loc^2) / (2 s^2) - 1/2 */
static double normal_value(const crd_prior_settings *settings, const crd_prior_weights *weights)
{
    const double precision = 1 / (settings->std * settings->std), log_std = crd_log(settings->std);
    const crd_weight_math *math = crd_weight_math_best();
    double logarithms[TILE], sum = 0;
    for (int64_t first = 0; first < weights->count; first += TILE) {
        const int64_t left = weights->count - first, count = left < TILE ? left : TILE;
        math->logarithms(count, weights->sigma + first, logarithms);
        for (int64_t i = 0; i < count; i++) {
            const double loc = weights->loc[first + i], sigma = weights->sigma[first + i];
            sum += log_std - logarithms[i] + (sigma * sigma + loc * loc) * precision / 2 - 0.5;
        }
    }
    return sum;
}

static void normal_gradient(const crd_prior_settings *settings, const crd_prior_weights *weights, double scale,
                            float *restrict dloc, float *restrict drho)
{
    const double precision = 1 / (settings->std * settings->std);
    const float *restrict locs = weights->loc, *restrict sigmas = weights->sigma, *restrict slopes = weights->slope;
    for (int64_t i = 0; i < weights->count; i++) {
        const double loc = locs[i], sigma = sigmas[i], slope = slopes[i];
        dloc[i] += (float)(scale * loc * precision);
        drho[i] += (float)(scale * (sigma * precision - 1 / sigma) * slope);
    }
}

const crd_prior crd_prior_normal = {
    .name = "normal", .needs_noise = false, .kl_value = normal_value, .kl_gradient = normal_gradient};

/* The posterior's share, -log sigma - 1/2, is exact; the prior's is that of the drawn weight. */
static double mixture_value(const crd_prior_settings *settings, const crd_prior_weights *weights)
{
    const crd_mixture law = crd_mixture_of(settings);
    const crd_weight_math *math = crd_weight_math_best();
    double logarithms[TILE], sum = 0, slope;
    for (int64_t first = 0; first < weights->count; first += TILE) {
        const int64_t left = weights->count - first, count = left < TILE ? left : TILE;
        math->logarithms(count, weights->sigma + first, logarithms);
        for (int64_t i = 0; i < count; i++) {
            const double loc = weights->loc[first + i], sigma = weights->sigma[first + i];
            sum +=
                crd_mixture_surprise(&law, loc + sigma * (double)weights->eps[first + i], &slope) - logarithms[i] - 0.5;
        }
    }
    return sum;
}

static void mixture_gradient(const crd_prior_settings *settings, const crd_prior_weights *weights, double scale,
                             float *restrict dloc, float *restrict drho)
{
    const crd_mixture law = crd_mixture_of(settings);
    for (int64_t i = 0; i < weights->count; i++) {
        const double loc = weights->loc[i], sigma = weights->sigma[i], eps = weights->eps[i];
        double slope;
        (void)crd_mixture_surprise(&law, loc + sigma * eps, &slope);
        dloc[i] += (float)(scale * slope);
        drho[i] += (float)(scale * (slope * eps - 1 / sigma) * (double)weights->slope[i]);
    }
}

const crd_prior crd_prior_mixture = {
    .name = "mixture", .needs_noise = true, .kl_value = mixture_value, .kl_gradient = mixture_gradient};

const crd_prior *crd_prior_of(const crd_prior_settings *settings)
{
    return settings->kind == CRD_PRIOR_MIXTURE ? &crd_prior_mixture : &crd_prior_normal;
}

typedef struct kl_job {
    const crd_posterior *posterior;
    const crd_prior *prior;
    const crd_prior_settings *settings;
    const float *model;
    const crd_noise *noise;
    double scale;
    float *gradient;
    int64_t first; /* block */
} kl_job;

static crd_prior_weights weights_of(const kl_job *job, const crd_bayes_block *block)
{
    const crd_bayes_layer *layer = block->layer;
    const int64_t place = layer->first + block->first;
    return (crd_prior_weights){
        .count = block->count,
        .loc = job->model + layer->loc + block->first,
        .sigma = job->posterior->sigma + place,
        .slope = job->posterior->slope + place,
        .eps = job->prior->needs_noise ? job->noise->eps[layer->number] + block->first : NULL,
    };
}

static void value_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const kl_job *job = context;
    const crd_prior_weights weights = weights_of(job, &job->posterior->blocks[job->first + item]);
    job->posterior->sums[job->first + item] = job->prior->kl_value(job->settings, &weights);
}

static void gradient_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const kl_job *job = context;
    const crd_bayes_block *block = &job->posterior->blocks[job->first + item];
    const crd_prior_weights weights = weights_of(job, block);
    job->prior->kl_gradient(job->settings, &weights, job->scale, job->gradient + block->layer->loc + block->first,
                            job->gradient + block->layer->rho + block->first);
}

void crd_kl_blocks(const crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part,
                   const crd_prior *prior, const crd_prior_settings *settings, const float *model,
                   const crd_noise *noise)
{
    const crd_range blocks = crd_posterior_part_blocks(posterior, part);
    kl_job job = {.posterior = posterior,
                  .prior = prior,
                  .settings = settings,
                  .model = model,
                  .noise = noise,
                  .first = blocks.begin};
    crd_pool_run(pool, blocks.end - blocks.begin, value_block, &job);
}

double crd_kl_total(const crd_posterior *posterior)
{
    double sum = 0;
    for (int64_t i = 0; i < posterior->block_count; i++) sum += posterior->sums[i];
    return sum;
}

void crd_kl_gradient(const crd_posterior *posterior, crd_pool *pool, const crd_posterior_part *part,
                     const crd_prior *prior, const crd_prior_settings *settings, const float *model,
                     const crd_noise *noise, double scale, float *model_gradient)
{
    const crd_range blocks = crd_posterior_part_blocks(posterior, part);
    kl_job job = {.posterior = posterior,
                  .prior = prior,
                  .settings = settings,
                  .model = model,
                  .noise = noise,
                  .scale = scale,
                  .gradient = model_gradient,
                  .first = blocks.begin};
    crd_pool_run(pool, blocks.end - blocks.begin, gradient_block, &job);
}
