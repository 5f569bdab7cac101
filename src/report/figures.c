/* The pictures of a page: drawn, written beside it, and put into it. */
#include "report/figures.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "draw/colour.h"
#include "draw/raster.h"

#define TINT 0.55

/* A line around what the picture is about, dark at its edges so that it is seen on white and on black. */
static crd_status draw_frame(const crd_page_pictures *pictures, crd_picture *picture)
{
    static const uint32_t colours[] = {0x000000, 0xffffff};
    crd_raster raster = {.picture = picture};
    if (!pictures->framed) return CRD_OK;
    const double x[2] = {pictures->frame[0] * (double)picture->width, pictures->frame[2] * (double)picture->width};
    const double y[2] = {pictures->frame[1] * (double)picture->height, pictures->frame[3] * (double)picture->height};
    for (int i = 0; i < 2; i++) {
        const double pen = i == 0 ? 4.0 : 1.6;
        crd_raster_pen(&raster, false, x[0], y[0], pen);
        crd_raster_pen(&raster, true, x[1], y[0], pen);
        crd_raster_pen(&raster, true, x[1], y[1], pen);
        crd_raster_pen(&raster, true, x[0], y[1], pen);
        crd_raster_pen(&raster, true, x[0], y[0], pen);
        crd_raster_fill(&raster, colours[i], 1.0);
    }
    crd_raster_free(&raster);
    return raster.status;
}

