#include "train/trainer.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bayes/draw.h"
#include "bayes/prior.h"
#include "net/adam.h"
#include "train/remote.h"

/* Steps of training are numbered from 0 up; the samples that evaluate it from the top of the range down. */
static const uint32_t LAST_STEP = UINT32_MAX;

struct crd_trainer {
    crd_trainer_plan plan;
    crd_pool *pool;
    const crd_ops *ops;
    crd_engine *engine;
    crd_posterior *posterior;
    crd_noise_source *noise;
    crd_part part; /* whose steps are taken here */
    crd_trainer_state state;
    float *gradient; /* model layout */
    float *point;    /* weights of the example at work */
    float *point_gradient;
    float *masks;               /* MCDN */
    float *decoders;            /* BCNN: [samples][values of the decoder] */
    crd_remote *remote;         /* the device that takes the steps, or NULL: then there is no engine */
    const float *probabilities; /* of the chunk encoded last, from the device */
    char path[32];
};

crd_status crd_estimator_parse(const char *name, crd_estimator *out)
{
    static const char *const names[] = {
        [CRD_FLIPOUT] = "flipout", [CRD_INDEPENDENT] = "independent", [CRD_MEAN] = "mean"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (name == NULL || strcmp(names[i], name) != 0) continue;
        *out = (crd_estimator)i;
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no estimator '%s'; choose flipout, independent or mean",
                    name != NULL ? name : "");
}

static crd_status allocate(crd_trainer *trainer)
{
    const crd_net *net = trainer->plan.net;
    crd_trainer_state *state = &trainer->state;
    state->count = net->model.total;
    CRD_PASS(crd_alloc(net->model.total, sizeof(float), "the parameters", &state->parameters));
    CRD_PASS(crd_alloc(net->model.total, sizeof(float), "Adam's moments", &state->m));
    CRD_PASS(crd_alloc(net->model.total, sizeof(float), "Adam's moments", &state->v));
    CRD_PASS(crd_alloc(net->model.total, sizeof(float), "the gradient", &trainer->gradient));
    CRD_PASS(crd_alloc(net->point.total, sizeof(float), "the weights", &trainer->point));
    CRD_PASS(crd_alloc(net->point.total, sizeof(float), "the gradient", &trainer->point_gradient));
    const int64_t samples = net->kind == CRD_BCNN && trainer->remote == NULL ? trainer->plan.samples : 0;
    CRD_PASS(crd_alloc(samples * (net->point.total - crd_decoder_offset(net)), sizeof(float), "the samples' weights",
                       &trainer->decoders));
    return crd_alloc(net->mask_total, sizeof(float), "the masks", &trainer->masks);
}

static crd_engine_plan engine_plan(const crd_trainer_plan *plan, const crd_ops *ops, crd_pool *pool)
{
    return (crd_engine_plan){.net = plan->net,
                             .chunk = {plan->chunk[0], plan->chunk[1], plan->chunk[2]},
                             .training = true,
                             .ops = ops,
                             .pool = pool};
}

static void name_path(crd_trainer *trainer)
{
    static const char *const precisions[] = {
        [CRD_PRECISION_F32] = "f32", [CRD_PRECISION_BF16] = "bf16", [CRD_PRECISION_FP16] = "fp16"};
    const crd_device_settings *device = &trainer->plan.device;
    snprintf(trainer->path, sizeof trainer->path, "%s%s%s",
             trainer->remote == NULL ? trainer->ops->name
             : device->isa != NULL   ? device->isa
                                     : "sm80",
             trainer->remote == NULL ? "" : " ", trainer->remote == NULL ? "" : precisions[device->precision]);
}

