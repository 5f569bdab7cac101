#include "train/canvas.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/png.h"
#include "train/font.h"

crd_status crd_canvas_create(int width, int height, crd_canvas *out)
{
    *out = (crd_canvas){width, height, NULL};
    CRD_PASS(crd_alloc((int64_t)width * height, 3, "a picture", &out->pixels));
    memset(out->pixels, 255, (size_t)width * (size_t)height * 3);
    return CRD_OK;
}

void crd_canvas_free(crd_canvas *canvas)
{
    crd_free(&canvas->pixels);
}

static void blend(crd_canvas *canvas, int x, int y, double cover, uint32_t colour)
{
    if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height || cover <= 0.0) return;
    uint8_t *pixel = canvas->pixels + 3 * ((size_t)y * (size_t)canvas->width + (size_t)x);
    const double share = cover < 1.0 ? cover : 1.0;
    for (int c = 0; c < 3; c++) {
        const double wanted = (double)(colour >> (16 - 8 * c) & 255);
        pixel[c] = (uint8_t)(pixel[c] + share * (wanted - pixel[c]) + 0.5);
    }
}

/* How much of a pixel is covered is taken from its centre's distance to the segment. */
static double distance(double x, double y, double x0, double y0, double x1, double y1)
{
    const double dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
    double t = square > 0.0 ? ((x - x0) * dx + (y - y0) * dy) / square : 0.0;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    return hypot(x - x0 - t * dx, y - y0 - t * dy);
}

static int limited(double value, int most)
{
    return value < 0.0 ? 0 : value > (double)most ? most : (int)value;
}

void crd_canvas_line(crd_canvas *canvas, double x0, double y0, double x1, double y1, double thickness, uint32_t colour)
{
    const double reach = 0.5 * thickness + 1.0;
    const int left = limited(fmin(x0, x1) - reach, canvas->width),
              right = limited(fmax(x0, x1) + reach, canvas->width - 1);
    const int top = limited(fmin(y0, y1) - reach, canvas->height);
    const int bottom = limited(fmax(y0, y1) + reach, canvas->height - 1);
    for (int y = top; y <= bottom; y++) {
        for (int x = left; x <= right; x++) {
            blend(canvas, x, y, 0.5 * thickness + 0.5 - distance(x, y, x0, y0, x1, y1), colour);
        }
    }
}

void crd_canvas_disc(crd_canvas *canvas, double x, double y, double radius, uint32_t colour)
{
    crd_canvas_line(canvas, x, y, x, y, 2.0 * radius, colour);
}

void crd_canvas_fill(crd_canvas *canvas, int x, int y, int width, int height, uint32_t colour)
{
    for (int row = y; row < y + height; row++) {
        for (int column = x; column < x + width; column++) blend(canvas, column, row, 1.0, colour);
    }
}

int crd_canvas_text_width(int scale, const char *text)
{
    return scale * (CRD_FONT_WIDTH * (int)strlen(text) - 1);
}

void crd_canvas_text(crd_canvas *canvas, int x, int y, int scale, uint32_t colour, const char *text)
{
    for (int i = 0; text[i] != '\0'; i++) {
        const uint8_t *rows = crd_font[text[i] & 127];
        for (int row = 0; row < CRD_FONT_ROWS; row++) {
            for (int column = 0; column < 5; column++) {
                if ((rows[row] >> (4 - column) & 1) == 0) continue;
                crd_canvas_fill(canvas, x + scale * (CRD_FONT_WIDTH * i + column), y + scale * row, scale, scale,
                                colour);
            }
        }
    }
}

crd_status crd_canvas_write(const crd_canvas *canvas, const char *path)
{
    crd_status status = CRD_OK;
    uint8_t *bytes = NULL;
    int64_t count;
    CRD_TRY(crd_png_encode(canvas->pixels, canvas->width, canvas->height, &bytes, &count));
    CRD_TRY(crd_write_file(path, bytes, (size_t)count));
done:
    crd_free(&bytes);
    return status;
}
