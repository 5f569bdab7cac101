/* A map of a scan in cells of 8^3 voxels: from which a training of this loop has learnt, and which are held out. */
#ifndef CRD_VIEW_LOOP_CELLS_H
#define CRD_VIEW_LOOP_CELLS_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"

enum {
    CRD_CELL_EDGE = 8,
    CRD_CELL_LEARNT = 1,
    CRD_CELL_HELD = 2,
};

typedef struct crd_cells {
    int64_t shape[3], counts[3]; /* of the scan in voxels, and in cells */
    uint8_t *marks;              /* of each cell, x first: CRD_CELL_... together */
} crd_cells;

crd_status crd_cells_make(const int64_t shape[3], crd_cells *out);
void crd_cells_free(crd_cells *cells);
crd_status crd_cells_copy(const crd_cells *from, crd_cells *out);
/* From a .npy file; where there is none, all are free. One of another scan is refused. */
crd_status crd_cells_load(const char *path, crd_cells *cells);
crd_status crd_cells_store(const char *path, const crd_cells *cells);

/* All cells that the box touches. */
void crd_cells_mark(crd_cells *cells, const crd_box *box, int mark);
/* Has any cell that lies within `margin` cells of those that the box touches one of the marks? */
bool crd_cells_near(const crd_cells *cells, const crd_box *box, int64_t margin, int marks);

#endif
