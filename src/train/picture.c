#include "train/picture.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "train/canvas.h"

enum { WIDTH = 1240, HEIGHT = 860, TEXT = 2, LEFT = 96, RIGHT = 40, TOP = 44, BOTTOM = 56 };
static const uint32_t INK = 0x222222, GREY = 0x777777, GRID = 0xe4e4e4, BLUE = 0x1f5fa8, PALE = 0xa9c6e8,
                      ORANGE = 0xd9660b;

typedef struct panel {
    crd_canvas *canvas;
    int x, y, width, height; /* of the drawing inside the axes */
    double steps, low, high; /* ranges */
} panel;

typedef struct series {
    const crd_history *history;
    size_t offset; /* of the field in crd_history_epoch */
} series;

static double field(const series *s, int64_t epoch)
{
    double value;
    memcpy(&value, (const char *)&s->history->epoch[epoch] + s->offset, sizeof value);
    return value;
}

static double place_x(const panel *p, double step)
{
    return p->x + p->width * step / p->steps;
}

static double place_y(const panel *p, double value)
{
    return p->y + p->height * (p->high - value) / (p->high - p->low);
}

/* 1, 2 or 5 times a power of ten: the distance of about five marks. */
static double mark_distance(double range)
{
    const double raw = range / 5.0, power = pow(10.0, floor(log10(raw)));
    const double ratio = raw / power;
    return power * (ratio <= 1.0 ? 1.0 : ratio <= 2.0 ? 2.0 : ratio <= 5.0 ? 5.0 : 10.0);
}

static void format_mark(double value, double distance, char *text, size_t size)
{
    const int digits = distance >= 1.0 ? 0 : (int)ceil(-log10(distance) - 1e-9);
    if (value >= 1e6) {
        snprintf(text, size, "%gM", value / 1e6);
    } else if (value >= 1e4 && distance >= 100.0) {
        snprintf(text, size, "%gk", value / 1e3);
    } else {
        snprintf(text, size, "%.*f", digits, fabs(value) < 1e-12 ? 0.0 : value);
    }
}

static void draw_frame(const panel *p, const char *title)
{
    char text[32];
    const double across = mark_distance(p->steps), up = mark_distance(p->high - p->low);
    const int half = TEXT * CRD_FONT_HEIGHT / 2;
    for (double v = ceil(p->low / up - 1e-9) * up; v <= p->high + 1e-9 * up; v += up) {
        const int y = (int)lround(place_y(p, v));
        crd_canvas_line(p->canvas, p->x, y, p->x + p->width, y, 1.0, GRID);
        format_mark(v, up, text, sizeof text);
        crd_canvas_text(p->canvas, p->x - 10 - crd_canvas_text_width(TEXT, text), y - half, TEXT, GREY, text);
    }
    for (double v = 0.0; v <= p->steps * (1.0 + 1e-9); v += across) {
        const int x = (int)lround(place_x(p, v));
        crd_canvas_line(p->canvas, x, p->y + p->height, x, p->y + p->height + 5, 1.0, GREY);
        format_mark(v, across, text, sizeof text);
        crd_canvas_text(p->canvas, x - crd_canvas_text_width(TEXT, text) / 2, p->y + p->height + 10, TEXT, GREY, text);
    }
    crd_canvas_line(p->canvas, p->x, p->y + p->height, p->x + p->width, p->y + p->height, 1.0, GREY);
    crd_canvas_line(p->canvas, p->x, p->y, p->x, p->y + p->height, 1.0, GREY);
    crd_canvas_text(p->canvas, p->x, p->y - 26, TEXT, INK, title);
    crd_canvas_text(p->canvas, p->x + p->width - crd_canvas_text_width(TEXT, "steps"), p->y + p->height + 32, TEXT,
                    GREY, "steps");
}

static void widen(double value, double *low, double *high)
{
    if (!isfinite(value)) return;
    *low = fmin(*low, value);
    *high = fmax(*high, value);
}

/* A range with some air; false where there is no value. */
static bool set_range(panel *p, double low, double high, double floor_at, double ceiling)
{
    if (low > high) return false;
    const double air = high > low ? 0.06 * (high - low) : fmax(1e-3, 0.1 * fabs(high));
    p->low = fmax(floor_at, low - air);
    p->high = fmin(ceiling, high + air);
    if (!(p->high > p->low)) p->low = p->high - 1e-3;
    return true;
}

