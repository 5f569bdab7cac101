/* What the model was trained on, how good it is where it didn't learn, and how good this run is against a label. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "report/page.h"
#include "report/verdict.h"
#include "validate/figures.h"

/* ---- against a label ---- */

typedef struct table_row {
    const char *name;
    size_t offset;
    int better;       /* 1: higher is, -1: lower, 0: neither */
    const char *many; /* what it is with more than two classes, where that is something else */
} table_row;

static double figure_at(const crd_reported_run *s, size_t offset)
{
    double value = (double)NAN;
    if (s->figures != NULL) memcpy(&value, (const char *)s->figures + offset, sizeof value);
    return value;
}

/* By the measure of `compare`: figures whose errors differ little are level, and neither is bold. */
static bool is_ahead(int better, double value, double other)
{
    if (better == 0 || !isfinite(value) || !isfinite(other)) return false;
    const double error = better > 0 ? 1.0 - value : value, others = better > 0 ? 1.0 - other : other;
    return error < others && !crd_errors_level(error, others);
}

/* Over the same voxels and classes, as far as the figures say. */
static bool comparable(const crd_reported_run *runs, int count)
{
    return count > 1 && runs[0].figures != NULL && runs[1].figures != NULL && crd_page_same_classes(runs) &&
           runs[0].figures->voxels == runs[1].figures->voxels;
}

static void figure_row(crd_text *page, const table_row *row, const crd_reported_run *runs, int count)
{
    bool known = false; /* what only two classes have */
    for (int i = 0; i < count; i++) known |= runs[i].class_count == 2 || isfinite(figure_at(&runs[i], row->offset));
    if (!known) return;
    crd_text_add(page, "<tr><th scope=\"row\">");
    crd_text_html(page, runs[0].class_count > 2 && row->many != NULL ? row->many : row->name);
    crd_text_add(page, "</th>");
    for (int i = 0; i < count; i++) {
        const double value = figure_at(&runs[i], row->offset);
        const double other = comparable(runs, count) ? figure_at(&runs[1 - i], row->offset) : (double)NAN;
        const bool ahead = is_ahead(row->better, value, other);
        crd_text_add(page, ahead ? "<td><strong>" : "<td>");
        crd_text_fixed(page, value, 4, "n/a");
        crd_text_add(page, ahead ? "</strong></td>" : "</td>");
    }
    crd_text_add(page, "</tr>");
}

static void figure_table(crd_text *page, const crd_reported_run *runs, int count)
{
#define AT(MEMBER) offsetof(crd_validation, MEMBER)
    static const table_row rows[] = {
        {"Accuracy", AT(accuracy), 1, NULL},
        {"Dice", AT(dice), 1, "Mean Dice of the classes"},
        {"Intersection over union", AT(iou), 1, "Mean intersection over union of the classes"},
        {"Volume fraction, segmentation", AT(volume_fraction), 0, NULL},
        {"Volume fraction, label", AT(label_fraction), 0, NULL},
        {"Mean uncertainty", AT(uncertainty.mean), 0, NULL},
        {"P(accurate | certain): right where it says it can be trusted", AT(pavpu.p_accurate_given_certain), 1, NULL},
        {"P(uncertain | inaccurate): warns where it is wrong", AT(pavpu.p_uncertain_given_inaccurate), 1, NULL},
        {"PAvPU3D: both together", AT(pavpu.pavpu3d), 1, NULL},
        {"Expected calibration error", AT(calibration.ece), -1, NULL},
        {"Brier score", AT(calibration.brier), -1, NULL},
        {"Negative log-likelihood", AT(calibration.nll), -1, NULL},
        {"Area under risk over coverage", AT(calibration.aurc), -1, NULL},
        {"Autocorrelation of neighbouring voxels", AT(geometry.autocorrelation), 0, NULL},
        {"Mean gradient / mean", AT(geometry.gradient_over_mean), 0, NULL}};
#undef AT
    crd_text_add(page, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Figure</th>");
    for (int i = 0; i < count; i++) {
        crd_text_add(page, "<th scope=\"col\">");
        crd_text_html(page, runs[i].name);
        crd_text_add(page, "</th>");
    }
    crd_text_add(page, "</tr></thead><tbody>");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) figure_row(page, &rows[i], runs, count);
    crd_text_add(page, "</tbody></table></div>");
    if (comparable(runs, count))
        crd_text_add(
            page,
            "<p class=\"note\">Bold: the better of the two, where they aren\xe2\x80\x99t level (what is missing from "
            "perfect differs by less than 5\xc2\xa0%).</p>");
}

/* Text in which "85 %" isn't broken. */
static void add_unbroken(crd_text *page, char *text)
{
    for (char *blank; (blank = strstr(text, " %")) != NULL; text = blank + 1) {
        *blank = '\0';
        crd_text_html(page, text);
        crd_text_add(page, "\xc2\xa0");
    }
    crd_text_html(page, text);
}

