/* credence measure: properties of every realisation of a run. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "credence/measure.h"
#include "credence/number.h"
#include "credence/run.h"
#include "figures.h"
#include "json.h"
#include "talk/wrap.h"

/* Characters of the table: an interval, and all from its beginning to the end of the size error. */
enum { INTERVAL = 23, REST = INTERVAL + 11 };

/* Four digits, or as many as it takes to tell the ends of the interval apart by three. */
static int digits_of(const crd_property *p)
{
    const double width = p->interval[1] - p->interval[0];
    const double size = fmax(fabs(p->interval[0]), fabs(p->interval[1]));
    if (!(width > 0.0) || !isfinite(size)) return 4;
    const int digits = 2 + (int)ceil(log10(size / width));
    return digits < 4 ? 4 : digits > 9 ? 9 : digits;
}

static const char *number(const crd_property *p, double value)
{
    if (!isfinite(value)) return cli_figure((double)NAN, 0); /* infinite: nothing percolates */
    if (value == floor(value) && fabs(value) < 1e9) return cli_figure(value, 0);
    return cli_figure_digits(value, digits_of(p));
}

/* " 1", or " 1 (pore)" where it has a name of its own. */
static void print_phase(const crd_measurement *m, double phase)
{
    const char *name = crd_measurement_phase_name(m, phase), *value = cli_figure_general(phase, 6);
    printf(" %s", value);
    if (name != NULL && strcmp(name, value) != 0) printf(" (%s)", name);
}

/* ", phase 1 (pore)" or ", phases 0, 1, 2" */
static void print_phases(const crd_measurement *m)
{
    printf(", phase%s", m->phase_count > 1 ? "s" : "");
    for (int64_t i = 0; i < m->phase_count; i++) {
        if (i > 0) putchar(',');
        print_phase(m, m->phases[i]);
    }
}

static void print_header(const crd_measurement *m)
{
    printf("%s: %" PRId64 " x %" PRId64 " x %" PRId64 " voxels (z, y, x)", m->source, m->shape[0], m->shape[1],
           m->shape[2]);
    if (m->spacing_known && m->spacing[0] == m->spacing[1] && m->spacing[1] == m->spacing[2]) {
        printf(" of %g %s", m->spacing[0], m->unit);
    } else if (m->spacing_known) {
        printf(" of %g x %g x %g %s", m->spacing[0], m->spacing[1], m->spacing[2], m->unit);
    }
    print_phases(m);
    if (m->samples > 0) printf(", %" PRId64 " realisation%s", m->samples, m->samples > 1 ? "s" : "");
    if (m->window_voxels < m->shape[0] * m->shape[1] * m->shape[2]) {
        printf(", %" PRId64 " voxels inside the mask", m->window_voxels);
    }
    printf("\n");
}

/* Where the segmentation lies beside its realisations: it is cut from their mean, which is smoother than each of them.
 */
static char side_of(const crd_measurement *m, const crd_property *p)
{
    if (m->samples < 2) return ' ';
    return p->segmentation < p->interval[0] ? '<' : p->segmentation > p->interval[1] ? '>' : ' ';
}

/* What lines of a table go by. */
typedef struct table {
    const crd_measurement *m;
    bool errors;      /* there are size errors */
    const char *said; /* the note of the line before, which isn't repeated; NULL: it had none */
} table;

static void write_interval(const crd_measurement *m, const crd_property *p, char *out, size_t size)
{
    *out = '\0';
    if (m->samples < 2) return;
    if (isinf(p->interval[0])) {
        snprintf(out, size, "%s", number(p, p->interval[0]));
    } else if (isinf(p->interval[1])) {
        snprintf(out, size, "> %s", number(p, p->interval[0]));
    } else {
        snprintf(out, size, "%s .. %s%s", number(p, p->interval[0]), number(p, p->interval[1]), p->shown ? " *" : "");
    }
}

