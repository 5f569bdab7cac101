/* The most uncertain regions, each with a crop around it. */
#include <stdio.h>

#include "report/figures.h"

enum { CROP = 64, CROP_EDGE = 192 };

/* Where a crop around `centre` begins: inside the plane, as far as that is large enough. */
static int64_t crop_begin(int64_t centre, int64_t count)
{
    const int64_t last = count > CROP ? count - CROP : 0, wanted = centre - CROP / 2;
    return wanted < 0 ? 0 : wanted > last ? last : wanted;
}

static crd_status cropped(crd_plane *plane, int64_t top, int64_t left)
{
    crd_plane crop = {0};
    if (plane->values == NULL) return CRD_OK;
    CRD_PASS(crd_plane_crop(plane, top, left, CROP, CROP, &crop));
    crd_plane_free(plane);
    *plane = crop;
    return CRD_OK;
}

static crd_status add_crop(crd_page_pictures *pictures, crd_reported_run *s, const crd_region *region, int number)
{
    crd_status status = CRD_OK;
    crd_planes p = {0};
    char where[96];
    snprintf(where, sizeof where, "region %d, across z at its centre", number);
    CRD_TRY(crd_planes_read(s, 0, region->centre[0], false, &p));
    crd_plane *all[] = {&p.back, &p.seg, &p.label, &p.unc, &p.outside};
    const int64_t top = crop_begin(region->centre[1], p.back.rows);
    const int64_t left = crop_begin(region->centre[2], p.back.columns);
    for (int i = 0; i < 5; i++) CRD_TRY(cropped(all[i], top, left));
    pictures->framed = true;
    pictures->frame[0] = (double)(region->low[2] - left) / CROP;
    pictures->frame[1] = (double)(region->low[1] - top) / CROP;
    pictures->frame[2] = (double)(region->high[2] - left) / CROP;
    pictures->frame[3] = (double)(region->high[1] - top) / CROP;
    if (p.classes) CRD_TRY(crd_figure_grey(pictures, &p, CROP_EDGE, CROP_EDGE, false, where));
    CRD_TRY(crd_figure_segmentation(pictures, &p, CROP_EDGE, CROP_EDGE, where));
    CRD_TRY(crd_figure_map(pictures, &p, &p.unc, s->survey.high, CROP_EDGE, CROP_EDGE, s->run.uncertainty.text, where));
done:
    pictures->framed = false;
    crd_planes_free(&p);
    return status;
}

/* The place in the viewer, in its own notation: it opens there in a browser that has the viewer's key. */
static void add_link(crd_text *page, const crd_region *r, const int64_t origin[3])
{
    crd_text_print(page,
                   "<p class=\"note\"><a href=\"http://127.0.0.1:8471/#at=%lld,%lld,%lld&amp;zoom=4\">show in credence "
                   "view</a></p>",
                   (long long)(r->centre[0] + origin[0]), (long long)(r->centre[1] + origin[1]),
                   (long long)(r->centre[2] + origin[2]));
}

static crd_status add_region(crd_page_pictures *pictures, crd_reported_run *s, const crd_region *r, int number)
{
    crd_text *page = pictures->page;
    const bool sized = s->spacing[0] > 0.0 && s->spacing[1] > 0.0 && s->spacing[2] > 0.0;
    const int64_t *o = s->in_scan.origin;
    crd_text_print(page, "<article><h4>%d</h4><div class=\"crops%s\">", number, s->class_count > 2 ? " three" : "");
    CRD_PASS(add_crop(pictures, s, r, number));
    crd_text_print(page,
                   "</div><dl><dt>centre z, y, x</dt><dd>%lld, %lld, %lld</dd><dt>from</dt><dd>%lld, %lld, "
                   "%lld</dd><dt>to</dt><dd>%lld, %lld, %lld</dd><dt>size</dt><dd>%lld voxels",
                   (long long)(r->centre[0] + o[0]), (long long)(r->centre[1] + o[1]), (long long)(r->centre[2] + o[2]),
                   (long long)(r->low[0] + o[0]), (long long)(r->low[1] + o[1]), (long long)(r->low[2] + o[2]),
                   (long long)(r->high[0] + o[0] - 1), (long long)(r->high[1] + o[1] - 1),
                   (long long)(r->high[2] + o[2] - 1), (long long)r->voxels);
    if (sized) {
        crd_text_add(page, ", ");
        crd_text_number(page, (double)r->voxels * s->spacing[0] * s->spacing[1] * s->spacing[2], 4, "");
        crd_text_add(page, " ");
        crd_text_html(page, crd_page_unit(s));
        crd_text_add(page, "\xc2\xb3");
    }
    crd_text_add(page, "</dd><dt>mean uncertainty</dt><dd>");
    crd_text_number(page, r->mean, 3, "");
    crd_text_add(page, "</dd></dl>");
    add_link(page, r, o);
    crd_text_add(page, "</article>");
    return page->status;
}

crd_status crd_page_regions(crd_page_pictures *pictures, crd_reported_run *runs, int count)
{
    crd_text *page = pictures->page;
    crd_text_add(page, "<div id=\"regions\">");
    for (int i = 0; i < count; i++) {
        crd_reported_run *s = &runs[i];
        if (s->survey.region_count == 0) continue;
        crd_text_add(page, "<section><h2>Most uncertain regions");
        if (count > 1) {
            crd_text_add(page, ": ");
            crd_text_html(page, s->name);
        }
        crd_text_add(
            page, "</h2><p>Where to look first. A region is grown from its most uncertain block of voxels, as far "
                  "as its neighbours are at least half as uncertain; the frame is the box around it. Coordinates are "
                  "voxels of the scan. The links lead to the place where <code>credence view ");
        crd_text_html(page, s->folder_name);
        crd_text_add(page, "</code> is running on this machine and has been opened once by its own address.</p><div "
                           "class=\"regions\">");
        for (int k = 0; k < s->survey.region_count; k++) {
            CRD_PASS(add_region(pictures, s, &s->survey.regions[k], k + 1));
        }
        crd_text_add(page, "</div></section>");
    }
    crd_text_add(page, "</div>");
    return page->status;
}
