/* One phase of one realisation, or several as one, a bit a voxel: what thickness and transport work on. */
#ifndef CRD_MEASURE_BITMAP_H
#define CRD_MEASURE_BITMAP_H

#include "run/realisations.h"

typedef struct crd_bitmap {
    int64_t shape[3];
    int64_t words;    /* of 64 voxels in a row */
    uint64_t *phase;  /* [z][y][word] */
    uint64_t *inside; /* the same of the window; NULL: all voxels count */
    int64_t voxels;   /* of the phase */
    uint8_t *numbers; /* [z][y][x]: the phases' numbers; NULL: nobody asked for them */
} crd_bitmap;

int64_t crd_bitmap_bytes(const crd_realisations_info *info);
/* Reads phases (bit p: number p) of a realisation, by its bit, with the numbers where they are wanted. */
crd_status crd_bitmap_read(crd_realisations *realisations, unsigned phases, bool numbers, int64_t bit, crd_bitmap *out);
void crd_bitmap_free(crd_bitmap *bitmap);

/* Bytes of one bit for every voxel, row by row. */
int64_t crd_bitmap_row_bytes(const int64_t shape[3]);
/* A box of a bitmap, all of which counts. */
crd_status crd_bitmap_crop(const crd_bitmap *bitmap, const crd_box *box, crd_bitmap *out);
/* A box around the middle of the window in which all voxels count: the largest with its proportions, and then as far as
 * it goes along z, y and x. Size 0: none. */
crd_box crd_bitmap_centred_box(const crd_bitmap *bitmap);

static inline const uint64_t *crd_bitmap_row(const crd_bitmap *b, const uint64_t *bits, int64_t z, int64_t y)
{
    return bits + (z * b->shape[1] + y) * b->words;
}

static inline bool crd_bit(const uint64_t *row, int64_t x)
{
    return row[x / 64] >> x % 64 & 1;
}

#endif
