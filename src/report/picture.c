#include "report/picture.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "report/colour.h"

crd_status crd_plane_read(crd_volume *volume, double scale, const crd_box *box, int axis, int64_t index, crd_plane *out)
{
    crd_box slice = *box;
    slice.origin[axis] += index;
    slice.size[axis] = 1;
    out->rows = slice.size[axis == 0 ? 1 : 0];
    out->columns = slice.size[axis == 2 ? 1 : 2];
    CRD_PASS(crd_alloc(out->rows * out->columns, sizeof *out->values, "a picture", &out->values));
    CRD_PASS(crd_volume_read(volume, &slice, CRD_F32, out->values));
    const float factor = (float)scale;
    for (int64_t i = 0; i < out->rows * out->columns; i++) {
        out->values[i] = isfinite(out->values[i]) ? out->values[i] * factor : 0.0f;
    }
    return CRD_OK;
}

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

static crd_status begin(int64_t width, int64_t height, crd_picture *out)
{
    int64_t bytes;
    CRD_PASS(crd_product(width, height, 3, &bytes));
    out->width = width;
    out->height = height;
    return crd_alloc(bytes, 1, "a picture", &out->rgb);
}

static int64_t level(double value, double low, double high, int64_t count)
{
    const double t = high > low ? (value - low) / (high - low) : 0.0;
    return t <= 0.0 ? 0 : t >= 1.0 ? count - 1 : (int64_t)(t * (double)(count - 1) + 0.5);
}

crd_status crd_picture_grey(const crd_plane *plane, double low, double high, int64_t width, int64_t height,
                            crd_picture *out)
{
    CRD_PASS(begin(width, height, out));
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
    CRD_PASS(begin(width, height, out));
    for (int64_t i = 0; i < width * height; i++) {
        const double value = (double)sample(plane, i % width, i / width, width, height);
        memcpy(out->rgb + 3 * i, colours[level(value, 0.0, high, CRD_COLOURS)], 3);
    }
    return CRD_OK;
}

crd_status crd_picture_contour(crd_picture *picture, const crd_plane *plane, const uint8_t colour[3])
{
    crd_status status = CRD_OK;
    uint8_t *inside = NULL;
    const int64_t width = picture->width, height = picture->height;
    CRD_TRY(crd_alloc(width * height, 1, "a picture", &inside));
    for (int64_t i = 0; i < width * height; i++) {
        inside[i] = sample(plane, i % width, i / width, width, height) > 0.5f;
    }
    for (int64_t i = 0; i < width * height; i++) {
        const bool right = i % width + 1 < width && inside[i] != inside[i + 1];
        const bool below = i / width + 1 < height && inside[i] != inside[i + width];
        if (right || below) memcpy(picture->rgb + 3 * i, colour, 3);
    }
done:
    crd_free(&inside);
    return status;
}

void crd_picture_free(crd_picture *picture)
{
    crd_free(&picture->rgb);
}

void crd_text_base64(crd_text *text, const uint8_t *bytes, int64_t count)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char some[1024];
    int64_t used = 0;
    for (int64_t i = 0; i < count; i += 3) {
        const int64_t left = count - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        some[used++] = letters[word >> 18];
        some[used++] = letters[word >> 12 & 63];
        some[used++] = left > 1 ? letters[word >> 6 & 63] : '=';
        some[used++] = left > 2 ? letters[word & 63] : '=';
        if (used == (int64_t)sizeof some || left <= 3) {
            crd_text_add_bytes(text, some, used);
            used = 0;
        }
    }
}
