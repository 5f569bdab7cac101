/* credence surface: a phase's boundary as a mesh. */
#include <limits.h>
#include <stdio.h>

#include "command.h"
#include "credence/surface.h"
#include "json.h"
#include "talk/progress.h"

static void print_json(const crd_surface_options *options, const crd_surface_summary *summary)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "path", options->output);
    cli_json_int(&json, "vertices", summary->vertices);
    cli_json_int(&json, "triangles", summary->triangles);
    cli_json_raw(&json, "closed", summary->closed ? "true" : "false");
    cli_json_real(&json, "area", summary->area);
    cli_json_real(&json, "volume", summary->volume);
    if (summary->closed) cli_json_int(&json, "euler_number", summary->euler_number);
    if (!summary->closed) cli_json_raw(&json, "euler_number", NULL);
    cli_json_reals(&json, "spacing", summary->spacing, 3);
    cli_json_text(&json, "unit", summary->unit);
    cli_json_text(&json, "data", summary->data);
    cli_json_close(&json);
}

static void print_words(const crd_surface_options *options, const crd_surface_summary *summary)
{
    const char *unit = summary->unit[0] != '\0' ? summary->unit : "units";
    char text[PATH_MAX + 256], volume[64] = "";
    if (summary->closed) snprintf(volume, sizeof volume, ", volume %.6g %s^3", summary->volume, unit);
    snprintf(text, sizeof text, "wrote %s: %lld triangles, %lld vertices, area %.6g %s^2%s", options->output,
             (long long)summary->triangles, (long long)summary->vertices, summary->area, unit, volume);
    cli_progress_line(CLI_INFO, text);
}

static int run(cli_context *context)
{
    const crd_surface_options *options = context->options;
    crd_surface_summary summary;
    if (context->argument_count > 0) {
        if (cli_given(context, "input")) return cli_usage(context->command, "the input was given twice");
        if (crd_settings_set(&crd_surface_settings, context->options, "input", context->arguments[0]) != CRD_OK) {
            return cli_library_failed();
        }
    }
    if (options->input == NULL) return cli_usage(context->command, "surface needs a run folder or a volume");
    const int code = cli_require(context, "output");
    if (code != CLI_DONE) return code;
    if (crd_surface(options, context->monitor, &summary) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        print_json(options, &summary);
    } else if (!context->common->quiet) {
        print_words(options, &summary);
    }
    return CLI_DONE;
}

const cli_command cli_surface = {
    .name = "surface",
    .summary = "a phase's boundary as a closed mesh, with the uncertainty at each vertex",
    .arguments = "DIR|FILE",
    .least = 0,
    .most = 1,
    .settings = &crd_surface_settings,
    .options_size = sizeof(crd_surface_options),
    .uses = CLI_USES_THREADS | CLI_USES_JSON,
    .details =
        "DIR is a run folder of credence predict: the surface is where the probability is 0.5, where a percentile is "
        "(--level p5), or that of one realisation (--sample 3). FILE is any volume: of a map the surface at --level, "
        "of "
        "labels that of one value.\n"
        "The mesh is closed, every edge belongs to two triangles, and normals point out of the phase. Coordinates are "
        "x, "
        "y, z in the volume's unit. Meshes of any size are written without being held in memory.",
    .examples = "credence surface run -o surface.ply\n"
                "# between these two the boundary lies, as nine samples in ten say\n"
                "credence surface run --level p5 -o inner.vtp\n"
                "credence surface run --level p95 -o outer.vtp\n"
                "credence surface run --sample 3 --decimate 0.1 -o realisation.stl\n"
                "credence surface labels.tif --phase 2 --spacing 0.65,0.65,0.65,um -o phase2.ply",
    .run = run,
};
