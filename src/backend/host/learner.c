/* Training on the CPU: an example's kernels are drawn from the posterior, the engine gives its gradient, the chain rule
 * adds that to the model's; then the KL's gradient and Adam. A step is taken while learner_start runs, in the caller's
 * state. Everything is allocated when the learner is made. */
#include "backend/host/learner.h"

#include <stdio.h>
#include <string.h>

#include "backend/host/exchange.h"
#include "base/arena.h"
#include "base/memory.h"
#include "bayes/draw.h"
#include "bayes/prior.h"
#include "net/adam.h"
#include "net/engine.h"

typedef struct example {
    const float *input;
    const uint8_t *label;
} example;

struct crd_learner {
    crd_learner_plan plan;
    crd_pool *pool;
    crd_engine *engine;
    crd_posterior *posterior;
    crd_noise_source *noise;
    crd_posterior_part *parts; /* of the parameters, by process: each takes its own one's steps */
    example *staged;           /* [batch] */
    crd_loss *losses;          /* of the `count` examples of the last step */
    int64_t count;
    float *gradient; /* model layout */
    float *point;    /* weights of the example at work */
    bool moved;      /* the parameters have, and what isn't drawn of `point` hasn't followed yet */
    float *point_gradient;
    float *masks;    /* MCDN */
    float *decoders; /* BCNN: [samples][values of the decoder] */
    void *memory;    /* one block behind all of the above */
    int64_t first_sample;
};

static crd_engine_plan engine_plan(const crd_learner_plan *plan, const crd_ops *ops, crd_pool *pool)
{
    return (crd_engine_plan){.net = plan->net,
                             .chunk = {plan->chunk[0], plan->chunk[1], plan->chunk[2]},
                             .training = true,
                             .ops = ops,
                             .pool = pool};
}

static int64_t decoder_values(const crd_net *net)
{
    return net->point.total - crd_decoder_offset(net);
}

static int size_of(const crd_learner_plan *plan)
{
    return plan->size > 0 ? plan->size : 1;
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_learner *learner = owner;
    const crd_learner_plan *plan = &learner->plan;
    const crd_net *net = plan->net;
    const int64_t samples = net->kind == CRD_BCNN ? plan->samples : 0;
    learner->parts = crd_arena_take(arena, size_of(plan), sizeof *learner->parts);
    learner->staged = crd_arena_take(arena, plan->batch, sizeof *learner->staged);
    learner->losses = crd_arena_take(arena, plan->batch, sizeof *learner->losses);
    learner->gradient = crd_arena_take(arena, net->model.total, sizeof(float));
    learner->point = crd_arena_take(arena, net->point.total, sizeof(float));
    learner->point_gradient = crd_arena_take(arena, net->point.total, sizeof(float));
    learner->decoders = crd_arena_take(arena, samples * decoder_values(net), sizeof(float));
    learner->masks = crd_arena_take(arena, net->mask_total, sizeof(float));
}

crd_status crd_host_learner_bytes(const crd_device_settings *settings, const crd_learner_plan *plan,
                                  int64_t *host_bytes, int64_t *device_bytes)
{
    crd_status status = CRD_OK;
    crd_pool *pool = NULL;
    crd_learner counted = {.plan = *plan};
    const crd_ops *ops;
    *device_bytes = 0;
    CRD_TRY(crd_ops_select(settings->isa, &ops));
    CRD_TRY(crd_pool_create(settings->threads, &pool));
    const crd_engine_plan engine = engine_plan(plan, ops, pool);
    CRD_TRY(crd_engine_bytes(&engine, host_bytes));
    *host_bytes += (int64_t)sizeof counted + crd_arena_count(lay_out, &counted) + crd_draw_bytes(plan->net);
done:
    crd_pool_free(&pool);
    return status;
}

crd_status crd_host_learner_path(const crd_device_settings *settings, char *text, size_t size)
{
    const crd_ops *ops;
    CRD_PASS(crd_ops_select(settings->isa, &ops));
    snprintf(text, size, "%s", ops->name);
    return CRD_OK;
}

crd_status crd_host_learner_create(const crd_device_settings *settings, const crd_learner_plan *plan, crd_learner **out)
{
    crd_status status = CRD_OK;
    crd_learner *learner = NULL;
    const crd_ops *ops;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *learner, "the trainer", &learner));
    learner->plan = *plan;
    CRD_TRY(crd_ops_select(settings->isa, &ops));
    CRD_TRY(crd_pool_create(settings->threads, &learner->pool));
    const crd_engine_plan engine = engine_plan(plan, ops, learner->pool);
    CRD_TRY(crd_engine_create(&engine, &learner->engine));
    CRD_TRY(crd_posterior_create(plan->net, &learner->posterior));
    CRD_TRY(crd_noise_source_create(learner->posterior, &learner->noise));
    CRD_TRY(crd_arena_carve(lay_out, learner, "the trainer", &learner->memory));
    for (int rank = 0; rank < size_of(plan); rank++) {
        crd_posterior_part_make(learner->posterior, size_of(plan), rank, &learner->parts[rank]);
    }
    *out = learner;
    learner = NULL;
