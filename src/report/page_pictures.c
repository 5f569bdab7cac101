/* The pictures of a page: drawn, written beside it, and put into it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "draw/colour.h"
#include "draw/slice.h"
#include "report/page.h"

enum { PREDICTED, LABELLED }; /* numbers of crd_class_colours */
enum { EDGE = 448, CROP = 64, CROP_EDGE = 192, CHOICES = 5 };

static const char *const axis_names[] = {"z", "y", "x"};

typedef struct choice {
    int64_t index;
    char why[64];
} choice;

/* Encodes the picture, writes the file NN_name.png, and adds it to the page. */
static crd_status add(crd_page_pictures *pictures, const crd_picture *picture, const char *name, const char *alt,
                      const char *caption)
{
    crd_status status = CRD_OK;
    uint8_t *bytes = NULL;
    int64_t count;
    char file[128], *path = NULL;
    crd_text *page = pictures->page;
    CRD_TRY(crd_png_encode(picture, &bytes, &count));
    snprintf(file, sizeof file, "%03d_%s.png", ++pictures->count, name);
    CRD_TRY(crd_join_path(pictures->folder, file, "", &path));
    CRD_TRY(crd_write_file(path, bytes, (size_t)count));
    crd_text_print(page, "<figure><img width=\"%lld\" height=\"%lld\" alt=\"", (long long)picture->width,
                   (long long)picture->height);
    crd_text_html(page, pictures->which);
    crd_text_html(page, alt);
    crd_text_add(page, "\" src=\"data:image/png;base64,");
    crd_text_base64(page, bytes, count);
    crd_text_add(page, "\">");
    if (caption != NULL) {
        crd_text_add(page, "<figcaption>");
        crd_text_html(page, pictures->which);
        crd_text_html(page, caption);
        crd_text_add(page, "</figcaption>");
    }
    crd_text_add(page, "</figure>");
    status = page->status;
done:
    crd_free(&bytes);
    crd_free(&path);
    return status;
}

/* Colour bar from 0 to `high`. */
static void add_bar(crd_text *page, double high, const char *words)
{
    uint8_t colours[CRD_COLOURS][3];
    crd_colour_map(colours);
    crd_text_add(page, "<div class=\"bar\" role=\"img\" aria-label=\"Colour bar: black is 0, white is ");
    crd_text_number(page, high, 3, "");
    crd_text_add(page, "\"><span>0</span><i style=\"background:linear-gradient(90deg");
    for (int i = 0; i < CRD_COLOURS; i += 15) {
        crd_text_print(page, ",#%02x%02x%02x", colours[i][0], colours[i][1], colours[i][2]);
    }
    crd_text_add(page, ")\"></i><span>");
    crd_text_number(page, high, 3, "");
    crd_text_add(page, "</span><em>");
    crd_text_html(page, words);
    crd_text_add(page, "</em></div>");
}

/* Of those that are numbers; 0 where none is. */
static int64_t highest(const double *values, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        if (values[i] > values[best] || isnan(values[best])) best = i;
    }
    return isnan(values[best]) ? 0 : best;
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
        choose(choices, &count, highest(s->survey.uncertainty[axis], n), "most uncertain");
    }
    if (s->survey.wrong[axis] != NULL) choose(choices, &count, highest(s->survey.wrong[axis], n), "most wrong");
    if (axis == 0) choose(choices, &count, n / 4, "a quarter down");
    choose(choices, &count, n / 2, "middle");
    if (axis == 0) choose(choices, &count, 3 * n / 4, "three quarters down");
    return count;
}

/* Plane number `index` across `axis`, of the box `box` of the volume: rows and columns are the other two axes. Values
 * are multiplied by `scale`; what is no number becomes 0. */
