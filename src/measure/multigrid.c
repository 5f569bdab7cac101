#include "measure/multigrid.h"

#include <string.h>

#include "base/memory.h"

enum { FEW_CELLS = 400, COARSEST_SWEEPS = 40, SPARE = 16 };
static const float OVERCORRECTION = 1.8f;

static void lay_out(crd_grid *g, const int64_t shape[3])
{
    memcpy(g->shape, shape, sizeof g->shape);
    g->row = shape[2] + 2;
    g->slice = (shape[1] + 2) * g->row;
    g->count = (shape[0] + 2) * g->slice + SPARE;
}

int64_t crd_multigrid_bytes(const int64_t shape[3])
{
    int64_t bytes = 0, size[3] = {shape[0], shape[1], shape[2]};
    for (int level = 0; level < CRD_GRID_LEVELS; level++) {
        crd_grid g;
        lay_out(&g, size);
        bytes += 8 * g.count * (int64_t)sizeof(float);
        if (size[0] * size[1] * size[2] <= FEW_CELLS) break;
        for (int axis = 0; axis < 3; axis++) size[axis] = (size[axis] + 1) / 2;
    }
    return bytes;
}

static crd_status make_grid(crd_grid *g, const int64_t shape[3])
{
    static const char what[] = "conductances";
    float **const arrays[] = {&g->to[0], &g->to[1], &g->to[2], &g->own, &g->inverse, &g->x, &g->b, &g->r};
    lay_out(g, shape);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        CRD_PASS(crd_alloc(g->count, sizeof(float), what, arrays[i]));
    }
    return CRD_OK;
}

crd_status crd_multigrid_begin(crd_multigrid *m, const int64_t shape[3], crd_pool *pool)
{
    memset(m, 0, sizeof *m);
    m->pool = pool;
    m->levels = 1;
    return make_grid(&m->grids[0], shape);
}

void crd_multigrid_end(crd_multigrid *m)
{
    for (int level = 0; level < m->levels; level++) {
        crd_grid *g = &m->grids[level];
        for (int axis = 0; axis < 3; axis++) crd_free(&g->to[axis]);
        crd_free(&g->own);
        crd_free(&g->inverse);
        crd_free(&g->x);
        crd_free(&g->b);
        crd_free(&g->r);
    }
    m->levels = 0;
}

/* ---- tasks are slices ---- */

typedef struct task {
    const crd_grid *g, *coarse;
    const float *in, *right;
    float *out;
    int colour;
} task;

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

/* Conductances of aggregates: sums of those across their common face. A slice of the coarse grid. */
static void coarsen_slice(void *context, int64_t item, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g, *c = t->coarse;
    (void)worker;
    for (int64_t z = 2 * item; z < 2 * item + 2 && z < g->shape[0]; z++) {
        for (int64_t y = 0; y < g->shape[1]; y++) {
            for (int64_t x = 0; x < g->shape[2]; x++) {
                const int64_t i = crd_grid_at(g, z, y, x), k = crd_grid_at(c, z / 2, y / 2, x / 2);
                c->own[k] += g->own[i];
                if (z % 2 == 1) c->to[0][k] += g->to[0][i];
                if (y % 2 == 1) c->to[1][k] += g->to[1][i];
                if (x % 2 == 1) c->to[2][k] += g->to[2][i];
            }
        }
    }
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

crd_status crd_multigrid_coarsen(crd_multigrid *m)
{
    for (;;) {
        crd_grid *g = &m->grids[m->levels - 1], *c = &m->grids[m->levels];
        task t = {.g = g, .coarse = c};
        run(g, m->pool, invert_slice, &t);
        if (g->shape[0] * g->shape[1] * g->shape[2] <= FEW_CELLS || m->levels == CRD_GRID_LEVELS) return CRD_OK;
        const int64_t shape[3] = {(g->shape[0] + 1) / 2, (g->shape[1] + 1) / 2, (g->shape[2] + 1) / 2};
        m->levels++;
        CRD_PASS(make_grid(c, shape));
        run(c, m->pool, coarsen_slice, &t);
    }
}

static void apply_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g;
    const float *x = t->in;
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const int64_t o = crd_grid_at(g, z, y, 0);
        for (int64_t i = o; i < o + g->shape[2]; i++) {
            t->out[i] = g->own[i] * x[i] + g->to[2][i] * (x[i] - x[i + 1]) + g->to[2][i - 1] * (x[i] - x[i - 1]) +
                        g->to[1][i] * (x[i] - x[i + g->row]) + g->to[1][i - g->row] * (x[i] - x[i - g->row]) +
                        g->to[0][i] * (x[i] - x[i + g->slice]) + g->to[0][i - g->slice] * (x[i] - x[i - g->slice]);
        }
    }
}

