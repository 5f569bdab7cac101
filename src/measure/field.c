#include "measure/field.h"

#include <string.h>

#include "base/memory.h"

enum { BORDER = 2, SPARE = 8 }; /* words on both sides of a row; behind the last one: vectors may reach there */

static void lay_out(crd_frame *w)
{
    w->row = w->shape[2] + BORDER;
    w->slice = (w->shape[1] + BORDER) * w->row;
}

int64_t crd_frame_bytes(const crd_frame *window, bool masked)
{
    crd_frame w = *window;
    lay_out(&w);
    return masked ? (w.depth + 1) * w.slice : 0;
}

int64_t crd_field_bytes(const crd_frame *window)
{
    crd_frame w = *window;
    lay_out(&w);
    return (w.depth + 1) * w.slice * (int64_t)sizeof(uint64_t);
}

crd_status crd_frame_make(crd_frame *w, bool masked)
{
    lay_out(w);
    if (!masked) return CRD_OK;
    CRD_PASS(crd_alloc(w->depth * w->slice + SPARE, 1, "slices of the mask", &w->inside));
    return crd_alloc(w->slice + SPARE, 1, "slices of the mask", &w->none);
}

void crd_frame_free(crd_frame *w)
{
    crd_free(&w->inside);
    crd_free(&w->none);
}

crd_status crd_field_make(crd_field *f, const crd_frame *window, int bits)
{
    f->window = window;
    f->bits = bits;
    f->used = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    CRD_PASS(crd_alloc(window->depth * window->slice + SPARE, sizeof *f->ring, "slices of the realisations", &f->ring));
    return crd_alloc(window->slice + SPARE, sizeof *f->nothing, "slices of the realisations", &f->nothing);
}

void crd_field_free(crd_field *f)
{
    crd_free(&f->ring);
    crd_free(&f->nothing);
}

void crd_frame_put(crd_frame *w, int64_t z, const uint8_t *inside)
{
    uint8_t *slice = w->inside + z % w->depth * w->slice;
    for (int64_t y = 0; y < w->shape[1]; y++) {
        memcpy(slice + (y + 1) * w->row + 1, inside + y * w->shape[2], (size_t)w->shape[2]);
    }
}
