#include "predict/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/choose.h"
#include "base/assert.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "dist/dist.h"
#include "predict/mode.h"
#include "volume/box.h"

enum { PREVIEW_SAMPLES = 4 };

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static crd_status check_options(const crd_predict_options *options, bool loaded)
{
    if (!loaded && !given(options->model))
        return crd_fail(CRD_ERR_ARGUMENT, "a prediction needs a model; name one with --model");
    if (!given(options->scan)) return crd_fail(CRD_ERR_ARGUMENT, "a prediction needs a scan; name one with --scan");
    if (options->samples < 1) {
        return crd_fail(CRD_ERR_ARGUMENT, "samples must be at least 1, not %" PRId64, options->samples);
    }
    if (options->first_sample < 0 || options->first_sample + options->samples > INT32_MAX) {
        return crd_fail(CRD_ERR_ARGUMENT, "samples %" PRId64 " to %" PRId64 " can't be numbered", options->first_sample,
                        options->first_sample + options->samples - 1);
    }
    if (options->seed < 0 || options->seed >= INT64_C(1) << 53) {
        return crd_fail(CRD_ERR_ARGUMENT, "the seed must lie below 2^53");
    }
    return CRD_OK;
}

static crd_status choose_chunk(const crd_request *request, const crd_monitor *monitor, int64_t chunk[3])
{
    const crd_model_info *info = crd_model_describe(request->model);
    const char *text = request->options->chunk;
    const bool known = crd_model_chunk_known(info);
    if (!given(text) && known) {
        memcpy(chunk, info->chunk, sizeof info->chunk);
        return CRD_OK;
    }
    if (!given(text) || strcmp(text, "auto") == 0) {
        const int64_t *largest = request->backend->auto_chunk;
        const int64_t step = crd_net_step(&request->model->net);
        for (int axis = 0; axis < 3; axis++) {
            const int64_t fits = request->scan.shape[axis] / step * step;
            chunk[axis] = fits < step ? step : fits < largest[axis] ? fits : largest[axis];
        }
    } else {
        CRD_PASS(crd_parse_chunk("chunk", text, chunk));
    }
    CRD_PASS(crd_net_check_chunk(&request->model->net, chunk));
    if (known && memcmp(chunk, info->chunk, sizeof info->chunk) != 0) {
        crd_warn(monitor,
                 "the model was trained on chunks of %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x) and sees %" PRId64
                 ",%" PRId64 ",%" PRId64 " here; its norms run over the chunk, so that this is another network",
                 info->chunk[0], info->chunk[1], info->chunk[2], chunk[0], chunk[1], chunk[2]);
    }
    return CRD_OK;
}

static crd_status parse_box(const crd_request *request, crd_box *box)
{
    const int64_t *shape = request->scan.shape;
    *box = (crd_box){.size = {shape[0], shape[1], shape[2]}};
    return given(request->options->bbox) ? crd_box_parse("bbox", request->options->bbox, shape, box) : CRD_OK;
}

/* Which windows keep something of the box: kept ranges rise with the window's number. */
static void find_windows(crd_request *request)
{
    request->chunks = 1;
    for (int axis = 0; axis < 3; axis++) {
        const crd_axis_plan *plan = &request->plan.axes[axis];
        const int64_t low = request->box.origin[axis], high = low + request->box.size[axis];
        int64_t begin, end, count = 0;
        for (int64_t i = 0; i < plan->count; i++) {
            crd_axis_keep(plan, i, &begin, &end);
            if (end <= low || begin >= high) continue;
            if (count++ == 0) request->first[axis] = i;
        }
        request->count[axis] = count;
        request->chunks *= count;
    }
}

/* One slab in the middle: what the middle row of chunks keeps. */
static void preview_box(crd_request *request)
{
    int64_t begin, end;
    crd_axis_keep(&request->plan.axes[0], request->plan.axes[0].count / 2, &begin, &end);
    request->box = (crd_box){{begin, 0, 0}, {end - begin, request->scan.shape[1], request->scan.shape[2]}};
}

static crd_status open_inputs(crd_request *request, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_predict_options *options = request->options;
    const char *norm = options->norm;
    if (!request->model_lent) CRD_TRY(crd_model_load(options->model, &request->model));
    memcpy(request->reading.shape, options->shape, sizeof options->shape);
    request->reading.type = options->type;
    request->reading.offset = options->offset;
    if (given(options->spacing)) {
        CRD_TRY(crd_spacing_parse(options->spacing, request->reading.spacing, request->unit));
        if (request->unit[0] != '\0') request->reading.unit = request->unit;
    }
    CRD_TRY(crd_norm_parse(given(norm) ? norm : crd_model_describe(request->model)->norm, &request->norm));
    /* A run opens the scan again to read it, and says then what there is to say about the file. */
    CRD_TRY(crd_volume_open(options->scan, &request->reading, options->dry_run ? monitor : NULL, &volume));
    request->scan = *crd_volume_describe(volume);
done:
    crd_volume_close(&volume);
    return status;
}

