/* credence phantom: scans whose truth is known. */
#include <string.h>

#include "command.h"
#include "credence/phantom.h"
#include "json.h"

static int kind_of(const cli_context *context, crd_phantom_kind *kind)
{
    for (int i = 0; i < CRD_PHANTOM_KINDS; i++) {
        *kind = (crd_phantom_kind)i;
        if (strcmp(context->arguments[0], crd_phantom_kind_name(*kind)) == 0) return CLI_DONE;
    }
    return cli_usage(context->command, "there is no phantom '%s'; choose graphite, weld, electrode or image",
                     context->arguments[0]);
}

/* The options were read with graphite's defaults. Those of the kind follow here, for all that nobody set; an option
 * that only other kinds have is refused. */
static int settle(const cli_context *context, crd_phantom_kind kind)
{
    const crd_settings *all = &crd_phantom_all_settings, *own = crd_phantom_settings(kind);
    for (size_t i = 0; i < all->count; i++) {
        const char *name = all->rows[i].name;
        const crd_setting *row = crd_settings_find(own, name);
        if (cli_given(context, name)) {
            if (row == NULL) {
                return cli_usage(context->command, "--%s has no meaning for %s", name, crd_phantom_kind_name(kind));
            }
        } else if (row != NULL && row->initial != NULL) {
            if (crd_settings_set(own, context->options, name, row->initial) != CRD_OK) return cli_library_failed();
        }
    }
    return CLI_DONE;
}

static void print_phases(cli_json *json, crd_phantom_kind kind, const crd_phantom_result *r)
{
    cli_json_open(json, "classes", '[');
    for (int64_t k = 0; k < r->phases; k++) {
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", crd_phantom_phase_name(kind, k));
        cli_json_real(json, "value", r->phase_values[k]);
        cli_json_real(json, "fraction", (double)r->phase_voxels[k] / (double)r->voxels);
        cli_json_close(json);
    }
    cli_json_close(json);
    cli_json_open(json, "thresholds", '[');
    for (int64_t k = 0; k + 1 < r->phases; k++) cli_json_real(json, NULL, r->thresholds[k]);
    cli_json_close(json);
}

static void print_json(crd_phantom_kind kind, const crd_phantom_options *options, const crd_phantom_result *r)
{
    cli_json json = {.out = stdout};
    const double voxels = (double)r->voxels;
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "path", options->output);
    cli_json_text(&json, "kind", crd_phantom_kind_name(kind));
    cli_json_ints(&json, "shape", r->shape, 3);
    cli_json_real(&json, "volume_fraction", (double)r->foreground / voxels);
    if (r->phases == 2 && kind != CRD_PHANTOM_IMAGE)
        cli_json_real(&json, "threshold", r->threshold);
    else
        print_phases(&json, kind, r);
    cli_json_real(&json, "threshold_error", (double)r->threshold_errors / voxels);
    cli_json_real(&json, "majority_error", (double)r->majority_errors / voxels);
    cli_json_real(&json, "label_error", (double)r->label_errors / voxels);
    cli_json_close(&json);
}

static void print_text(crd_phantom_kind kind, const crd_phantom_options *options, const crd_phantom_result *r)
{
    const double percent = 100.0 / (double)r->voxels;
    printf("%s: %s, z %lld, y %lld, x %lld\n", options->output, crd_phantom_kind_name(kind), (long long)r->shape[0],
           (long long)r->shape[1], (long long)r->shape[2]);
    static const char *const look[][CRD_PHANTOM_PHASES] = {
        [CRD_PHANTOM_GRAPHITE] = {"", "grain (dark)"},
        [CRD_PHANTOM_WELD] = {"", "void (light)"},
        [CRD_PHANTOM_ELECTRODE] = {"pore (dark)", "particle (light)", "binder (between)"}};
    const bool many = r->phases > 2 || kind == CRD_PHANTOM_IMAGE;
    for (int64_t k = many ? 0 : 1; k < r->phases; k++) {
        char name[32] = "foreground";
        if (many) snprintf(name, sizeof name, "label value %g", r->phase_values[k]);
        printf("  %-16s %6.2f %% of the voxels%s%s\n", name, (double)r->phase_voxels[k] * percent,
               kind != CRD_PHANTOM_IMAGE ? " are " : "", kind != CRD_PHANTOM_IMAGE ? look[kind][k] : "");
    }
    printf("  label            %6.2f %% of the voxels differ from the truth\n", (double)r->label_errors * percent);
    printf("  best threshold%s %6.2f %% of the voxels wrong, at %.9g", r->phases > 2 ? "s " : "  ",
           (double)r->threshold_errors * percent, r->thresholds[0]);
    for (int64_t k = 1; k + 1 < r->phases; k++) printf(" and %.9g", r->thresholds[k]);
    printf("\n");
    printf("  always the same  %6.2f %% of the voxels wrong\n", (double)r->majority_errors * percent);
}

static int run(cli_context *context)
{
    const crd_phantom_options *options = context->options;
    crd_phantom_kind kind;
    crd_phantom_result result;
    int code = kind_of(context, &kind);
    if (code == CLI_DONE) code = cli_require(context, "output");
    if (code == CLI_DONE) code = settle(context, kind);
    if (code == CLI_DONE && kind == CRD_PHANTOM_IMAGE) code = cli_require(context, "truth");
    if (code != CLI_DONE) return code;
    if (crd_phantom_write(kind, options, context->monitor, &result) != CRD_OK) return cli_library_failed();
    if (context->common->json)
        print_json(kind, options, &result);
    else if (!context->common->quiet)
        print_text(kind, options, &result);
    return CLI_DONE;
}

const cli_command cli_phantom = {
    .name = "phantom",
    .summary = "make a scan with exact truth and an imperfect hand label, for trying and testing",
    .arguments = "graphite|weld|electrode|image",
    .least = 1,
    .most = 1,
    .settings = &crd_phantom_all_settings,
    .options_size = sizeof(crd_phantom_options),
    .uses = CLI_USES_THREADS | CLI_USES_SEED | CLI_USES_JSON,
    .details =
        "Writes DIR/scan, DIR/label and DIR/truth with the suffix of --format, and DIR/phantom.json, which holds all "
        "settings, the exact volume fraction and the error of the best global threshold.\n"
        "graphite is a battery electrode: flat, tilted, overlapping dark grains (1) in a light matrix (0). weld is two "
        "plates joined by a weld: light voids (1) in dark metal (0); the air around the plates and in the seam is as "
        "light as a void and is 0. electrode has three phases: light particles (1), binder (2) of a middle grey value "
        "where they are close to each other, and dark pores (0). image is no "
        "world of its own: the camera looks at the phases of any label volume (--truth, --greys), and truth keeps its "
        "values.\n"
        "Every strength is an option, so that a network can be tried on a scan unlike those it was trained on. The "
        "same "
        "options and seed give the same bytes on any machine.",
    .examples = "credence phantom graphite -o train --seed 1\n"
                "# a fainter, noisier scan of the same material\n"
                "credence phantom graphite -o faint --seed 2 --contrast 0.14 --noise 0.04\n"
                "credence phantom weld -o weld --shape 128,256,256 --format npy --spacing 5,5,5,um\n"
                "# three phases: label and truth hold 0, 1 and 2\n"
                "credence phantom electrode -o electrode --binder-fraction 0.1\n"
                "# a real structure, segmented before, scanned anew\n"
                "credence phantom image --truth rock.tif --greys 0.3,0.5,0.62 -o rock\n"
                "# a billion voxels\n"
                "credence phantom graphite -o large --shape 742,1100,1100",
    .run = run,
};
