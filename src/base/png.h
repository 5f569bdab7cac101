/* Pixels as PNG; the only place that knows libpng. */
#ifndef CRD_BASE_PNG_H
#define CRD_BASE_PNG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Whether this build can. */
bool crd_png_possible(void);

/* [height][width][3] bytes, red, green, blue, as a PNG in memory; free with crd_free. CRD_ERR_UNSUPPORTED without
 * libpng. */
crd_status crd_png_encode(const uint8_t *rgb, int64_t width, int64_t height, uint8_t **bytes, int64_t *count);

#endif
