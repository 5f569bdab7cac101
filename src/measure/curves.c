#include "measure/curves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* In units of which one is SCALE pixels: sharp on any screen. */
enum { WIDTH = 500, ROW = 320, EDGE = 16, SCALE = 2, COLUMNS = 2 };

static void write_title(const crd_distribution *d, char *out, size_t size)
{
    static const struct {
        const char *begin, *words;
    } words[] = {{"chord_", "Chords along %c, numbers"},
                 {"s2_", "Two-point probability along %c"},
                 {"component_size", "Connected parts by their size, numbers"},
                 {"thickness", "Local thickness, share of the phase"}};
    snprintf(out, size, "%s", d->name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(words[i].begin, d->name, strlen(words[i].begin)) != 0) continue;
        const char *at = strstr(words[i].words, "%c");
        if (at == NULL) {
            snprintf(out, size, "%s", words[i].words);
        } else {
            snprintf(out, size, "%.*s%c%s", (int)(at - words[i].words), words[i].words, d->axis, at + 2);
        }
    }
}

crd_status crd_curves_make(const crd_distribution *d, crd_curves *c, crd_plot *out)
{
    const struct {
        const crd_real_list *list;
        const char *name;
        int colour;
        bool faint;
    } rows[] = {{&d->low, "interval", 1, true},
                {&d->high, NULL, 1, true},
                {&d->median, "median of the realisations", 1, false},
                {&d->segmentation, "segmentation", 0, false}};
    const int64_t count = d->edges.count - !d->points;
    memset(c, 0, sizeof *c);
    memset(out, 0, sizeof *out);
    if (count < 1) return crd_fail(CRD_ERR_FORMAT, "the distribution %s has no bins", d->name);
    const bool sizes = strcmp(d->name, "component_size") == 0; /* in factors of 2 */
    CRD_PASS(crd_alloc(count, sizeof *c->x, "a plot", &c->x));
    for (int64_t i = 0; i < count; i++) {
        c->x[i] = d->points ? d->edges.items[i]
                  : sizes   ? sqrt(d->edges.items[i] * d->edges.items[i + 1])
                            : 0.5 * (d->edges.items[i] + d->edges.items[i + 1]);
    }
    write_title(d, c->title, sizeof c->title);
    snprintf(c->label, sizeof c->label, "%s", d->unit);
    *out =
        (crd_plot){.title = c->title, .x = {.label = c->label, .log = sizes}, .y = {.zero = true}, .series = c->series};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].list->count != count) continue;
        c->series[out->count++] = (crd_series){.x = c->x,
                                               .y = rows[i].list->items,
                                               .count = count,
                                               .colour = rows[i].colour,
                                               .faint = rows[i].faint,
                                               .name = rows[i].name};
    }
    return CRD_OK;
}

void crd_curves_free(crd_curves *c)
{
    crd_free(&c->x);
}

/* ---- the picture ---- */

/* Blocks of several sizes of one property. */
typedef struct rev_curves {
    char title[CRD_PROPERTY_NAME + 32];
    double x[16], mean[16], low[16], high[16];
    crd_series series[3];
    int64_t count;
} rev_curves;

/* From row `first` on; gives the first row of another property. */
static int64_t gather_rev(const crd_measurement *m, int64_t first, rev_curves *c, crd_plot *out)
{
    int64_t i = first;
    c->count = 0;
    for (; i < m->rev_count && c->count < 16; i++) {
        const crd_rev_row *row = &m->rev[i];
        if (strcmp(row->property, m->rev[first].property) != 0 || row->phase != m->rev[first].phase) break;
        c->x[c->count] = (double)row->voxels;
        c->mean[c->count] = row->mean;
        c->low[c->count] = row->interval[0];
        c->high[c->count++] = row->interval[1];
    }
    snprintf(c->title, sizeof c->title, "%s of blocks", m->rev[first].property);
    c->series[0] =
        (crd_series){.x = c->x, .y = c->low, .count = c->count, .colour = 1, .faint = true, .name = "5-95 %"};
    c->series[1] = (crd_series){.x = c->x, .y = c->high, .count = c->count, .colour = 1, .faint = true};
    c->series[2] =
        (crd_series){.kind = CRD_SERIES_DOTS, .x = c->x, .y = c->mean, .count = c->count, .colour = 0, .name = "mean"};
    *out = (crd_plot){
        .title = c->title, .x = {.label = "edge of a block, voxels", .log = true}, .series = c->series, .count = 3};
    return i;
}

static void paint(const crd_plot *plot, int64_t place, crd_raster *raster)
{
    crd_plot_paint(plot, EDGE + (double)(place % COLUMNS) * (WIDTH + EDGE),
                   EDGE + (double)(place / COLUMNS) * (ROW + EDGE), WIDTH, ROW, SCALE, raster);
}

static int64_t count_panels(const crd_measurement *m)
{
    rev_curves room;
    crd_plot plot;
    int64_t count = m->distribution_count;
    for (int64_t i = 0; i < m->rev_count; count++) i = gather_rev(m, i, &room, &plot);
    return count;
}

crd_status crd_measurement_picture(const crd_measurement *m, const char *path)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    crd_raster raster = {.picture = &picture};
    crd_curves curves = {0};
    rev_curves rev;
    uint8_t *bytes = NULL;
    int64_t size, place = 0;
    const int64_t panels = count_panels(m);
    if (panels == 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "plot: no distribution was measured; ask for chords, s2, components, "
                                          "thickness or --rev");
    }
    CRD_TRY(crd_picture_create(SCALE * (EDGE + COLUMNS * (WIDTH + EDGE)),
                               SCALE * (EDGE + (ROW + EDGE) * ((panels + COLUMNS - 1) / COLUMNS)), &picture));
    memset(picture.rgb, 255, (size_t)(picture.width * picture.height * 3));
    for (int64_t i = 0; i < m->distribution_count; i++) {
        crd_plot plot;
        CRD_TRY(crd_curves_make(&m->distributions[i], &curves, &plot));
        paint(&plot, place++, &raster);
        crd_curves_free(&curves);
    }
    for (int64_t i = 0; i < m->rev_count;) {
        crd_plot plot;
        i = gather_rev(m, i, &rev, &plot);
        paint(&plot, place++, &raster);
    }
    CRD_TRY(raster.status);
    CRD_TRY(crd_png_encode(&picture, &bytes, &size));
    CRD_TRY(crd_write_file(path, bytes, (size_t)size));
done:
    crd_curves_free(&curves);
    crd_raster_free(&raster);
    crd_picture_free(&picture);
    crd_free(&bytes);
    return status;
}