done:
    crd_host_learner_free(&learner);
    return status;
}

void crd_host_learner_free(crd_learner **pointer)
{
    crd_learner *learner = *pointer;
    if (learner == NULL) return;
    crd_engine_free(&learner->engine);
    crd_noise_source_free(&learner->noise);
    crd_posterior_free(&learner->posterior);
    crd_pool_free(&learner->pool);
    crd_free(&learner->memory);
    crd_free(pointer);
}

static const crd_posterior_part *own_part(const crd_learner *learner)
{
    return &learner->parts[learner->plan.rank];
}

crd_status crd_host_learner_write(crd_learner *learner)
{
    crd_posterior_update(learner->posterior, learner->pool, NULL, learner->plan.state.parameters);
    learner->moved = true;
    return CRD_OK;
}

crd_status crd_host_learner_read(crd_learner *learner, bool moments)
{
    (void)learner; /* there is one state */
    (void)moments;
    return CRD_OK;
}

crd_status crd_host_learner_stage(crd_learner *learner, int64_t place, const float *input, const uint8_t *label)
{
    if (place < 0 || place >= learner->plan.batch) {
        return crd_fail(CRD_ERR_INTERNAL, "example %lld is none of the batch", (long long)place);
    }
    learner->staged[place] = (example){input, label};
    return CRD_OK;
}

static void follow_parameters(crd_learner *learner)
{
    if (!learner->moved) return;
    crd_draw_points(learner->posterior, learner->pool, learner->plan.state.parameters, learner->point);
    learner->moved = false;
}

/* Draws the kernels, and the masks where there are any; *masks is NULL without dropout. */
static const crd_noise *draw(crd_learner *learner, crd_estimator estimator, int64_t step, int64_t place,
                             const float **masks)
{
    const crd_learner_plan *plan = &learner->plan;
    const crd_noise *noise =
        crd_noise_draw(learner->noise, learner->pool, NULL, estimator, plan->seed, (uint32_t)step, (uint32_t)place);
    follow_parameters(learner);
    crd_draw_kernels(learner->posterior, learner->pool, plan->state.parameters, noise, learner->point);
    *masks = NULL;
    if (plan->net->kind == CRD_MCDN && estimator != CRD_MEAN) {
        crd_dropout_draw(plan->net, plan->seed, (uint32_t)step, (uint32_t)place, learner->masks);
        *masks = learner->masks;
    }
    return noise;
}

/* Adds the gradient of a staged example. */
static void add_example(crd_learner *learner, const crd_learner_step *step, int64_t i)
{
    const float *masks;
    const example *e = &learner->staged[i];
    const crd_noise *noise = draw(learner, learner->plan.estimator, step->number, step->first + i, &masks);
    crd_engine_loss(learner->engine, learner->point, masks, e->input, e->label, step->scale, learner->point_gradient,
                    &learner->losses[i]);
    crd_draw_backward(learner->posterior, learner->pool, NULL, noise, learner->point_gradient, learner->gradient);
}

/* Adds that of any example, as learner_example gave it, in the own part. */
static void add_part(crd_learner *learner, const crd_learner_step *step, int64_t i)
{
    const crd_learner_plan *plan = &learner->plan;
    const crd_posterior_part *part = own_part(learner);
    const crd_noise *noise = crd_noise_draw(learner->noise, learner->pool, part, plan->estimator, plan->seed,
                                            (uint32_t)step->number, (uint32_t)(step->first + i));
    crd_draw_backward(learner->posterior, learner->pool, part, noise, step->parts[i], learner->gradient);
}

/* The KL's gradient, and Adam's step of the own part. */
static void descend(crd_learner *learner, const crd_learner_step *step)
{
    const crd_posterior_part *part = own_part(learner);
    const crd_learner_state *state = &learner->plan.state;
    const crd_prior_settings *settings = &learner->plan.prior;
    const crd_prior *prior = crd_prior_of(settings);
    const crd_noise *noise = prior->needs_noise
                                 ? crd_noise_draw(learner->noise, learner->pool, part, CRD_INDEPENDENT,
                                                  learner->plan.seed, (uint32_t)step->number, CRD_PRIOR_EXAMPLE)
                                 : NULL;
    crd_kl_blocks(learner->posterior, learner->pool, part, prior, settings, state->parameters, noise);
    crd_kl_gradient(learner->posterior, learner->pool, part, prior, settings, state->parameters, noise, step->kl_scale,
                    learner->gradient);
    for (int i = 0; i < part->model_count; i++) {
        const crd_range range = part->model[i];
        crd_adam_step(learner->pool, range.end - range.begin, step->number + 1, step->rate,
                      learner->gradient + range.begin, state->m + range.begin, state->v + range.begin,
                      state->parameters + range.begin);
    }
    crd_posterior_update(learner->posterior, learner->pool, part, state->parameters);
    learner->moved = true;
}

