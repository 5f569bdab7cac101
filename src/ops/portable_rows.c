#include "ops/portable_rows.h"

#include <string.h>

#include "base/sanitizers.h"

#define CRD_INNER static inline CRD_UNCHECKED __attribute__((always_inline))

enum { VOXELS = 4 }; /* output voxels that share a load of weights */

/* From the first float of the first of `count` runs of `length` floats, `step` apart, to the last of the last. */
static size_t bytes_of(int64_t count, int64_t step, int64_t length)
{
    return (size_t)((count - 1) * step + length) * sizeof(float);
}

/* VOXELS voxels x `width` output channels, or one voxel when `voxels` is 1. Both are constants where this is called,
 * so that the sums stay in registers. */
CRD_INNER void gather_block(const crd_tap *taps, int tap_count, int64_t first, int64_t channels_out, float *y,
                            int64_t y_step, int voxels, int width)
{
    float sum[VOXELS][8] = {{0}};
    for (int t = 0; t < tap_count; t++) {
        const int64_t x_step = taps[t].step;
        const float *x = taps[t].x + first * x_step;
        const float *weights = taps[t].weights;
        for (int64_t c = 0; c < taps[t].channels; c++)
            for (int v = 0; v < voxels; v++)
                for (int o = 0; o < width; o++) sum[v][o] += x[v * x_step + c] * weights[c * channels_out + o];
    }
    for (int v = 0; v < voxels; v++)
        for (int o = 0; o < width; o++) y[v * y_step + o] = sum[v][o];
}

CRD_INNER void gather_width(const crd_tap *taps, int tap_count, int64_t voxels, int64_t channels_out, float *y,
                            int64_t y_step, int width)
{
    int64_t v = 0;
    for (; v + VOXELS <= voxels; v += VOXELS)
        gather_block(taps, tap_count, v, channels_out, y + v * y_step, y_step, VOXELS, width);
    for (; v < voxels; v++) gather_block(taps, tap_count, v, channels_out, y + v * y_step, y_step, 1, width);
}

/* One output channel: eight lanes over the input channels, added up at the end. */
static CRD_UNCHECKED void gather_single(const crd_tap *taps, int tap_count, int64_t voxels, float *y, int64_t y_step)
{
    for (int64_t v = 0; v < voxels; v++) {
        float lane[8] = {0}, rest = 0;
        for (int t = 0; t < tap_count; t++) {
            const float *x = taps[t].x + v * taps[t].step;
            const float *weights = taps[t].weights;
            int64_t c = 0;
            for (; c + 8 <= taps[t].channels; c += 8)
                for (int i = 0; i < 8; i++) lane[i] += x[c + i] * weights[c + i];
            for (; c < taps[t].channels; c++) rest += x[c] * weights[c];
        }
        y[v * y_step] =
            rest + ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
    }
}

enum { TAPS_MAX = 54 };

static CRD_UNCHECKED void gather_all(const crd_tap *taps, int tap_count, int64_t voxels, int64_t channels_out, float *y,
                                     int64_t y_step)
{
    if (channels_out == 1) {
        gather_single(taps, tap_count, voxels, y, y_step);
        return;
    }
    crd_tap here[TAPS_MAX];
    memcpy(here, taps, (size_t)tap_count * sizeof *taps);
    int64_t channel = 0;
    while (channel < channels_out) {
        const int64_t left = channels_out - channel;
        const int width = left >= 8 ? 8 : left >= 4 ? 4 : 1;
        if (width == 8)
            gather_width(here, tap_count, voxels, channels_out, y + channel, y_step, 8);
        else if (width == 4)
            gather_width(here, tap_count, voxels, channels_out, y + channel, y_step, 4);
        else
            gather_width(here, tap_count, voxels, channels_out, y + channel, y_step, 1);
        for (int t = 0; t < tap_count; t++) here[t].weights += width;
        channel += width;
    }
}

void crd_gather_row(const crd_tap *taps, int tap_count, int64_t voxels, int64_t channels_out, float *y, int64_t y_step)
{
    for (int t = 0; t < tap_count; t++) {
        crd_check_read(taps[t].x, bytes_of(voxels, taps[t].step, taps[t].channels));
        crd_check_read(taps[t].weights, bytes_of(taps[t].channels, channels_out, channels_out));
    }
    crd_check_write(y, bytes_of(voxels, y_step, channels_out));
    gather_all(taps, tap_count, voxels, channels_out, y, y_step);
}

