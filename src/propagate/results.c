#include "propagate/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash/sha256.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "ops/sorting_network.h"
#include "run/paths.h"

enum { STATE_LIMIT = 64 << 20 };
static const char state_name[] = "state";

static void add_words(crd_text *text, const crd_text_list *words)
{
    crd_text_add(text, "[");
    for (int64_t i = 0; i < words->count; i++) {
        if (i > 0) crd_text_add(text, ", ");
        crd_text_json(text, words->items[i]);
    }
    crd_text_add(text, "]");
}

/* Everything that a value depends on, but for what the command reads besides. A run is known by its manifest, a label
 * volume by its name, size and time. */
static crd_status make_identity(const crd_propagate_options *options, const crd_export_plan *plan, char **out)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *source = NULL, hash[CRD_SHA256_TEXT] = "";
    CRD_TRY(plan->about->run ? crd_run_text(options->run, CRD_RUN_MANIFEST, &source)
                             : crd_realisations_fingerprint(plan->realisations, &source));
    if (source != NULL) {
        crd_sha256 sum;
        crd_sha256_begin(&sum);
        crd_sha256_add(&sum, source, strlen(source));
        crd_sha256_end(&sum, hash);
    }
    add_words(&text, &options->command);
    const char *const texts[] = {hash, options->form.solver, options->form.phase, options->form.spacing,
                                 options->pattern};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        crd_text_add(&text, " ");
        crd_text_json(&text, texts[i]);
    }
    for (int64_t i = 0; i < options->form.values.count; i++) {
        crd_text_add(&text, " ");
        crd_text_real(&text, options->form.values.items[i]);
    }
    CRD_TRY(crd_text_finish(&text, out));
done:
    crd_text_free(&text);
    crd_free(&source);
    return status;
}

static crd_status state_path(const crd_results *r, char **out)
{
    return crd_join_path(r->folder, state_name, ".json", out);
}

/* "sample" in files: the segmentation is -1. */
static int64_t sample_of(const crd_result *item, const crd_export_plan *plan)
{
    return item->bit == plan->about->segmentation ? -1 : plan->about->first_sample + item->bit;
}

static void take_value(crd_results *r, const crd_export_plan *plan, const cJSON *entry)
{
    const cJSON *sample = cJSON_GetObjectItemCaseSensitive(entry, "sample");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(entry, "seconds");
    if (!cJSON_IsNumber(sample) || !cJSON_IsNumber(value)) return; /* one that failed is tried again */
    for (int64_t i = 0; i < r->count; i++) {
        if ((double)sample_of(&r->items[i], plan) != sample->valuedouble) continue;
        r->items[i].value = value->valuedouble;
        r->items[i].seconds = cJSON_IsNumber(seconds) ? seconds->valuedouble : (double)NAN;
        atomic_store(&r->items[i].done, true);
    }
}

/* What an earlier call left in the folder. */
static crd_status load_state(const crd_propagate_options *options, const crd_export_plan *plan, crd_results *r)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    cJSON *state = NULL, *entry = NULL;
    CRD_TRY(state_path(r, &path));
    if (access(path, F_OK) != 0 || options->overwrite) goto done;
    if (!options->resume) {
        CRD_FAIL(CRD_ERR_ARGUMENT,
                 "%s holds values of an earlier call; --resume goes on with them, --overwrite begins anew", r->folder);
    }
    CRD_TRY(crd_read_file(path, STATE_LIMIT, &text, NULL));
    state = cJSON_Parse(text);
    const char *identity = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(state, "identity"));
    if (identity == NULL) CRD_FAIL(CRD_ERR_FORMAT, "%s isn't what credence wrote; --overwrite begins anew", path);
    if (strcmp(identity, r->identity) != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "%s holds values of another command, run or form of the voxels; --overwrite begins anew, and another "
                 "--name or -o keeps both",
                 r->folder);
    }
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(state, "results")) take_value(r, plan, entry);
done:
    cJSON_Delete(state);
    crd_free(&path);
    crd_free(&text);
    return status;
}

static crd_status choose_folder(const crd_propagate_options *options, bool is_run, char **out)
{
    crd_status status = CRD_OK;
    char *above = NULL;
    if (options->output != NULL) return crd_strdup(options->output, out);
    if (!is_run) return crd_fail(CRD_ERR_ARGUMENT, "output: %s is no run folder; say where values go", options->run);
    CRD_TRY(crd_run_path(options->run, CRD_RUN_PROPAGATED, &above));
    CRD_TRY(crd_join_path(above, options->name, "", out));
done:
    crd_free(&above);
    return status;
}

