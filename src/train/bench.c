/* A training step on a mini-batch in memory, timed. */
#include <stdio.h>
#include <string.h>

#include "backend/choose.h"
#include "backend/cpu/bench_peak.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "credence/bench.h"
#include "net/cost.h"
#include "net/model.h"
#include "train/trainer.h"

enum { USUAL_BATCH = 2, USUAL_FILTERS = 16, USUAL_SECONDS = 5 };

/* Noise for a scan and stripes for a label: the time doesn't depend on the values. */
static void fill_batch(int64_t voxels, int classes, float *input, uint8_t *label)
{
    for (int64_t i = 0; i < voxels; i++) {
        input[i] = (float)(i * 7919 % 2048) / 1024.0f - 1.0f;
        label[i] = (uint8_t)(i / 16 % classes);
    }
}

static crd_status time_steps(crd_trainer *trainer, int classes, double seconds, const crd_monitor *monitor,
                             crd_bench_result *result)
{
    crd_status status = CRD_OK;
    float *input = NULL;
    uint8_t *label = NULL;
    crd_loss *losses = NULL;
    double best = 0.0, spent = 0.0, kl;
    const int64_t voxels = crd_trainer_chunk_voxels(trainer);
    CRD_TRY(crd_alloc(voxels, sizeof *input, "a chunk", &input));
    CRD_TRY(crd_alloc(voxels, 1, "a chunk", &label));
    CRD_TRY(crd_alloc(result->batch, sizeof *losses, "the losses", &losses));
    fill_batch(voxels, classes, input, label);
    /* The first step warms up, and doesn't count. */
    for (int64_t i = 0; i <= 2 || spent < seconds; i++) {
        const double begin = crd_seconds();
        for (int64_t e = 0; e < result->batch; e++) {
            CRD_TRY(crd_trainer_add(trainer, (uint32_t)e, input, label, 1.0f / (float)voxels, &losses[e]));
        }
        CRD_TRY(crd_trainer_finish(trainer, 1e-6, 1e-4, &kl));
        const double took = crd_seconds() - begin;
        if (i > 0) spent += took;
        if (i == 1 || (i > 1 && took < best)) best = took;
        result->repetitions = i;
        CRD_TRY(crd_advance(monitor, "measuring", "steps", i, i > 2 ? i : 2, NULL));
    }
    result->milliseconds = 1e3 * best;
    result->peak_memory_bytes = crd_bench_memory();
done:
    crd_free(&input);
    crd_free(&label);
    crd_free(&losses);
    return status;
}

/* As time_steps, where the backend overlaps: over all of them, the next mini-batch being added while one runs. */
static crd_status time_pipeline(crd_trainer *trainer, const crd_trainer_plan *plan, int classes, double seconds,
                                const crd_monitor *monitor, crd_bench_result *result)
{
    crd_status status = CRD_OK;
    float *input = NULL;
    uint8_t *label = NULL;
    crd_loss *losses = NULL;
    crd_device_load load = {0};
    double begin = 0.0, kl;
    const int64_t voxels = crd_trainer_chunk_voxels(trainer), warming = 3;
    CRD_TRY(crd_alloc(voxels, sizeof *input, "a chunk", &input));
    CRD_TRY(crd_alloc(voxels, 1, "a chunk", &label));
    CRD_TRY(crd_alloc(2 * result->batch, sizeof *losses, "the losses", &losses));
    fill_batch(voxels, classes, input, label);
    for (int64_t i = -1; i < warming + 5 || crd_seconds() - begin < seconds; i++) {
        if (i == warming) begin = crd_seconds();
        if (i >= 0) CRD_TRY(crd_trainer_start(trainer, 1e-6, 1e-4));
        for (int64_t e = 0; e < result->batch; e++) {
            CRD_TRY(crd_trainer_add(trainer, (uint32_t)e, input, label, 1.0f / (float)(result->batch * voxels),
                                    &losses[(i & 1) * result->batch + e]));
        }
        if (i >= 0) CRD_TRY(crd_trainer_wait(trainer, &kl));
        result->repetitions = i - warming + 1;
        CRD_TRY(crd_advance(monitor, "measuring", "steps", i + 1, i + 2, NULL));
    }
    if (plan->backend->device_load != NULL) CRD_TRY(plan->backend->device_load(&plan->device, &load));
    result->milliseconds = 1e3 * (crd_seconds() - begin) / (double)result->repetitions;
    result->megahertz = load.megahertz;
    result->watts = load.watts;
    result->peak_memory_bytes = crd_bench_memory();
done:
    crd_free(&input);
    crd_free(&label);
    crd_free(&losses);
    return status;
}

