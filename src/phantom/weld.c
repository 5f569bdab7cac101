#include "phantom/weld.h"

#include <math.h>
#include <string.h>

/* Rows of the surface field: one profile each, far apart from one another. */
enum { PROFILE_TOP = 0, PROFILE_BOTTOM = 8, PROFILE_SEAM = 16 };

/* A wave of period 1 and amplitude 1 made of parabolas: close to a sine, and the same bits everywhere. */
static double wave(double phase)
{
    const double f = phase - floor(phase);
    return f < 0.5 ? 16.0 * f * (0.5 - f) : -16.0 * (f - 0.5) * (1.0 - f);
}

void crd_weld_make(const crd_phantom_options *o, uint64_t seed, uint32_t layer, crd_weld *out)
{
    const double height = (double)o->shape[1], width = (double)o->shape[2];
    *out = (crd_weld){
        .top = height * (o->margin + o->bead_height),
        .bottom = height * (1.0 - o->margin) - 1.0,
        .step = 0.02 * height,
        .centre = 0.5 * width - 0.5,
        .bead_height = height * o->bead_height,
        .bead_half = 0.5 * width * o->bead_width,
        .ripple = o->ripple,
        .ripple_period = 0.09 * width,
        .root_height = 0.35 * height * o->bead_height,
        .gap_half = 0.5 * width * o->seam_gap,
        .plates = o->void_plates,
        .skin = 1.5,
        .surface = {.seed = seed, .layer = layer, .spacing = {10, 10, 10}},
        .surface_scale = 0.7f,
    };
    out->root = out->top + 0.72 * (out->bottom - out->top);
}

/* How far the bead stands above (and the undercut at its toes lies below) the plates at u = (x - centre) / half width.
 */
static double crown(const crd_weld *w, double z, double u)
{
    const double v = u * u;
    if (v >= 1.5) return 0.0;
    if (v >= 1.0) return -0.25 * w->bead_height * 16.0 * (v - 1.0) * (1.5 - v);
    /* Ripples are arcs: the weld pool's tail trails behind its edges. */
    return w->bead_height * (1.0 - v) * (1.0 + w->ripple * wave(z / w->ripple_period + 0.7 * v));
}

static double top_at(const crd_weld *w, double z, double x)
{
    const double u = (x - w->centre) / w->bead_half;
    /* The melt bridges the step between the plates. */
    const double side = u < -0.5 ? 0.0 : u > 0.5 ? 1.0 : u + 0.5;
    return w->top + w->step * side - crown(w, z, u);
}

static double bottom_at(const crd_weld *w, double z, double x)
{
    const double u = 2.2 * (x - w->centre) / w->bead_half, v = u * u;
    const double side = x < w->centre ? 0.0 : 1.0;
    const double bulge = v < 1.0 ? w->root_height * (1.0 - v) * (1.0 + 0.5 * wave(z / (1.7 * w->ripple_period))) : 0.0;
    return w->bottom - w->step * (1.0 - side) + bulge;
}

/* Half the width of the melted zone at depth y: a cup that narrows to a stem and ends at the root. */
static double melt_half(const crd_weld *w, double y)
{
    const double t = (y - w->top) / (w->root - w->top);
    if (t < 0.0) return w->bead_half;
    if (t > 1.0) return 0.0;
    const double cup = 1.0 - t, stem = 0.52 - 0.1 * t;
    const double shape = cup * cup + stem;
    return w->bead_half * (shape < 1.0 ? shape : 1.0) * (t > 0.9 ? sqrt((1.0 - t) * 10.0) : 1.0);
}

void crd_weld_metal(const crd_weld *w, const crd_window *window, float *scratch, float *out)
{
    const int64_t columns = window->columns;
    float *top = scratch, *bottom = top + columns, *field_scratch = bottom + columns;
    memset(top, 0, (size_t)columns * 2 * sizeof *top);
    crd_field_add_row(&w->surface, window->z, PROFILE_TOP, window->x0, columns, w->surface_scale, field_scratch, top);
    crd_field_add_row(&w->surface, window->z, PROFILE_BOTTOM, window->x0, columns, w->surface_scale, field_scratch,
                      bottom);
    for (int64_t j = 0; j < columns; j++) {
        top[j] += (float)top_at(w, (double)window->z, (double)(window->x0 + j));
        bottom[j] += (float)bottom_at(w, (double)window->z, (double)(window->x0 + j));
    }
    for (int64_t i = 0; i < window->rows; i++) {
        const float y = (float)(window->y0 + i), below_root = y - (float)w->root;
        float shift = (float)w->centre;
        crd_field_add_row(&w->surface, window->z, PROFILE_SEAM, window->y0 + i, 1, w->surface_scale, field_scratch,
                          &shift);
        float *restrict row = out + i * columns;
        for (int64_t j = 0; j < columns; j++) {
            const float x = (float)(window->x0 + j) - shift, aside = (float)w->gap_half - fabsf(x);
            const float above = top[j] - y, below = y - bottom[j];
            const float gap = aside < below_root ? aside : below_root, outside = above > below ? above : below;
            row[j] = gap > outside ? gap : outside;
        }
    }
}

bool crd_weld_accepts(const void *weld, const crd_object *object, double chance)
{
    const crd_weld *w = weld;
    const double z = object->centre[0], y = object->centre[1], x = object->centre[2];
    double reach = object->radius[0];
    for (int i = 1; i < 3; i++) {
        if (object->radius[i] > reach) reach = object->radius[i];
    }
    reach = 0.9 * reach + w->skin;
    if (y < top_at(w, z, x) + reach || y > bottom_at(w, z, x) - reach) return false;
    if (y > w->root - reach && fabs(x - w->centre) < w->gap_half + reach) return false;
    return chance < (fabs(x - w->centre) < melt_half(w, y) ? 1.0 : w->plates);
}
