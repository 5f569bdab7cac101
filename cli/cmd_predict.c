/* credence predict: probability, segmentation and uncertainty of a scan. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "command.h"
#include "credence/predict.h"
#include "json.h"

static void print_plan_json(const crd_predict_plan *plan)
{
    const crd_predict_needs *needs = crd_predict_plan_needs(plan);
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_ints(&json, "shape", needs->shape, 3);
    cli_json_text(&json, "mode", needs->seamless ? "seamless" : "overlap");
    cli_json_ints(&json, "chunk", needs->chunk, 3);
    if (needs->seamless) {
        cli_json_ints(&json, "tile", needs->tile, 3);
        cli_json_int(&json, "halo", needs->halo);
    } else {
        cli_json_int(&json, "step", needs->step);
        cli_json_real(&json, "trim", needs->trim);
    }
    cli_json_int(&json, "samples", needs->samples);
    cli_json_open(&json, "chunks", '[');
    for (int64_t i = 0; i < needs->chunks; i++) {
        int64_t origin[3], begin[3], end[3];
        crd_predict_plan_chunk(plan, i, origin, begin, end);
        cli_json_open(&json, NULL, '{');
        cli_json_ints(&json, "origin", origin, 3);
        cli_json_open(&json, "keep", '[');
        for (int axis = 0; axis < 3; axis++) cli_json_ints(&json, NULL, (int64_t[]){begin[axis], end[axis]}, 2);
        cli_json_close(&json);
        cli_json_close(&json);
    }
    cli_json_close(&json);
    cli_json_int(&json, "min_coverage", needs->min_coverage);
    cli_json_int(&json, "max_coverage", needs->max_coverage);
    cli_json_int(&json, "memory_bytes", needs->memory_bytes);
    cli_json_int(&json, "disk_bytes", needs->disk_bytes);
    cli_json_int(&json, "result_bytes", needs->result_bytes);
    cli_json_int(&json, "scratch_bytes", needs->scratch_bytes);
    cli_json_real(&json, "eta_seconds", needs->eta_seconds);
    cli_json_close(&json);
}

static void print_plan(const crd_predict_plan *plan)
{
    const crd_predict_needs *n = crd_predict_plan_needs(plan);
    const double gibibyte = 1073741824.0;
    printf("scan       z %" PRId64 ", y %" PRId64 ", x %" PRId64 "\n", n->shape[0], n->shape[1], n->shape[2]);
    printf("written    z %" PRId64 ", y %" PRId64 ", x %" PRId64 " from z %" PRId64 ", y %" PRId64 ", x %" PRId64 "\n",
           n->size[0], n->size[1], n->size[2], n->origin[0], n->origin[1], n->origin[2]);
    const int64_t *edges = n->seamless ? n->tile : n->chunk;
    printf("%s %" PRId64 " of %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x), ", n->seamless ? "tiles     " : "chunks    ",
           n->chunks, edges[0], edges[1], edges[2]);
    if (n->seamless) {
        printf("halo %" PRId64 "\n", n->halo);
    } else {
        printf("step %" PRId64 ", trim %g\n", n->step, n->trim);
    }
    printf("samples    %" PRId64 "\n", n->samples);
    if (!n->seamless)
        printf("coverage   every voxel is kept by %" PRId64 " to %" PRId64 " chunks\n", n->min_coverage,
               n->max_coverage);
    printf("memory     %.2f GiB\n", (double)n->memory_bytes / gibibyte);
    printf("disk       %.2f GiB while it runs, of which %.2f GiB scratch; %.2f GiB stay\n",
           (double)n->disk_bytes / gibibyte, (double)n->scratch_bytes / gibibyte, (double)n->result_bytes / gibibyte);
    const double eta = n->eta_seconds, unit = eta < 60.0 ? 1.0 : eta < 3600.0 ? 60.0 : 3600.0;
    printf("time       about %.*f %s\n", eta < 60.0 ? 0 : 1, eta / unit,
           eta < 60.0     ? "s"
           : eta < 3600.0 ? "min"
                          : "hours");
}

static int dry_run(const cli_context *context)
{
    crd_predict_plan *plan = NULL;
    if (crd_predict_plan_make(context->options, context->monitor, &plan) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        print_plan_json(plan);
    } else {
        print_plan(plan);
    }
    crd_predict_plan_free(&plan);
    return CLI_DONE;
}

static void print_json(const crd_predict_options *options, const crd_predict_result *r)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "path", options->output);
    cli_json_int(&json, "chunks", r->chunks);
    cli_json_int(&json, "computed", r->computed);
    cli_json_int(&json, "samples", r->samples);
    if (r->class_count == 0) {
        cli_json_real(&json, "volume_fraction", r->volume_fraction);
        cli_json_reals(&json, "volume_fraction_interval", (double[]){r->fraction_low, r->fraction_high}, 2);
        cli_json_real(&json, "volume_fraction_mean", r->fraction_mean);
        cli_json_reals(&json, "interval90", r->fraction_interval90, 2);
        cli_json_real(&json, "interval_systematic", r->fraction_systematic);
    } else {
        cli_json_open(&json, "classes", '[');
        for (int i = 0; i < r->class_count; i++) {
            const crd_class_result *class = &r->classes[i];
            cli_json_open(&json, NULL, '{');
            cli_json_text(&json, "name", class->name);
            cli_json_real(&json, "volume_fraction", class->volume_fraction);
            cli_json_reals(&json, "volume_fraction_interval", (double[]){class->fraction_low, class->fraction_high}, 2);
            cli_json_real(&json, "volume_fraction_mean", class->fraction_mean);
            cli_json_reals(&json, "interval90", class->fraction_interval90, 2);
            cli_json_real(&json, "interval_systematic", class->fraction_systematic);
            cli_json_close(&json);
        }
        cli_json_close(&json);
    }
    cli_json_real(&json, "mean_uncertainty", r->mean_uncertainty);
    cli_json_real(&json, "seconds", r->seconds);
    cli_json_close(&json);
}

/* "run: volume fractions pore 40.1 % (90 % interval 39.6 to 40.7), ysz ...", or what is known without such an interval:
 * "run: volume fractions of the segmentation pore 0.4012 (percentiles 33-67 of the samples 0.3998 to 0.4023), ..." */