static crd_status measure(crd_trainer *trainer, const crd_trainer_plan *plan, double seconds,
                          const crd_monitor *monitor, crd_bench_result *result)
{
    crd_device_peak peak;
    int64_t host;
    CRD_PASS(crd_trainer_bytes(plan, &host, &result->device_memory_bytes));
    const int classes = plan->learner.net->classes;
    CRD_PASS(plan->backend->overlaps ? time_pipeline(trainer, plan, classes, seconds, monitor, result)
                                     : time_steps(trainer, classes, seconds, monitor, result));
    CRD_PASS(plan->backend->device_peak(&plan->device, &peak));
    result->peak_gflops = peak.matrix_gflops;
    result->copy_gigabytes = peak.copy_gigabytes;
    return CRD_OK;
}

crd_status crd_bench_train(const crd_bench_network_settings *s, const crd_monitor *monitor, crd_bench_result *result)
{
    crd_status status = CRD_OK;
    crd_model *model = NULL;
    crd_trainer *trainer = NULL;
    static const char *const precisions[] = {"f32", "bf16", "fp16"};
    const bool usual = s->chunk[0] == 0;
    const crd_device_choice choice = {
        .device = s->device, .precision = s->precision, .isa = s->isa, .threads = s->threads, .training = true};
    crd_model_info info = {
        .kind = s->kind, .filters = s->filters > 0 ? s->filters : USUAL_FILTERS, .classes = s->classes};
    crd_trainer_plan plan = {.learner = {.prior = {.std = 1}, .seed = 1}};
    *result =
        (crd_bench_result){.precision = "f32",
                           .estimator = s->estimator != NULL ? s->estimator : "flipout",
                           .chunk = {usual ? 32 : s->chunk[0], usual ? 64 : s->chunk[1], usual ? 64 : s->chunk[2]},
                           .batch = s->batch > 0 ? s->batch : USUAL_BATCH};
    CRD_TRY(crd_backend_choose(&choice, &plan.backend, &plan.device));
    plan.learner.batch = result->batch;
    (void)crd_backend_settle(plan.backend, info.filters, true, &plan.device);
    result->precision = precisions[plan.device.precision];
    CRD_TRY(crd_estimator_parse(result->estimator, &plan.learner.estimator));
    for (int k = 0; k < s->classes; k++) info.class_values[k] = k;
    CRD_TRY(crd_model_create(&info, 1, &model));
    plan.learner.net = &model->net;
    memcpy(plan.learner.chunk, result->chunk, sizeof plan.learner.chunk);
    CRD_TRY(plan.backend->describe(&plan.device, result->device, sizeof result->device));
    CRD_TRY(crd_trainer_create(&plan, &trainer));
    crd_trainer_state *state = crd_trainer_state_of(trainer);
    memcpy(state->parameters, model->parameters, (size_t)state->count * sizeof(float));
    CRD_TRY(crd_trainer_parameters_changed(trainer));
    CRD_TRY(measure(trainer, &plan, s->seconds > 0 ? s->seconds : USUAL_SECONDS, monitor, result));
    result->gflops =
        1e-6 * (double)result->batch * crd_training_cost(&model->net, result->chunk) / result->milliseconds;
done:
    crd_trainer_free(&trainer);
    crd_model_free(&model);
    return status;
}
