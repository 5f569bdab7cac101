#include "draw/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "draw/font.h"

static crd_raster_edge *add_edge(crd_raster *raster)
{
    if (raster->status != CRD_OK) return NULL;
    if (raster->count == raster->room) {
        const int64_t room = raster->room < 256 ? 256 : 2 * raster->room;
        crd_raster_edge *edges = NULL;
        raster->status = crd_alloc(room, sizeof *edges, "a picture", &edges);
        if (raster->status != CRD_OK) return NULL;
        if (raster->count > 0) memcpy(edges, raster->edges, (size_t)raster->count * sizeof *edges);
        crd_free(&raster->edges);
        raster->edges = edges;
        raster->room = room;
    }
    return &raster->edges[raster->count++];
}

void crd_raster_polygon(crd_raster *raster, const double (*points)[2], int count)
{
    double area = 0.0;
    for (int i = 0; i < count; i++) {
        const double *p = points[i], *q = points[(i + 1) % count];
        if (!isfinite(p[0]) || !isfinite(p[1])) return;
        area += p[0] * q[1] - q[0] * p[1];
    }
    for (int i = 0; i < count; i++) {
        const double *p = points[i], *q = points[(i + 1) % count];
        const bool down = q[1] > p[1];
        if (p[1] == q[1]) continue;
        crd_raster_edge *edge = add_edge(raster);
        if (edge == NULL) return;
        /* All shapes go round the same way: they add up, and never cancel each other. */
        *edge = down ? (crd_raster_edge){p[0], p[1], q[0], q[1], area > 0.0 ? 1 : -1}
                     : (crd_raster_edge){q[0], q[1], p[0], p[1], area > 0.0 ? -1 : 1};
    }
}

void crd_raster_box(crd_raster *raster, double x, double y, double width, double height)
{
    const double points[4][2] = {{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}};
    crd_raster_polygon(raster, points, 4);
}

void crd_raster_disc(crd_raster *raster, double x, double y, double radius)
{
    enum { MOST = 16 }; /* corners of a quarter */
    double points[4 * MOST][2];
    const int quarter = radius < 4.0 ? 5 : radius < 16.0 ? 9 : MOST;
    for (int i = 0; i < quarter; i++) {
        const double t = (double)i / quarter, c = radius * (1.0 - t * t) / (1.0 + t * t);
        const double s = radius * 2.0 * t / (1.0 + t * t); /* cosine and sine without libm */
        const double corners[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
        for (int k = 0; k < 4; k++) {
            points[k * quarter + i][0] = x + corners[k][0];
            points[k * quarter + i][1] = y + corners[k][1];
        }
    }
    crd_raster_polygon(raster, points, 4 * quarter);
}

void crd_raster_pen(crd_raster *raster, bool draw, double x, double y, double width)
{
    const double x0 = raster->pen_x, y0 = raster->pen_y, dx = x - x0, dy = y - y0, length = sqrt(dx * dx + dy * dy);
    if (draw && length > 0.0) {
        const double a = -0.5 * width * dy / length, b = 0.5 * width * dx / length;
        const double points[4][2] = {{x0 + a, y0 + b}, {x + a, y + b}, {x - a, y - b}, {x0 - a, y0 - b}};
        crd_raster_polygon(raster, points, 4);
    }
    crd_raster_disc(raster, x, y, 0.5 * width);
    raster->pen_x = x;
    raster->pen_y = y;
}

typedef struct writing {
    crd_raster *raster;
    double x, y, size, pen;
    bool turned;
} writing;

static void write_stroke(void *context, bool draw, double x, double y)
{
    const writing *w = context;
    crd_raster_pen(w->raster, draw, w->x + w->size * (w->turned ? -y : x), w->y - w->size * (w->turned ? x : y),
                   w->pen);
}

void crd_raster_text(crd_raster *raster, double x, double y, double size, double pen, bool turned, const char *words)
{
    writing w = {raster, x, y, size, pen, turned};
    crd_font_draw(words, write_stroke, &w);
}

/* An edge that the present line crosses, and where. */
typedef struct crossing {
    const crd_raster_edge *edge;
    double x;
} crossing;

static int by_top(const void *a, const void *b)
{
    const double x = ((const crd_raster_edge *)a)->y0, y = ((const crd_raster_edge *)b)->y0;
    return (x > y) - (x < y);
}

/* From left to right; nearly in order already. */
static void sort_crossings(crossing *active, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const crossing c = active[i];
        int64_t at = i;
        for (; at > 0 && active[at - 1].x > c.x; at--) active[at] = active[at - 1];
        active[at] = c;
    }
}

