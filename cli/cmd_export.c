/* credence export: a run's realisations as voxel files. */
#include "command.h"
#include "credence/propagate.h"
#include "json.h"

static int run(cli_context *context)
{
    const crd_export_options *options = context->options;
    crd_export_summary summary;
    if (context->argument_count > 0) {
        if (cli_given(context, "run")) return cli_usage(context->command, "the run folder was given twice");
        if (crd_settings_set(&crd_export_settings, context->options, "run", context->arguments[0]) != CRD_OK) {
            return cli_library_failed();
        }
    }
    if (options->run == NULL) return cli_usage(context->command, "export needs a run folder");
    const int code = cli_require(context, "output");
    if (code != CLI_DONE) return code;
    if (crd_export(options, context->monitor, &summary) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        cli_json json = {.out = stdout};
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "path", options->output);
        cli_json_text(&json, "solver", options->form.solver);
        cli_json_int(&json, "realisations", summary.realisations);
        cli_json_raw(&json, "segmentation", summary.segmentation ? "true" : "false");
        cli_json_int(&json, "voxels", summary.bytes);
        cli_json_close(&json);
    } else if (!context->common->quiet) {
        fprintf(stderr, "wrote %lld realisations%s to %s\n", (long long)summary.realisations,
                summary.segmentation ? " and the segmentation" : "", options->output);
    }
    return CLI_DONE;
}

const cli_command cli_export = {
    .name = "export",
    .summary = "every realisation of a run as a voxel file for another program",
    .arguments = "DIR",
    .least = 0,
    .most = 1,
    .settings = &crd_export_settings,
    .options_size = sizeof(crd_export_options),
    .uses = CLI_USES_THREADS | CLI_USES_JSON,
    .details =
        "DIR is a run folder whose samples were kept (credence predict --save-samples bits). Each realisation becomes "
        "one file of bytes, 1 inside the phase and 0 outside unless --values says otherwise, in the format that "
        "--solver takes. realisations.json lists the files with shape, spacing and volume fraction, and says how the "
        "program reads them.",
    .examples = "credence export run --solver taufactor -o realisations\n"
                "credence export run --solver raw --samples 16 -o realisations\n"
                "# OpenLBM: fluid 1, wall 2\n"
                "credence export run --solver openlbm --values 1,2 -o realisations",
    .run = run,
};
