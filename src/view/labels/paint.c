#include "view/labels/paint.h"

#include <string.h>

#include "base/memory.h"
#include "view/labels/shapes.h"

static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};

/* What is needed while an operation goes through its blocks. */
typedef struct painter {
    const crd_operation *op;
    const int64_t *edges;
    crd_label_blocks *blocks;
    const crd_paint_sources *sources;
    crd_box box; /* that it can change */
    crd_plane_part flood;
    crd_between between;
    uint8_t *mask, *before, *after, *classes;
    double *values;
    int64_t voxels; /* changed so far */
} painter;

static bool intersect(crd_box *box, const crd_box *with)
{
    for (int i = 0; i < 3; i++) {
        const int64_t end = box->origin[i] + box->size[i], other = with->origin[i] + with->size[i];
        if (with->origin[i] > box->origin[i]) box->origin[i] = with->origin[i];
        box->size[i] = (end < other ? end : other) - box->origin[i];
        if (box->size[i] <= 0) return false;
    }
    return true;
}

/* Where the operation can change anything; false: nowhere. */
static crd_status find_box(painter *p, bool *any)
{
    *any = true;
    p->box = p->op->box;
    switch (p->op->kind) {
    case CRD_PAINT_STROKE:
    case CRD_PAINT_POLYGON: {
        crd_box bounds;
        *any = crd_shape_bounds(p->op, p->edges, crd_label_blocks_shape(p->blocks), &bounds) &&
               intersect(&p->box, &bounds);
        return CRD_OK;
    }
    case CRD_PAINT_FILL: {
        CRD_PASS(crd_flood(p->op, p->blocks, p->sources, &p->flood));
        p->box = p->flood.box;
        return CRD_OK;
    }
    case CRD_PAINT_BETWEEN:
        CRD_PASS(crd_between_make(p->op, p->edges, p->blocks, &p->between));
        p->box = p->between.box;
        return CRD_OK;
    case CRD_PAINT_ACCEPT:
        if (p->sources->classes == NULL) {
            return crd_fail(CRD_ERR_ARGUMENT, "there is no segmentation to accept; look at a run");
        }
        if (p->op->limited && p->sources->uncertainty == NULL) {
            return crd_fail(CRD_ERR_ARGUMENT, "there is no uncertainty to accept by; look at a run");
        }
        return CRD_OK;
    default:
        return CRD_OK;
    }
}

/* ---- one block ---- */

typedef struct place {
    int64_t number, start[3];
    crd_box part;     /* of it that is worked on, in the scan; */
    int64_t first[3]; /* where that begins in the block */
} place;

static int64_t in_block(const place *at, int64_t z, int64_t y, int64_t x)
{
    return ((at->first[0] + z) * CRD_BLOCK_EDGE + at->first[1] + y) * CRD_BLOCK_EDGE + at->first[2] + x;
}

/* Calls for every voxel of the part, in the order in which a box of it is read. */
#define FOR_PART(at, z, y, x)                                                                                          \
    for (int64_t z = 0; z < (at)->part.size[0]; z++)                                                                   \
        for (int64_t y = 0; y < (at)->part.size[1]; y++)                                                               \
            for (int64_t x = 0; x < (at)->part.size[2]; x++)

static bool covered(const painter *p, const place *at, int64_t z, int64_t y, int64_t x)
{
    const crd_operation *op = p->op;
    const int64_t voxel[3] = {at->part.origin[0] + z, at->part.origin[1] + y, at->part.origin[2] + x};
    const int d = down[op->axis], r = right[op->axis];
    if (op->kind == CRD_PAINT_FILL) {
        const int64_t row = voxel[d] - p->flood.box.origin[d], column = voxel[r] - p->flood.box.origin[r];
        return p->flood.voxels[row * p->flood.columns + column] == 1;
    }
    if (op->kind == CRD_PAINT_BETWEEN) {
        return crd_between_inside(&p->between, voxel[op->axis], voxel[d] - p->between.box.origin[d],
                                  voxel[r] - p->between.box.origin[r]);
    }
    return true; /* accept, clear: all of the box */
}

static void cover(painter *p, const place *at)
{
    memset(p->mask, 0, CRD_BLOCK_VOXELS);
    if (p->op->kind == CRD_PAINT_STROKE || p->op->kind == CRD_PAINT_POLYGON) {
        crd_shape_mask(p->op, p->edges, at->start, p->mask);
        return;
    }
    FOR_PART(at, z, y, x) p->mask[in_block(at, z, y, x)] = covered(p, at, z, y, x);
}