static void print_line(table *t, const crd_property *p)
{
    const crd_measurement *m = t->m;
    char name[80], interval[64], line[512];
    size_t used;
    if (crd_property_words(p->name, name, sizeof name) == NULL) return;
    const bool fresh = p->note != NULL && (t->said == NULL || strcmp(t->said, p->note) != 0);
    write_interval(m, p, interval, sizeof interval);
    snprintf(line, sizeof line, "  %-30s %12s", name,
             isnan(p->segmentation) && m->samples > 1 ? "-" : number(p, p->segmentation));
    used = strlen(line);
    if (m->samples > 0) {
        const int rest = t->errors ? 0 : INTERVAL;
        snprintf(line + used, sizeof line - used, "%c%10s  %-*s", side_of(m, p), number(p, p->median), rest, interval);
    }
    used = strlen(line);
    if (t->errors) {
        const int rest = m->samples > 0 ? REST - (int)strlen(interval) : REST - INTERVAL;
        snprintf(line + used, sizeof line - used, "%*s", rest,
                 isnan(p->size_error) ? "-" : cli_figure_general(p->size_error, 2));
    }
    used = strlen(line);
    snprintf(line + used, sizeof line - used, "  %-6s  %s", strcmp(p->unit, "1") == 0 ? "" : p->unit,
             fresh ? p->note : "");
    for (used = strlen(line); used > 0 && line[used - 1] == ' '; used--) line[used - 1] = '\0';
    puts(line);
    t->said = p->note;
}

static void print_columns(table *t)
{
    const crd_measurement *m = t->m;
    char percent[64] = "";
    snprintf(percent, sizeof percent, "%g-%g %%", m->percent[0], m->percent[1]);
    printf("  %-30s %12s", "", "segmentation");
    if (m->samples > 0) printf(" %10s  %-*s", "median", INTERVAL, m->samples > 1 ? percent : "");
    printf("%s  unit\n", t->errors ? " size error" : "");
    t->said = NULL;
}

/* What the marks mean that there are. Segmentations from elsewhere (no `run`) are nobody's model's. */
static void print_legend(const crd_measurement *m, bool run)
{
    bool shown = false, beside = false;
    for (int64_t i = 0; i < m->property_count; i++) {
        char name[80];
        if (crd_property_words(m->properties[i].name, name, sizeof name) == NULL) continue;
        shown = shown || m->properties[i].shown;
        beside = beside || side_of(m, &m->properties[i]) != ' ';
    }
    if (shown) {
        cli_say("* an interval that was seen to hold the truth as often as it says; the others are the spread of the "
                "model's opinions (docs/MEASURE.md)");
    } else if (!run) {
        cli_say("the interval is the spread of these segmentations");
    } else {
        cli_say("the interval is the spread of the model's opinions; how often it holds the truth was not shown "
                "(docs/MEASURE.md)");
    }
    if (beside) {
        cli_say("< > the segmentation lies below or above the spread: it is cut from the samples' mean, which is "
                "smoother than each of them");
    }
}

static void print_table(const crd_measurement *m, bool run)
{
    bool joint = false;
    table t = {.m = m};
    for (int64_t i = 0; i < m->property_count; i++) t.errors = t.errors || !isnan(m->properties[i].size_error);
    print_header(m);
    for (int64_t phase = 0; phase < m->phase_count; phase++) {
        if (m->phase_count > 1) {
            printf("phase");
            print_phase(m, m->phases[phase]);
            printf("\n");
        }
        print_columns(&t);
        for (int64_t i = 0; i < m->property_count; i++) {
            if (m->properties[i].phase == m->phases[phase]) print_line(&t, &m->properties[i]);
        }
    }
    for (int64_t i = 0; i < m->property_count; i++) {
        if (!isnan(m->properties[i].phase)) continue;
        if (!joint) printf("several phases\n");
        if (!joint) print_columns(&t);
        joint = true;
        print_line(&t, &m->properties[i]);
    }
    if (m->samples > 1) print_legend(m, run);
}

