/* credence info: what is in a file, for people and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "command.h"
#include "credence/model.h"
#include "credence/run.h"
#include "describe.h"
#include "figures.h"
#include "reading.h"

typedef struct info_options {
    cli_reading reading;
    bool header;
} info_options;

static const crd_setting rows[] = {
    {.name = "header",
     .kind = CRD_SETTING_FLAG,
     .offset = offsetof(info_options, header),
     .help = "read the header only: no range, no histogram, but at once for any size"},
    CLI_READING_ROWS(info_options, reading),
};
static const crd_settings settings = {.title = "info", .rows = rows, .count = sizeof rows / sizeof rows[0]};

enum { HISTOGRAM_ROWS = 16, BAR_CELLS = 33 }; /* so that a row has 79 columns at most */

/* Where one file's description goes: to `json`, or as text when that is NULL. */
typedef struct output {
    const cli_context *context;
    const crd_volume_options *reading;
    bool header;
    cli_json *json;
} output;

static double unit_name(int64_t bytes, const char **name)
{
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double amount = (double)bytes;
    size_t i = 0;
    for (; amount >= 1024 && i + 1 < sizeof names / sizeof names[0]; i++) amount /= 1024;
    *name = names[i];
    return amount;
}

static void print_header(const char *path, const crd_volume_info *info)
{
    const char *size_unit = NULL;
    const double voxels = (double)info->shape[0] * (double)info->shape[1] * (double)info->shape[2];
    const double size = unit_name((int64_t)(voxels * (double)crd_type_size(info->type)), &size_unit);
    printf("%s\n", path);
    printf("  format     %s\n", info->format);
    printf("  shape      z %" PRId64 ", y %" PRId64 ", x %" PRId64 " (%.0f voxels, %.4g %s)\n", info->shape[0],
           info->shape[1], info->shape[2], voxels, size, size_unit);
    printf("  type       %s\n", crd_type_name(info->type));
    if (cli_has_spacing(info)) {
        printf("  spacing    z %.7g, y %.7g, x %.7g %s\n", info->spacing[0], info->spacing[1], info->spacing[2],
               info->unit[0] != '\0' ? info->unit : "(unit not given)");
    } else {
        printf("  spacing    not given\n");
    }
    if (info->origin[0] != 0 || info->origin[1] != 0 || info->origin[2] != 0) {
        printf("  origin     z %" PRId64 ", y %" PRId64 ", x %" PRId64 " (voxels, in a larger volume)\n",
               info->origin[0], info->origin[1], info->origin[2]);
    }
    if (info->scale != 1) printf("  scale      value = stored number x %.9g\n", info->scale);
}

static void print_histogram_row(bool first, const char *label, double share, double highest)
{
    char bar[BAR_CELLS + 1];
    const int cells = (int)ceil(BAR_CELLS * share / highest);
    memset(bar, '#', sizeof bar);
    bar[cells] = '\0';
    printf("  %-10s %22s  %5.1f %%%s%s\n", first ? "histogram" : "", label, 100 * share, cells > 0 ? "  " : "", bar);
}

/* `group` neighbouring bins a row; of whole numbers that are few, as in a label, those that occur. */
static void print_histogram(const crd_volume_info *info, const crd_volume_statistics *statistics)
{
    const bool whole = info->type != CRD_F32 && info->type != CRD_F64;
    const double low = statistics->histogram_low;
    const double width = (statistics->histogram_high - low) / CRD_HISTOGRAM_BINS;
    int used = 1, filled = 0;
    for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) {
        if (statistics->histogram[i] == 0) continue;
        used = i + 1;
        filled++;
    }
    const bool single = whole && width <= 1 && filled <= HISTOGRAM_ROWS;
    const int group = single ? 1 : (used + HISTOGRAM_ROWS - 1) / HISTOGRAM_ROWS;
    double shares[CRD_HISTOGRAM_BINS] = {0}, highest = 0;
    for (int i = 0; i < used; i++) {
        shares[i / group] += (double)statistics->histogram[i] / (double)statistics->count;
        highest = fmax(highest, shares[i / group]);
    }
    bool first = true;
    for (int i = 0; i * group < used; i++) {
        char label[64];
        const double from = low + width * group * i, to = from + width * group;
        if (single && shares[i] == 0) continue;
        if (whole && width * group <= 1) {
            snprintf(label, sizeof label, "%.0f", statistics->minimum + i);
        } else if (whole) {
            snprintf(label, sizeof label, "%.0f to %.0f", from, fmin(to - 1, statistics->maximum));
        } else {
            snprintf(label, sizeof label, "%.4g to %.4g", from, to);
        }
        print_histogram_row(first, label, shares[i], highest);
        first = false;
    }
}

