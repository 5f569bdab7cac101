/* A chunk with all its samples, timed. */
#include <string.h>

#include "backend/choose.h"
#include "backend/cpu/bench_peak.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "credence/bench.h"
#include "net/cost.h"
#include "net/model.h"

static const int64_t usual_chunk[2][3] = {{48, 88, 88}, {88, 176, 176}}; /* on the host, on a device */
enum { USUAL_SAMPLES = 48, USUAL_FILTERS = 16, USUAL_SECONDS = 5 };

/* The peak of the device, and what memory of it the predictor will take. */
static crd_status measure_device(const crd_backend *backend, const crd_device_settings *device,
                                 const crd_predictor_plan *plan, crd_bench_result *result)
{
    int64_t host;
    crd_device_peak peak;
    CRD_PASS(backend->predictor_bytes(device, plan, &host, &result->device_memory_bytes));
    CRD_PASS(backend->device_peak(device, &peak));
    result->peak_gflops = peak.matrix_gflops;
    result->copy_gigabytes = peak.copy_gigabytes;
    return CRD_OK;
}

/* What is asked for: all but the halo. */
static crd_box kept_of(const crd_bench_result *r)
{
    const int64_t halo = r->halo, *chunk = r->chunk;
    return (crd_box){{halo, halo, halo}, {chunk[0] - 2 * halo, chunk[1] - 2 * halo, chunk[2] - 2 * halo}};
}

static crd_status time_layers(const crd_backend *backend, const crd_predictor_plan *plan, crd_predictor *predictor,
                              const float *input, crd_bench_result *result)
{
    const crd_net *net = plan->net;
    const crd_box keep = kept_of(result);
    crd_crop crop;
    double milliseconds[CRD_LAYERS_MAX + 1];
    if (backend->predictor_layers == NULL) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "the layers of a prediction are timed on one GPU; for the CPU there is "
                                             "`credence bench ops --layers`");
    }
    CRD_PASS(backend->predictor_layers(predictor, input, milliseconds));
    crd_crop_make(net, plan->chunk, &keep, &crop);
    for (int i = 0; i <= net->layer_count; i++) {
        const bool summary = i == net->layer_count;
        const int64_t *size = crop.layers[summary ? net->last : i].size;
        const double passes = i < net->decoder ? 1.0 : (double)plan->samples;
        const double voxels = passes * (double)size[0] * (double)size[1] * (double)size[2];
        if (i == net->last) continue; /* a part of the head's kernel */
        result->layers[result->layer_count++] = (crd_bench_layer){
            .path = summary ? "summary" : net->layers[i].path,
            .milliseconds = milliseconds[i],
            .gflops = summary ? 0.0 : 1e-6 * voxels * crd_voxel_cost(&net->layers[i]) / milliseconds[i]};
    }
    return CRD_OK;
}

/* A device with a queue: as many chunks in it as it takes, for so many seconds, once it is warm. */
static crd_status time_queue(const crd_backend *backend, const crd_device_settings *device, crd_predictor *predictor,
                             const float *input, double seconds, const crd_monitor *monitor, crd_bench_result *result)
{
    const int64_t depth = backend->predictor_depth(predictor), warm = 2 * depth;
    crd_chunk_result chunk;
    double begin = 0.0;
    int64_t submitted = 0, collected = 0;
    bool more = true;
    while (collected < submitted || submitted == 0) {
        for (; more && submitted - collected < depth; submitted++) {
            CRD_PASS(backend->predictor_submit(predictor, submitted, input, NULL, 0));
        }
        CRD_PASS(backend->predictor_collect(predictor, &chunk));
        collected++;
        if (collected == warm) begin = crd_seconds();
        if (more && collected >= warm + 2 && crd_seconds() - begin >= seconds) {
            crd_device_load load = {0};
            if (backend->device_load != NULL) CRD_PASS(backend->device_load(device, &load));
            result->repetitions = collected - warm;
            result->milliseconds = 1e3 * (crd_seconds() - begin) / (double)result->repetitions;
            result->megahertz = load.megahertz;
            result->watts = load.watts;
            more = false; /* what is in the queue still comes out, uncounted */
        }
        CRD_PASS(crd_advance(monitor, "measuring", "chunks", collected, collected > 2 ? collected : 2, NULL));
    }
    return CRD_OK;
}