void crd_grid_apply(const crd_grid *g, crd_pool *pool, const float *x, float *y)
{
    task t = {.g = g, .in = x, .out = y};
    run(g, pool, apply_slice, &t);
}

/* Half a sweep: cells of one colour look at those of the other alone. */
static void sweep_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g;
    float *x = t->out;
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const int64_t o = crd_grid_at(g, z, y, 0);
        for (int64_t i = o + (z + y + t->colour) % 2; i < o + g->shape[2]; i += 2) {
            x[i] = g->inverse[i] * (t->right[i] + g->to[2][i] * x[i + 1] + g->to[2][i - 1] * x[i - 1] +
                                    g->to[1][i] * x[i + g->row] + g->to[1][i - g->row] * x[i - g->row] +
                                    g->to[0][i] * x[i + g->slice] + g->to[0][i - g->slice] * x[i - g->slice]);
        }
    }
}

static void sweep(const crd_multigrid *m, const crd_grid *g, const float *b, float *x, int first)
{
    for (int half = 0; half < 2; half++) {
        task t = {.g = g, .right = b, .out = x, .colour = half == 0 ? first : 1 - first};
        run(g, m->pool, sweep_slice, &t);
    }
}

/* What is left of the right side, summed over aggregates. A slice of the coarse grid. */
static void restrict_slice(void *context, int64_t item, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g, *c = t->coarse;
    (void)worker;
    for (int64_t y = 0; y < c->shape[1]; y++) {
        for (int64_t x = 0; x < c->shape[2]; x++) {
            float sum = 0.0f;
            for (int64_t k = 0; k < 8; k++) { /* what is beyond the end is 0 there */
                const int64_t i = crd_grid_at(g, 2 * item + (k >> 2), 2 * y + (k >> 1 & 1), 2 * x + (k & 1));
                sum += t->right[i] - t->in[i];
            }
            c->b[crd_grid_at(c, item, y, x)] = sum;
        }
    }
}

static void correct_slice(void *context, int64_t z, int worker)
{
    const task *t = context;
    const crd_grid *g = t->g, *c = t->coarse;
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        const int64_t o = crd_grid_at(g, z, y, 0), k = crd_grid_at(c, z / 2, y / 2, 0);
        for (int64_t x = 0; x < g->shape[2]; x++) {
            t->out[o + x] += g->inverse[o + x] > 0.0f ? OVERCORRECTION * c->x[k + x / 2] : 0.0f;
        }
    }
}

static void clear(const crd_grid *g, float *x)
{
    memset(x, 0, (size_t)g->count * sizeof *x);
}

static void cycle(crd_multigrid *m, int level, const float *b, float *x)
{
    const crd_grid *g = &m->grids[level];
    clear(g, x);
    if (level == m->levels - 1) {
        for (int i = 0; i < COARSEST_SWEEPS; i++) sweep(m, g, b, x, 0);
        for (int i = 0; i < COARSEST_SWEEPS; i++) sweep(m, g, b, x, 1);
        return;
    }
    const crd_grid *c = &m->grids[level + 1];
    sweep(m, g, b, x, 0);
    for (int visit = 0; visit < (level == 0 ? 1 : 2); visit++) {
        crd_grid_apply(g, m->pool, x, g->r);
        task t = {.g = g, .coarse = c, .in = g->r, .right = b, .out = x};
        run(c, m->pool, restrict_slice, &t);
        cycle(m, level + 1, c->b, c->x);
        run(g, m->pool, correct_slice, &t);
    }
    sweep(m, g, b, x, 1);
}

void crd_multigrid_cycle(crd_multigrid *m, const float *r, float *z)
{
    cycle(m, 0, r, z);
}
