/* Inside src/measure: rows of a grid of conductances, and what is computed on them, in all instruction sets. */
#ifndef CRD_MEASURE_TRANSPORT_GRID_ROWS_H
#define CRD_MEASURE_TRANSPORT_GRID_ROWS_H

#include <stdbool.h>

#include "measure/transport/multigrid.h"

/* Conductances of the cells of a row: to the neighbours before and behind along z and y, behind along x (which has one
 * before its first), to faces with a value; and 1 / their sum, or 0. */
typedef struct crd_grid_row {
    const float *before[2], *behind[2], *x, *own, *inverse;
} crd_grid_row;

/* Floats of room that a row takes. */
int64_t crd_grid_room(int64_t width);
/* The row of a grid; that of the finest is worked out in `room`, with inverses only where they are asked for. */
crd_grid_row crd_grid_row_at(const crd_grid *g, int64_t z, int64_t y, bool inverse, float *room);

/* What a row of the finest grid conducts to the faces that have a value. */
void crd_grid_fill_own(const crd_grid *g, int64_t z, int64_t y, float *own);

/* Cells x[0] to x[n - 1] with their neighbours `row` and `slice` away. */
typedef struct crd_grid_cells {
    int64_t count, row, slice;
} crd_grid_cells;

typedef struct crd_grid_loops {
    /* out = A x */
    void (*apply)(const crd_grid_row *row, const crd_grid_cells *cells, const float *x, float *out);
    /* Every second cell, from `first` on, takes the value that its neighbours and `b` give it. */
    void (*sweep)(const crd_grid_row *row, const crd_grid_cells *cells, const float *b, int first, float *x);
    /* The same where all cells are 0 before. */
    void (*begin)(const crd_grid_row *row, int64_t count, const float *b, int first, float *x);
    double (*dot)(const float *a, const float *b, int64_t count);
} crd_grid_loops;
const crd_grid_loops *crd_grid_fastest(void);
extern const crd_grid_loops crd_grid_paths[];

#endif
