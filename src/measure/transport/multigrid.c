#include "measure/transport/multigrid.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "measure/transport/grid_rows.h"

enum { SPARE = 16 };

static void lay_out(crd_grid *g, const int64_t shape[3])
{
    memcpy(g->shape, shape, sizeof g->shape);
    g->row = shape[2] + 2;
    g->slice = (shape[1] + 2) * g->row;
    g->count = (shape[0] + 2) * g->slice + SPARE;
}

int64_t crd_multigrid_cells(const int64_t shape[3])
{
    crd_grid g;
    lay_out(&g, shape);
    return g.count;
}

int64_t crd_multigrid_bytes(const int64_t shape[3], bool floats)
{
    int64_t bytes = 0, size[3] = {shape[0], shape[1], shape[2]};
    for (int level = 0; level < CRD_CONDUCTION_LEVELS; level++) {
        const int64_t numbers = level > 0 ? 7 : floats ? 5 : 0; /* nothing to correct on the finest */
        bytes += (numbers > 0 ? numbers * (int64_t)sizeof(float) : 3) * crd_multigrid_cells(size);
        if (size[0] * size[1] * size[2] <= CRD_CONDUCTION_FEW_CELLS) break;
        for (int axis = 0; axis < 3; axis++) size[axis] = (size[axis] + 1) / 2;
    }
    return bytes;
}

static crd_status make_grid(crd_grid *g, const int64_t shape[3])
{
    static const char what[] = "conductances";
    float **const arrays[] = {&g->to[0], &g->to[1], &g->to[2], &g->own, &g->inverse, &g->x, &g->b};
    lay_out(g, shape);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        CRD_PASS(crd_alloc(g->count, sizeof(float), what, arrays[i]));
    }
    return CRD_OK;
}

crd_status crd_multigrid_begin(crd_multigrid *m, const int64_t shape[3], const float unit[3], int axis, bool floats,
                               crd_pool *pool)
{
    static const char what[] = "conductances";
    const int threads = crd_pool_threads(pool);
    crd_grid *g = &m->grids[0];
    memset(m, 0, sizeof *m);
    m->pool = pool;
    m->levels = 1;
    lay_out(g, shape);
    memcpy(g->unit, unit, sizeof g->unit);
    g->axis = axis;
    for (int a = 0; a < 3 && !floats; a++) CRD_PASS(crd_alloc(g->count, 1, what, &g->faces[a]));
    for (int a = 0; a < 3 && floats; a++) CRD_PASS(crd_alloc(g->count, sizeof(float), what, &g->to[a]));
    if (floats) {
        CRD_PASS(crd_alloc(g->count, sizeof(float), what, &g->own));
        CRD_PASS(crd_alloc(g->count, sizeof(float), what, &g->inverse));
    }
    for (int side = 0; side < 2; side++) {
        CRD_PASS(crd_alloc(shape[0] * shape[1] * shape[2] / shape[axis], sizeof(float), what, &g->ends[side]));
    }
    CRD_PASS(crd_alloc(threads, sizeof *m->rooms, what, &m->rooms));
    for (int t = 0; t < threads; t++) {
        /* a row of conductances, and what comes out of it */
        CRD_PASS(crd_alloc(crd_grid_room(shape[2]) + shape[2], sizeof(float), what, &m->rooms[t]));
    }
    return crd_alloc(shape[0], sizeof *m->sums, what, &m->sums);
}

void crd_multigrid_end(crd_multigrid *m)
{
    for (int level = 0; level < m->levels; level++) {
        crd_grid *g = &m->grids[level];
        for (int axis = 0; axis < 3; axis++) {
            crd_free(&g->to[axis]);
            crd_free(&g->faces[axis]);
        }
        for (int side = 0; side < 2; side++) crd_free(&g->ends[side]);
        crd_free(&g->own);
        crd_free(&g->inverse);
        crd_free(&g->x);
        crd_free(&g->b);
    }
    for (int t = 0; m->rooms != NULL && t < crd_pool_threads(m->pool); t++) crd_free(&m->rooms[t]);
    crd_free(&m->rooms);
    crd_free(&m->sums);
    m->levels = 0;
}

