/* Where everything of a plot goes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/pen.h"
#include "draw/ticks.h"

enum { TICK_ROW = 17, LABEL_ROW = 19, LEGEND_ROW = 19, TITLE_ROW = 28, SWATCH = 16, GAP = 6, EDGE = 8 };

typedef struct layout {
    const crd_plot *plot;
    crd_pen *pen;
    crd_ticks x_ticks, y_ticks;
    double x_low, x_high, y_low, y_high;
    double x, y, width, height;      /* of the plot */
    double left, right, top, bottom; /* of what the axes enclose */
} layout;

static double share(double value, double low, double high, bool log)
{
    const double t = log ? (log10(value) - log10(low)) / (log10(high) - log10(low)) : (value - low) / (high - low);
    return fmin(1.0, fmax(0.0, t));
}

static double place_x(const layout *l, double x)
{
    return l->left + (l->right - l->left) * share(x, l->x_low, l->x_high, l->plot->x.log);
}

static double place_y(const layout *l, double y)
{
    return l->bottom - (l->bottom - l->top) * share(y, l->y_low, l->y_high, l->plot->y.log);
}

/* Whether an axis has a place for it. */
static bool showable(const crd_axis *axis, double value)
{
    return isfinite(value) && (!axis->log || value > 0.0);
}

