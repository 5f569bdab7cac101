/* Slices across all three axes, chosen where they matter. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/colour.h"
#include "report/figures.h"

enum { CHOICES = 6 };

static const char *const axis_names[] = {"z", "y", "x"};

typedef struct choice {
    int64_t index;
    char why[96];
} choice;

/* The highest mean of those slices that have at least half as many voxels as the fullest one: a few voxels are high by
 * chance. `total`: the highest sum. */
static int64_t highest(const double *means, const double *voxels, int64_t count, bool total)
{
    double fullest = 0.0, most = -1.0;
    int64_t best = 0;
    for (int64_t i = 0; i < count; i++) fullest = fmax(fullest, voxels[i]);
    for (int64_t i = 0; i < count; i++) {
        const double value = total ? means[i] * voxels[i] : means[i];
        if (!(value > most) || (!total && voxels[i] < 0.5 * fullest)) continue;
        most = value;
        best = i;
    }
    return best;
}

static void choose(choice *choices, int *count, int64_t index, const char *why)
{
    for (int i = 0; i < *count; i++) {
        if (choices[i].index != index) continue;
        const size_t used = strlen(choices[i].why);
        snprintf(choices[i].why + used, sizeof choices[i].why - used, ", %s", why);
        return;
    }
    choices[*count].index = index;
    snprintf(choices[*count].why, sizeof choices[*count].why, "%s", why);
    ++*count;
}

/* The most uncertain, the most wrong, and some at even distances: more of those across z, the usual view. */
static int choose_slices(const crd_reported_run *s, int axis, choice *choices)
{
    const int64_t n = s->whole.size[axis];
    int count = 0;
    if (s->survey.uncertainty[axis] != NULL) {
        choose(choices, &count, highest(s->survey.uncertainty[axis], s->survey.inside[axis], n, false),
               "most uncertain");
    }
    if (s->survey.wrong[axis] != NULL) {
        choose(choices, &count, highest(s->survey.wrong[axis], s->survey.labelled[axis], n, true), "most wrong voxels");
        choose(choices, &count, highest(s->survey.wrong[axis], s->survey.labelled[axis], n, false),
               "largest share wrong");
    }
    if (axis == 0) choose(choices, &count, n / 4, "a quarter down");
    choose(choices, &count, n / 2, "middle");
    if (axis == 0) choose(choices, &count, 3 * n / 4, "three quarters down");
    return count;
}

static double largest_of(const crd_plane *plane)
{
    double high = 1e-6;
    for (int64_t i = 0; i < plane->rows * plane->columns; i++) high = fmax(high, (double)plane->values[i]);
    return high;
}

/* The maps of all intervals side by side, in one scale that suits the widest. */
static crd_status add_intervals(crd_page_pictures *pictures, crd_reported_run *runs, int count, const crd_planes p[2],
                                const int64_t width[2], const int64_t height[2], const char *where)
{
    double high = 0.0;
    for (int k = 0; k < count; k++) {
        if (p[k].unc.values != NULL && runs[k].map_count > 0) {
            high = fmax(high, largest_of(&p[k].maps[runs[k].map_count - 1]));
        }
    }
    if (high == 0.0) return CRD_OK;
    crd_figure_bar(pictures->page, high, "all intervals of this slice in one scale: how the uncertainty grows");
    crd_text_add(pictures->page, "<div class=\"pictures three\">");
    for (int k = 0; k < count; k++) {
        const crd_reported_run *s = &runs[k];
        if (p[k].unc.values == NULL || s->map_count == 0) continue;
        if (count > 1) pictures->which = crd_page_run_names[k];
        CRD_PASS(crd_figure_map(pictures, &p[k], &p[k].unc, high, width[k], height[k], s->run.uncertainty.text, where));
        for (int64_t i = 0; i < s->map_count; i++) {
            CRD_PASS(crd_figure_map(pictures, &p[k], &p[k].maps[i], high, width[k], height[k], s->map_names[i], where));
        }
    }
    crd_text_add(pictures->page, "</div>");
    return CRD_OK;
}

