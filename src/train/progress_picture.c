#include "train/progress_picture.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "draw/plot.h"

/* In units of which one is SCALE pixels: sharp on any screen. */
enum { WIDTH = 1000, ROW = 340, EDGE = 16, SCALE = 2, PANELS = 5, DOTS_MAX = 50 };

/* The history as series need it. */
typedef struct curves {
    double bin_step[CRD_HISTORY_POINTS], bin_bce[CRD_HISTORY_POINTS];
    double step[CRD_HISTORY_POINTS], bce[CRD_HISTORY_POINTS], valid_bce[CRD_HISTORY_POINTS];
    double dice_step[CRD_HISTORY_POINTS], dice[CRD_HISTORY_POINTS]; /* of the epochs in which it was measured */
    int64_t dice_count;
    double accuracy[CRD_HISTORY_POINTS], kl_weight[CRD_HISTORY_POINTS], sigma[CRD_HISTORY_POINTS];
} curves;

static void unfold(const crd_history *h, curves *c)
{
    const int64_t bins = crd_history_bins(h);
    for (int64_t i = 0; i < bins; i++) {
        c->bin_step[i] = fmin((double)h->steps, ((double)i + 0.5) * (double)h->per_bin);
        c->bin_bce[i] = crd_history_bce(h, i);
    }
    for (int64_t i = 0; i < h->epoch_count; i++) {
        const crd_history_epoch *e = &h->epoch[i];
        c->step[i] = (double)e->step;
        c->bce[i] = e->bce;
        c->valid_bce[i] = e->valid_bce;
        c->accuracy[i] = e->valid_accuracy;
        c->kl_weight[i] = e->kl_weight;
        c->sigma[i] = e->mean_sigma;
        if (!isfinite(e->sample_dice)) continue;
        c->dice_step[c->dice_count] = (double)e->step;
        c->dice[c->dice_count++] = e->sample_dice;
    }
}

/* Whether there is anything to see. */
static bool moves(const double *values, int64_t count)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    return high > low;
}

static bool any(const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) return true;
    }
    return false;
}

/* The first panel alone in its row where the others fill theirs. */
static void place(int panel, int count, double *x, double *y, double *width)
{
    const int cell = count % 2 == 1 && panel > 0 ? panel + 1 : panel;
    *width = (count % 2 == 1 && panel == 0 ? WIDTH : WIDTH / 2) - EDGE;
    *x = EDGE + cell % 2 * (WIDTH / 2);
    *y = EDGE + cell / 2 * (ROW + EDGE);
}

static crd_status paint(const crd_plot *plots, int count, const char *path)
{
    crd_status status = CRD_OK;
    crd_picture picture = {0};
    crd_raster raster = {.picture = &picture};
    uint8_t *bytes = NULL;
    int64_t size;
    CRD_TRY(crd_picture_create(SCALE * (WIDTH + EDGE), SCALE * (EDGE + (ROW + EDGE) * ((count + 1) / 2)), &picture));
    memset(picture.rgb, 255, (size_t)(picture.width * picture.height * 3));
    for (int i = 0; i < count; i++) {
        double x, y, width;
        place(i, count, &x, &y, &width);
        crd_plot_paint(&plots[i], x, y, width, ROW, SCALE, &raster);
    }
    CRD_TRY(raster.status);
    CRD_TRY(crd_png_encode(&picture, &bytes, &size));
    CRD_TRY(crd_write_file(path, bytes, (size_t)size));
done:
    crd_raster_free(&raster);
    crd_picture_free(&picture);
    crd_free(&bytes);
    return status;
}

crd_status crd_progress_picture(const char *path, const crd_history *h)
{
    crd_status status = CRD_OK;
    curves *c = NULL;
    CRD_TRY(crd_alloc(1, sizeof *c, "a picture", &c));
    unfold(h, c);
    const int64_t n = h->epoch_count;
    const crd_series_kind kind = n <= DOTS_MAX ? CRD_SERIES_DOTS : CRD_SERIES_LINE;
    const crd_axis steps = {.label = "steps", .high = fmax(1.0, (double)h->steps)};
    /* Every step pale, the epochs' means and the validation on top. */
    const crd_series losses[] = {
        {.x = c->bin_step, .y = c->bin_bce, .count = crd_history_bins(h), .faint = true},
        {.kind = kind, .x = c->step, .y = c->bce, .count = n, .name = "training"},
        {.kind = kind, .x = c->step, .y = c->valid_bce, .count = n, .colour = 1, .name = "what isn't learnt from"}};
    crd_plot plots[PANELS] = {{.title = "Cross entropy",
                               .x = steps,
                               .y = {.zero = true},
                               .series = losses,
                               .count = any(c->valid_bce, n) ? 3 : 2}};
    const struct {
        const char *title;
        const double *x, *y;
        int64_t count;
    } moving[] = {{"Dice where it doesn't learn", c->dice_step, c->dice, c->dice_count},
                  {"Share of voxels right where it doesn't learn", c->step, c->accuracy, n},
                  {"KL weight", c->step, c->kl_weight, n},
                  {"Mean \xcf\x83 of the weights", c->step, c->sigma, n}};
    crd_series others[PANELS - 1];
    int count = 1;
    for (int i = 0; i < PANELS - 1; i++) {
        if (!moves(moving[i].y, moving[i].count)) continue;
        others[i] = (crd_series){.kind = kind, .x = moving[i].x, .y = moving[i].y, .count = moving[i].count};
        plots[count++] = (crd_plot){.title = moving[i].title, .x = steps, .series = &others[i], .count = 1};
    }
    CRD_TRY(paint(plots, count, path));
done:
    crd_free(&c);
    return status;
}
