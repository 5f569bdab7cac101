/* credence validate: a prediction against a label. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "command.h"
#include "credence/number.h"
#include "figures.h"
#include "talk/next.h"
#include "talk/wrap.h"

/* Of two classes, by their names and the values that the segmentation has for them. */
static void print_confusion(const crd_validation *v)
{
    const int64_t counts[2][2] = {{v->tp, v->fp}, {v->fn, v->tn}};
    char names[2][64];
    for (int k = 0; k < 2; k++) {
        const int number = 1 - k; /* the foreground first */
        const bool known = v->classes.name.count == 2;
        snprintf(names[k], sizeof names[k], "%s (%s)",
                 known         ? v->classes.name.items[number]
                 : number == 1 ? "foreground"
                               : "background",
                 known         ? cli_figure_general(v->classes.value.items[number], 6)
                 : number == 1 ? "1"
                               : "0");
    }
    const int columns[2] = {(int)strlen(names[0]), (int)strlen(names[1])};
    const int wide = columns[0] > columns[1] ? columns[0] : columns[1], width = wide > 13 ? wide : 13;
    printf("%-*s   label\n%-*s   %*s   %*s\n", wide, "segmented as", wide, "", width, names[0], width, names[1]);
    for (int k = 0; k < 2; k++) {
        printf("%-*s   %*" PRId64 "   %*" PRId64 "\n", wide, names[k], width, counts[k][0], width, counts[k][1]);
    }
}

static void print_classes(const crd_validation *v)
{
    printf("voxels that count   %" PRId64, v->voxels);
    if (v->ignored > 0) printf("  (%" PRId64 " without a label or outside the mask don't)", v->ignored);
    printf("\naccuracy            %s\n", cli_figure(v->accuracy, 6));
    if (v->classes.name.count > 2) {
        printf("mean Dice           %s\n", cli_figure(v->dice, 6));
        printf("mean IoU            %s\n", cli_figure(v->iou, 6));
        cli_print_classes(v);
        return;
    }
    printf("Dice                %s\n", cli_figure(v->dice, 6));
    printf("IoU                 %s\n", cli_figure(v->iou, 6));
    print_confusion(v);
    printf("volume fraction     %s segmented, %s labelled\n", cli_figure(v->volume_fraction, 6),
           cli_figure(v->label_fraction, 6));
}

static void print_uncertainty(const crd_validation *v)
{
    const crd_pavpu *p = &v->pavpu;
    const double cubes = (double)(p->n_ac + p->n_au + p->n_ic + p->n_iu);
    printf("\nuncertainty (%s)\n", v->measure);
    printf("  mean              %s\n", cli_figure_general(v->uncertainty.mean, 6));
    printf("  std               %s\n", cli_figure_general(sqrt(v->uncertainty.variance), 6));
    printf("  range             %s to %s\n", cli_figure_general(v->uncertainty.min, 6),
           cli_figure_general(v->uncertainty.max, 6));
    printf("\n");
    cli_say("%.0f cubes of edge %" PRId64 "; accurate from %s of the voxels right, uncertain from %s on", cubes,
            p->edge, cli_figure_general(p->accuracy_threshold, 4), cli_figure_general(p->uncertainty_threshold, 6));
    printf("                       certain       uncertain\n");
    printf("  accurate    %13" PRId64 "   %13" PRId64 "\n", p->n_ac, p->n_au);
    printf("  inaccurate  %13" PRId64 "   %13" PRId64 "\n", p->n_ic, p->n_iu);
    printf("  P(accurate | certain)      %s\n", cli_figure(p->p_accurate_given_certain, 6));
    printf("  P(uncertain | inaccurate)  %s\n", cli_figure(p->p_uncertain_given_inaccurate, 6));
    printf("  PAvPU3D                    %s\n", cli_figure(p->pavpu3d, 6));
}

/* Farther out the rows are wider, as there are fewer voxels; together they hold all of them. */
static void print_distances(const crd_validation *v)
{
    static const int64_t begins[] = {0, 1, 2, 3, 4, 5, 8, 16};
    const size_t rows = sizeof begins / sizeof begins[0];
    printf("\nvoxels from the predicted boundary   share of voxels   uncertainty   error\n");
    for (size_t i = 0; i < rows; i++) {
        const int64_t end = i + 1 < rows ? begins[i + 1] : v->distance.count.count;
        double voxels = 0.0, uncertainty = 0.0, error = 0.0;
        char row[64];
        for (int64_t k = begins[i]; k < end; k++) {
            const double count = v->distance.count.items[k];
            if (count == 0.0) continue; /* its means aren't numbers */
            voxels += count;
            uncertainty += count * v->distance.uncertainty.items[k];
            error += count * v->distance.error.items[k];
        }
        if (voxels == 0.0) continue;
        snprintf(row, sizeof row, i + 1 < rows ? "%lld to %lld" : "%lld and more", (long long)begins[i] + 1,
                 (long long)end + 1);
        printf("  %-34s   %15s   %11s   %s\n", row, cli_figure(voxels / (double)v->voxels, 4),
               cli_figure_general(uncertainty / voxels, 4), cli_figure(error / voxels, 4));
    }
}

static void print_calibration(const crd_validation *v)
{
    printf("\ncalibration\n");
    printf("  ECE               %s\n", cli_figure(v->calibration.ece, 6));
    printf("  Brier             %s\n", cli_figure(v->calibration.brier, 6));
    printf("  NLL               %s\n", cli_figure(v->calibration.nll, 6));
    printf("  AURC              %s\n", cli_figure(v->calibration.aurc, 6));
}

