/* A chunk with all its samples, timed. */
#include <stdio.h>

#include "backend/choose.h"
#include "backend/cpu/bench_peak.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/report.h"
#include "credence/bench.h"
#include "net/cost.h"
#include "net/model.h"

enum { USUAL_SAMPLES = 48, USUAL_FILTERS = 16, USUAL_SECONDS = 5 };

static crd_status time_chunks(const crd_backend *backend, const crd_device_settings *device,
                              const crd_predictor_plan *plan, double seconds, const crd_monitor *monitor,
                              crd_bench_result *result)
{
    crd_status status = CRD_OK;
    crd_predictor *predictor = NULL;
    float *input = NULL;
    double best = 0.0, spent = 0.0;
    const int64_t voxels = plan->chunk[0] * plan->chunk[1] * plan->chunk[2];
    CRD_TRY(crd_alloc(voxels, sizeof *input, "a chunk", &input));
    for (int64_t i = 0; i < voxels; i++) input[i] = (float)(i * 7919 % 2048) / 1024.0f - 1.0f;
    CRD_TRY(backend->predictor_create(device, plan, &predictor));
    /* The first chunk warms up, and doesn't count. */
    for (int64_t i = 0; i <= 2 || spent < seconds; i++) {
        crd_chunk_result chunk;
        const double begin = crd_seconds();
        CRD_TRY(backend->predictor_submit(predictor, i, input, NULL, 0));
        CRD_TRY(backend->predictor_collect(predictor, &chunk));
        const double took = crd_seconds() - begin;
        if (i > 0) spent += took;
        if (i == 1 || (i > 1 && took < best)) best = took;
        result->repetitions = i;
        CRD_TRY(crd_advance(monitor, "measuring", "chunks", i, i > 2 ? i : 2, NULL));
    }
    result->milliseconds = 1e3 * best;
    result->peak_memory_bytes = crd_bench_memory();
done:
    backend->predictor_free(&predictor);
    crd_free(&input);
    return status;
}

crd_status crd_bench_predict(const crd_bench_network_settings *s, const crd_monitor *monitor, crd_bench_result *result)
{
    static const double percentiles[] = {33.0, 67.0};
    crd_status status = CRD_OK;
    crd_model *model = NULL;
    crd_pool *pool = NULL;
    const crd_ops *ops;
    const bool usual = s->chunk[0] == 0;
    const crd_device_choice choice = {s->device, s->precision, s->isa, s->threads, false, 0};
    const crd_backend *backend;
    crd_device_settings device;
    const crd_model_info info = {.kind = s->kind, .filters = s->filters > 0 ? s->filters : USUAL_FILTERS};
    *result =
        (crd_bench_result){.precision = "f32",
                           .estimator = "independent",
                           .chunk = {usual ? 48 : s->chunk[0], usual ? 88 : s->chunk[1], usual ? 88 : s->chunk[2]},
                           .samples = s->samples > 0 ? s->samples : USUAL_SAMPLES};
    CRD_TRY(crd_backend_choose(&choice, &backend, &device));
    result->precision = device.precision == CRD_PRECISION_F32    ? "f32"
                        : device.precision == CRD_PRECISION_BF16 ? "bf16"
                                                                 : "fp16";
    CRD_TRY(crd_model_create(&info, 1, &model));
    const crd_predictor_plan plan = {.net = &model->net,
                                     .parameters = model->parameters,
                                     .chunk = {result->chunk[0], result->chunk[1], result->chunk[2]},
                                     .samples = result->samples,
                                     .seed = 1,
                                     .estimator = CRD_INDEPENDENT,
                                     .inverse_temperature = 1.0f,
                                     .percentiles = percentiles,
                                     .percentile_count = 2};
    CRD_TRY(backend->describe(&device, result->device, sizeof result->device));
    CRD_TRY(time_chunks(backend, &device, &plan, s->seconds > 0 ? s->seconds : USUAL_SECONDS, monitor, result));
    const crd_cost cost = crd_network_cost(&model->net, result->chunk);
    result->gflops = 1e-6 * (cost.encoder + (double)result->samples * cost.decoder) / result->milliseconds;
    if (backend != &crd_backend_cpu) goto done;
    CRD_TRY(crd_ops_select(s->isa, &ops));
    CRD_TRY(crd_pool_create(s->threads, &pool));
    result->peak_gflops = crd_bench_peak(ops, pool, 0.5);
done:
    crd_pool_free(&pool);
    crd_model_free(&model);
    return status;
}
