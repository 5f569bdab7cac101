#include "heldout.h"

#include <inttypes.h>
#include <math.h>

#include "command.h"

int cli_json_heldout(cli_json *json, const crd_heldout *h)
{
    char *text = NULL;
    if (crd_heldout_to_json(h, &text) != CRD_OK) return cli_library_failed();
    cli_json_raw(json, "heldout", text);
    crd_settings_free_text(&text);
    return CLI_DONE;
}

/* "0.945 (90 % interval 0.931 to 0.957)" */
static void print_figure(const char *name, double value, const double interval[2], double scale, int digits,
                         const char *unit)
{
    if (isnan(value)) {
        printf("%s not defined", name);
        return;
    }
    printf("%s %.*f%s", name, digits, scale * value, unit);
    if (!isnan(interval[0])) {
        printf(" (90 %% interval %.*f to %.*f)", digits, scale * interval[0], digits, scale * interval[1]);
    }
}

void cli_print_heldout(const char *lead, int classes, const crd_heldout *h)
{
    const bool two = classes == 2;
    if (h->blocks == 0) return;
    printf("%sIn the scans it was trained on, where %s (%" PRId64 " blocks of labels held back, %" PRId64 " voxels",
           lead, h->unseen ? "it never learnt" : "this training didn't learn", h->exam_blocks, h->exam_voxels);
    if (two) printf(", %.1f %% foreground", 100.0 * h->foreground_share);
    printf("):\n");
    printf("%s  ", lead);
    print_figure("right", h->accuracy, h->accuracy_interval, 100.0, 1, " %");
    print_figure(two ? ", Dice" : ", mean Dice of the classes", h->dice, h->dice_interval, 1.0, 3, "");
    print_figure(", NLL", h->nll, h->nll_interval, 1.0, 3, "");
    printf("\n%s  always the %s class: %.1f %% right; the %s: %.1f %% right", lead, two ? "commoner" : "commonest",
           100.0 * h->majority_accuracy,
           two ? "best single threshold on the grey value" : "class that is commonest at each grey value",
           100.0 * h->threshold_accuracy);
    if (!isnan(h->threshold_dice)) printf(", Dice %.3f", h->threshold_dice);
    printf("\n");
    if (!h->unseen) printf("%s  The model that it began with may have learnt there: these figures flatter.\n", lead);
    if (h->dice <= h->threshold_dice) {
        printf("%s  It is not better than %s.\n", lead, two ? "a threshold" : "the grey value alone");
    }
}
