/* Plots as inline SVG: axes with round numbers, lines, bars, a legend. Colours come from the page's style sheet, so
 * that they suit light, dark and paper. */
#ifndef CRD_REPORT_PLOT_H
#define CRD_REPORT_PLOT_H

#include <stdbool.h>

#include "base/text.h"

typedef struct crd_plot {
    crd_text *text;
    const char *which; /* the run, where there are two; or "" */
    const char *title;
    const char *words; /* what can be seen, and how it is read: stands below */
    const char *x_label, *y_label;
    double x_low, x_high, y_low, y_high;
    double y_last; /* the largest number that the y axis shows, where the room above is for the legend; 0: y_high */
    bool y_log;    /* y_low > 0 then */
    int series;    /* lines in the legend so far */
} crd_plot;

void crd_plot_begin(crd_plot *plot);
/* Points that aren't finite interrupt the line. `series` 0 to 3 chooses the colour; `name` may be NULL: no legend. */
void crd_plot_line(crd_plot *plot, const double *x, const double *y, int64_t count, int series, const char *name);
/* A bar from each low to each high, of that height above `base` (NULL: the axis). */
void crd_plot_bars(crd_plot *plot, const double *low, const double *high, const double *base, const double *height,
                   int64_t count, int series, const char *name);
/* A band between two values of x over the whole height, and a dashed line. */
void crd_plot_band(crd_plot *plot, double low, double high);
void crd_plot_mark(crd_plot *plot, double x0, double y0, double x1, double y1);
void crd_plot_end(crd_plot *plot);

void crd_text_html(crd_text *text, const char *words);

#endif
