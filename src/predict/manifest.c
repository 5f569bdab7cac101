#include "predict/manifest.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "predict/settings.h"

__extension__ typedef unsigned __int128 wide_sum;

/* Sums over all slices of the box. */
typedef struct totals {
    int64_t inside, foreground;
    wide_sum *intervals; /* sums of round(value * 2^32) */
    double *least, *most;
    double *fractions; /* by sample, or NULL */
} totals;

/* cJSON gives NULL where memory runs out: noted once, so that every line needn't ask. */
typedef struct json {
    cJSON *root;
    bool failed;
} json;

static cJSON *object(json *j, cJSON *parent, const char *key)
{
    cJSON *item = cJSON_AddObjectToObject(parent, key);
    if (item == NULL) j->failed = true;
    return item;
}

static void text(json *j, cJSON *parent, const char *key, const char *value)
{
    if (cJSON_AddStringToObject(parent, key, value) == NULL) j->failed = true;
}

/* NaN and infinities become null. */
static void number(json *j, cJSON *parent, const char *key, double value)
{
    if (cJSON_AddNumberToObject(parent, key, value) == NULL) j->failed = true;
}

static void numbers(json *j, cJSON *parent, const char *key, const double *values, int64_t count)
{
    cJSON *array = cJSON_CreateDoubleArray(values, (int)count);
    if (array == NULL || !cJSON_AddItemToObject(parent, key, array)) j->failed = true;
}

static void integers(json *j, cJSON *parent, const char *key, const int64_t *values, int64_t count)
{
    double reals[8];
    for (int64_t i = 0; i < count; i++) reals[i] = (double)values[i];
    numbers(j, parent, key, reals, count);
}

static double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static crd_status add_up(const crd_request *request, const crd_partial *partial, totals *t)
{
    const int64_t samples = request->draws_per_chunk ? 0 : request->samples;
    crd_status status = CRD_OK;
    wide_sum *fractions = NULL;
    CRD_TRY(crd_alloc(request->interval_count, sizeof *t->intervals, "the sums", &t->intervals));
    CRD_TRY(crd_alloc(request->interval_count, sizeof *t->least, "the sums", &t->least));
    CRD_TRY(crd_alloc(request->interval_count, sizeof *t->most, "the sums", &t->most));
    CRD_TRY(crd_alloc(samples, sizeof *fractions, "the sums", &fractions));
    if (samples > 0) CRD_TRY(crd_alloc(samples, sizeof *t->fractions, "the sums", &t->fractions));
    for (int64_t i = 0; i < request->interval_count; i++) {
        t->least[i] = INFINITY;
        t->most[i] = -INFINITY;
    }
    for (int64_t z = 0; z < request->box.size[0]; z++) {
        const uint64_t *sums = crd_partial_sums(partial, z);
        t->inside += (int64_t)sums[CRD_SUM_INSIDE];
        t->foreground += (int64_t)sums[CRD_SUM_FOREGROUND];
        for (int64_t i = 0; i < request->interval_count; i++) {
            const uint64_t *words = sums + CRD_SUM_FIRST_INTERVAL + i * CRD_INTERVAL_WORDS;
            t->intervals[i] += words[CRD_INTERVAL_SUM];
            t->least[i] = fmin(t->least[i], real_of(words[CRD_INTERVAL_LEAST]));
            t->most[i] = fmax(t->most[i], real_of(words[CRD_INTERVAL_MOST]));
        }
        for (int64_t s = 0; s < samples; s++) fractions[s] += sums[crd_slice_first_fraction(request) + s];
    }
    for (int64_t s = 0; s < samples; s++) t->fractions[s] = (double)fractions[s] / 0x1p32 / (double)t->inside;
done:
    crd_free(&fractions);
    return status;
}

static void free_totals(totals *t)
{
    crd_free(&t->intervals);
    crd_free(&t->least);
    crd_free(&t->most);
    crd_free(&t->fractions);
}

