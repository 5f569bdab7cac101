/* Connected components of a phase, and its chords along x, realisation by realisation, one slice after the other: runs
 * of voxels and union-find, with what can't grow any more counted and forgotten. */
#ifndef CRD_MEASURE_COMPONENTS_H
#define CRD_MEASURE_COMPONENTS_H

#include "base/parallel.h"
#include "measure/counts/runs.h"
#include "measure/field.h"

enum { CRD_SIZE_BINS = 48 }; /* components of 2^k to below 2^(k + 1) voxels */

/* Faces of the window that a component touches; CRD_EDGE: the mask's edge. */
enum { CRD_FACE_LOW = 1, CRD_FACE_HIGH = 2, CRD_EDGE = 64 }; /* of axis a: << 2 a */

/* Of one realisation. */
typedef struct crd_component_counts {
    int64_t voxels, components, largest;
    int64_t percolating[3]; /* voxels of components that touch both end faces along z, y, x, */
    int64_t joining[3];     /* and how many there are */
    int64_t closed;         /* voxels of those that touch no face */
    int64_t sizes[CRD_SIZE_BINS];
} crd_component_counts;

/* Chords along an axis, of one realisation. */
typedef struct crd_chord_counts {
    int64_t *whole; /* by their length, 0 to the axis's */
    int64_t cut;    /* that reach the window's edge */
} crd_chord_counts;

typedef struct crd_components {
    const crd_field *field;
    int neighbours; /* 6 or 26 */
    bool joined;    /* components are wanted, not only chords */
    bool chords;
    uint64_t mine; /* realisations that are counted here; another process counts the others */
    int64_t words; /* of 64 voxels in a row */
    int64_t pitch; /* words from a realisation's rows to the next one's */
    int64_t most;  /* slices of a call */
    const crd_runs_path *path;
    uint64_t *rows; /* [realisation][slice][y]: the rows' bits, one a voxel; from the slice before on */
    uint64_t *mask; /* [slice][y] of the window, where some voxels don't count */
    struct crd_component_state *states; /* one a realisation */
    crd_component_counts *counts;
    crd_chord_counts *chord;
} crd_components;

/* Bytes, as far as they are known beforehand: runs come on top. */
int64_t crd_components_bytes(const crd_frame *window, int bits, int64_t most);
crd_status crd_components_begin(crd_components *c, const crd_field *field, int neighbours, bool joined, bool chords,
                                int64_t most);
void crd_components_end(crd_components *c);
/* Slices from `first` to before `end`, at most `most`, are new in the ring. */
crd_status crd_components_slices(crd_components *c, crd_pool *pool, int64_t first, int64_t end);

#endif
