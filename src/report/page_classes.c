/* What a page says of runs with more than two classes. */
#include <math.h>
#include <string.h>

#include "draw/colour.h"
#include "report/page.h"
#include "report/verdict.h"

bool crd_page_same_classes(const crd_reported_run runs[2])
{
    if (runs[0].class_count != runs[1].class_count) return false;
    for (int k = 0; runs[0].class_count > 2 && k < runs[0].class_count; k++) {
        if (strcmp(runs[0].run.classes[k].name, runs[1].run.classes[k].name) != 0) return false;
    }
    return true;
}

void crd_page_class_name(crd_text *page, const crd_reported_run *s, int number)
{
    crd_text_print(page, "<i class=\"class\" style=\"background:#%06x\"></i>", (unsigned)crd_class_colours[number]);
    crd_text_add(page, crd_verdict_class(s->run.classes[number].name));
    crd_text_html(page, s->run.classes[number].name);
}

void crd_page_class_key(crd_text *page, const crd_reported_run *s)
{
    crd_text_add(page, "<p class=\"key\">");
    for (int k = 0; k < s->class_count; k++) {
        crd_text_add(page, "<span>");
        crd_page_class_name(page, s, k);
        crd_text_add(page, "</span>");
    }
    if (s->label != NULL && (s->figures == NULL || s->figures->ignored > 0)) {
        crd_text_add(page, "<span><i class=\"class\" style=\"background:#808080\"></i>not labelled</span>");
    }
    crd_text_add(page, "</p>");
}

static void percent_cell(crd_text *page, double share)
{
    crd_text_add(page, "<td>");
    crd_text_fixed(page, 100.0 * share, 2, "n/a");
    crd_text_add(page, isfinite(share) ? " %</td>" : "</td>");
}

static void class_row(crd_text *page, const crd_reported_run *s, int number)
{
    const crd_run_class *c = &s->run.classes[number];
    const crd_validation *v = s->figures;
    crd_text_add(page, "<tr><th scope=\"row\">");
    crd_page_class_name(page, s, number);
    crd_text_add(page, "</th>");
    percent_cell(page, c->segmentation);
    percent_cell(page, c->mean);
    crd_text_add(page, "<td>");
    if (isfinite(c->interval90[0]) && isfinite(c->interval90[1])) {
        crd_text_fixed(page, 100.0 * c->interval90[0], 2, "");
        crd_text_add(page, " to ");
        crd_text_fixed(page, 100.0 * c->interval90[1], 2, "");
        crd_text_add(page, " %</td>");
    } else {
        crd_text_add(page, "n/a</td>");
    }
    if (v != NULL && v->classes.name.count == s->class_count) {
        percent_cell(page, v->classes.label_fraction.items[number]);
        crd_text_add(page, "<td>");
        crd_text_fixed(page, v->classes.dice.items[number], 4, "n/a");
        crd_text_add(page, "</td><td>");
        crd_text_fixed(page, v->classes.iou.items[number], 4, "n/a");
        crd_text_add(page, "</td>");
    }
    crd_text_add(page, "</tr>");
}

void crd_page_class_table(crd_text *page, const crd_reported_run *s)
{
    const bool validated = s->figures != NULL && s->figures->classes.name.count == s->class_count;
    crd_text_add(page, "<div class=\"scroll\"><table class=\"classes\"><thead><tr><th scope=\"col\">Share of the "
                       "volume</th><th scope=\"col\">segmentation</th><th scope=\"col\">mean of the samples</th><th "
                       "scope=\"col\">");
    crd_text_add(page, crd_verdict_interval_known(s) ? "90 % interval</th>" : "90 % of the samples</th>");
    if (validated) {
        crd_text_add(page, "<th scope=\"col\">label</th><th scope=\"col\">Dice</th><th scope=\"col\">IoU</th>");
    }
    crd_text_add(page, "</tr></thead><tbody>");
    for (int k = 0; k < s->class_count; k++) class_row(page, s, k);
    crd_text_add(page, "</tbody></table></div>");
}

/* A cell is the darker the larger its share of the row is; the text says it, too. */
static void confusion_cell(crd_text *page, double count, double all, bool right)
{
    const double share = all > 0.0 ? count / all : (double)NAN;
    const int depth = share > 0.0 ? (int)rint(55.0 * share) : 0;
    crd_text_print(page, "<td style=\"background:color-mix(in srgb,var(--%s) %d%%,transparent)\">", right ? "a" : "b",
                   depth);
    crd_text_fixed(page, 100.0 * share, 2, "n/a");
    crd_text_add(page, isfinite(share) ? " %<small>" : "<small>");
    crd_text_print(page, "%.0f</small></td>", count);
}

static bool has_matrix(const crd_reported_run *s)
{
    const int64_t count = s->class_count;
    return s->figures != NULL && count > 2 && s->figures->classes.confusion.count == count * count;
}

static void add_matrix(crd_text *page, const crd_reported_run *s)
{
    const crd_validation *v = s->figures;
    const int count = s->class_count;
    if (s->name[0] != '\0') {
        crd_text_add(page, "<p class=\"which\">");
        crd_text_html(page, s->name);
        crd_text_add(page, "</p>");
    }
    crd_text_add(page, "<div class=\"scroll\"><table class=\"confusion\"><thead><tr><th scope=\"col\">label \\ "
                       "segmented as</th>");
    for (int k = 0; k < count; k++) {
        crd_text_add(page, "<th scope=\"col\">");
        crd_page_class_name(page, s, k);
        crd_text_add(page, "</th>");
    }
    crd_text_add(page, "</tr></thead><tbody>");
    for (int k = 0; k < count; k++) {
        const double *row = v->classes.confusion.items + (int64_t)k * count;
        double all = 0.0;
        for (int i = 0; i < count; i++) all += row[i];
        crd_text_add(page, "<tr><th scope=\"row\">");
        crd_page_class_name(page, s, k);
        crd_text_add(page, "</th>");
        for (int i = 0; i < count; i++) confusion_cell(page, row[i], all, i == k);
        crd_text_add(page, "</tr>");
    }
    crd_text_add(page, "</tbody></table></div>");
}

void crd_page_confusion(crd_text *page, const crd_reported_run *runs, int count)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        if (!has_matrix(&runs[i])) continue;
        if (!any) crd_text_add(page, "<h3>What was taken for what</h3>");
        any = true;
        add_matrix(page, &runs[i]);
    }
    if (!any) return;
    crd_text_add(page, "<p class=\"note\">Shares of each row: of the voxels that the label gives to "
                       "a class, how many were segmented as which; below, how many voxels that is.</p>");
}
