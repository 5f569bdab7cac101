/* Chords along an axis, from one row of voxels to the next: what ends there, and what begins. */
#ifndef CRD_MEASURE_CHORD_STEP_H
#define CRD_MEASURE_CHORD_STEP_H

#include <stdint.h>

/* From row `before` to row `here`, which is number `at` along the axis. Behind the last (`at` = length of the axis)
 * `here` is NULL. Masks are NULL where all voxels count. */
typedef struct crd_chord_step {
    const uint64_t *before, *here;
    const uint8_t *counted_before, *counted;
    int64_t at, length, width;
    int bits;
    uint64_t mine;   /* realisations that are looked at */
    uint16_t *begun; /* [x][realisation]: where the open chord begins */
    uint64_t *cut;   /* [x]: open chords that began at the window's edge */
    uint32_t *whole; /* [realisation][length] */
    int64_t *cuts;   /* [realisation] */
} crd_chord_step;

typedef void crd_chord_loop(const crd_chord_step *step);

/* The textbook's; one for processors that have crd_cpu_has_bit_matrices(); the one that is the fastest here. */
void crd_chord_plain(const crd_chord_step *step);
void crd_chord_vectors(const crd_chord_step *step);
crd_chord_loop *crd_chord_fastest(void);

#endif
