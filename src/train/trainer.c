#include "train/trainer.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"
#include "net/init.h"

/* Steps of training are numbered from 0 up; the samples that evaluate it from the top of the range down. */
static const uint32_t LAST_STEP = UINT32_MAX;

struct crd_trainer {
    crd_trainer_plan plan;
    const crd_backend *backend;
    crd_learner *learner;
    crd_trainer_state state;
    bool newer, newer_moments;  /* the learner's parameters, and its moments, are newer than these */
    crd_loss *losses;           /* [batch] of the step that runs */
    crd_loss **wanted;          /* [batch] where its losses go */
    crd_loss **next;            /* the same for the examples that are added meanwhile */
    int64_t running, added;     /* examples */
    float scale;                /* of those added */
    crd_trainer_networks pool;  /* members 0: samples are of the trainer's own network */
    int64_t drawn;              /* samples, the last time */
    crd_predictor *predictor;   /* of them, where the learner has none of its own */
    int64_t predicts, members;  /* its samples, and whose they are: the pool's members, 0: the own network's */
    int64_t sent;               /* chunks that it has, not received yet */
    const float *probabilities; /* of the chunk received last, from the predictor */
    void *memory;               /* one block behind all arrays */
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

static void lay_out(crd_arena *arena, void *owner)
{
    crd_trainer *trainer = owner;
    const crd_learner_plan *plan = &trainer->plan.learner;
    crd_trainer_state *state = &trainer->state;
    state->count = plan->net->model.total;
    state->parameters = crd_arena_take(arena, state->count, sizeof(float));
    state->m = crd_arena_take(arena, state->count, sizeof(float));
    state->v = crd_arena_take(arena, state->count, sizeof(float));
    trainer->losses = crd_arena_take(arena, plan->batch, sizeof *trainer->losses);
    trainer->wanted = crd_arena_take(arena, plan->batch, sizeof *trainer->wanted);
    trainer->next = crd_arena_take(arena, plan->batch, sizeof *trainer->next);
}

crd_status crd_trainer_create(const crd_trainer_plan *plan, crd_trainer **out)
{
    crd_status status = CRD_OK;
    crd_trainer *trainer = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *trainer, "the trainer", &trainer));
    trainer->plan = *plan;
    trainer->backend = plan->backend;
    CRD_TRY(crd_arena_carve(lay_out, trainer, "the parameters and Adam's moments", &trainer->memory));
    const crd_trainer_state *state = &trainer->state;
    trainer->plan.learner.state = (crd_learner_state){state->parameters, state->m, state->v};
    CRD_TRY(plan->backend->learner_create(&plan->device, &trainer->plan.learner, &trainer->learner));
    CRD_TRY(plan->backend->learner_path(&plan->device, trainer->path, sizeof trainer->path));
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
    trainer->backend->predictor_free(&trainer->predictor);
    trainer->backend->learner_free(&trainer->learner);
    crd_free(&trainer->memory);
    crd_free(pointer);
}

crd_status crd_trainer_bytes(const crd_trainer_plan *plan, int64_t *bytes, int64_t *device_bytes)
{
    crd_trainer counted = {.plan = *plan};
    CRD_PASS(plan->backend->learner_bytes(&plan->device, &plan->learner, bytes, device_bytes));
    *bytes += (int64_t)sizeof counted + crd_arena_count(lay_out, &counted);
    return CRD_OK;
}

crd_trainer_state *crd_trainer_state_of(crd_trainer *trainer)
{
    return &trainer->state;
}

const crd_backend *crd_trainer_backend(const crd_trainer *trainer)
{
    return trainer->backend;
}

crd_learner *crd_trainer_learner(const crd_trainer *trainer)
{
    return trainer->learner;
}

int crd_trainer_planes(const crd_trainer *trainer)
{
    return crd_net_planes(trainer->plan.learner.net);
}

int64_t crd_trainer_chunk_voxels(const crd_trainer *trainer)
{
    const int64_t *chunk = trainer->plan.learner.chunk;
    return chunk[0] * chunk[1] * chunk[2];
}

int crd_trainer_threads(const crd_trainer *trainer)
{
    return trainer->plan.device.threads;
}

const char *crd_trainer_isa(const crd_trainer *trainer)
{
    return trainer->path;
}

crd_status crd_trainer_parameters_changed(crd_trainer *trainer)
{
    trainer->newer = trainer->newer_moments = false;
    return trainer->backend->learner_write(trainer->learner);
}