/* Encodes the picture, writes the file NN_name.png, and adds it to the page. */
static crd_status add_picture(crd_page_pictures *pictures, crd_picture *picture, const char *name, const char *alt,
                              const char *caption)
{
    crd_status status = CRD_OK;
    uint8_t *bytes = NULL;
    int64_t count;
    char file[128], *path = NULL;
    crd_text *page = pictures->page;
    CRD_TRY(draw_frame(pictures, picture));
    CRD_TRY(crd_png_encode(picture, &bytes, &count));
    snprintf(file, sizeof file, "%03d_%s.png", ++pictures->count, name);
    CRD_TRY(crd_join_path(pictures->folder, file, "", &path));
    CRD_TRY(crd_write_file(path, bytes, (size_t)count));
    crd_text_print(page, "<figure><img width=\"%lld\" height=\"%lld\"", (long long)picture->width,
                   (long long)picture->height);
    if (pictures->look != NULL) crd_text_print(page, " data-look=\"%s\"", pictures->look);
    crd_text_add(page, " alt=\"");
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
void crd_figure_bar(crd_text *page, double high, const char *words)
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

/* What the mask leaves out is darker, behind a line. */
static crd_status draw_mask(crd_picture *picture, const crd_planes *p)
{
    if (p->outside.values == NULL) return CRD_OK;
    crd_picture_tint(picture, &p->outside, 1.0f, 0x000000, TINT);
    return crd_picture_contour(picture, &p->outside, CRD_FIGURE_MASKED);
}

crd_status crd_figure_grey(crd_page_pictures *pictures, const crd_planes *p, int64_t width, int64_t height,
                           bool contours, const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    char alt[256];
    const char *back = p->scan ? "scan" : "probability";
    CRD_TRY(crd_picture_grey(&p->back, p->low, p->high, width, height, &picture));
    CRD_TRY(draw_mask(&picture, p));
    if (contours && p->label.values != NULL)
        CRD_TRY(crd_picture_contour(&picture, &p->label, crd_class_colours[CRD_FIGURE_LABELLED]));
    if (contours) CRD_TRY(crd_picture_contour(&picture, &p->seg, crd_class_colours[CRD_FIGURE_PREDICTED]));
    if (!contours) {
        CRD_TRY(crd_picture_scale_bar(&picture, p->edge * (double)p->back.columns / (double)width, p->unit));
    }
    snprintf(alt, sizeof alt, contours ? "Outline of the segmentation over the %s, %s" : "The %s, %s", back, where);
    CRD_TRY(add_picture(pictures, &picture, contours ? "contour" : back, alt, contours ? "segmentation" : back));
done:
    crd_picture_free(&picture);
    return status;
}

crd_status crd_figure_classes(crd_page_pictures *pictures, const crd_planes *p, const crd_plane *plane, int64_t width,
                              int64_t height, const char *name, const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    char alt[256];
    CRD_TRY(crd_picture_classes(plane, width, height, &picture));
    CRD_TRY(draw_mask(&picture, p));
    snprintf(alt, sizeof alt, "Classes of the %s, %s", name, where);
    CRD_TRY(add_picture(pictures, &picture, name, alt, name));
done:
    crd_picture_free(&picture);
    return status;
}

/* What was predicted: an outline over the scan, or of more than two classes all in their colours. */
crd_status crd_figure_segmentation(crd_page_pictures *pictures, const crd_planes *p, int64_t width, int64_t height,
                                   const char *where)
{
    if (!p->classes) return crd_figure_grey(pictures, p, width, height, true, where);
    return crd_figure_classes(pictures, p, &p->seg, width, height, "segmentation", where);
}

crd_status crd_figure_map(crd_page_pictures *pictures, const crd_planes *p, const crd_plane *plane, double high,
                          int64_t width, int64_t height, const char *name, const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    char alt[256], caption[96];
    CRD_TRY(crd_picture_map(plane, high, width, height, &picture));
    CRD_TRY(draw_mask(&picture, p));
    CRD_TRY(crd_picture_scale_bar(&picture, p->edge * (double)plane->columns / (double)width, p->unit));
    snprintf(alt, sizeof alt, "Uncertainty %s, %s", name, where);
    snprintf(caption, sizeof caption, "uncertainty %s", name);
    CRD_TRY(add_picture(pictures, &picture, "uncertainty", alt, caption));
done:
    crd_picture_free(&picture);
    return status;
}

/* Scan, segmentation and uncertainty, in one look: classes as a tint over the scan, of two the foreground alone. */
crd_status crd_figure_difference(crd_page_pictures *pictures, const crd_planes p[2], int64_t width, int64_t height,
                                 const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    crd_plane differ = {.rows = p[0].seg.rows, .columns = p[0].seg.columns};
    char alt[256];
    CRD_TRY(crd_alloc(differ.rows * differ.columns, sizeof *differ.values, "a picture", &differ.values));
    for (int64_t i = 0; i < differ.rows * differ.columns; i++) {
        const float a = p[0].seg.values[i], b = p[1].seg.values[i];
        bool counts = true;
        for (int k = 0; k < 2; k++) counts &= p[k].outside.values == NULL || p[k].outside.values[i] == 0.0f;
        differ.values[i] = counts && (p[0].classes ? a != b : (a > 0.5f) != (b > 0.5f));
    }
    CRD_TRY(crd_picture_grey(&p[0].back, p[0].low, p[0].high, width, height, &picture));
    crd_picture_tint(&picture, &differ, 1.0f, crd_class_colours[CRD_FIGURE_LABELLED], TINT);
    CRD_TRY(draw_mask(&picture, &p[0]));
    CRD_TRY(crd_picture_scale_bar(&picture, p[0].edge * (double)differ.columns / (double)width, p[0].unit));
    snprintf(alt, sizeof alt, "Where the two segmentations differ, over the scan, %s", where);
    CRD_TRY(add_picture(pictures, &picture, "difference", alt, "where the two segmentations differ"));
done:
    crd_plane_free(&differ);
    crd_picture_free(&picture);
    return status;
}

crd_status crd_figure_tinted(crd_page_pictures *pictures, const crd_reported_run *s, const crd_planes *p, int64_t width,
                             int64_t height, const char *where)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    char alt[256];
    CRD_TRY(crd_picture_grey(&p->back, p->low, p->high, width, height, &picture));
    if (s->class_count == 2) {
        for (int64_t i = 0; i < p->seg.rows * p->seg.columns; i++) p->seg.values[i] = p->seg.values[i] > 0.5f;
        crd_picture_tint(&picture, &p->seg, 1.0f, crd_class_colours[CRD_FIGURE_PREDICTED], TINT);
    }
    for (int k = 0; s->class_count > 2 && k < s->class_count; k++) {
        crd_picture_tint(&picture, &p->seg, (float)k, crd_class_colours[k], TINT);
    }
    CRD_TRY(draw_mask(&picture, p));
    CRD_TRY(crd_picture_scale_bar(&picture, p->edge * (double)p->back.columns / (double)width, p->unit));
    snprintf(alt, sizeof alt, "The segmentation over the scan, %s", where);
    CRD_TRY(add_picture(pictures, &picture, "segmentation", alt, "segmentation"));
done:
    crd_picture_free(&picture);
    return status;
}