crd_status crd_results_open(const crd_propagate_options *options, const crd_export_plan *plan, crd_results *r)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *about = plan->about;
    memset(r, 0, sizeof *r);
    CRD_TRY(crd_alloc(about->samples + 1, sizeof *r->items, "the values", &r->items));
    if (about->segmentation >= 0) r->items[r->count++].bit = about->segmentation;
    for (int64_t i = 0; i < about->samples; i++) r->items[r->count++].bit = i;
    for (int64_t i = 0; i < r->count; i++) r->items[i].value = r->items[i].seconds = (double)NAN;
    CRD_TRY(make_identity(options, plan, &r->identity));
    CRD_TRY(choose_folder(options, about->run, &r->folder));
    CRD_TRY(load_state(options, plan, r));
    CRD_TRY(crd_make_folders(r->folder));
    if (options->overwrite) CRD_TRY(crd_run_propagation_clear(r->folder));
done:
    if (status != CRD_OK) crd_results_close(r);
    return status;
}

void crd_results_close(crd_results *r)
{
    crd_free(&r->items);
    crd_free(&r->identity);
    crd_free(&r->folder);
}

static crd_status write_text(crd_text *text, const char *folder, const char *name, const char *suffix)
{
    crd_status status = CRD_OK;
    char *words = NULL, *path = NULL;
    CRD_TRY(crd_text_finish(text, &words));
    CRD_TRY(crd_join_path(folder, name, suffix, &path));
    CRD_TRY(crd_write_file(path, words, strlen(words)));
done:
    crd_text_free(text);
    crd_free(&words);
    crd_free(&path);
    return status;
}

crd_status crd_results_save(const crd_results *r, const crd_export_plan *plan)
{
    crd_text text = {0};
    bool first = true;
    crd_text_add(&text, "{\"identity\": ");
    crd_text_json(&text, r->identity);
    crd_text_add(&text, ",\n \"results\": [");
    for (int64_t i = 0; i < r->count; i++) {
        if (!atomic_load(&r->items[i].done)) continue;
        crd_text_print(&text, "%s\n  {\"sample\": %lld, \"value\": ", first ? "" : ",",
                       (long long)sample_of(&r->items[i], plan));
        crd_text_real(&text, r->items[i].value);
        crd_text_add(&text, ", \"seconds\": ");
        crd_text_real(&text, r->items[i].seconds);
        crd_text_add(&text, "}");
        first = false;
    }
    crd_text_add(&text, "\n ]}\n");
    return write_text(&text, r->folder, state_name, ".json");
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Linear between order statistics, as in predictions. */
static double percentile(const double *sorted, int64_t count, double percent)
{
    int64_t below, above;
    const double part = crd_percentile_place(percent, count, &below, &above);
    return sorted[below] + part * (sorted[above] - sorted[below]);
}

static crd_status summarise(crd_propagation *p)
{
    double *sorted = NULL, sum = 0, square = 0;
    CRD_PASS(crd_alloc(p->samples + 1, sizeof *sorted, "the values", &sorted));
    for (int64_t i = 0; i < p->samples; i++) {
        if (isnan(p->values[i])) continue;
        sorted[p->defined++] = p->values[i];
        sum += p->values[i];
    }
    p->mean = p->std = p->median = p->interval[0] = p->interval[1] = (double)NAN;
    if (p->defined > 0) {
        p->mean = sum / (double)p->defined;
        for (int64_t i = 0; i < p->defined; i++) square += (sorted[i] - p->mean) * (sorted[i] - p->mean);
        qsort(sorted, (size_t)p->defined, sizeof *sorted, compare);
        p->median = percentile(sorted, p->defined, 50);
    }
    if (p->defined > 1) {
        p->std = sqrt(square / (double)(p->defined - 1));
        for (int i = 0; i < 2; i++) p->interval[i] = percentile(sorted, p->defined, p->percent[i]);
    }
    crd_free(&sorted);
    return CRD_OK;
}

static void add_reals(crd_text *text, const char *key, const double *values, int64_t count)
{
    crd_text_print(text, "\"%s\": [", key);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) crd_text_add(text, ", ");
        crd_text_real(text, values[i]);
    }
    crd_text_add(text, "]");
}