static void print_statistics(const crd_volume_info *info, const crd_volume_statistics *statistics)
{
    if (statistics->count > 0) {
        printf("  range      %.7g to %.7g\n", statistics->minimum, statistics->maximum);
        printf("  mean       %.7g\n", statistics->mean);
        printf("  std        %.7g\n", sqrt(statistics->variance));
    }
    printf("  nonfinite  %" PRId64 "%s\n", statistics->nonfinite,
           statistics->count == 0 ? ": not one voxel is a finite number" : "");
    if (statistics->count > 0) print_histogram(info, statistics);
}

/* `statistics` is NULL when only the header was read. */
static void json_statistics(cli_json *json, const crd_volume_statistics *statistics)
{
    const bool known = statistics != NULL && statistics->count > 0;
    cli_json_real(json, "min", known ? statistics->minimum : NAN);
    cli_json_real(json, "max", known ? statistics->maximum : NAN);
    cli_json_real(json, "mean", known ? statistics->mean : NAN);
    cli_json_real(json, "variance", known ? statistics->variance : NAN);
    if (statistics == NULL) {
        cli_json_text(json, "nonfinite", NULL);
        return;
    }
    cli_json_int(json, "nonfinite", statistics->nonfinite);
    cli_json_open(json, "histogram", '{');
    cli_json_real(json, "low", statistics->histogram_low);
    cli_json_real(json, "high", statistics->histogram_high);
    cli_json_ints(json, "counts", statistics->histogram, CRD_HISTOGRAM_BINS);
    cli_json_close(json);
}

static int describe_volume(const char *path, const output *sheet)
{
    crd_volume *volume = NULL;
    crd_volume_statistics statistics;
    int code = CLI_DONE;
    if (crd_volume_open(path, sheet->reading, sheet->context->monitor, &volume) != CRD_OK ||
        (!sheet->header && crd_volume_measure(volume, sheet->context->monitor, &statistics) != CRD_OK)) {
        code = cli_library_failed();
    } else if (sheet->json != NULL) {
        cli_json_open(sheet->json, NULL, '{');
        cli_json_volume(sheet->json, path, crd_volume_describe(volume));
        json_statistics(sheet->json, sheet->header ? NULL : &statistics);
        cli_json_close(sheet->json);
    } else {
        print_header(path, crd_volume_describe(volume));
        if (!sheet->header) print_statistics(crd_volume_describe(volume), &statistics);
    }
    crd_volume_close(&volume);
    return code;
}

static int describe_model(const char *path, const output *sheet)
{
    return cli_describe_model(path, sheet->json);
}

static void json_run(cli_json *json, const char *path, const crd_run_summary *run)
{
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "path", path);
    cli_json_text(json, "format", "credence-run");
    cli_json_text(json, "kind", run->kind);
    cli_json_text(json, "model", run->model);
    cli_json_text(json, "scan", run->scan);
    cli_json_text(json, "mode", run->mode);
    cli_json_ints(json, "shape", run->shape, 3);
    cli_json_int(json, "samples", run->samples);
    cli_json_text(json, "interval", run->interval);
    cli_json_real(json, "mean_uncertainty", run->mean_uncertainty);
    cli_json_open(json, "classes", '[');
    for (int k = 0; k < run->class_count; k++) {
        const crd_class_share *c = &run->classes[k];
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", c->name);
        cli_json_real(json, "value", c->value);
        cli_json_real(json, "segmentation", c->segmentation);
        cli_json_real(json, "mean", c->mean);
        cli_json_reals(json, "interval90", c->interval90, 2);
        cli_json_real(json, "interval_systematic", c->systematic);
        cli_json_close(json);
    }
    cli_json_close(json);
    cli_json_int(json, "warnings", run->warnings);
    cli_json_close(json);
}

static int name_width(const crd_run_summary *run)
{
    int width = 5;
    for (int k = 0; k < run->class_count; k++) {
        const int length = (int)strlen(run->classes[k].name);
        width = length > width ? length : width;
    }
    return width;
}