crd_status crd_trainer_create(const crd_trainer_plan *plan, crd_trainer **out)
{
    crd_status status = CRD_OK;
    crd_trainer *trainer = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *trainer, "the trainer", &trainer));
    trainer->plan = *plan;
    CRD_TRY(crd_pool_create(plan->threads, &trainer->pool));
    if (crd_remote_wanted(plan)) {
        CRD_TRY(crd_remote_create(plan, &trainer->remote));
    } else {
        CRD_TRY(crd_ops_select(plan->isa, &trainer->ops));
        const crd_engine_plan engine = engine_plan(plan, trainer->ops, trainer->pool);
        CRD_TRY(crd_engine_create(&engine, &trainer->engine));
    }
    name_path(trainer);
    CRD_TRY(crd_posterior_create(plan->net, &trainer->posterior));
    crd_part_make(trainer->posterior, plan->size > 0 ? plan->size : 1, plan->rank, &trainer->part);
    CRD_TRY(crd_noise_source_create(trainer->posterior, &trainer->noise));
    CRD_TRY(allocate(trainer));
    *out = trainer;
    trainer = NULL;
done:
    crd_trainer_free(&trainer);
    return status;
}

void crd_trainer_free(crd_trainer **pointer)
{
    crd_trainer *trainer = *pointer;
    if (trainer == NULL) return;
    crd_remote_free(&trainer->remote);
    crd_engine_free(&trainer->engine);
    crd_noise_source_free(&trainer->noise);
    crd_posterior_free(&trainer->posterior);
    crd_pool_free(&trainer->pool);
    crd_free(&trainer->state.parameters);
    crd_free(&trainer->state.m);
    crd_free(&trainer->state.v);
    crd_free(&trainer->gradient);
    crd_free(&trainer->point);
    crd_free(&trainer->point_gradient);
    crd_free(&trainer->masks);
    crd_free(&trainer->decoders);
    crd_free(pointer);
}

crd_status crd_trainer_bytes(const crd_trainer_plan *plan, int64_t *bytes, int64_t *device_bytes)
{
    crd_status status = CRD_OK;
    crd_pool *pool = NULL;
    const crd_ops *ops;
    *device_bytes = 0;
    if (crd_remote_wanted(plan)) return crd_remote_bytes(plan, bytes, device_bytes);
    CRD_TRY(crd_ops_select(plan->isa, &ops));
    CRD_TRY(crd_pool_create(plan->threads, &pool));
    const crd_engine_plan engine = engine_plan(plan, ops, pool);
    CRD_TRY(crd_engine_bytes(&engine, bytes));
    /* parameters, moments, gradient; weights and theirs; sigma, slope and noise of the posterior */
    *bytes += (4 * plan->net->model.total + 5 * plan->net->point.total) * (int64_t)sizeof(float);
done:
    crd_pool_free(&pool);
    return status;
}

crd_trainer_state *crd_trainer_state_of(crd_trainer *trainer)
{
    return &trainer->state;
}

crd_posterior *crd_trainer_posterior(const crd_trainer *trainer)
{
    return trainer->posterior;
}

crd_pool *crd_trainer_pool(const crd_trainer *trainer)
{
    return trainer->pool;
}

int64_t crd_trainer_chunk_voxels(const crd_trainer *trainer)
{
    return trainer->plan.chunk[0] * trainer->plan.chunk[1] * trainer->plan.chunk[2];
}

const char *crd_trainer_isa(const crd_trainer *trainer)
{
    return trainer->path;
}

float *crd_trainer_gradient(crd_trainer *trainer)
{
    return trainer->gradient;
}

bool crd_trainer_remote(const crd_trainer *trainer)
{
    return trainer->remote != NULL;
}

static void update_posterior(crd_trainer *trainer)
{
    crd_posterior_update(trainer->posterior, trainer->pool, NULL, trainer->state.parameters);
    crd_draw_points(trainer->posterior, trainer->pool, trainer->state.parameters, trainer->point);
}

crd_status crd_trainer_parameters_changed(crd_trainer *trainer)
{
    update_posterior(trainer);
    return trainer->remote != NULL ? crd_remote_write(trainer->remote, &trainer->state) : CRD_OK;
}

crd_status crd_trainer_fetch(crd_trainer *trainer)
{
    if (trainer->remote == NULL) return CRD_OK;
    CRD_PASS(crd_remote_read(trainer->remote, &trainer->state));
    update_posterior(trainer);
    return CRD_OK;
}

