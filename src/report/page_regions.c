/* Where to look first: the regions whose uncertainty edges don't explain, each with a crop around it. */
#include <stdio.h>

#include "report/figures.h"

enum { CROP = 64, CROP_EDGE = 192, USUAL_PORT = 8471 }; /* the viewer's, unless it is taken */
enum { MOST = 12 };                                     /* whole rows, in two columns and in three */

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
                   "<p class=\"note\"><a href=\"http://127.0.0.1:%d/#at=%lld,%lld,%lld&amp;zoom=4\">show in credence "
                   "view</a></p>",
                   USUAL_PORT, (long long)(r->centre[0] + origin[0]), (long long)(r->centre[1] + origin[1]),
                   (long long)(r->centre[2] + origin[2]));
}

static void add_triple(crd_text *page, const char *name, const int64_t place[3], const int64_t origin[3], int less)
{
    crd_text_print(page, "<dt>%s</dt><dd>%lld, %lld, %lld</dd>", name, (long long)(place[0] + origin[0] - less),
                   (long long)(place[1] + origin[1] - less), (long long)(place[2] + origin[2] - less));
}

static crd_status add_region(crd_page_pictures *pictures, crd_reported_run *s, const crd_look_region *look, int number)
{
    crd_text *page = pictures->page;
    const crd_region *r = &look->place;
    const bool sized = s->spacing[0] > 0.0 && s->spacing[1] > 0.0 && s->spacing[2] > 0.0;
    const int64_t *o = s->in_scan.origin;
    crd_text_print(page, "<article><h4>%d</h4><div class=\"crops%s\">", number, s->class_count > 2 ? " three" : "");
    CRD_PASS(add_crop(pictures, s, r, number));
    crd_text_add(page, "</div><dl>");
    add_triple(page, "centre z, y, x", r->centre, o, 0);
    add_triple(page, "from", r->low, o, 0);
    add_triple(page, "to", r->high, o, 1);
    crd_text_print(page, "<dt>size</dt><dd>%lld voxels", (long long)r->voxels);
    if (sized) {
        crd_text_add(page, ", ");
        crd_text_number(page, (double)r->voxels * s->spacing[0] * s->spacing[1] * s->spacing[2], 4, "");
        crd_text_add(page, " ");
        crd_text_html(page, crd_page_unit(s));
        crd_text_add(page, "\xc2\xb3");
    }
    crd_text_add(page, "</dd><dt>mean uncertainty</dt><dd>");
    crd_text_number(page, look->mean, 3, "");
    crd_text_add(page, "</dd><dt>beyond edges</dt><dd>");
    crd_text_number(page, look->excess, 3, "");
    crd_text_add(page, "</dd></dl>");
    add_link(page, r, o);
    crd_text_add(page, "</article>");
    return page->status;
}

/* What the list is, and how its links work. The script makes a field of the port. */
static void introduce(crd_text *page, const crd_reported_run *s, int shown)
{
    crd_text_add(page, "<p>At edges of the segmentation the uncertainty is always high. ");
    if (shown > 1) {
        crd_text_print(page, "These are the %d places where it is highest", shown);
    } else {
        crd_text_add(page, "This is the place where it is high");
    }
    crd_text_add(page,
                 " beyond what the share of edges explains, the highest block of voxels first: the beginning of the "
                 "list that <code>credence view "
                 "</code> shows. The frame is the box around such a region; coordinates are voxels of the "
                 "scan.</p><p class=\"note viewer\">The links lead to the place in the viewer: type <code>credence "
                 "view ");
    crd_text_html(page, s->folder_name);
    crd_text_print(page,
                   "</code> on this machine and open the address that it prints, once. <span class=\"port\" "
                   "data-port=\"%d\">The links are for port %d; where that address has another, it belongs in its "
                   "place.</span></p>",
                   USUAL_PORT, USUAL_PORT);
}

crd_status crd_page_regions(crd_page_pictures *pictures, crd_reported_run *runs, int count)
{
    crd_text *page = pictures->page;
    crd_text_add(page, "<div id=\"regions\">");
    for (int i = 0; i < count; i++) {
        crd_reported_run *s = &runs[i];
        const crd_look_survey *look = &s->survey.look;
        const int found = look->counts[CRD_BY_EXCESS], shown = found < MOST ? found : MOST;
        if (shown == 0) continue;
        crd_text_add(page, "<section><h2>Where to look first");
        if (count > 1) {
            crd_text_add(page, ": ");
            crd_text_html(page, s->name);
        }
        crd_text_add(page, "</h2>");
        introduce(page, s, shown);
        if (s->class_count == 2) {
            crd_page_outline_key(page, s, 1, s->label != NULL);
        } else {
            crd_page_class_key(page, s);
        }
        crd_text_add(page, "<div class=\"regions\">");
        for (int k = 0; k < shown; k++) {
            CRD_PASS(add_region(pictures, s, &look->regions[CRD_BY_EXCESS][k], k + 1));
        }
        crd_text_add(page, "</div></section>");
    }
    crd_text_add(page, "</div>");
    return page->status;
}
