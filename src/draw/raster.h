/* Shapes into a picture. Lines, discs, boxes and text are collected, and filled together: where they overlap they count
 * once, so that a line with many corners or half transparent has no dark spots.
 *
 * A pixel is covered by as much as its share of the shapes' area: exact along x, the mean of CRD_RASTER_LINES lines
 * along y. Nothing depends on the machine, on libm or on fonts: the same calls give the same pixels. (That is why this
 * isn't cairo with FreeType: both would do, but neither they nor fonts are on every node of a cluster.)
 *
 * Coordinates are pixels; (0, 0) is the top left corner of the picture. What lies outside is left out. */
#ifndef CRD_DRAW_RASTER_H
#define CRD_DRAW_RASTER_H

#include <stdbool.h>

#include "draw/picture.h"

enum { CRD_RASTER_LINES = 16 };

/* An edge of a shape, from the upper end to the lower one; `way` is 1 or -1: down or up as the shape goes round. */
typedef struct crd_raster_edge {
    double x0, y0, x1, y1;
    int way;
} crd_raster_edge;

/* Begins as {.picture = ...}. The first failure sticks in `status`, and what follows does nothing. */
typedef struct crd_raster {
    crd_picture *picture;
    crd_raster_edge *edges;
    int64_t count, room;
    double pen_x, pen_y;
    crd_status status;
} crd_raster;

/* A convex polygon. */
void crd_raster_polygon(crd_raster *raster, const double (*points)[2], int count);
void crd_raster_box(crd_raster *raster, double x, double y, double width, double height);
void crd_raster_disc(crd_raster *raster, double x, double y, double radius);
/* A round pen of that width is put down at a point, or drawn there from where it is. */
void crd_raster_pen(crd_raster *raster, bool draw, double x, double y, double width);
/* Text from the left end of its base line, `size` pixels high, with a pen of that width; `turned` text runs upwards. */
void crd_raster_text(crd_raster *raster, double x, double y, double size, double pen, bool turned, const char *words);

/* Fills all that was collected with a colour 0xRRGGBB, and forgets it. */
void crd_raster_fill(crd_raster *raster, uint32_t colour, double opacity);

void crd_raster_free(crd_raster *raster);

#endif
