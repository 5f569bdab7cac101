#include "train/data/grey.h"

#include <math.h>
#include <string.h>

#include "base/portable_math.h"
#include "base/random/philox.h"

/* Layers of CRD_PURPOSE_AUGMENT; 0 is that of turns. Only ever added to. */
enum { LAYER_CHANGE = 1, LAYER_NOISE = 2 };

/* How far changes go. Half of the pieces stay as they are, and of the others each kind is left out for half: what is
 * fine is learnt from pieces that nothing was added to (docs/RESULTS.md). */
static const double BLUR_MOST = 0.8, SHARPEN_MOST = 0.8, BEND_MOST = 0.15, GAIN_MOST = 0.15, OFFSET_MOST = 0.1,
                    DRIFT_MOST = 0.1, NOISE_MOST = 0.67, GRAIN_LEAST = 0.5, GRAIN_MOST = 1.2;

static crd_stream stream_of(uint64_t seed, uint32_t layer, int64_t epoch, int64_t piece)
{
    return (crd_stream){.seed = seed,
                        .layer = layer,
                        .purpose = CRD_PURPOSE_AUGMENT,
                        .step = (uint32_t)epoch,
                        .example = (uint32_t)piece};
}

crd_grey_change crd_grey_draw(uint64_t seed, int64_t epoch, int64_t piece, const int64_t size[3], double deviation)
{
    /* One number for each question, so that a new one changes no other. */
    enum {
        WIDTH,
        WIDTH_AMOUNT,
        BENT,
        BEND,
        LIT,
        GAIN,
        OFFSET,
        DRIFTS,
        NOISY,
        NOISE,
        GRAINY,
        GRAIN,
        WAVES,
        SAME = WAVES + 9,
        NUMBERS
    };
    const crd_stream stream = stream_of(seed, LAYER_CHANGE, epoch, piece);
    double u[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) u[i] = crd_random_uniform(&stream, (uint64_t)i);
    crd_grey_change c = CRD_GREY_SAME;
    if (u[SAME] < 0.5) return c;
    if (u[WIDTH] < 0.375) {
        c.blur = BLUR_MOST * u[WIDTH_AMOUNT];
    } else if (u[WIDTH] < 0.5) {
        c.sharpen = SHARPEN_MOST * u[WIDTH_AMOUNT];
    }
    if (u[BENT] < 0.5) c.bend = BEND_MOST * (2.0 * u[BEND] - 1.0);
    if (u[LIT] < 0.5) {
        c.gain = crd_exp(GAIN_MOST * (2.0 * u[GAIN] - 1.0));
        c.offset = OFFSET_MOST * (2.0 * u[OFFSET] - 1.0);
    }
    for (int axis = 0; axis < 3 && u[DRIFTS] < 0.5; axis++) {
        const double *w = u + WAVES + 3 * axis;
        c.drift[axis] = (crd_grey_wave){
            .height = DRIFT_MOST * w[0], .length = (double)size[axis] * (0.5 + 3.5 * w[1]), .phase = w[2]};
    }
    if (u[NOISY] < 0.5) c.noise = NOISE_MOST * deviation * u[NOISE];
    if (u[GRAINY] < 0.5) c.grain = GRAIN_LEAST + (GRAIN_MOST - GRAIN_LEAST) * u[GRAIN];
    return c;
}

int crd_grey_kernel(double width, float weights[CRD_GREY_REACH + 1])
{
    double values[CRD_GREY_REACH + 1], sum = 0.0;
    const double reach = ceil(3.0 * width);
    const int radius = reach < CRD_GREY_REACH ? (int)reach : CRD_GREY_REACH;
    for (int i = 0; i <= radius; i++) {
        values[i] = width > 0.0 ? crd_exp(-0.5 * (double)(i * i) / (width * width)) : 1.0;
        sum += i == 0 ? values[i] : 2.0 * values[i];
    }
    for (int i = 0; i <= radius; i++) weights[i] = (float)(values[i] / sum);
    return radius;
}

/* Where voxel i of an axis of n lies, which goes on beyond its ends as in a mirror. */
static int64_t mirrored(int64_t i, int64_t n)
{
    while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
}

/* to = sum over k of weights[|k|] * from[k lines on], for `count` voxels of a line; `lines` are their addresses. */
static void add_lines(const float *weights, int radius, const float *const *lines, int64_t count, float *to)
{
    const float *centre = lines[radius];
    for (int64_t x = 0; x < count; x++) to[x] = weights[0] * centre[x];
    for (int k = 1; k <= radius; k++) {
        const float weight = weights[k], *before = lines[radius - k], *after = lines[radius + k];
        for (int64_t x = 0; x < count; x++) to[x] += weight * (before[x] + after[x]);
    }
}

/* Along an axis of `n` lines, `stride` floats apart; `count` floats are a line. */
static void blur_axis(const float *weights, int radius, int64_t n, int64_t stride, int64_t count, const float *from,
                      float *to)
{
    const float *lines[2 * CRD_GREY_REACH + 1];
    for (int64_t i = 0; i < n; i++) {
        for (int k = -radius; k <= radius; k++) lines[radius + k] = from + mirrored(i + k, n) * stride;
        add_lines(weights, radius, lines, count, to + i * stride);
    }
}

