#include "report/plot.h"

#include <math.h>

/* The drawing's own units; the page scales it. */
enum { WIDTH = 440, HEIGHT = 290, LEFT = 74, RIGHT = 14, TOP = 12, BOTTOM = 46 };

void crd_text_html(crd_text *text, const char *words)
{
    for (; *words != '\0'; words++) {
        switch (*words) {
        case '<':
            crd_text_add(text, "&lt;");
            break;
        case '>':
            crd_text_add(text, "&gt;");
            break;
        case '&':
            crd_text_add(text, "&amp;");
            break;
        case '"':
            crd_text_add(text, "&quot;");
            break;
        default:
            if ((unsigned char)*words >= ' ' || *words == '\n' || *words == '\t') crd_text_add_bytes(text, words, 1);
        }
    }
}

static double place(double value, double low, double high)
{
    const double t = high > low ? (value - low) / (high - low) : 0.5;
    return t < -0.02 ? -0.02 : t > 1.02 ? 1.02 : t;
}

static double x_of(const crd_plot *plot, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * place(x, plot->x_low, plot->x_high);
}

static double y_of(const crd_plot *plot, double y)
{
    const double t = plot->y_log ? place(log10(fmax(y, plot->y_low)), log10(plot->y_low), log10(plot->y_high))
                                 : place(y, plot->y_low, plot->y_high);
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * t;
}

/* Coordinates with a tenth of a unit. */
static void coordinate(crd_text *text, double value)
{
    crd_text_number(text, rint(value * 10.0) / 10.0, 6, "0");
}

static double round_step(double range, int about)
{
    const double raw = range / about, power = pow(10.0, floor(log10(raw)));
    const double m = raw / power;
    return power * (m < 1.5 ? 1.0 : m < 3.5 ? 2.0 : m < 7.5 ? 5.0 : 10.0);
}

static void tick(crd_plot *plot, bool vertical, double value)
{
    crd_text *t = plot->text;
    const double x = vertical ? LEFT : x_of(plot, value), y = vertical ? y_of(plot, value) : HEIGHT - BOTTOM;
    crd_text_add(t, "<line class=\"grid\" x1=\"");
    coordinate(t, x);
    crd_text_add(t, "\" y1=\"");
    coordinate(t, vertical ? y : TOP);
    crd_text_add(t, "\" x2=\"");
    coordinate(t, vertical ? WIDTH - RIGHT : x);
    crd_text_add(t, "\" y2=\"");
    coordinate(t, y);
    crd_text_add(t, "\"/><text class=\"tick\" text-anchor=\"");
    crd_text_add(t, vertical ? "end" : "middle");
    crd_text_add(t, "\" x=\"");
    coordinate(t, vertical ? x - 6 : x);
    crd_text_add(t, "\" y=\"");
    coordinate(t, vertical ? y + 4 : y + 15);
    crd_text_add(t, "\">");
    crd_text_number(t, fabs(value) < 1e-12 ? 0.0 : value, fabs(value) >= 1e3 && fabs(value) < 1e7 ? 8 : 4, "");
    crd_text_add(t, "</text>");
}

static void ticks(crd_plot *plot, bool vertical)
{
    const double low = vertical ? plot->y_low : plot->x_low;
    const double high = !vertical ? plot->x_high : plot->y_last > low ? plot->y_last : plot->y_high;
    if (vertical && plot->y_log) {
        const double decades = log10(high) - log10(low), step = decades > 6.0 ? 2.0 : 1.0;
        for (double e = ceil(log10(low) - 1e-9); e <= log10(high) + 1e-9; e += step) tick(plot, true, pow(10.0, e));
        return;
    }
    if (!(high > low)) {
        tick(plot, vertical, low);
        return;
    }
    const double step = round_step(high - low, vertical ? 5 : 6);
    for (double v = ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) tick(plot, vertical, v);
}