static bool is(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

static void choose_method(crd_request *request)
{
    const crd_predict_options *options = request->options;
    const crd_model_info *info = crd_model_describe(request->model);
    const bool at_means = crd_model_at_means(request->model);
    request->estimator = at_means || is(options->estimator, "mean") ? CRD_MEAN : CRD_INDEPENDENT;
    request->samples = options->preview && options->samples > PREVIEW_SAMPLES ? PREVIEW_SAMPLES : options->samples;
    if (request->estimator == CRD_MEAN && request->samples > info->members) {
        request->samples = info->members; /* more would be the same again */
    }
    request->first_sample = options->first_sample;
    request->seed = (uint64_t)options->seed;
    request->draws_per_chunk = is(options->draws, "per-chunk");
    request->aggregate_samples = is(options->aggregate, "samples");
    request->save_bits = is(options->save_samples, "bits");
    request->save_samples = given(options->save_samples) && !is(options->save_samples, "none");
    const bool calibrated = (request->estimator != CRD_MEAN || at_means) && !options->no_calibration;
    request->inverse_temperature = calibrated ? (float)(1.0 / info->calibration) : 1.0f;
    request->step = options->preview ? 1 : options->step;
}

/* Two have the values 0 and 1 in the segmentation, whatever they have in the labels. */
static void name_classes(crd_request *request)
{
    const crd_model_info *info = crd_model_describe(request->model);
    request->class_count = info->classes;
    request->planes = crd_net_planes(&request->model->net);
    for (int k = 0; k < request->class_count; k++) {
        crd_class_name(info, k, request->classes[k].name);
        request->classes[k].value = request->planes > 1 ? info->class_values[k] : k;
    }
}

static void warn_of_method(const crd_request *request, const crd_monitor *monitor)
{
    const int64_t step = request->model->info.checkpoint_step;
    if (step > 0) {
        crd_warn(
            monitor,
            "%s is a training's checkpoint, after step %" PRId64
            ": the last state, not the best, and neither calibrated nor examined; the model that the training ends "
            "with stands beside it",
            request->options->model != NULL ? request->options->model : "the model", step);
    }
    if (request->options->unc_by_class && request->planes == 1) {
        crd_warn(monitor, "of two classes both have the uncertainty of _unc: --unc-by-class writes nothing more");
    }
    if (request->samples == 1 && request->estimator != CRD_MEAN && !request->save_samples) {
        crd_warn(monitor, "one sample has no spread: the uncertainty will be 0 everywhere; give --samples more");
    }
    const int members = request->model->info.members;
    if (request->samples > 1 && request->samples < members) {
        crd_warn(monitor,
                 "%" PRId64
                 " samples are of as many members alone, and the model has %d; give --samples %d or more for "
                 "the spread of all of them",
                 request->samples, members, members);
    }
    if (request->draws_per_chunk && request->save_samples) {
        crd_warn(monitor, "with --draws per-chunk every chunk has draws of its own: the samples that are saved are no "
                          "realisations of the whole scan");
    }
}

crd_status crd_request_settle(crd_request *request, const crd_monitor *monitor)
{
    const crd_predict_options *options = request->options;
    int64_t chunk[3];
    choose_method(request);
    name_classes(request);
    warn_of_method(request, monitor);
    CRD_PASS(crd_request_choose_mode(request, monitor));
    if (request->seamless) {
        CRD_PASS(crd_request_plan_tiles(request));
    } else {
        CRD_PASS(choose_chunk(request, monitor, chunk));
        CRD_PASS(crd_plan_make(request->scan.shape, chunk, request->step, options->trim, &request->plan));
    }
    if (request->plan.count > UINT32_MAX) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "a run of %" PRId64 " chunks has too many; choose larger ones, or a smaller "
                        "step",
                        request->plan.count);
    }
    CRD_PASS(parse_box(request, &request->box));
    if (options->preview && !given(options->bbox)) preview_box(request);
    find_windows(request);
    return CRD_OK;
}

/* `out` holds a lent model, or nothing. */
static crd_status make(const crd_predict_options *options, const crd_monitor *monitor, crd_request *out)
{
    out->options = options;
    CRD_PASS(check_options(options, out->model_lent));
    const crd_device_choice choice = {.device = options->device,
                                      .precision = options->precision,
                                      .isa = options->isa,
                                      .threads = options->threads,
                                      .local_rank = crd_dist_place(crd_dist_current())->local_rank,
                                      .max_gpu_memory = options->max_gpu_memory};
    CRD_PASS(crd_backend_choose(&choice, &out->backend, &out->device));
    if (out->device.in_f32 != NULL) crd_warn(monitor, "%s", out->device.in_f32);
    CRD_PASS(open_inputs(out, monitor));
    if (crd_backend_settle(out->backend, out->model->info.filters, false, &out->device)) {
        crd_info(monitor, "a network of %d filters runs in f32 on the GPU", out->model->info.filters);
    }
    CRD_PASS(crd_request_settle(out, monitor));
    CRD_PASS(crd_request_name(out));
    return crd_request_outputs(out);
}