/* One slice of all runs in one row: the scan once, then segmentation and map of each. Further intervals follow. */
static crd_status add_slice(crd_page_pictures *pictures, crd_reported_run *runs, int count, int axis, const choice *c,
                            bool maps, double high)
{
    crd_status status = CRD_OK;
    crd_planes p[2];
    char where[160];
    int64_t width[2] = {0}, height[2] = {0};
    memset(p, 0, sizeof p);
    snprintf(where, sizeof where, "%s = %lld (%s)", axis_names[axis],
             (long long)(c->index + runs[0].in_scan.origin[axis]), c->why);
    crd_text_add(pictures->page, "<div class=\"pictures\">");
    for (int i = 0; i < count; i++) {
        crd_reported_run *s = &runs[i];
        if (c->index >= s->whole.size[axis]) continue; /* the second run is smaller */
        CRD_TRY(crd_planes_read(s, axis, c->index, maps, &p[i]));
        crd_picture_size(&p[i].back, s->spacing[axis == 0 ? 1 : 0], s->spacing[axis == 2 ? 1 : 2], CRD_FIGURE_EDGE,
                         &width[i], &height[i]);
        pictures->which = "";
        if (i == 0) CRD_TRY(crd_figure_grey(pictures, &p[i], width[i], height[i], false, where));
        if (i == 0 && p[i].classes && p[i].label.values != NULL) {
            CRD_TRY(crd_figure_classes(pictures, &p[i], &p[i].label, width[i], height[i], "label", where));
        }
        if (count > 1) pictures->which = crd_page_run_names[i];
        CRD_TRY(crd_figure_segmentation(pictures, &p[i], width[i], height[i], where));
        if (s->unc != NULL)
            CRD_TRY(
                crd_figure_map(pictures, &p[i], &p[i].unc, high, width[i], height[i], s->run.uncertainty.text, where));
    }
    crd_text_add(pictures->page, "</div>");
    if (maps) CRD_TRY(add_intervals(pictures, runs, count, p, width, height, where));
done:
    pictures->which = "";
    for (int i = 0; i < 2; i++) crd_planes_free(&p[i]);
    return status;
}

/* `run` is whose figures they are, "" where there is one only. */
static void name_slice(crd_text *page, const crd_reported_run *s, const char *run, int axis, const choice *c)
{
    crd_text_print(page, "<h4>%s = %lld <small>", axis_names[axis], (long long)(c->index + s->in_scan.origin[axis]));
    crd_text_html(page, run);
    crd_text_html(page, c->why);
    if (s->survey.uncertainty[axis] != NULL) {
        crd_text_add(page, " \xc2\xb7 mean uncertainty ");
        crd_text_number(page, s->survey.uncertainty[axis][c->index], 3, "");
    }
    if (s->survey.wrong[axis] != NULL) {
        const double wrong = s->survey.wrong[axis][c->index];
        crd_text_add(page, " \xc2\xb7 ");
        if (isnan(wrong)) {
            crd_text_add(page, "no label here");
        } else {
            crd_text_print(page, "%.0f voxels wrong, ", wrong * s->survey.labelled[axis][c->index]);
            crd_text_number(page, 100.0 * wrong, 3, "");
            crd_text_add(page, " % of those labelled");
        }
    }
    crd_text_add(page, "</small></h4>");
}

void crd_page_outline_key(crd_text *page, const crd_reported_run *runs, int count, bool label)
{
    crd_text_print(page, "<p class=\"key\"><span><i style=\"background:#%06x\"></i>outline of the segmentation</span>",
                   (unsigned)crd_class_colours[CRD_FIGURE_PREDICTED]);
    if (label) {
        crd_text_print(page, "<span><i style=\"background:#%06x\"></i>outline of the label, where they differ</span>",
                       (unsigned)crd_class_colours[CRD_FIGURE_LABELLED]);
    }
    crd_page_mask_key(page, runs, count);
    crd_text_add(page, "</p>");
}

crd_status crd_page_slices(crd_page_pictures *pictures, crd_reported_run *runs, int count)
{
    const double high = crd_page_highest(runs, count);
    bool label = false;
    crd_text_add(pictures->page, "<section id=\"slices\"><h2>Slices</h2>");
    for (int i = 0; i < count; i++) label |= runs[i].label != NULL;
    for (int i = 0; i < count; i++) {
        if (runs[i].class_count > 2 && (i == 0 || !crd_page_same_classes(runs))) {
            crd_page_class_key(pictures->page, &runs[i]);
        }
    }
    if (runs[0].class_count == 2) {
        crd_page_outline_key(pictures->page, runs, count, label);
    } else {
        crd_text_add(pictures->page, "<p class=\"key\">");
        crd_page_mask_key(pictures->page, runs, count);
        crd_text_add(pictures->page, "</p>");
    }
    if (high > 0.0) crd_figure_bar(pictures->page, high, "uncertainty; 99.9 % of the voxels lie in this range");
    for (int axis = 0; axis < 3; axis++) {
        choice choices[CHOICES];
        const int chosen = choose_slices(&runs[0], axis, choices);
        crd_text_print(pictures->page, "<h3>Slices across %s</h3>", axis_names[axis]);
        for (int c = 0; c < chosen; c++) {
            name_slice(pictures->page, &runs[0], count > 1 ? crd_page_run_names[0] : "", axis, &choices[c]);
            CRD_PASS(add_slice(pictures, runs, count, axis, &choices[c], c == 0, high));
        }
    }
    crd_text_add(pictures->page, "</section>");
    return pictures->page->status;
}
