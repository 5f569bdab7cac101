#include "measure/transport/laplace.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "measure/transport/grid_rows.h"
#include "measure/transport/joining.h"
#include "measure/transport/multigrid.h"

enum { ARRAYS = 4 };

static void cells_along(const int64_t shape[3], int cell, int64_t out[3])
{
    for (int axis = 0; axis < 3; axis++) out[axis] = (shape[axis] + cell - 1) / cell;
}

int64_t crd_laplace_bytes(const int64_t shape[3], int cell, bool conductivity)
{
    int64_t cells[3];
    cells_along(shape, cell, cells);
    return crd_multigrid_bytes(cells, conductivity) + ARRAYS * crd_multigrid_cells(cells) * (int64_t)sizeof(float) +
           2 * shape[0] * shape[1] * ((shape[2] + 63) / 64) * 8;
}

typedef struct solver {
    const crd_laplace *problem;
    const uint64_t *voxels; /* that join the two faces */
    crd_multigrid m;
    float *c, *r, *z, *p;
    float beta;
    double *fluxes; /* [slice][layer] */
} solver;

static bool is_voxel(const solver *s, int64_t z, int64_t y, int64_t x)
{
    const crd_bitmap *b = s->problem->bitmap;
    if (z >= b->shape[0] || y >= b->shape[1] || x >= b->shape[2]) return false;
    return crd_bit(crd_bitmap_row(b, s->voxels, z, y), x);
}

/* What a voxel conducts. */
static double conducts(const solver *s, int64_t z, int64_t y, int64_t x)
{
    const crd_bitmap *b = s->problem->bitmap;
    if (s->problem->conductivity == NULL) return 1.0;
    return s->problem->conductivity[b->numbers[(z * b->shape[1] + y) * b->shape[2] + x]];
}

/* Adds a face between two voxels, here and one further along an axis, to what cell i conducts there: voxels in a row
 * conduct as their harmonic mean. */
static void add_face(const solver *s, int64_t z, int64_t y, int64_t x, int axis, int64_t i)
{
    const crd_grid *g = &s->m.grids[0];
    const int64_t next[3] = {z + (axis == 0), y + (axis == 1), x + (axis == 2)};
    if (!is_voxel(s, next[0], next[1], next[2])) return;
    if (s->problem->conductivity == NULL) {
        g->faces[axis][i]++;
        return;
    }
    const double a = conducts(s, z, y, x), b = conducts(s, next[0], next[1], next[2]);
    g->to[axis][i] += (float)((double)g->unit[axis] * 2.0 * a * b / (a + b));
}

/* Counts the voxel faces of a slice of cells, and begins with c falling evenly. */
static void fill_slice(void *context, int64_t item, int worker)
{
    const solver *s = context;
    const crd_grid *g = &s->m.grids[0];
    const int64_t *shape = s->problem->bitmap->shape, f = s->problem->cell, length = shape[g->axis];
    (void)worker;
    for (int64_t z = item * f; z < (item + 1) * f && z < shape[0]; z++) {
        for (int64_t y = 0; y < shape[1]; y++) {
            const uint64_t *row = crd_bitmap_row(s->problem->bitmap, s->voxels, z, y);
            for (int64_t x = 0; x < shape[2]; x++) {
                if (!crd_bit(row, x)) continue;
                const int64_t at[3] = {z, y, x}, i = crd_grid_at(g, z / f, y / f, x / f);
                const int64_t along = at[g->axis] / f * f, end = crd_grid_end_at(g, z / f, y / f, x / f);
                const bool whole = along + f <= length;
                for (int axis = 0; axis < 3; axis++) {
                    if (at[axis] % f != f - 1) continue; /* inside the cell */
                    add_face(s, z, y, x, axis, i);
                }
                if (at[g->axis] == 0) g->ends[0][end] += (float)conducts(s, z, y, x);
                if (at[g->axis] == length - 1) g->ends[1][end] += (float)conducts(s, z, y, x);
                s->c[i] = (float)(1.0 - ((double)along + 0.5 * (double)(whole ? f : 1)) / (double)length);
            }
        }
    }
}

/* ---- conjugate gradients ---- */