static void add_real(crd_text *text, const char *key, double value)
{
    crd_text_print(text, "\"%s\": ", key);
    crd_text_real(text, value);
    crd_text_add(text, ", ");
}

static crd_status write_json(const crd_propagate_options *options, const crd_propagation *p)
{
    crd_text text = {0};
    crd_text_add(&text, "{\"run\": ");
    crd_text_json(&text, options->run);
    crd_text_add(&text, ",\n \"command\": ");
    add_words(&text, &options->command);
    crd_text_add(&text, ",\n \"solver\": ");
    crd_text_json(&text, options->form.solver);
    crd_text_print(&text, ",\n \"samples\": %lld, \"first_sample\": %lld,\n \"properties\": [\n  {\"name\": ",
                   (long long)p->samples, (long long)p->first_sample);
    crd_text_json(&text, p->name);
    crd_text_add(&text, ", \"unit\": ");
    crd_text_json(&text, p->unit);
    crd_text_add(&text, ", ");
    add_real(&text, "segmentation", p->segmentation);
    add_real(&text, "mean", p->mean);
    add_real(&text, "std", p->std);
    add_real(&text, "median", p->median);
    add_reals(&text, "interval", p->interval, 2);
    crd_text_add(&text, ", ");
    add_reals(&text, "percent", p->percent, 2);
    crd_text_print(&text, ", \"defined\": %lld,\n   ", (long long)p->defined);
    add_reals(&text, "values", p->values, p->samples);
    crd_text_add(&text, "}],\n ");
    add_reals(&text, "seconds", p->seconds, p->samples);
    crd_text_add(&text, "}\n");
    return write_text(&text, p->folder, "propagate", ".json");
}

static void add_csv(crd_text *text, const crd_propagation *p, int64_t sample, double value)
{
    crd_text_print(text, "%s,,,%lld,", p->name, (long long)sample);
    if (!isnan(value)) crd_text_real(text, value);
    crd_text_print(text, ",%s\n", p->unit);
}

static crd_status write_csv(const crd_propagation *p)
{
    crd_text text = {0};
    crd_text_add(&text, "property,axis,phase,sample,value,unit\n");
    if (!isnan(p->segmentation)) add_csv(&text, p, -1, p->segmentation);
    for (int64_t i = 0; i < p->samples; i++) add_csv(&text, p, p->first_sample + i, p->values[i]);
    return write_text(&text, p->folder, "propagate", ".csv");
}

crd_status crd_results_gather(const crd_results *r, const crd_propagate_options *options, const crd_export_plan *plan,
                              crd_propagation **out)
{
    crd_status status = CRD_OK;
    crd_propagation *p = NULL;
    CRD_TRY(crd_alloc(1, sizeof *p, "the values", &p));
    p->samples = plan->about->samples;
    p->first_sample = plan->about->first_sample;
    p->segmentation = (double)NAN;
    p->percent[0] = options->interval.count > 0 ? options->interval.items[0].low : 5;
    p->percent[1] = options->interval.count > 0 ? options->interval.items[0].high : 95;
    CRD_TRY(crd_strdup(options->name, &p->name));
    CRD_TRY(crd_strdup(options->unit != NULL ? options->unit : "", &p->unit));
    CRD_TRY(crd_strdup(r->folder, &p->folder));
    CRD_TRY(crd_alloc(p->samples + 1, sizeof *p->values, "the values", &p->values));
    CRD_TRY(crd_alloc(p->samples + 1, sizeof *p->seconds, "the values", &p->seconds));
    for (int64_t i = 0; i < r->count; i++) {
        const crd_result *item = &r->items[i];
        if (item->bit == plan->about->segmentation) p->segmentation = item->value;
        if (item->bit < p->samples) {
            p->values[item->bit] = item->value;
            p->seconds[item->bit] = item->seconds;
        }
    }
    CRD_TRY(summarise(p));
    CRD_TRY(write_json(options, p));
    CRD_TRY(write_csv(p));
    *out = p;
    p = NULL;
done:
    crd_propagation_free(&p);
    return status;
}

void crd_propagation_free(crd_propagation **propagation)
{
    crd_propagation *p = *propagation;
    if (p == NULL) return;
    crd_free(&p->name);
    crd_free(&p->unit);
    crd_free(&p->folder);
    crd_free(&p->values);
    crd_free(&p->seconds);
    crd_free(propagation);
}
