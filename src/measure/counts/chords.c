#include "measure/counts/chords.h"

#include <string.h>

#include "base/memory.h"
#include "measure/counts/chord_step.h"

enum { BAND = 8 }; /* rows of a task along z */

typedef struct crd_chord_room {
    uint16_t *begun;    /* [x][realisation]: the row in which the open chord along y begins */
    uint64_t *cut;      /* [x] */
    uint32_t *whole[2]; /* [realisation][length] along z and y */
    int64_t *cuts[2];
} crd_chord_room;

int64_t crd_chords_bytes(const crd_frame *w, int bits, int threads)
{
    const int64_t *shape = w->shape, lengths = bits * (shape[0] + shape[1] + 2);
    return shape[1] * shape[2] * (2 * bits + 8) + lengths * 8 + threads * (shape[2] * (2 * bits + 8) + lengths * 4);
}

crd_status crd_chords_begin(crd_chords *c, const crd_field *field, int threads)
{
    static const char what[] = "lengths of chords";
    const int64_t *shape = field->window->shape;
    memset(c, 0, sizeof *c);
    c->field = field;
    c->mine = field->used;
    CRD_PASS(crd_alloc(shape[1] * shape[2] * field->bits, sizeof *c->begun, what, &c->begun));
    CRD_PASS(crd_alloc(shape[1] * shape[2], sizeof *c->cut, what, &c->cut));
    for (int axis = 0; axis < 2; axis++) {
        CRD_PASS(crd_alloc(field->bits, sizeof *c->chord[axis], what, &c->chord[axis]));
        for (int i = 0; i < field->bits; i++) {
            CRD_PASS(crd_alloc(shape[axis] + 1, sizeof(int64_t), what, &c->chord[axis][i].whole));
        }
    }
    CRD_PASS(crd_alloc(threads, sizeof *c->rooms, what, &c->rooms));
    c->threads = threads;
    for (int t = 0; t < threads; t++) {
        crd_chord_room *room = &c->rooms[t];
        CRD_PASS(crd_alloc(shape[2] * field->bits, sizeof *room->begun, what, &room->begun));
        CRD_PASS(crd_alloc(shape[2], sizeof *room->cut, what, &room->cut));
        for (int axis = 0; axis < 2; axis++) {
            CRD_PASS(crd_alloc(field->bits * (shape[axis] + 1), sizeof(uint32_t), what, &room->whole[axis]));
            CRD_PASS(crd_alloc(field->bits, sizeof(int64_t), what, &room->cuts[axis]));
        }
    }
    return CRD_OK;
}

void crd_chords_end(crd_chords *c)
{
    for (int axis = 0; axis < 2; axis++) {
        for (int i = 0; c->chord[axis] != NULL && i < c->field->bits; i++) crd_free(&c->chord[axis][i].whole);
        crd_free(&c->chord[axis]);
    }
    for (int t = 0; c->rooms != NULL && t < c->threads; t++) {
        crd_free(&c->rooms[t].begun);
        crd_free(&c->rooms[t].cut);
        for (int axis = 0; axis < 2; axis++) {
            crd_free(&c->rooms[t].whole[axis]);
            crd_free(&c->rooms[t].cuts[axis]);
        }
    }
    crd_free(&c->rooms);
    crd_free(&c->begun);
    crd_free(&c->cut);
}

typedef struct task {
    crd_chords *c;
    int64_t first, end;
} task;

static const uint8_t *counted(const crd_frame *w, int64_t z, int64_t y)
{
    return w->inside != NULL ? crd_frame_row(w, z, y) : NULL;
}

/* All chords along y of a slice. */
static void along_y(void *context, int64_t item, int worker)
{
    const task *t = context;
    const crd_field *f = t->c->field;
    const crd_frame *w = f->window;
    crd_chord_loop *take_step = crd_chord_fastest();
    crd_chord_room *room = &t->c->rooms[worker];
    const int64_t z = t->first + item;
    for (int64_t y = 0; y <= w->shape[1]; y++) {
        const bool last = y == w->shape[1];
        const crd_chord_step s = {.before = crd_field_row(f, z, y - 1),
                                  .here = last ? NULL : crd_field_row(f, z, y),
                                  .counted_before = counted(w, z, y - 1),
                                  .counted = counted(w, z, y),
                                  .at = y,
                                  .length = w->shape[1],
                                  .width = w->shape[2],
                                  .whole = room->whole[1],
                                  .cuts = room->cuts[1],
                                  .bits = f->bits,
                                  .mine = t->c->mine,
                                  .begun = room->begun,
                                  .cut = room->cut};
        take_step(&s);
    }
}

/* A band of rows goes on along z. */
static void along_z(void *context, int64_t item, int worker)
{
    const task *t = context;
    crd_chords *c = t->c;
    const crd_field *f = c->field;
    const crd_frame *w = f->window;
    crd_chord_loop *take_step = crd_chord_fastest();
    const int64_t y1 = (item + 1) * BAND < w->shape[1] ? (item + 1) * BAND : w->shape[1];
    const int64_t end = t->end == w->shape[0] ? t->end + 1 : t->end;
    for (int64_t z = t->first; z < end; z++) {
        for (int64_t y = item * BAND; y < y1; y++) {
            const crd_chord_step s = {.before = crd_field_row(f, z - 1, y),
                                      .here = z == w->shape[0] ? NULL : crd_field_row(f, z, y),
                                      .counted_before = counted(w, z - 1, y),
                                      .counted = counted(w, z, y),
                                      .at = z,
                                      .length = w->shape[0],
                                      .width = w->shape[2],
                                      .whole = c->rooms[worker].whole[0],
                                      .cuts = c->rooms[worker].cuts[0],
                                      .bits = f->bits,
                                      .mine = c->mine,
                                      .begun = c->begun + y * w->shape[2] * f->bits,
                                      .cut = c->cut + y * w->shape[2]};
            take_step(&s);
        }
    }
}

static void empty_room(crd_chords *c, crd_chord_room *room)
{
    for (int axis = 0; axis < 2; axis++) {
        const int64_t lengths = c->field->window->shape[axis] + 1;
        for (int b = 0; b < c->field->bits; b++) {
            for (int64_t l = 0; l < lengths; l++) c->chord[axis][b].whole[l] += room->whole[axis][b * lengths + l];
            c->chord[axis][b].cut += room->cuts[axis][b];
        }
        memset(room->whole[axis], 0, (size_t)(c->field->bits * lengths) * sizeof *room->whole[axis]);
        memset(room->cuts[axis], 0, (size_t)c->field->bits * sizeof *room->cuts[axis]);
    }
}

void crd_chords_slices(crd_chords *c, crd_pool *pool, int64_t first, int64_t end)
{
    task t = {.c = c, .first = first, .end = end};
    crd_pool_run(pool, end - first, along_y, &t);
    crd_pool_run(pool, (c->field->window->shape[1] + BAND - 1) / BAND, along_z, &t);
    for (int i = 0; i < c->threads; i++) empty_room(c, &c->rooms[i]);
}