static double mean_of(const totals *t, int64_t interval)
{
    return (double)t->intervals[interval] / 0x1p32 / (double)t->inside;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics. */
static double percentile(const double *sorted, int64_t count, double percent)
{
    const double position = percent / 100.0 * (double)(count - 1);
    const int64_t below = (int64_t)position < count - 1 ? (int64_t)position : count - 1;
    const int64_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (position - (double)below);
}

static crd_status add_fractions(json *j, const crd_request *request, const totals *t, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    double *sorted = NULL, mean = 0.0;
    const int64_t count = request->samples;
    cJSON *o = object(j, j->root, "volume_fraction");
    number(j, o, "segmentation", (double)t->foreground / (double)t->inside);
    if (t->fractions == NULL) return CRD_OK;
    CRD_TRY(crd_alloc(count, sizeof *sorted, "the volume fractions", &sorted));
    memcpy(sorted, t->fractions, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    for (int64_t i = 0; i < count; i++) mean += sorted[i] / (double)count;
    number(j, o, "mean", mean);
    cJSON *intervals = object(j, o, "intervals");
    for (int64_t i = 0; i < request->interval_count; i++) {
        const crd_interval *interval = &request->intervals[i];
        const double ends[2] = {percentile(sorted, count, request->percentiles[interval->low]),
                                percentile(sorted, count, request->percentiles[interval->high])};
        numbers(j, intervals, interval->text, ends, 2);
        if (i == 0) {
            result->fraction_low = ends[0];
            result->fraction_high = ends[1];
        }
    }
    numbers(j, o, "samples", t->fractions, count);
done:
    crd_free(&sorted);
    return status;
}

/* A 128-bit whole number in decimal. */
static void wide_text(wide_sum value, char out[48])
{
    char digits[48];
    int count = 0;
    do {
        digits[count++] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value > 0);
    for (int i = 0; i < count; i++) out[i] = digits[count - 1 - i];
    out[count] = '\0';
}

static void add_interval(json *j, cJSON *o, const totals *t, int64_t i)
{
    char sum[48];
    number(j, o, "mean", mean_of(t, i));
    number(j, o, "min", t->least[i]);
    number(j, o, "max", t->most[i]);
    number(j, o, "count", (double)t->inside);
    wide_text(t->intervals[i], sum);
    text(j, o, "sum_q32", sum); /* exact: more digits than a JSON number keeps */
}

static void add_uncertainty(json *j, const crd_request *request, const totals *t)
{
    cJSON *o = object(j, j->root, "uncertainty");
    text(j, o, "interval", request->intervals[0].text);
    add_interval(j, o, t, 0);
    cJSON *all = object(j, o, "intervals");
    for (int64_t i = 0; i < request->interval_count; i++) {
        add_interval(j, object(j, all, request->intervals[i].text), t, i);
    }
}

static double ratio(uint64_t sum, uint64_t count)
{
    return count > 0 ? (double)sum / (double)count * 0x1p-24 : NAN;
}

static void add_seams(json *j, const crd_seams *s)
{
    cJSON *o = object(j, j->root, "seams");
    const double seam = ratio(s->seam_sum, s->seam_count), other = ratio(s->other_sum, s->other_count);
    number(j, o, "mean_step_at_seams", seam);
    number(j, o, "mean_step_elsewhere", other);
    number(j, o, "ratio", other > 0.0 ? seam / other : (double)NAN);
}

static crd_status add_outputs(json *j, const crd_request *request)
{
    cJSON *list = cJSON_AddArrayToObject(j->root, "outputs");
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        char *name = NULL;
        CRD_PASS(crd_output_name(request, output, &name));
        cJSON *o = cJSON_CreateObject();
        if (!cJSON_AddItemToArray(list, o)) j->failed = true;
        text(j, o, "file", name);
        text(j, o, "role", output->role);
        text(j, o, "type", crd_type_name(output->type));
        number(j, o, "scale", output->scale);
        if (output->percents[1] > 0.0 || request->quantities[output->quantity].kind == CRD_PERCENTILE) {
            numbers(j, o, "percentiles", output->percents, output->percents[0] == output->percents[1] ? 1 : 2);
        }
        crd_free(&name);
    }
    return CRD_OK;
}

/* A path that also holds from another folder. */
static void add_path(json *j, cJSON *o, const char *key, const char *path)
{
    char folder[4096], whole[8192];
    if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL) {
        text(j, o, key, path);
    } else {
        snprintf(whole, sizeof whole, "%s/%s", folder, path);
        text(j, o, key, whole);
    }
}

