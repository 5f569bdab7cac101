#include "heldout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "command.h"
#include "talk/wrap.h"

int cli_json_heldout(cli_json *json, const crd_heldout *h)
{
    char *text = NULL;
    if (crd_heldout_to_json(h, &text) != CRD_OK) return cli_library_failed();
    cli_json_raw(json, "heldout", text);
    crd_settings_free_text(&text);
    return CLI_DONE;
}

enum { FIGURE_BYTES = 96 };

/* "0.945 (90 % interval 0.931 to 0.957)" */
static const char *format_figure(double value, const double interval[2], double scale, int digits, const char *unit,
                                 char text[FIGURE_BYTES])
{
    if (isnan(value)) return "not defined";
    const int used = snprintf(text, FIGURE_BYTES, "%.*f%s", digits, scale * value, unit);
    if (!isnan(interval[0]) && used > 0 && used < FIGURE_BYTES) {
        snprintf(text + used, (size_t)(FIGURE_BYTES - used), " (90 %% interval %.*f to %.*f)", digits,
                 scale * interval[0], digits, scale * interval[1]);
    }
    return text;
}

void cli_print_heldout(const char *lead, int classes, const crd_heldout *h)
{
    const bool two = classes == 2;
    char of[3][FIGURE_BYTES], share[32] = "", dice[32] = "";
    if (h->blocks == 0) return;
    if (two) snprintf(share, sizeof share, ", %.1f %% foreground", 100.0 * h->foreground_share);
    if (!isnan(h->threshold_dice)) snprintf(dice, sizeof dice, ", Dice %.3f", h->threshold_dice);
    cli_say("%sIn the scans it was trained on, where %s (%" PRId64 " blocks of labels held back, %" PRId64
            " voxels%s):",
            lead, h->unseen ? "it never learnt" : "this training didn't learn", h->exam_blocks, h->exam_voxels, share);
    cli_say("%s  right %s, %s %s, NLL %s", lead,
            format_figure(h->accuracy, h->accuracy_interval, 100.0, 1, " %", of[0]),
            two ? "Dice" : "mean Dice of the classes", format_figure(h->dice, h->dice_interval, 1.0, 3, "", of[1]),
            format_figure(h->nll, h->nll_interval, 1.0, 3, "", of[2]));
    cli_say("%s  always the %s class: %.1f %% right; the %s: %.1f %% right%s", lead, two ? "commoner" : "commonest",
            100.0 * h->majority_accuracy,
            two ? "best single threshold on the grey value" : "class that is commonest at each grey value",
            100.0 * h->threshold_accuracy, dice);
    if (!h->unseen) cli_say("%s  The model that it began with may have learnt there: these figures flatter.", lead);
    if (h->dice <= h->threshold_dice) {
        cli_say("%s  It is not better than %s.", lead, two ? "a threshold" : "the grey value alone");
    }
}
