/* Chords along y and z: lengths of a phase's runs, for up to 64 realisations at once. Only what changes from a voxel to
 * the next is touched. (Chords along x come with the components, which look at runs along x anyway.) */
#ifndef CRD_MEASURE_CHORDS_H
#define CRD_MEASURE_CHORDS_H

#include "measure/counts/components.h"

typedef struct crd_chords {
    const crd_field *field;
    uint64_t mine;                /* realisations that are counted here */
    uint16_t *begun;              /* [y][x][realisation]: the slice in which the open chord along z begins */
    uint64_t *cut;                /* [y][x]: open chords that began at the window's edge */
    crd_chord_counts *chord[2];   /* along z and y, of each realisation */
    struct crd_chord_room *rooms; /* one a thread */
    int threads;
} crd_chords;

int64_t crd_chords_bytes(const crd_frame *window, int bits, int threads);
crd_status crd_chords_begin(crd_chords *c, const crd_field *field, int threads);
void crd_chords_end(crd_chords *c);
/* Slices from `first` to before `end` are new in the ring, and the one before them is still there. */
void crd_chords_slices(crd_chords *c, crd_pool *pool, int64_t first, int64_t end);

#endif