static void print_classes(const crd_predict_options *options, const crd_predict_result *r)
{
    const bool widened = !isnan(r->classes[0].fraction_systematic);
    printf("%s: volume fractions%s", options->output, widened ? "" : " of the segmentation");
    for (int i = 0; i < r->class_count; i++) {
        const crd_class_result *class = &r->classes[i];
        if (widened) {
            printf("%s %s %.1f %% (%s%.1f to %.1f)", i > 0 ? "," : "", class->name, 100.0 * class->fraction_mean,
                   i > 0 ? "" : "90 % interval ", 100.0 * class->fraction_interval90[0],
                   100.0 * class->fraction_interval90[1]);
            continue;
        }
        printf("%s %s %.4f", i > 0 ? "," : "", class->name, class->volume_fraction);
        if (isnan(class->fraction_low) || options->intervals.count == 0) continue;
        printf(" (");
        if (i == 0) {
            printf("percentiles %g-%g of the samples ", options->intervals.items[0].low,
                   options->intervals.items[0].high);
        }
        printf("%.4f to %.4f)", class->fraction_low, class->fraction_high);
    }
    printf("; mean uncertainty %.4f, %.1f s\n", r->mean_uncertainty, r->seconds);
}

static void print_text(const crd_predict_options *options, const crd_predict_result *r)
{
    if (r->class_count > 0) {
        print_classes(options, r);
        return;
    }
    if (!isnan(r->fraction_systematic)) {
        printf("%s: volume fraction %.1f %% (90 %% interval %.1f to %.1f)", options->output, 100.0 * r->fraction_mean,
               100.0 * r->fraction_interval90[0], 100.0 * r->fraction_interval90[1]);
        printf(", mean uncertainty %.4f, %.1f s\n", r->mean_uncertainty, r->seconds);
        return;
    }
    printf("%s: volume fraction of the segmentation %.4f", options->output, r->volume_fraction);
    if (!isnan(r->fraction_low) && options->intervals.count > 0) {
        printf(", percentiles %g-%g of the samples %.4f to %.4f", options->intervals.items[0].low,
               options->intervals.items[0].high, r->fraction_low, r->fraction_high);
    }
    printf(", mean uncertainty %.4f, %.1f s\n", r->mean_uncertainty, r->seconds);
}

