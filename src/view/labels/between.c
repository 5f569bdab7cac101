/* What lies between two painted slices: the signed distance to the outline goes evenly from one slice's to the
 * other's. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "view/labels/paint.h"

enum { AREA = 4 << 20 };

static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};

void crd_between_free(crd_between *between)
{
    crd_free(&between->from);
    crd_free(&between->to);
}

/* ---- distances (Meijster, Roerdink, Hesselink 2000) ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Lowest of the parabolas (x - i)^2 + g(i)^2, at each x of a row. `g` is squared already. */
static void lowest(const int64_t *g, int64_t count, int64_t edge, int64_t *at, int64_t *from, int64_t *out)
{
    int64_t top = 0;
    const int64_t square = edge * edge;
    at[0] = from[0] = 0;
    for (int64_t u = 1; u < count; u++) {
        while (top >= 0) {
            const int64_t x = from[top], own = (x - at[top]) * (x - at[top]) * square + g[at[top]];
            if (own <= (x - u) * (x - u) * square + g[u]) break;
            top--;
        }
        if (top < 0) {
            top = 0;
            at[0] = u;
            from[0] = 0;
            continue;
        }
        const int64_t i = at[top];
        const int64_t begin = 1 + floor_div((u * u - i * i) * square + g[u] - g[i], 2 * square * (u - i));
        if (begin < count) {
            top++;
            at[top] = u;
            from[top] = begin;
        }
    }
    for (int64_t x = count - 1; x >= 0; x--) {
        out[x] = (x - at[top]) * (x - at[top]) * square + g[at[top]];
        if (x == from[top]) top--;
    }
}

crd_status crd_between_distances(const uint8_t *mask, uint8_t of, int64_t rows, int64_t columns, int64_t row_edge,
                                 int64_t column_edge, int64_t *squares)
{
    crd_status status = CRD_OK;
    int64_t *row = NULL, *at = NULL, *from = NULL;
    const int64_t far = rows * row_edge + columns * column_edge;
    CRD_TRY(crd_alloc(columns, sizeof *row, "distances", &row));
    CRD_TRY(crd_alloc(columns, sizeof *at, "distances", &at));
    CRD_TRY(crd_alloc(columns, sizeof *from, "distances", &from));
    for (int64_t c = 0; c < columns; c++) { /* along each column, downwards and back */
        int64_t distance = far;
        for (int64_t r = 0; r < rows; r++) {
            distance = mask[r * columns + c] == of ? 0 : distance < far ? distance + row_edge : far;
            squares[r * columns + c] = distance;
        }
        distance = far;
        for (int64_t r = rows - 1; r >= 0; r--) {
            distance = mask[r * columns + c] == of ? 0 : distance < far ? distance + row_edge : far;
            if (distance < squares[r * columns + c]) squares[r * columns + c] = distance;
        }
    }
    for (int64_t i = 0; i < rows * columns; i++) squares[i] *= squares[i];
    for (int64_t r = 0; r < rows; r++) {
        lowest(squares + r * columns, columns, column_edge, at, from, row);
        memcpy(squares + r * columns, row, (size_t)columns * sizeof *row);
    }
done:
    crd_free(&row);
    crd_free(&at);
    crd_free(&from);
    return status;
}

/* ---- two slices ---- */

/* Voxels of the class, and how far they reach. */
static bool mark(const crd_operation *op, crd_plane_part *p, int64_t low[2], int64_t high[2])
{
    bool any = false;
    for (int64_t r = 0; r < p->rows; r++) {
        for (int64_t c = 0; c < p->columns; c++) {
            uint8_t *voxel = p->voxels + r * p->columns + c;
            *voxel = *voxel == op->value;
            if (!*voxel) continue;
            any = true;
            if (r < low[0]) low[0] = r;
            if (r >= high[0]) high[0] = r + 1;
            if (c < low[1]) low[1] = c;
            if (c >= high[1]) high[1] = c + 1;
        }
    }
    return any;
}