/* The label against what was found where it is. */
static void print_label(const crd_measurement *m)
{
    if (m->labelled_voxels == 0) return;
    printf("against the label, %" PRId64 " labelled voxels\n  %-30s %12s %12s", m->labelled_voxels, "", "label",
           "segmentation");
    if (m->samples > 0) printf(" %10s  %s", "median", m->samples > 1 ? "interval" : "");
    printf("\n");
    for (int64_t i = 0; i < m->property_count; i++) {
        const crd_property *p = &m->properties[i];
        char name[80];
        if (!p->labelled || crd_property_words(p->name, name, sizeof name) == NULL) continue;
        printf("  %-30s %12s", name, number(p, p->label.value));
        printf(" %12s", number(p, p->label.segmentation));
        if (m->samples > 0) printf(" %10s", number(p, p->label.median));
        if (m->samples > 1) {
            printf("  %s .. ", number(p, p->label.interval[0]));
            printf("%s%s", number(p, p->label.interval[1]), p->label.inside ? "" : "   OUTSIDE");
        }
        printf("\n");
    }
}

/* Blocks of each size, and the smallest that stands for the whole. */
static void print_rev(const crd_measurement *m)
{
    if (m->rev_count > 0) {
        printf("blocks of the segmentation\n  %-28s %8s %8s %12s %12s   5-95 %%\n", "", "voxels", "blocks", "mean",
               "deviation");
    }
    for (int64_t i = 0; i < m->rev_count; i++) {
        const crd_rev_row *row = &m->rev[i];
        const bool first = i == 0 || strcmp(m->rev[i - 1].property, row->property) != 0 ||
                           !m->rev[i - 1].representative || m->rev[i - 1].phase != row->phase;
        printf("  %-28s %8" PRId64 " %8" PRId64, row->property, row->voxels, row->blocks);
        printf(" %12s", cli_figure_general(row->mean, 4));
        printf(" %12s", cli_figure_general(row->std, 2));
        printf("   %s .. ", cli_figure_general(row->interval[0], 4));
        printf("%s%s\n", cli_figure_general(row->interval[1], 4),
               row->representative && first ? "   representative" : "");
    }
}

/* Where the rest is: all values, and the distributions. */
static void print_files(const crd_measure_options *options)
{
    const char *folder = options->input.items[0];
    const bool into_run = options->input.count == 1 && crd_run_recognise(folder);
    if (options->csv == NULL && !into_run) return;
    const char *place = options->csv != NULL ? options->csv : folder,
               *name = options->csv != NULL ? "" : "/measure.csv";
    if (into_run) {
        cli_say("all values are in %s%s, all of this and the distributions in %s/measure.json", place, name, folder);
    } else {
        cli_say("all values are in %s%s", place, name);
    }
}

static int print(const cli_context *context, const crd_measurement *m)
{
    char *json = NULL;
    if (!context->common->json) {
        const crd_measure_options *options = context->options;
        print_table(m, options->input.count == 1);
        print_label(m);
        print_rev(m);
        print_files(context->options);
        return CLI_DONE;
    }
    if (crd_measurement_to_json(m, &json) != CRD_OK) return cli_library_failed();
    fputs(json, stdout);
    crd_settings_free_text(&json);
    return CLI_DONE;
}

static void print_plan(const crd_measure_plan *plan)
{
    static const char *const names[][2] = {{"first", "all properties of one pass"},
                                           {"thickness", "local thickness"},
                                           {"transport", "transport"},
                                           {"active", "active triple lines"}};
    printf("%" PRId64 " x %" PRId64 " x %" PRId64 " voxels (z, y, x), %" PRId64 " realisations, %" PRId64 " phase%s; "
           "%.1f GiB may be used\n",
           plan->shape[0], plan->shape[1], plan->shape[2], plan->samples, plan->phases, plan->phases > 1 ? "s" : "",
           (double)plan->limit_bytes / 0x1p30);
    for (int64_t i = 0; i < plan->pass_count; i++) {
        const crd_measure_pass *pass = &plan->passes[i];
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
            if (strcmp(names[n][0], pass->name) != 0) continue;
            printf("  %-28s %8.0f MiB   about %.0f s%s", names[n][1], ceil((double)pass->memory_bytes / 0x1p20),
                   ceil(pass->seconds), n == 2 && plan->coarse ? ", on cells of 2x2x2 voxels" : "");
            if (n == 2 && plan->transport_device_bytes > 0) {
                printf(", on %s with %.0f MiB of its memory", plan->transport_device,
                       ceil((double)plan->transport_device_bytes / 0x1p20));
            }
            printf("\n");
        }
    }
}

