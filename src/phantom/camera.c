#include "phantom/camera.h"

#include <math.h>
#include <string.h>

#include "base/portable_math.h"
#include "base/random/philox.h"
#include "phantom/scene.h"

static const float SQRT_3 = 1.7320508f; /* 1 / the deviation of a uniform number in (-1, 1) */

void crd_kernel_gaussian(double deviation, int of_squares, crd_kernel *out)
{
    memset(out, 0, sizeof *out);
    int radius = (int)ceil(3.0 * deviation);
    if (radius > CRD_KERNEL_RADIUS) radius = CRD_KERNEL_RADIUS;
    double weight[2 * CRD_KERNEL_RADIUS + 1], sum = 0.0;
    for (int k = -radius; k <= radius; k++) {
        const double w = radius == 0 ? 1.0 : crd_exp(-0.5 * (double)(k * k) / (deviation * deviation));
        weight[radius + k] = w;
        sum += of_squares ? w * w : w;
    }
    if (of_squares) sum = sqrt(sum);
    for (int k = 0; k <= 2 * radius; k++) out->weight[k] = (float)(weight[k] / sum);
    out->radius = radius;
}

static void weigh(float w, const float *restrict in, int64_t count, float *restrict out)
{
    for (int64_t i = 0; i < count; i++) out[i] = w * in[i];
}

static void add_weighted(float w, const float *restrict a, const float *restrict b, int64_t count, float *restrict out)
{
    for (int64_t i = 0; i < count; i++) out[i] += w * (a[i] + b[i]);
}

void crd_kernel_lines(const crd_kernel *kernel, const float *const *lines, int64_t count, float *out)
{
    const int r = kernel->radius;
    weigh(kernel->weight[r], lines[r], count, out);
    for (int k = 1; k <= r; k++) add_weighted(kernel->weight[r + k], lines[r - k], lines[r + k], count, out);
}

void crd_kernel_plane(const crd_kernel *kernel, const float *in, int64_t rows, int64_t columns, float *scratch,
                      float *out, int64_t stride)
{
    const int64_t r = kernel->radius, wide = columns + 2 * r;
    const float *lines[2 * CRD_KERNEL_RADIUS + 1];
    for (int64_t i = 0; i < rows + 2 * r; i++) {
        for (int64_t k = 0; k <= 2 * r; k++) lines[k] = in + i * wide + k;
        crd_kernel_lines(kernel, lines, columns, scratch + i * columns);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k <= 2 * r; k++) lines[k] = scratch + (i + k) * columns;
        crd_kernel_lines(kernel, lines, columns, out + i * stride);
    }
}

void crd_camera_make(const crd_phantom_options *o, crd_camera *out)
{
    const uint64_t seed = (uint64_t)o->seed;
    const int64_t length = (int64_t)(o->drift_length + 0.5);
    memset(out, 0, sizeof *out);
    crd_kernel_gaussian(o->blur, 0, &out->blur);
    crd_kernel_gaussian(o->noise_correlation, 1, &out->noise);
    memcpy(out->shape, o->shape, sizeof out->shape);
    out->seed = seed;
    out->noise_scale = (float)o->noise;
    out->correlated_scale = (float)o->noise_correlated;
    out->rings_scale = (float)o->rings;
    out->cupping = (float)o->cupping;
    out->drift_scale = (float)o->drift;
    out->drift = (crd_field){.seed = seed, .layer = CRD_LAYER_DRIFT, .spacing = {length, length, length}};
    out->rings = (crd_field){.seed = seed, .layer = CRD_LAYER_RINGS, .spacing = {40, 1, CRD_FIELD_MIN_SPACING}};
    const double y = 0.5 * (double)o->shape[1], x = 0.5 * (double)o->shape[2];
    out->radii = (int64_t)sqrt(y * y + x * x) + 3;
}

void crd_camera_raw_noise(const crd_camera *camera, const crd_window *w, uint32_t *scratch, float *out)
{
    for (int64_t i = 0; i < w->rows; i++) {
        const crd_stream stream = {.seed = camera->seed,
                                   .layer = CRD_LAYER_CORRELATED,
                                   .purpose = CRD_PURPOSE_PHANTOM,
                                   .step = (uint32_t)(w->z + CRD_PHANTOM_BIAS),
                                   .example = (uint32_t)(w->y0 + i + CRD_PHANTOM_BIAS)};
        float *restrict row = out + i * w->columns;
        crd_random_fill_u32(&stream, (uint64_t)(w->x0 + CRD_PHANTOM_BIAS), w->columns, scratch);
        for (int64_t j = 0; j < w->columns; j++) {
            row[j] = (float)(int32_t)(scratch[j] ^ 0x80000000u) * (SQRT_3 * 0x1p-31f);
        }
    }
}

