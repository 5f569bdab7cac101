/* Operations against a plain reference, voxel by voxel: shapes, fills, slices in between, rules. */
#include <math.h>

#include "base/memory.h"
#include "label_tools.h"
#include "view/labels/shapes.h"

enum { Z = 21, Y = 70, X = 83, VOXELS = Z * Y * X };
static const int64_t shape[3] = {Z, Y, X};
static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};
static const double spacings[][3] = {{0.0, 0.0, 0.0}, {1.3, 0.65, 0.65}, {0.5, 0.7, 1.1}};

static int64_t at_index(const int64_t at[3])
{
    return (at[0] * Y + at[1]) * X + at[2];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return (int64_t)floor((double)a / (double)b);
}

/* ---- the reference ---- */

static bool near_point(const crd_operation *op, const int64_t edges[3], const int64_t voxel[3], int64_t row,
                       int64_t column)
{
    const int d = down[op->axis], r = right[op->axis];
    const int64_t deep = 8 * (voxel[op->axis] - op->slice) * edges[op->axis];
    const int64_t y = (8 * voxel[d] + 4 - row) * edges[d], x = (8 * voxel[r] + 4 - column) * edges[r],
                  radius = op->radius * 64;
    if (deep == 0 && voxel[d] == floor_div(row, 8) && voxel[r] == floor_div(column, 8)) return true;
    return (op->ball || deep == 0) && deep * deep + y * y + x * x <= radius * radius;
}

static bool in_stroke(const crd_operation *op, const int64_t edges[3], const int64_t voxel[3])
{
    if (near_point(op, edges, voxel, op->points[0][0], op->points[0][1])) return true;
    for (int64_t i = 1; i < op->point_count; i++) {
        const int64_t *a = op->points[i - 1], *b = op->points[i], rise = b[0] - a[0], run = b[1] - a[1];
        const int64_t longest = llabs(rise) > llabs(run) ? llabs(rise) : llabs(run);
        const int64_t steps = longest > 8 ? (longest + 7) / 8 : 1;
        for (int64_t k = 1; k <= steps; k++) {
            if (near_point(op, edges, voxel, a[0] + floor_div(rise * k, steps), a[1] + floor_div(run * k, steps)))
                return true;
        }
    }
    return false;
}

static bool in_polygon(const crd_operation *op, const int64_t voxel[3])
{
    const int64_t y = 8 * voxel[down[op->axis]] + 4, x = 8 * voxel[right[op->axis]] + 4;
    int crossings = 0;
    if (voxel[op->axis] != op->slice) return false;
    for (int64_t i = 0; i < op->point_count; i++) {
        const int64_t *a = op->points[i], *b = op->points[(i + 1) % op->point_count];
        if ((a[0] <= y) == (b[0] <= y)) continue;
        const int64_t rise = b[0] - a[0], left = (a[1] - x) * rise + (y - a[0]) * (b[1] - a[1]);
        crossings += rise > 0 ? left <= 0 : left >= 0;
    }
    return crossings % 2 == 1;
}

static void place_of(const crd_operation *op, int64_t slice, int64_t row, int64_t column, int64_t out[3])
{
    out[op->axis] = slice;
    out[down[op->axis]] = row;
    out[right[op->axis]] = column;
}

static bool in_range(const crd_operation *op, const int64_t v[3])
{
    const double grey = grey_at(v[0], v[1], v[2]);
    return !op->greyed || (grey >= op->grey[0] && grey <= op->grey[1]);
}

