/* Inside src/measure: a grid of conductances, and one multigrid cycle over its coarser ones, which are aggregates of
 * 2x2x2 cells. Differences come first everywhere: a diagonal rounded in float would be a sink in every cell.
 *
 * The finest grid has most of the cells, so it keeps no floats but those that are solved for: the conductance to a
 * neighbour is a number of voxel faces, in a byte, times that of one. Where phases conduct differently it has floats as
 * the others have. */
#ifndef CRD_MEASURE_TRANSPORT_MULTIGRID_H
#define CRD_MEASURE_TRANSPORT_MULTIGRID_H

#include <stdbool.h>

#include "backend/conduction.h"
#include "base/error.h"
#include "base/parallel.h"

/* Arrays have a border of zeros around them. */
typedef struct crd_grid {
    int64_t shape[3];
    int64_t row, slice, count; /* distances of rows and slices; of all cells with the border */

    /* the finest: */
    uint8_t *faces[3]; /* voxel faces to the next cell along z, y, x */
    float *ends[2]; /* voxel faces to the first and the last face normal to `axis`, which have a value: [y][x], [z][x]
                       or [z][y] of the cells there, each times what its voxel conducts */
    float unit[3];  /* the conductance of one voxel face; to a face with a value twice that */
    int axis;

    /* the others, and the finest where voxels conduct differently: */
    float *to[3];   /* conductance to the next cell */
    float *own;     /* to the faces that have a value */
    float *inverse; /* of the sum of all conductances of a cell; 0: it isn't one */
    float *x, *b;   /* correction, right side */
} crd_grid;

typedef struct crd_multigrid {
    crd_grid grids[CRD_CONDUCTION_LEVELS];
    int levels;
    crd_pool *pool;
    float **rooms; /* a few rows for each thread */
    double *sums;  /* of slices: added up in order, whoever computed them */
} crd_multigrid;

static inline int64_t crd_grid_at(const crd_grid *g, int64_t z, int64_t y, int64_t x)
{
    return (z + 1) * g->slice + (y + 1) * g->row + x + 1;
}

/* The place of a cell of an end in `ends`. */
static inline int64_t crd_grid_end_at(const crd_grid *g, int64_t z, int64_t y, int64_t x)
{
    return g->axis == 0 ? y * g->shape[2] + x : g->axis == 1 ? z * g->shape[2] + x : z * g->shape[1] + y;
}

/* Bytes of all grids, without the four arrays of the finest one's layout that a solver works with. */
int64_t crd_multigrid_bytes(const int64_t shape[3], bool floats);
/* Numbers of an array of the finest grid's layout. */
int64_t crd_multigrid_cells(const int64_t shape[3]);
/* The finest grid, with `faces` (or, with `floats`, `to`) and `ends` to be filled in; then the others. */
crd_status crd_multigrid_begin(crd_multigrid *m, const int64_t shape[3], const float unit[3], int axis, bool floats,
                               crd_pool *pool);
crd_status crd_multigrid_coarsen(crd_multigrid *m);
void crd_multigrid_end(crd_multigrid *m);

/* z = the cycle's answer to r, both of the finest grid's layout. */
void crd_multigrid_cycle(crd_multigrid *m, const float *r, float *z);

/* a . b; p . A p; and c += alpha p, r -= alpha A p. All of the finest grid. */
double crd_multigrid_dot(crd_multigrid *m, const float *a, const float *b);
double crd_multigrid_curvature(crd_multigrid *m, const float *p);
void crd_multigrid_step(crd_multigrid *m, float alpha, const float *p, float *c, float *r);
/* Conductance x difference^2 of all faces, with 1 and 0 on the two faces that have a value. */
double crd_multigrid_dissipation(crd_multigrid *m, const float *c);

#endif