/* Most detector elements are nearly right and a few are far off: the cube of a smooth field, scaled back to unit
 * variance (the sixth moment of a normal number is 15). */
void crd_camera_rings(const crd_camera *camera, int64_t z, float *scratch, float *out)
{
    memset(out, 0, (size_t)camera->radii * sizeof *out);
    crd_field_add_row(&camera->rings, z, 0, 0, camera->radii, 1.0f, scratch, out);
    for (int64_t i = 0; i < camera->radii; i++) {
        out[i] = camera->rings_scale * 0.25819889f * (out[i] * out[i] * out[i]);
    }
}

int64_t crd_camera_scratch(const crd_camera *camera, int64_t rows)
{
    return camera->shape[2] + crd_field_scratch(rows, camera->shape[2]);
}

static void add_circles(const crd_camera *camera, int64_t y, const float *rings, float *values)
{
    const float cy = 0.5f * (float)(camera->shape[1] - 1), cx = 0.5f * (float)(camera->shape[2] - 1);
    const float dy = (float)y - cy, corner = (cy + 0.5f) * (cy + 0.5f) + (cx + 0.5f) * (cx + 0.5f);
    const float bowl = camera->cupping / corner, level = camera->cupping / 3.0f;
    for (int64_t j = 0; j < camera->shape[2]; j++) {
        const float dx = (float)j - cx, square = dy * dy + dx * dx, radius = sqrtf(square);
        const int32_t whole = (int32_t)radius;
        const float part = radius - (float)whole;
        /* The bowl has mean 0 over the slice: r^2 / corner^2 averages 1/3. */
        values[j] += bowl * square - level + (rings[whole] + part * (rings[whole + 1] - rings[whole]));
    }
}

static void store(const float *values, int64_t count, crd_type type, void *out)
{
    uint8_t *bytes = out;
    uint16_t *words = out;
    float *reals = out;
    for (int64_t j = 0; j < count; j++) {
        const float v = values[j] < 0.0f ? 0.0f : values[j] > 1.0f ? 1.0f : values[j];
        if (type == CRD_U8)
            bytes[j] = (uint8_t)(v * 255.0f + 0.5f);
        else if (type == CRD_U16)
            words[j] = (uint16_t)(v * 65535.0f + 0.5f);
        else
            reals[j] = v;
    }
}

static void add_white(const crd_camera *camera, int64_t z, int64_t y, float *scratch, float *values)
{
    const crd_stream stream = {.seed = camera->seed,
                               .layer = CRD_LAYER_WHITE,
                               .purpose = CRD_PURPOSE_PHANTOM,
                               .step = (uint32_t)(z + CRD_PHANTOM_BIAS),
                               .example = (uint32_t)(y + CRD_PHANTOM_BIAS)};
    crd_random_fill_normal(&stream, 0, camera->shape[2], scratch);
    for (int64_t j = 0; j < camera->shape[2]; j++) values[j] += camera->noise_scale * scratch[j];
}

void crd_camera_finish(const crd_camera *camera, const crd_window *w, const float *noise, const float *rings,
                       float *scratch, float *values, crd_type type, void *out)
{
    const int64_t count = w->rows * w->columns;
    for (int64_t i = 0; i < w->rows; i++) add_circles(camera, w->y0 + i, rings, values + i * w->columns);
    if (camera->drift_scale > 0.0f) {
        crd_field_add(&camera->drift, w, camera->drift_scale, scratch + w->columns, values);
    }
    if (noise != NULL) {
        for (int64_t i = 0; i < count; i++) values[i] += camera->correlated_scale * noise[i];
    }
    if (camera->noise_scale > 0.0f) {
        for (int64_t i = 0; i < w->rows; i++) add_white(camera, w->z, w->y0 + i, scratch, values + i * w->columns);
    }
    store(values, count, type, out);
}
