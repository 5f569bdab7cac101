/* Smooth random fields: cubic B-splines over a lattice of random numbers that are addressed by absolute position, so a
 * field is the same whichever window of it is asked for. */
#ifndef CRD_PHANTOM_FIELD_H
#define CRD_PHANTOM_FIELD_H

#include <stdint.h>

/* One slice of the world, or a part of it: rows y0.. and columns x0.. of slice z. The world has no end; only
 * [0, shape) of it lands in the files. Arrays over a window are rows * columns values, x fastest. */
typedef struct crd_window {
    int64_t z, y0, x0;
    int64_t rows, columns;
} crd_window;

/* Random numbers are addressed by positions that may be negative; this makes them positive. A multiple of 4, so that
 * rows start on whole Philox blocks. */
enum { CRD_PHANTOM_BIAS = 1 << 20 };

enum { CRD_FIELD_MIN_SPACING = 2, CRD_FIELD_MAX_SPACING = 4096 };

/* Zero mean, unit variance. The spacing of the lattice is in whole voxels, at least CRD_FIELD_MIN_SPACING; along z it
 * may be 0: then every slice has a field of its own. */
typedef struct crd_field {
    uint64_t seed;
    uint32_t layer;
    int64_t spacing[3];
} crd_field;

/* Floats of scratch that crd_field_add needs for windows of up to rows * columns and any allowed spacing. */
int64_t crd_field_scratch(int64_t rows, int64_t columns);

/* out += scale * field. */
void crd_field_add(const crd_field *field, const crd_window *window, float scale, float *scratch, float *out);

/* out[i] += scale * the one-dimensional field of row `row` at positions first + i: profiles of surfaces, rings. The
 * field varies along z over spacing[0] and along the row over spacing[2]. Needs crd_field_scratch(1, count). */
void crd_field_add_row(const crd_field *field, int64_t z, int64_t row, int64_t first, int64_t count, float scale,
                       float *scratch, float *out);

/* Integer division that rounds down, for positive and negative positions alike. */
static inline int64_t crd_floor_div(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return q - (a % b < 0);
}

#endif
