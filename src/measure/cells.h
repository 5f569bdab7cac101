/* Histograms of the codes of all cells of 2x2x2 voxels, for up to 64 realisations at once (measure/weights.h). */
#ifndef CRD_MEASURE_CELLS_H
#define CRD_MEASURE_CELLS_H

#include "base/parallel.h"
#include "measure/field.h"
#include "measure/weights.h"

/* Cells whose eight voxels count; those that stick out of the window by a layer, where what is outside isn't of the
 * phase. The blocks are those of one realisation alone, over the first kind. */
typedef struct crd_cells {
    const crd_field *field;
    int64_t (*inner)[CRD_CELL_CODES]; /* of each realisation */
    int64_t (*outer)[CRD_CELL_CODES];

    int own;                          /* the bit whose cells are counted block by block; -1: none */
    int64_t blocks[3];                /* how many there are along each axis; 0: none */
    int64_t (*block)[CRD_CELL_CODES]; /* in the order z, y, x */

    struct crd_cell_room *rooms; /* one a thread */
    int threads;
} crd_cells;

/* Bytes that it takes. */
int64_t crd_cells_bytes(const int64_t blocks[3], int threads);
crd_status crd_cells_begin(crd_cells *cells, const crd_field *field, int own, const int64_t blocks[3], int threads);
void crd_cells_end(crd_cells *cells);

/* Slices from `first` to before `end` are new in the ring, and the one before them is still there. */
void crd_cells_slices(crd_cells *cells, crd_pool *pool, int64_t first, int64_t end);

/* One row of cells, in all instruction sets: `rows` are the four rows of voxels of (z, y), (z, y + 1), (z + 1, y),
 * (z + 1, y + 1). `counts` has a histogram for each of 64 realisations; `same` counts cells that are 0 or 255 for all
 * of them, which aren't in `counts`; `own`, where it isn't NULL, is the histogram of bit `bit`, without those. */
typedef struct crd_cell_row {
    const uint64_t *rows[4];
    int64_t count;
    uint64_t used;
    int bit;
} crd_cell_row;
typedef void crd_cells_loop(const crd_cell_row *row, uint32_t (*counts)[CRD_CELL_CODES], int64_t same[2],
                            uint32_t *own);
extern crd_cells_loop *const crd_cells_loops[];

#endif