static void add_inputs(json *j, const crd_manifest *m)
{
    const crd_request *request = m->request;
    const crd_model_info *model = crd_model_describe(request->model);
    const crd_volume_info *scan = crd_scan_info(m->scan);
    const crd_volume_statistics *statistics = crd_scan_statistics(m->scan);
    double mean, std;
    cJSON *o = object(j, j->root, "model");
    add_path(j, o, "path", request->options->model);
    text(j, o, "sha256", m->fingerprints->model);
    text(j, o, "kind", crd_kind_name(model->kind));
    number(j, o, "filters", model->filters);
    number(j, o, "groups", model->groups);
    number(j, o, "calibration", model->calibration);
    o = object(j, j->root, "scan");
    add_path(j, o, "path", request->options->scan);
    text(j, o, "sha256", m->fingerprints->scan);
    integers(j, o, "shape", scan->shape, 3);
    text(j, o, "type", crd_type_name(scan->type));
    numbers(j, o, "spacing", scan->spacing, 3);
    text(j, o, "unit", scan->unit);
    number(j, o, "mean", statistics->mean);
    number(j, o, "std", sqrt(statistics->variance));
    number(j, o, "nonfinite", (double)statistics->nonfinite);
    crd_scan_normalisation(m->scan, &mean, &std);
    numbers(j, o, "normalised_by", (const double[]){mean, std}, 2);
    text(j, o, "name", request->name);
    if (crd_request_mask_file(request) == NULL) return;
    o = object(j, j->root, "mask");
    add_path(j, o, "path", request->options->mask);
    text(j, o, "sha256", m->fingerprints->mask);
}

static void add_plan(json *j, const crd_request *request)
{
    const crd_axis_plan *axes = request->plan.axes;
    int64_t least, most;
    cJSON *o = object(j, j->root, "plan");
    integers(j, o, "chunk", (const int64_t[]){axes[0].window, axes[1].window, axes[2].window}, 3);
    number(j, o, "step", (double)request->step);
    number(j, o, "trim", request->options->trim);
    integers(j, o, "origin", request->box.origin, 3);
    integers(j, o, "shape", request->box.size, 3);
    number(j, o, "chunks", (double)request->chunks);
    crd_plan_coverage(&request->plan, &least, &most);
    number(j, o, "min_coverage", (double)least);
    number(j, o, "max_coverage", (double)most);
    number(j, o, "samples", (double)request->samples);
}

/* Settings as they were given, with inputs that also hold from another folder. */
static crd_status add_settings(json *j, const crd_request *request)
{
    cJSON *o = NULL;
    CRD_PASS(crd_predict_record(request->options, CRD_SCOPE_MACHINE, &o));
    const cJSON *item = NULL;
    const char *empty[64];
    int count = 0;
    cJSON_ArrayForEach(item, o)
    {
        const bool blank = cJSON_IsNull(item) || (cJSON_IsArray(item) && cJSON_GetArraySize(item) == 0);
        const bool no_shape = strcmp(item->string, "shape") == 0 && request->options->shape[0] == 0;
        if ((blank || no_shape) && count < (int)(sizeof empty / sizeof empty[0])) empty[count++] = item->string;
    }
    for (int i = 0; i < count; i++) cJSON_DeleteItemFromObject(o, empty[i]);
    cJSON_DeleteItemFromObject(o, "model");
    cJSON_DeleteItemFromObject(o, "scan");
    add_path(j, o, "model", request->options->model);
    add_path(j, o, "scan", request->options->scan);
    if (crd_request_mask_file(request) != NULL) {
        cJSON_DeleteItemFromObject(o, "mask");
        add_path(j, o, "mask", request->options->mask);
    }
    if (!cJSON_AddItemToObject(j->root, "settings", o)) j->failed = true;
    return CRD_OK;
}

