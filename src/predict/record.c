#include "predict/record.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/memory.h"
#include "predict/mode.h"
#include "predict/settings.h"
#include "run/paths.h"
#include "run/widen.h"
#include "volume/views/lent.h"

__extension__ typedef unsigned __int128 wide_sum;

/* Sums over all of the box. */
typedef struct totals {
    int64_t inside;
    int64_t voxels[CRD_CLASSES_MAX];                                /* of the segmentation, by plane */
    wide_sum probability[CRD_CLASSES_MAX], spread[CRD_CLASSES_MAX]; /* as the intervals */
    wide_sum doubt;
    wide_sum *intervals; /* sums of round(value * 2^32) */
    double *least, *most;
    double *fractions; /* [planes][samples], or NULL */
} totals;

static double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static crd_status add_up(const crd_request *request, const crd_partial *partial, totals *t)
{
    const int64_t count = crd_slice_fractions(request);
    crd_status status = CRD_OK;
    wide_sum *fractions = NULL;
    CRD_TRY(crd_alloc(request->interval_count, sizeof *t->intervals, "the sums", &t->intervals));
    CRD_TRY(crd_alloc(request->interval_count, sizeof *t->least, "the sums", &t->least));
    CRD_TRY(crd_alloc(request->interval_count, sizeof *t->most, "the sums", &t->most));
    CRD_TRY(crd_alloc(count, sizeof *fractions, "the sums", &fractions));
    if (count > 0) CRD_TRY(crd_alloc(count, sizeof *t->fractions, "the sums", &t->fractions));
    for (int64_t i = 0; i < request->interval_count; i++) {
        t->least[i] = INFINITY;
        t->most[i] = -INFINITY;
    }
    for (int64_t item = 0; item < crd_partial_items(partial); item++) {
        const uint64_t *sums = crd_partial_sums(partial, item);
        t->inside += (int64_t)sums[CRD_SUM_INSIDE];
        for (int plane = 0; plane < request->planes; plane++) {
            const uint64_t *words = sums + CRD_SUM_FIRST_CLASS + plane * CRD_CLASS_WORDS;
            t->voxels[plane] += (int64_t)words[CRD_CLASS_VOXELS];
            t->probability[plane] += words[CRD_CLASS_PROBABILITY];
            t->spread[plane] += words[CRD_CLASS_SPREAD];
        }
        t->doubt += sums[crd_slice_first_interval(request) - 1];
        for (int64_t i = 0; i < request->interval_count; i++) {
            const uint64_t *words = sums + crd_slice_first_interval(request) + i * CRD_INTERVAL_WORDS;
            t->intervals[i] += words[CRD_INTERVAL_SUM];
            t->least[i] = fmin(t->least[i], real_of(words[CRD_INTERVAL_LEAST]));
            t->most[i] = fmax(t->most[i], real_of(words[CRD_INTERVAL_MOST]));
        }
        for (int64_t s = 0; s < count; s++) fractions[s] += sums[crd_slice_first_fraction(request) + s];
    }
    for (int64_t s = 0; s < count; s++) t->fractions[s] = (double)fractions[s] / 0x1p32 / (double)t->inside;
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

static double mean_of(const totals *t, wide_sum sum)
{
    return (double)sum / 0x1p32 / (double)t->inside;
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

/* What the sums say of every interval. */
static crd_status fill_intervals(const crd_request *request, const totals *t, crd_manifest *m)
{
    CRD_PASS(crd_alloc(request->interval_count, sizeof *m->intervals, "the intervals", &m->intervals));
    m->interval_count = request->interval_count;
    for (int64_t i = 0; i < request->interval_count; i++) {
        crd_run_interval *interval = &m->intervals[i];
        strcpy(interval->text, request->intervals[i].text);
        interval->mean = mean_of(t, t->intervals[i]);
        interval->least = t->least[i];
        interval->most = t->most[i];
        interval->fractions[0] = interval->fractions[1] = (double)NAN;
        wide_text(t->intervals[i], interval->sum);
    }
    return CRD_OK;
}

/* What the samples' volume fractions of a plane's class say of it, where draws are the same for all chunks. */
static crd_status fill_class(const crd_request *request, const totals *t, int plane, crd_run_class *out)
{
    const int number = request->planes > 1 ? plane : 1;
    crd_status status = CRD_OK;
    double *sorted = NULL;
    const int64_t count = request->samples;
    out->segmentation = (double)t->voxels[plane] / (double)t->inside;
    out->mean_probability = mean_of(t, t->probability[plane]);
    out->interval90[0] = out->interval90[1] = out->systematic = (double)NAN;
    if (t->fractions == NULL) return CRD_OK;
    out->samples = (crd_real_list){.items = t->fractions + plane * count, .count = count};
    CRD_TRY(crd_alloc(count, sizeof *sorted, "the volume fractions", &sorted));
    memcpy(sorted, out->samples.items, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    for (int64_t i = 0; i < count; i++) out->mean += sorted[i] / (double)count;
    out->interval90[0] = percentile(sorted, count, 5.0);
    out->interval90[1] = percentile(sorted, count, 95.0);
    out->systematic =
        crd_systematic_term(&crd_model_describe(request->model)->systematic, number, mean_of(t, t->spread[plane]));
    crd_interval_widen(out->mean, out->systematic, out->interval90);
    CRD_TRY(crd_alloc(request->interval_count, sizeof *out->intervals, "the volume fractions", &out->intervals));
    for (int64_t i = 0; i < request->interval_count; i++) {
        const crd_interval *interval = &request->intervals[i];
        out->intervals[i][0] = percentile(sorted, count, request->percentiles[interval->low]);
        out->intervals[i][1] = percentile(sorted, count, request->percentiles[interval->high]);
    }
done:
    crd_free(&sorted);
    return status;
}

/* Two classes are one, whose figures stand alone as well, and what is left of it. */
static crd_status fill_two_classes(const crd_request *request, crd_manifest *m)
{
    crd_run_class *other = &m->classes[0], *one = &m->classes[1];
    m->fraction.segmentation = one->segmentation;
    m->fraction.mean_probability = one->mean_probability;
    m->fraction.mean = m->fraction.mean_cut = one->mean;
    m->fraction.samples = one->samples;
    memcpy(m->fraction.interval90, one->interval90, sizeof one->interval90);
    m->fraction.systematic = other->systematic = one->systematic;
    for (int64_t i = 0; one->intervals != NULL && i < request->interval_count; i++) {
        memcpy(m->intervals[i].fractions, one->intervals[i], sizeof one->intervals[i]);
    }
    other->segmentation = 1.0 - one->segmentation;
    other->mean = 1.0 - one->mean;
    other->interval90[0] = 1.0 - one->interval90[1];
    other->interval90[1] = 1.0 - one->interval90[0];
    if (one->samples.items == NULL) return CRD_OK;
    CRD_PASS(crd_alloc(request->samples, sizeof(double), "the volume fractions", &other->samples.items));
    other->samples.count = request->samples;
    for (int64_t i = 0; i < request->samples; i++) other->samples.items[i] = 1.0 - one->samples.items[i];
    return CRD_OK;
}

static crd_status fill_classes(const crd_request *request, const totals *t, crd_manifest *m)
{
    CRD_PASS(crd_alloc(request->class_count, sizeof *m->classes, "the classes", &m->classes));
    m->class_count = request->class_count;
    for (int k = 0; k < request->class_count; k++) {
        m->classes[k].name = request->classes[k].name;
        m->classes[k].value = request->classes[k].value;
    }
    if (request->planes == 1) {
        CRD_PASS(fill_class(request, t, 0, &m->classes[1]));
        return fill_two_classes(request, m);
    }
    m->fraction.segmentation = m->fraction.systematic = (double)NAN;
    m->fraction.interval90[0] = m->fraction.interval90[1] = (double)NAN;
    for (int k = 0; k < request->planes; k++) CRD_PASS(fill_class(request, t, k, &m->classes[k]));
    return CRD_OK;
}

static void fill_seams(const crd_seams *s, crd_manifest *m)
{
    const crd_seam_steps steps = crd_seams_steps(s);
    m->seams.at = steps.at;
    m->seams.elsewhere = steps.elsewhere;
    m->seams.ratio = steps.ratio;
}

static void fill_inputs(const crd_record *record, crd_manifest *m)
{
    const crd_request *request = record->request;
    const crd_model_info *model = crd_model_describe(request->model);
    const crd_volume_info *scan = crd_scan_info(record->scan);
    const crd_volume_statistics *statistics = crd_scan_statistics(record->scan);
    m->model.path = request->options->model;
    m->model.sha256 = record->fingerprints->model;
    m->model.kind = crd_kind_name(model->kind);
    m->model.filters = model->filters;
    m->model.groups = model->groups;
    m->model.calibration = model->calibration;
    m->scan.path = request->options->scan;
    m->scan.sha256 = record->fingerprints->scan;
    memcpy(m->scan.shape, scan->shape, sizeof m->scan.shape);
    m->scan.type = crd_type_name(scan->type);
    memcpy(m->scan.spacing, scan->spacing, sizeof m->scan.spacing);
    m->scan.unit = scan->unit;
    m->scan.mean = statistics->mean;
    m->scan.std = sqrt(statistics->variance);
    m->scan.nonfinite = statistics->nonfinite;
    crd_scan_normalisation(record->scan, &m->scan.normalised_by[0], &m->scan.normalised_by[1]);
    m->scan.name = request->name;
    if (crd_request_mask_file(request) == NULL) return;
    m->mask.path = request->options->mask;
    m->mask.sha256 = record->fingerprints->mask;
}

static void fill_plan(const crd_request *request, crd_manifest *m)
{
    for (int axis = 0; axis < 3; axis++) {
        m->plan.chunk[axis] = request->plan.axes[axis].window;
        m->plan.tile[axis] = request->seamless ? request->plan.axes[axis].stride : 0;
    }
    m->plan.halo = request->halo;
    m->plan.step = request->step;
    m->plan.trim = request->options->trim;
    memcpy(m->plan.origin, request->box.origin, sizeof m->plan.origin);
    memcpy(m->plan.shape, request->box.size, sizeof m->plan.shape);
    m->plan.chunks = request->chunks;
    crd_plan_coverage(&request->plan, &m->plan.min_coverage, &m->plan.max_coverage);
    m->plan.samples = request->samples;
    m->mode = request->seamless ? "seamless" : "overlap";
    m->norms = crd_norms_name(request->norms);
}

static crd_status out_of_memory(void)
{
    return crd_fail(CRD_ERR_MEMORY, "not enough memory for the manifest");
}

/* An input's path such that it also holds from another folder. */
static crd_status replace_path(cJSON *settings, const char *key, const char *path)
{
    char *whole = NULL;
    if (path == NULL || crd_is_lent(path)) return CRD_OK;
    CRD_PASS(crd_absolute_path(path, &whole));
    cJSON_DeleteItemFromObject(settings, key);
    const bool added = cJSON_AddStringToObject(settings, key, whole) != NULL;
    crd_free(&whole);
    return added ? CRD_OK : out_of_memory();
}

/* Settings as they were given, without those that weren't. */
static crd_status make_settings(const crd_request *request, cJSON **out)
{
    CRD_PASS(crd_predict_record(request->options, request->seamless, CRD_SCOPE_MACHINE, out));
    cJSON *o = *out;
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
    CRD_PASS(replace_path(o, "model", request->options->model));
    CRD_PASS(replace_path(o, "scan", request->options->scan));
    if (crd_request_mask_file(request) != NULL) CRD_PASS(replace_path(o, "mask", request->options->mask));
    return CRD_OK;
}

static void fill_times(const crd_record *record, char when[64], crd_manifest *m)
{
    struct tm parts;
    const time_t seconds = time(NULL);
    when[0] = '\0';
    if (gmtime_r(&seconds, &parts) != NULL) strftime(when, 64, "%Y-%m-%dT%H:%M:%SZ", &parts);
    m->finished = when;
    m->seconds = crd_run_log_seconds(record->log);
    m->times = *record->times;
    m->computed = record->computed;
    m->memory_bytes = record->memory->memory_bytes;
    m->scratch_bytes = record->memory->scratch_bytes;
}

void crd_record_result(const crd_manifest *m, crd_predict_result *result)
{
    result->chunks = m->plan.chunks;
    result->samples = m->plan.samples;
    result->volume_fraction = m->fraction.segmentation;
    result->fraction_low = m->uncertainty.fractions[0];
    result->fraction_high = m->uncertainty.fractions[1];
    result->fraction_mean = m->fraction.samples.count > 0 ? m->fraction.mean : (double)NAN;
    memcpy(result->fraction_interval90, m->fraction.interval90, sizeof result->fraction_interval90);
    result->fraction_systematic = m->fraction.systematic;
    result->mean_uncertainty = m->uncertainty.mean;
    result->class_count = 0;
    for (int64_t i = 0; m->class_count > 2 && i < m->class_count && i < CRD_CLASSES_MAX; i++) {
        const crd_run_class *class = &m->classes[i];
        crd_class_result *out = &result->classes[result->class_count++];
        *out = (crd_class_result){.volume_fraction = class->segmentation,
                                  .fraction_low = class->intervals != NULL ? class->intervals[0][0] : (double)NAN,
                                  .fraction_high = class->intervals != NULL ? class->intervals[0][1] : (double)NAN,
                                  .fraction_mean = class->samples.count > 0 ? class->mean : (double)NAN,
                                  .fraction_interval90 = {class->interval90[0], class->interval90[1]},
                                  .fraction_systematic = class->systematic};
        snprintf(out->name, sizeof out->name, "%s", class->name);
    }
}

crd_status crd_record_write(const crd_record *record, const char *folder, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    const crd_request *request = record->request;
    totals t = {0};
    char device[256], when[64], *path = NULL;
    crd_manifest m = {.program = crd_version(),
                      .device = device,
                      .seed = (double)request->seed,
                      .outputs = request->outputs,
                      .output_count = request->output_count};
    CRD_TRY(request->backend->describe(&request->device, device, sizeof device));
    CRD_TRY(add_up(request, record->partial, &t));
    m.inside = t.inside;
    crd_expected_error_check((double)t.doubt, t.inside, &record->log->monitor, record->match);
    crd_seams_check(request, record->seams, &record->log->monitor);
    m.warnings = record->log->warnings;
    m.match.expected_error = record->match->expected_error;
    m.match.training_expected_error = record->match->training_expected_error;
    m.match.histogram_distance = record->match->histogram_distance;
    fill_inputs(record, &m);
    fill_plan(request, &m);
    m.certificate.places = record->certificate->places;
    m.certificate.largest_probability = record->certificate->largest_probability;
    m.certificate.mean_probability = record->certificate->mean_probability;
    m.certificate.largest_uncertainty = record->certificate->largest_uncertainty;
    CRD_TRY(fill_intervals(request, &t, &m));
    CRD_TRY(fill_classes(request, &t, &m));
    m.uncertainty = m.intervals[0];
    fill_seams(record->seams, &m);
    fill_times(record, when, &m);
    CRD_TRY(make_settings(request, &m.settings));
    m.identity = cJSON_Parse(record->identity);
    CRD_TRY(record->log->lost ? out_of_memory() : crd_run_path(folder, CRD_RUN_MANIFEST, &path));
    CRD_TRY(crd_manifest_write(&m, path));
    crd_record_result(&m, result);
done:
    crd_free(&path);
    crd_free(&m.intervals);
    if (m.class_count == 2) crd_free(&m.classes[0].samples.items); /* all others are the totals' */
    for (int64_t i = 0; i < m.class_count; i++) crd_free(&m.classes[i].intervals);
    crd_free(&m.classes);
    cJSON_Delete(m.settings);
    cJSON_Delete(m.identity);
    free_totals(&t);
    return status;
}
