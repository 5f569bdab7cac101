/* Slices of several volumes of one shape, read ahead as floats: a window that moves along z.
 *
 * Each volume has a thread that reads it. The owner says up to where it needs slices, and which it needs no more. */
#ifndef CRD_SURFACE_SLICES_H
#define CRD_SURFACE_SLICES_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"
#include "run/realisations.h"

/* What a slice's floats are. All is borrowed, and belongs to the reading thread while the slices are open. */
typedef struct crd_slice_source {
    int64_t shape[3];
    /* A volume: */
    crd_volume *volume;
    double scale;  /* times the stored value; of a phase not used */
    bool is_phase; /* 1 where the stored value is `phase`, else 0 */
    double phase;
    /* or realisations: */
    crd_realisations *realisations;
    bool votes;          /* the share of them that has the phase; else 1 where one has it, and 0 */
    int64_t bit;         /* which one */
    int64_t phase_index; /* the phase's number, by its value among theirs */
} crd_slice_source;

enum { CRD_SLICE_SOURCES = 5 };

typedef struct crd_slices crd_slices;

/* Keeps `depth` slices of each of them, at least 1. */
crd_status crd_slices_open(const crd_slice_source *sources, int count, int64_t depth, crd_slices **out);
/* NULL is fine. */
void crd_slices_close(crd_slices **slices);
int64_t crd_slices_bytes(const int64_t shape[3], int count, int64_t depth);

/* Slices before `first` aren't needed any more; waits until all from there to before `end` are there. They are at most
 * `depth`, and neither number ever falls. */
crd_status crd_slices_move(crd_slices *slices, int64_t first, int64_t end);
/* Slice z of a source, y rows of x floats, where it is one of those. */
const float *crd_slices_at(const crd_slices *slices, int source, int64_t z);

#endif
