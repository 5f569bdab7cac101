/* Plots as pixels, in the light colours. */
#include <math.h>

#include "draw/font.h"
#include "draw/pen.h"

typedef struct paint_pen {
    crd_pen pen;
    crd_raster *raster;
    double scale;
    crd_ink ink;                   /* of the line that is being drawn */
    double last_x, last_y, walked; /* along it */
} paint_pen;

#define VALUE(name, light, dark) 0x##light,
static const uint32_t colours[] = {CRD_COLOURS_OF_THEME(VALUE)};

#define INK(name, colour, width, opacity) {CRD_COLOUR_##colour, width, opacity},
static const struct {
    int colour;
    double width, opacity;
} inks[] = {CRD_INKS(INK)};

#define LETTERING(name, colour, size, weight)                                                                          \
    {CRD_COLOUR_##colour, size, size * (weight > 500 ? CRD_FONT_BOLD_PEN : CRD_FONT_PEN)},
static const struct {
    int colour;
    double size, pen;
} letterings[] = {CRD_LETTERINGS(LETTERING)};

#define PAIR(on, off)                                                                                                  \
    {                                                                                                                  \
        on, off                                                                                                        \
    }
static const double dashes[2] = CRD_DASHES(PAIR);

double crd_lettering_width(crd_lettering lettering, const char *words)
{
    return letterings[lettering].size * crd_font_width(words);
}

static void begin(crd_pen *pen, crd_ink ink)
{
    ((paint_pen *)pen)->ink = ink;
}

/* In pieces, over corners. */
static void dash(paint_pen *p, double x, double y, double width)
{
    const double on = dashes[0] * p->scale, off = dashes[1] * p->scale, dx = x - p->last_x, dy = y - p->last_y;
    const double length = sqrt(dx * dx + dy * dy);
    for (double at = 0.0; at < length;) {
        const double phase = fmod(p->walked, on + off);
        const bool drawn = phase < on;
        const double end = at + fmin((drawn ? on : on + off) - phase + 1e-9, length - at);
        if (drawn) {
            crd_raster_pen(p->raster, false, p->last_x + dx * at / length, p->last_y + dy * at / length, width);
            crd_raster_pen(p->raster, true, p->last_x + dx * end / length, p->last_y + dy * end / length, width);
        }
        p->walked += end - at;
        at = end;
    }
}

static void to(crd_pen *pen, bool draw, double x, double y)
{
    paint_pen *p = (paint_pen *)pen;
    const double width = inks[p->ink].width * p->scale;
    x *= p->scale;
    y *= p->scale;
    if (p->ink == CRD_INK_grid || p->ink == CRD_INK_axis) { /* along the pixels: sharp */
        x = rint(x);
        y = rint(y);
    }
    if (p->ink == CRD_INK_mark) {
        if (draw) dash(p, x, y, width);
    } else {
        crd_raster_pen(p->raster, draw, x, y, width);
    }
    p->last_x = x;
    p->last_y = y;
    if (!draw) p->walked = 0.0;
}

static void fill(const paint_pen *p, crd_ink ink)
{
    crd_raster_fill(p->raster, colours[inks[ink].colour], inks[ink].opacity);
}

static void end(crd_pen *pen)
{
    fill((paint_pen *)pen, ((paint_pen *)pen)->ink);
}

static void box(crd_pen *pen, crd_ink ink, double x, double y, double width, double height)
{
    const paint_pen *p = (paint_pen *)pen;
    crd_raster_box(p->raster, x * p->scale, y * p->scale, width * p->scale, height * p->scale);
    fill(p, ink);
}

static void dot(crd_pen *pen, crd_ink ink, double x, double y, double radius)
{
    const paint_pen *p = (paint_pen *)pen;
    crd_raster_disc(p->raster, x * p->scale, y * p->scale, radius * p->scale);
    fill(p, ink);
}

static void text(crd_pen *pen, crd_lettering lettering, crd_anchor anchor, double x, double y, bool turned,
                 const char *words)
{
    const paint_pen *p = (paint_pen *)pen;
    const double before = 0.5 * (int)anchor * crd_lettering_width(lettering, words);
    x = rint((turned ? x : x - before) * p->scale);
    y = rint((turned ? y + before : y) * p->scale);
    crd_raster_text(p->raster, x, y, letterings[lettering].size * p->scale, letterings[lettering].pen * p->scale,
                    turned, words);
    crd_raster_fill(p->raster, colours[letterings[lettering].colour], 1.0);
}

void crd_plot_paint(const crd_plot *plot, double x, double y, double width, double height, double scale,
                    crd_raster *raster)
{
    paint_pen pen = {.pen = {1.0, begin, to, end, box, dot, text}, .raster = raster, .scale = scale};
    crd_plot_draw(plot, x, y, width, height, &pen.pen);
}
