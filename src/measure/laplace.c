#include "measure/laplace.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "measure/multigrid.h"

enum { MOST_ITERATIONS = 300, LAST = 3 };

int64_t crd_laplace_bytes(const int64_t shape[3])
{
    const int64_t cells = (shape[0] + 2) * (shape[1] + 2) * (shape[2] + 2);
    return crd_multigrid_bytes(shape) + 5 * cells * (int64_t)sizeof(float) + shape[0] * shape[1] * shape[2] / 4;
}

/* ---- what joins the two faces ---- */

typedef struct flood {
    const crd_bitmap *bitmap;
    uint64_t *reached;
} flood;

/* Spreads along the rows of a slice and to its neighbours until nothing changes: bits of `reached` within `allowed`. */
static bool spread_row(const uint64_t *allowed, uint64_t *row, const uint64_t *const near[4], int64_t words)
{
    bool changed = false;
    for (int64_t w = 0; w < words; w++) {
        uint64_t bits = row[w];
        for (int k = 0; k < 4; k++) bits |= near[k] != NULL ? near[k][w] : 0;
        if (w > 0) bits |= row[w - 1] >> 63;
        if (w + 1 < words) bits |= row[w + 1] << 63;
        bits &= allowed[w];
        for (uint64_t more = bits; (more = (bits << 1 | bits >> 1 | bits) & allowed[w]) != bits;) bits = more;
        changed |= bits != row[w];
        row[w] = bits;
    }
    return changed;
}

static bool sweep_flood(const flood *f, const uint64_t *allowed, bool forward)
{
    const int64_t *shape = f->bitmap->shape, words = f->bitmap->words, rows = shape[0] * shape[1];
    bool changed = false;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = forward ? i : rows - 1 - i, z = at / shape[1], y = at % shape[1];
        uint64_t *row = f->reached + at * words;
        const uint64_t *const near[4] = {y > 0 ? row - words : NULL, y + 1 < shape[1] ? row + words : NULL,
                                         z > 0 ? row - shape[1] * words : NULL,
                                         z + 1 < shape[0] ? row + shape[1] * words : NULL};
        while (spread_row(allowed + at * words, row, near, words)) changed = true;
    }
    return changed;
}

/* Marks the voxels of a face of `allowed`, and all that they are joined to. */
static void flood_from(const flood *f, const uint64_t *allowed, int axis, bool last)
{
    const int64_t *shape = f->bitmap->shape, words = f->bitmap->words;
    const int64_t place = last ? shape[axis] - 1 : 0;
    memset(f->reached, 0, (size_t)(shape[0] * shape[1] * words) * sizeof *f->reached);
    for (int64_t row = 0; row < shape[0] * shape[1]; row++) {
        const int64_t at[2] = {row / shape[1], row % shape[1]};
        if (axis < 2 && at[axis] != place) continue;
        for (int64_t w = 0; w < words; w++) {
            const uint64_t face = axis < 2 ? ~UINT64_C(0) : w == place / 64 ? UINT64_C(1) << place % 64 : 0;
            f->reached[row * words + w] = allowed[row * words + w] & face;
        }
    }
    while (sweep_flood(f, allowed, true) | sweep_flood(f, allowed, false)) {
    }
}

/* *out: the voxels of components that touch both faces; free with crd_free. */
static crd_status find_joining(const crd_bitmap *b, int axis, uint64_t **out, int64_t *count)
{
    crd_status status = CRD_OK;
    const int64_t words = b->shape[0] * b->shape[1] * b->words;
    flood first = {.bitmap = b}, both = {.bitmap = b};
    *count = 0;
    CRD_TRY(crd_alloc(words, sizeof *first.reached, "components", &first.reached));
    CRD_TRY(crd_alloc(words, sizeof *both.reached, "components", &both.reached));
    flood_from(&first, b->phase, axis, false);
    flood_from(&both, first.reached, axis, true);
    for (int64_t i = 0; i < words; i++) *count += __builtin_popcountll(both.reached[i]);
    *out = both.reached;
    both.reached = NULL;
done:
    crd_free(&first.reached);
    crd_free(&both.reached);
    return status;
}

/* ---- the system ---- */

