/* Colours of values and of classes. */
#ifndef CRD_DRAW_COLOUR_H
#define CRD_DRAW_COLOUR_H

#include <stdint.h>

enum { CRD_COLOURS = 256, CRD_CLASS_COLOURS = 16 };

/* A colour map in which equal steps of the value look equally large: CIE lightness rises evenly from black to a warm
 * white, while the hue turns from violet over red to yellow in the Oklab space. Reads the same in grey. */
void crd_colour_map(uint8_t rgb[CRD_COLOURS][3]);

/* 0xRRGGBB of classes drawn over grey values. Any two differ for all kinds of colour vision (by 0.09 in Oklab or more),
 * the first ones most. */
extern const uint32_t crd_class_colours[CRD_CLASS_COLOURS];

#endif
