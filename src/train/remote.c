#include "train/remote.h"

#include <string.h>

#include "base/memory.h"

struct crd_remote {
    crd_trainer_plan plan;
    const crd_backend *backend;
    crd_learner *learner;
    crd_predictor *predictor; /* of the samples drawn last, or NULL */
    crd_loss *losses;         /* [batch] of the step that runs */
    crd_loss **wanted;        /* [batch] where its losses go */
    crd_loss **next;          /* the same for the examples that are added meanwhile */
    int64_t running, added;   /* examples */
    float scale;
    bool newer; /* the device's state is newer than the host's */
};

bool crd_remote_wanted(const crd_trainer_plan *plan)
{
    return plan->backend != NULL && plan->backend->learner_create != NULL;
}

static crd_learner_plan learner_plan(const crd_trainer_plan *plan)
{
    return (crd_learner_plan){.net = plan->net,
                              .chunk = {plan->chunk[0], plan->chunk[1], plan->chunk[2]},
                              .batch = plan->batch > 0 ? plan->batch : 1,
                              .estimator = plan->estimator,
                              .prior_std = plan->prior_std,
                              .seed = plan->seed};
}

crd_status crd_remote_create(const crd_trainer_plan *plan, crd_remote **out)
{
    crd_status status = CRD_OK;
    crd_remote *remote = NULL;
    const crd_learner_plan learner = learner_plan(plan);
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *remote, "the trainer", &remote));
    remote->plan = *plan;
    remote->backend = plan->backend;
    CRD_TRY(crd_alloc(learner.batch, sizeof *remote->losses, "the losses", &remote->losses));
    CRD_TRY(crd_alloc(learner.batch, sizeof *remote->wanted, "the losses", &remote->wanted));
    CRD_TRY(crd_alloc(learner.batch, sizeof *remote->next, "the losses", &remote->next));
    CRD_TRY(plan->backend->learner_create(&plan->device, &learner, &remote->learner));
    *out = remote;
    remote = NULL;
done:
    crd_remote_free(&remote);
    return status;
}

void crd_remote_free(crd_remote **pointer)
{
    crd_remote *remote = *pointer;
    if (remote == NULL) return;
    remote->backend->predictor_free(&remote->predictor);
    remote->backend->learner_free(&remote->learner);
    crd_free(&remote->losses);
    crd_free(&remote->wanted);
    crd_free(&remote->next);
    crd_free(pointer);
}

crd_status crd_remote_bytes(const crd_trainer_plan *plan, int64_t *host_bytes, int64_t *device_bytes)
{
    const crd_learner_plan learner = learner_plan(plan);
    return plan->backend->learner_bytes(&plan->device, &learner, host_bytes, device_bytes);
}

crd_status crd_remote_write(crd_remote *remote, const crd_trainer_state *state)
{
    remote->newer = false;
    return remote->backend->learner_write(remote->learner, state->parameters, state->m, state->v);
}

crd_status crd_remote_read(crd_remote *remote, crd_trainer_state *state)
{
    if (!remote->newer) return CRD_OK;
    remote->newer = false;
    return remote->backend->learner_read(remote->learner, state->parameters, state->m, state->v);
}

crd_status crd_remote_add(crd_remote *remote, uint32_t example, const float *input, const uint8_t *label, float scale,
                          crd_loss *loss)
{
    if ((int64_t)example != remote->added || remote->added >= learner_plan(&remote->plan).batch) {
        return crd_fail(CRD_ERR_INTERNAL, "example %u is out of order", (unsigned)example);
    }
    CRD_PASS(remote->backend->learner_stage(remote->learner, remote->added, input, label));
    remote->scale = scale;
    remote->next[remote->added++] = loss;
    return CRD_OK;
}

crd_status crd_remote_start(crd_remote *remote, int64_t step, double kl_scale, double rate, const float *gradient)
{
    const crd_learner_step now = {.number = step,
                                  .count = remote->added,
                                  .scale = remote->scale,
                                  .kl_scale = kl_scale,
                                  .rate = rate,
                                  .gradient = gradient};
    memcpy(remote->wanted, remote->next, (size_t)remote->added * sizeof(crd_loss *));
    remote->running = remote->added;
    remote->added = 0;
    remote->newer = true;
    return remote->backend->learner_start(remote->learner, &now);
}

crd_status crd_remote_finish(crd_remote *remote, double *kl)
{
    CRD_PASS(remote->backend->learner_finish(remote->learner, remote->losses, kl));
    for (int64_t i = 0; i < remote->running; i++) *remote->wanted[i] = remote->losses[i];
    return CRD_OK;
}

crd_status crd_remote_gradient(crd_remote *remote, float *gradient)
{
    return remote->backend->learner_gradient(remote->learner, gradient);
}

crd_status crd_remote_example(crd_remote *remote, int64_t step, uint32_t example, const float *input,
                              const uint8_t *label, float scale, float *gradient, crd_loss *loss)
{
    const crd_learner_step now = {.number = step, .first = example, .count = 1, .scale = scale, .gradient_only = true};
    double kl;
    CRD_PASS(remote->backend->learner_stage(remote->learner, 0, input, label));
    CRD_PASS(remote->backend->learner_start(remote->learner, &now));
    CRD_PASS(remote->backend->learner_finish(remote->learner, loss, &kl));
    return remote->backend->learner_gradient(remote->learner, gradient);
}

crd_status crd_remote_evaluate(crd_remote *remote, const float *input, const uint8_t *label, crd_loss *loss)
{
    return remote->backend->learner_evaluate(remote->learner, input, label, loss);
}

crd_status crd_remote_draw(crd_remote *remote, const float *parameters, uint32_t first_step)
{
    const crd_trainer_plan *from = &remote->plan;
    const crd_predictor_plan plan = {.net = from->net,
                                     .parameters = parameters,
                                     .chunk = {from->chunk[0], from->chunk[1], from->chunk[2]},
                                     .samples = from->samples,
                                     .seed = from->seed,
                                     .estimator = CRD_INDEPENDENT,
                                     .inverse_temperature = 1.0f,
                                     .keep_samples = true,
                                     .first_sample = first_step};
    remote->backend->predictor_free(&remote->predictor);
    return remote->backend->predictor_create(&from->device, &plan, &remote->predictor);
}

crd_status crd_remote_decode(crd_remote *remote, const float *input, const float **probabilities)
{
    crd_chunk_result result;
    CRD_PASS(remote->backend->predictor_submit(remote->predictor, 0, input, NULL, 0));
    CRD_PASS(remote->backend->predictor_collect(remote->predictor, &result));
    *probabilities = result.samples;
    return CRD_OK;
}
