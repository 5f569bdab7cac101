/* Filling: what hangs together in a plane. */
#include <string.h>

#include "base/memory.h"
#include "view/labels/paint.h"

static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};

void crd_plane_part_free(crd_plane_part *part)
{
    crd_free(&part->voxels);
}

/* Voxels as they come for a box, row by row of the plane: across x a box comes as z rows of y. */
static void turn(const uint8_t *from, int64_t rows, int64_t columns, uint8_t *to)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) to[r * columns + c] = from[c * rows + r];
    }
}

static crd_status plane_box(const crd_operation *op, int64_t slice, const crd_box *box, crd_plane_part *out)
{
    int64_t voxels;
    memset(out, 0, sizeof *out);
    out->box = *box;
    out->box.origin[op->axis] = slice;
    out->box.size[op->axis] = 1;
    out->rows = box->size[down[op->axis]];
    out->columns = box->size[right[op->axis]];
    CRD_PASS(crd_product(out->rows, out->columns, 1, &voxels));
    if (voxels > CRD_PAINT_VOXELS) return crd_fail(CRD_ERR_ARGUMENT, "the plane is too large; give a box");
    return CRD_OK;
}

crd_status crd_plane_labels(const crd_operation *op, int64_t slice, const crd_box *box, crd_label_blocks *blocks,
                            crd_plane_part *out)
{
    crd_status status = CRD_OK;
    uint8_t *read = NULL;
    CRD_TRY(plane_box(op, slice, box, out));
    CRD_TRY(crd_alloc(out->rows * out->columns, 1, "a plane of labels", &out->voxels));
    if (op->axis != 2) {
        status = crd_label_blocks_read(blocks, &out->box, out->voxels);
        goto done;
    }
    CRD_TRY(crd_alloc(out->rows * out->columns, 1, "a plane of labels", &read));
    CRD_TRY(crd_label_blocks_read(blocks, &out->box, read));
    turn(read, out->rows, out->columns, out->voxels);
done:
    crd_free(&read);
    return status;
}

/* Voxels in the grey range stay 1, others become 0. Read some rows at a time. */
static crd_status keep_range(const crd_operation *op, const crd_paint_sources *sources, crd_plane_part *p)
{
    crd_status status = CRD_OK;
    double *greys = NULL;
    const bool turned = op->axis == 2; /* z is to the right: portions of columns */
    const int slow = turned ? right[op->axis] : down[op->axis];
    const int64_t width = turned ? p->rows : p->columns, lines = turned ? p->columns : p->rows, portion = 64;
    crd_box box = p->box;
    CRD_TRY(crd_alloc(portion * width, sizeof *greys, "grey values", &greys));
    for (int64_t first = 0; first < lines; first += portion) {
        box.origin[slow] = p->box.origin[slow] + first;
        box.size[slow] = lines - first < portion ? lines - first : portion;
        CRD_TRY(sources->grey(sources->context, &box, greys));
        for (int64_t i = 0; i < box.size[slow]; i++) {
            for (int64_t k = 0; k < width; k++) {
                const double grey = greys[i * width + k];
                uint8_t *voxel = p->voxels + (turned ? k * p->columns + first + i : (first + i) * p->columns + k);
                if (!(grey >= op->grey[0] && grey <= op->grey[1])) *voxel = 0;
            }
        }
    }
done:
    crd_free(&greys);
    return status;
}

/* Runs of a row at a time: 1 may be reached, 2 has been. */
static crd_status spread(crd_plane_part *p, int64_t row, int64_t column)
{
    crd_status status = CRD_OK;
    int64_t *waiting = NULL, count = 0, room = 1024;
    uint8_t *v = p->voxels;
    CRD_TRY(crd_alloc(room, sizeof *waiting, "places to fill", &waiting));
    if (v[row * p->columns + column] == 1) waiting[count++] = row * p->columns + column;
    while (count > 0) {
        const int64_t at = waiting[--count], r = at / p->columns;
        int64_t first = at % p->columns, last = first;
        if (v[at] != 1) continue;
        while (first > 0 && v[r * p->columns + first - 1] == 1) first--;
        while (last + 1 < p->columns && v[r * p->columns + last + 1] == 1) last++;
        for (int64_t c = first; c <= last; c++) v[r * p->columns + c] = 2;
        for (int side = -1; side <= 1; side += 2) {
            if (r + side < 0 || r + side >= p->rows) continue;
            for (int64_t c = first; c <= last; c++) {
                const int64_t next = (r + side) * p->columns + c;
                if (v[next] != 1 || (c > first && v[next - 1] == 1)) continue; /* one place for each run is enough */
                if (count == room) {
                    int64_t *more = NULL;
                    CRD_TRY(crd_alloc(room * 2, sizeof *more, "places to fill", &more));
                    memcpy(more, waiting, (size_t)room * sizeof *more);
                    crd_free(&waiting);
                    waiting = more;
                    room *= 2;
                }
                waiting[count++] = next;
            }
        }
    }
    for (int64_t i = 0; i < p->rows * p->columns; i++) v[i] = v[i] == 2;
done:
    crd_free(&waiting);
    return status;
}

crd_status crd_flood(const crd_operation *op, crd_label_blocks *blocks, const crd_paint_sources *sources,
                     crd_plane_part *out)
{
    const int64_t row = op->at[0] - op->box.origin[down[op->axis]],
                  column = op->at[1] - op->box.origin[right[op->axis]];
    const int64_t slice = op->slice - op->box.origin[op->axis];
    memset(out, 0, sizeof *out);
    if (row < 0 || row >= op->box.size[down[op->axis]] || column < 0 || column >= op->box.size[right[op->axis]] ||
        slice < 0 || slice >= op->box.size[op->axis]) {
        return crd_fail(CRD_ERR_ARGUMENT, "the place to fill from lies outside of the box");
    }
    CRD_PASS(crd_plane_labels(op, op->slice, &op->box, blocks, out));
    const uint8_t own = out->voxels[row * out->columns + column];
    for (int64_t i = 0; i < out->rows * out->columns; i++) out->voxels[i] = out->voxels[i] == own;
    if (op->greyed) CRD_PASS(keep_range(op, sources, out));
    return spread(out, row, column);
}
