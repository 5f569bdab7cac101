#include "phantom/field.h"

#include <string.h>

#include "base/random/philox.h"

/* Standard deviation of sum(w_k * v_k) along one axis, for v of variance 1: the root of the mean over positions of the
 * four squared spline weights, 151/315. */
static const float SPLINE_DEVIATION = 0.692362f;
static const float SQRT_3 = 1.7320508f; /* 1 / the standard deviation of a uniform number in (-1, 1) */

static void spline_weights(float t, float w[4])
{
    const float u = 1.0f - t;
    w[0] = u * u * u / 6.0f;
    w[1] = 2.0f / 3.0f - t * t * (1.0f - 0.5f * t);
    w[2] = 2.0f / 3.0f - u * u * (1.0f - 0.5f * u);
    w[3] = t * t * t / 6.0f;
}

/* Lattice columns that a row of `columns` voxels can touch, at the smallest spacing. */
static int64_t lattice_extent(int64_t voxels)
{
    return voxels / CRD_FIELD_MIN_SPACING + 6;
}

int64_t crd_field_scratch(int64_t rows, int64_t columns)
{
    return lattice_extent(rows) * lattice_extent(columns) + 2 * lattice_extent(columns) + 4 * CRD_FIELD_MAX_SPACING;
}

/* plane[j] += weight * lattice value (layer_z, row_y, first + j), uniform in (-1, 1). */
static void add_lattice_row(const crd_field *field, int64_t layer_z, int64_t row_y, int64_t first, int64_t count,
                            float weight, uint32_t *words, float *plane)
{
    const crd_stream stream = {.seed = field->seed,
                               .layer = field->layer,
                               .purpose = CRD_PURPOSE_PHANTOM,
                               .step = (uint32_t)(layer_z + CRD_PHANTOM_BIAS),
                               .example = (uint32_t)(row_y + CRD_PHANTOM_BIAS)};
    crd_random_fill_u32(&stream, (uint64_t)(first + CRD_PHANTOM_BIAS), count, words);
    for (int64_t j = 0; j < count; j++) {
        plane[j] += weight * ((float)(int32_t)(words[j] ^ 0x80000000u) * 0x1p-31f);
    }
}

/* The layers along z that slice z lies between, and their weights; returns their number. */
static int layers_of(const crd_field *field, int64_t z, int64_t *first, float w[4])
{
    if (field->spacing[0] == 0) {
        *first = z;
        w[0] = 1.0f;
        return 1;
    }
    const int64_t cell = crd_floor_div(z, field->spacing[0]);
    *first = cell - 1;
    spline_weights((float)(z - cell * field->spacing[0]) / (float)field->spacing[0], w);
    return 4;
}

/* out[i] += sum of four lattice values * weights, for i in [0, count); values[0] belongs to the cell before x0's. */
static void expand_row(const float *values, const float *weights, int64_t spacing, int64_t x0, int64_t count,
                       float *restrict out)
{
    int64_t phase = x0 - crd_floor_div(x0, spacing) * spacing, i = 0;
    const float *v = values;
    while (i < count) {
        const int64_t run = count - i < spacing - phase ? count - i : spacing - phase;
        const float *restrict w0 = weights + phase, *restrict w1 = w0 + spacing;
        const float *restrict w2 = w1 + spacing, *restrict w3 = w2 + spacing;
        const float v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
        for (int64_t k = 0; k < run; k++) out[i + k] += v0 * w0[k] + v1 * w1[k] + v2 * w2[k] + v3 * w3[k];
        i += run;
        phase = 0;
        v++;
    }
}

/* The four weights of each position inside a cell, first all of w0, then all of w1, ... */
static void weight_table(int64_t spacing, float *weights)
{
    for (int64_t p = 0; p < spacing; p++) {
        float w[4];
        spline_weights((float)p / (float)spacing, w);
        for (int k = 0; k < 4; k++) weights[k * spacing + p] = w[k];
    }
}

void crd_field_add(const crd_field *field, const crd_window *window, float scale, float *scratch, float *out)
{
    const int64_t sy = field->spacing[1], sx = field->spacing[2];
    const int64_t row0 = crd_floor_div(window->y0, sy) - 1, column0 = crd_floor_div(window->x0, sx) - 1;
    const int64_t lattice_rows = crd_floor_div(window->y0 + window->rows - 1, sy) + 3 - row0;
    const int64_t lattice_columns = crd_floor_div(window->x0 + window->columns - 1, sx) + 3 - column0;
    float *weights = scratch, *line = weights + 4 * CRD_FIELD_MAX_SPACING;
    uint32_t *words = (uint32_t *)(void *)(line + lattice_columns);
    float *plane = line + 2 * lattice_columns;
    float wz[4];
    int64_t layer0;
    const int layers = layers_of(field, window->z, &layer0, wz);
    scale *= SQRT_3 / (SPLINE_DEVIATION * SPLINE_DEVIATION * (layers == 4 ? SPLINE_DEVIATION : 1.0f));

    memset(plane, 0, (size_t)(lattice_rows * lattice_columns) * sizeof *plane);
    for (int64_t r = 0; r < lattice_rows; r++) {
        for (int k = 0; k < layers; k++) {
            add_lattice_row(field, layer0 + k, row0 + r, column0, lattice_columns, wz[k] * scale, words,
                            plane + r * lattice_columns);
        }
    }
    weight_table(sx, weights);
    for (int64_t i = 0; i < window->rows; i++) {
        const int64_t y = window->y0 + i, cell = crd_floor_div(y, sy);
        const float *p = plane + (cell - 1 - row0) * lattice_columns;
        float wy[4];
        spline_weights((float)(y - cell * sy) / (float)sy, wy);
        for (int64_t j = 0; j < lattice_columns; j++) {
            line[j] = wy[0] * p[j] + wy[1] * p[lattice_columns + j] + wy[2] * p[2 * lattice_columns + j] +
                      wy[3] * p[3 * lattice_columns + j];
        }
        expand_row(line, weights, sx, window->x0, window->columns, out + i * window->columns);
    }
}

void crd_field_add_row(const crd_field *field, int64_t z, int64_t row, int64_t first, int64_t count, float scale,
                       float *scratch, float *out)
{
    const int64_t sx = field->spacing[2], column0 = crd_floor_div(first, sx) - 1;
    const int64_t lattice_columns = crd_floor_div(first + count - 1, sx) + 3 - column0;
    float *weights = scratch, *line = weights + 4 * CRD_FIELD_MAX_SPACING;
    uint32_t *words = (uint32_t *)(void *)(line + lattice_columns);
    float wz[4];
    int64_t layer0;
    const int layers = layers_of(field, z, &layer0, wz);
    scale *= SQRT_3 / (SPLINE_DEVIATION * (layers == 4 ? SPLINE_DEVIATION : 1.0f));
    memset(line, 0, (size_t)lattice_columns * sizeof *line);
    for (int k = 0; k < layers; k++) {
        add_lattice_row(field, layer0 + k, row, column0, lattice_columns, wz[k] * scale, words, line);
    }
    weight_table(sx, weights);
    expand_row(line, weights, sx, first, count, out);
}
