/* A plot: what is to be seen, in words and numbers. Where everything goes is worked out once, and drawn as SVG text or
 * as pixels. */
#ifndef CRD_DRAW_PLOT_H
#define CRD_DRAW_PLOT_H

#include "base/text.h"
#include "draw/raster.h"

typedef enum crd_series_kind {
    CRD_SERIES_LINE,  /* through (x, y); what is not finite interrupts it, and a point on its own is drawn as one */
    CRD_SERIES_DOTS,  /* the same, with a dot at every point */
    CRD_SERIES_BARS,  /* from x to x_end, as high as y */
    CRD_SERIES_BAND,  /* from x to x_end over the whole height */
    CRD_SERIES_DASHES /* a line that is no data: a limit, a diagonal */
} crd_series_kind;

typedef struct crd_series {
    crd_series_kind kind;
    const double *x, *x_end, *y; /* borrowed, as is all that a plot points to */
    int64_t count;
    int colour;               /* 0 to 3 */
    bool faint;               /* thin and pale, for what stands behind */
    const char *name;         /* in the legend; NULL: not there */
    const char *const *words; /* of bars: written into them from the axis upwards; NULL: nothing, "" likewise */
} crd_series;

typedef struct crd_axis {
    const char *label;
    double low, high; /* what is shown; high <= low: what the series need */
    bool zero;        /* and 0 with it */
    bool log;
    bool whole; /* numbers between whole ones mean nothing */
} crd_axis;

typedef struct crd_plot {
    const char *title; /* may be NULL */
    crd_axis x, y;
    const crd_series *series; /* later ones over earlier ones */
    int count;
} crd_plot;

/* A whole <svg> of that size; `words` say what it shows to those who can't see it. The page has CRD_SVG_STYLE. */
void crd_plot_svg(const crd_plot *plot, double width, double height, const char *words, crd_text *out);
/* Into a box of a picture in which `scale` pixels are one unit of all sizes (text of 12 units, lines of 2). */
void crd_plot_paint(const crd_plot *plot, double x, double y, double width, double height, double scale,
                    crd_raster *raster);

#endif
