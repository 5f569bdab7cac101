/* credence compare: several runs side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "figures.h"
#include "talk/progress.h"
#include "talk/wrap.h"

typedef struct compare_options {
    char *label;
    crd_real_list foreground, ignore;
    char *mask;
    bool csv;
    int64_t threads;
} compare_options;

static const crd_setting rows[] = {
    {.name = "label",
     .kind = CRD_SETTING_TEXT,
     .offset = offsetof(compare_options, label),
     .argument = "FILE",
     .help = "label for the runs that haven't been validated",
     .group = "Runs without validation.json"},
    {.name = "foreground",
     .kind = CRD_SETTING_REALS,
     .offset = offsetof(compare_options, foreground),
     .argument = "V,...",
     .help = "values of the label that mean foreground"},
    {.name = "ignore",
     .kind = CRD_SETTING_REALS,
     .offset = offsetof(compare_options, ignore),
     .argument = "V,...",
     .help = "values of the label that mean \"not labelled\""},
    {.name = "mask",
     .kind = CRD_SETTING_TEXT,
     .offset = offsetof(compare_options, mask),
     .argument = "FILE|cylinder",
     .help = "voxels that count"},
    {.name = "csv",
     .kind = CRD_SETTING_FLAG,
     .offset = offsetof(compare_options, csv),
     .help = "print a table for spreadsheets",
     .group = "Output"},
    {.name = "threads",
     .kind = CRD_SETTING_INT,
     .offset = offsetof(compare_options, threads),
     .initial = "0",
     .low = 0,
     .high = 4096,
     .argument = "N",
     .help = "threads; 0: one per core"},
};
static const crd_settings settings = {.title = "compare", .rows = rows, .count = sizeof rows / sizeof rows[0]};

typedef struct entry {
    const char *run;
    char kind[16];
    crd_validation *figures;
} entry;

static int validate_run(const cli_context *context, entry *e)
{
    const compare_options *options = context->options;
    crd_validate_options validate;
    if (options->label == NULL) {
        return cli_fail("%s hasn't been validated; run credence validate on it, or give --label", e->run);
    }
    if (crd_settings_default(&crd_validate_settings, &validate) != CRD_OK) return cli_library_failed();
    /* Lists are lent, strings copied: what is lent is taken back before the struct is cleared. */
    validate.foreground = options->foreground;
    validate.ignore = options->ignore;
    validate.threads = options->threads;
    bool done =
        crd_settings_set(&crd_validate_settings, &validate, "run", e->run) == CRD_OK &&
        crd_settings_set(&crd_validate_settings, &validate, "label", options->label) == CRD_OK &&
        (options->mask == NULL || crd_settings_set(&crd_validate_settings, &validate, "mask", options->mask) == CRD_OK);
    done = done && crd_validate(&validate, context->monitor, &e->figures) == CRD_OK;
    const int code = done ? CLI_DONE : cli_library_failed();
    validate.foreground = validate.ignore = (crd_real_list){0};
    crd_settings_clear(&crd_validate_settings, &validate);
    return code;
}

static int load(const cli_context *context, entry *e)
{
    if (access(e->run, F_OK) != 0) return cli_fail("there is no run folder %s", e->run);
    if (crd_run_kind(e->run, e->kind) != CRD_OK || crd_validation_load(e->run, &e->figures) != CRD_OK) {
        return cli_library_failed();
    }
    return e->figures != NULL ? CLI_DONE : validate_run(context, e);
}

static int print_json(const entry *entries, int count)
{
    fputs("[\n", stdout);
    for (int i = 0; i < count; i++) {
        char *json = NULL;
        if (crd_validation_to_json(entries[i].figures, entries[i].run, &json) != CRD_OK) return cli_library_failed();
        printf("%s%s", i > 0 ? ",\n" : "", json);
        crd_settings_free_text(&json);
    }
    fputs("]\n", stdout);
    return CLI_DONE;
}

/* The paper gives the mean uncertainty in units of 1e-2 or 1e-3, whichever suits its rows. */
static double unit_of(const entry *entries, int count)
{
    double largest = 0.0;
    for (int i = 0; i < count; i++) largest = fmax(largest, entries[i].figures->uncertainty.mean);
    return largest >= 0.01 ? 1e-2 : 1e-3;
}

static void print_tables(const entry *entries, int count)
{
    int width = 3;
    const double unit = unit_of(entries, count);
    for (int i = 0; i < count; i++) {
        const int length = (int)strlen(entries[i].run);
        if (length > width) width = length;
    }
    printf("%-*s  kind   accuracy  UQ mean/%.0e  P(A|C)    P(U|I)    PAvPU3D\n", width, "run", unit);
    for (int i = 0; i < count; i++) {
        const crd_validation *v = entries[i].figures;
        printf("%-*s  %-5s  %-8s  %-13s  %-8s  %-8s  %s\n", width, entries[i].run, entries[i].kind,
               cli_figure(v->accuracy, 4), cli_figure_general(v->uncertainty.mean / unit, 4),
               cli_figure(v->pavpu.p_accurate_given_certain, 4), cli_figure(v->pavpu.p_uncertain_given_inaccurate, 4),
               cli_figure(v->pavpu.pavpu3d, 4));
    }
    printf("\n%-*s  kind   Dice    IoU     ECE     Brier   NLL     AURC    autocorr.  |grad|/mean\n", width, "run");
    for (int i = 0; i < count; i++) {
        const crd_validation *v = entries[i].figures;
        printf("%-*s  %-5s  %-6s  %-6s  %-6s  %-6s  %-6s  %-6s  %-9s  %s\n", width, entries[i].run, entries[i].kind,
               cli_figure(v->dice, 4), cli_figure(v->iou, 4), cli_figure(v->calibration.ece, 4),
               cli_figure(v->calibration.brier, 4), cli_figure(v->calibration.nll, 4),
               cli_figure(v->calibration.aurc, 4), cli_figure(v->geometry.autocorrelation, 4),
               cli_figure(v->geometry.gradient_over_mean, 4));
    }
}

