#include "view/tiles/histogram.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "volume/levels.h"
#include "volume/types.h"

static bool is_narrow(crd_type type)
{
    return type == CRD_U8 || type == CRD_I8 || type == CRD_U16 || type == CRD_I16;
}

/* The first value of a bin. */
static double bin_value(crd_type type, int64_t bin)
{
    if (type == CRD_I8) return (double)(bin - 128);
    if (type == CRD_I16) return (double)(bin - 32768);
    if (is_narrow(type)) return (double)bin;
    uint32_t bits = (uint32_t)bin << 16;
    bits = (bits & UINT32_C(0x80000000)) != 0 ? bits & UINT32_C(0x7fffffff) : ~bits;
    float value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? (double)value : value > 0 ? (double)3.4e38F : -(double)3.4e38F;
}

void crd_greys_add(crd_greys *greys, const void *voxels, int64_t count)
{
    int64_t *counts = greys->counts;
    switch (greys->type) {
    case CRD_U8:
        for (int64_t i = 0; i < count; i++) counts[((const uint8_t *)voxels)[i]]++;
        return;
    case CRD_I8:
        for (int64_t i = 0; i < count; i++) counts[((const int8_t *)voxels)[i] + 128]++;
        return;
    case CRD_U16:
        for (int64_t i = 0; i < count; i++) counts[((const uint16_t *)voxels)[i]]++;
        return;
    case CRD_I16:
        for (int64_t i = 0; i < count; i++) counts[((const int16_t *)voxels)[i] + 32768]++;
        return;
    default:
        break;
    }
    const char *at = voxels;
    const int64_t size = (int64_t)crd_type_size(greys->type);
    double values[256];
    for (int64_t done = 0; done < count; done += 256) {
        const int64_t some = count - done < 256 ? count - done : 256;
        crd_to_float(greys->type, at + done * size, some, CRD_F64, values);
        for (int64_t i = 0; i < some; i++) {
            if (isfinite(values[i])) counts[crd_level_coarse_bin(values[i])]++;
        }
    }
}

void crd_greys_join(crd_greys *greys, const crd_greys *other)
{
    for (int i = 0; i < CRD_GREY_BINS; i++) greys->counts[i] += other->counts[i];
}

enum { SMALL = 1 << 24, SLICES = 8, ACROSS = 8, EDGE = 128 };

/* A block in the middle of an eighth of the slices; over the slice, shifted from block to block. */
static crd_box sample_box(const int64_t shape[3], int number)
{
    const double at[3] = {(number / ACROSS + 0.5) / SLICES, fmod(0.37 + 0.618034 * number, 1.0),
                          fmod(0.61 + 0.754878 * number, 1.0)};
    crd_box box;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t n = shape[axis], edge = axis == 0 ? 1 : n < EDGE ? n : EDGE;
        box.size[axis] = edge;
        box.origin[axis] = (int64_t)(at[axis] * (double)(n - edge + 1));
        if (box.origin[axis] > n - edge) box.origin[axis] = n - edge;
    }
    return box;
}

crd_status crd_greys_sample(crd_volume *volume, crd_greys *out, bool *all)
{
    crd_status status = CRD_OK;
    void *voxels = NULL;
    const crd_volume_info *info = crd_volume_describe(volume);
    const int64_t *shape = info->shape;
    const bool small =
        shape[0] <= SMALL && shape[1] <= SMALL && shape[2] <= SMALL && shape[1] * shape[2] <= SMALL / shape[0];
    const int64_t boxes = small ? shape[0] : SLICES * ACROSS, room = small ? shape[1] * shape[2] : EDGE * EDGE;
    memset(out, 0, sizeof *out);
    out->type = info->type;
    if (all != NULL) *all = small;
    CRD_TRY(crd_alloc(room, crd_type_size(info->type), "a sample", &voxels));
    for (int64_t i = 0; i < boxes; i++) {
        const crd_box slice = {.origin = {i, 0, 0}, .size = {1, shape[1], shape[2]}};
        const crd_box box = small ? slice : sample_box(shape, (int)i);
        CRD_TRY(crd_volume_read(volume, &box, info->type, voxels));
        crd_greys_add(out, voxels, box.size[1] * box.size[2]);
    }
done:
    crd_free(&voxels);
    return status;
}

static int64_t total_of(const crd_greys *greys)
{
    int64_t total = 0;
    for (int i = 0; i < CRD_GREY_BINS; i++) total += greys->counts[i];
    return total;
}

double crd_greys_percentile(const crd_greys *greys, double share)
{
    const int64_t total = total_of(greys);
    int64_t below = 0, last = -1;
    for (int64_t i = 0; i < CRD_GREY_BINS; i++) {
        if (greys->counts[i] == 0) continue;
        last = i;
        below += greys->counts[i];
        if ((double)below > share * (double)total) break;
    }
    return last >= 0 ? bin_value(greys->type, last) : (double)NAN;
}

void crd_greys_show(const crd_greys *greys, crd_grey_picture *out)
{
    int64_t first = CRD_GREY_BINS, last = -1;
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < CRD_GREY_BINS; i++) {
        if (greys->counts[i] == 0) continue;
        if (first > i) first = i;
        last = i;
        out->count += greys->counts[i];
    }
    if (last < 0) return;
    out->low = bin_value(greys->type, first);
    out->high = bin_value(greys->type, last);
    if (is_narrow(greys->type)) out->high += 1.0; /* the edge behind it */
    if (!(out->high > out->low)) out->high = out->low + (out->low != 0.0 ? fabs(out->low) / 128.0 : 1.0);
    for (int64_t i = first; i <= last; i++) {
        if (greys->counts[i] == 0) continue;
        const double at = (bin_value(greys->type, i) - out->low) / (out->high - out->low) * CRD_GREY_SHOWN;
        out->bins[at < CRD_GREY_SHOWN - 1 ? (int)at : CRD_GREY_SHOWN - 1] += greys->counts[i];
    }
}