static crd_status read_plane(crd_volume *volume, double scale, const crd_box *box, int axis, int64_t index,
                             crd_plane *out)
{
    crd_box slice = *box;
    slice.origin[axis] += index;
    slice.size[axis] = 1;
    out->rows = slice.size[axis == 0 ? 1 : 0];
    out->columns = slice.size[axis == 2 ? 1 : 2];
    CRD_PASS(crd_alloc(out->rows * out->columns, sizeof *out->values, "a picture", &out->values));
    CRD_PASS(crd_volume_read(volume, &slice, CRD_F32, out->values));
    const float factor = (float)scale;
    for (int64_t i = 0; i < out->rows * out->columns; i++) {
        out->values[i] = isfinite(out->values[i]) ? out->values[i] * factor : 0.0f;
    }
    return CRD_OK;
}

static crd_status read_label(crd_reported_run *s, int axis, int64_t index, crd_plane *out)
{
    crd_status status = CRD_OK;
    uint8_t *classes = NULL;
    crd_box box = s->in_label;
    box.origin[axis] += index;
    box.size[axis] = 1;
    out->rows = box.size[axis == 0 ? 1 : 0];
    out->columns = box.size[axis == 2 ? 1 : 2];
    CRD_TRY(crd_alloc(out->rows * out->columns, sizeof *out->values, "a picture", &out->values));
    CRD_TRY(crd_alloc(out->rows * out->columns, 1, "a picture", &classes));
    CRD_TRY(crd_label_read(s->label, &box, classes));
    for (int64_t i = 0; i < out->rows * out->columns; i++) {
        out->values[i] = s->class_count == 2 ? (float)(classes[i] == 1) : (float)classes[i];
    }
done:
    crd_free(&classes);
    return status;
}

/* All that a slice shows. */
typedef struct planes {
    crd_plane back, seg, label, unc, maps[4];
    bool classes;     /* seg and label hold numbers of more than two */
    double low, high; /* greys */
    bool scan;
    double edge; /* of a row's voxels, 0: not known */
    const char *unit;
} planes;

static void free_planes(planes *p)
{
    crd_plane_free(&p->back);
    crd_plane_free(&p->seg);
    crd_plane_free(&p->label);
    crd_plane_free(&p->unc);
    for (int i = 0; i < 4; i++) crd_plane_free(&p->maps[i]);
}

static crd_status read_planes(crd_reported_run *s, int axis, int64_t index, bool maps, planes *p)
{
    p->scan = s->scan != NULL;
    p->low = p->scan ? s->scan_low : 0.0;
    p->high = p->scan ? s->scan_high : 1.0;
    p->edge = s->spacing[axis == 2 ? 1 : 2];
    p->unit = crd_page_unit(s);
    if (p->scan) {
        CRD_PASS(read_plane(s->scan, 1.0, &s->in_scan, axis, index, &p->back));
    } else if (s->prob != NULL) {
        CRD_PASS(read_plane(s->prob, s->prob_scale, &s->whole, axis, index, &p->back));
    } else {
        CRD_PASS(read_plane(s->seg, 1.0, &s->whole, axis, index, &p->back));
    }
    p->classes = s->class_count > 2;
    if (s->seg != NULL) {
        CRD_PASS(read_plane(s->seg, 1.0, &s->whole, axis, index, &p->seg));
        for (int64_t i = 0; p->classes && i < p->seg.rows * p->seg.columns; i++) {
            p->seg.values[i] = (float)crd_reported_class(s, p->seg.values[i]);
        }
    } else {
        CRD_PASS(read_plane(s->prob, s->prob_scale, &s->whole, axis, index, &p->seg));
    }
    if (s->label != NULL) CRD_PASS(read_label(s, axis, index, &p->label));
    if (s->unc != NULL) CRD_PASS(read_plane(s->unc, s->unc_scale, &s->whole, axis, index, &p->unc));
    for (int64_t i = 0; maps && i < s->map_count; i++) {
        CRD_PASS(read_plane(s->maps[i], s->map_scales[i], &s->whole, axis, index, &p->maps[i]));
    }
    return CRD_OK;
}