static void draw_epochs(const panel *p, const series *s, uint32_t colour)
{
    double x = 0.0, y = 0.0;
    bool begun = false;
    for (int64_t i = 0; i < s->history->epoch_count; i++) {
        const double value = field(s, i);
        if (!isfinite(value)) continue;
        const double to_x = place_x(p, (double)s->history->epoch[i].step), to_y = place_y(p, value);
        if (begun) crd_canvas_line(p->canvas, x, y, to_x, to_y, 2.0, colour);
        if (s->history->epoch_count <= 100) crd_canvas_disc(p->canvas, to_x, to_y, 3.5, colour);
        x = to_x;
        y = to_y;
        begun = true;
    }
}

static void say_nothing_there(const panel *p, const char *title, const char *words)
{
    crd_canvas_text(p->canvas, p->x, p->y - 26, TEXT, INK, title);
    crd_canvas_text(p->canvas, p->x + (p->width - crd_canvas_text_width(TEXT, words)) / 2, p->y + p->height / 2, TEXT,
                    GREY, words);
}

static void draw_series(panel p, const char *title, const series *s, double floor_at, double ceiling,
                        const char *absent)
{
    double low = DBL_MAX, high = -DBL_MAX;
    for (int64_t i = 0; i < s->history->epoch_count; i++) widen(field(s, i), &low, &high);
    if (!set_range(&p, low, high, floor_at, ceiling)) {
        say_nothing_there(&p, title, absent);
        return;
    }
    draw_frame(&p, title);
    draw_epochs(&p, s, BLUE);
}

static void draw_key(const panel *p, int from_right, uint32_t colour, const char *words)
{
    const int x = p->x + p->width - from_right, y = p->y - 26;
    crd_canvas_line(p->canvas, x, y + 7, x + 22, y + 7, 3.0, colour);
    crd_canvas_text(p->canvas, x + 30, y, TEXT, GREY, words);
}

/* Every step pale, the epochs' means and the validation on top. */
static void draw_losses(panel p, const crd_history *h)
{
    const series training = {h, offsetof(crd_history_epoch, bce)}, valid = {h, offsetof(crd_history_epoch, valid_bce)};
    double low = DBL_MAX, high = -DBL_MAX;
    const int64_t bins = crd_history_bins(h);
    for (int64_t i = 0; i < bins; i++) widen(crd_history_bce(h, i), &low, &high);
    for (int64_t i = 0; i < h->epoch_count; i++) widen(field(&valid, i), &low, &high);
    if (!set_range(&p, low, high, 0.0, DBL_MAX)) return;
    draw_frame(&p, "cross entropy");
    for (int64_t i = 1; i < bins; i++) {
        const double x0 = place_x(&p, ((double)i - 0.5) * (double)h->per_bin), step = (double)h->per_bin;
        const double x1 = fmin(p.x + p.width, place_x(&p, ((double)i - 0.5) * step + step));
        crd_canvas_line(p.canvas, x0, place_y(&p, crd_history_bce(h, i - 1)), x1, place_y(&p, crd_history_bce(h, i)),
                        1.2, PALE);
    }
    draw_epochs(&p, &training, BLUE);
    draw_epochs(&p, &valid, ORANGE);
    draw_key(&p, 296, BLUE, "training");
    draw_key(&p, 150, ORANGE, "validation");
}

crd_status crd_course_write(const char *path, const crd_history *history)
{
    crd_status status = CRD_OK;
    crd_canvas canvas;
    const series accuracy = {history, offsetof(crd_history_epoch, valid_accuracy)};
    const series weight = {history, offsetof(crd_history_epoch, kl_weight)};
    const series sigma = {history, offsetof(crd_history_epoch, mean_sigma)};
    panel panels[4];
    CRD_TRY(crd_canvas_create(WIDTH, HEIGHT, &canvas));
    for (int i = 0; i < 4; i++) {
        panels[i] = (panel){.canvas = &canvas,
                            .x = i % 2 * (WIDTH / 2) + LEFT,
                            .y = i / 2 * (HEIGHT / 2) + TOP,
                            .width = WIDTH / 2 - LEFT - RIGHT,
                            .height = HEIGHT / 2 - TOP - BOTTOM,
                            .steps = fmax(1.0, (double)history->steps)};
    }
    draw_losses(panels[0], history);
    draw_series(panels[1], "validation accuracy", &accuracy, 0.0, 1.0, "no validation data");
    draw_series(panels[2], "KL weight", &weight, 0.0, 1.05, "none");
    draw_series(panels[3], "mean sigma of the weights", &sigma, 0.0, DBL_MAX, "no sampled weights");
    CRD_TRY(crd_canvas_write(&canvas, path));
done:
    crd_canvas_free(&canvas);
    return status;
}