crd_status crd_trainer_redraw_head(crd_trainer *trainer, bool foreground_is_commoner)
{
    const crd_learner_plan *plan = &trainer->plan.learner;
    crd_trainer_state *state = &trainer->state;
    float *last = state->parameters + plan->net->model.kernel[plan->net->last];
    crd_net_init_head(plan->net, plan->seed, (uint32_t)state->steps, state->parameters);
    if (plan->net->classes == 2) *last = foreground_is_commoner ? fabsf(*last) : -fabsf(*last);
    for (int p = 0; p < plan->net->model.count; p++) {
        const crd_parameter *parameter = &plan->net->model.parameters[p];
        if (!crd_net_in_head(plan->net, parameter)) continue;
        memset(state->m + parameter->offset, 0, (size_t)parameter->count * sizeof(float));
        memset(state->v + parameter->offset, 0, (size_t)parameter->count * sizeof(float));
    }
    return crd_trainer_parameters_changed(trainer);
}

crd_status crd_trainer_fetch(crd_trainer *trainer, bool moments)
{
    if (!trainer->newer && !(moments && trainer->newer_moments)) return CRD_OK;
    trainer->newer = false;
    trainer->newer_moments = trainer->newer_moments && !moments;
    return trainer->backend->learner_read(trainer->learner, moments);
}

crd_status crd_trainer_add(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                           float scale, crd_loss *loss)
{
    if ((int64_t)example != trainer->added || trainer->added >= trainer->plan.learner.batch) {
        return crd_fail(CRD_ERR_INTERNAL, "example %u is out of order", (unsigned)example);
    }
    CRD_PASS(trainer->backend->learner_stage(trainer->learner, trainer->added, input, label));
    trainer->scale = scale;
    trainer->next[trainer->added++] = loss;
    return CRD_OK;
}

/* `step` says what it follows. */
static crd_status start(crd_trainer *trainer, crd_learner_step step, double kl_scale, double rate)
{
    step.number = trainer->state.steps++;
    step.kl_scale = kl_scale;
    step.rate = rate;
    memcpy(trainer->wanted, trainer->next, (size_t)trainer->added * sizeof(crd_loss *));
    trainer->running = trainer->added;
    trainer->added = 0;
    trainer->newer = trainer->newer_moments = true;
    return trainer->backend->learner_start(trainer->learner, &step);
}

crd_status crd_trainer_start(crd_trainer *trainer, double kl_scale, double rate)
{
    return start(trainer, (crd_learner_step){.count = trainer->added, .scale = trainer->scale}, kl_scale, rate);
}

crd_status crd_trainer_follow(crd_trainer *trainer, const float *gradient, double kl_scale, double rate)
{
    return start(trainer, (crd_learner_step){.gradient = gradient}, kl_scale, rate);
}

crd_status crd_trainer_follow_parts(crd_trainer *trainer, int64_t count, const float *const *parts, double kl_scale,
                                    double rate)
{
    return start(trainer, (crd_learner_step){.count = count, .parts = parts}, kl_scale, rate);
}

crd_status crd_trainer_wait(crd_trainer *trainer, double *kl)
{
    CRD_PASS(trainer->backend->learner_finish(trainer->learner, trainer->losses, kl));
    for (int64_t i = 0; i < trainer->running; i++) *trainer->wanted[i] = trainer->losses[i];
    return CRD_OK;
}

crd_status crd_trainer_finish(crd_trainer *trainer, double kl_scale, double rate, double *kl)
{
    CRD_PASS(crd_trainer_start(trainer, kl_scale, rate));
    return crd_trainer_wait(trainer, kl);
}

crd_status crd_trainer_gradient(crd_trainer *trainer, float *gradient)
{
    return trainer->backend->learner_gradient(trainer->learner, gradient);
}

crd_status crd_trainer_example(crd_trainer *trainer, uint32_t example, const float *input, const uint8_t *label,
                               float scale, float *gradient, crd_loss *loss)
{
    const crd_backend *backend = trainer->backend;
    crd_learner *learner = trainer->learner;
    const crd_learner_step alone = {
        .number = trainer->state.steps, .first = example, .count = 1, .scale = scale, .gradient_only = true};
    double kl;
    if (backend->learner_example != NULL) {
        return backend->learner_example(learner, &alone, input, label, gradient, loss);
    }
    CRD_PASS(backend->learner_stage(learner, 0, input, label));
    CRD_PASS(backend->learner_start(learner, &alone));
    CRD_PASS(backend->learner_finish(learner, loss, &kl));
    return backend->learner_gradient(learner, gradient);
}

crd_status crd_trainer_evaluate(crd_trainer *trainer, const float *input, const uint8_t *label, crd_loss *loss)
{
    return trainer->backend->learner_evaluate(trainer->learner, input, label, loss);
}

crd_status crd_trainer_check(crd_trainer *trainer, int64_t number, const float *input, const uint8_t *label,
                             crd_loss *loss)
{
    if (trainer->backend->learner_check == NULL) return crd_trainer_evaluate(trainer, input, label, loss);
    return trainer->backend->learner_check(trainer->learner, number, input, label, loss);
}

crd_status crd_trainer_checked(crd_trainer *trainer)
{
    return trainer->backend->learner_check != NULL ? trainer->backend->learner_checked(trainer->learner) : CRD_OK;
}