static bool any_covered(const painter *p, const place *at)
{
    FOR_PART(at, z, y, x)
    {
        if (p->mask[in_block(at, z, y, x)]) return true;
    }
    return false;
}

/* Voxels that the grey range or the uncertainty leaves out are uncovered. */
static crd_status narrow(painter *p, const place *at)
{
    int64_t i = 0;
    if (p->op->greyed) {
        CRD_PASS(p->sources->grey(p->sources->context, &at->part, p->values));
        FOR_PART(at, z, y, x)
        {
            const double grey = p->values[i++];
            if (!(grey >= p->op->grey[0] && grey <= p->op->grey[1])) p->mask[in_block(at, z, y, x)] = 0;
        }
    }
    if (!p->op->limited) return CRD_OK;
    CRD_PASS(p->sources->uncertainty(p->sources->context, &at->part, p->values));
    i = 0;
    FOR_PART(at, z, y, x)
    {
        if (!(p->values[i++] < p->op->below)) p->mask[in_block(at, z, y, x)] = 0;
    }
    return CRD_OK;
}

static crd_status paint_block(painter *p, const place *at, crd_delta *out)
{
    const bool accepts = p->op->kind == CRD_PAINT_ACCEPT;
    int64_t i = 0;
    cover(p, at);
    if (!any_covered(p, at)) return CRD_OK;
    CRD_PASS(narrow(p, at));
    if (accepts) CRD_PASS(p->sources->classes(p->sources->context, &at->part, p->classes));
    CRD_PASS(crd_label_blocks_get(p->blocks, at->number, p->before));
    memcpy(p->after, p->before, CRD_BLOCK_VOXELS);
    FOR_PART(at, z, y, x)
    {
        const int64_t v = in_block(at, z, y, x);
        const uint8_t value = accepts ? p->classes[i++] : p->op->value;
        if (!p->mask[v] || !p->op->over[p->before[v]] || value == p->before[v]) continue;
        if (accepts && value == CRD_UNLABELLED) continue;
        p->after[v] = value;
        p->voxels++;
    }
    if (p->voxels > CRD_PAINT_VOXELS) {
        return crd_fail(CRD_ERR_ARGUMENT, "the operation would change more than %d Mi voxels; do it in parts",
                        CRD_PAINT_VOXELS >> 20);
    }
    return crd_delta_add(out, at->number, p->before, p->after);
}

static crd_status paint_blocks(painter *p, crd_delta *out)
{
    int64_t low[3], high[3], index[3];
    for (int i = 0; i < 3; i++) {
        low[i] = p->box.origin[i] / CRD_BLOCK_EDGE;
        high[i] = (p->box.origin[i] + p->box.size[i] - 1) / CRD_BLOCK_EDGE;
    }
    for (index[0] = low[0]; index[0] <= high[0]; index[0]++) {
        for (index[1] = low[1]; index[1] <= high[1]; index[1]++) {
            for (index[2] = low[2]; index[2] <= high[2]; index[2]++) {
                place at = {.number = crd_label_blocks_number(p->blocks, index)};
                crd_box whole = {.size = {CRD_BLOCK_EDGE, CRD_BLOCK_EDGE, CRD_BLOCK_EDGE}};
                for (int i = 0; i < 3; i++) whole.origin[i] = at.start[i] = index[i] * CRD_BLOCK_EDGE;
                at.part = p->box;
                (void)intersect(&at.part, &whole);
                for (int i = 0; i < 3; i++) at.first[i] = at.part.origin[i] - at.start[i];
                CRD_PASS(paint_block(p, &at, out));
            }
        }
    }
    return CRD_OK;
}

crd_status crd_paint(const crd_operation *op, const int64_t edges[3], crd_label_blocks *blocks,
                     const crd_paint_sources *sources, crd_delta *out)
{
    crd_status status = CRD_OK;
    painter p = {.op = op, .edges = edges, .blocks = blocks, .sources = sources};
    bool any;
    CRD_TRY(find_box(&p, &any));
    if (!any) goto done;
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "a block", &p.mask));
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "a block", &p.before));
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "a block", &p.after));
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "a block", &p.classes));
    if (op->greyed || op->limited) {
        CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, sizeof *p.values, "a block", &p.values));
    }
    CRD_TRY(paint_blocks(&p, out));
done:
    crd_plane_part_free(&p.flood);
    crd_between_free(&p.between);
    crd_free(&p.mask);
    crd_free(&p.before);
    crd_free(&p.after);
    crd_free(&p.classes);
    crd_free(&p.values);
    return status;
}