/* ---- tasks are slices ---- */

typedef struct task {
    crd_multigrid *m;
    const crd_grid *g, *coarse;
    const float *in, *right;
    float *out, *other;
    float alpha;
    int colour;
} task;

static crd_grid_cells cells_of(const crd_grid *g)
{
    return (crd_grid_cells){.count = g->shape[2], .row = g->row, .slice = g->slice};
}

static crd_grid_row row_of(const task *t, int64_t z, int64_t y, int worker)
{
    return crd_grid_row_at(t->g, z, y, false, t->m->rooms[worker]);
}

static crd_grid_row row_to_sweep(const task *t, int64_t z, int64_t y, int worker)
{
    return crd_grid_row_at(t->g, z, y, true, t->m->rooms[worker]);
}

/* Room for what is computed on a row. */
static float *result_of(const task *t, int worker)
{
    return t->m->rooms[worker] + crd_grid_room(t->m->grids[0].shape[2]);
}

static void run(const crd_grid *g, crd_pool *pool, crd_work *work, task *t)
{
    enum { SMALL = 1 << 14 };
    if (g->shape[0] * g->shape[1] * g->shape[2] > SMALL) {
        crd_pool_run(pool, g->shape[0], work, t);
    } else {
        for (int64_t z = 0; z < g->shape[0]; z++) work(t, z, 0);
    }
}

/* ---- coarser grids ---- */

/* Conductances of aggregates: sums of those across their common face. A slice of the coarse grid. */
static void coarsen_slice(void *context, int64_t item, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g, *c = t->coarse;
    for (int64_t z = 2 * item; z < 2 * item + 2 && z < g->shape[0]; z++) {
        for (int64_t y = 0; y < g->shape[1]; y++) {
            const crd_grid_row r = row_of(t, z, y, worker);
            const int64_t k = crd_grid_at(c, z / 2, y / 2, 0);
            for (int64_t x = 0; x < g->shape[2]; x++) {
                c->own[k + x / 2] += r.own[x];
                if (z % 2 == 1) c->to[0][k + x / 2] += r.behind[0][x];
                if (y % 2 == 1) c->to[1][k + x / 2] += r.behind[1][x];
                if (x % 2 == 1) c->to[2][k + x / 2] += r.x[x];
            }
        }
    }
}

static void invert_slice(void *context, int64_t z, int worker)
{
    const crd_grid *g = ((const task *)context)->g;
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const int64_t o = crd_grid_at(g, z, y, 0);
        for (int64_t i = o; i < o + g->shape[2]; i++) {
            const float sum = g->own[i] + g->to[0][i] + g->to[0][i - g->slice] + g->to[1][i] + g->to[1][i - g->row] +
                              g->to[2][i] + g->to[2][i - 1];
            g->inverse[i] = sum > 0.0f ? 1.0f / sum : 0.0f;
        }
    }
}

crd_status crd_multigrid_coarsen(crd_multigrid *m)
{
    for (;;) {
        crd_grid *g = &m->grids[m->levels - 1], *c = &m->grids[m->levels];
        task t = {.m = m, .g = g, .coarse = c};
        if (g->inverse != NULL) run(g, m->pool, invert_slice, &t);
        if (g->shape[0] * g->shape[1] * g->shape[2] <= CRD_CONDUCTION_FEW_CELLS || m->levels == CRD_CONDUCTION_LEVELS)
            return CRD_OK;
        const int64_t shape[3] = {(g->shape[0] + 1) / 2, (g->shape[1] + 1) / 2, (g->shape[2] + 1) / 2};
        m->levels++;
        CRD_PASS(make_grid(c, shape));
        run(c, m->pool, coarsen_slice, &t);
    }
}

/* ---- a cycle ---- */

