/* Pictures: planes of volumes as pixels. */
#ifndef CRD_REPORT_PICTURE_H
#define CRD_REPORT_PICTURE_H

#include <stdbool.h>

#include "base/text.h"
#include "credence/volume.h"

/* A plane across one axis of a volume. */
typedef struct crd_plane {
    int64_t rows, columns;
    float *values;
} crd_plane;

/* Plane number `index` across `axis`, of the box `box` of the volume: rows and columns are the other two axes. Values
 * are multiplied by `scale`; what is no number becomes 0. */
crd_status crd_plane_read(crd_volume *volume, double scale, const crd_box *box, int axis, int64_t index,
                          crd_plane *out);
/* The part of a plane; beyond its edges the nearest value. */
crd_status crd_plane_crop(const crd_plane *plane, int64_t row, int64_t column, int64_t rows, int64_t columns,
                          crd_plane *out);
void crd_plane_free(crd_plane *plane);

typedef struct crd_picture {
    int64_t width, height;
    uint8_t *rgb;
} crd_picture;

/* How large a plane is drawn: voxels of the same size in both directions, enlarged or averaged towards `edge` pixels.
 */
void crd_picture_size(const crd_plane *plane, double row_spacing, double column_spacing, int64_t edge, int64_t *width,
                      int64_t *height);

crd_status crd_picture_grey(const crd_plane *plane, double low, double high, int64_t width, int64_t height,
                            crd_picture *out);
crd_status crd_picture_map(const crd_plane *plane, double high, int64_t width, int64_t height, crd_picture *out);
/* Draws where the plane crosses one half. */
crd_status crd_picture_contour(crd_picture *picture, const crd_plane *plane, const uint8_t colour[3]);
void crd_picture_free(crd_picture *picture);

void crd_text_base64(crd_text *text, const uint8_t *bytes, int64_t count);

#endif
