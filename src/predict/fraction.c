#include "predict/fraction.h"

#include <math.h>
#include <string.h>

enum { LANES = 8, FULL = 255 };

/* Byte i of the result is bit i: eight counters in one word. */
static uint64_t spread(uint64_t bits)
{
    const uint64_t copies = (bits & 0xff) * 0x0101010101010101u; /* the byte, in every byte */
    const uint64_t picked = copies & 0x8040201008040201u;        /* bit i of byte i */
    return (picked + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

static void flush(uint64_t counters[LANES], int64_t samples, uint64_t weight, uint64_t *fractions)
{
    for (int64_t s = 0; s < samples; s++) fractions[s] += (counters[s / 8] >> (s % 8 * 8) & 0xff) * weight;
    memset(counters, 0, LANES * sizeof counters[0]);
}

/* Voxels of equal weight, for up to 64 samples. */
static void count_run(const uint64_t *above, const uint8_t *inside, int64_t count, int64_t samples, uint64_t weight,
                      uint64_t *fractions)
{
    const int64_t lanes = (samples + 7) / 8;
    uint64_t counters[LANES] = {0};
    for (int64_t first = 0; first < count; first += FULL) {
        const int64_t end = first + FULL < count ? first + FULL : count;
        for (int64_t i = first; i < end; i++) {
            const uint64_t bits = inside == NULL || inside[i] ? above[i] : 0;
            for (int64_t lane = 0; lane < lanes; lane++) counters[lane] += spread(bits >> (8 * lane));
        }
        flush(counters, samples, weight, fractions);
    }
}

void crd_fraction_add(const crd_fraction_slice *slice, const int64_t *const coverage[3], uint64_t *fractions)
{
    const crd_request *request = slice->request;
    const crd_box *window = slice->window, *keep = slice->keep;
    const int64_t *origin = request->box.origin, samples = request->samples;
    const int64_t voxels = window->size[0] * window->size[1] * window->size[2];
    const int64_t x_end = keep->origin[2] + keep->size[2];
    for (int64_t y = keep->origin[1]; y < keep->origin[1] + keep->size[1]; y++) {
        const int64_t rows = coverage[0][slice->z - origin[0]] * coverage[1][y - origin[1]];
        const int64_t line =
            ((slice->z - window->origin[0]) * window->size[1] + y - window->origin[1]) * window->size[2] -
            window->origin[2];
        int64_t run;
        for (int64_t x = keep->origin[2]; x < x_end; x = run) {
            const int64_t columns = coverage[2][x - origin[2]];
            for (run = x + 1; run < x_end && coverage[2][run - origin[2]] == columns;) run++;
            const uint64_t covered = (uint64_t)(rows * columns);
            const uint64_t weight = ((UINT64_C(1) << 33) + covered) / (2 * covered); /* round(2^32 / covered) */
            for (int64_t s = 0; s < samples; s += 64) {
                count_run(slice->above + s / 64 * voxels + line + x,
                          slice->inside != NULL ? slice->inside + line + x : NULL, run - x,
                          samples - s < 64 ? samples - s : 64, weight, fractions + s);
            }
        }
    }
}

/* A value as the volume of this type will hold it. */
static double written(crd_type type, float value)
{
    if (type == CRD_U8) return (double)lrint((double)value * 255.0) * (1.0 / 255.0);
    if (type == CRD_U16) return (double)lrint((double)value * 65535.0) * (1.0 / 65535.0);
    return (double)value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void sum_interval(const crd_request *request, const float *values, crd_type type, const uint8_t *inside,
                         uint64_t words[CRD_INTERVAL_WORDS])
{
    const int64_t voxels = request->box.size[1] * request->box.size[2];
    double least = INFINITY, most = -INFINITY;
    uint64_t sum = 0;
    for (int64_t i = 0; i < voxels; i++) {
        if (inside != NULL && !inside[i]) continue;
        const double value = written(type, values[i]);
        sum += (uint64_t)llrint(value * 0x1p32);
        if (value < least) least = value;
        if (value > most) most = value;
    }
    words[CRD_INTERVAL_SUM] = sum;
    words[CRD_INTERVAL_LEAST] = bits_of(least);
    words[CRD_INTERVAL_MOST] = bits_of(most);
}

void crd_fraction_sum_slice(const crd_request *request, const uint8_t *inside, crd_slice *slice)
{
    const int64_t voxels = request->box.size[1] * request->box.size[2];
    const float *probability = slice->voxels[0];
    uint64_t within = 0, foreground = 0;
    for (int64_t i = 0; i < voxels; i++) {
        const uint64_t counted = inside == NULL || inside[i] != 0;
        within += counted;
        foreground += counted & (uint64_t)(probability[i] > 0.5f);
    }
    slice->sums[CRD_SUM_INSIDE] = within;
    slice->sums[CRD_SUM_FOREGROUND] = foreground;
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        const int64_t interval = output->quantity - 1; /* their widths follow the probability */
        if (request->quantities[output->quantity].kind != CRD_WIDTH) continue;
        sum_interval(request, slice->voxels[output->quantity], output->type, inside,
                     slice->sums + CRD_SUM_FIRST_INTERVAL + interval * CRD_INTERVAL_WORDS);
    }
}