/* Grows by one voxel at a time until nothing changes. */
static void fill_reference(const crd_operation *op, const uint8_t *labels, uint8_t *covered)
{
    int64_t seed[3], v[3], n[3];
    place_of(op, op->slice, op->at[0], op->at[1], seed);
    if (!in_range(op, seed)) return;
    covered[at_index(seed)] = 1;
    for (bool grown = true; grown;) {
        grown = false;
        for (int64_t row = 0; row < shape[down[op->axis]]; row++) {
            for (int64_t column = 0; column < shape[right[op->axis]]; column++) {
                static const int steps[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
                place_of(op, op->slice, row, column, v);
                if (covered[at_index(v)] || labels[at_index(v)] != labels[at_index(seed)] || !in_range(op, v)) continue;
                for (int k = 0; k < 4; k++) {
                    const int64_t r = row + steps[k][0], c = column + steps[k][1];
                    if (r < 0 || c < 0 || r >= shape[down[op->axis]] || c >= shape[right[op->axis]]) continue;
                    place_of(op, op->slice, r, c, n);
                    if (!covered[at_index(n)]) continue;
                    covered[at_index(v)] = 1;
                    grown = true;
                    break;
                }
            }
        }
    }
}

/* The signed distance of a place to the outline in a slice, by looking at all others; what lies around the plane counts
 * as outside. */
static double signed_distance(const crd_operation *op, const int64_t edges[3], const uint8_t *labels, int64_t slice,
                              int64_t row, int64_t column)
{
    const int d = down[op->axis], r = right[op->axis];
    int64_t v[3], best = INT64_MAX;
    place_of(op, slice, row, column, v);
    const bool inside = labels[at_index(v)] == op->value;
    for (int64_t i = -1; i <= shape[d]; i++) {
        for (int64_t k = -1; k <= shape[r]; k++) {
            const bool beyond = i < 0 || k < 0 || i == shape[d] || k == shape[r];
            place_of(op, slice, i, k, v);
            if ((!beyond && labels[at_index(v)] == op->value) == inside) continue;
            const int64_t y = (i - row) * edges[d], x = (k - column) * edges[r];
            if (y * y + x * x < best) best = y * y + x * x;
        }
    }
    return inside ? -sqrt((double)best) : sqrt((double)best);
}

static bool any_of(const crd_operation *op, const uint8_t *labels, int64_t slice)
{
    int64_t v[3];
    for (int64_t row = 0; row < shape[down[op->axis]]; row++) {
        for (int64_t column = 0; column < shape[right[op->axis]]; column++) {
            place_of(op, slice, row, column, v);
            if (labels[at_index(v)] == op->value) return true;
        }
    }
    return false;
}

static void between_reference(const crd_operation *op, const int64_t edges[3], const uint8_t *labels, uint8_t *covered)
{
    const int64_t first = op->slice < op->to ? op->slice : op->to, last = op->slice < op->to ? op->to : op->slice;
    int64_t v[3];
    for (int64_t row = 0; row < shape[down[op->axis]]; row++) {
        for (int64_t column = 0; column < shape[right[op->axis]]; column++) {
            const double a = signed_distance(op, edges, labels, first, row, column),
                         b = signed_distance(op, edges, labels, last, row, column);
            for (int64_t slice = first + 1; slice < last; slice++) {
                place_of(op, slice, row, column, v);
                covered[at_index(v)] = a * (double)(last - slice) + b * (double)(slice - first) < 0.0;
            }
        }
    }
}

/* What the labels are afterwards; false: the operation can't be done. */
static bool reference(const crd_operation *op, const int64_t edges[3], uint8_t *labels)
{
    static uint8_t covered[VOXELS];
    int64_t v[3];
    memset(covered, 0, sizeof covered);
    if (op->kind == CRD_PAINT_FILL) fill_reference(op, labels, covered);
    if (op->kind == CRD_PAINT_BETWEEN) {
        if (!any_of(op, labels, op->slice) || !any_of(op, labels, op->to)) return false;
        between_reference(op, edges, labels, covered);
    }
    for (v[0] = 0; v[0] < Z; v[0]++) {
        for (v[1] = 0; v[1] < Y; v[1]++) {
            for (v[2] = 0; v[2] < X; v[2]++) {
                uint8_t *label = &labels[at_index(v)], value = op->value;
                bool in = true, boxed = true;
                for (int i = 0; i < 3; i++)
                    boxed = boxed && v[i] >= op->box.origin[i] && v[i] < op->box.origin[i] + op->box.size[i];
                switch (op->kind) {
                case CRD_PAINT_STROKE:
                    in = in_stroke(op, edges, v);
                    break;
                case CRD_PAINT_POLYGON:
                    in = in_polygon(op, v);
                    break;
                case CRD_PAINT_FILL:
                case CRD_PAINT_BETWEEN:
                    in = covered[at_index(v)] == 1;
                    break;
                case CRD_PAINT_ACCEPT: {
                    const int64_t grey = (int64_t)grey_at(v[0], v[1], v[2]);
                    value = (uint8_t)(grey / 40);
                    in = grey >= 20 && (!op->limited || (double)grey < op->below);
                    break;
                }
                default:
                    break;
                }
                if (in && boxed && op->over[*label] && in_range(op, v)) *label = value;
            }
        }
    }
    return true;
}

/* ---- the tests ---- */

typedef struct opened {
    crd_project *project;
    crd_labels *labels;
} opened;

static crd_status open_at(const char *name, const double spacing[3], opened *out)
{
    crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U8, .scale = 1.0};
    memcpy(info.spacing, spacing, sizeof info.spacing);
    remove_tree(label_path(name));
    CRD_PASS(crd_project_open(label_path(name), false, &out->project));
    return crd_labels_open(out->project, &info, 1 << 22, NULL, &out->labels);
}

