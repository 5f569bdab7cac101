/* A typeface of strokes: letters are centre lines, drawn with a round pen at any size. It needs no font on the machine,
 * and gives the same picture everywhere. */
#ifndef CRD_DRAW_FONT_H
#define CRD_DRAW_FONT_H

#include <stdbool.h>

/* Where the pen goes: `draw` from the last point in a straight line, else it is put down here. In ems from the left end
 * of the text's base line, y upwards. */
typedef void crd_font_pen(void *context, bool draw, double x, double y);

/* The pen's width in ems. Capitals reach CRD_FONT_CAPITAL above the base line, with the pen's width. */
#define CRD_FONT_PEN      0.082
#define CRD_FONT_BOLD_PEN 0.112
#define CRD_FONT_CAPITAL  0.73

/* The width of UTF-8 text in ems. Signs that the typeface lacks count, and are drawn, as a box. */
double crd_font_width(const char *words);
/* Draws the text, and returns its width. */
double crd_font_draw(const char *words, crd_font_pen *pen, void *context);

#endif
