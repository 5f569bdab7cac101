/* Slices of volumes as pictures: grey, in the colours of uncertainty, with outlines. */
#ifndef CRD_DRAW_SLICE_H
#define CRD_DRAW_SLICE_H

#include "draw/picture.h"

/* A plane of values; begins as {0}. */
typedef struct crd_plane {
    int64_t rows, columns;
    float *values;
} crd_plane;

/* The part of a plane; beyond its edges the nearest value. */
crd_status crd_plane_crop(const crd_plane *plane, int64_t row, int64_t column, int64_t rows, int64_t columns,
                          crd_plane *out);
void crd_plane_free(crd_plane *plane);

/* How large a plane is drawn: voxels of the same size in both directions, enlarged or averaged towards `edge` pixels.
 */
void crd_picture_size(const crd_plane *plane, double row_spacing, double column_spacing, int64_t edge, int64_t *width,
                      int64_t *height);

crd_status crd_picture_grey(const crd_plane *plane, double low, double high, int64_t width, int64_t height,
                            crd_picture *out);
/* From 0 to `high`, in the colours of crd_colour_map. */
crd_status crd_picture_map(const crd_plane *plane, double high, int64_t width, int64_t height, crd_picture *out);
/* Classes, numbered from 0 on, in the colours of crd_class_colours; what is no class is grey. */
crd_status crd_picture_classes(const crd_plane *plane, int64_t width, int64_t height, crd_picture *out);
/* Blends a colour 0xRRGGBB into the pixels in whose middle the plane has that value. */
void crd_picture_tint(crd_picture *picture, const crd_plane *plane, float value, uint32_t colour, double opacity);
/* Draws where the plane crosses one half, in a colour 0xRRGGBB. */
crd_status crd_picture_contour(crd_picture *picture, const crd_plane *plane, uint32_t colour);
/* Draws how long a round length is, at the bottom right, in white that black sets off; `pixel` is what one pixel
 * measures, 0: not known, nothing is drawn. Nor is it in a picture that is too small. */
crd_status crd_picture_scale_bar(crd_picture *picture, double pixel, const char *unit);

#endif
