/* What a first pass counts, in the plainest words: the oracle of src/measure. A volume holds 0 or 1 in each voxel;
 * `inside` says which count. */
#ifndef CRD_TESTS_MEASURE_ORACLE_H
#define CRD_TESTS_MEASURE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/counts/components.h"

typedef struct oracle {
    const uint8_t *phase, *inside;
    int64_t shape[3];
} oracle;

static inline bool oracle_counts(const oracle *o, int64_t z, int64_t y, int64_t x)
{
    if (z < 0 || y < 0 || x < 0 || z >= o->shape[0] || y >= o->shape[1] || x >= o->shape[2]) return false;
    return o->inside[(z * o->shape[1] + y) * o->shape[2] + x] != 0;
}

static inline bool oracle_phase(const oracle *o, int64_t z, int64_t y, int64_t x)
{
    return oracle_counts(o, z, y, x) && o->phase[(z * o->shape[1] + y) * o->shape[2] + x] != 0;
}

/* Cells inside the window, and those that stick out of it. */
static inline void oracle_cells(const oracle *o, int64_t inner[256], int64_t outer[256])
{
    memset(inner, 0, 256 * sizeof *inner);
    memset(outer, 0, 256 * sizeof *outer);
    for (int64_t z = -1; z < o->shape[0]; z++) {
        for (int64_t y = -1; y < o->shape[1]; y++) {
            for (int64_t x = -1; x < o->shape[2]; x++) {
                int code = 0, held = 0;
                for (int k = 0; k < 8; k++) {
                    const int64_t at[3] = {z + (k >> 2), y + (k >> 1 & 1), x + (k & 1)};
                    held += oracle_counts(o, at[0], at[1], at[2]);
                    code |= oracle_phase(o, at[0], at[1], at[2]) << k;
                }
                ++*(held == 8 ? &inner[code] : &outer[code]);
            }
        }
    }
}

/* Pairs at distance `lag` along an axis: in the window, both in the phase, ends in the phase. */
static inline void oracle_pairs(const oracle *o, int axis, int64_t lag, int64_t out[3])
{
    memset(out, 0, 3 * sizeof *out);
    for (int64_t z = 0; z < o->shape[0]; z++) {
        for (int64_t y = 0; y < o->shape[1]; y++) {
            for (int64_t x = 0; x < o->shape[2]; x++) {
                int64_t to[3] = {z, y, x};
                to[axis] += lag;
                if (!oracle_counts(o, z, y, x) || !oracle_counts(o, to[0], to[1], to[2])) continue;
                const int a = oracle_phase(o, z, y, x), b = oracle_phase(o, to[0], to[1], to[2]);
                out[0]++;
                out[1] += a & b;
                out[2] += a + b;
            }
        }
    }
}

/* Whole chords by length, and how many are cut. */
static inline int64_t oracle_chords(const oracle *o, int axis, int64_t *whole)
{
    const int b = (axis + 1) % 3, c = (axis + 2) % 3;
    int64_t at[3], cut = 0;
    memset(whole, 0, (size_t)(o->shape[axis] + 1) * sizeof *whole);
    for (at[b] = 0; at[b] < o->shape[b]; at[b]++) {
        for (at[c] = 0; at[c] < o->shape[c]; at[c]++) {
            int64_t length = 0;
            bool open = false; /* the chord began behind a voxel of the window */
            bool before = false;
            for (at[axis] = 0; at[axis] <= o->shape[axis]; at[axis]++) {
                const bool counts = oracle_counts(o, at[0], at[1], at[2]), in = oracle_phase(o, at[0], at[1], at[2]);
                if (in && length == 0) open = before;
                if (!in && length > 0) {
                    ++*(open && counts ? &whole[length] : &cut);
                    length = 0;
                }
                if (in) length++;
                before = counts;
            }
        }
    }
    return cut;
}

/* Components by flooding. */
static inline void oracle_components(const oracle *o, int neighbours, crd_component_counts *out)
{
    const int64_t *s = o->shape, n = s[0] * s[1] * s[2];
    uint8_t *seen = calloc((size_t)n, 1);
    int64_t *stack = malloc((size_t)n * sizeof *stack);
    memset(out, 0, sizeof *out);
    for (int64_t first = 0; first < n; first++) {
        const int64_t z0 = first / s[2] / s[1], y0 = first / s[2] % s[1], x0 = first % s[2];
        int64_t count = 0, size = 0;
        int faces = 0;
        if (seen[first] || !oracle_phase(o, z0, y0, x0)) continue;
        seen[first] = 1;
        stack[count++] = first;
        while (count > 0) {
            const int64_t v = stack[--count], p[3] = {v / s[2] / s[1], v / s[2] % s[1], v % s[2]};
            size++;
            for (int axis = 0; axis < 3; axis++) {
                faces |= (p[axis] == 0) << 2 * axis | (p[axis] == s[axis] - 1) << (2 * axis + 1);
            }
            for (int d = 0; d < 27; d++) {
                const int64_t q[3] = {p[0] + d / 9 - 1, p[1] + d / 3 % 3 - 1, p[2] + d % 3 - 1};
                const int steps = (q[0] != p[0]) + (q[1] != p[1]) + (q[2] != p[2]);
                if (steps == 0) continue;
                const bool in_box = q[0] >= 0 && q[1] >= 0 && q[2] >= 0 && q[0] < s[0] && q[1] < s[1] && q[2] < s[2];
                if (steps == 1 && in_box && !oracle_counts(o, q[0], q[1], q[2])) faces |= CRD_EDGE;
                if ((neighbours == 6 && steps > 1) || !oracle_phase(o, q[0], q[1], q[2])) continue;
                const int64_t w = (q[0] * s[1] + q[1]) * s[2] + q[2];
                if (seen[w]) continue;
                seen[w] = 1;
                stack[count++] = w;
            }
        }
        out->voxels += size;
        out->components++;
        out->largest = size > out->largest ? size : out->largest;
        out->closed += faces == 0 ? size : 0;
        for (int axis = 0; axis < 3; axis++) {
            if ((faces >> 2 * axis & 3) != 3) continue;
            out->percolating[axis] += size;
            out->joining[axis]++;
        }
        int bin = 0;
        while (size >> bin > 1) bin++;
        out->sizes[bin]++;
    }
    free(seen);
    free(stack);
}

#endif
