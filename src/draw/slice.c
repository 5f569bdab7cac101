#include "draw/slice.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "draw/colour.h"

static int64_t within(int64_t x, int64_t count)
{
    return x < 0 ? 0 : x >= count ? count - 1 : x;
}

crd_status crd_plane_crop(const crd_plane *plane, int64_t row, int64_t column, int64_t rows, int64_t columns,
                          crd_plane *out)
{
    out->rows = rows;
    out->columns = columns;
    CRD_PASS(crd_alloc(rows * columns, sizeof *out->values, "a picture", &out->values));
    for (int64_t r = 0; r < rows; r++) {
        const float *from = plane->values + within(row + r, plane->rows) * plane->columns;
        for (int64_t c = 0; c < columns; c++) out->values[r * columns + c] = from[within(column + c, plane->columns)];
    }
    return CRD_OK;
}

void crd_plane_free(crd_plane *plane)
{
    crd_free(&plane->values);
}

void crd_picture_size(const crd_plane *plane, double row_spacing, double column_spacing, int64_t edge, int64_t *width,
                      int64_t *height)
{
    const bool known = row_spacing > 0.0 && column_spacing > 0.0;
    double high = (double)plane->rows * (known ? row_spacing : 1.0);
    double wide = (double)plane->columns * (known ? column_spacing : 1.0);
    const double least = known ? fmin(row_spacing, column_spacing) : 1.0; /* one pixel per voxel, at first */
    high /= least;
    wide /= least;
    double factor = (double)edge / fmax(high, wide);
    if (factor > 1.0) factor = fmin(4.0, floor(factor)); /* enlarged by whole numbers: voxels stay square */
    *width = (int64_t)fmax(1.0, rint(wide * fmax(factor, 1e-6)));
    *height = (int64_t)fmax(1.0, rint(high * fmax(factor, 1e-6)));
}

/* The mean of the voxels that a pixel covers. */
static float sample(const crd_plane *plane, int64_t x, int64_t y, int64_t width, int64_t height)
{
    const int64_t top = y * plane->rows / height, left = x * plane->columns / width;
    const int64_t bottom = (y + 1) * plane->rows / height, right = (x + 1) * plane->columns / width;
    double sum = 0.0;
    int64_t count = 0;
    for (int64_t r = top; r < (bottom > top ? bottom : top + 1); r++) {
        for (int64_t c = left; c < (right > left ? right : left + 1); c++, count++) {
            sum += (double)plane->values[r * plane->columns + c];
        }
    }
    return (float)(sum / (double)count);
}

static int64_t level(double value, double low, double high, int64_t count)
{
    const double t = high > low ? (value - low) / (high - low) : 0.0;
    return t <= 0.0 ? 0 : t >= 1.0 ? count - 1 : (int64_t)(t * (double)(count - 1) + 0.5);
}

crd_status crd_picture_grey(const crd_plane *plane, double low, double high, int64_t width, int64_t height,
                            crd_picture *out)
{
    CRD_PASS(crd_picture_create(width, height, out));
    for (int64_t i = 0; i < width * height; i++) {
        const double value = (double)sample(plane, i % width, i / width, width, height);
        memset(out->rgb + 3 * i, (int)level(value, low, high, 256), 3);
    }
    return CRD_OK;
}

crd_status crd_picture_map(const crd_plane *plane, double high, int64_t width, int64_t height, crd_picture *out)
{
    uint8_t colours[CRD_COLOURS][3];
    crd_colour_map(colours);
    CRD_PASS(crd_picture_create(width, height, out));
    for (int64_t i = 0; i < width * height; i++) {
        const double value = (double)sample(plane, i % width, i / width, width, height);
        memcpy(out->rgb + 3 * i, colours[level(value, 0.0, high, CRD_COLOURS)], 3);
    }
    return CRD_OK;
}

crd_status crd_picture_contour(crd_picture *picture, const crd_plane *plane, uint32_t colour)
{
    crd_status status = CRD_OK;
    uint8_t *inside = NULL;
    const uint8_t rgb[3] = {(uint8_t)(colour >> 16), (uint8_t)(colour >> 8), (uint8_t)colour};
    const int64_t width = picture->width, height = picture->height;
    CRD_TRY(crd_alloc(width * height, 1, "a picture", &inside));
    for (int64_t i = 0; i < width * height; i++) {
        inside[i] = sample(plane, i % width, i / width, width, height) > 0.5f;
    }
    for (int64_t i = 0; i < width * height; i++) {
        const bool right = i % width + 1 < width && inside[i] != inside[i + 1];
        const bool below = i / width + 1 < height && inside[i] != inside[i + width];
        if (right || below) memcpy(picture->rgb + 3 * i, rgb, 3);
    }
done:
    crd_free(&inside);
    return status;
}
