#include "measure/bitmap.h"

#include <string.h>

#include "base/memory.h"

int64_t crd_bitmap_bytes(const crd_realisations_info *info)
{
    const int64_t slice = info->shape[1] * info->shape[2];
    return (info->masked ? 2 : 1) * info->shape[0] * info->shape[1] * ((info->shape[2] + 63) / 64) * 8 +
           (info->layer > 1 ? info->layer : 1) * slice * 9;
}

/* A row of bytes as bits: where `taken` says so. */
static void set_bits(const uint8_t *bytes, int64_t count, const uint8_t taken[256], uint64_t *bits)
{
    for (int64_t x = 0; x < count; x++) bits[x / 64] |= (uint64_t)taken[bytes[x]] << x % 64;
}

crd_status crd_bitmap_read(crd_realisations *realisations, unsigned phases, bool numbers, int64_t bit, crd_bitmap *out)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(realisations);
    const int64_t *shape = info->shape, width = shape[2];
    uint8_t *bytes = NULL, taken[256] = {0}, inside[256];
    memset(out, 0, sizeof *out);
    memset(inside, 1, sizeof inside);
    inside[CRD_PHASE_OUTSIDE] = 0;
    for (int p = 0; p < CRD_PHASES_MAX; p++) taken[p] = phases >> p & 1;
    memcpy(out->shape, shape, sizeof out->shape);
    out->words = (width + 63) / 64;
    CRD_TRY(crd_alloc(shape[0] * shape[1] * out->words, sizeof *out->phase, "a realisation", &out->phase));
    if (info->masked) {
        CRD_TRY(crd_alloc(shape[0] * shape[1] * out->words, sizeof *out->inside, "a realisation", &out->inside));
    }
    if (numbers) CRD_TRY(crd_alloc(shape[0] * shape[1] * width, 1, "a realisation", &out->numbers));
    CRD_TRY(crd_alloc(info->layer * shape[1] * width, 1, "a realisation", &bytes));
    for (int64_t z = 0; z < shape[0];) {
        const int64_t slices = crd_realisations_slices_at_once(realisations, z, shape[0] - z);
        const crd_box box = {{z, 0, 0}, {slices, shape[1], width}};
        CRD_TRY(crd_realisations_read_one(realisations, bit, &box, bytes));
        for (int64_t row = 0; row < slices * shape[1]; row++) {
            const int64_t at = (z * shape[1] + row) * out->words;
            set_bits(bytes + row * width, width, taken, out->phase + at);
            if (info->masked) set_bits(bytes + row * width, width, inside, out->inside + at);
        }
        if (numbers) memcpy(out->numbers + z * shape[1] * width, bytes, (size_t)(slices * shape[1] * width));
        z += slices;
    }
    for (int64_t i = 0; i < shape[0] * shape[1] * out->words; i++) out->voxels += __builtin_popcountll(out->phase[i]);
done:
    crd_free(&bytes);
    if (status != CRD_OK) crd_bitmap_free(out);
    return status;
}

void crd_bitmap_free(crd_bitmap *bitmap)
{
    crd_free(&bitmap->phase);
    crd_free(&bitmap->inside);
    crd_free(&bitmap->numbers);
}

int64_t crd_bitmap_row_bytes(const int64_t shape[3])
{
    return shape[0] * shape[1] * ((shape[2] + 63) / 64) * (int64_t)sizeof(uint64_t);
}

crd_status crd_bitmap_crop(const crd_bitmap *bitmap, const crd_box *box, crd_bitmap *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->shape, box->size, sizeof out->shape);
    out->words = (box->size[2] + 63) / 64;
    CRD_PASS(crd_alloc(box->size[0] * box->size[1] * out->words, sizeof *out->phase, "a realisation", &out->phase));
    if (bitmap->numbers != NULL) {
        CRD_PASS(crd_alloc(box->size[0] * box->size[1] * box->size[2], 1, "a realisation", &out->numbers));
    }
    for (int64_t row = 0; row < box->size[0] * box->size[1]; row++) {
        const int64_t z = box->origin[0] + row / box->size[1], y = box->origin[1] + row % box->size[1];
        const uint64_t *from = crd_bitmap_row(bitmap, bitmap->phase, z, y);
        uint64_t *to = out->phase + row * out->words;
        for (int64_t x = 0; x < box->size[2]; x++) {
            to[x / 64] |= (uint64_t)crd_bit(from, box->origin[2] + x) << x % 64;
        }
        for (int64_t w = 0; w < out->words; w++) out->voxels += __builtin_popcountll(to[w]);
        if (bitmap->numbers == NULL) continue;
        memcpy(out->numbers + row * box->size[2],
               bitmap->numbers + (z * bitmap->shape[1] + y) * bitmap->shape[2] + box->origin[2], (size_t)box->size[2]);
    }
    return CRD_OK;
}

static bool all_count(const crd_bitmap *bitmap, const crd_box *box)
{
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            const uint64_t *row = crd_bitmap_row(bitmap, bitmap->inside, box->origin[0] + z, box->origin[1] + y);
            for (int64_t x = 0; x < box->size[2]; x++) {
                if (!crd_bit(row, box->origin[2] + x)) return false;
            }
        }
    }
    return true;
}

/* The box around the middle with `part` of `whole` of the window along each of the axes, and as it was along others. */
static crd_box middle_box(const crd_bitmap *bitmap, const crd_box *others, int axis, int64_t part, int64_t whole)
{
    crd_box box = *others;
    for (int a = 0; a < 3; a++) {
        if (axis >= 0 && a != axis) continue;
        box.size[a] = bitmap->shape[a] * part / whole;
        box.origin[a] = (bitmap->shape[a] - box.size[a]) / 2;
    }
    return box;
}

/* Smaller boxes lie in larger ones, so halving finds the largest: along one axis, or along all together (-1). */
static crd_box widest(const crd_bitmap *bitmap, const crd_box *others, int axis, int64_t whole)
{
    int64_t good = 0, bad = whole + 1;
    while (bad - good > 1) {
        const int64_t part = good + (bad - good) / 2;
        const crd_box box = middle_box(bitmap, others, axis, part, whole);
        if (all_count(bitmap, &box)) {
            good = part;
        } else {
            bad = part;
        }
    }
    return middle_box(bitmap, others, axis, good, whole);
}

crd_box crd_bitmap_centred_box(const crd_bitmap *bitmap)
{
    int64_t longest = 1;
    crd_box box = {{0}, {bitmap->shape[0], bitmap->shape[1], bitmap->shape[2]}};
    if (bitmap->inside == NULL) return box;
    for (int axis = 0; axis < 3; axis++) longest = bitmap->shape[axis] > longest ? bitmap->shape[axis] : longest;
    box = widest(bitmap, &box, -1, longest);
    for (int axis = 0; axis < 3; axis++) box = widest(bitmap, &box, axis, bitmap->shape[axis]);
    return box;
}