/* A frame of one voxel lies around what both cover: there is nothing further out that could be nearer. */
static crd_status signed_distances(const crd_plane_part *p, const int64_t low[2], const crd_between *b,
                                   const int64_t edges[2], double *out)
{
    crd_status status = CRD_OK;
    const int64_t rows = b->rows + 2, columns = b->columns + 2;
    uint8_t *mask = NULL;
    int64_t *outside = NULL, *inside = NULL;
    CRD_TRY(crd_alloc(rows * columns, 1, "distances", &mask));
    CRD_TRY(crd_alloc(rows * columns, sizeof *outside, "distances", &outside));
    CRD_TRY(crd_alloc(rows * columns, sizeof *inside, "distances", &inside));
    for (int64_t r = 0; r < b->rows; r++) {
        memcpy(mask + (r + 1) * columns + 1, p->voxels + (low[0] + r) * p->columns + low[1], (size_t)b->columns);
    }
    CRD_TRY(crd_between_distances(mask, 1, rows, columns, edges[0], edges[1], outside));
    CRD_TRY(crd_between_distances(mask, 0, rows, columns, edges[0], edges[1], inside));
    for (int64_t r = 0; r < b->rows; r++) {
        for (int64_t c = 0; c < b->columns; c++) {
            const int64_t i = (r + 1) * columns + c + 1;
            out[r * b->columns + c] = mask[i] ? -sqrt((double)inside[i]) : sqrt((double)outside[i]);
        }
    }
done:
    crd_free(&mask);
    crd_free(&outside);
    crd_free(&inside);
    return status;
}

crd_status crd_between_make(const crd_operation *op, const int64_t edges[3], crd_label_blocks *blocks, crd_between *out)
{
    crd_status status = CRD_OK;
    crd_plane_part parts[2] = {{.rows = 0}, {.rows = 0}};
    const int axes[2] = {down[op->axis], right[op->axis]};
    const int64_t plane_edges[2] = {edges[axes[0]], edges[axes[1]]};
    int64_t low[2] = {INT64_MAX, INT64_MAX}, high[2] = {0, 0};
    memset(out, 0, sizeof *out);
    out->first = op->slice < op->to ? op->slice : op->to;
    out->last = op->slice < op->to ? op->to : op->slice;
    for (int k = 0; k < 2; k++) {
        const int64_t slice = k == 0 ? out->first : out->last;
        CRD_TRY(crd_plane_labels(op, slice, &op->box, blocks, &parts[k]));
        if (!mark(op, &parts[k], low, high)) {
            CRD_FAIL(CRD_ERR_ARGUMENT, "there is nothing of class %d in slice %lld to begin or end with", op->value,
                     (long long)slice);
        }
    }
    out->rows = high[0] - low[0];
    out->columns = high[1] - low[1];
    if (out->rows * out->columns > AREA) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "what the two slices hold is too large to be filled between; give a box");
    }
    out->box = op->box;
    out->box.origin[op->axis] = out->first + 1;
    out->box.size[op->axis] = out->last - out->first - 1;
    for (int k = 0; k < 2; k++) {
        out->box.origin[axes[k]] = op->box.origin[axes[k]] + low[k];
        out->box.size[axes[k]] = high[k] - low[k];
    }
    CRD_TRY(crd_alloc(out->rows * out->columns, sizeof *out->from, "distances", &out->from));
    CRD_TRY(crd_alloc(out->rows * out->columns, sizeof *out->to, "distances", &out->to));
    CRD_TRY(signed_distances(&parts[0], low, out, plane_edges, out->from));
    CRD_TRY(signed_distances(&parts[1], low, out, plane_edges, out->to));
done:
    crd_plane_part_free(&parts[0]);
    crd_plane_part_free(&parts[1]);
    return status;
}

bool crd_between_inside(const crd_between *b, int64_t slice, int64_t row, int64_t column)
{
    const int64_t i = row * b->columns + column;
    return b->from[i] * (double)(b->last - slice) + b->to[i] * (double)(slice - b->first) < 0.0;
}
