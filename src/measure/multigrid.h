/* Inside src/measure: a grid of conductances, and one multigrid cycle over its coarser ones, which are aggregates of
 * 2x2x2 cells. Differences come first everywhere: a diagonal rounded in float would be a sink in every cell. */
#ifndef CRD_MEASURE_MULTIGRID_H
#define CRD_MEASURE_MULTIGRID_H

#include "base/error.h"
#include "base/parallel.h"

enum { CRD_GRID_LEVELS = 16 };

/* Arrays have a border of zeros around them. */
typedef struct crd_grid {
    int64_t shape[3];
    int64_t row, slice, count; /* distances of rows and slices; of all cells with the border */
    float *to[3];              /* conductance to the next cell along z, y, x */
    float *own;                /* to the faces that have a value */
    float *inverse;            /* of the sum of all conductances of a cell; 0: it isn't one */
    float *x, *b, *r;          /* correction, right side, residual: of the cycle */
} crd_grid;

typedef struct crd_multigrid {
    crd_grid grids[CRD_GRID_LEVELS];
    int levels;
    crd_pool *pool;
} crd_multigrid;

static inline int64_t crd_grid_at(const crd_grid *g, int64_t z, int64_t y, int64_t x)
{
    return (z + 1) * g->slice + (y + 1) * g->row + x + 1;
}

int64_t crd_multigrid_bytes(const int64_t shape[3]);
/* The finest grid, with `to` and `own` to be filled in; then the others. */
crd_status crd_multigrid_begin(crd_multigrid *m, const int64_t shape[3], crd_pool *pool);
crd_status crd_multigrid_coarsen(crd_multigrid *m);
void crd_multigrid_end(crd_multigrid *m);

/* z = the cycle's answer to r, both of the finest grid's layout. */
void crd_multigrid_cycle(crd_multigrid *m, const float *r, float *z);
/* y = A x */
void crd_grid_apply(const crd_grid *g, crd_pool *pool, const float *x, float *y);

#endif
