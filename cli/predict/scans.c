#include "scans.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "credence/cluster.h"
#include "credence/predict.h"
#include "credence/volume.h"
#include "json.h"
#include "prediction.h"
#include "talk/next.h"

static int out_of_memory(void)
{
    return cli_fail("not enough memory for the list of scans");
}

/* The length of the last part of the path without slashes behind it, and where it begins. */
static size_t last_part(const char *path, size_t end, size_t *begin)
{
    while (end > 1 && path[end - 1] == '/') end--;
    *begin = end;
    while (*begin > 0 && path[*begin - 1] != '/') (*begin)--;
    return end - *begin;
}

/* "scans/a.nii.gz" gives "a"; "slices/b/" gives "b"; "c/slice_*.tif" gives "c", "d.zarr/1" gives "d", "data.h5:/raw"
 * gives "data". The longer name has the folder of the file in front of it, or the dataset behind it: "monday_a",
 * "data_raw". */
static char *folder_name(const char *path, bool longer)
{
    const char *dataset = strstr(path, ":/");
    const char *level = strstr(path, ".zarr/"), *cut = dataset != NULL ? dataset : level != NULL ? level + 5 : NULL;
    const size_t end = cut != NULL ? (size_t)(cut - path) : strlen(path);
    size_t begin, above = 0;
    size_t length = last_part(path, end, &begin);
    if (memchr(path + begin, '*', length) != NULL && begin > 0) length = last_part(path, begin, &begin);
    size_t kept = length;
    while (kept > 0 && path[begin + kept - 1] != '.') kept--;
    kept = kept > 1 ? kept - 1 : length;
    for (int i = 0; i < 2; i++) { /* .nii.gz, .ome.tif */
        const char *inner = i == 0 ? ".nii" : ".ome";
        if (kept > 4 && strncmp(path + begin + kept - 4, inner, 4) == 0) kept -= 4;
    }
    const char *behind = longer && dataset != NULL ? dataset + 1 : "";
    const size_t before = longer && dataset == NULL && begin > 0 ? last_part(path, begin, &above) : 0;
    char *name = malloc(before + 1 + kept + strlen(behind) + 1);
    if (name == NULL) return NULL;
    sprintf(name, "%.*s%s%.*s%s", (int)before, before > 0 ? path + above : "", before > 0 ? "_" : "", (int)kept,
            path + begin, behind);
    for (char *at = name; *at != '\0'; at++) {
        if (*at == '/' || *at == '*' || *at == '?') *at = '_';
    }
    return name;
}

static int name_folders(cli_context *context, cli_scans *scans)
{
    bool *twice = calloc((size_t)scans->count, sizeof *twice);
    scans->folders = calloc((size_t)scans->count, sizeof *scans->folders);
    if (twice == NULL || scans->folders == NULL) {
        free(twice);
        return out_of_memory();
    }
    for (int i = 0; i < scans->count; i++) scans->folders[i] = folder_name(scans->paths[i], false);
    for (int i = 0; i < scans->count; i++) {
        for (int k = 0; k < i && scans->folders[i] != NULL; k++) {
            if (scans->folders[k] == NULL || strcmp(scans->folders[i], scans->folders[k]) != 0) continue;
            twice[i] = twice[k] = true;
        }
    }
    for (int i = 0; i < scans->count; i++) {
        if (!twice[i]) continue;
        free(scans->folders[i]);
        scans->folders[i] = folder_name(scans->paths[i], true);
    }
    free(twice);
    for (int i = 0; i < scans->count; i++) {
        if (scans->folders[i] == NULL) return out_of_memory();
        for (int k = 0; k < i; k++) {
            if (strcmp(scans->folders[i], scans->folders[k]) != 0) continue;
            return cli_usage(context->command,
                             "%s and %s would both be written to the folder %s of --output; predict them one by one",
                             scans->paths[k], scans->paths[i], scans->folders[i]);
        }
    }
    return CLI_DONE;
}

