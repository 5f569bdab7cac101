/* A small canvas: smooth lines, discs, and text in a font of its own. Colours are 0xRRGGBB; (0, 0) is the top left. */
#ifndef CRD_TRAIN_CANVAS_H
#define CRD_TRAIN_CANVAS_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_canvas {
    int width, height;
    uint8_t *pixels; /* [height][width][3] */
} crd_canvas;

/* White. */
crd_status crd_canvas_create(int width, int height, crd_canvas *out);
void crd_canvas_free(crd_canvas *canvas);

/* Anti-aliased; coordinates are those of pixel centres, parts outside are left out. */
void crd_canvas_line(crd_canvas *canvas, double x0, double y0, double x1, double y1, double thickness, uint32_t colour);
void crd_canvas_disc(crd_canvas *canvas, double x, double y, double radius, uint32_t colour);
void crd_canvas_fill(crd_canvas *canvas, int x, int y, int width, int height, uint32_t colour);

/* Letters are 5 by 9 cells of `scale` pixels, one cell apart, and stand on the seventh. Characters that the font lacks
 * are blank. */
enum { CRD_FONT_WIDTH = 6, CRD_FONT_HEIGHT = 7, CRD_FONT_ROWS = 9 };
void crd_canvas_text(crd_canvas *canvas, int x, int y, int scale, uint32_t colour, const char *text);

int crd_canvas_text_width(int scale, const char *text);

/* Replaces `path` with a PNG. */
crd_status crd_canvas_write(const crd_canvas *canvas, const char *path);

#endif