void crd_trainer_begin(crd_trainer *trainer)
{
    memset(trainer->gradient, 0, (size_t)trainer->state.count * sizeof *trainer->gradient);
}

int64_t crd_trainer_example_values(const crd_trainer *trainer)
{
    return trainer->remote != NULL ? trainer->plan.net->model.total : trainer->plan.net->point.total;
}

const crd_part *crd_trainer_part(const crd_trainer *trainer)
{
    return &trainer->part;
}

/* Draws the kernels, and the masks where there are any; *masks is NULL without dropout. */
static const crd_noise *draw(crd_trainer *trainer, crd_estimator estimator, uint32_t step, uint32_t example,
                             const float **masks)
{
    const crd_trainer_plan *plan = &trainer->plan;
    const crd_noise *noise = crd_noise_draw(trainer->noise, trainer->pool, NULL, estimator, plan->seed, step, example);
    crd_draw_kernels(trainer->posterior, trainer->pool, trainer->state.parameters, noise, trainer->point);
    *masks = NULL;
    if (plan->net->kind == CRD_MCDN && estimator != CRD_MEAN) {
        crd_dropout_draw(plan->net, plan->seed, step, example, trainer->masks);
        *masks = trainer->masks;
    }
    return noise;
}

crd_status crd_trainer_add(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                           float scale, crd_loss *loss)
{
    const float *masks;
    if (trainer->remote != NULL && trainer->plan.shared) {
        return crd_trainer_example(trainer, example, input, label, scale, trainer->gradient, loss);
    }
    if (trainer->remote != NULL) return crd_remote_add(trainer->remote, example, input, label, scale, loss);
    const crd_noise *noise = draw(trainer, trainer->plan.estimator, (uint32_t)trainer->state.steps, example, &masks);
    crd_engine_loss(trainer->engine, trainer->point, masks, input, label, scale, trainer->point_gradient, loss);
    crd_draw_backward(trainer->posterior, trainer->pool, NULL, noise, trainer->point_gradient, trainer->gradient);
    return CRD_OK;
}

crd_status crd_trainer_example(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                               float scale, float *gradient, crd_loss *loss)
{
    const float *masks;
    if (trainer->remote != NULL) {
        return crd_remote_example(trainer->remote, trainer->state.steps, example, input, label, scale, gradient, loss);
    }
    (void)draw(trainer, trainer->plan.estimator, (uint32_t)trainer->state.steps, example, &masks);
    crd_engine_loss(trainer->engine, trainer->point, masks, input, label, scale, gradient, loss);
    return CRD_OK;
}

void crd_trainer_add_part(crd_trainer *trainer, uint32_t example, const float *gradient_part)
{
    const crd_noise *noise = crd_noise_draw(trainer->noise, trainer->pool, &trainer->part, trainer->plan.estimator,
                                            trainer->plan.seed, (uint32_t)trainer->state.steps, example);
    crd_draw_backward(trainer->posterior, trainer->pool, &trainer->part, noise, gradient_part, trainer->gradient);
}

/* Adam's step of the own part. */
static void adam(crd_trainer *trainer, double rate)
{
    const crd_part *part = &trainer->part;
    const crd_trainer_state *state = &trainer->state;
    for (int i = 0; i < part->model_count; i++) {
        const crd_range range = part->model[i];
        crd_adam_step(trainer->pool, range.end - range.begin, state->steps, rate, trainer->gradient + range.begin,
                      state->m + range.begin, state->v + range.begin, state->parameters + range.begin);
    }
}

crd_status crd_trainer_start(crd_trainer *trainer, double kl_scale, double rate)
{
    crd_trainer_state *state = &trainer->state;
    const crd_prior_settings prior = {.std = trainer->plan.prior_std};
    if (trainer->remote != NULL) {
        return crd_remote_start(trainer->remote, state->steps++, kl_scale, rate,
                                trainer->plan.shared ? trainer->gradient : NULL);
    }
    crd_kl_blocks(trainer->posterior, trainer->pool, &trainer->part, &crd_prior_normal, &prior, state->parameters,
                  NULL);
    crd_kl_gradient(trainer->posterior, trainer->pool, &trainer->part, &crd_prior_normal, &prior, state->parameters,
                    NULL, kl_scale, trainer->gradient);
    state->steps++;
    adam(trainer, rate);
    crd_posterior_update(trainer->posterior, trainer->pool, &trainer->part, state->parameters);
    if (!trainer->plan.shared) crd_trainer_joined(trainer);
    return CRD_OK;
}

