#include "predict/quantities/derive.h"

#include <string.h>

#include "base/assert.h"
#include "ops/entropy.h"

void crd_derive_classes(const float *const *planes, int count, int64_t voxels, uint8_t *best, float *largest)
{
    CRD_ASSERT(voxels <= CRD_DERIVE_VOXELS);
    memset(best, 0, (size_t)voxels);
    memcpy(largest, planes[0], (size_t)voxels * sizeof *largest);
    for (int k = 1; k < count; k++) {
        for (int64_t i = 0; i < voxels; i++) {
            const bool more = planes[k][i] > largest[i];
            best[i] = more ? (uint8_t)k : best[i];
            largest[i] = more ? planes[k][i] : largest[i];
        }
    }
}

#define STORE_CLASSES(TYPE)                                                                                            \
    do {                                                                                                               \
        TYPE *values = to;                                                                                             \
        for (int64_t i = 0; i < voxels; i++) values[i] = (TYPE)request->classes[best[i]].value;                        \
    } while (0)

static void store_classes(const crd_request *request, const uint8_t *best, int64_t voxels, crd_type type, void *to)
{
    switch (type) {
    case CRD_U8:
        STORE_CLASSES(uint8_t);
        break;
    case CRD_U16:
        STORE_CLASSES(uint16_t);
        break;
    case CRD_I16:
        STORE_CLASSES(int16_t);
        break;
    case CRD_I32:
        STORE_CLASSES(int32_t);
        break;
    case CRD_F32:
        STORE_CLASSES(float);
        break;
    default:
        STORE_CLASSES(double);
        break;
    }
}

/* Where the planes of a quantity begin among the averaged ones, at voxel `first`. */
static void find_planes(const crd_request *request, void *const *rows, const crd_quantity *like, int64_t first,
                        const float **planes)
{
    for (int64_t q = 0; q < request->averaged_count; q++) {
        const crd_quantity *other = &request->quantities[q];
        if (other->kind != like->kind || other->low != like->low || other->high != like->high) continue;
        planes[other->plane] = (const float *)rows[q] + first;
    }
}

/* Of one row of probabilities for each plane. */
static void store_entropy(const float *const *planes, int count, int64_t voxels, float *to)
{
    double sums[CRD_DERIVE_VOXELS] = {0};
    for (int k = 0; k < count; k++) {
        for (int64_t i = 0; i < voxels; i++) sums[i] += crd_entropy_term((double)planes[k][i]);
    }
    for (int64_t i = 0; count == 1 && i < voxels; i++) sums[i] += crd_entropy_term(1.0 - (double)planes[0][i]);
    for (int64_t i = 0; i < voxels; i++) to[i] = (float)sums[i];
}

/* Both parts are rounded on their own, which may leave less than nothing. */
static void store_epistemic(const crd_request *request, void *const *rows, int64_t first, int64_t voxels, float *to)
{
    const float *parts[2] = {NULL, NULL};
    for (int64_t q = 0; q < request->quantity_count; q++) {
        if (request->quantities[q].kind == CRD_ENTROPY) parts[0] = (const float *)rows[q] + first;
        if (request->quantities[q].kind == CRD_ALEATORIC) parts[1] = (const float *)rows[q] + first;
    }
    for (int64_t i = 0; i < voxels; i++) to[i] = parts[0][i] > parts[1][i] ? parts[0][i] - parts[1][i] : 0.0f;
}

static void fill(const crd_request *request, void *const *rows, int64_t first, int64_t voxels)
{
    const float *planes[CRD_CLASSES_MAX], *widths[CRD_CLASSES_MAX];
    uint8_t best[CRD_DERIVE_VOXELS];
    float largest[CRD_DERIVE_VOXELS];
    find_planes(request, rows, &request->quantities[0], first, planes);
    crd_derive_classes(planes, request->planes, voxels, best, largest);
    for (int64_t q = request->averaged_count; q < request->quantity_count; q++) {
        const crd_quantity *quantity = &request->quantities[q];
        void *to = (char *)rows[q] + (size_t)first * crd_type_size(quantity->stored);
        if (quantity->kind == CRD_CLASS) store_classes(request, best, voxels, quantity->stored, to);
        if (quantity->kind == CRD_ENTROPY) store_entropy(planes, request->planes, voxels, to);
        if (quantity->kind == CRD_EPISTEMIC) store_epistemic(request, rows, first, voxels, to);
        if (quantity->kind == CRD_CLASS_WIDTH) {
            const crd_quantity width = {.kind = CRD_WIDTH, .low = quantity->low, .high = quantity->high};
            find_planes(request, rows, &width, first, widths);
            for (int64_t i = 0; i < voxels; i++) ((float *)to)[i] = widths[best[i]][i];
        }
    }
}

void crd_derive(const crd_request *request, void *const *rows, int64_t count)
{
    bool any = false;
    for (int64_t q = request->averaged_count; q < request->quantity_count; q++) {
        any |= request->quantities[q].kind != CRD_SAMPLE_BITS;
    }
    for (int64_t first = 0; any && first < count; first += CRD_DERIVE_VOXELS) {
        fill(request, rows, first, count - first < CRD_DERIVE_VOXELS ? count - first : CRD_DERIVE_VOXELS);
    }
}