/* The comparison in words, line by line. */
static crd_status compare_runs(crd_text *page, const crd_reported_run *runs)
{
    char *words = NULL;
    const crd_compared_run compared[2] = {{"Run A", runs[0].run.model.kind, runs[0].figures},
                                          {"Run B", runs[1].run.model.kind, runs[1].figures}};
    CRD_PASS(crd_compare_in_words(compared, 2, &words));
    crd_text_add(page, "<h3>The two runs in words</h3><ul>");
    for (char *line = words; *line != '\0';) {
        char *end = strchr(line, '\n');
        *end = '\0';
        crd_text_add(page, "<li>");
        add_unbroken(page, line);
        crd_text_add(page, "</li>");
        line = end + 1;
    }
    crd_text_add(page, "</ul>");
    crd_settings_free_text(&words);
    return CRD_OK;
}

/* Figures over voxels that the model learnt from aren't what they look like, so that comes first. */
static void say_seen(crd_text *page, const crd_validation *v)
{
    if (v->seen_in_training <= 0) return;
    crd_text_print(page,
                   "<p><strong>The model learnt from %lld of the %lld labelled voxels here: figures over all of them "
                   "flatter.</strong>",
                   (long long)(v->voxels - v->unseen.voxels), (long long)v->voxels);
    if (v->unseen.voxels > 0) {
        crd_text_print(page, " Over the %lld others: accuracy ", (long long)v->unseen.voxels);
        crd_text_fixed(page, v->unseen.accuracy, 4, "n/a");
        crd_text_add(page, ", Dice ");
        crd_text_fixed(page, v->unseen.dice, 4, "n/a");
        crd_text_add(page, ", negative log-likelihood ");
        crd_text_fixed(page, v->unseen.nll, 4, "n/a");
        crd_text_add(page, ".");
    }
    crd_text_add(page, "</p>");
}

/* ---- the training ---- */

static void row_of(crd_text *page, const char *name, double value, const double interval[2], double factor,
                   int decimals, const char *unit, double simple, double simplest)
{
    if (!isfinite(value)) return;
    crd_text_add(page, "<tr><th scope=\"row\">");
    crd_text_html(page, name);
    crd_text_add(page, "</th><td>");
    crd_text_fixed(page, factor * value, decimals, "n/a");
    crd_text_add(page, unit);
    crd_text_add(page, "</td><td>");
    if (isfinite(interval[0]) && isfinite(interval[1])) {
        crd_text_fixed(page, factor * interval[0], decimals, "");
        crd_text_add(page, " to ");
        crd_text_fixed(page, factor * interval[1], decimals, "");
        crd_text_add(page, unit);
    }
    crd_text_add(page, "</td>");
    for (int i = 0; i < 2; i++) {
        const double other = i == 0 ? simple : simplest;
        crd_text_add(page, "<td>");
        crd_text_fixed(page, factor * other, decimals, "");
        if (isfinite(other)) crd_text_add(page, unit);
        crd_text_add(page, "</td>");
    }
    crd_text_add(page, "</tr>");
}

/* The exam: blocks of labels that were held back and looked at once. */
static void heldout_table(crd_text *page, const crd_heldout *h, bool many)
{
    crd_text_print(page, "<p>Of the labels it was trained with, %lld blocks were held back; %lld of them, with ",
                   (long long)h->blocks, (long long)h->exam_blocks);
    crd_page_count(page, h->exam_voxels);
    crd_text_add(page, " voxels, were an exam that it took once, at the end.");
    if (!h->unseen) crd_text_add(page, " The model that it began with may have learnt there: these figures flatter.");
    crd_text_add(page, "</p>");
    crd_text_add(page, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">In the exam</th><th "
                       "scope=\"col\">this model</th><th scope=\"col\">90 % interval</th><th scope=\"col\">");
    crd_text_add(page, many ? "by the grey value alone" : "the best single threshold");
    crd_text_add(page, "</th><th scope=\"col\">always the commonest class</th></tr></thead><tbody>");
    row_of(page, "Right", h->accuracy, h->accuracy_interval, 100.0, 1, " %", h->threshold_accuracy,
           h->majority_accuracy);
    row_of(page, many ? "Mean Dice of the classes" : "Dice", h->dice, h->dice_interval, 1.0, 3, "", h->threshold_dice,
           (double)NAN);
    row_of(page, "Negative log-likelihood", h->nll, h->nll_interval, 1.0, 3, "", (double)NAN, (double)NAN);
    crd_text_add(page, "</tbody></table></div>");
    if (h->dice <= h->threshold_dice) {
        crd_text_add(page, many ? "<p><strong>It is no better than the grey value alone.</strong></p>"
                                : "<p><strong>It is no better than a threshold.</strong></p>");
    }
}