static void print_run(const char *path, const crd_run_summary *run)
{
    const int width = name_width(run);
    printf("%s\n", path);
    printf("  format     credence run\n");
    printf("  network    %s, %" PRId64 " samples%s%s\n", run->kind[0] != '\0' ? run->kind : "not known", run->samples,
           run->mode[0] != '\0' ? ", " : "", run->mode);
    if (run->model[0] != '\0') printf("  model      %s\n", run->model);
    if (run->scan[0] != '\0') printf("  scan       %s\n", run->scan);
    printf("  shape      z %" PRId64 ", y %" PRId64 ", x %" PRId64 "\n", run->shape[0], run->shape[1], run->shape[2]);
    printf("  uncertain  %s in the mean%s%s\n", cli_figure_general(run->mean_uncertainty, 4),
           run->interval[0] != '\0' ? ", percentiles " : "", run->interval);
    if (run->class_count > 0) {
        printf("  %-*s  value  segmented  mean      %s\n", width, "class",
               isnan(run->classes[0].systematic) ? "5-95 % of the samples" : "90 % interval");
    }
    for (int k = 0; k < run->class_count; k++) {
        const crd_class_share *c = &run->classes[k];
        printf("  %-*s  %-5s  %-9s  %-8s  %s to %s\n", width, c->name, cli_figure_general(c->value, 6),
               cli_figure(c->segmentation, 6), cli_figure(c->mean, 6), cli_figure(c->interval90[0], 6),
               cli_figure(c->interval90[1], 6));
    }
    if (run->warnings > 0) printf("  warnings   %" PRId64 ", in manifest.json\n", run->warnings);
}

static int describe_run(const char *path, const output *sheet)
{
    crd_run_summary run;
    if (crd_run_summarise(path, &run) != CRD_OK) return cli_library_failed();
    if (sheet->json != NULL)
        json_run(sheet->json, path, &run);
    else
        print_run(path, &run);
    return CLI_DONE;
}

/* The kinds of files that can be described, tried in this order; the last takes whatever is left. */
static const struct describer {
    bool (*recognises)(const char *path); /* NULL: everything */
    int (*describe)(const char *path, const output *sheet);
} describers[] = {{crd_model_recognise, describe_model}, {crd_run_recognise, describe_run}, {NULL, describe_volume}};

static int describe(const char *path, const output *sheet)
{
    size_t i = 0;
    while (describers[i].recognises != NULL && !describers[i].recognises(path)) i++;
    return describers[i].describe(path, sheet);
}

/* One file that can't be read doesn't keep the others from being shown. */
static int run(cli_context *context)
{
    const info_options *options = context->options;
    crd_volume_options reading;
    cli_reading_space space;
    cli_json json = {.out = stdout};
    const bool list = context->argument_count > 1;
    int code = cli_reading_options(context, &options->reading, &space, &reading);
    if (code != CLI_DONE) return code;
    const output sheet = {.context = context,
                          .reading = &reading,
                          .header = options->header != 0,
                          .json = context->common->json ? &json : NULL};
    if (sheet.json != NULL && list) cli_json_open(&json, NULL, '[');
    for (int i = 0; i < context->argument_count; i++) {
        if (i > 0 && sheet.json == NULL) printf("\n");
        const int one = describe(context->arguments[i], &sheet);
        if (one != CLI_DONE) code = one;
    }
    if (sheet.json != NULL && list) cli_json_close(&json);
    return code;
}

const cli_command cli_info = {
    .name = "info",
    .summary = "shape, type, spacing, range and histogram of a scan; a model's settings; or a run's shares",
    .arguments = "FILE...",
    .least = 1,
    .most = -1,
    .settings = &settings,
    .options_size = sizeof(info_options),
    .uses = CLI_USES_JSON | CLI_USES_FILES,
    .details = "FILE is a volume in any format that credence reads: a file, a folder of slices, a quoted pattern such "
               "as 'slices/*.tif', or file.h5:/path/to/dataset; or a model that credence trained, or a checkpoint; "
               "or a run folder of credence predict: the share of each class, with its interval.",
    .examples = "credence info scan.tif\n"
                "credence info --header scan.h5:/exchange/data\n"
                "credence info scan.raw --shape 512,1024,1024 --type u16le\n"
                "credence info --json scan.tif label.tif > both.json\n"
                "credence info model.h5 run",
    .run = run,
};