/* Half a sweep: cells of one colour look at those of the other alone. */
static void sweep_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g;
    const crd_grid_cells cells = cells_of(g);
    const crd_grid_loops *loops = crd_grid_fastest();
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const crd_grid_row r = row_to_sweep(t, z, y, worker);
        const int64_t o = crd_grid_at(g, z, y, 0);
        loops->sweep(&r, &cells, t->right + o, (int)((z + y + t->colour) % 2), t->out + o);
    }
}

static void begin_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g;
    const crd_grid_loops *loops = crd_grid_fastest();
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const crd_grid_row r = row_to_sweep(t, z, y, worker);
        const int64_t o = crd_grid_at(g, z, y, 0);
        loops->begin(&r, g->shape[2], t->right + o, (int)((z + y + t->colour) % 2), t->out + o);
    }
}

/* A sweep of both colours, `first` before the other; from zero where there is nothing in x. */
static void sweep(crd_multigrid *m, const crd_grid *g, const float *b, float *x, int first, bool from_zero)
{
    for (int half = 0; half < 2; half++) {
        task t = {.m = m, .g = g, .right = b, .out = x, .colour = half == 0 ? first : 1 - first};
        run(g, m->pool, half == 0 && from_zero ? begin_slice : sweep_slice, &t);
    }
}

/* What is left of the right side, summed over aggregates. A slice of the coarse grid. */
static void restrict_slice(void *context, int64_t item, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g, *c = t->coarse;
    const crd_grid_cells cells = cells_of(g);
    const crd_grid_loops *loops = crd_grid_fastest();
    float *left = result_of(t, worker);
    for (int64_t y = 0; y < c->shape[1]; y++) {
        float *sums = c->b + crd_grid_at(c, item, y, 0);
        memset(sums, 0, (size_t)c->shape[2] * sizeof *sums);
        for (int64_t k = 0; k < 4; k++) {
            const int64_t there[2] = {2 * item + k / 2, 2 * y + k % 2};
            if (there[0] >= g->shape[0] || there[1] >= g->shape[1]) continue;
            const int64_t o = crd_grid_at(g, there[0], there[1], 0);
            const crd_grid_row r = row_of(t, there[0], there[1], worker);
            loops->apply(&r, &cells, t->in + o, left);
            for (int64_t x = 0; x < g->shape[2]; x++) left[x] = t->right[o + x] - left[x];
            for (int64_t x = 0; x < g->shape[2] / 2; x++) sums[x] += left[2 * x] + left[2 * x + 1];
            if (g->shape[2] % 2 == 1) sums[c->shape[2] - 1] += left[g->shape[2] - 1];
        }
    }
}

/* What isn't a cell gets something, too: no conductance leads there, so nobody looks at it. */
static void correct_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g, *c = t->coarse;
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        float *out = t->out + crd_grid_at(g, z, y, 0);
        const float *from = c->x + crd_grid_at(c, z / 2, y / 2, 0);
        for (int64_t x = 0; x < g->shape[2]; x++) out[x] += CRD_CONDUCTION_OVERCORRECTION * from[x / 2];
    }
}

static void cycle(crd_multigrid *m, int level, const float *b, float *x)
{
    const crd_grid *g = &m->grids[level];
    sweep(m, g, b, x, 0, true);
    if (level == m->levels - 1) {
        for (int i = 1; i < CRD_CONDUCTION_SWEEPS; i++) sweep(m, g, b, x, 0, false);
        for (int i = 0; i < CRD_CONDUCTION_SWEEPS; i++) sweep(m, g, b, x, 1, false);
        return;
    }
    const crd_grid *c = &m->grids[level + 1];
    for (int visit = 0; visit < (level == 0 ? 1 : 2); visit++) {
        task t = {.m = m, .g = g, .coarse = c, .in = x, .right = b, .out = x};
        run(c, m->pool, restrict_slice, &t);
        cycle(m, level + 1, c->b, c->x);
        run(g, m->pool, correct_slice, &t);
    }
    sweep(m, g, b, x, 1, false);
}

void crd_multigrid_cycle(crd_multigrid *m, const float *r, float *z)
{
    cycle(m, 0, r, z);
}