int cli_scans_open(cli_context *context, cli_scans *out)
{
    crd_predict_options *options = context->options;
    const int code = cli_require(context, "scan");
    *out = (cli_scans){.count = 1 + context->argument_count};
    if (code != CLI_DONE) return code;
    out->paths = calloc((size_t)out->count, sizeof *out->paths);
    if (out->paths == NULL) return out_of_memory();
    if (options->output != NULL && (out->output = strdup(options->output)) == NULL) return out_of_memory();
    out->own = strdup(options->scan); /* the option's own text goes with the next that is set */
    if (out->own == NULL) return out_of_memory();
    out->paths[0] = out->own;
    for (int i = 1; i < out->count; i++) out->paths[i] = context->arguments[i - 1];
    return out->count > 1 ? name_folders(context, out) : CLI_DONE;
}

int cli_scans_choose(const cli_context *context, const cli_scans *scans, int index)
{
    int code = CLI_DONE;
    void *options = context->options;
    if (crd_settings_set(&crd_predict_settings, options, "scan", scans->paths[index]) != CRD_OK) {
        return cli_library_failed();
    }
    if (scans->output == NULL || scans->folders == NULL) return CLI_DONE;
    const size_t bytes = strlen(scans->output) + strlen(scans->folders[index]) + 2;
    char *folder = malloc(bytes);
    if (folder == NULL) return out_of_memory();
    const size_t length = strlen(scans->output);
    const bool slash = length > 0 && scans->output[length - 1] == '/';
    snprintf(folder, bytes, "%s%s%s", scans->output, slash ? "" : "/", scans->folders[index]);
    if (crd_settings_set(&crd_predict_settings, options, "output", folder) != CRD_OK) code = cli_library_failed();
    free(folder);
    return code;
}

void cli_scans_close(cli_scans *scans)
{
    for (int i = 0; scans->folders != NULL && i < scans->count; i++) free(scans->folders[i]);
    free(scans->folders);
    free(scans->paths);
    free(scans->own);
    free(scans->output);
    memset(scans, 0, sizeof *scans);
}

/* ---- what can be known to fail is said before hours go into the others ---- */

static bool holds_something(const char *folder)
{
    int entries = 0;
    DIR *listing = opendir(folder);
    while (listing != NULL && entries <= 2 && readdir(listing) != NULL) entries++;
    if (listing != NULL) (void)closedir(listing);
    return entries > 2; /* itself and the one above */
}

static int check_model(const char *path)
{
    crd_model *model = NULL;
    if (crd_model_load(path, &model) != CRD_OK) return cli_library_failed();
    crd_model_free(&model);
    return CLI_DONE;
}

static int check_scan(const crd_predict_options *o)
{
    crd_volume *scan = NULL;
    crd_volume_options reading = {.type = o->type, .offset = o->offset};
    memcpy(reading.shape, o->shape, sizeof reading.shape);
    if (crd_volume_open(o->scan, &reading, NULL, &scan) != CRD_OK) return cli_library_failed();
    crd_volume_close(&scan);
    return CLI_DONE;
}

static int check_all(const cli_context *context, const cli_scans *scans)
{
    const crd_predict_options *o = context->options;
    int code = check_model(o->model);
    for (int i = 0; i < scans->count && code == CLI_DONE; i++) {
        code = cli_scans_choose(context, scans, i);
        if (code == CLI_DONE) code = check_scan(o);
        if (code == CLI_DONE && !o->resume && !o->overwrite && holds_something(o->output)) {
            code = cli_fail("%s is not empty; --resume keeps what is finished and does the rest, --overwrite does all "
                            "again, or choose another folder",
                            o->output);
        }
    }
    return code;
}

/* ---- the table ---- */

/* What became of one scan. */
typedef struct outcome {
    crd_predict_result result;
    char *failure; /* the sentence; NULL: none */
} outcome;

enum { CELL = 64 };

