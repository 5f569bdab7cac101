/* The middle slice: scan, segmentation and uncertainty side by side. */
#include <math.h>
#include <stdio.h>

#include "draw/colour.h"
#include "report/figures.h"

static const char *name_of(const crd_reported_run *s, int number)
{
    return s->class_count > 2 ? s->run.classes[number].name : number == 1 ? "foreground" : "background";
}

void crd_page_mask_key(crd_text *page, const crd_reported_run *s)
{
    if (s->mask == NULL) return;
    crd_text_print(page, "<span><i style=\"background:#%06x\"></i>mask: ", (unsigned)CRD_FIGURE_MASKED);
    crd_text_html(page, s->mask_name);
    crd_text_add(page, "; what lies outside counts nowhere</span>");
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
            crd_text_html(page, name_of(s, k));
            crd_text_add(page, "</span>");
        }
    }
    crd_page_mask_key(page, &runs[0]);
    crd_text_add(page, "</p>");
}

crd_status crd_page_middle(crd_page_pictures *pictures, crd_reported_run *runs, int count)
{
    crd_status status = CRD_OK;
    crd_text *page = pictures->page;
    crd_planes p = {0};
    char where[96];
    const int64_t z = runs[0].whole.size[0] / 2;
    double high = 0.0;
    for (int i = 0; i < count; i++) high = fmax(high, runs[i].survey.high);
    snprintf(where, sizeof where, "z = %lld", (long long)(z + runs[0].in_scan.origin[0]));
    crd_text_add(page, "<div class=\"look\"><div class=\"pictures three\">");
    for (int i = 0; i < count; i++) {
        crd_reported_run *s = &runs[i];
        int64_t width, height;
        if (z >= s->whole.size[0]) continue; /* the second run is smaller */
        CRD_TRY(crd_planes_read(s, 0, z, false, &p));
        crd_picture_size(&p.back, s->spacing[1], s->spacing[2], CRD_FIGURE_EDGE, &width, &height);
        pictures->which = "";
        CRD_TRY(crd_figure_grey(pictures, &p, width, height, false, where));
        if (count > 1) pictures->which = crd_page_run_names[i];
        CRD_TRY(crd_figure_tinted(pictures, s, &p, width, height, where));
        if (s->unc != NULL) CRD_TRY(crd_figure_map(pictures, &p, &p.unc, high, width, height, s->run.uncertainty.text, where));
        crd_planes_free(&p);
    }
    crd_text_add(page, "</div>");
    crd_text_print(page, "<p class=\"where\">The middle slice, %s of %lld to %lld.</p></div>", where,
                   (long long)runs[0].in_scan.origin[0],
                   (long long)(runs[0].in_scan.origin[0] + runs[0].whole.size[0] - 1));
    add_middle_key(page, runs, count);
    if (high > 0.0) crd_figure_bar(page, high, "uncertainty; 99.9 % of the voxels lie in this range");
done:
    pictures->which = "";
    crd_planes_free(&p);
    return status;
}
