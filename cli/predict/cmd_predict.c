/* credence predict: probability, segmentation and uncertainty of a scan. */
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "credence/predict.h"
#include "json.h"
#include "prediction.h"
#include "scans.h"

static void json_plan(cli_json *json, const crd_predict_plan *plan)
{
    const crd_predict_needs *needs = crd_predict_plan_needs(plan);
    cli_json_ints(json, "shape", needs->shape, 3);
    cli_json_text(json, "mode", needs->seamless ? "seamless" : "overlap");
    cli_json_ints(json, "chunk", needs->chunk, 3);
    if (needs->seamless) {
        cli_json_ints(json, "tile", needs->tile, 3);
        cli_json_int(json, "halo", needs->halo);
    } else {
        cli_json_int(json, "step", needs->step);
        cli_json_real(json, "trim", needs->trim);
    }
    cli_json_int(json, "samples", needs->samples);
    cli_json_open(json, "chunks", '[');
    for (int64_t i = 0; i < needs->chunks; i++) {
        int64_t origin[3], begin[3], end[3];
        crd_predict_plan_chunk(plan, i, origin, begin, end);
        cli_json_open(json, NULL, '{');
        cli_json_ints(json, "origin", origin, 3);
        cli_json_open(json, "keep", '[');
        for (int axis = 0; axis < 3; axis++) cli_json_ints(json, NULL, (int64_t[]){begin[axis], end[axis]}, 2);
        cli_json_close(json);
        cli_json_close(json);
    }
    cli_json_close(json);
    cli_json_int(json, "min_coverage", needs->min_coverage);
    cli_json_int(json, "max_coverage", needs->max_coverage);
    cli_json_int(json, "memory_bytes", needs->memory_bytes);
    cli_json_int(json, "disk_bytes", needs->disk_bytes);
    cli_json_int(json, "result_bytes", needs->result_bytes);
    cli_json_int(json, "scratch_bytes", needs->scratch_bytes);
    cli_json_real(json, "eta_seconds", needs->eta_seconds);
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

/* Of one scan, into an object that is open where the plan is wanted as JSON. */
static int plan_scan(const cli_context *context, cli_json *json)
{
    crd_predict_plan *plan = NULL;
    if (crd_predict_plan_make(context->options, context->monitor, &plan) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        json_plan(json, plan);
    } else {
        print_plan(plan);
    }
    crd_predict_plan_free(&plan);
    return CLI_DONE;
}

static int dry_run(const cli_context *context, const cli_scans *scans)
{
    cli_json json = {.out = stdout};
    const bool several = scans->count > 1, as_json = context->common->json;
    int code = CLI_DONE;
    if (as_json) cli_json_open(&json, NULL, '{');
    if (as_json && several) cli_json_open(&json, "runs", '[');
    for (int i = 0; i < scans->count && code == CLI_DONE; i++) {
        if (several) code = cli_scans_choose(context, scans, i);
        if (code != CLI_DONE) break;
        if (several && as_json) {
            cli_json_open(&json, NULL, '{');
            cli_json_text(&json, "scan", scans->paths[i]);
        } else if (several) {
            printf("%s%s\n", i > 0 ? "\n" : "", scans->paths[i]);
        }
        code = plan_scan(context, &json);
        if (several && as_json) cli_json_close(&json);
    }
    if (as_json && several) cli_json_close(&json);
    if (as_json) cli_json_close(&json);
    return code;
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

static int predict_one(cli_context *context)
{
    const crd_predict_options *options = context->options;
    crd_predict_result result;
    const int code = note_repeated(context);
    if (code != CLI_DONE) return code;
    if (crd_predict(options, context->monitor, &result) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        cli_json json = {.out = stdout};
        cli_json_open(&json, NULL, '{');
        cli_json_prediction(&json, options, &result);
        cli_json_close(&json);
    } else if (!context->common->quiet) {
        cli_print_prediction(options, &result);
        cli_print_after_prediction(context, options->output);
    }
    return CLI_DONE;
}

static int run(cli_context *context)
{
    const crd_predict_options *options = context->options;
    cli_scans scans = {0};
    int code = cli_require(context, "model");
    if (code == CLI_DONE) code = cli_scans_open(context, &scans);
    if (code == CLI_DONE && options->resume && options->overwrite) {
        code = cli_usage(context->command, "--resume goes on with a run and --overwrite replaces it; give one of them, "
                                           "and --resume=false where a config file says the other");
    }
    if (code == CLI_DONE && crd_predict_check(options) != CRD_OK) {
        code = cli_usage(context->command, "%s", crd_last_error()->message);
    }
    if (code == CLI_DONE && options->dry_run) {
        code = dry_run(context, &scans);
    } else {
        if (code == CLI_DONE) code = cli_require(context, "output");
        if (code == CLI_DONE) code = scans.count > 1 ? cli_scans_predict(context, &scans) : predict_one(context);
    }
    cli_scans_close(&scans);
    return code;
}

const cli_command cli_predict = {
    .name = "predict",
    .summary = "segment a scan and say, voxel by voxel, where the result can't be trusted",
    .arguments = "[SCAN...]",
    .least = 0,
    .most = -1,
    .arguments_of = "scan",
    .settings = &crd_predict_settings,
    .options_size = sizeof(crd_predict_options),
    .uses = CLI_USES_NETWORK | CLI_USES_THREADS | CLI_USES_SEED | CLI_USES_JSON | CLI_USES_FILES,
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
        "Several scans (--scan a.tif b.tif -o runs) are done one after the other, each in a run folder of its own, "
        "runs/a and runs/b, and end in one table. One that fails doesn't keep the others from being done, and --resume "
        "leaves those that are finished as they are.\n"
        "The same model, scan, seed and settings give the same volumes for any number of threads and any memory.",
    .examples = "credence predict --model model.h5 --scan scan.tif -o run\n"
                "# what would it take?\n"
                "credence predict --model model.h5 --scan scan.tif -o run --dry-run\n"
                "# a quick look at the middle, and a wider uncertainty\n"
                "credence predict --model model.h5 --scan scan.tif -o look --preview --intervals 33-67,5-95\n"
                "credence predict --model model.h5 --scan scan.tif -o run --resume\n"
                "# many scans, each in a folder of its own below runs\n"
                "credence predict --model model.h5 --scan scans/*.tif -o runs\n"
                "# the same run again, elsewhere\n"
                "credence predict --config run/manifest.json -o again",
    .run = run,
};