/* "40.1 % (39.6 to 40.7)", or where no interval is known to hold "41.0 %" of the segmentation. */
static void fraction_cell(double segmentation, double mean, const double interval[2], double systematic, char *cell)
{
    if (isnan(systematic)) {
        snprintf(cell, CELL, "%.1f %%", 100.0 * segmentation);
    } else {
        snprintf(cell, CELL, "%.1f %% (%.1f to %.1f)", 100.0 * mean, 100.0 * interval[0], 100.0 * interval[1]);
    }
}

/* Column `column` of a row: the fractions of the classes, the uncertainty, the time. */
static void fill_cell(const crd_predict_result *r, int column, char *cell)
{
    const int fractions = r->class_count > 0 ? r->class_count : 1;
    if (column < fractions && r->class_count > 0) {
        const crd_class_result *c = &r->classes[column];
        fraction_cell(c->volume_fraction, c->fraction_mean, c->fraction_interval90, c->fraction_systematic, cell);
    } else if (column < fractions) {
        fraction_cell(r->volume_fraction, r->fraction_mean, r->fraction_interval90, r->fraction_systematic, cell);
    } else if (column == fractions) {
        snprintf(cell, CELL, "%.4f", r->mean_uncertainty);
    } else if (r->computed == 0) {
        snprintf(cell, CELL, "kept");
    } else {
        snprintf(cell, CELL, "%.0f s", r->seconds);
    }
}

static void fill_heading(const crd_predict_result *r, int column, char *cell)
{
    const int fractions = r->class_count > 0 ? r->class_count : 1;
    if (column < fractions) {
        const bool widened = !isnan(r->class_count > 0 ? r->classes[0].fraction_systematic : r->fraction_systematic);
        snprintf(cell, CELL, "%.40s%s", r->class_count > 0 ? r->classes[column].name : "volume fraction",
                 widened ? " (90 % interval)" : " (segmented)");
    } else {
        snprintf(cell, CELL, "%s", column == fractions ? "uncertainty" : "time");
    }
}

static void print_row(const cli_scans *scans, const outcome *outcomes, int row, int columns, const int *width,
                      int first)
{
    printf("%-*s", first, row < 0 ? "scan" : scans->folders[row]);
    if (row >= 0 && outcomes[row].failure != NULL) {
        printf("  failed\n");
        return;
    }
    for (int column = 0; column < columns; column++) {
        char cell[CELL];
        if (row >= 0) {
            fill_cell(&outcomes[row].result, column, cell);
        } else {
            int known = 0;
            while (outcomes[known].failure != NULL) known++;
            fill_heading(&outcomes[known].result, column, cell);
        }
        printf("  %*s", width[column], cell);
    }
    printf("\n");
}

static void print_table(const cli_scans *scans, const outcome *outcomes)
{
    int known = 0, first = 4, width[CRD_CLASSES_MAX + 2] = {0};
    while (known < scans->count && outcomes[known].failure != NULL) known++;
    if (known == scans->count) return; /* all failed, and their sentences are there */
    const crd_predict_result *any = &outcomes[known].result;
    const int columns = (any->class_count > 0 ? any->class_count : 1) + 2;
    for (int row = 0; row < scans->count; row++) {
        const int length = (int)strlen(scans->folders[row]);
        if (length > first) first = length;
        for (int column = 0; column < columns; column++) {
            char cell[CELL], heading[CELL];
            fill_heading(any, column, heading);
            if ((int)strlen(heading) > width[column]) width[column] = (int)strlen(heading);
            if (outcomes[row].failure != NULL) continue;
            fill_cell(&outcomes[row].result, column, cell);
            if ((int)strlen(cell) > width[column]) width[column] = (int)strlen(cell);
        }
    }
    printf("The runs are in %s:\n\n", scans->output);
    for (int row = -1; row < scans->count; row++) print_row(scans, outcomes, row, columns, width, first);
}

/* Of the first run that is there. */
static void print_next(const cli_context *context, const cli_scans *scans, const outcome *outcomes)
{
    int first = 0;
    while (outcomes[first].failure != NULL) first++;
    if (cli_scans_choose(context, scans, first) != CLI_DONE) return;
    if (cli_next_wanted(context)) printf("\n");
    cli_print_after_prediction(context, ((const crd_predict_options *)context->options)->output);
}