crd_status crd_request_make(const crd_predict_options *options, const crd_monitor *monitor, crd_request *out)
{
    memset(out, 0, sizeof *out);
    return make(options, monitor, out);
}

crd_status crd_request_make_unfiled(const crd_predict_options *options, const crd_model *model,
                                    const crd_monitor *monitor, crd_request *out)
{
    memset(out, 0, sizeof *out);
    out->unfiled = true;
    out->model_lent = model != NULL;
    out->model = (crd_model *)(uintptr_t)model; /* only read */
    return make(options, monitor, out);
}

crd_status crd_request_with_chunk(const crd_request *request, const int64_t chunk[3], crd_request *out)
{
    *out = *request;
    if (request->seamless) {
        CRD_PASS(crd_plan_tiles(out->scan.shape, chunk, out->halo, crd_net_step(&out->model->net), &out->plan));
    } else {
        CRD_PASS(crd_plan_make(out->scan.shape, chunk, out->step, out->options->trim, &out->plan));
    }
    find_windows(out);
    return CRD_OK;
}

void crd_request_free(crd_request *request)
{
    if (!request->model_lent) crd_model_free(&request->model);
    crd_free(&request->percentiles);
    crd_free(&request->intervals);
    crd_free(&request->quantities);
    crd_outputs_free(&request->outputs, request->output_count);
    crd_free(&request->name);
}

const char *crd_request_mask_file(const crd_request *request)
{
    const char *mask = request->options->mask;
    return mask != NULL && mask[0] != '\0' && strcmp(mask, "cylinder") != 0 ? mask : NULL;
}

int64_t crd_request_chunk(const crd_request *request, int64_t index)
{
    const int64_t *count = request->count, *first = request->first;
    CRD_ASSERT(index >= 0 && index < request->chunks);
    const int64_t x = first[2] + index % count[2], y = first[1] + index / count[2] % count[1];
    const int64_t z = first[0] + index / count[2] / count[1];
    return (z * request->plan.axes[1].count + y) * request->plan.axes[2].count + x;
}

int64_t crd_request_index(const crd_request *request, int64_t number)
{
    const crd_axis_plan *axes = request->plan.axes;
    const int64_t x = number % axes[2].count - request->first[2];
    const int64_t y = number / axes[2].count % axes[1].count - request->first[1];
    const int64_t z = number / axes[2].count / axes[1].count - request->first[0];
    return (z * request->count[1] + y) * request->count[2] + x;
}

int64_t crd_request_unit(const crd_request *request)
{
    return request->seamless ? 1 : request->count[1] * request->count[2];
}

void crd_request_row(const crd_request *request, int64_t row, int64_t *begin, int64_t *end)
{
    const int64_t low = request->box.origin[0], high = low + request->box.size[0];
    CRD_ASSERT(row >= 0 && row < request->count[0]);
    crd_axis_keep(&request->plan.axes[0], request->first[0] + row, begin, end);
    if (*begin < low) *begin = low;
    if (*end > high) *end = high;
}

void crd_request_asked(const crd_request *request, int64_t chunk_number, crd_box *out)
{
    crd_box window, keep;
    crd_plan_chunk(&request->plan, chunk_number, &window, &keep);
    *out = request->seamless ? keep : window;
}

void crd_request_keep(const crd_request *request, crd_predictor_plan *plan)
{
    for (int axis = 0; axis < 3 && request->seamless; axis++) {
        const crd_axis_plan *tiles = &request->plan.axes[axis];
        plan->keep[axis] = tiles->stride < tiles->window ? tiles->stride : tiles->window;
    }
}

void crd_request_predictor(const crd_request *request, crd_predictor_plan *out)
{
    *out = (crd_predictor_plan){
        .net = &request->model->net,
        .parameters = request->model->parameters,
        .members = request->model->info.members,
        .samples = request->samples,
        .seed = request->seed,
        .estimator = request->estimator,
        .draws_per_chunk = request->draws_per_chunk,
        .inverse_temperature = request->inverse_temperature,
        .percentiles = request->percentiles,
        .percentile_count = request->aggregate_samples ? 0 : request->percentile_count,
        /* tiles have the bits of samples without their values */
        .keep_samples =
            request->aggregate_samples || (request->save_samples && !(request->save_bits && request->seamless)),
        .first_sample = request->first_sample,
        /* sums don't mind, but a row is finished before the next; tiles don't wait for each other */
        .any_order = request->seamless ? request->chunks : request->count[1] * request->count[2],
    };
    for (int axis = 0; axis < 3; axis++) out->chunk[axis] = request->plan.axes[axis].window;
    for (int64_t i = 0; i < request->quantity_count && !request->aggregate_samples; i++) {
        if (request->quantities[i].kind == CRD_DEVIATION) out->standard_deviation = true;
        if (request->quantities[i].kind == CRD_ALEATORIC) out->entropy = true;
    }
}