/* How like the training scans this one is; says nothing where nothing is known. */
static void say_match(crd_text *page, const crd_manifest *m)
{
    const double own = m->match.expected_error, training = m->match.training_expected_error;
    const double greys = m->match.histogram_distance;
    if (!isfinite(own) && !isfinite(greys)) return;
    crd_text_add(page, "<p>This scan beside those: ");
    if (isfinite(own)) {
        crd_text_add(page, "the network expects to be wrong in ");
        crd_text_fixed(page, 100.0 * own, 1, "");
        crd_text_add(page, " % of the voxels");
        if (isfinite(training)) {
            crd_text_add(page, ", in pieces of its training scans in ");
            crd_text_fixed(page, 100.0 * training, 1, "");
            crd_text_add(page, own > CRD_VERDICT_ERRORS * training
                                   ? " %: <strong>this one is harder than they were</strong>"
                                   : " %");
        }
    }
    if (isfinite(greys)) {
        crd_text_add(page, isfinite(own) ? "; the grey values differ by " : "the grey values differ by ");
        crd_text_number(page, greys, 2, "");
        crd_text_add(page, " on a scale of 0 to 1");
        if (greys > CRD_VERDICT_GREYS) crd_text_add(page, ": <strong>more than those of scans of one kind do</strong>");
    }
    crd_text_add(page, ". A warning here means something; its absence is no proof.</p>");
}

static void say_training(crd_text *page, const crd_reported_run *s)
{
    const crd_model_info *model = crd_reported_model(s);
    if (model == NULL) {
        crd_text_add(page, "<p>The model\xe2\x80\x99s file isn\xe2\x80\x99t where the manifest says, so what it was "
                           "trained on isn\xe2\x80\x99t known here.</p>");
        say_match(page, &s->run);
        return;
    }
    const crd_training_record *t = &model->training;
    if (t->voxels > 0) {
        crd_text_add(page, "<p>The model was trained on scans of ");
        crd_page_count(page, t->voxels);
        crd_text_add(page, " voxels");
        if (t->spacing[0] > 0.0) {
            crd_text_add(page, " of ");
            for (int axis = 0; axis < 3; axis++) {
                if (axis > 0) crd_text_add(page, " \xc3\x97 ");
                crd_text_number(page, t->spacing[axis], 4, "");
            }
            crd_text_add(page, " ");
            crd_text_html(page, strcmp(t->unit, "um") == 0 ? "\xc2\xb5m" : t->unit);
        }
        crd_text_add(page, ", with grey values from ");
        crd_text_number(page, t->minimum, 5, "");
        crd_text_add(page, " to ");
        crd_text_number(page, t->maximum, 5, "");
        crd_text_add(page, ".</p>");
    }
    if (model->heldout.blocks > 0 && isfinite(model->heldout.accuracy)) {
        heldout_table(page, &model->heldout, model->classes > 2);
    } else {
        crd_text_add(page,
                     "<p>No labels were held back from its training, so how good it is where it didn\xe2\x80\x99t "
                     "learn isn\xe2\x80\x99t known.</p>");
    }
    say_match(page, &s->run);
}

static bool same_model(const crd_reported_run *runs, int count)
{
    const char *sums[2] = {runs[0].run.model.sha256, count > 1 ? runs[1].run.model.sha256 : NULL};
    return count > 1 && sums[0] != NULL && sums[1] != NULL && strcmp(sums[0], sums[1]) == 0;
}

crd_status crd_page_trust(crd_text *page, const crd_reported_run *runs, int count)
{
    int validated = 0;
    crd_text_add(page, "<section id=\"trust\"><h2>How good it is</h2><h3>Where the model didn\xe2\x80\x99t learn</h3>");
    for (int i = 0; i < count; i++) {
        if (count > 1) crd_page_which(page, &runs[i]);
        if (i > 0 && same_model(runs, count)) {
            crd_text_add(page, "<p>The same model.</p>");
            say_match(page, &runs[i].run);
        } else {
            say_training(page, &runs[i]);
        }
    }
    for (int i = 0; i < count; i++) validated += runs[i].figures != NULL;
    if (validated > 0) {
        crd_text_add(page, "<h3>Against the label of this scan</h3>");
        for (int i = 0; i < count; i++) {
            if (runs[i].figures == NULL || runs[i].figures->seen_in_training <= 0) continue;
            if (count > 1) crd_page_which(page, &runs[i]);
            say_seen(page, runs[i].figures);
        }
        for (int i = 0; i < count; i++) {
            if (runs[i].class_count > 2) crd_page_class_table(page, &runs[i]);
        }
        figure_table(page, runs, count);
        crd_page_confusion(page, runs, count);
    }
    if (comparable(runs, count)) {
        CRD_PASS(compare_runs(page, runs));
    } else if (validated > 1) {
        crd_text_add(page, "<p><strong>The two were validated over different voxels or classes: their figures "
                           "can\xe2\x80\x99t be compared.</strong></p>");
    }
    crd_text_add(page, "</section>");
    return page->status;
}
