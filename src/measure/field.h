/* A few slices of one phase, as bits of up to 64 realisations a word: what the passes over a volume look at.
 *
 * Slices lie in a ring, with a border of zeros around each and a slice of zeros before the first and behind the last,
 * so that neighbours can be asked for everywhere. */
#ifndef CRD_MEASURE_FIELD_H
#define CRD_MEASURE_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The box, and which of its voxels count. All fields of a pass share it. */
typedef struct crd_frame {
    int64_t shape[3];
    int64_t row, slice; /* words from a row to the next, from a slice to the next */
    int64_t depth;      /* slices that the rings hold */
    uint8_t *inside;    /* a ring of bytes: 1 where a voxel counts; NULL: all do */
    uint8_t *none;      /* a slice that doesn't count, where some don't */
} crd_frame;

typedef struct crd_field {
    const crd_frame *window;
    int bits;      /* realisations */
    uint64_t used; /* their bits */
    uint64_t *ring, *nothing;
} crd_field;

/* Bytes of a field's ring; of a window's. */
int64_t crd_frame_bytes(const crd_frame *window, bool masked);
int64_t crd_field_bytes(const crd_frame *window);
/* shape and depth are set. */
crd_status crd_frame_make(crd_frame *window, bool masked);
void crd_frame_free(crd_frame *window);
crd_status crd_field_make(crd_field *field, const crd_frame *window, int bits);
void crd_field_free(crd_field *field);

/* Puts slice z, without borders, into its place of the ring. */
void crd_frame_put(crd_frame *window, int64_t z, const uint8_t *inside);

/* Voxel (z, y, 0); y from -1 to height, z from -1 to depth, and x from -1 to width may be looked at. */
static inline const uint64_t *crd_field_row(const crd_field *f, int64_t z, int64_t y)
{
    const crd_frame *w = f->window;
    const uint64_t *slice = z < 0 || z >= w->shape[0] ? f->nothing : f->ring + z % w->depth * w->slice;
    return slice + (y + 1) * w->row + 1;
}

/* The same to be written, of slices that the ring has room for. */
static inline uint64_t *crd_field_place(crd_field *f, int64_t z, int64_t y)
{
    const crd_frame *w = f->window;
    return f->ring + z % w->depth * w->slice + (y + 1) * w->row + 1;
}

static inline const uint8_t *crd_frame_row(const crd_frame *w, int64_t z, int64_t y)
{
    const uint8_t *slice = z < 0 || z >= w->shape[0] ? w->none : w->inside + z % w->depth * w->slice;
    return slice + (y + 1) * w->row + 1;
}

#endif