typedef struct solver {
    crd_multigrid m;
    const crd_bitmap *bitmap;
    const uint64_t *cells;
    int axis;
    float conductance[3]; /* of a face normal to z, y, x */
    float *c, *r, *z, *p, *ap;
    double *sums; /* of slices: added up in order, whoever computed them */
    const float *a, *b;
    float alpha, beta;
} solver;

static bool is_cell(const solver *s, int64_t z, int64_t y, int64_t x)
{
    const int64_t *shape = s->bitmap->shape;
    if (z >= shape[0] || y >= shape[1] || x >= shape[2]) return false;
    return crd_bit(crd_bitmap_row(s->bitmap, s->cells, z, y), x);
}

static void fill_slice(void *context, int64_t z, int worker)
{
    const solver *s = context;
    const crd_grid *g = &s->m.grids[0];
    const int64_t *shape = g->shape, length = shape[s->axis];
    (void)worker;
    for (int64_t y = 0; y < shape[1]; y++) {
        for (int64_t x = 0; x < shape[2]; x++) {
            const int64_t i = crd_grid_at(g, z, y, x), along = s->axis == 0 ? z : s->axis == 1 ? y : x;
            if (!is_cell(s, z, y, x)) continue;
            if (is_cell(s, z + 1, y, x)) g->to[0][i] = s->conductance[0];
            if (is_cell(s, z, y + 1, x)) g->to[1][i] = s->conductance[1];
            if (is_cell(s, z, y, x + 1)) g->to[2][i] = s->conductance[2];
            const float face = 2.0f * s->conductance[s->axis];
            g->own[i] = (along == 0 ? face : 0.0f) + (along == length - 1 ? face : 0.0f);
            s->c[i] = (float)(1.0 - ((double)along + 0.5) / (double)length);
            s->r[i] = along == 0 ? face : 0.0f;
        }
    }
}

static void dot_slice(void *context, int64_t z, int worker)
{
    const solver *s = context;
    const crd_grid *g = &s->m.grids[0];
    double sum = 0.0;
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const int64_t o = crd_grid_at(g, z, y, 0);
        float row = 0.0f;
        for (int64_t i = o; i < o + g->shape[2]; i++) row += s->a[i] * s->b[i];
        sum += (double)row;
    }
    s->sums[z] = sum;
}

static double add_up(const solver *s)
{
    double sum = 0.0;
    for (int64_t z = 0; z < s->bitmap->shape[0]; z++) sum += s->sums[z];
    return sum;
}

static double dot(solver *s, const float *a, const float *b)
{
    s->a = a;
    s->b = b;
    crd_pool_run(s->m.pool, s->bitmap->shape[0], dot_slice, s);
    return add_up(s);
}

/* Conductance x difference^2 of all faces, those with a value included. */
static void dissipation_slice(void *context, int64_t z, int worker)
{
    const solver *s = context;
    const crd_grid *g = &s->m.grids[0];
    const double face = 2.0 * (double)s->conductance[s->axis];
    double sum = 0.0;
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        for (int64_t x = 0; x < g->shape[2]; x++) {
            const int64_t i = crd_grid_at(g, z, y, x), steps[3] = {g->slice, g->row, 1};
            const int64_t along = s->axis == 0 ? z : s->axis == 1 ? y : x;
            const double here = (double)s->c[i];
            if (g->inverse[i] == 0.0f) continue;
            for (int axis = 0; axis < 3; axis++) {
                const double d = here - (double)s->c[i + steps[axis]];
                sum += (double)g->to[axis][i] * d * d;
            }
            if (along == 0) sum += face * (1.0 - here) * (1.0 - here);
            if (along == g->shape[s->axis] - 1) sum += face * here * here;
        }
    }
    s->sums[z] = sum;
}

static double dissipation(solver *s)
{
    crd_pool_run(s->m.pool, s->bitmap->shape[0], dissipation_slice, s);
    return add_up(s);
}

typedef void row_loop(const solver *s, int64_t first, int64_t end);

static void residual_row(const solver *s, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) s->r[i] -= s->ap[i];
}

static void direction_row(const solver *s, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) s->p[i] = s->z[i] + s->beta * s->p[i];
}