static void add_identity(json *j, const char *identity)
{
    cJSON *o = cJSON_Parse(identity);
    if (o == NULL || !cJSON_AddItemToObject(j->root, "identity", o)) j->failed = true;
}

static void add_times(json *j, const crd_manifest *m)
{
    char when[64] = "";
    struct tm parts;
    const time_t seconds = time(NULL);
    if (gmtime_r(&seconds, &parts) != NULL) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    cJSON *o = object(j, j->root, "times");
    text(j, o, "finished", when);
    number(j, o, "seconds", crd_notes_seconds(m->notes));
    const crd_run_times *t = m->times;
    const struct {
        const char *key;
        double seconds;
    } parts_of_run[] = {{"preparing", t->preparing},          {"starting", t->starting},
                        {"waiting_for_the_scan", t->waiting}, {"network", t->network},
                        {"summarising", t->summarising},      {"adding", t->adding},
                        {"finishing_slices", t->finishing},   {"writing", t->writing}};
    for (size_t i = 0; i < sizeof parts_of_run / sizeof parts_of_run[0]; i++) {
        number(j, o, parts_of_run[i].key, parts_of_run[i].seconds);
    }
    number(j, o, "chunks_computed", (double)m->computed);
    number(j, o, "memory_bytes", (double)m->memory->memory_bytes);
    number(j, o, "scratch_bytes", (double)m->memory->scratch_bytes);
}

static crd_status fill(json *j, const crd_manifest *m, const totals *t, crd_predict_result *result)
{
    char device[256];
    const crd_request *request = m->request;
    CRD_PASS(request->backend->describe(&request->device, device, sizeof device));
    text(j, j->root, "format", "credence-run");
    number(j, j->root, "version", 1);
    text(j, j->root, "program", crd_version());
    text(j, j->root, "device", device);
    number(j, j->root, "seed", (double)request->seed);
    add_inputs(j, m);
    add_plan(j, request);
    CRD_PASS(add_outputs(j, request));
    add_uncertainty(j, request, t);
    CRD_PASS(add_fractions(j, request, t, result));
    add_seams(j, m->seams);
    cJSON *warnings =
        cJSON_CreateStringArray((const char *const *)m->notes->warnings.items, (int)m->notes->warnings.count);
    if (m->notes->warnings.count == 0 && warnings == NULL) warnings = cJSON_CreateArray();
    if (!cJSON_AddItemToObject(j->root, "warnings", warnings)) j->failed = true;
    CRD_PASS(add_settings(j, request));
    add_identity(j, m->identity);
    add_times(j, m);
    return CRD_OK;
}

crd_status crd_manifest_write(const crd_manifest *m, const char *path, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    totals t = {0};
    json j = {.root = cJSON_CreateObject()};
    char *printed = NULL;
    CRD_TRY(add_up(m->request, m->partial, &t));
    result->volume_fraction = (double)t.foreground / (double)t.inside;
    result->mean_uncertainty = mean_of(&t, 0);
    result->fraction_low = result->fraction_high = (double)NAN;
    CRD_TRY(fill(&j, m, &t, result));
    if (j.failed || m->notes->lost) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the manifest");
    CRD_TRY(crd_json_print(j.root, false, &printed));
    CRD_TRY(crd_write_file(path, printed, strlen(printed)));
done:
    crd_free(&printed);
    cJSON_Delete(j.root);
    free_totals(&t);
    return status;
}
