/* credence report: a page about a run. */
#include "command.h"
#include "credence/report.h"
#include "json.h"

static int take(const cli_context *context, const char *name, const char *value)
{
    if (cli_given(context, name)) return cli_usage(context->command, "the run folder was given twice");
    if (crd_settings_set(&crd_report_settings, context->options, name, value) != CRD_OK) return cli_library_failed();
    return CLI_DONE;
}

static int run(cli_context *context)
{
    const crd_report_options *options = context->options;
    int code = CLI_DONE;
    if (context->argument_count > 0) code = take(context, "run", context->arguments[0]);
    if (code == CLI_DONE && context->argument_count > 1) code = take(context, "second", context->arguments[1]);
    if (code == CLI_DONE && options->run == NULL) code = cli_usage(context->command, "report needs a run folder");
    if (code == CLI_DONE) code = cli_require(context, "output");
    if (code != CLI_DONE) return code;
    if (crd_report(options, context->monitor) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        cli_json json = {.out = stdout};
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "path", options->output);
        cli_json_close(&json);
    } else if (!context->common->quiet) {
        fprintf(stderr, "wrote %s\n", options->output);
    }
    return CLI_DONE;
}

const cli_command cli_report = {
    .name = "report",
    .summary = "one self-contained page on a run: slices, maps, plots, tables, where to look first",
    .arguments = "DIR [DIR2]",
    .least = 0,
    .most = 2,
    .settings = &crd_report_settings,
    .options_size = sizeof(crd_report_options),
    .uses = CLI_USES_THREADS | CLI_USES_JSON,
    .details = "DIR is a run folder of credence predict; a second one is shown beside it. The page needs no network, "
               "follows the reader's light or dark setting, and prints. It opens with slices that can be leafed "
               "through in all "
               "three directions; --small leaves those out. Figures against a label are in it if "
               "the run has been validated, or --label is given.",
    .examples = "credence report run -o report.html\n"
                "credence report run --label truth.tif -o report.html\n"
                "# two models on the same scan\n"
                "credence report bcnn mcdn --label truth.tif -o both.html",
    .run = run,
};