static bool same_classes(const crd_validation *a, const crd_validation *b)
{
    if (a->classes.name.count != b->classes.name.count) return false;
    for (int64_t k = 0; k < a->classes.name.count; k++) {
        if (strcmp(a->classes.name.items[k], b->classes.name.items[k]) != 0) return false;
    }
    return true;
}

/* Dice of every class, where there are more than two and all runs have the same. */
static void print_class_table(const entry *entries, int count)
{
    const crd_validation *first = entries[0].figures;
    int width = 3;
    if (first->classes.name.count <= 2) return;
    for (int i = 0; i < count; i++) {
        const int length = (int)strlen(entries[i].run);
        if (!same_classes(first, entries[i].figures)) return;
        if (length > width) width = length;
    }
    printf("\nDice of each class\n%-*s  kind ", width, "run");
    for (int64_t k = 0; k < first->classes.name.count; k++) printf("  %6s", first->classes.name.items[k]);
    for (int i = 0; i < count; i++) {
        printf("\n%-*s  %-5s", width, entries[i].run, entries[i].kind);
        for (int64_t k = 0; k < first->classes.name.count; k++) {
            const int column = (int)strlen(first->classes.name.items[k]);
            printf("  %*s", column > 6 ? column : 6, cli_figure(entries[i].figures->classes.dice.items[k], 4));
        }
    }
    printf("\n");
}

/* What the tables say, in sentences. */
static int print_words(const entry *entries, int count)
{
    char *words = NULL;
    crd_compared_run *runs = calloc((size_t)count, sizeof *runs);
    if (runs == NULL) return cli_fail("not enough memory");
    for (int i = 0; i < count; i++) {
        runs[i] = (crd_compared_run){.run = entries[i].run, .kind = entries[i].kind, .figures = entries[i].figures};
    }
    const crd_status status = crd_compare_in_words(runs, count, &words);
    free(runs);
    if (status != CRD_OK) return cli_library_failed();
    printf("\n");
    for (char *line = words, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        cli_say("%s", line);
    }
    crd_settings_free_text(&words);
    return CLI_DONE;
}

/* Figures over different voxels, or of different classes, say nothing about who is better; returns whether they do. */
static bool comparable(const entry *entries, int count)
{
    char text[512];
    for (int i = 1; i < count; i++) {
        const int64_t first = entries[0].figures->classes.name.count, other = entries[i].figures->classes.name.count;
        if (other == first || first == 0 || other == 0) continue; /* 0: validated by an earlier version */
        snprintf(text, sizeof text,
                 "%s tells %" PRId64 " classes apart and %s %" PRId64 ": their figures can't be compared",
                 entries[0].run, first, entries[i].run, other);
        cli_progress_line(CLI_WARNING, text);
        return false;
    }
    for (int i = 1; i < count; i++) {
        const int64_t first = entries[0].figures->voxels, other = entries[i].figures->voxels;
        if (other == first) continue;
        snprintf(text, sizeof text,
                 "%s was validated over %" PRId64 " voxels and %s over %" PRId64 ": their figures can't be compared",
                 entries[0].run, first, entries[i].run, other);
        cli_progress_line(CLI_WARNING, text);
        return false;
    }
    return true;
}

static int print(const cli_context *context, const entry *entries, int count, bool judge)
{
    const compare_options *options = context->options;
    if (context->common->json) return print_json(entries, count);
    if (!options->csv) {
        for (int i = 0; i < count; i++) cli_say_seen(entries[i].run, entries[i].figures);
        print_tables(entries, count);
        print_class_table(entries, count);
        return count > 1 && judge ? print_words(entries, count) : CLI_DONE;
    }
    cli_csv_header();
    for (int i = 0; i < count; i++) cli_csv_row(entries[i].run, entries[i].kind, entries[i].figures);
    return CLI_DONE;
}

static int run(cli_context *context)
{
    int code = CLI_DONE;
    const int count = context->argument_count;
    entry *entries = calloc((size_t)count, sizeof *entries);
    if (entries == NULL) return cli_fail("not enough memory");
    for (int i = 0; i < count && code == CLI_DONE; i++) {
        entries[i].run = context->arguments[i];
        code = load(context, &entries[i]);
    }
    if (code == CLI_DONE) code = print(context, entries, count, comparable(entries, count));
    for (int i = 0; i < count; i++) crd_validation_free(&entries[i].figures);
    free(entries);
    return code;
}

const cli_command cli_compare = {
    .name = "compare",
    .summary = "several validated runs side by side",
    .arguments = "DIR...",
    .least = 1,
    .most = -1,
    .settings = &settings,
    .options_size = sizeof(compare_options),
    .uses = CLI_USES_THREADS | CLI_USES_JSON,
    .details = "DIR is a run folder that credence validate has been through; with --label those that it hasn't are "
               "validated now. The first table has the columns of the paper, the second what else tells runs apart. "
               "Then follows in words what the figures say; runs of two kinds of network are put together by kind for "
               "that. Runs over "
               "different voxels or of different classes are shown, but not judged.",
    .examples = "credence compare bcnn mcdn\n"
                "credence compare runs/* --label truth.tif --csv > runs.csv",
    .run = run,
};
