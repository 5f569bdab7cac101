/* credence train: from scans and hand labels to a model. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "command.h"
#include "credence/train.h"
#include "heldout.h"
#include "json.h"
#include "talk/next.h"
#include "talk/warnings.h"
#include "talk/wrap.h"

static int print_json(const crd_train_options *options, const crd_train_result *r, const cli_warnings *warnings)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "model", options->output);
    if (r->members > 1) cli_json_int(&json, "members", r->members);
    cli_json_int(&json, "steps", r->steps);
    cli_json_int(&json, "epochs", r->epochs);
    cli_json_real(&json, "bce", r->bce);
    cli_json_real(&json, "valid_bce", r->valid_bce);
    cli_json_real(&json, "valid_accuracy", r->valid_accuracy);
    cli_json_real(&json, "best_valid_bce", r->best_valid_bce);
    cli_json_int(&json, "best_epoch", r->best_epoch);
    cli_json_int(&json, "kept_epoch", r->kept_epoch);
    const int code = cli_json_heldout(&json, &r->heldout);
    cli_json_real(&json, "mean_sigma", r->mean_sigma);
    cli_json_real(&json, "certain_share", r->certain_share);
    cli_json_real(&json, "calibration", r->calibration);
    cli_json_real(&json, "seconds", r->seconds);
    cli_json_real(&json, "waited_seconds", r->waited_seconds);
    cli_json_real(&json, "reading_seconds", r->reading_seconds);
    cli_warnings_json(warnings, &json);
    cli_json_close(&json);
    return code;
}

/* "dir/model.h5" gives "dir/model". */
static int stem_length(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    return (int)(dot != NULL && (slash == NULL || dot > slash + 1) ? (size_t)(dot - path) : strlen(path));
}

/* The command that applies the model to the first scan, with what reading that scan takes. */
static void print_next(const cli_context *context)
{
    const crd_train_options *options = context->options;
    if (!cli_next_wanted(context)) return;
    cli_next_begin(NULL);
    cli_next_command("predict");
    cli_next_option("model", options->output);
    cli_next_option("scan", options->scan.items[0]);
    if (options->shape[0] > 0) {
        printf(" --shape %" PRId64 ",%" PRId64 ",%" PRId64, options->shape[0], options->shape[1], options->shape[2]);
    }
    if (options->type != NULL) printf(" --type %s", options->type);
    if (options->offset > 0) printf(" --offset %" PRId64, options->offset);
    cli_next_option("spacing", options->spacing);
    if (options->mask.count > 0 && strcmp(options->mask.items[0], "none") != 0) {
        cli_next_option("mask", options->mask.items[0]);
    }
    cli_next_output("prediction");
    cli_next_end();
}

/* What was done, what to look at first, and the next command. */
static void print_text(const cli_context *context, const crd_train_result *r)
{
    const crd_train_options *options = context->options;
    const int stem = stem_length(options->output);
    char members[48] = "", number[8] = "";
    if (r->members > 1) {
        snprintf(members, sizeof members, "%d members of ", r->members);
        snprintf(number, sizeof number, ".0");
    }
    printf("\n");
    cli_say("Trained %s: %s%" PRId64 " step%s in %.0f s, cross entropy %.4f in the last epoch.", options->output,
            members, r->steps, r->steps == 1 ? "" : "s", r->seconds, r->bce);
    if (r->members > 1) {
        cli_say("Which state each member is of, and how good it is alone, says credence info.");
    } else if (r->kept_epoch < r->epochs) {
        cli_say("It is the state after epoch %" PRId64 " of %" PRId64 ", the best on what was held back to check on.",
                r->kept_epoch, r->epochs);
    }
    if (r->heldout.blocks > 0) {
        cli_print_heldout("", r->classes, &r->heldout);
    } else if (!isnan(r->valid_bce)) {
        cli_say("On the scan given to check on, which also chose the calibration%s, %.2f %% of the voxels are right "
                "(cross entropy %.4f).",
                strcmp(options->keep, "best") == 0 ? " and the best state" : "", 100.0 * r->valid_accuracy,
                r->valid_bce);
    } else {
        cli_say("Nothing was held back to check on, so how good it is elsewhere is not known.");
    }
    if (strstr(crd_build_description(), "PNG pictures and slices: yes") != NULL) {
        cli_say(
            "Look at %.*s%s.progress.png first: if the curves still fall at the right end, more steps will help (the "
            "same command with --resume and a larger --max-steps or --epochs).",
            stem, options->output, number);
    }
    print_next(context);
}

/* The preset fills in what nobody set by a flag or in a file. */
static int apply_preset(const cli_context *context, crd_train_options *options)
{
    bool given[128] = {false};
    for (size_t i = 0; i < crd_train_settings.count && i < sizeof given; i++) {
        given[i] = cli_given(context, crd_train_settings.rows[i].name);
    }
    return crd_train_apply_preset(options, given) == CRD_OK ? CLI_DONE : cli_library_failed();
}

static int run(cli_context *context)
{
    crd_train_options *options = context->options;
    crd_train_result result;
    int code = cli_require(context, "scan");
    if (code == CLI_DONE) code = cli_require(context, "label");
    if (code == CLI_DONE) code = cli_require(context, "output");
    if (code == CLI_DONE) code = apply_preset(context, options);
    if (code == CLI_DONE && crd_train_check(options) != CRD_OK) {
        code = cli_usage(context->command, "%s", crd_last_error()->message);
    }
    if (code != CLI_DONE) return code;
    cli_warnings warnings;
    cli_warnings_begin(&warnings, context->monitor);
    if (crd_train(options, &warnings.monitor, &result) != CRD_OK) {
        code = cli_library_failed();
    } else if (context->common->json) {
        code = print_json(options, &result, &warnings);
    } else if (!context->common->quiet) {
        print_text(context, &result);
    }
    cli_warnings_end(&warnings);
    return code;
}

const cli_command cli_train = {
    .name = "train",
    .summary = "learn to segment from scans and hand labels",
    .settings = &crd_train_settings,
    .options_size = sizeof(crd_train_options),
    .uses = CLI_USES_NETWORK | CLI_USES_THREADS | CLI_USES_SEED | CLI_USES_JSON | CLI_USES_FILES,
    .shared = true,
    .details =
        "Labels are 0 and 1, or any two values of which the larger is the foreground, the same in all labels; voxels "
        "that nobody labelled are marked with a value of their own (--ignore).\n"
        "The model, its best state, a checkpoint, a log and a picture of the course are written beside each other; "
        "--resume goes on after "
        "an interruption and ends with the same bytes.\n"
        "With --members N the model is an ensemble of N networks, and best state, checkpoint and picture carry the "
        "member's number (model.0.ckpt.h5). --init takes an ensemble of as many members one by one, or one network "
        "that all members start from.",
    .examples = "# one scan and its label\n"
                "credence train --scan scan.tif --label label.tif -o model.h5\n"
                "# a partly labelled stack: 255 means nobody looked\n"
                "credence train --scan slices/ --label labels.tif --ignore 255 -o model.h5\n"
                "# the paper's settings\n"
                "credence train --scan scan.h5:/data --label label.h5:/data --preset graphite -o model.h5",
    .run = run,
};