static void print_json(const cli_context *context, const cli_scans *scans, const outcome *outcomes, int done)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "runs", '[');
    for (int i = 0; i < done; i++) {
        if (cli_scans_choose(context, scans, i) != CLI_DONE) break;
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "scan", scans->paths[i]);
        if (outcomes[i].failure != NULL) {
            cli_json_text(&json, "path", ((const crd_predict_options *)context->options)->output);
            cli_json_text(&json, "failure", outcomes[i].failure);
        } else {
            cli_json_prediction(&json, context->options, &outcomes[i].result);
        }
        cli_json_close(&json);
    }
    cli_json_close(&json);
    cli_json_close(&json);
}

/* ---- one after the other ---- */

/* What is no news after the first scan isn't said again. */
typedef struct once {
    crd_monitor monitor;
    const crd_monitor *shown;
    char *texts[32];
    int count;
} once;

static void say_once(void *context, crd_level level, const char *text)
{
    once *said = context;
    for (int i = 0; level == CRD_LEVEL_INFO && i < said->count; i++) {
        if (strcmp(said->texts[i], text) == 0) return;
    }
    said->shown->message(said->shown->context, level, text);
    const int most = (int)(sizeof said->texts / sizeof said->texts[0]);
    if (level != CRD_LEVEL_INFO || said->count == most) return;
    char *copy = strdup(text);
    if (copy != NULL) said->texts[said->count++] = copy;
}

static bool pass_progress(void *context, const crd_progress *progress)
{
    const crd_monitor *shown = ((const once *)context)->shown;
    return shown->progress(shown->context, progress);
}

static void say_next(const cli_context *context, const cli_scans *scans, int index)
{
    char text[1024];
    snprintf(text, sizeof text, "scan %d of %d: %s", index + 1, scans->count, scans->paths[index]);
    context->monitor->message(context->monitor->context, CRD_LEVEL_INFO, text);
}

/* A scan that fails is told at once, and the next is begun; a request to stop ends it all, and so does a failure among
 * several processes, which lose step by it. */
static int predict_next(const cli_context *context, const cli_scans *scans, int index, const crd_monitor *monitor,
                        outcome *out)
{
    const int code = cli_scans_choose(context, scans, index);
    if (code != CLI_DONE) return code;
    say_next(context, scans, index);
    if (crd_predict(context->options, monitor, &out->result) == CRD_OK) return CLI_DONE;
    const bool last = crd_last_error()->status == CRD_ERR_CANCELLED || crd_cluster_size() > 1;
    out->failure = strdup(crd_last_error()->message);
    (void)cli_library_failed();
    return last || out->failure == NULL ? CLI_FAILED : CLI_DONE;
}

int cli_scans_predict(const cli_context *context, cli_scans *scans)
{
    outcome *outcomes = calloc((size_t)scans->count, sizeof *outcomes);
    once said = {.shown = context->monitor};
    int code = outcomes != NULL ? check_all(context, scans) : out_of_memory(), done = 0, failed = 0;
    said.monitor = (crd_monitor){&said, say_once, pass_progress};
    while (done < scans->count && code == CLI_DONE) {
        code = predict_next(context, scans, done, &said.monitor, &outcomes[done]);
        failed += outcomes[done++].failure != NULL;
    }
    if (code == CLI_DONE && context->common->json) {
        print_json(context, scans, outcomes, done);
    } else if (code == CLI_DONE && !context->common->quiet) {
        print_table(scans, outcomes);
        if (failed < scans->count) print_next(context, scans, outcomes);
    }
    if (code == CLI_DONE && failed > 0) {
        code = cli_fail("%d of %d scans failed, as said above; the same command with --resume tries them again", failed,
                        scans->count);
    }
    for (int i = 0; outcomes != NULL && i < scans->count; i++) free(outcomes[i].failure);
    for (int i = 0; i < said.count; i++) free(said.texts[i]);
    free(outcomes);
    return code;
}
