#include "view/labels/shapes.h"

#include <string.h>

#include "view/labels/blocks.h"

static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};
static const int64_t strides[3] = {CRD_BLOCK_EDGE * CRD_BLOCK_EDGE, CRD_BLOCK_EDGE, 1};

void crd_shape_edges(const double spacing[3], int64_t edges[3])
{
    double least = spacing[0];
    for (int i = 1; i < 3; i++) {
        if (spacing[i] < least) least = spacing[i];
    }
    for (int i = 0; i < 3; i++) {
        const double ratio = least > 0.0 ? spacing[i] / least : 1.0;
        edges[i] =
            ratio < (double)(CRD_EDGE_MOST / CRD_EDGE_UNIT) ? (int64_t)(CRD_EDGE_UNIT * ratio + 0.5) : CRD_EDGE_MOST;
    }
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How far a point reaches along an axis, in whole voxels, rounded up. */
static int64_t reach_of(const crd_operation *op, int64_t edge)
{
    return op->kind == CRD_PAINT_STROKE ? op->radius * CRD_EDGE_UNIT / edge / 8 + 1 : 0;
}

bool crd_shape_bounds(const crd_operation *op, const int64_t edges[3], const int64_t shape[3], crd_box *out)
{
    const int axes[2] = {down[op->axis], right[op->axis]};
    const int64_t deep = op->ball ? reach_of(op, edges[op->axis]) : 0;
    int64_t low[3], high[3];
    low[op->axis] = op->slice - deep;
    high[op->axis] = op->slice + deep + 1;
    for (int k = 0; k < 2; k++) {
        int64_t first = op->points[0][k], last = first;
        for (int64_t i = 1; i < op->point_count; i++) {
            first = least(first, op->points[i][k]);
            last = most(last, op->points[i][k]);
        }
        low[axes[k]] = floor_div(first, 8) - reach_of(op, edges[axes[k]]);
        high[axes[k]] = floor_div(last, 8) + reach_of(op, edges[axes[k]]) + 1;
    }
    for (int i = 0; i < 3; i++) {
        out->origin[i] = most(low[i], 0);
        out->size[i] = least(high[i], shape[i]) - out->origin[i];
        if (out->size[i] <= 0) return false;
    }
    return true;
}

/* ---- strokes ---- */

/* The largest whole number whose square is no more. */
static int64_t root(int64_t square)
{
    int64_t low = 0, high = (int64_t)1 << 31;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (middle * middle <= square) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

typedef struct brush {
    int axis, down, right;
    int64_t edges[3], start[3]; /* of the block */
    int64_t radius;             /* in the edges' unit */
    uint8_t *mask;
} brush;

/* A row of the disc: voxels i with |8 i + 4 - at| * edge <= reach. */
static void put_row(const brush *b, int64_t at, int64_t reach, uint8_t *row)
{
    const int64_t across = reach / b->edges[b->right]; /* in eighths: 8 i + 4 lies in at - across to at + across */
    const int64_t first = most(-floor_div(-(at - across - 4), 8), b->start[b->right]);
    const int64_t last = least(floor_div(at + across - 4, 8), b->start[b->right] + CRD_BLOCK_EDGE - 1);
    for (int64_t i = first; i <= last; i++) row[(i - b->start[b->right]) * strides[b->right]] = 1;
}

/* The disc, or the slice of a ball, in plane `slice`: what is left of the radius there. */
static void put_disc(const brush *b, int64_t slice, const int64_t at[2], int64_t square)
{
    const int64_t reach = root(square), edge = b->edges[b->down];
    const int64_t up = reach / edge;
    const int64_t first = most(-floor_div(-(at[0] - up - 4), 8), b->start[b->down]);
    const int64_t last = least(floor_div(at[0] + up - 4, 8), b->start[b->down] + CRD_BLOCK_EDGE - 1);
    uint8_t *plane = b->mask + (slice - b->start[b->axis]) * strides[b->axis];
    for (int64_t i = first; i <= last; i++) {
        const int64_t distance = (8 * i + 4 - at[0]) * edge;
        put_row(b, at[1], root(square - distance * distance), plane + (i - b->start[b->down]) * strides[b->down]);
    }
}

static void put_point(const brush *b, const crd_operation *op, const int64_t at[2])
{
    const int64_t edge = b->edges[b->axis], deep = op->ball ? b->radius / edge / 8 : 0;
    const int64_t first = most(op->slice - deep, b->start[b->axis]);
    const int64_t last = least(op->slice + deep, b->start[b->axis] + CRD_BLOCK_EDGE - 1);
    for (int64_t slice = first; slice <= last; slice++) {
        const int64_t distance = 8 * (slice - op->slice) * edge;
        put_disc(b, slice, at, b->radius * b->radius - distance * distance);
    }
    /* However small the brush, the voxel under the point is painted. */
    const int64_t under[2] = {floor_div(at[0], 8) - b->start[b->down], floor_div(at[1], 8) - b->start[b->right]};
    const int64_t slice = op->slice - b->start[b->axis];
    if (under[0] < 0 || under[0] >= CRD_BLOCK_EDGE || under[1] < 0 || under[1] >= CRD_BLOCK_EDGE || slice < 0 ||
        slice >= CRD_BLOCK_EDGE) {
        return;
    }
    b->mask[slice * strides[b->axis] + under[0] * strides[b->down] + under[1] * strides[b->right]] = 1;
}

/* Does a disc about any point from a to b come near the block? */
static bool near_block(const brush *b, const crd_operation *op, const int64_t from[2], const int64_t to[2])
{
    const int axes[2] = {b->down, b->right};
    for (int k = 0; k < 2; k++) {
        const int64_t reach = reach_of(op, b->edges[axes[k]]), start = b->start[axes[k]];
        if (floor_div(least(from[k], to[k]), 8) - reach >= start + CRD_BLOCK_EDGE) return false;
        if (floor_div(most(from[k], to[k]), 8) + reach < start) return false;
    }
    return true;
}

/* Points in steps of a voxel at most, so that the discs about them join. */
static void put_line(const brush *b, const crd_operation *op, const int64_t from[2], const int64_t to[2])
{
    const int64_t span[2] = {to[0] - from[0], to[1] - from[1]};
    const int64_t longest = most(most(span[0], -span[0]), most(span[1], -span[1])), steps = most((longest + 7) / 8, 1);
    int64_t last[2] = {from[0], from[1]};
    if (!near_block(b, op, from, to)) return;
    for (int64_t i = 1; i <= steps; i++) {
        const int64_t at[2] = {from[0] + floor_div(span[0] * i, steps), from[1] + floor_div(span[1] * i, steps)};
        if (near_block(b, op, last, at)) put_point(b, op, at);
        memcpy(last, at, sizeof last);
    }
}

static void put_stroke(const crd_operation *op, const int64_t edges[3], const int64_t start[3], uint8_t *mask)
{
    brush b = {.axis = op->axis,
               .down = down[op->axis],
               .right = right[op->axis],
               .radius = op->radius * CRD_EDGE_UNIT,
               .mask = mask};
    memcpy(b.edges, edges, sizeof b.edges);
    memcpy(b.start, start, sizeof b.start);
    if (near_block(&b, op, op->points[0], op->points[0])) put_point(&b, op, op->points[0]);
    for (int64_t i = 1; i < op->point_count; i++) put_line(&b, op, op->points[i - 1], op->points[i]);
}

/* ---- polygons ---- */

/* A voxel is inside where an odd number of edges cross its row to the left of its middle, or at it: an edge changes
 * that from the first voxel on whose middle lies at the crossing or behind it. */
static void put_polygon(const crd_operation *op, const int64_t start[3], uint8_t *mask)
{
    const int d = down[op->axis], r = right[op->axis];
    uint8_t *plane = mask + (op->slice - start[op->axis]) * strides[op->axis];
    for (int64_t row = 0; row < CRD_BLOCK_EDGE; row++) {
        bool turns[CRD_BLOCK_EDGE] = {false};
        const int64_t middle = 8 * (start[d] + row) + 4;
        for (int64_t i = 0; i < op->point_count; i++) {
            const int64_t *a = op->points[i], *b = op->points[i + 1 < op->point_count ? i + 1 : 0];
            if ((a[0] <= middle) == (b[0] <= middle)) continue;
            if (a[0] > b[0]) {
                const int64_t *swap = a;
                a = b;
                b = swap;
            }
            const int64_t rise = b[0] - a[0], crossing = a[1] * rise + (middle - a[0]) * (b[1] - a[1]);
            const int64_t first = most(-floor_div(-(crossing - 4 * rise), 8 * rise) - start[r], 0);
            if (first < CRD_BLOCK_EDGE) turns[first] = !turns[first];
        }
        bool inside = false;
        for (int64_t k = 0; k < CRD_BLOCK_EDGE; k++) {
            inside = inside != turns[k];
            if (inside) plane[row * strides[d] + k * strides[r]] = 1;
        }
    }
}

void crd_shape_mask(const crd_operation *op, const int64_t edges[3], const int64_t start[3], uint8_t *mask)
{
    if (op->kind == CRD_PAINT_STROKE) {
        put_stroke(op, edges, start, mask);
    } else if (op->slice >= start[op->axis] && op->slice < start[op->axis] + CRD_BLOCK_EDGE) {
        put_polygon(op, start, mask);
    }
}