static crd_status add_grey(crd_page_pictures *pictures, const planes *p, int64_t width, int64_t height, bool contours,
                           const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    char alt[256];
    const char *back = p->scan ? "scan" : "probability";
    CRD_TRY(crd_picture_grey(&p->back, p->low, p->high, width, height, &picture));
    if (contours && p->label.values != NULL)
        CRD_TRY(crd_picture_contour(&picture, &p->label, crd_class_colours[LABELLED]));
    if (contours) CRD_TRY(crd_picture_contour(&picture, &p->seg, crd_class_colours[PREDICTED]));
    if (!contours) {
        CRD_TRY(crd_picture_scale_bar(&picture, p->edge * (double)p->back.columns / (double)width, p->unit));
    }
    snprintf(alt, sizeof alt, contours ? "Outline of the segmentation over the %s, %s" : "The %s, %s", back, where);
    CRD_TRY(add(pictures, &picture, contours ? "contour" : back, alt, contours ? "segmentation" : back));
done:
    crd_picture_free(&picture);
    return status;
}

static crd_status add_class_picture(crd_page_pictures *pictures, const crd_plane *plane, int64_t width, int64_t height,
                                    const char *name, const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    char alt[256];
    CRD_TRY(crd_picture_classes(plane, width, height, &picture));
    snprintf(alt, sizeof alt, "Classes of the %s, %s", name, where);
    CRD_TRY(add(pictures, &picture, name, alt, name));
done:
    crd_picture_free(&picture);
    return status;
}

/* What was predicted: an outline over the scan, or of more than two classes all in their colours. */
static crd_status add_segmentation(crd_page_pictures *pictures, const planes *p, int64_t width, int64_t height,
                                   const char *where)
{
    if (!p->classes) return add_grey(pictures, p, width, height, true, where);
    return add_class_picture(pictures, &p->seg, width, height, "segmentation", where);
}

static crd_status add_map(crd_page_pictures *pictures, const crd_plane *plane, double high, int64_t width,
                          int64_t height, const char *name, const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    char alt[256], caption[96];
    CRD_TRY(crd_picture_map(plane, high, width, height, &picture));
    snprintf(alt, sizeof alt, "Uncertainty %s, %s", name, where);
    snprintf(caption, sizeof caption, "uncertainty %s", name);
    CRD_TRY(add(pictures, &picture, "uncertainty", alt, caption));
done:
    crd_picture_free(&picture);
    return status;
}

static const char *const run_names[2] = {"Run A: ", "Run B: "};

static double largest_of(const crd_plane *plane)
{
    double high = 1e-6;
    for (int64_t i = 0; i < plane->rows * plane->columns; i++) high = fmax(high, (double)plane->values[i]);
    return high;
}

