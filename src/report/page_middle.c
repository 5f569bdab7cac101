/* The middle slice: scan, segmentation and uncertainty side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/colour.h"
#include "report/figures.h"
#include "report/verdict.h"

static const char *name_of(const crd_reported_run *s, int number)
{
    return s->class_count > 2 ? s->run.classes[number].name : number == 1 ? "foreground" : "background";
}

void crd_page_mask_key(crd_text *page, const crd_reported_run *runs, int count)
{
    const bool same =
        count > 1 && runs[0].mask != NULL && runs[1].mask != NULL && strcmp(runs[0].mask_name, runs[1].mask_name) == 0;
    for (int i = 0; i < (same ? 1 : count); i++) {
        if (runs[i].mask == NULL) continue;
        crd_text_print(page, "<span><i style=\"background:#%06x\"></i>mask", (unsigned)CRD_FIGURE_MASKED);
        if (count > 1 && !same) {
            crd_text_add(page, " of ");
            crd_text_html(page, runs[i].name);
        }
        crd_text_add(page, ": ");
        crd_text_html(page, runs[i].mask_name);
        crd_text_add(page, runs[i].mask_is_its ? "; what lies outside counts nowhere</span>"
                                               : "; shares of the volume are of all of it, as the run had no such mask"
                                                 "</span>");
    }
}

/* The colours of the middle slices, and what the mask's line is. */
static void add_middle_key(crd_text *page, const crd_reported_run *runs, int count)
{
    crd_text_add(page, "<p class=\"key\">");
    for (int i = 0; i < count; i++) {
        const crd_reported_run *s = &runs[i];
        for (int k = s->class_count > 2 ? 0 : 1; k < s->class_count && (i == 0 || !crd_page_same_classes(runs)); k++) {
            crd_text_print(page, "<span><i style=\"background:#%06x\"></i>",
                           (unsigned)crd_class_colours[s->class_count > 2 ? k : CRD_FIGURE_PREDICTED]);
            crd_text_add(page, crd_verdict_class(name_of(s, k)));
            crd_text_html(page, name_of(s, k));
            crd_text_add(page, "</span>");
        }
    }
    crd_page_mask_key(page, runs, count);
    crd_text_add(page, "</p>");
}

/* A second run says the same of the same voxels. */
static bool comparable(const crd_reported_run *runs, int count)
{
    return count > 1 && crd_page_same_classes(runs) &&
           memcmp(runs[0].whole.size, runs[1].whole.size, sizeof runs[1].whole.size) == 0 &&
           memcmp(runs[0].in_scan.origin, runs[1].in_scan.origin, sizeof runs[1].in_scan.origin) == 0;
}

/* Three pictures for each run; before those of a second one stands where it differs, in place of the same scan. */
static crd_status add_row(crd_page_pictures *pictures, crd_reported_run *runs, int number, int count, crd_planes p[2],
                          double high, const char *where)
{
    static const char *const looks[2][3] = {{"scan", "seg0", "unc0"}, {"differ", "seg1", "unc1"}};
    crd_reported_run *s = &runs[number];
    int64_t width, height;
    crd_picture_size(&p[number].back, s->spacing[1], s->spacing[2], CRD_FIGURE_EDGE, &width, &height);
    pictures->which = "";
    if (number == 1 && comparable(runs, count)) {
        pictures->look = looks[1][0];
        CRD_PASS(crd_figure_difference(pictures, p, width, height, where));
    } else {
        pictures->look = looks[0][0];
        CRD_PASS(crd_figure_grey(pictures, &p[number], width, height, false, where));
    }
    if (count > 1) pictures->which = crd_page_run_names[number];
    pictures->look = looks[number][1];
    CRD_PASS(crd_figure_tinted(pictures, s, &p[number], width, height, where));
    if (s->unc == NULL) return CRD_OK;
    pictures->look = looks[number][2];
    return crd_figure_map(pictures, &p[number], &p[number].unc, high, width, height, s->run.uncertainty.text, where);
}

crd_status crd_page_middle(crd_page_pictures *pictures, crd_reported_run *runs, int count, const crd_stack *stack)
{
    crd_status status = CRD_OK;
    crd_text *page = pictures->page;
    crd_planes p[2];
    char where[96];
    const int64_t z = runs[0].whole.size[0] / 2, first = runs[0].in_scan.origin[0];
    const double high = crd_page_highest(runs, count);
    memset(p, 0, sizeof p);
    snprintf(where, sizeof where, "z = %lld", (long long)(z + first));
    crd_text_add(page, "<div class=\"look\"");
    crd_stack_facts(page, stack, runs, count);
    crd_text_add(page, "><div class=\"pictures three\">");
    for (int i = 0; i < count; i++) {
        if (z >= runs[i].whole.size[0]) continue; /* the second run is smaller */
        CRD_TRY(crd_planes_read(&runs[i], 0, z, false, &p[i]));
        CRD_TRY(add_row(pictures, runs, i, count, p, high, where));
    }
    crd_text_print(page, "</div><p class=\"where\">The middle slice, %s of %lld to %lld.</p></div>", where,
                   (long long)first, (long long)(first + runs[0].whole.size[0] - 1));
    crd_text_add(page, "<div class=\"keys\">");
    if (high > 0.0) crd_figure_bar(page, high, "uncertainty; 99.9 % of the voxels lie in this range");
    add_middle_key(page, runs, count);
    crd_text_add(page, "</div>");
done:
    pictures->which = "";
    pictures->look = NULL;
    for (int i = 0; i < 2; i++) crd_planes_free(&p[i]);
    return status;
}

double crd_page_highest(const crd_reported_run *runs, int count)
{
    double high = 0.0;
    for (int i = 0; i < count; i++) high = fmax(high, runs[i].survey.high);
    return high;
}
