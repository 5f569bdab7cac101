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
    const float *followed; /* parameters that the posterior is of */
    int64_t decoder_count; /* values that differ between samples */
    float *means;          /* [turns][point.total] */
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
    draws->means = crd_arena_take(arena, crd_plan_turns(plan) * plan->net->point.total, sizeof(float));
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

/* The posterior of the next draws. */
static void follow(crd_host_draws *draws, const float *parameters)
{
    if (draws->followed == parameters) return;
    draws->followed = parameters;
    crd_posterior_update(draws->posterior, draws->pool, NULL, parameters);
}

/* Draws sample number `sample` (of the plan) for a chunk into point; example is 0 for draws that all chunks share. */
static void draw(crd_host_draws *draws, int64_t sample, uint32_t example)
{
    const crd_predictor_plan *plan = draws->plan;
    const uint32_t number = (uint32_t)(plan->first_sample + sample);
    const crd_noise *noise =
        crd_noise_draw(draws->noise, draws->pool, NULL, plan->estimator, plan->seed, number, example);
    follow(draws, crd_plan_parameters(plan, sample));
    crd_draw_kernels(draws->posterior, draws->pool, draws->followed, noise, draws->point);
}

/* The samples of one network: its weights at their means, and its draws that are kept. */
static void draw_turn(crd_host_draws *draws, int64_t turn)
{
    const crd_predictor_plan *plan = draws->plan;
    const int64_t offset = crd_decoder_offset(plan->net), total = plan->net->point.total;
    float *means = draws->means + turn * total;
    follow(draws, crd_plan_parameters(plan, turn));
    crd_draw_points(draws->posterior, draws->pool, draws->followed, means);
    const crd_noise *none = crd_noise_draw(draws->noise, draws->pool, NULL, CRD_MEAN, 0, 0, 0);
    crd_draw_kernels(draws->posterior, draws->pool, draws->followed, none, means);
    memcpy(draws->point, means, (size_t)total * sizeof(float)); /* what no draw changes */
    for (int64_t s = turn; s < stored(plan); s += crd_plan_members(plan)) {
        draw(draws, s, 0);
        memcpy(draws->decoders + s * draws->decoder_count, draws->point + offset,
               (size_t)draws->decoder_count * sizeof(float));
    }
}

static void draw_all(crd_host_draws *draws)
{
    const crd_predictor_plan *plan = draws->plan;
    for (int64_t turn = 0; turn < crd_plan_turns(plan); turn++) draw_turn(draws, turn);
    for (int64_t s = 0; draws->masks != NULL && s < plan->samples; s++) {
        crd_dropout_draw(plan->net, plan->seed, (uint32_t)(plan->first_sample + s), 0,
                         draws->masks + s * plan->net->mask_total);
    }
}

/* A chunk's own draw: all of the weights, because another network's may have been drawn last. */
static void draw_anew(crd_host_draws *draws, int64_t sample, uint32_t example)
{
    const crd_predictor_plan *plan = draws->plan;
    if (draws->followed != crd_plan_parameters(plan, sample)) {
        memcpy(draws->point, crd_host_draws_encoder(draws, sample % crd_plan_members(plan)),
               (size_t)plan->net->point.total * sizeof(float));
    }
    draw(draws, sample, example);
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

const float *crd_host_draws_encoder(const crd_host_draws *draws, int64_t turn)
{
    return draws->means + turn * draws->plan->net->point.total;
}

crd_host_sample crd_host_draws_sample(crd_host_draws *draws, int64_t sample, int64_t chunk_number)
{
    const crd_predictor_plan *plan = draws->plan;
    const int64_t offset = crd_decoder_offset(plan->net), turn = sample % crd_plan_members(plan);
    crd_host_sample out = {.decoder = crd_host_draws_encoder(draws, turn) + offset};
    if (stochastic(plan) && plan->net->kind == CRD_BCNN) {
        out.decoder = draws->decoders + sample * draws->decoder_count;
        if (plan->draws_per_chunk) {
            draw_anew(draws, sample, (uint32_t)chunk_number);
            out.decoder = draws->point + offset;
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
