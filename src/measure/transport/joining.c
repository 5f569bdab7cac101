#include "measure/transport/joining.h"

#include <string.h>

#include "base/memory.h"

typedef struct flood {
    const crd_bitmap *bitmap;
    uint64_t *reached;
} flood;

/* Spreads along the rows of a slice and to its neighbours until nothing changes: bits of `reached` within `allowed`. */
static bool spread_row(const uint64_t *allowed, uint64_t *row, const uint64_t *const near[4], int64_t words)
{
    bool changed = false;
    for (int64_t w = 0; w < words; w++) {
        uint64_t bits = row[w];
        for (int k = 0; k < 4; k++) bits |= near[k] != NULL ? near[k][w] : 0;
        if (w > 0) bits |= row[w - 1] >> 63;
        if (w + 1 < words) bits |= row[w + 1] << 63;
        bits &= allowed[w];
        for (uint64_t more = bits; (more = (bits << 1 | bits >> 1 | bits) & allowed[w]) != bits;) bits = more;
        changed |= bits != row[w];
        row[w] = bits;
    }
    return changed;
}

static bool sweep_flood(const flood *f, const uint64_t *allowed, bool forward)
{
    const int64_t *shape = f->bitmap->shape, words = f->bitmap->words, rows = shape[0] * shape[1];
    bool changed = false;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = forward ? i : rows - 1 - i, z = at / shape[1], y = at % shape[1];
        uint64_t *row = f->reached + at * words;
        const uint64_t *const near[4] = {y > 0 ? row - words : NULL, y + 1 < shape[1] ? row + words : NULL,
                                         z > 0 ? row - shape[1] * words : NULL,
                                         z + 1 < shape[0] ? row + shape[1] * words : NULL};
        while (spread_row(allowed + at * words, row, near, words)) changed = true;
    }
    return changed;
}

/* Marks the voxels of a face of `allowed`, and all that they are joined to. */
static void flood_from(const flood *f, const uint64_t *allowed, int axis, bool last)
{
    const int64_t *shape = f->bitmap->shape, words = f->bitmap->words;
    const int64_t place = last ? shape[axis] - 1 : 0;
    memset(f->reached, 0, (size_t)(shape[0] * shape[1] * words) * sizeof *f->reached);
    for (int64_t row = 0; row < shape[0] * shape[1]; row++) {
        const int64_t at[2] = {row / shape[1], row % shape[1]};
        if (axis < 2 && at[axis] != place) continue;
        for (int64_t w = 0; w < words; w++) {
            const uint64_t face = axis < 2 ? ~UINT64_C(0) : w == place / 64 ? UINT64_C(1) << place % 64 : 0;
            f->reached[row * words + w] = allowed[row * words + w] & face;
        }
    }
    for (bool changed = true; changed;) {
        changed = sweep_flood(f, allowed, true);
        changed |= sweep_flood(f, allowed, false);
    }
}

crd_status crd_joining_find(const crd_bitmap *b, int axis, uint64_t **out, int64_t *count)
{
    crd_status status = CRD_OK;
    const int64_t words = b->shape[0] * b->shape[1] * b->words;
    flood first = {.bitmap = b}, both = {.bitmap = b};
    *count = 0;
    CRD_TRY(crd_alloc(words, sizeof *first.reached, "components", &first.reached));
    CRD_TRY(crd_alloc(words, sizeof *both.reached, "components", &both.reached));
    flood_from(&first, b->phase, axis, false);
    flood_from(&both, first.reached, axis, true);
    for (int64_t i = 0; i < words; i++) *count += __builtin_popcountll(both.reached[i]);
    *out = both.reached;
    both.reached = NULL;
done:
    crd_free(&first.reached);
    crd_free(&both.reached);
    return status;
}

/* A row along x in which all voxels are alike. */
static bool row_is_even(const uint64_t *row, int64_t width, int64_t words)
{
    const uint64_t all = row[0] & 1 ? ~UINT64_C(0) : 0, spare = width % 64 > 0 ? ~UINT64_C(0) << width % 64 : 0;
    for (int64_t w = 0; w < words; w++) {
        if (row[w] != (w + 1 < words ? all : all & ~spare)) return false;
    }
    return true;
}

bool crd_joining_straight(const crd_bitmap *b, const uint64_t *voxels, int axis)
{
    for (int64_t z = 0; z < b->shape[0]; z++) {
        for (int64_t y = 0; y < b->shape[1]; y++) {
            const uint64_t *row = crd_bitmap_row(b, voxels, z, y);
            const uint64_t *first = crd_bitmap_row(b, voxels, axis == 0 ? 0 : z, axis == 1 ? 0 : y);
            const bool alike = axis == 2 ? row_is_even(row, b->shape[2], b->words)
                                         : memcmp(row, first, (size_t)b->words * sizeof *row) == 0;
            if (!alike) return false;
        }
    }
    return true;
}
