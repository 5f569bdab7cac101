#include "view/jobs/wishes.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "credence/number.h"
#include "credence/predict.h"
#include "credence/train.h"

/* Rows of the commands' own tables, which check the values. None of them names a file, nor leads to one. */
static const char *const train_rows[] = {"preset", "kind",    "members", "max-steps", "epochs",       "batch",
                                         "lr",     "chunk",   "filters", "estimator", "augment",      "keep",
                                         "seed",   "threads", "device",  "precision", "no-intervals", "valid-fraction"};
static const char *const score_rows[] = {"samples", "seed",      "mode",       "norms",
                                         "device",  "precision", "max-memory", "threads"};
static const char *const predict_rows[] = {"samples", "seed",    "mode",   "preview",   "bbox",       "intervals",
                                           "dtype",   "entropy", "device", "precision", "max-memory", "threads",
                                           "chunk",   "step",    "tile",   "norms"};

crd_status crd_words_add(crd_text_list *words, const char *word)
{
    char **items = NULL, *copy = NULL;
    CRD_PASS(crd_alloc(words->count + 1, sizeof *items, "the words of a command", &items));
    if (crd_strdup(word, &copy) != CRD_OK) {
        crd_free(&items);
        return CRD_ERR_MEMORY;
    }
    for (int64_t i = 0; i < words->count; i++) items[i] = words->items[i];
    items[words->count] = copy;
    crd_free(&words->items);
    words->items = items;
    words->count++;
    return CRD_OK;
}

crd_status crd_words_add_number(crd_text_list *words, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return crd_words_add(words, text);
}

void crd_words_free(crd_text_list *words)
{
    for (int64_t i = 0; i < words->count; i++) crd_free(&words->items[i]);
    crd_free(&words->items);
    words->count = 0;
}

static const struct {
    const char *const *rows;
    size_t count;
} lists[CRD_JOB_KINDS] = {
    [CRD_JOB_TRAIN] = {train_rows, sizeof train_rows / sizeof train_rows[0]},
    [CRD_JOB_PREDICT] = {predict_rows, sizeof predict_rows / sizeof predict_rows[0]},
    [CRD_JOB_SCORE] = {score_rows, sizeof score_rows / sizeof score_rows[0]},
};

const char *const crd_job_kinds[CRD_JOB_KINDS] = {
    [CRD_JOB_TRAIN] = "train", [CRD_JOB_PREDICT] = "predict", [CRD_JOB_SCORE] = "score"};

crd_job_kind crd_job_kind_of(const char *word)
{
    int kind = 0;
    while (kind < CRD_JOB_KINDS && (word == NULL || strcmp(word, crd_job_kinds[kind]) != 0)) kind++;
    return (crd_job_kind)kind;
}

static bool is_listed(const char *name, crd_job_kind kind)
{
    for (size_t i = 0; i < lists[kind].count; i++) {
        if (strcmp(lists[kind].rows[i], name) == 0) return true;
    }
    return false;
}

/* A value as text, as it would stand on a command line; NULL: it is none. */
static const char *text_of(const cJSON *value, char number[CRD_NUMBER_BYTES])
{
    if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? "true" : "false";
    if (cJSON_IsNumber(value)) return crd_format_real(value->valuedouble, number);
    return cJSON_GetStringValue(value);
}

/* "--preview" alone, "--samples 48": as a person would write it. */
static crd_status add_option(const crd_setting *row, const char *text, crd_text_list *words)
{
    char flag[80];
    snprintf(flag, sizeof flag, "--%.70s", row->name);
    if (row->kind == CRD_SETTING_FLAG && strcmp(text, "false") == 0) return CRD_OK;
    CRD_PASS(crd_words_add(words, flag));
    return row->kind == CRD_SETTING_FLAG ? CRD_OK : crd_words_add(words, text);
}

static crd_status read_option(const cJSON *option, const crd_settings *table, void *checked, crd_wishes *out)
{
    char number[CRD_NUMBER_BYTES];
    const char *name = option->string, *text = text_of(option, number);
    if (text == NULL || strlen(text) > 200) {
        return crd_fail(CRD_ERR_ARGUMENT, "%.60s must be a number, a text or true or false", name);
    }
    if (strcmp(name, "iteration") == 0) {
        if (!cJSON_IsNumber(option) || option->valuedouble < 0 || option->valuedouble > 1e6 ||
            option->valuedouble != (double)(int64_t)option->valuedouble) {
            return crd_fail(CRD_ERR_ARGUMENT, "iteration must be the number of one");
        }
        out->iteration = (int64_t)option->valuedouble;
        return CRD_OK;
    }
    if (strcmp(name, "boxes") == 0 && out->kind == CRD_JOB_PREDICT) {
        if (strcmp(text, "held-out") != 0) return crd_fail(CRD_ERR_ARGUMENT, "boxes must be held-out");
        out->held_out = true;
        return CRD_OK;
    }
    const crd_setting *row = is_listed(name, out->kind) ? crd_settings_find(table, name) : NULL;
    if (row == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "%.60s is no option that the page may set; a terminal has all of them", name);
    }
    CRD_PASS(crd_settings_set(table, checked, name, text));
    return add_option(row, text, &out->words);
}

crd_status crd_wishes_read(const char *what, const cJSON *options, crd_wishes *out)
{
    crd_status status = CRD_OK;
    crd_train_options training;
    crd_predict_options prediction;
    memset(out, 0, sizeof *out);
    out->iteration = -1;
    out->kind = crd_job_kind_of(what);
    if (out->kind == CRD_JOB_KINDS) return crd_fail(CRD_ERR_ARGUMENT, "do must be train, predict or score");
    if (options != NULL && !cJSON_IsObject(options)) {
        return crd_fail(CRD_ERR_ARGUMENT, "options must be an object of options by their names");
    }
    const bool train = out->kind == CRD_JOB_TRAIN;
    const crd_settings *table = train ? &crd_train_settings : &crd_predict_settings;
    void *checked = train ? (void *)&training : (void *)&prediction;
    CRD_PASS(crd_settings_begin(table, checked, train ? sizeof training : sizeof prediction));
    for (const cJSON *option = options != NULL ? options->child : NULL; option != NULL; option = option->next) {
        CRD_TRY(read_option(option, table, checked, out));
    }
    if (out->held_out && (prediction.bbox != NULL || prediction.preview)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "boxes can't go with bbox or preview: it says what is predicted");
    }
done:
    crd_settings_clear(table, checked);
    if (status != CRD_OK) crd_wishes_free(out);
    return status;
}

void crd_wishes_free(crd_wishes *wishes)
{
    crd_words_free(&wishes->words);
    crd_words_free(&wishes->exam);
}