/* Adds to each pixel the share of it that lies between `from` and `to`. */
static void cover_span(float *cover, int64_t width, double from, double to)
{
    from = from < 0.0 ? 0.0 : from;
    to = to > (double)width ? (double)width : to;
    if (!(to > from)) return;
    const int64_t first = (int64_t)from, last = (int64_t)to;
    if (first == last) {
        cover[first] += (float)(to - from);
        return;
    }
    cover[first] += (float)((double)(first + 1) - from);
    for (int64_t x = first + 1; x < last; x++) cover[x] += 1.0f;
    cover[last] += (float)(to - (double)last); /* one more than the width is there */
}

static void cover_line(float *cover, int64_t width, const crossing *active, int64_t count)
{
    int round = 0;
    double from = 0.0;
    for (int64_t i = 0; i < count; i++) {
        if (round == 0) from = active[i].x;
        round += active[i].edge->way;
        if (round == 0) cover_span(cover, width, from, active[i].x);
    }
}

static void blend_row(uint8_t *rgb, const float *cover, int64_t left, int64_t right, uint32_t colour, double opacity)
{
    for (int64_t x = left; x < right; x++) {
        if (cover[x] == 0.0f) continue;
        const double share = opacity * fmin(1.0, (double)cover[x] / CRD_RASTER_LINES);
        for (int c = 0; c < 3; c++) {
            const double wanted = (double)(colour >> (16 - 8 * c) & 255), is = rgb[3 * x + c];
            rgb[3 * x + c] = (uint8_t)(is + share * (wanted - is) + 0.5);
        }
    }
}

/* The columns that can be covered. */
static void find_columns(const crd_raster *raster, int64_t *left, int64_t *right)
{
    const double width = (double)raster->picture->width;
    double low = width, high = 0.0;
    for (int64_t i = 0; i < raster->count; i++) {
        low = fmin(low, fmin(raster->edges[i].x0, raster->edges[i].x1));
        high = fmax(high, fmax(raster->edges[i].x0, raster->edges[i].x1));
    }
    *left = (int64_t)fmax(low, 0.0);
    *right = (int64_t)fmin(high + 1.0, width);
}

void crd_raster_fill(crd_raster *raster, uint32_t colour, double opacity)
{
    const crd_picture *p = raster->picture;
    crossing *active = NULL;
    float *cover = NULL;
    int64_t next = 0, count = 0, left, right;
    if (raster->status == CRD_OK) raster->status = crd_alloc(raster->count, sizeof *active, "a picture", &active);
    if (raster->status == CRD_OK) raster->status = crd_alloc(p->width + 1, sizeof *cover, "a picture", &cover);
    if (raster->status != CRD_OK || raster->count == 0) goto done;
    qsort(raster->edges, (size_t)raster->count, sizeof *raster->edges, by_top);
    find_columns(raster, &left, &right);
    const double top = floor(raster->edges[0].y0);
    for (int64_t row = top > 0.0 ? (int64_t)fmin(top, (double)p->height) : 0; row < p->height; row++) {
        if (next == raster->count && count == 0) break;
        if (right > left) memset(cover + left, 0, (size_t)(right - left) * sizeof *cover);
        for (int line = 0; line < CRD_RASTER_LINES; line++) {
            const double y = (double)row + (line + 0.5) / CRD_RASTER_LINES;
            for (; next < raster->count && raster->edges[next].y0 <= y; next++) {
                active[count++].edge = &raster->edges[next];
            }
            int64_t kept = 0;
            for (int64_t i = 0; i < count; i++) {
                const crd_raster_edge *e = active[i].edge;
                if (e->y1 <= y) continue;
                active[kept++] = (crossing){e, e->x0 + (e->x1 - e->x0) * ((y - e->y0) / (e->y1 - e->y0))};
            }
            count = kept;
            sort_crossings(active, count);
            cover_line(cover, p->width, active, count);
        }
        blend_row(p->rgb + 3 * row * p->width, cover, left, right, colour, opacity);
    }
done:
    raster->count = 0;
    crd_free(&active);
    crd_free(&cover);
}

void crd_raster_free(crd_raster *raster)
{
    crd_free(&raster->edges);
}