static crd_status time_chunks(const crd_backend *backend, const crd_device_settings *device,
                              const crd_predictor_plan *plan, double seconds, bool layers, const crd_monitor *monitor,
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
    if (result->halo > 0) {
        const crd_box keep = kept_of(result);
        backend->predictor_keep(predictor, &keep);
    }
    if (backend->overlaps) {
        CRD_TRY(time_queue(backend, device, predictor, input, seconds, monitor, result));
        result->peak_memory_bytes = crd_bench_memory();
        if (layers) CRD_TRY(time_layers(backend, plan, predictor, input, result));
        goto done;
    }
    if (layers) CRD_TRY(time_layers(backend, plan, predictor, input, result));
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

/* Every sample's norms at a mean of 0 and a deviation of 1: what they are frozen at takes no time. */
static crd_status freeze(const crd_net *net, int64_t samples, crd_moments **out)
{
    const int64_t count = samples * crd_net_moments(net);
    CRD_PASS(crd_alloc(count, sizeof **out, "the norms' statistics", out));
    for (int64_t i = 0; i < count; i++) (*out)[i] = (crd_moments){0.0, 1.0};
    return CRD_OK;
}

static crd_status check_halo(const crd_net *net, const crd_bench_result *r)
{
    const int64_t step = crd_net_step(net);
    CRD_PASS(crd_net_check_chunk(net, r->chunk));
    for (int axis = 0; axis < 3; axis++) {
        if (r->halo % step == 0 && 2 * r->halo < r->chunk[axis]) continue;
        return crd_fail(CRD_ERR_ARGUMENT,
                        "a halo of %lld voxels doesn't fit the chunk %lld,%lld,%lld: it must be a multiple of %lld, "
                        "and twice it leave something of every edge",
                        (long long)r->halo, (long long)r->chunk[0], (long long)r->chunk[1], (long long)r->chunk[2],
                        (long long)step);
    }
    return CRD_OK;
}

crd_status crd_bench_predict(const crd_bench_network_settings *s, const crd_monitor *monitor, crd_bench_result *result)
{
    static const double percentiles[] = {33.0, 67.0};
    crd_status status = CRD_OK;
    crd_model *model = NULL;
    crd_moments *moments = NULL;
    const bool usual = s->chunk[0] == 0;
    const crd_device_choice choice = {.device = s->device,
                                      .precision = s->precision,
                                      .isa = s->isa,
                                      .threads = s->threads,
                                      .max_gpu_memory = s->max_gpu_memory};
    const crd_backend *backend;
    crd_device_settings device;
    crd_model_info info = {
        .kind = s->kind, .filters = s->filters > 0 ? s->filters : USUAL_FILTERS, .classes = s->classes};
    *result = (crd_bench_result){.precision = "f32",
                                 .estimator = "independent",
                                 .chunk = {s->chunk[0], s->chunk[1], s->chunk[2]},
                                 .halo = s->halo,
                                 .samples = s->samples > 0 ? s->samples : USUAL_SAMPLES};
    CRD_TRY(crd_backend_choose(&choice, &backend, &device));
    if (usual) memcpy(result->chunk, usual_chunk[!backend->on_host], sizeof result->chunk);
    (void)crd_backend_settle(backend, info.filters, false, &device);
    result->precision = device.precision == CRD_PRECISION_F32    ? "f32"
                        : device.precision == CRD_PRECISION_BF16 ? "bf16"
                                                                 : "fp16";
    for (int k = 0; k < s->classes; k++) info.class_values[k] = k;
    CRD_TRY(crd_model_create(&info, 1, &model));
    CRD_TRY(check_halo(&model->net, result));
    const crd_box keep = kept_of(result);
    const bool tile = result->halo > 0;
    if (tile) CRD_TRY(freeze(&model->net, result->samples, &moments));
    const crd_predictor_plan plan = {
        .net = &model->net,
        .parameters = model->parameters,
        .chunk = {result->chunk[0], result->chunk[1], result->chunk[2]},
        .keep = {tile ? keep.size[0] : 0, tile ? keep.size[1] : 0, tile ? keep.size[2] : 0},
        .moments = moments,
        .samples = result->samples,
        .seed = 1,
        .estimator = CRD_INDEPENDENT,
        .inverse_temperature = 1.0f,
        .percentiles = percentiles,
        .percentile_count = 2};
    CRD_TRY(backend->describe(&device, result->device, sizeof result->device));
    CRD_TRY(measure_device(backend, &device, &plan, result));
    CRD_TRY(
        time_chunks(backend, &device, &plan, s->seconds > 0 ? s->seconds : USUAL_SECONDS, s->layers, monitor, result));
    crd_crop crop;
    crd_crop_make(&model->net, result->chunk, &keep, &crop);
    const crd_cost cost = crd_crop_cost(&model->net, &crop);
    result->gflops = 1e-6 * (cost.encoder + (double)result->samples * cost.decoder) / result->milliseconds;
done:
    crd_model_free(&model);
    crd_free(&moments);
    return status;
}
