#include "measure/bitmap.h"

#include <string.h>

#include "base/memory.h"

int64_t crd_bitmap_bytes(const crd_realisations_info *info)
{
    const int64_t slice = info->shape[1] * info->shape[2];
    return (info->masked ? 2 : 1) * info->shape[0] * info->shape[1] * ((info->shape[2] + 63) / 64) * 8 +
           (info->layer > 1 ? info->layer : 1) * slice * 9;
}

/* A row of bytes as bits: those that are `value`, or those that aren't. */
static void set_bits(const uint8_t *bytes, int64_t count, uint8_t value, bool same, uint64_t *bits)
{
    for (int64_t x = 0; x < count; x++) bits[x / 64] |= (uint64_t)((bytes[x] == value) == same) << x % 64;
}

crd_status crd_bitmap_read(crd_realisations *realisations, int64_t phase, int64_t bit, crd_bitmap *out)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(realisations);
    const int64_t *shape = info->shape, width = shape[2];
    uint8_t *bytes = NULL;
    memset(out, 0, sizeof *out);
    memcpy(out->shape, shape, sizeof out->shape);
    out->words = (width + 63) / 64;
    CRD_TRY(crd_alloc(shape[0] * shape[1] * out->words, sizeof *out->phase, "a realisation", &out->phase));
    if (info->masked) {
        CRD_TRY(crd_alloc(shape[0] * shape[1] * out->words, sizeof *out->inside, "a realisation", &out->inside));
    }
    CRD_TRY(crd_alloc(info->layer * shape[1] * width, 1, "a realisation", &bytes));
    for (int64_t z = 0; z < shape[0];) {
        const int64_t slices = crd_realisations_slices_at_once(realisations, z, shape[0] - z);
        const crd_box box = {{z, 0, 0}, {slices, shape[1], width}};
        CRD_TRY(crd_realisations_read_one(realisations, bit, &box, bytes));
        for (int64_t row = 0; row < slices * shape[1]; row++) {
            const int64_t at = (z * shape[1] + row) * out->words;
            set_bits(bytes + row * width, width, (uint8_t)phase, true, out->phase + at);
            if (info->masked) set_bits(bytes + row * width, width, CRD_PHASE_OUTSIDE, false, out->inside + at);
        }
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
}
