/* The style in which everything is drawn: colours and inks, once for the pixels of a PNG and once as the style sheet of
 * SVG in a page, where they follow the reader's choice of light or dark. Text keeps a contrast of at least 4.5 to 1 to
 * what is behind it, lines 3 to 1; the lines' colours differ for colour-blind eyes, too. */
#ifndef CRD_DRAW_STYLE_H
#define CRD_DRAW_STYLE_H

#include <stdint.h>

/* name, on light, on dark */
#define CRD_COLOURS_OF_THEME(X)                                                                                        \
    X(back, ffffff, 15181c)                                                                                            \
    X(card, f5f6f8, 1e2228)                                                                                            \
    X(ink, 1a1d21, e8eaed)                                                                                             \
    X(soft, 525a64, a9b1bc)                                                                                            \
    X(line, d5d9df, 3a414b)                                                                                            \
    X(a, 1f5fbf, 7fb0ff)                                                                                               \
    X(b, c2410c, ff9d5c)                                                                                               \
    X(c, 009999, 99ffdd)                                                                                               \
    X(d, 883377, cc3399)

/* class of the SVG, colour, width of lines, opacity. The series come last: lines and dots, bars that let a line over
 * them be seen, faint lines. */
#define CRD_INKS(X)                                                                                                    \
    X(grid, line, 0.8, 1)                                                                                              \
    X(axis, soft, 1, 1)                                                                                                \
    X(mark, ink, 1.3, 1)                                                                                               \
    X(band, c, 0, 0.2)                                                                                                 \
    X(s0, a, 2, 1)                                                                                                     \
    X(s1, b, 2, 1)                                                                                                     \
    X(s2, c, 2, 1)                                                                                                     \
    X(s3, d, 2, 1)                                                                                                     \
    X(b0, a, 0, 0.5)                                                                                                   \
    X(b1, b, 0, 0.5)                                                                                                   \
    X(b2, c, 0, 0.5)                                                                                                   \
    X(b3, d, 0, 0.5)                                                                                                   \
    X(t0, a, 1, 0.35)                                                                                                  \
    X(t1, b, 1, 0.35)                                                                                                  \
    X(t2, c, 1, 0.35)                                                                                                  \
    X(t3, d, 1, 0.35)

/* How long the dashes of marks are, and how far apart. */
#define CRD_DASHES(X) X(4, 5)

/* class of the SVG, colour, size, weight */
#define CRD_LETTERINGS(X)                                                                                              \
    X(tick, soft, 12, 400)                                                                                             \
    X(label, soft, 13, 400)                                                                                            \
    X(title, ink, 14, 600)

#define CRD_NAME_COLOUR(name, light, dark)             CRD_COLOUR_##name,
#define CRD_NAME_INK(name, colour, width, opacity)     CRD_INK_##name,
#define CRD_NAME_LETTERING(name, colour, size, weight) CRD_LETTERING_##name,
enum { CRD_COLOURS_OF_THEME(CRD_NAME_COLOUR) CRD_THEME_COLOURS };
typedef enum crd_ink { CRD_INKS(CRD_NAME_INK) CRD_INK_COUNT } crd_ink;
typedef enum crd_lettering { CRD_LETTERINGS(CRD_NAME_LETTERING) CRD_LETTERING_COUNT } crd_lettering;
enum { CRD_SERIES_COLOURS = 4 };

/* Pieces of a style sheet. */
#define CRD_CSS_LIGHT(name, light, dark) "--" #name ":#" #light ";"
#define CRD_CSS_DARK(name, light, dark)  "--" #name ":#" #dark ";"
#define CRD_CSS_INK(name, colour, width, opacity)                                                                      \
    "." #name "{--pen:var(--" #colour ");--wide:" #width ";opacity:" #opacity "}"
#define CRD_CSS_LETTERING(name, colour, size, weight)                                                                  \
    "." #name "{fill:var(--" #colour ");font-size:" #size "px;font-weight:" #weight "}"

#define CRD_CSS_DASHES(on, off) ".mark{stroke-dasharray:" #on " " #off "}"

#define CRD_LIGHT_COLOURS CRD_COLOURS_OF_THEME(CRD_CSS_LIGHT)
#define CRD_DARK_COLOURS  CRD_COLOURS_OF_THEME(CRD_CSS_DARK)
#define CRD_SVG_STYLE                                                                                                  \
    CRD_INKS(CRD_CSS_INK)                                                                                              \
    CRD_LETTERINGS(CRD_CSS_LETTERING)                                                                                  \
    "svg path{fill:none;stroke:var(--pen);stroke-width:var(--wide);stroke-linejoin:round;stroke-linecap:round}"        \
    "svg rect,svg circle{fill:var(--pen)}" CRD_DASHES(CRD_CSS_DASHES)

#endif