static void step_row(const solver *s, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        s->c[i] += s->alpha * s->p[i];
        s->r[i] -= s->alpha * s->ap[i];
    }
}

typedef struct row_task {
    const solver *s;
    row_loop *loop;
} row_task;

static void row_slice(void *context, int64_t z, int worker)
{
    const row_task *t = context;
    const crd_grid *g = &t->s->m.grids[0];
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const int64_t o = crd_grid_at(g, z, y, 0);
        t->loop(t->s, o, o + g->shape[2]);
    }
}

static void all_rows(const solver *s, row_loop *loop)
{
    row_task t = {s, loop};
    crd_pool_run(s->m.pool, s->bitmap->shape[0], row_slice, &t);
}

/* Conjugate gradients. The dissipation falls by alpha r.z in every iteration, and never below its limit. */
static void iterate(solver *s, double scale, double tolerance, crd_transport *out)
{
    const crd_grid *g = &s->m.grids[0];
    double rz = 0.0, fallen[LAST] = {0};
    double relative = dissipation(s) * scale;
    crd_grid_apply(g, s->m.pool, s->c, s->ap);
    all_rows(s, residual_row);
    for (out->iterations = 0; out->iterations < MOST_ITERATIONS && !out->converged;) {
        crd_multigrid_cycle(&s->m, s->r, s->z);
        const double before = rz;
        rz = dot(s, s->r, s->z);
        s->beta = out->iterations > 0 && before > 0.0 ? (float)(rz / before) : 0.0f;
        all_rows(s, direction_row);
        crd_grid_apply(g, s->m.pool, s->p, s->ap);
        const double curvature = dot(s, s->p, s->ap);
        if (!(rz > 0.0) || !(curvature > 0.0)) { /* nothing is left to improve */
            out->converged = true;
            break;
        }
        s->alpha = (float)(rz / curvature);
        all_rows(s, step_row);
        fallen[out->iterations++ % LAST] = rz / curvature * rz * scale;
        relative -= rz / curvature * rz * scale;
        out->error = (fallen[0] + fallen[1] + fallen[2]) / relative;
        out->converged = out->iterations >= LAST && out->error < tolerance;
    }
    out->relative = dissipation(s) * scale;
}

crd_status crd_laplace_solve(const crd_bitmap *bitmap, const double spacing[3], int axis, double tolerance,
                             crd_pool *pool, crd_transport *out)
{
    crd_status status = CRD_OK;
    uint64_t *cells = NULL;
    solver s = {.bitmap = bitmap, .axis = axis};
    const double volume = spacing[0] * spacing[1] * spacing[2], edge = spacing[axis];
    *out = (crd_transport){.converged = true};
    CRD_TRY(find_joining(bitmap, axis, &cells, &out->percolating));
    if (out->percolating == 0) goto done;
    out->converged = false;
    s.cells = cells;
    /* lengths in edges along the axis, so that conductances are about 1 */
    for (int k = 0; k < 3; k++)
        s.conductance[k] = (float)(volume / (spacing[k] * spacing[k]) / (volume / (edge * edge)));
    CRD_TRY(crd_multigrid_begin(&s.m, bitmap->shape, pool));
    float **const arrays[] = {&s.c, &s.r, &s.z, &s.p, &s.ap};
    for (int k = 0; k < 5; k++) CRD_TRY(crd_alloc(s.m.grids[0].count, sizeof(float), "concentrations", arrays[k]));
    CRD_TRY(crd_alloc(bitmap->shape[0], sizeof *s.sums, "sums", &s.sums));
    crd_pool_run(pool, bitmap->shape[0], fill_slice, &s);
    CRD_TRY(crd_multigrid_coarsen(&s.m));
    const double length = (double)bitmap->shape[axis];
    const double across = (double)(bitmap->shape[0] * bitmap->shape[1] * bitmap->shape[2]) / length;
    iterate(&s, length / across, tolerance, out);
done:
    crd_multigrid_end(&s.m);
    crd_free(&s.c);
    crd_free(&s.r);
    crd_free(&s.z);
    crd_free(&s.p);
    crd_free(&s.ap);
    crd_free(&s.sums);
    crd_free(&cells);
    return status;
}
