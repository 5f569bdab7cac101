/* A colour map in which equal steps of the value look equally large: CIE lightness rises evenly from black to a warm
 * white, while the hue turns from violet over red to yellow in the Oklab space. Reads the same in grey. */
#ifndef CRD_REPORT_COLOUR_H
#define CRD_REPORT_COLOUR_H

#include <stdint.h>

enum { CRD_COLOURS = 256 };

void crd_colour_map(uint8_t rgb[CRD_COLOURS][3]);

#endif
