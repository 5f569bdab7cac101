/* Pixels, and PNG files of them; the only place that writes such. */
#ifndef CRD_DRAW_PICTURE_H
#define CRD_DRAW_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Red, green, blue, row by row from the top left; begins as {0}. */
typedef struct crd_picture {
    int64_t width, height;
    uint8_t *rgb;
} crd_picture;

/* Black. */
crd_status crd_picture_create(int64_t width, int64_t height, crd_picture *out);
void crd_picture_free(crd_picture *picture);

/* Whether this build can write PNG. */
bool crd_png_possible(void);
/* A PNG in memory; free with crd_free. CRD_ERR_UNSUPPORTED without libpng. */
crd_status crd_png_encode(const crd_picture *picture, uint8_t **bytes, int64_t *count);
/* The same of grey bytes, row by row; slower, and as small as it gets. */
crd_status crd_png_encode_grey(const uint8_t *grey, int64_t width, int64_t height, uint8_t **bytes, int64_t *count);

#endif