typedef void row_loop(const solver *s, int64_t first, int64_t end);

static void direction_row(const solver *s, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) s->p[i] = s->z[i] + s->beta * s->p[i];
}

/* The right side: what the face of value 1 gives. */
static void right_row(const solver *s, int64_t first, int64_t end)
{
    const crd_grid *g = &s->m.grids[0];
    const int64_t z = first / g->slice - 1, y = first % g->slice / g->row - 1;
    const float unit = 2.0f * g->unit[g->axis];
    for (int64_t i = first; i < end; i++) {
        const int64_t x = i - first, along = g->axis == 0 ? z : g->axis == 1 ? y : x;
        s->r[i] = along == 0 ? unit * g->ends[0][crd_grid_end_at(g, z, y, x)] : 0.0f;
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
    crd_pool_run(s->m.pool, s->m.grids[0].shape[0], row_slice, &t);
}

static crd_status iterate(solver *s, double scale, crd_conduction_result *out)
{
    double rz = 0.0;
    out->relative = crd_multigrid_dissipation(&s->m, s->c) * scale;
    all_rows(s, right_row);
    crd_multigrid_step(&s->m, 1.0f, s->c, s->z, s->r); /* r - A c; z is overwritten in the loop */
    while (crd_conduction_goes_on(out)) {
        CRD_PASS(crd_advance(s->problem->monitor, "transport", "realisations", 0, 0, ""));
        crd_multigrid_cycle(&s->m, s->r, s->z);
        const double before = rz;
        rz = crd_multigrid_dot(&s->m, s->r, s->z);
        s->beta = before > 0.0 ? (float)(rz / before) : 0.0f;
        all_rows(s, direction_row);
        const double curvature = crd_multigrid_curvature(&s->m, s->p);
        if (!crd_conduction_fall(out, rz, curvature, scale, s->problem->tolerance)) break;
        crd_multigrid_step(&s->m, (float)(rz / curvature), s->p, s->c, s->r);
    }
    out->relative = crd_multigrid_dissipation(&s->m, s->c) * scale;
    return CRD_OK;
}

/* ---- fluxes ---- */

static void flux_slice(void *context, int64_t z, int worker)
{
    const solver *s = context;
    const crd_grid *g = &s->m.grids[0];
    const int64_t steps[3] = {g->slice, g->row, 1};
    double *fluxes = s->fluxes + z * g->shape[g->axis];
    (void)worker;
    for (int64_t y = 0; y < g->shape[1]; y++) {
        for (int64_t x = 0; x < g->shape[2]; x++) {
            const int64_t i = crd_grid_at(g, z, y, x), along = g->axis == 0 ? z : g->axis == 1 ? y : x;
            const double faces = g->to[0] != NULL ? (double)g->to[g->axis][i] : (double)g->faces[g->axis][i];
            if (faces > 0.0) fluxes[along] += faces * ((double)s->c[i] - (double)s->c[i + steps[g->axis]]);
        }
    }
}

/* All layers let the same through; how far they are from that says how well the field is solved for. */
static crd_status compare_fluxes(solver *s, double *uneven)
{
    const crd_grid *g = &s->m.grids[0];
    const int64_t layers = g->shape[g->axis];
    double least = HUGE_VAL, most = 0.0, sum = 0.0;
    CRD_PASS(crd_alloc(g->shape[0] * layers, sizeof *s->fluxes, "fluxes", &s->fluxes));
    crd_pool_run(s->m.pool, g->shape[0], flux_slice, s);
    for (int64_t l = 0; l + 1 < layers; l++) {
        double flux = 0.0;
        for (int64_t z = 0; z < g->shape[0]; z++) flux += s->fluxes[z * layers + l];
        least = flux < least ? flux : least;
        most = flux > most ? flux : most;
        sum += flux;
    }
    *uneven = sum > 0.0 ? (most - least) * (double)(layers - 1) / sum : 0.0;
    crd_free(&s->fluxes);
    return CRD_OK;
}

/* ---- from outside ---- */

/* In edges along the axis, so that conductances are about 1; the way between the centres of two cells counts. */
static void find_units(const crd_laplace *problem, float unit[3])
{
    for (int k = 0; k < 3; k++) {
        const double ratio = problem->spacing[problem->axis] / problem->spacing[k];
        unit[k] = (float)(ratio * ratio / problem->cell);
    }
}

static crd_status prepare(solver *s, const int64_t shape[3])
{
    const crd_laplace *problem = s->problem;
    float unit[3];
    float **const arrays[ARRAYS] = {&s->c, &s->r, &s->z, &s->p};
    find_units(problem, unit);
    CRD_PASS(crd_multigrid_begin(&s->m, shape, unit, problem->axis, problem->conductivity != NULL, problem->pool));
    for (int k = 0; k < ARRAYS; k++) {
        CRD_PASS(crd_alloc(s->m.grids[0].count, sizeof(float), "concentrations", arrays[k]));
    }
    crd_pool_run(problem->pool, shape[0], fill_slice, s);
    const crd_grid *g = &s->m.grids[0];
    for (int64_t z = 0; z < shape[0] && g->own != NULL; z++) {
        for (int64_t y = 0; y < shape[1]; y++) crd_grid_fill_own(g, z, y, g->own + crd_grid_at(g, z, y, 0));
    }
    return crd_multigrid_coarsen(&s->m);
}

static crd_status solve_here(const crd_laplace *problem, const int64_t shape[3], const uint64_t *voxels, double scale,
                             crd_conduction_result *out)
{
    crd_status status = CRD_OK;
    solver s = {.problem = problem, .voxels = voxels};
    CRD_TRY(prepare(&s, shape));
    CRD_TRY(iterate(&s, scale, out));
    CRD_TRY(compare_fluxes(&s, &out->uneven));
done:
    crd_multigrid_end(&s.m);
    crd_free(&s.c);
    crd_free(&s.r);
    crd_free(&s.z);
    crd_free(&s.p);
    crd_free(&s.fluxes);
    return status;
}

static crd_status solve_on_device(const crd_laplace *problem, const uint64_t *voxels, double scale,
                                  crd_conduction_result *out)
{
    const crd_bitmap *b = problem->bitmap;
    const bool several = problem->conductivity != NULL;
    crd_conduction_plan plan = {.shape = {b->shape[0], b->shape[1], b->shape[2]},
                                .words = b->words,
                                .voxels = voxels,
                                .numbers = several ? b->numbers : NULL,
                                .conductivity = problem->conductivity,
                                .conductivities = several ? CRD_PHASES_MAX : 0,
                                .axis = problem->axis,
                                .cell = problem->cell,
                                .tolerance = problem->tolerance,
                                .scale = scale};
    find_units(problem, plan.unit);
    return problem->backend->transport_solve(problem->device, &plan, problem->monitor, out);
}

crd_status crd_laplace_solve(const crd_laplace *problem, crd_conduction *out)
{
    crd_status status = CRD_OK;
    uint64_t *voxels = NULL;
    crd_conduction_result found = {0};
    const int64_t *whole = problem->bitmap->shape;
    int64_t shape[3];
    *out = (crd_conduction){.converged = true};
    CRD_TRY(crd_joining_find(problem->bitmap, problem->axis, problem->pool, &voxels, &out->percolating));
    if (out->percolating == 0) goto done;
    if (problem->conductivity == NULL && crd_joining_straight(problem->bitmap, voxels, problem->axis)) {
        /* c falls evenly, and nothing is left to solve for: their share of the window, to the last bit */
        out->relative = (double)out->percolating / (double)(whole[0] * whole[1] * whole[2]);
        goto done;
    }
    cells_along(whole, problem->cell, shape);
    const double length = (double)whole[problem->axis];
    const double across = (double)(whole[0] * whole[1] * whole[2]) / length, scale = length / across;
    if (problem->backend != NULL && crd_conduction_suits_device(shape)) {
        CRD_TRY(solve_on_device(problem, voxels, scale, &found));
    } else {
        CRD_TRY(solve_here(problem, shape, voxels, scale, &found));
    }
    out->relative = found.relative;
    out->error = found.error;
    out->uneven = found.uneven;
    out->iterations = found.iterations;
    out->converged = found.converged;
done:
    crd_free(&voxels);
    return status;
}