crd_status crd_host_learner_start(crd_learner *learner, const crd_learner_step *step)
{
    const size_t bytes = (size_t)learner->plan.net->model.total * sizeof *learner->gradient;
    learner->count = step->parts == NULL && step->gradient == NULL ? step->count : 0;
    if (learner->count > learner->plan.batch) return crd_fail(CRD_ERR_INTERNAL, "more examples than the batch has");
    if (step->gradient != NULL) {
        memcpy(learner->gradient, step->gradient, bytes);
    } else {
        memset(learner->gradient, 0, bytes);
    }
    for (int64_t i = 0; i < learner->count; i++) add_example(learner, step, i);
    for (int64_t i = 0; step->parts != NULL && i < step->count; i++) add_part(learner, step, i);
    if (!step->gradient_only) descend(learner, step);
    return CRD_OK;
}

crd_status crd_host_learner_finish(crd_learner *learner, crd_loss *losses, double *kl)
{
    memcpy(losses, learner->losses, (size_t)learner->count * sizeof *losses);
    *kl = crd_kl_total(learner->posterior);
    return CRD_OK;
}

crd_status crd_host_learner_gradient(crd_learner *learner, float *gradient)
{
    memcpy(gradient, learner->gradient, (size_t)learner->plan.net->model.total * sizeof *gradient);
    return CRD_OK;
}

crd_status crd_host_learner_evaluate(crd_learner *learner, const float *input, const uint8_t *label, crd_loss *loss)
{
    const float *masks;
    (void)draw(learner, CRD_MEAN, 0, 0, &masks);
    crd_engine_loss(learner->engine, learner->point, masks, input, label, 0.0f, NULL, loss);
    return CRD_OK;
}

void crd_host_learner_draw(crd_learner *learner, int64_t first_sample, int64_t count)
{
    const crd_net *net = learner->plan.net;
    const int64_t values = decoder_values(net);
    learner->first_sample = first_sample;
    follow_parameters(learner);
    if (net->kind != CRD_BCNN) return; /* masks are drawn as they are needed */
    for (int64_t s = 0; s < count; s++) {
        const float *masks;
        (void)draw(learner, CRD_INDEPENDENT, first_sample + s, 0, &masks);
        memcpy(learner->decoders + s * values, learner->point + crd_decoder_offset(net),
               (size_t)values * sizeof(float));
    }
}

void crd_host_learner_encode(crd_learner *learner, const float *input)
{
    crd_engine_encode(learner->engine, learner->point, input);
}

void crd_host_learner_decode(crd_learner *learner, int64_t sample, float *probability)
{
    const crd_net *net = learner->plan.net;
    const float *weights = learner->point + crd_decoder_offset(net), *masks = NULL;
    if (net->kind == CRD_BCNN) {
        weights = learner->decoders + sample * decoder_values(net);
    } else {
        crd_dropout_draw(net, learner->plan.seed, (uint32_t)(learner->first_sample + sample), 0, learner->masks);
        masks = learner->masks;
    }
    crd_engine_decode(learner->engine, weights, masks, 1.0f, probability);
}

crd_status crd_host_learner_example(crd_learner *learner, const crd_learner_step *step, const float *input,
                                    const uint8_t *label, float *gradient, crd_loss *loss)
{
    const float *masks;
    (void)draw(learner, learner->plan.estimator, step->number, step->first, &masks);
    crd_engine_loss(learner->engine, learner->point, masks, input, label, step->scale, gradient, loss);
    return CRD_OK;
}

int64_t crd_host_learner_part_values(const crd_learner *learner, crd_exchange exchange, int rank)
{
    return crd_exchange_values(exchange, &learner->parts[rank]);
}

void crd_host_learner_pack_part(const crd_learner *learner, crd_exchange exchange, float *values)
{
    crd_exchange_pack(exchange, own_part(learner), learner->posterior, &learner->plan.state, values);
}

void crd_host_learner_unpack_part(crd_learner *learner, crd_exchange exchange, int rank, const float *values)
{
    crd_exchange_unpack(exchange, &learner->parts[rank], values, learner->posterior, &learner->plan.state);
    learner->moved = true;
}
