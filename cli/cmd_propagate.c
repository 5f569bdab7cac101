/* credence propagate: a number that another program makes of each realisation, with its interval. */
#include "command.h"
#include "credence/propagate.h"
#include "figures.h"
#include "json.h"

static int take_words(cli_context *context)
{
    for (int i = 0; i < context->argument_count; i++) {
        const char *name = i == 0 && !cli_given(context, "run") ? "run" : "command";
        if (crd_settings_set(&crd_propagate_settings, context->options, name, context->arguments[i]) != CRD_OK) {
            return cli_library_failed();
        }
    }
    const crd_propagate_options *options = context->options;
    if (options->run == NULL) return cli_usage(context->command, "propagate needs a run folder");
    if (options->command.count == 0) {
        return cli_usage(context->command, "propagate needs a command behind --, such as -- ./solve {}");
    }
    return CLI_DONE;
}

static void print_json(const crd_propagation *p)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "path", p->folder);
    cli_json_text(&json, "name", p->name);
    cli_json_text(&json, "unit", p->unit);
    cli_json_real(&json, "segmentation", p->segmentation);
    cli_json_real(&json, "mean", p->mean);
    cli_json_real(&json, "std", p->std);
    cli_json_real(&json, "median", p->median);
    cli_json_reals(&json, "interval", p->interval, 2);
    cli_json_reals(&json, "percent", p->percent, 2);
    cli_json_int(&json, "defined", p->defined);
    cli_json_int(&json, "first_sample", p->first_sample);
    cli_json_reals(&json, "values", p->values, p->samples);
    cli_json_close(&json);
}

static void print_table(const crd_propagation *p)
{
    char interval[64], percent[64];
    snprintf(percent, sizeof percent, "%g-%g %%", p->percent[0], p->percent[1]);
    snprintf(interval, sizeof interval, "%s .. %s", cli_figure_general(p->interval[0], 4),
             cli_figure_general(p->interval[1], 4));
    printf("%-22s %12s %10s   %-24s %s\n", "", "segmentation", "median", percent, "unit");
    printf("%-22s %12s %10s   %-24s %s\n", p->name, cli_figure_general(p->segmentation, 4),
           cli_figure_general(p->median, 4), interval, p->unit);
    printf("%lld of %lld realisations; all values are in %s/propagate.csv\n", (long long)p->defined,
           (long long)p->samples, p->folder);
}

static int run(cli_context *context)
{
    crd_propagation *propagation = NULL;
    const int code = take_words(context);
    if (code != CLI_DONE) return code;
    if (crd_propagate(context->options, context->monitor, &propagation) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        print_json(propagation);
    } else {
        print_table(propagation);
    }
    crd_propagation_free(&propagation);
    return CLI_DONE;
}

const cli_command cli_propagate = {
    .name = "propagate",
    .summary = "run a command on every realisation, and give its number an interval",
    .arguments = "DIR -- COMMAND...",
    .least = 0,
    .most = -1,
    .settings = &crd_propagate_settings,
    .options_size = sizeof(crd_propagate_options),
    .uses = CLI_USES_JSON,
    .details =
        "DIR is a run folder whose samples were kept (credence predict --save-samples bits). For the segmentation and "
        "each realisation a voxel file is written, COMMAND runs with that file's name in place of {}, and the last "
        "number that it prints is the realisation's value. Other placeholders: {sample}, its number (-1: the "
        "segmentation); {folder}, where results go; {spacing} and {shape}, along z,y,x.\n"
        "The words of COMMAND go to it as they are: no shell looks at them. A command that fails stops the others, "
        "and what is done stays: --resume goes on. Interrupting credence ends all commands.",
    .examples = "credence propagate run --solver taufactor --name d_eff -- python3 solve.py {}\n"
                "credence propagate run --jobs 4 --timeout 3600 --pattern 'permeability: ([-+.0-9e]+)' --name k --unit "
                "um^2 -- ./lbm --input {} --voxel {spacing}\n"
                "credence propagate run --resume -- ./solve {}",
    .run = run,
};
