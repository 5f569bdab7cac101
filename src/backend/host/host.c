/* The CPU as a backend: a predictor and a learner over the engine (net/engine.h). */
#include <stdio.h>

#include "backend/cpu/bench_peak.h"
#include "backend/host/learner.h"
#include "backend/host/norms.h"
#include "backend/host/predictor.h"

static crd_status describe(const crd_device_settings *settings, char *text, size_t size)
{
    const crd_ops *ops;
    CRD_PASS(crd_host_ops(settings, &ops));
    snprintf(text, size, "cpu (%s)", ops->name);
    return CRD_OK;
}

/* In f32, whatever the settings say. How fast it copies is left to `bench ops`. */
static crd_status device_peak(const crd_device_settings *settings, crd_device_peak *out)
{
    const crd_ops *ops;
    crd_pool *pool = NULL;
    *out = (crd_device_peak){0};
    CRD_PASS(crd_ops_select(settings->isa, &ops));
    CRD_PASS(crd_pool_create(settings->threads, &pool));
    out->matrix_gflops = crd_bench_peak(ops, pool, 0.5);
    crd_pool_free(&pool);
    return CRD_OK;
}

const crd_backend crd_backend_cpu = {
    .version = CRD_BACKEND_VERSION,
    .name = "cpu",
    .on_host = true,
    .auto_chunk = {64, 128, 128},
    .auto_tile_voxels = 9000000,
    .describe = describe,
    .predictor_bytes = crd_host_predictor_bytes,
    .predictor_create = crd_host_predictor_create,
    .predictor_depth = crd_host_predictor_depth,
    .predictor_keep = crd_host_predictor_keep,
    .predictor_submit = crd_host_predictor_submit,
    .predictor_collect = crd_host_predictor_collect,
    .predictor_free = crd_host_predictor_free,
    .norms_bytes = crd_host_norms_bytes,
    .measure_norms = crd_host_measure_norms,
    .device_peak = device_peak,
    .learner_bytes = crd_host_learner_bytes,
    .learner_path = crd_host_learner_path,
    .learner_create = crd_host_learner_create,
    .learner_write = crd_host_learner_write,
    .learner_read = crd_host_learner_read,
    .learner_stage = crd_host_learner_stage,
    .learner_start = crd_host_learner_start,
    .learner_finish = crd_host_learner_finish,
    .learner_gradient = crd_host_learner_gradient,
    .learner_evaluate = crd_host_learner_evaluate,
    .learner_free = crd_host_learner_free,
    .learner_draw = crd_host_learner_draw,
    .learner_encode = crd_host_learner_encode,
    .learner_decode = crd_host_learner_decode,
    .learner_example = crd_host_learner_example,
    .learner_part_values = crd_host_learner_part_values,
    .learner_pack_part = crd_host_learner_pack_part,
    .learner_unpack_part = crd_host_learner_unpack_part,
};
