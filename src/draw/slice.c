#include "draw/slice.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "draw/colour.h"
#include "draw/font.h"
#include "draw/raster.h"
#include "draw/ticks.h"

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
    if (factor > 1.0) factor = fmin(16.0, floor(factor)); /* enlarged by whole numbers: voxels stay square */
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

/* The voxel in the middle of the pixel: classes have no mean. */
static float middle_of(const crd_plane *plane, int64_t x, int64_t y, int64_t width, int64_t height)
{
    return plane->values[(2 * y + 1) * plane->rows / (2 * height) * plane->columns +
                         (2 * x + 1) * plane->columns / (2 * width)];
}

crd_status crd_picture_classes(const crd_plane *plane, int64_t width, int64_t height, crd_picture *out)
{
    static const uint32_t none = 0x808080;
    CRD_PASS(crd_picture_create(width, height, out));
    for (int64_t i = 0; i < width * height; i++) {
        const float number = middle_of(plane, i % width, i / width, width, height);
        const bool is_class = number >= 0.0f && number < (float)CRD_CLASS_COLOURS;
        const uint32_t colour = is_class ? crd_class_colours[(int)number] : none;
        for (int k = 0; k < 3; k++) out->rgb[3 * i + k] = (uint8_t)(colour >> (16 - 8 * k));
    }
    return CRD_OK;
}

void crd_picture_tint(crd_picture *picture, const crd_plane *plane, float value, uint32_t colour, double opacity)
{
    const int64_t width = picture->width, height = picture->height;
    for (int64_t i = 0; i < width * height; i++) {
        if (middle_of(plane, i % width, i / width, width, height) != value) continue;
        uint8_t *pixel = picture->rgb + 3 * i;
        for (int k = 0; k < 3; k++) {
            const double there = (double)pixel[k], wanted = (double)(colour >> (16 - 8 * k) & 255);
            pixel[k] = (uint8_t)(there + opacity * (wanted - there) + 0.5);
        }
    }
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
        /* Both sides of the border. */
        if (i % width + 1 < width && inside[i] != inside[i + 1]) {
            memcpy(picture->rgb + 3 * i, rgb, 3);
            memcpy(picture->rgb + 3 * (i + 1), rgb, 3);
        }
        if (i / width + 1 < height && inside[i] != inside[i + width]) {
            memcpy(picture->rgb + 3 * i, rgb, 3);
            memcpy(picture->rgb + 3 * (i + width), rgb, 3);
        }
    }
done:
    crd_free(&inside);
    return status;
}

/* Bar and words, `more` pixels larger all around. */
static void fill_scale_bar(crd_raster *raster, double x, double y, double length, double size, const char *words,
                           double more, uint32_t colour)
{
    const double thick = 0.22 * size, left = x + 0.5 * (length - size * crd_font_width(words));
    crd_raster_box(raster, x - more, y - more, length + 2.0 * more, thick + 2.0 * more);
    crd_raster_text(raster, left, y - 0.4 * size, size, size * CRD_FONT_PEN + 2.0 * more, false, words);
    crd_raster_fill(raster, colour, 1.0);
}

crd_status crd_picture_scale_bar(crd_picture *picture, double pixel, const char *unit)
{
    const double width = (double)picture->width, size = fmin(24.0, fmax(11.0, rint(width / 19.0)));
    double low = 0.0, high = 0.36 * width * pixel;
    crd_raster raster = {.picture = picture};
    crd_ticks ticks;
    char words[CRD_TICK_BYTES + 32];
    if (!(pixel > 0.0) || !isfinite(high) || width < 120.0 || (double)picture->height < 4.0 * size) return CRD_OK;
    crd_ticks_choose(&low, &high, 3, false, false, &ticks);
    if (ticks.count < 2) return CRD_OK;
    snprintf(words, sizeof words, "%s %s", ticks.text[1], unit);
    const double length = rint(ticks.value[1] / pixel), wide = fmax(length, size * crd_font_width(words));
    const double x = rint(width - 0.8 * size - 0.5 * (wide + length)), y = rint((double)picture->height - 1.1 * size);
    fill_scale_bar(&raster, x, y, length, size, words, 1.2, 0x000000);
    fill_scale_bar(&raster, x, y, length, size, words, 0.0, 0xffffff);
    crd_raster_free(&raster);
    return raster.status;
}
