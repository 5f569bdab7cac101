#include "measure/transport/joining.h"

#include <string.h>

#include "base/memory.h"

/* Slabs of slices are flooded side by side: every second one, while those between them stay as they are, then the
 * others, and so on where something came in from the next. What is reached in the end doesn't depend on the way. */
typedef struct flood {
    const crd_bitmap *bitmap;
    const uint64_t *allowed;
    uint64_t *reached;
    int64_t slabs, odd; /* those that run now are the even or the odd ones */
    bool *due;          /* of each slab: something may come in */
    bool *changed;      /* and something did */
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

/* Through slices `begin` to `end` - 1. */
static bool sweep_flood(const flood *f, int64_t begin, int64_t end, bool forward)
{
    const int64_t *shape = f->bitmap->shape, words = f->bitmap->words, rows = (end - begin) * shape[1];
    bool changed = false;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = begin * shape[1] + (forward ? i : rows - 1 - i), z = at / shape[1], y = at % shape[1];
        uint64_t *row = f->reached + at * words;
        const uint64_t *const near[4] = {y > 0 ? row - words : NULL, y + 1 < shape[1] ? row + words : NULL,
                                         z > 0 ? row - shape[1] * words : NULL,
                                         z + 1 < shape[0] ? row + shape[1] * words : NULL};
        while (spread_row(f->allowed + at * words, row, near, words)) changed = true;
    }
    return changed;
}

static void flood_slab(void *context, int64_t item, int worker)
{
    flood *f = context;
    const int64_t slab = 2 * item + f->odd, slices = f->bitmap->shape[0];
    const int64_t begin = slab * slices / f->slabs, end = (slab + 1) * slices / f->slabs;
    (void)worker;
    if (!f->due[slab]) return;
    for (bool changed = true; changed;) {
        changed = sweep_flood(f, begin, end, true);
        changed |= sweep_flood(f, begin, end, false);
        f->changed[slab] |= changed;
    }
}

/* Floods the slabs whose turn it is, and says which others are due then. False: none is. */
static bool flood_half(flood *f, crd_pool *pool)
{
    bool due = false;
    if (pool != NULL) crd_pool_run(pool, (f->slabs + 1 - f->odd) / 2, flood_slab, f);
    if (pool == NULL && f->odd == 0) flood_slab(f, 0, 0); /* there is one */
    for (int64_t slab = f->odd; slab < f->slabs; slab += 2) {
        f->due[slab] = false;
        if (!f->changed[slab]) continue;
        f->changed[slab] = false;
        if (slab > 0) f->due[slab - 1] = true;
        if (slab + 1 < f->slabs) f->due[slab + 1] = true;
    }
    for (int64_t slab = 0; slab < f->slabs; slab++) due |= f->due[slab];
    f->odd = 1 - f->odd;
    return due;
}

/* Marks the allowed voxels of a face, and all that they are joined to. */
static void flood_from(flood *f, int axis, bool last, crd_pool *pool)
{
    const int64_t *shape = f->bitmap->shape, words = f->bitmap->words;
    const int64_t place = last ? shape[axis] - 1 : 0;
    memset(f->reached, 0, (size_t)(shape[0] * shape[1] * words) * sizeof *f->reached);
    for (int64_t row = 0; row < shape[0] * shape[1]; row++) {
        const int64_t at[2] = {row / shape[1], row % shape[1]};
        if (axis < 2 && at[axis] != place) continue;
        for (int64_t w = 0; w < words; w++) {
            const uint64_t face = axis < 2 ? ~UINT64_C(0) : w == place / 64 ? UINT64_C(1) << place % 64 : 0;
            f->reached[row * words + w] = f->allowed[row * words + w] & face;
        }
    }
    memset(f->due, true, (size_t)f->slabs * sizeof *f->due);
    while (flood_half(f, pool)) continue;
}

crd_status crd_joining_find(const crd_bitmap *b, int axis, crd_pool *pool, uint64_t **out, int64_t *count)
{
    crd_status status = CRD_OK;
    const int64_t words = b->shape[0] * b->shape[1] * b->words, threads = pool != NULL ? crd_pool_threads(pool) : 1;
    const int64_t slabs = threads == 1 ? 1 : 2 * threads < b->shape[0] ? 2 * threads : b->shape[0];
    flood first = {.bitmap = b, .allowed = b->phase, .slabs = slabs}, both = first;
    *count = 0;
    CRD_TRY(crd_alloc(words, sizeof *first.reached, "components", &first.reached));
    CRD_TRY(crd_alloc(words, sizeof *both.reached, "components", &both.reached));
    CRD_TRY(crd_alloc(slabs, sizeof *first.due, "components", &first.due));
    CRD_TRY(crd_alloc(slabs, sizeof *first.changed, "components", &first.changed));
    flood_from(&first, axis, false, pool);
    both.allowed = first.reached;
    both.due = first.due;
    both.changed = first.changed;
    flood_from(&both, axis, true, pool);
    for (int64_t i = 0; i < words; i++) *count += __builtin_popcountll(both.reached[i]);
    *out = both.reached;
    both.reached = NULL;
done:
    crd_free(&first.reached);
    crd_free(&both.reached);
    crd_free(&first.due);
    crd_free(&first.changed);
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
