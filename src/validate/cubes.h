/* Cubes of any edge and stride: the plain way, where the fast loops of rows.h, which know edge 2 and stride 1 only,
 * don't apply. */
#ifndef CRD_VALIDATE_CUBES_H
#define CRD_VALIDATE_CUBES_H

#include "validate/sweep.h"

enum { CRD_EDGE_MAX = 32 };

typedef struct crd_cube_slices {
    const float *unc[CRD_EDGE_MAX]; /* `edge` slices of rows, `width` voxels each */
    const uint8_t *mark[CRD_EDGE_MAX];
    int64_t width;
} crd_cube_slices;

/* Room for one row of sums. */
typedef struct crd_cube_room {
    double *sum;
    int32_t *right, *counted;
} crd_cube_room;

/* The cubes whose first row is row y of the slices. */
void crd_cubes_row(const crd_sweep *sweep, const crd_cube_slices *slices, int64_t y, const crd_cube_room *room,
                   crd_tally *tally);

#endif