/* A --config that is the manifest of a run repeats it: what has changed since is to be told. */
static int note_repeated(cli_context *context)
{
    static const char name[] = "manifest.json";
    const char *config = context->common->config;
    if (config == NULL || cli_given(context, "repeats")) return CLI_DONE;
    const size_t length = strlen(config), tail = sizeof name - 1;
    if (length < tail || strcmp(config + length - tail, name) != 0) return CLI_DONE;
    if (crd_settings_set(&crd_predict_settings, context->options, "repeats", config) != CRD_OK) {
        return cli_library_failed();
    }
    return CLI_DONE;
}

static int run(cli_context *context)
{
    const crd_predict_options *options = context->options;
    crd_predict_result result;
    int code = cli_require(context, "model");
    if (code == CLI_DONE) code = cli_require(context, "scan");
    if (code == CLI_DONE && options->resume && options->overwrite) {
        return cli_usage(context->command, "--resume goes on with a run and --overwrite replaces it; give one of them, "
                                           "and --resume=false where a config file says the other");
    }
    if (code == CLI_DONE && crd_predict_check(options) != CRD_OK) {
        return cli_usage(context->command, "%s", crd_last_error()->message);
    }
    if (code == CLI_DONE && options->dry_run) return dry_run(context);
    if (code == CLI_DONE) code = cli_require(context, "output");
    if (code == CLI_DONE) code = note_repeated(context);
    if (code != CLI_DONE) return code;
    if (crd_predict(options, context->monitor, &result) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        print_json(options, &result);
    } else if (!context->common->quiet) {
        print_text(options, &result);
    }
    return CLI_DONE;
}

const cli_command cli_predict = {
    .name = "predict",
    .summary = "segment a scan and say, voxel by voxel, where the result can't be trusted",
    .settings = &crd_predict_settings,
    .options_size = sizeof(crd_predict_options),
    .uses = CLI_USES_NETWORK | CLI_USES_THREADS | CLI_USES_SEED | CLI_USES_JSON,
    .shared = true,
    .details =
        "Writes DIR/<scan>_prob (probability of foreground), _seg (1 where that is above one half) and _unc (distance "
        "between two percentiles of the samples: the uncertainty), in the scan's format and geometry, and "
        "manifest.json, which holds all that is needed to repeat the run.\n"
        "A model that tells more than two classes apart gives a probability for each, _prob_NAME; _seg then has the "
        "values "
        "of the labels, and _unc is that of the class that _seg has there. Other volumes are by class as well.\n"
        "The scan is never held in memory: it is read, computed and written piece by piece within --max-memory. A run "
        "that was stopped, by Ctrl-C, a full disk or a power cut, goes on with --resume and gives the same bytes.\n"
        "The same model, scan, seed and settings give the same volumes for any number of threads and any memory.",
    .examples = "credence predict --model model.h5 --scan scan.tif -o run\n"
                "# what would it take?\n"
                "credence predict --model model.h5 --scan scan.tif -o run --dry-run\n"
                "# a quick look at the middle, and a wider uncertainty\n"
                "credence predict --model model.h5 --scan scan.tif -o look --preview --intervals 33-67,5-95\n"
                "credence predict --model model.h5 --scan scan.tif -o run --resume\n"
                "# the same run again, elsewhere\n"
                "credence predict --config run/manifest.json -o again",
    .run = run,
};
