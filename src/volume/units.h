/* Units of length as files spell them. */
#ifndef CRD_VOLUME_UNITS_H
#define CRD_VOLUME_UNITS_H

#include <stddef.h>

enum { CRD_UNIT_BYTES = 16 };

/* micron, micrometer, \u00b5m, ... -> "um"; millimetre -> "mm"; pixel -> "". An unknown one is kept, without control
 * characters and cut at a character's end. `text` may be NULL. */
void crd_unit_normalise(const char *text, char out[CRD_UNIT_BYTES]);

/* Micrometres in one `unit` (a normalised one); 0 if it is no length. */
double crd_unit_in_um(const char *unit);

#endif