/* ---- on the finest grid ---- */

static double add_up(const crd_multigrid *m)
{
    double sum = 0.0;
    for (int64_t z = 0; z < m->grids[0].shape[0]; z++) sum += m->sums[z];
    return sum;
}

static void dot_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid_loops *loops = crd_grid_fastest();
    double sum = 0.0;
    (void)worker;
    for (int64_t y = 0; y < t->g->shape[1]; y++) {
        const int64_t o = crd_grid_at(t->g, z, y, 0);
        sum += loops->dot(t->in + o, t->right + o, t->g->shape[2]);
    }
    t->m->sums[z] = sum;
}

double crd_multigrid_dot(crd_multigrid *m, const float *a, const float *b)
{
    task t = {.m = m, .g = &m->grids[0], .in = a, .right = b};
    run(t.g, m->pool, dot_slice, &t);
    return add_up(m);
}

static void curvature_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid_cells cells = cells_of(t->g);
    const crd_grid_loops *loops = crd_grid_fastest();
    float *product = result_of(t, worker);
    double sum = 0.0;
    for (int64_t y = 0; y < t->g->shape[1]; y++) {
        const crd_grid_row r = row_of(t, z, y, worker);
        const int64_t o = crd_grid_at(t->g, z, y, 0);
        loops->apply(&r, &cells, t->in + o, product);
        sum += loops->dot(t->in + o, product, cells.count);
    }
    t->m->sums[z] = sum;
}

double crd_multigrid_curvature(crd_multigrid *m, const float *p)
{
    task t = {.m = m, .g = &m->grids[0], .in = p};
    run(t.g, m->pool, curvature_slice, &t);
    return add_up(m);
}

static void step_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid_cells cells = cells_of(t->g);
    const crd_grid_loops *loops = crd_grid_fastest();
    float *product = result_of(t, worker);
    for (int64_t y = 0; y < t->g->shape[1]; y++) {
        const crd_grid_row row = row_of(t, z, y, worker);
        const int64_t o = crd_grid_at(t->g, z, y, 0);
        const float *p = t->in + o;
        float *c = t->out + o, *r = t->other + o;
        loops->apply(&row, &cells, p, product);
        for (int64_t x = 0; x < cells.count; x++) {
            c[x] += t->alpha * p[x];
            r[x] -= t->alpha * product[x];
        }
    }
}

void crd_multigrid_step(crd_multigrid *m, float alpha, const float *p, float *c, float *r)
{
    task t = {.m = m, .g = &m->grids[0], .in = p, .out = c, .other = r, .alpha = alpha};
    run(t.g, m->pool, step_slice, &t);
}

static void dissipation_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g;
    const int64_t steps[2] = {g->slice, g->row}, last = g->shape[g->axis] - 1;
    double sum = 0.0;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const crd_grid_row r = row_of(t, z, y, worker);
        const float *c = t->in + crd_grid_at(g, z, y, 0);
        for (int64_t x = 0; x < g->shape[2]; x++) {
            const double here = (double)c[x];
            for (int axis = 0; axis < 3; axis++) {
                const double d = here - (double)(axis < 2 ? c[x + steps[axis]] : c[x + 1]);
                sum += (double)(axis < 2 ? r.behind[axis][x] : r.x[x]) * d * d;
            }
            const int64_t along = g->axis == 0 ? z : g->axis == 1 ? y : x;
            if (along != 0 && along != last) continue;
            const double unit = 2.0 * (double)g->unit[g->axis];
            const int64_t end = crd_grid_end_at(g, z, y, x);
            if (along == 0) sum += unit * (double)g->ends[0][end] * (1.0 - here) * (1.0 - here);
            if (along == last) sum += unit * (double)g->ends[1][end] * here * here;
        }
    }
    t->m->sums[z] = sum;
}

double crd_multigrid_dissipation(crd_multigrid *m, const float *c)
{
    task t = {.m = m, .g = &m->grids[0], .in = c};
    run(t.g, m->pool, dissipation_slice, &t);
    return add_up(m);
}
