#include "train/hold_back.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

static void grow(int64_t low[3], int64_t high[3], int64_t z, int64_t y, int64_t x)
{
    const int64_t at[3] = {z, y, x};
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] < low[axis]) low[axis] = at[axis];
        if (at[axis] + 1 > high[axis]) high[axis] = at[axis] + 1;
    }
}

/* The smallest box around all labelled voxels. */
static crd_status labelled_box(crd_label *label, crd_box *out)
{
    crd_status status = CRD_OK;
    const int64_t *shape = crd_label_info(label)->shape;
    int64_t counts[3], low[3] = {INT64_MAX, INT64_MAX, INT64_MAX}, high[3] = {0, 0, 0};
    uint8_t *slice = NULL;
    *out = (crd_box){.size = {shape[0], shape[1], shape[2]}};
    crd_label_counts(label, counts);
    if (counts[2] == 0 || counts[0] + counts[1] == 0) return CRD_OK;
    CRD_TRY(crd_alloc(shape[1] * shape[2], 1, "a slice of the label", &slice));
    for (int64_t z = 0; z < shape[0]; z++) {
        const crd_box box = {{z, 0, 0}, {1, shape[1], shape[2]}};
        CRD_TRY(crd_label_read(label, &box, slice));
        for (int64_t i = 0; i < shape[1] * shape[2]; i++) {
            if (slice[i] != CRD_LABEL_NONE) grow(low, high, z, i / shape[2], i % shape[2]);
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        out->origin[axis] = low[axis];
        out->size[axis] = high[axis] - low[axis];
    }
done:
    crd_free(&slice);
    return status;
}

/* The axis, of those not cut yet, along which most chunks fit. */
static int longest(const crd_box *box, const int64_t chunk[3], const bool cut[3])
{
    int best = -1;
    double most = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        const double chunks = (double)box->size[axis] / (double)chunk[axis];
        if (cut[axis] || (best >= 0 && chunks <= most)) continue;
        best = axis;
        most = chunks;
    }
    return best;
}

crd_status crd_hold_back(crd_label *label, const int64_t chunk[3], double share, crd_box *out)
{
    const int64_t *shape = crd_label_info(label)->shape;
    crd_box box;
    bool cut[3] = {false, false, false};
    double left = share, taken = 1.0; /* the share that the axes to come must give; what the cuts so far leave */
    *out = (crd_box){0};
    CRD_PASS(labelled_box(label, &box));
    for (int i = 0; i < 3 && left < 1.0; i++) {
        const int axis = longest(&box, chunk, cut);
        const int64_t extent = box.size[axis], end = box.origin[axis] + extent;
        int64_t thickness = (int64_t)ceil(left * (double)extent);
        cut[axis] = true;
        if (thickness < chunk[axis]) thickness = chunk[axis];
        if (thickness >= extent) continue;
        box.origin[axis] = end - thickness;
        box.size[axis] = thickness;
        taken *= (double)thickness / (double)extent;
        left *= (double)extent / (double)thickness;
    }
    if (taken > CRD_HOLD_BACK_MOST) return CRD_OK;
    /* Labels in a slab thinner than a chunk: the block must still hold whole chunks. */
    for (int axis = 0; axis < 3; axis++) {
        if (box.size[axis] >= chunk[axis]) continue;
        if (shape[axis] < chunk[axis]) return CRD_OK;
        box.origin[axis] -= (chunk[axis] - box.size[axis]) / 2;
        if (box.origin[axis] < 0) box.origin[axis] = 0;
        if (box.origin[axis] > shape[axis] - chunk[axis]) box.origin[axis] = shape[axis] - chunk[axis];
        box.size[axis] = chunk[axis];
    }
    *out = box;
    return CRD_OK;
}