void crd_finish_row(const crd_tensor *tensor, int64_t z, int64_t y, const float *bias, bool relu, double *sums)
{
    const int64_t channels = tensor->channels, width = tensor->width;
    float *row = tensor->data + z * tensor->plane + y * tensor->row;
    if (bias != NULL) {
        const int z_axis = crd_border_axis(z, tensor->depth), y_axis = crd_border_axis(y, tensor->height);
        for (int64_t x = 0; x < width; x++) {
            const float *b = bias + crd_border_class(z_axis, y_axis, crd_border_axis(x, width)) * channels;
            for (int64_t c = 0; c < channels; c++) row[x * channels + c] += b[c];
        }
    }
    if (relu)
        for (int64_t i = 0; i < width * channels; i++) row[i] = (row[i] > 0 ? row[i] : 0) + 0 * row[i];
    if (sums == NULL) return;
    double *sum = sums, *square = sums + channels;
    memset(sums, 0, 2 * (size_t)channels * sizeof *sums);
    for (int64_t x = 0; x < width; x++)
        for (int64_t c = 0; c < channels; c++) {
            const double value = row[x * channels + c];
            sum[c] += value;
            square[c] += value * value;
        }
}

void crd_add_row_sums(const double *row_sums, int64_t rows, int64_t channels, double *total)
{
    memset(total, 0, 2 * (size_t)channels * sizeof *total);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < 2 * channels; c++) total[c] += row_sums[r * 2 * channels + c];
}

CRD_INNER void outer_block(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t voxels, float *out,
                           int64_t out_step, int a_count, int b_count)
{
    float sum[4][8] = {{0}};
    for (int64_t v = 0; v < voxels; v++)
        for (int i = 0; i < a_count; i++)
            for (int j = 0; j < b_count; j++) sum[i][j] += a[v * a_step + i] * b[v * b_step + j];
    for (int i = 0; i < a_count; i++)
        for (int j = 0; j < b_count; j++) out[i * out_step + j] += sum[i][j];
}

CRD_INNER void outer_width(const float *a, int64_t a_step, int64_t a_count, const float *b, int64_t b_step,
                           int64_t voxels, float *out, int64_t out_step, int width)
{
    int64_t i = 0;
    for (; i + 4 <= a_count; i += 4)
        outer_block(a + i, a_step, b, b_step, voxels, out + i * out_step, out_step, 4, width);
    for (; i < a_count; i++) outer_block(a + i, a_step, b, b_step, voxels, out + i * out_step, out_step, 1, width);
}

static CRD_UNCHECKED void outer_all(const float *a, int64_t a_step, int64_t a_count, const float *b, int64_t b_step,
                                    int64_t b_count, int64_t voxels, float *out, int64_t out_step)
{
    int64_t j = 0;
    for (; j + 8 <= b_count; j += 8) outer_width(a, a_step, a_count, b + j, b_step, voxels, out + j, out_step, 8);
    for (; j + 4 <= b_count; j += 4) outer_width(a, a_step, a_count, b + j, b_step, voxels, out + j, out_step, 4);
    for (; j < b_count; j++) outer_width(a, a_step, a_count, b + j, b_step, voxels, out + j, out_step, 1);
}

void crd_outer_row(const float *a, int64_t a_step, int64_t a_count, const float *b, int64_t b_step, int64_t b_count,
                   int64_t voxels, float *out, int64_t out_step)
{
    crd_check_read(a, bytes_of(voxels, a_step, a_count));
    crd_check_read(b, bytes_of(voxels, b_step, b_count));
    crd_check_write(out, bytes_of(a_count, out_step, b_count));
    outer_all(a, a_step, a_count, b, b_step, b_count, voxels, out, out_step);
}

int64_t crd_portable_slabs(int64_t rows, int64_t kernel_floats)
{
    const int64_t budget = 8 << 20; /* floats: 32 MiB */
    int64_t slabs = budget / kernel_floats;
    if (slabs > 32) slabs = 32;
    if (slabs > rows) slabs = rows;
    return slabs < 1 ? 1 : slabs;
}