bool crd_trainer_keeps(const crd_trainer *trainer, int64_t number)
{
    return trainer->backend->learner_check != NULL && trainer->backend->learner_keeps(trainer->learner, number);
}

crd_status crd_trainer_summarise(crd_trainer *trainer, crd_posterior_summary *out)
{
    crd_status status = CRD_OK;
    crd_pool *pool = NULL;
    crd_posterior *posterior = NULL;
    if (trainer->backend->learner_summarise != NULL) {
        return trainer->backend->learner_summarise(trainer->learner, out);
    }
    CRD_PASS(crd_trainer_fetch(trainer, false));
    CRD_TRY(crd_pool_create(trainer->plan.device.threads, &pool));
    CRD_TRY(crd_posterior_create(trainer->plan.learner.net, &posterior));
    crd_posterior_update(posterior, pool, NULL, trainer->state.parameters);
    crd_posterior_summarise(posterior, pool, trainer->state.parameters, out);
done:
    crd_posterior_free(&posterior);
    crd_pool_free(&pool);
    return status;
}

void crd_trainer_pool(crd_trainer *trainer, const crd_trainer_networks *networks)
{
    trainer->pool = *networks;
}

static crd_status make_predictor(crd_trainer *trainer, int64_t first_sample)
{
    const crd_learner_plan *from = &trainer->plan.learner;
    const crd_trainer_networks *pool = &trainer->pool;
    const bool own = pool->members == 0;
    const crd_predictor_plan plan = {.net = from->net,
                                     .parameters = own ? trainer->state.parameters : pool->parameters,
                                     .members = pool->members,
                                     .chunk = {from->chunk[0], from->chunk[1], from->chunk[2]},
                                     .samples = trainer->drawn,
                                     .seed = own ? from->seed : pool->seed,
                                     .estimator = pool->at_means ? CRD_MEAN : CRD_INDEPENDENT,
                                     .inverse_temperature = 1.0f,
                                     .keep_samples = true,
                                     .first_sample = first_sample};
    const crd_backend *backend = trainer->backend;
    CRD_PASS(crd_trainer_fetch(trainer, false));
    if (trainer->predictor != NULL && backend->predictor_renew != NULL && trainer->sent == 0 &&
        trainer->predicts == plan.samples && trainer->members == plan.members) {
        return backend->predictor_renew(trainer->predictor);
    }
    backend->predictor_free(&trainer->predictor);
    trainer->sent = 0;
    trainer->predicts = plan.samples;
    trainer->members = plan.members;
    return backend->predictor_create(&trainer->plan.device, &plan, &trainer->predictor);
}

crd_status crd_trainer_draw_samples(crd_trainer *trainer, int64_t count)
{
    const int64_t first = (int64_t)LAST_STEP - (count - 1);
    trainer->drawn = count;
    if (trainer->backend->learner_draw == NULL || trainer->pool.members > 0) return make_predictor(trainer, first);
    CRD_ASSERT(count <= trainer->plan.learner.samples);
    trainer->backend->learner_draw(trainer->learner, first, count);
    return CRD_OK;
}

bool crd_trainer_takes_ahead(const crd_trainer *trainer)
{
    return trainer->predictor != NULL && trainer->backend->overlaps;
}

crd_status crd_trainer_send(crd_trainer *trainer, const float *input)
{
    if (trainer->predictor == NULL) {
        trainer->backend->learner_encode(trainer->learner, input);
        return CRD_OK;
    }
    CRD_PASS(trainer->backend->predictor_submit(trainer->predictor, 0, input, NULL, 0));
    trainer->sent++;
    return CRD_OK;
}

crd_status crd_trainer_receive(crd_trainer *trainer)
{
    crd_chunk_result result;
    if (trainer->predictor == NULL) return CRD_OK;
    trainer->sent--;
    CRD_PASS(trainer->backend->predictor_collect(trainer->predictor, &result));
    trainer->probabilities = result.samples;
    return CRD_OK;
}

crd_status crd_trainer_encode(crd_trainer *trainer, const float *input)
{
    CRD_PASS(crd_trainer_send(trainer, input));
    return crd_trainer_receive(trainer);
}

const float *crd_trainer_decoded(crd_trainer *trainer, int64_t sample, float *room)
{
    const int64_t values = crd_trainer_chunk_voxels(trainer) * crd_trainer_planes(trainer);
    const int64_t place = trainer->drawn - 1 - sample; /* in the rising order of their streams */
    if (trainer->predictor != NULL) return trainer->probabilities + place * values;
    trainer->backend->learner_decode(trainer->learner, place, room);
    return room;
}

void crd_trainer_decode(crd_trainer *trainer, int64_t sample, float *probability)
{
    const int64_t values = crd_trainer_chunk_voxels(trainer) * crd_trainer_planes(trainer);
    const float *decoded = crd_trainer_decoded(trainer, sample, probability);
    if (decoded != probability) memcpy(probability, decoded, (size_t)values * sizeof *probability);
}
