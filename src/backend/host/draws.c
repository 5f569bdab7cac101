#include "backend/host/draws.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "bayes/draw.h"

struct crd_host_draws {
    const crd_predictor_plan *plan;
    crd_pool *pool;
    crd_posterior *posterior;
    crd_noise_source *noise;
    int64_t decoder_count; /* values that differ between samples */
    float *point;          /* all weights of the sample that was drawn last */
    float *decoders;       /* [samples][decoder_count], where draws are shared */
    float *masks;          /* [samples][mask_total], MCDN */
    void *memory;          /* one block behind these */
};

static bool stochastic(const crd_predictor_plan *plan)
{
    return plan->estimator != CRD_MEAN;
}

static int64_t stored(const crd_predictor_plan *plan)
{
    if (!stochastic(plan) || plan->net->kind != CRD_BCNN) return 0;
    return plan->draws_per_chunk ? 0 : plan->samples;
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_host_draws *draws = owner;
    const crd_predictor_plan *plan = draws->plan;
    draws->decoder_count = plan->net->point.total - crd_decoder_offset(plan->net);
    draws->point = crd_arena_take(arena, plan->net->point.total, sizeof(float));
    draws->decoders = crd_arena_take(arena, stored(plan) * draws->decoder_count, sizeof(float));
    if (plan->net->kind == CRD_MCDN && stochastic(plan)) {
        draws->masks = crd_arena_take(arena, plan->samples * plan->net->mask_total, sizeof(float));
    }
}

int64_t crd_host_draws_bytes(const crd_predictor_plan *plan)
{
    crd_host_draws counted = {.plan = plan};
    return (int64_t)sizeof counted + crd_arena_count(lay_out, &counted) + crd_draw_bytes(plan->net);
}

/* Draws sample number `sample` (of the plan) for a chunk into point; example is 0 for draws that all chunks share. */
static void draw(crd_host_draws *draws, int64_t sample, uint32_t example)
{
    const crd_predictor_plan *plan = draws->plan;
    const uint32_t number = (uint32_t)(plan->first_sample + sample);
    const crd_noise *noise =
        crd_noise_draw(draws->noise, draws->pool, NULL, plan->estimator, plan->seed, number, example);
    crd_draw_kernels(draws->posterior, draws->pool, plan->parameters, noise, draws->point);
}

static void draw_all(crd_host_draws *draws)
{
    const crd_predictor_plan *plan = draws->plan;
    const int64_t offset = crd_decoder_offset(plan->net);
    crd_posterior_update(draws->posterior, draws->pool, NULL, plan->parameters);
    crd_draw_points(draws->posterior, draws->pool, plan->parameters, draws->point);
    const crd_noise *none = crd_noise_draw(draws->noise, draws->pool, NULL, CRD_MEAN, 0, 0, 0);
    crd_draw_kernels(draws->posterior, draws->pool, plan->parameters, none, draws->point);
    for (int64_t s = 0; s < stored(plan); s++) {
        draw(draws, s, 0);
        memcpy(draws->decoders + s * draws->decoder_count, draws->point + offset,
               (size_t)draws->decoder_count * sizeof(float));
    }
    for (int64_t s = 0; draws->masks != NULL && s < plan->samples; s++) {
        crd_dropout_draw(plan->net, plan->seed, (uint32_t)(plan->first_sample + s), 0,
                         draws->masks + s * plan->net->mask_total);
    }
}

crd_status crd_host_draws_create(const crd_predictor_plan *plan, crd_pool *pool, crd_host_draws **out)
{
    crd_status status = CRD_OK;
    crd_host_draws *draws = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *draws, "the draws", &draws));
    draws->plan = plan;
    draws->pool = pool;
    CRD_TRY(crd_posterior_create(plan->net, &draws->posterior));
    CRD_TRY(crd_noise_source_create(draws->posterior, &draws->noise));
    CRD_TRY(crd_arena_carve(lay_out, draws, "the drawn weights", &draws->memory));
    draw_all(draws);
    *out = draws;
    draws = NULL;
done:
    crd_host_draws_free(&draws);
    return status;
}

void crd_host_draws_free(crd_host_draws **pointer)
{
    crd_host_draws *draws = *pointer;
    if (draws == NULL) return;
    crd_noise_source_free(&draws->noise);
    crd_posterior_free(&draws->posterior);
    crd_free(&draws->memory);
    crd_free(pointer);
}

const float *crd_host_draws_encoder(const crd_host_draws *draws)
{
    return draws->point;
}

crd_host_sample crd_host_draws_sample(crd_host_draws *draws, int64_t sample, int64_t chunk_number)
{
    const crd_predictor_plan *plan = draws->plan;
    crd_host_sample out = {.decoder = draws->point + crd_decoder_offset(plan->net)};
    if (stochastic(plan) && plan->net->kind == CRD_BCNN) {
        if (plan->draws_per_chunk) {
            draw(draws, sample, (uint32_t)chunk_number);
        } else {
            out.decoder = draws->decoders + sample * draws->decoder_count;
        }
    }
    if (draws->masks != NULL) {
        float *own = draws->masks + sample * plan->net->mask_total;
        if (plan->draws_per_chunk) {
            crd_dropout_draw(plan->net, plan->seed, (uint32_t)(plan->first_sample + sample), (uint32_t)chunk_number,
                             own);
        }
        out.masks = own;
    }
    return out;
}