void crd_trainer_joined(crd_trainer *trainer)
{
    crd_draw_points(trainer->posterior, trainer->pool, trainer->state.parameters, trainer->point);
}

crd_status crd_trainer_wait(crd_trainer *trainer, double *kl)
{
    if (trainer->remote != NULL) return crd_remote_finish(trainer->remote, kl);
    *kl = crd_kl_total(trainer->posterior);
    return CRD_OK;
}

crd_status crd_trainer_finish(crd_trainer *trainer, double kl_scale, double rate, double *kl)
{
    CRD_PASS(crd_trainer_start(trainer, kl_scale, rate));
    return crd_trainer_wait(trainer, kl);
}

crd_status crd_trainer_fetch_gradient(crd_trainer *trainer)
{
    return trainer->remote != NULL ? crd_remote_gradient(trainer->remote, trainer->gradient) : CRD_OK;
}

crd_status crd_trainer_evaluate(crd_trainer *trainer, const float *input, const uint8_t *label, crd_loss *loss)
{
    const float *masks;
    if (trainer->remote != NULL) return crd_remote_evaluate(trainer->remote, input, label, loss);
    draw(trainer, CRD_MEAN, 0, 0, &masks);
    crd_engine_loss(trainer->engine, trainer->point, masks, input, label, 0.0f, NULL, loss);
    return CRD_OK;
}

static int64_t decoder_values(const crd_net *net)
{
    return net->point.total - crd_decoder_offset(net);
}

crd_status crd_trainer_draw_samples(crd_trainer *trainer)
{
    const crd_net *net = trainer->plan.net;
    const int64_t values = decoder_values(net);
    if (trainer->remote != NULL) {
        CRD_PASS(crd_trainer_fetch(trainer));
        return crd_remote_draw(trainer->remote, trainer->state.parameters,
                               LAST_STEP - (uint32_t)(trainer->plan.samples - 1));
    }
    if (net->kind != CRD_BCNN) return CRD_OK; /* masks are drawn as they are needed */
    for (int64_t s = 0; s < trainer->plan.samples; s++) {
        const float *masks;
        draw(trainer, CRD_INDEPENDENT, LAST_STEP - (uint32_t)s, 0, &masks);
        memcpy(trainer->decoders + s * values, trainer->point + crd_decoder_offset(net),
               (size_t)values * sizeof(float));
    }
    return CRD_OK;
}

crd_status crd_trainer_encode(crd_trainer *trainer, const float *input)
{
    if (trainer->remote != NULL) return crd_remote_decode(trainer->remote, input, &trainer->probabilities);
    crd_engine_encode(trainer->engine, trainer->point, input);
    return CRD_OK;
}

void crd_trainer_decode(crd_trainer *trainer, int64_t sample, float *probability)
{
    const crd_net *net = trainer->plan.net;
    const float *weights = trainer->point + crd_decoder_offset(net), *masks = NULL;
    if (trainer->remote != NULL) { /* which has them in rising order of the streams */
        const int64_t voxels = crd_trainer_chunk_voxels(trainer);
        memcpy(probability, trainer->probabilities + (trainer->plan.samples - 1 - sample) * voxels,
               (size_t)voxels * sizeof *probability);
        return;
    }
    if (net->kind == CRD_BCNN) {
        weights = trainer->decoders + sample * decoder_values(net);
    } else {
        crd_dropout_draw(net, trainer->plan.seed, LAST_STEP - (uint32_t)sample, 0, trainer->masks);
        masks = trainer->masks;
    }
    crd_engine_decode(trainer->engine, weights, masks, 1.0f, probability);
}