static void test_random_operations(void)
{
    static uint8_t wanted[VOXELS], now[VOXELS];
    int kinds[CRD_PAINT_KINDS] = {0};
    for (size_t s = 0; s < sizeof spacings / sizeof spacings[0]; s += (size_t)sparse(2, "spacings")) {
        opened it = {NULL, NULL};
        int64_t edges[3];
        crd_shape_edges(spacings[s], edges);
        CHECK_OK(open_at("random", spacings[s], &it));
        memset(wanted, 255, sizeof wanted);
        for (int i = 0; i < 120; i++) {
            char words[2048];
            crd_operation op;
            crd_label_change change = {.places = NULL};
            random_words(shape, words);
            if (read_operation(words, shape, &op) != CRD_OK) {
                crd_operation_free(&op);
                continue;
            }
            const bool possible = reference(&op, edges, wanted);
            const crd_status status = crd_labels_do(it.labels, &op, -1, &label_sources, &change);
            if ((status == CRD_OK) != possible)
                CHECK_FAILED("%s: %s", words, status == CRD_OK ? "done" : crd_last_error()->message);
            CHECK_OK(read_all(it.labels, shape, now));
            for (int v = 0; v < VOXELS; v++) {
                if (now[v] != wanted[v])
                    CHECK_FAILED("spacing %zu, %s: voxel %d, %d, %d is %d, not %d", s, words, v / (Y * X), v / X % Y,
                                 v % X, now[v], wanted[v]);
            }
            if (change.voxels > 0) kinds[op.kind]++;
            crd_label_change_free(&change);
            crd_operation_free(&op);
        }
        crd_labels_close(&it.labels);
        crd_project_close(&it.project);
    }
    for (int k = 0; k < CRD_PAINT_KINDS; k++) {
        if (kinds[k] < 5) CHECK_FAILED("only %d of %s", kinds[k], crd_paint_names[k]);
    }
}

/* Squared distances against all pairs, on random masks of any density, with unequal edges. */
static void test_distances(void)
{
    for (int round = 0; round < 60; round++) {
        const int64_t rows = 1 + any(24), columns = 1 + any(30), density = 1 + any(40), row_edge = 64 + any(100),
                      column_edge = 64 + any(100);
        static uint8_t mask[24 * 30];
        static int64_t squares[24 * 30];
        bool some = false;
        for (int64_t i = 0; i < rows * columns; i++) {
            mask[i] = any(density) == 0;
            some = some || mask[i];
        }
        CHECK_OK(crd_between_distances(mask, 1, rows, columns, row_edge, column_edge, squares));
        for (int64_t i = 0; some && i < rows * columns; i++) {
            int64_t best = INT64_MAX;
            for (int64_t k = 0; k < rows * columns; k++) {
                const int64_t y = (i / columns - k / columns) * row_edge, x = (i % columns - k % columns) * column_edge;
                if (mask[k] && y * y + x * x < best) best = y * y + x * x;
            }
            if (squares[i] != best)
                CHECK_FAILED("round %d: %lld, not %lld", round, (long long)squares[i], (long long)best);
        }
    }
}

/* A brush is round in the scan's unit: half as many voxels along an axis whose edges are twice as long. */
static void test_physical_size(void)
{
    static const double spacing[3] = {2.0, 1.0, 1.0};
    opened it = {NULL, NULL};
    crd_operation op;
    crd_label_change change;
    CHECK_OK(open_at("round", spacing, &it));
    CHECK_OK(read_operation("{\"do\":\"stroke\",\"axis\":1,\"slice\":30,\"points\":[84,324],\"radius\":64,\"value\":1}",
                            shape, &op));
    CHECK_OK(crd_labels_do(it.labels, &op, -1, &label_sources, &change));
    CHECK(change.high[2] - change.low[2] == 17 && change.high[0] - change.low[0] == 9 &&
          change.high[1] - change.low[1] == 1);
    crd_label_change_free(&change);
    crd_operation_free(&op);
    crd_labels_close(&it.labels);
    crd_project_close(&it.project);
}

static void test_refusals(void)
{
    static const struct {
        const char *words, *sentence;
    } bad[] = {
        {"[]", "do must be"},
        {"{\"do\":\"stroke\",\"axis\":0,\"slice\":21,\"points\":[1,1],\"radius\":5,\"value\":1}", "slice isn't"},
        {"{\"do\":\"stroke\",\"axis\":0,\"slice\":1,\"points\":[1],\"radius\":5,\"value\":1}", "pairs of whole"},
        {"{\"do\":\"stroke\",\"axis\":0,\"slice\":1,\"points\":[1,1e300],\"radius\":5,\"value\":1}", "eighths"},
        {"{\"do\":\"stroke\",\"axis\":0,\"slice\":1,\"points\":[1,1],\"radius\":5,\"value\":16}", "value must be"},
        {"{\"do\":\"polygon\",\"axis\":0,\"slice\":1,\"points\":[1,1,2,2],\"value\":1}", "enough"},
        {"{\"do\":\"between\",\"axis\":0,\"slice\":1,\"to\":2,\"value\":1}", "none between"},
        {"{\"do\":\"clear\"}", "box is missing"},
        {"{\"do\":\"clear\",\"box\":\"0:1,0:1,0:84\"}", "inside the scan"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        crd_operation op;
        CHECK_FAILS(read_operation(bad[i].words, shape, &op), CRD_ERR_ARGUMENT, bad[i].sentence);
        crd_operation_free(&op);
    }
}

TEST_MAIN(TEST(test_random_operations), TEST(test_distances), TEST(test_physical_size), TEST(test_refusals))