static void print_geometry(const crd_validation *v)
{
    printf("\ngeometry of the map\n");
    printf("  autocorrelation   %s  (z %s, y %s, x %s)\n", cli_figure(v->geometry.autocorrelation, 4),
           cli_figure(v->geometry.along_z, 4), cli_figure(v->geometry.along_y, 4), cli_figure(v->geometry.along_x, 4));
    printf("  |gradient| / mean %s\n", cli_figure(v->geometry.gradient_over_mean, 4));
    for (int64_t i = 0; i < v->growth.map.count; i++) {
        printf("  %-17s mean %s, %s of the voxels above %s, correlation %s\n", v->growth.map.items[i],
               cli_figure_general(v->growth.mean.items[i], 4), cli_figure(v->growth.share_above.items[i], 4),
               cli_figure_general(v->growth.threshold, 4), cli_figure(v->growth.correlation.items[i], 4));
    }
}

/* What there is of it: a segmentation alone has neither uncertainty nor probabilities. */
static void print_rest(const crd_validation *v)
{
    const bool map = isfinite(v->uncertainty.mean), prob = isfinite(v->calibration.brier);
    const bool distances = v->distance.count.count > 0; /* without --core */
    if (map) print_uncertainty(v);
    if (map || prob) print_calibration(v);
    if (map && distances) print_geometry(v);
    if (distances) print_distances(v);
    if (!map) printf("\nwithout an uncertainty map (--unc) there is no PAvPU3D and no geometry of the map\n");
    if (!prob) printf("%swithout probabilities (--prob) there is no calibration\n", map ? "\n" : "");
}

static int print_json(const crd_validation *v)
{
    char *json = NULL;
    if (crd_validation_to_json(v, NULL, &json) != CRD_OK) return cli_library_failed();
    fputs(json, stdout);
    crd_settings_free_text(&json);
    return CLI_DONE;
}

static void add_values(const char *name, const crd_real_list *values)
{
    char number[CRD_NUMBER_BYTES];
    for (int64_t i = 0; i < values->count; i++) {
        if (i == 0) printf(" --%s ", name);
        printf("%s%s", i > 0 ? "," : "", crd_format_real(values->items[i], number));
    }
}

/* The page about the run, with the label in its pictures where a report can read it: raw labels it can't. */
static void print_next(const cli_context *context)
{
    const crd_validate_options *options = context->options;
    const bool raw = options->shape[0] > 0 || options->type != NULL || options->offset > 0;
    if (!cli_next_wanted(context)) return;
    printf("\n");
    cli_next_begin("for a page that shows where it is wrong");
    cli_next_command("report");
    cli_next_word(options->run);
    if (!raw) {
        cli_next_option("label", options->label);
        add_values("foreground", &options->foreground);
        add_values("ignore", &options->ignore);
        cli_next_option("mask", options->mask);
    }
    cli_next_output("report.html");
    cli_next_end();
}

static int print(const cli_context *context, const crd_validation *v)
{
    const crd_validate_options *options = context->options;
    if (context->common->json) return print_json(v);
    if (options->csv) {
        char kind[16] = "";
        if (options->run != NULL && crd_run_kind(options->run, kind) != CRD_OK) return cli_library_failed();
        cli_csv_header();
        cli_csv_row(options->run != NULL ? options->run : "", kind, v);
        return CLI_DONE;
    }
    cli_say_seen("The model", v);
    print_classes(v);
    print_rest(v);
    if (options->run != NULL) print_next(context);
    return CLI_DONE;
}

static int run(cli_context *context)
{
    crd_validate_options *options = context->options;
    crd_validation *figures = NULL;
    if (context->argument_count == 1) {
        if (options->run != NULL) return cli_usage(context->command, "the run folder was given twice");
        if (crd_settings_set(&crd_validate_settings, options, "run", context->arguments[0]) != CRD_OK) {
            return cli_library_failed();
        }
    }
    const int code = cli_require(context, "label");
    if (code != CLI_DONE) return code;
    if (options->run == NULL && options->prob == NULL && options->seg == NULL) {
        return cli_usage(context->command, "say what to validate: a run folder, or --prob, --seg and --unc");
    }
    if (crd_validate(options, context->monitor, &figures) != CRD_OK) return cli_library_failed();
    const int printed = print(context, figures);
    crd_validation_free(&figures);
    return printed;
}

const cli_command cli_validate = {
    .name = "validate",
    .summary = "how right a prediction is, and how well its uncertainty says where it is wrong",
    .arguments = "[DIR]",
    .least = 0,
    .most = 1,
    .settings = &crd_validate_settings,
    .options_size = sizeof(crd_validate_options),
    .uses = CLI_USES_THREADS | CLI_USES_JSON,
    .details = "DIR is a run folder of credence predict; validation.json is written into it, for credence compare and "
               "credence report, or to --output. Into a folder that can't be written to it isn't, with a warning. "
               "Without a folder, --prob, --seg and --unc name the volumes.\n"
               "PAvPU3D looks at all cubes of edge 2: P(accurate | certain) is how often the segmentation is right "
               "where the map "
               "says it can be trusted, P(uncertain | inaccurate) how often the map warns where it is wrong. Cubes "
               "that hold a "
               "voxel without a label or outside the mask are left out. A figure that has no meaning, because there is "
               "no such "
               "cube or class, is n/a.",
    .examples = "credence validate run --label truth.tif\n"
                "credence validate run --label label.tif --ignore 255 --json > figures.json\n"
                "# any program's maps\n"
                "credence validate --prob p.npy --seg s.npy --unc u.npy --label truth.npy\n"
                "# the same with other cubes, and only the essential figures\n"
                "credence validate run --label truth.tif --edge 4 --stride 2 --core",
    .run = run,
};
