#include "train/data/hold_back.h"

#include <math.h>
#include <stdbool.h>

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

crd_box crd_hold_back(const crd_box *labelled, const int64_t shape[3], const int64_t chunk[3], double share)
{
    const crd_box none = {0};
    crd_box box = *labelled;
    bool cut[3] = {false, false, false};
    double left = share, taken = 1.0; /* the share that the axes to come must give; what the cuts so far leave */
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
    if (taken > CRD_HOLD_BACK_MOST) return none;
    /* Labels in a slab thinner than a chunk: the block must still hold whole chunks. */
    for (int axis = 0; axis < 3; axis++) {
        if (box.size[axis] >= chunk[axis]) continue;
        if (shape[axis] < chunk[axis]) return none;
        box.origin[axis] -= (chunk[axis] - box.size[axis]) / 2;
        if (box.origin[axis] < 0) box.origin[axis] = 0;
        if (box.origin[axis] > shape[axis] - chunk[axis]) box.origin[axis] = shape[axis] - chunk[axis];
        box.size[axis] = chunk[axis];
    }
    return box;
}