static void include(const crd_axis *axis, const double *values, int64_t count, double *low, double *high)
{
    for (int64_t i = 0; values != NULL && i < count; i++) {
        if (!showable(axis, values[i])) continue;
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
}

/* What an axis shows, before it is moved to round numbers; returns whether it may be. */
static bool find_range(const crd_plot *plot, bool vertical, double *low, double *high)
{
    const crd_axis *axis = vertical ? &plot->y : &plot->x;
    const bool given = axis->high > axis->low;
    *low = given ? axis->low : axis->zero && !axis->log ? 0.0 : (double)INFINITY;
    *high = given ? axis->high : -*low;
    for (int i = 0; !given && i < plot->count; i++) {
        const crd_series *s = &plot->series[i];
        include(axis, vertical ? s->y : s->x, s->count, low, high);
        if (!vertical) include(axis, s->x_end, s->count, low, high);
    }
    if (!(*low <= *high)) { /* there is nothing to show */
        *low = axis->log ? 1.0 : 0.0;
        *high = axis->log ? 10.0 : 1.0;
    }
    *low = fmax(*low, -1e300);
    *high = fmin(*high, 1e300);
    return vertical && !given;
}

/* Of a text as this pen writes it. */
static double width_of(const layout *l, crd_lettering lettering, const char *words)
{
    return l->pen->stretch * crd_lettering_width(lettering, words);
}

static double widest(const layout *l, const crd_ticks *ticks)
{
    double width = 0.0;
    for (int i = 0; i < ticks->count; i++) {
        width = fmax(width, width_of(l, CRD_LETTERING_tick, ticks->text[i]));
    }
    return width;
}

/* Of an axis of whole numbers fewer ticks, as long as they lie closer than 1. */
static void choose_ticks(const crd_axis *axis, double *low, double *high, int most, bool widen, crd_ticks *ticks)
{
    const double from = *low, to = *high;
    for (;; most--) {
        *low = from;
        *high = to;
        crd_ticks_choose(low, high, most, axis->log, widen, ticks);
        if (!axis->whole || most <= 2 || ticks->count < 2 || ticks->value[1] - ticks->value[0] >= 1.0) return;
    }
}

static void choose_y(layout *l)
{
    const bool widen = find_range(l->plot, true, &l->y_low, &l->y_high);
    const int room = (int)((l->bottom - l->top) / 30.0);
    choose_ticks(&l->plot->y, &l->y_low, &l->y_high, room < 3 ? 3 : room > 6 ? 6 : room, widen, &l->y_ticks);
    l->left += (l->plot->y.label != NULL ? LABEL_ROW : 0) + widest(l, &l->y_ticks) + GAP;
}

/* As many numbers as have room beside each other. */
static void choose_x(layout *l)
{
    for (int most = 9; most >= 2; most--) {
        find_range(l->plot, false, &l->x_low, &l->x_high);
        choose_ticks(&l->plot->x, &l->x_low, &l->x_high, most, false, &l->x_ticks);
        if (l->x_ticks.count < 2) return;
        const double apart = place_x(l, l->x_ticks.value[1]) - place_x(l, l->x_ticks.value[0]);
        if (widest(l, &l->x_ticks) + 2 * EDGE <= apart) return;
    }
}

static crd_ink ink_of(const crd_series *s)
{
    const crd_ink first = s->kind == CRD_SERIES_BARS ? CRD_INK_b0 : s->faint ? CRD_INK_t0 : CRD_INK_s0;
    return first + (crd_ink)(s->colour & (CRD_SERIES_COLOURS - 1));
}

/* Writes as much of a text as has room, with dots in place of the rest. */
static void write(const layout *l, crd_lettering lettering, crd_anchor anchor, double x, double y, bool turned,
                  double room, const char *words)
{
    char part[256];
    snprintf(part, sizeof part, "%s", words);
    for (size_t kept = strlen(part); kept > 0 && width_of(l, lettering, part) > room;) {
        do {
            kept--;
        } while (kept > 0 && (words[kept] & 0xc0) == 0x80); /* whole signs of UTF-8 */
        snprintf(part, sizeof part, "%.*s...", (int)kept, words);
    }
    l->pen->text(l->pen, lettering, anchor, x, y, turned, part);
}

/* From the left, in as many rows as it takes; returns their height. */
static double legend(const layout *l, double y)
{
    const double room = l->right - l->left - SWATCH - GAP;
    double x = l->left;
    int rows = 0;
    for (int i = 0; i < l->plot->count; i++) {
        const crd_series *s = &l->plot->series[i];
        if (s->name == NULL) continue;
        const double words = fmin(room, width_of(l, CRD_LETTERING_tick, s->name));
        if (rows == 0 || x + SWATCH + GAP + words > l->right) {
            x = l->left;
            rows++;
        }
        const bool thick = s->kind == CRD_SERIES_BARS || s->kind == CRD_SERIES_BAND;
        const double middle = y + LEGEND_ROW * (rows - 0.5);
        l->pen->box(l->pen, ink_of(s), x, middle - (thick ? 5.0 : 1.5), SWATCH, thick ? 10.0 : 3.0);
        write(l, CRD_LETTERING_tick, CRD_ANCHOR_START, x + SWATCH + GAP, middle + 4.0, false, room, s->name);
        x += SWATCH + GAP + words + 2 * EDGE;
    }
    return LEGEND_ROW * rows;
}

/* The middle of something twice `half` long, moved so that it doesn't stick out. */
static double inside(double middle, double half, double from, double length)
{
    return 2.0 * half > length ? from + 0.5 * length : fmin(from + length - half, fmax(from + half, middle));
}

static void draw_axes(const layout *l)
{
    crd_pen *pen = l->pen;
    pen->begin(pen, CRD_INK_grid);
    for (int i = 0; i < l->y_ticks.count; i++) {
        const double y = place_y(l, l->y_ticks.value[i]);
        pen->to(pen, false, l->left, y);
        pen->to(pen, true, l->right, y);
    }
    pen->end(pen);
    for (int i = 0; i < l->y_ticks.count; i++) {
        pen->text(pen, CRD_LETTERING_tick, CRD_ANCHOR_END, l->left - GAP, place_y(l, l->y_ticks.value[i]) + 4.0, false,
                  l->y_ticks.text[i]);
    }
    pen->begin(pen, CRD_INK_axis);
    for (int i = 0; i < l->x_ticks.count; i++) {
        const double x = place_x(l, l->x_ticks.value[i]);
        pen->to(pen, false, x, l->bottom);
        pen->to(pen, true, x, l->bottom + 4.0);
    }
    pen->to(pen, false, l->left, l->bottom);
    pen->to(pen, true, l->right, l->bottom);
    pen->end(pen);
    for (int i = 0; i < l->x_ticks.count; i++) {
        const char *words = l->x_ticks.text[i];
        const double half = 0.5 * width_of(l, CRD_LETTERING_tick, words);
        pen->text(pen, CRD_LETTERING_tick, CRD_ANCHOR_MIDDLE,
                  inside(place_x(l, l->x_ticks.value[i]), half, l->x, l->width), l->bottom + TICK_ROW, false, words);
    }
}

static void draw_words(const layout *l)
{
    const char *x = l->plot->x.label, *y = l->plot->y.label;
    if (l->plot->title != NULL) {
        write(l, CRD_LETTERING_title, CRD_ANCHOR_START, l->left, l->y + 20.0, false, l->right - l->left,
              l->plot->title);
    }
    if (x != NULL) {
        const double half = 0.5 * width_of(l, CRD_LETTERING_label, x);
        write(l, CRD_LETTERING_label, CRD_ANCHOR_MIDDLE, inside(0.5 * (l->left + l->right), half, l->x, l->width),
              l->bottom + TICK_ROW + LABEL_ROW, false, l->width, x);
    }
    if (y != NULL) {
        const double half = 0.5 * width_of(l, CRD_LETTERING_label, y);
        write(l, CRD_LETTERING_label, CRD_ANCHOR_MIDDLE, l->x + EDGE + 8.0,
              inside(0.5 * (l->top + l->bottom), half, l->y, l->height), true, l->height, y);
    }
}

static void draw_line(const layout *l, const crd_series *s)
{
    crd_pen *pen = l->pen;
    bool drawing = false;
    pen->begin(pen, s->kind == CRD_SERIES_DASHES ? CRD_INK_mark : ink_of(s));
    for (int64_t i = 0; i < s->count; i++) {
        const bool here = showable(&l->plot->x, s->x[i]) && showable(&l->plot->y, s->y[i]);
        if (here) pen->to(pen, drawing, place_x(l, s->x[i]), place_y(l, s->y[i]));
        drawing = here;
    }
    pen->end(pen);
}

/* Dots at all points, or at those only that no line would show. */
static void draw_dots(const layout *l, const crd_series *s)
{
    bool before = false;
    for (int64_t i = 0; i < s->count; i++) {
        const bool here = showable(&l->plot->x, s->x[i]) && showable(&l->plot->y, s->y[i]);
        const bool after = i + 1 < s->count && showable(&l->plot->x, s->x[i + 1]) && showable(&l->plot->y, s->y[i + 1]);
        if (here && (s->kind == CRD_SERIES_DOTS || (!before && !after))) {
            l->pen->dot(l->pen, ink_of(s), place_x(l, s->x[i]), place_y(l, s->y[i]), 3.0);
        }
        before = here;
    }
}

static void draw_boxes(const layout *l, const crd_series *s)
{
    const bool band = s->kind == CRD_SERIES_BAND;
    for (int64_t i = 0; i < s->count; i++) {
        if (!showable(&l->plot->x, s->x[i]) || !showable(&l->plot->x, s->x_end[i])) continue;
        if (!band && !showable(&l->plot->y, s->y[i])) continue;
        const double from = place_x(l, s->x[i]), to = place_x(l, s->x_end[i]),
                     high = band ? l->top : place_y(l, s->y[i]);
        const double space = !band && to - from > 4.0 ? 1.0 : 0.0; /* between bars */
        if (high < l->bottom) {
            l->pen->box(l->pen, band ? CRD_INK_band : ink_of(s), from + 0.5 * space, high, fmax(to - from - space, 0.5),
                        l->bottom - high);
        }
        if (s->words != NULL && s->words[i] != NULL) {
            l->pen->text(l->pen, CRD_LETTERING_tick, CRD_ANCHOR_START, 0.5 * (from + to) + 4.0, l->bottom - GAP, true,
                         s->words[i]);
        }
    }
}

void crd_plot_draw(const crd_plot *plot, double x, double y, double width, double height, crd_pen *pen)
{
    layout l = {.plot = plot, .pen = pen, .x = x, .y = y, .width = width, .height = height};
    l.left = x + EDGE;
    l.right = x + width - 2 * EDGE;
    l.top = y + EDGE + (plot->title != NULL ? TITLE_ROW : 0);
    l.bottom = y + height - EDGE - TICK_ROW - (plot->x.label != NULL ? LABEL_ROW : 0);
    choose_y(&l);
    const double rows = legend(&l, l.top);
    l.top += rows > 0.0 ? rows + GAP : 0.0;
    choose_x(&l);
    draw_axes(&l);
    draw_words(&l);
    for (int i = 0; i < plot->count; i++) {
        const crd_series *s = &plot->series[i];
        if (s->kind == CRD_SERIES_BARS || s->kind == CRD_SERIES_BAND) {
            draw_boxes(&l, s);
        } else {
            draw_line(&l, s);
            if (s->kind != CRD_SERIES_DASHES) draw_dots(&l, s);
        }
    }
}
