/* What a plot is drawn with: SVG or pixels. Coordinates are units of a drawing, y downwards. */
#ifndef CRD_DRAW_PEN_H
#define CRD_DRAW_PEN_H

#include "draw/plot.h"
#include "draw/style.h"

typedef enum crd_anchor { CRD_ANCHOR_START, CRD_ANCHOR_MIDDLE, CRD_ANCHOR_END } crd_anchor;

typedef struct crd_pen crd_pen;
struct crd_pen {
    double stretch; /* how much wider its letters may be than crd_lettering_width */
    /* A line in one ink: begun, put down or drawn to points, ended. */
    void (*begin)(crd_pen *pen, crd_ink ink);
    void (*to)(crd_pen *pen, bool draw, double x, double y);
    void (*end)(crd_pen *pen);
    void (*box)(crd_pen *pen, crd_ink ink, double x, double y, double width, double height);
    void (*dot)(crd_pen *pen, crd_ink ink, double x, double y, double radius);
    /* `turned` text runs upwards. */
    void (*text)(crd_pen *pen, crd_lettering lettering, crd_anchor anchor, double x, double y, bool turned,
                 const char *words);
};

/* The width of a text in units, in our own typeface. */
double crd_lettering_width(crd_lettering lettering, const char *words);

/* The layout: the same for every pen. */
void crd_plot_draw(const crd_plot *plot, double x, double y, double width, double height, crd_pen *pen);

#endif