void crd_plot_begin(crd_plot *plot)
{
    crd_text *t = plot->text;
    crd_text_add(t, "<figure class=\"plot\"><figcaption>");
    if (plot->which[0] != '\0') {
        crd_text_add(t, "<small>");
        crd_text_html(t, plot->which);
        crd_text_add(t, "</small> ");
    }
    crd_text_html(t, plot->title);
    crd_text_print(t, "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", (int)WIDTH, (int)HEIGHT);
    crd_text_html(t, plot->title);
    crd_text_add(t, "\">");
    ticks(plot, false);
    ticks(plot, true);
    crd_text_print(t,
                   "<path class=\"axis\" d=\"M%d %dV%dH%d\"/><text class=\"label\" text-anchor=\"middle\" x=\"%d\" "
                   "y=\"%d\">",
                   (int)LEFT, (int)TOP, HEIGHT - BOTTOM, WIDTH - RIGHT, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12);
    crd_text_html(t, plot->x_label);
    crd_text_print(t, "</text><text class=\"label\" text-anchor=\"middle\" transform=\"translate(14 %d) rotate(-90)\">",
                   (TOP + HEIGHT - BOTTOM) / 2);
    crd_text_html(t, plot->y_label);
    crd_text_add(t, "</text>");
}

static void legend(crd_plot *plot, int series, const char *name)
{
    if (name == NULL) return;
    crd_text_print(plot->text,
                   "<rect class=\"f%d\" x=\"%d\" y=\"%d\" width=\"14\" height=\"5\"/><text class=\"tick halo\" "
                   "text-anchor=\"end\" x=\"%d\" y=\"%d\">",
                   series, WIDTH - RIGHT - 20, TOP + 8 + 16 * plot->series, WIDTH - RIGHT - 26,
                   TOP + 14 + 16 * plot->series);
    crd_text_html(plot->text, name);
    crd_text_add(plot->text, "</text>");
    plot->series++;
}

void crd_plot_line(crd_plot *plot, const double *x, const double *y, int64_t count, int series, const char *name)
{
    bool drawing = false;
    crd_text_print(plot->text, "<path class=\"s%d\" d=\"", series);
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            drawing = false;
            continue;
        }
        crd_text_add(plot->text, drawing ? "L" : "M");
        coordinate(plot->text, x_of(plot, x[i]));
        crd_text_add(plot->text, " ");
        coordinate(plot->text, y_of(plot, y[i]));
        drawing = true;
    }
    crd_text_add(plot->text, "\"/>");
    legend(plot, series, name);
}

static void rectangle(crd_plot *plot, double x0, double y0, double x1, double y1, const char *style)
{
    crd_text *t = plot->text;
    crd_text_add(t, "<rect class=\"");
    crd_text_add(t, style);
    crd_text_add(t, "\" x=\"");
    coordinate(t, fmin(x0, x1));
    crd_text_add(t, "\" y=\"");
    coordinate(t, fmin(y0, y1));
    crd_text_add(t, "\" width=\"");
    coordinate(t, fmax(fabs(x1 - x0), 0.5));
    crd_text_add(t, "\" height=\"");
    coordinate(t, fabs(y1 - y0));
    crd_text_add(t, "\"/>");
}

void crd_plot_bars(crd_plot *plot, const double *low, const double *high, const double *base, const double *height,
                   int64_t count, int series, const char *name)
{
    const char *const styles[] = {"f0", "f1", "f2", "f3"};
    for (int64_t i = 0; i < count; i++) {
        const double from = base != NULL ? base[i] : plot->y_low;
        if (!isfinite(height[i]) || !(height[i] > 0.0)) continue;
        rectangle(plot, x_of(plot, low[i]), y_of(plot, from), x_of(plot, high[i]),
                  y_of(plot, base != NULL ? from + height[i] : height[i]), styles[series & 3]);
    }
    legend(plot, series, name);
}

void crd_plot_band(crd_plot *plot, double low, double high)
{
    rectangle(plot, x_of(plot, low), TOP, x_of(plot, high), HEIGHT - BOTTOM, "band");
}

void crd_plot_mark(crd_plot *plot, double x0, double y0, double x1, double y1)
{
    crd_text *t = plot->text;
    crd_text_add(t, "<path class=\"mark\" d=\"M");
    coordinate(t, x_of(plot, x0));
    crd_text_add(t, " ");
    coordinate(t, y_of(plot, y0));
    crd_text_add(t, "L");
    coordinate(t, x_of(plot, x1));
    crd_text_add(t, " ");
    coordinate(t, y_of(plot, y1));
    crd_text_add(t, "\"/>");
}

void crd_plot_end(crd_plot *plot)
{
    crd_text_add(plot->text, "</svg><p class=\"note\">");
    crd_text_html(plot->text, plot->words);
    crd_text_add(plot->text, "</p></figure>");
}
