/* Plots as SVG text. */
#include <math.h>

#include "draw/pen.h"

typedef struct svg_pen {
    crd_pen pen;
    crd_text *text;
} svg_pen;

#define NAME(name, ...) #name,
static const char *const inks[] = {CRD_INKS(NAME)}, *const letterings[] = {CRD_LETTERINGS(NAME)};

/* name="value", with a tenth of a unit. */
static void attribute(crd_text *text, const char *name, double value)
{
    crd_text_add(text, " ");
    crd_text_add(text, name);
    crd_text_add(text, "=\"");
    crd_text_number(text, rint(value * 10.0) / 10.0, 6, "0");
    crd_text_add(text, "\"");
}

static void begin(crd_pen *pen, crd_ink ink)
{
    crd_text_print(((svg_pen *)pen)->text, "<path class=\"%s\" d=\"", inks[ink]);
}

static void to(crd_pen *pen, bool draw, double x, double y)
{
    crd_text *text = ((svg_pen *)pen)->text;
    crd_text_add(text, draw ? "L" : "M");
    crd_text_number(text, rint(x * 10.0) / 10.0, 6, "0");
    crd_text_add(text, " ");
    crd_text_number(text, rint(y * 10.0) / 10.0, 6, "0");
}

static void end(crd_pen *pen)
{
    crd_text_add(((svg_pen *)pen)->text, "\"/>");
}

static void box(crd_pen *pen, crd_ink ink, double x, double y, double width, double height)
{
    crd_text *text = ((svg_pen *)pen)->text;
    crd_text_print(text, "<rect class=\"%s\"", inks[ink]);
    attribute(text, "x", x);
    attribute(text, "y", y);
    attribute(text, "width", width);
    attribute(text, "height", height);
    crd_text_add(text, "/>");
}

static void dot(crd_pen *pen, crd_ink ink, double x, double y, double radius)
{
    crd_text *text = ((svg_pen *)pen)->text;
    crd_text_print(text, "<circle class=\"%s\"", inks[ink]);
    attribute(text, "cx", x);
    attribute(text, "cy", y);
    attribute(text, "r", radius);
    crd_text_add(text, "/>");
}

static void text(crd_pen *pen, crd_lettering lettering, crd_anchor anchor, double x, double y, bool turned,
                 const char *words)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    crd_text *text = ((svg_pen *)pen)->text;
    crd_text_print(text, "<text class=\"%s\" text-anchor=\"%s\"", letterings[lettering], anchors[anchor]);
    attribute(text, "x", turned ? -y : x);
    attribute(text, "y", turned ? x : y);
    crd_text_add(text, turned ? " transform=\"rotate(-90)\">" : ">");
    crd_text_html(text, words);
    crd_text_add(text, "</text>");
}

void crd_plot_svg(const crd_plot *plot, double width, double height, const char *words, crd_text *out)
{
    /* A browser's typeface isn't known; DejaVu Sans is the widest of the usual ones. */
    svg_pen pen = {{1.12, begin, to, end, box, dot, text}, out};
    crd_text_print(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", width, height);
    crd_text_html(out, words);
    crd_text_add(out, "\">");
    crd_plot_draw(plot, 0.0, 0.0, width, height, &pen.pen);
    crd_text_add(out, "</svg>");
}