static void print_plan_json(const crd_measure_plan *plan)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_ints(&json, "shape", plan->shape, 3);
    cli_json_int(&json, "samples", plan->samples);
    cli_json_int(&json, "phases", plan->phases);
    cli_json_int(&json, "max_memory_bytes", plan->limit_bytes);
    if (plan->transport_device[0] != '\0') {
        cli_json_text(&json, "transport_device", plan->transport_device);
        cli_json_int(&json, "transport_device_bytes", plan->transport_device_bytes);
    }
    cli_json_open(&json, "passes", '[');
    for (int64_t i = 0; i < plan->pass_count; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", plan->passes[i].name);
        cli_json_int(&json, "realisations", plan->passes[i].realisations);
        cli_json_int(&json, "memory_bytes", plan->passes[i].memory_bytes);
        cli_json_real(&json, "eta_seconds", plan->passes[i].seconds);
        cli_json_close(&json);
    }
    cli_json_close(&json);
    cli_json_close(&json);
}

static int dry_run(const cli_context *context)
{
    crd_measure_plan plan;
    if (crd_measure_plan_make(context->options, context->monitor, &plan) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        print_plan_json(&plan);
    } else {
        print_plan(&plan);
    }
    return CLI_DONE;
}

static int run(cli_context *context)
{
    crd_measure_options *options = context->options;
    crd_measurement *m = NULL;
    for (int i = 0; i < context->argument_count; i++) {
        if (crd_settings_set(&crd_measure_settings, options, "input", context->arguments[i]) != CRD_OK) {
            return cli_library_failed();
        }
    }
    if (options->input.count == 0) {
        return cli_usage(context->command, "say what to measure: a run folder, or segmentations");
    }
    if (options->connectivity != 6 && options->connectivity != 26) {
        return cli_usage(context->command, "connectivity must be 6 or 26, not %" PRId64, options->connectivity);
    }
    if (options->dry_run) return dry_run(context);
    if (crd_measure(options, context->monitor, &m) != CRD_OK) return cli_library_failed();
    const int printed = print(context, m);
    crd_measurement_free(&m);
    return printed;
}

const cli_command cli_measure = {
    .name = "measure",
    .summary = "properties of every realisation of a run: surface, connectivity, chords, each with its spread",
    .arguments = "DIR|FILE...",
    .least = 0,
    .most = -1,
    .settings = &crd_measure_settings,
    .options_size = sizeof(crd_measure_options),
    .uses = CLI_USES_THREADS | CLI_USES_JSON,
    .shared = true,
    .details =
        "DIR is a run folder of credence predict that kept its samples (--save-samples bits); measure.json and "
        "measure.csv are written into it. One FILE is a segmentation, which has values and no spread; several are "
        "realisations from elsewhere, or several people's labels.\n"
        "Each realisation is one possible segmentation, so each property has as many values as there are realisations. "
        "The interval is the spread of the model's opinions; only where it is marked was it shown to hold the truth. "
        "The size error says what another piece of the same material would change. docs/MEASURE.md defines every "
        "property.",
    .examples = "credence measure run\n"
                "credence measure run --properties fraction,surface --json > properties.json\n"
                "# a segmentation of another program, with the size of its voxels\n"
                "credence measure seg.tif --spacing 0.65,0.65,0.65,um\n"
                "# three people's labels, all phases\n"
                "credence measure anna.tif ben.tif cleo.tif --phase all --csv values.csv",
    .run = run,
};
