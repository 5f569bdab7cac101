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

    const struct crd_cell_rooms *rooms;
} crd_cells;

/* What threads count in until a call has ended; all cells of a pass share it. `blocks`: the most that any has. */
typedef struct crd_cell_rooms {
    struct crd_cell_room *rooms; /* one a thread */
    int threads;
} crd_cell_rooms;
int64_t crd_cell_rooms_bytes(const int64_t blocks[3], int threads);
crd_status crd_cell_rooms_make(crd_cell_rooms *rooms, const int64_t blocks[3], int threads);
void crd_cell_rooms_free(crd_cell_rooms *rooms);

/* Bytes that it takes. */
int64_t crd_cells_bytes(const int64_t blocks[3]);
crd_status crd_cells_begin(crd_cells *cells, const crd_field *field, int own, const int64_t blocks[3],
                           const crd_cell_rooms *rooms);
void crd_cells_end(crd_cells *cells);

/* Slices from `first` to before `end` are new in the ring, and the one before them is still there. */
void crd_cells_slices(crd_cells *cells, crd_pool *pool, int64_t first, int64_t end);

/* One row of cells: `rows` are the four rows of voxels of (z, y), (z, y + 1), (z + 1, y), (z + 1, y + 1). Words up to
 * eight behind the last voxel may be looked at. */
typedef struct crd_cell_row {
    const uint64_t *rows[4];
    int64_t count;
    uint64_t used;
    int bit;
} crd_cell_row;

/* What crd_cells_batched (cells_batched.c) has counted and not yet put where it belongs. */
enum { CRD_CELL_KEYS = 2048 };
typedef struct crd_cell_batch {
    uint8_t unlike[CRD_CELL_CODES][64] __attribute__((aligned(64))); /* realisations that have not the usual code */
    uint8_t cells[CRD_CELL_CODES];                                   /* with that usual code */
    uint16_t own[64 * CRD_CELL_CODES];                               /* codes of those realisations, by key */
    uint16_t keys[CRD_CELL_KEYS];                                    /* of which some wait here */
    int64_t key_count, cell_count;
} crd_cell_batch;

typedef struct crd_cell_tally {
    crd_cell_batch batch;
    uint32_t counts[64][CRD_CELL_CODES]; /* modulo 2^32 until the tally is settled; of unused realisations anything */
} crd_cell_tally;

/* Counts a row, in all instruction sets. `same` counts cells that are 0 or 255 for all realisations, which aren't in
 * the tally; `own`, where it isn't NULL, is the histogram of bit `bit`, without those. */
typedef void crd_cells_loop(const crd_cell_row *row, crd_cell_tally *tally, int64_t same[2], uint32_t *own);
extern crd_cells_loop *const crd_cells_loops[];

/* A faster one that some processors have, for a tally that is settled in the end. */
bool crd_cells_can_batch(void);
void crd_cells_batched(const crd_cell_row *row, crd_cell_tally *tally, int64_t same[2], uint32_t *own);
void crd_cells_settle(crd_cell_tally *tally);

#endif