/* The maps of all intervals side by side, in one scale that suits the widest. */
static crd_status add_intervals(crd_page_pictures *pictures, crd_reported_run *runs, int count, const planes p[2],
                                const int64_t width[2], const int64_t height[2], const char *where)
{
    double high = 0.0;
    for (int k = 0; k < count; k++) {
        if (p[k].unc.values != NULL && runs[k].map_count > 0) {
            high = fmax(high, largest_of(&p[k].maps[runs[k].map_count - 1]));
        }
    }
    if (high == 0.0) return CRD_OK;
    add_bar(pictures->page, high, "all intervals of this slice in one scale: how the uncertainty grows");
    crd_text_add(pictures->page, "<div class=\"pictures\">");
    for (int k = 0; k < count; k++) {
        const crd_reported_run *s = &runs[k];
        if (p[k].unc.values == NULL || s->map_count == 0) continue;
        if (count > 1) pictures->which = run_names[k];
        CRD_PASS(add_map(pictures, &p[k].unc, high, width[k], height[k], s->run.uncertainty.text, where));
        for (int64_t i = 0; i < s->map_count; i++) {
            CRD_PASS(add_map(pictures, &p[k].maps[i], high, width[k], height[k], s->map_names[i], where));
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
    planes p[2];
    char where[160];
    int64_t width[2] = {0}, height[2] = {0};
    memset(p, 0, sizeof p);
    snprintf(where, sizeof where, "%s = %lld (%s)", axis_names[axis],
             (long long)(c->index + runs[0].in_scan.origin[axis]), c->why);
    crd_text_add(pictures->page, "<div class=\"pictures\">");
    for (int i = 0; i < count; i++) {
        crd_reported_run *s = &runs[i];
        if (c->index >= s->whole.size[axis]) continue; /* the second run is smaller */
        CRD_TRY(read_planes(s, axis, c->index, maps, &p[i]));
        crd_picture_size(&p[i].back, s->spacing[axis == 0 ? 1 : 0], s->spacing[axis == 2 ? 1 : 2], EDGE, &width[i],
                         &height[i]);
        pictures->which = "";
        if (i == 0) CRD_TRY(add_grey(pictures, &p[i], width[i], height[i], false, where));
        if (i == 0 && p[i].classes && p[i].label.values != NULL) {
            CRD_TRY(add_class_picture(pictures, &p[i].label, width[i], height[i], "label", where));
        }
        if (count > 1) pictures->which = run_names[i];
        CRD_TRY(add_segmentation(pictures, &p[i], width[i], height[i], where));
        if (s->unc != NULL)
            CRD_TRY(add_map(pictures, &p[i].unc, high, width[i], height[i], s->run.uncertainty.text, where));
    }
    crd_text_add(pictures->page, "</div>");
    if (maps) CRD_TRY(add_intervals(pictures, runs, count, p, width, height, where));
done:
    pictures->which = "";
    for (int i = 0; i < 2; i++) free_planes(&p[i]);
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
        crd_text_number(page, s->survey.uncertainty[axis][c->index], 3, "n/a");
    }
    if (s->survey.wrong[axis] != NULL) {
        const double wrong = s->survey.wrong[axis][c->index];
        crd_text_add(page, " \xc2\xb7 ");
        crd_text_number(page, 100.0 * wrong, 3, "no label here");
        if (!isnan(wrong)) crd_text_add(page, " % of the voxels wrong");
    }
    crd_text_add(page, "</small></h4>");
}

static void add_outline_key(crd_text *page, bool label)
{
    crd_text_print(page, "<p class=\"key\"><span><i style=\"background:#%06x\"></i>outline of the segmentation</span>",
                   (unsigned)crd_class_colours[PREDICTED]);
    if (label) {
        crd_text_print(page, "<span><i style=\"background:#%06x\"></i>outline of the label, where they differ</span>",
                       (unsigned)crd_class_colours[LABELLED]);
    }
    crd_text_add(page, "</p>");
}

crd_status crd_page_slices(crd_page_pictures *pictures, crd_reported_run *runs, int count)
{
    double high = 0.0;
    bool label = false;
    for (int i = 0; i < count; i++) {
        high = fmax(high, runs[i].survey.high);
        label |= runs[i].label != NULL;
    }
    for (int i = 0; i < count; i++) {
        if (runs[i].class_count > 2 && (i == 0 || !crd_page_same_classes(runs))) {
            crd_page_class_key(pictures->page, &runs[i]);
        }
    }
    if (runs[0].class_count == 2) add_outline_key(pictures->page, label);
    if (high > 0.0) add_bar(pictures->page, high, "uncertainty; 99.9 % of the voxels lie in this range");
    for (int axis = 0; axis < 3; axis++) {
        choice choices[CHOICES];
        const int chosen = choose_slices(&runs[0], axis, choices);
        crd_text_print(pictures->page, "<h3>Slices across %s</h3>", axis_names[axis]);
        for (int c = 0; c < chosen; c++) {
            name_slice(pictures->page, &runs[0], count > 1 ? run_names[0] : "", axis, &choices[c]);
            CRD_PASS(add_slice(pictures, runs, count, axis, &choices[c], c == 0, high));
        }
    }
    return pictures->page->status;
}

/* Where a crop around `centre` begins: inside the plane, as far as that is large enough. */
static int64_t crop_begin(int64_t centre, int64_t count)
{
    const int64_t last = count > CROP ? count - CROP : 0, wanted = centre - CROP / 2;
    return wanted < 0 ? 0 : wanted > last ? last : wanted;
}

static crd_status cropped(crd_plane *plane, int64_t row, int64_t column)
{
    crd_plane crop = {0};
    if (plane->values == NULL) return CRD_OK;
    const int64_t top = crop_begin(row, plane->rows), left = crop_begin(column, plane->columns);
    CRD_PASS(crd_plane_crop(plane, top, left, CROP, CROP, &crop));
    crd_plane_free(plane);
    *plane = crop;
    return CRD_OK;
}

static crd_status add_crop(crd_page_pictures *pictures, crd_reported_run *s, const crd_region *region, int number)
{
    crd_status status = CRD_OK;
    planes p = {0};
    char where[96];
    snprintf(where, sizeof where, "region %d, across z at its centre", number);
    CRD_TRY(read_planes(s, 0, region->centre[0], false, &p));
    crd_plane *all[] = {&p.back, &p.seg, &p.label, &p.unc};
    for (int i = 0; i < 4; i++) CRD_TRY(cropped(all[i], region->centre[1], region->centre[2]));
    if (p.classes) CRD_TRY(add_grey(pictures, &p, CROP_EDGE, CROP_EDGE, false, where));
    CRD_TRY(add_segmentation(pictures, &p, CROP_EDGE, CROP_EDGE, where));
    CRD_TRY(add_map(pictures, &p.unc, s->survey.high, CROP_EDGE, CROP_EDGE, s->run.uncertainty.text, where));
done:
    free_planes(&p);
    return status;
}

crd_status crd_page_regions(crd_page_pictures *pictures, crd_reported_run *s)
{
    crd_text *page = pictures->page;
    const bool sized = s->spacing[0] > 0.0 && s->spacing[1] > 0.0 && s->spacing[2] > 0.0;
    crd_text_add(page, "<div class=\"regions\">");
    for (int i = 0; i < s->survey.region_count; i++) {
        const crd_region *r = &s->survey.regions[i];
        const int64_t *o = s->in_scan.origin;
        crd_text_print(page, "<article><h4>%d</h4><div class=\"crops%s\">", i + 1, s->class_count > 2 ? " three" : "");
        CRD_PASS(add_crop(pictures, s, r, i + 1));
        crd_text_print(page,
                       "</div><dl><dt>centre z, y, x</dt><dd>%lld, %lld, %lld</dd><dt>from</dt><dd>%lld, %lld, "
                       "%lld</dd><dt>to</dt><dd>%lld, %lld, %lld</dd><dt>size</dt><dd>%lld voxels",
                       (long long)(r->centre[0] + o[0]), (long long)(r->centre[1] + o[1]),
                       (long long)(r->centre[2] + o[2]), (long long)(r->low[0] + o[0]), (long long)(r->low[1] + o[1]),
                       (long long)(r->low[2] + o[2]), (long long)(r->high[0] + o[0] - 1),
                       (long long)(r->high[1] + o[1] - 1), (long long)(r->high[2] + o[2] - 1), (long long)r->voxels);
        if (sized) {
            crd_text_add(page, ", ");
            crd_text_number(page, (double)r->voxels * s->spacing[0] * s->spacing[1] * s->spacing[2], 4, "");
            crd_text_add(page, " ");
            crd_text_html(page, crd_page_unit(s));
            crd_text_add(page, "\xc2\xb3");
        }
        crd_text_add(page, "</dd><dt>mean uncertainty</dt><dd>");
        crd_text_number(page, r->mean, 3, "");
        crd_text_add(page, "</dd></dl></article>");
    }
    crd_text_add(page, "</div>");
    return page->status;
}