/* Along x: the same with lines that are one another, moved by a voxel. */
static void blur_rows(const float *weights, int radius, const int64_t size[3], const float *from, float *wide,
                      float *to)
{
    const float *lines[2 * CRD_GREY_REACH + 1];
    const int64_t width = size[2];
    for (int k = 0; k <= 2 * radius; k++) lines[k] = wide + k;
    for (int64_t row = 0; row < size[0] * size[1]; row++) {
        const float *line = from + row * width;
        for (int k = 0; k < radius; k++) {
            wide[k] = line[mirrored(k - radius, width)];
            wide[radius + width + k] = line[mirrored(width + k, width)];
        }
        memcpy(wide + radius, line, (size_t)width * sizeof *wide);
        add_lines(weights, radius, lines, width, to + row * width);
    }
}

/* `voxels` blurred, in `out`; `voxels` is spoilt. */
static void blur(double width, const int64_t size[3], float *voxels, float *wide, float *out)
{
    float weights[CRD_GREY_REACH + 1];
    const int radius = crd_grey_kernel(width, weights);
    const int64_t slice = size[1] * size[2];
    blur_rows(weights, radius, size, voxels, wide, out);
    for (int64_t z = 0; z < size[0]; z++) {
        blur_axis(weights, radius, size[1], size[2], size[2], out + z * slice, voxels + z * slice);
    }
    blur_axis(weights, radius, size[0], slice, slice, voxels, out);
}

/* By how much the deviation of white noise shrinks when it is blurred. */
static double blurred_deviation(double width)
{
    float weights[CRD_GREY_REACH + 1];
    const int radius = crd_grey_kernel(width, weights);
    double squares = (double)weights[0] * (double)weights[0];
    for (int i = 1; i <= radius; i++) squares += 2.0 * (double)weights[i] * (double)weights[i];
    return squares * sqrt(squares); /* the root of three axes' product */
}

static void change_values(const crd_grey_change *c, int64_t count, float *voxels)
{
    const float bend = (float)c->bend, gain = (float)c->gain, offset = (float)c->offset;
    for (int64_t i = 0; i < count; i++) {
        const float v = voxels[i], inside = v < -1.0f ? -1.0f : v > 1.0f ? 1.0f : v, beyond = v - inside;
        const float bent = inside + bend * (1.0f - inside * inside) + beyond * (1.0f - 2.0f * bend * inside);
        voxels[i] = gain * bent + offset;
    }
}

/* cos(2 pi t) to 1e-9, the same bits everywhere: Taylor's series after folding t into [0, 1/4]. */
static double cosine_of_turn(double t)
{
    t -= floor(t);
    if (t > 0.5) t = 1.0 - t;
    const double sign = t > 0.25 ? -1.0 : 1.0, x = 6.283185307179586 * (t > 0.25 ? 0.5 - t : t), y = x * x;
    return sign *
           (1.0 + y * (-1.0 / 2.0 +
                       y * (1.0 / 24.0 + y * (-1.0 / 720.0 + y * (1.0 / 40320.0 +
                                                                  y * (-1.0 / 3628800.0 + y * (1.0 / 479001600.0)))))));
}

static float wave_at(const crd_grey_wave *wave, int64_t i)
{
    return wave->height > 0.0 ? (float)(wave->height * cosine_of_turn((double)i / wave->length + wave->phase)) : 0.0f;
}

static void add_drift(const crd_grey_wave drift[3], const int64_t size[3], float *wave, float *voxels)
{
    for (int64_t x = 0; x < size[2]; x++) wave[x] = wave_at(&drift[2], x);
    for (int64_t z = 0; z < size[0]; z++) {
        for (int64_t y = 0; y < size[1]; y++) {
            const float here = wave_at(&drift[0], z) + wave_at(&drift[1], y);
            float *row = voxels + (z * size[1] + y) * size[2];
            for (int64_t x = 0; x < size[2]; x++) row[x] += here + wave[x];
        }
    }
}

static int64_t count_of(const int64_t size[3])
{
    return size[0] * size[1] * size[2];
}

int64_t crd_grey_room(const int64_t size[3])
{
    return 2 * count_of(size) + size[2] + 2 * CRD_GREY_REACH;
}

void crd_grey_apply(const crd_grey_change *c, uint64_t seed, int64_t epoch, int64_t piece, const int64_t size[3],
                    float *voxels, float *room)
{
    const int64_t count = count_of(size);
    float *const first = room, *const second = room + count, *const line = room + 2 * count;
    if (c->blur > 0.0) {
        blur(c->blur, size, voxels, line, first);
        memcpy(voxels, first, (size_t)count * sizeof *voxels);
    }
    if (c->sharpen > 0.0) {
        const float amount = (float)c->sharpen;
        memcpy(first, voxels, (size_t)count * sizeof *voxels);
        blur(CRD_SHARPEN_WIDTH, size, first, line, second);
        for (int64_t i = 0; i < count; i++) voxels[i] += amount * (voxels[i] - second[i]);
    }
    if (c->bend != 0.0 || c->gain != 1.0 || c->offset != 0.0) change_values(c, count, voxels);
    if (c->drift[0].height + c->drift[1].height + c->drift[2].height > 0.0) add_drift(c->drift, size, line, voxels);
    if (c->noise > 0.0) {
        const crd_stream stream = stream_of(seed, LAYER_NOISE, epoch, piece);
        const float height = (float)(c->grain > 0.0 ? c->noise / blurred_deviation(c->grain) : c->noise);
        const float *noise = first;
        crd_random_fill_normal(&stream, 0, count, first);
        if (c->grain > 0.0) {
            blur(c->grain, size, first, line, second);
            noise = second;
        }
        for (int64_t i = 0; i < count; i++) voxels[i] += height * noise[i];
    }
}
