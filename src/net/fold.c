#include "net/fold.h"

#include "base/assert.h"

#include <string.h>

/* Does offset number k of a kernel's axis stay inside for a voxel of that axis class (bit 0 first, bit 1 last)? */
static bool inside(int edge, int k, int axis_class)
{
    const int offset = edge == 3 ? k - 1 : k;
    if (offset < 0) return (axis_class & 1) == 0;
    if (offset > 0) return (axis_class & 2) == 0;
    return true;
}

static bool tap_inside(const crd_kernel_shape *shape, int tap, int border_class)
{
    const int edge = shape->edge, *open = shape->open;
    return inside(edge, tap / (edge * edge), (border_class >> 4) & ~open[0]) &&
           inside(edge, tap / edge % edge, (border_class >> 2) & 3 & ~open[1]) &&
           inside(edge, tap % edge, border_class & 3 & ~open[2]);
}

/* An axis of one voxel has class 3 only; a longer one never does, and one of two voxels has no inner voxel. */
static bool axis_class_exists(int axis_class, int64_t size)
{
    if (size == 1) return axis_class == 3;
    return axis_class == 0 ? size > 2 : axis_class != 3;
}

static bool class_exists(const crd_kernel_shape *shape, int border_class)
{
    return axis_class_exists(border_class >> 4, shape->size[0]) &&
           axis_class_exists((border_class >> 2) & 3, shape->size[1]) &&
           axis_class_exists(border_class & 3, shape->size[2]);
}

typedef struct fold_work {
    const crd_kernel_shape *shape;
    const float *kernel, *scale, *shift;
    float *folded, *tap_shift;
} fold_work;

static void fold_tap(void *context, int64_t tap, int worker)
{
    (void)worker;
    const fold_work *work = context;
    const int64_t in = work->shape->channels_in, out = work->shape->channels_out;
    const float *kernel = work->kernel + tap * in * out;
    float *folded = work->folded + tap * in * out;
    float *total = work->tap_shift + tap * out;
    memset(total, 0, (size_t)out * sizeof *total);
    for (int64_t i = 0; i < in; i++) {
        const float scale = work->scale[i], shift = work->shift[i];
        for (int64_t o = 0; o < out; o++) {
            const float weight = kernel[i * out + o];
            folded[i * out + o] = weight * scale;
            total[o] += weight * shift;
        }
    }
}

void crd_fold(crd_pool *pool, const crd_kernel_shape *shape, const float *kernel, const float *bias, const float *scale,
              const float *shift, float *folded, float *bias_classes, float *tap_shift)
{
    const int taps = shape->edge * shape->edge * shape->edge;
    const int64_t out = shape->channels_out;
    CRD_ASSERT((shape->edge == 2 || shape->edge == 3) && (scale == NULL) == (shift == NULL));
    if (scale == NULL) {
        memcpy(folded, kernel, (size_t)(taps * shape->channels_in * out) * sizeof *folded);
        memset(tap_shift, 0, (size_t)(taps * out) * sizeof *tap_shift);
    } else {
        fold_work work = {shape, kernel, scale, shift, folded, tap_shift};
        crd_pool_run(pool, taps, fold_tap, &work);
    }
    for (int border = 0; border < CRD_BORDER_CLASSES; border++) {
        if (!class_exists(shape, border)) continue;
        float *row = bias_classes + border * out;
        memcpy(row, bias, (size_t)out * sizeof *row);
        for (int tap = 0; tap < taps; tap++) {
            if (!tap_inside(shape, tap, border)) continue;
            for (int64_t o = 0; o < out; o++) row[o] += tap_shift[tap * out + o];
        }
    }
}

typedef struct unfold_work {
    const crd_kernel_shape *shape;
    const float *scale, *shift;
    const double *border_sums;
    float *dkernel;
} unfold_work;

enum { UNFOLD_CHANNELS = 64 }; /* output channels at a time */

static void unfold_tap(void *context, int64_t tap, int worker)
{
    (void)worker;
    const unfold_work *work = context;
    const int64_t in = work->shape->channels_in, out = work->shape->channels_out;
    for (int64_t first = 0; first < out; first += UNFOLD_CHANNELS) {
        const int64_t count = out - first < UNFOLD_CHANNELS ? out - first : UNFOLD_CHANNELS;
        double total[UNFOLD_CHANNELS] = {0}; /* of dy over the voxels for which this tap reads inside the volume */
        for (int border = 0; border < CRD_BORDER_CLASSES; border++) {
            if (!class_exists(work->shape, border) || !tap_inside(work->shape, (int)tap, border)) continue;
            for (int64_t o = 0; o < count; o++) total[o] += work->border_sums[border * out + first + o];
        }
        for (int64_t i = 0; i < in; i++) {
            float *row = work->dkernel + (tap * in + i) * out + first;
            const float scale = work->scale[i], shift = work->shift[i];
            for (int64_t o = 0; o < count; o++) row[o] = row[o] * scale + shift * (float)total[o];
        }
    }
}

void crd_unfold_gradient(crd_pool *pool, const crd_kernel_shape *shape, const float *scale, const float *shift,
                         const double *border_sums, float *dkernel, float *dbias)
{
    const int64_t out = shape->channels_out;
    for (int64_t o = 0; o < out; o++) {
        double total = 0.0;
        for (int border = 0; border < CRD_BORDER_CLASSES; border++) {
            if (class_exists(shape, border)) total += border_sums[border * out + o];
        }
        dbias[o] = (float)total;
    }
    if (scale == NULL) return;
    unfold_work work = {shape, scale, shift, border_sums, dkernel};
    crd_pool_run(pool, shape->edge * shape->edge * shape->edge, unfold_tap, &work);
}

typedef struct flip_work {
    const crd_kernel_shape *shape;
    const float *kernel;
    int64_t first, count;
    float *out;
} flip_work;

static void flip_tap(void *context, int64_t tap, int worker)
{
    (void)worker;
    const flip_work *work = context;
    const int64_t channels_out = work->shape->channels_out, count = work->count;
    const float *from = work->kernel + (tap * work->shape->channels_in + work->first) * channels_out;
    float *to = work->out + (26 - tap) * channels_out * count;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t o = 0; o < channels_out; o++) to[o * count + i] = from[i * channels_out + o];
    }
}

void crd_flip_kernel(crd_pool *pool, const crd_kernel_shape *shape, const float *kernel, int64_t first, int64_t count,
                     float *out)
{
    flip_work work = {shape, kernel, first, count, out};
    crd_pool_run(pool, 27, flip_tap, &work);
}
