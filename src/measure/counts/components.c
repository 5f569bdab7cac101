#include "measure/counts/components.h"

#include <string.h>

#include "base/memory.h"
#include "measure/counts/components_state.h"
#include "measure/counts/transpose.h"

/* ---- bits of rows ---- */

typedef struct task {
    crd_components *c;
    int64_t first, end;
} task;

static void turn_row(const crd_components *c, int64_t z, int64_t index, int64_t y)
{
    const crd_frame *w = c->field->window;
    const uint64_t *row = crd_field_row(c->field, z, y);
    crd_transpose *transpose = crd_transpose_fastest();
    for (int64_t k = 0; k < c->words; k++) {
        uint64_t rest[64] = {0}, block[64];
        const int64_t n = w->shape[2] - 64 * k < 64 ? w->shape[2] - 64 * k : 64;
        if (n < 64) memcpy(rest, row + 64 * k, (size_t)n * sizeof *rest);
        transpose(n < 64 ? rest : row + 64 * k, block);
        for (int b = 0; b < c->field->bits; b++) {
            c->rows[b * c->pitch + ((1 + index) * w->shape[1] + y) * c->words + k] = block[b];
        }
    }
    if (c->mask == NULL) return;
    const uint8_t *inside = crd_frame_row(w, z, y);
    uint64_t *mask = c->mask + (index * w->shape[1] + y) * c->words;
    memset(mask, 0, (size_t)c->words * sizeof *mask);
    for (int64_t x = 0; x < w->shape[2]; x++) mask[x / 64] |= (uint64_t)(inside[x] & 1) << x % 64;
}

static void turn_slice_rows(void *context, int64_t item, int worker)
{
    const task *t = context;
    const int64_t height = t->c->field->window->shape[1], z = t->first + item / height;
    (void)worker;
    turn_row(t->c, z, z - t->first, item % height);
}

static void do_realisation(void *context, int64_t item, int worker)
{
    const task *t = context;
    crd_components *c = t->c;
    (void)worker;
    if ((c->mine >> item & 1) == 0) return;
    crd_component_state *s = &c->states[item];
    for (int64_t z = t->first; z < t->end && s->status == CRD_OK; z++) {
        s->status = crd_components_slice(c, (int)item, z, z - t->first);
        if (s->status != CRD_OK) s->error = *crd_last_error();
    }
    const int64_t slice = c->field->window->shape[1] * c->words;
    uint64_t *rows = c->rows + item * c->pitch;
    memcpy(rows, rows + (t->end - t->first) * slice, (size_t)slice * sizeof *rows); /* for the next call */
    if (t->end == c->field->window->shape[0] && s->status == CRD_OK) crd_components_finish(c, (int)item);
}

/* ---- from outside ---- */

static int64_t edges_for(int64_t width)
{
    return width + 1 + CRD_RUNS_SPARE;
}

static int64_t touches_for(int64_t width)
{
    return width + width / 2 + 2 + CRD_RUNS_SPARE;
}

static int64_t scratch_bytes(int64_t width)
{
    return (edges_for(width) + 2 * touches_for(width)) * (int64_t)sizeof(uint16_t);
}

/* Words from a realisation's rows to the next one's. They are written side by side, so they mustn't be a power of two
 * apart, or a cache would put all of them into the same place. */
static int64_t pitch_for(const crd_frame *w, int64_t words, int64_t most)
{
    enum { LINE = 8 };
    return ((most + 1) * w->shape[1] * words + 2 * LINE - 1) / (2 * LINE) * (2 * LINE) + LINE;
}

int64_t crd_components_bytes(const crd_frame *w, int bits, int64_t most)
{
    const int64_t words = (w->shape[2] + 63) / 64;
    return bits * pitch_for(w, words, most) * 8 + (w->inside != NULL ? (most + 1) * w->shape[1] * words * 8 : 0) +
           bits * (2 * (w->shape[1] + 1) * 8 + words * 8 + 8 * w->shape[2] + scratch_bytes(w->shape[2]));
}

crd_status crd_components_begin(crd_components *c, const crd_field *field, int neighbours, bool joined, bool chords,
                                int64_t most)
{
    static const char what[] = "connected components";
    const int64_t *shape = field->window->shape;
    memset(c, 0, sizeof *c);
    *c = (crd_components){.field = field,
                          .neighbours = neighbours,
                          .joined = joined,
                          .chords = chords,
                          .mine = field->used,
                          .most = most,
                          .path = crd_runs_fastest()};
    c->words = (shape[2] + 63) / 64;
    c->pitch = pitch_for(field->window, c->words, most);
    CRD_PASS(crd_alloc(field->bits * c->pitch, sizeof *c->rows, what, &c->rows));
    if (field->window->inside != NULL) {
        CRD_PASS(crd_alloc((most + 1) * shape[1] * c->words, sizeof *c->mask, what, &c->mask));
        c->mask += shape[1] * c->words; /* the last slice of the call before lies before the first */
    }
    CRD_PASS(crd_alloc(field->bits, sizeof *c->counts, what, &c->counts));
    CRD_PASS(crd_alloc(field->bits, sizeof *c->chord, what, &c->chord));
    CRD_PASS(crd_alloc(field->bits, sizeof *c->states, what, &c->states));
    for (int i = 0; i < field->bits; i++) {
        crd_component_state *s = &c->states[i];
        CRD_PASS(crd_alloc(shape[1] + 1, sizeof(int64_t), what, &s->before.rows));
        CRD_PASS(crd_alloc(shape[1] + 1, sizeof(int64_t), what, &s->here.rows));
        CRD_PASS(crd_alloc(edges_for(shape[2]), sizeof *s->edges, what, &s->edges));
        for (int k = 0; k < 2; k++) {
            CRD_PASS(crd_alloc(touches_for(shape[2]), sizeof *s->touches[k], what, &s->touches[k]));
        }
        CRD_PASS(crd_alloc(c->words, sizeof *s->some, what, &s->some));
        CRD_PASS(crd_alloc(shape[2] + 1, sizeof(int64_t), what, &c->chord[i].whole));
    }
    return CRD_OK;
}

void crd_components_end(crd_components *c)
{
    for (int i = 0; c->states != NULL && i < c->field->bits; i++) {
        crd_component_state *s = &c->states[i];
        crd_free(&s->before.labels);
        crd_free(&s->before.rows);
        crd_free(&s->here.labels);
        crd_free(&s->here.rows);
        crd_free(&s->parents);
        crd_free(&s->fresh);
        crd_free(&s->voxels);
        crd_free(&s->faces);
        crd_free(&s->edges);
        for (int k = 0; k < 2; k++) crd_free(&s->touches[k]);
        crd_free(&s->some);
    }
    for (int i = 0; c->chord != NULL && i < c->field->bits; i++) crd_free(&c->chord[i].whole);
    if (c->mask != NULL) c->mask -= c->field->window->shape[1] * c->words;
    crd_free(&c->mask);
    crd_free(&c->rows);
    crd_free(&c->counts);
    crd_free(&c->chord);
    crd_free(&c->states);
}

crd_status crd_components_slices(crd_components *c, crd_pool *pool, int64_t first, int64_t end)
{
    const int64_t height = c->field->window->shape[1], rows = height * c->words;
    task t = {.c = c, .first = first, .end = end};
    crd_pool_run(pool, (end - first) * height, turn_slice_rows, &t);
    crd_pool_run(pool, c->field->bits, do_realisation, &t);
    if (c->mask != NULL) {
        memcpy(c->mask - rows, c->mask + (end - first - 1) * rows, (size_t)rows * sizeof *c->mask);
    }
    for (int i = 0; i < c->field->bits; i++) {
        if (c->states[i].status != CRD_OK) return crd_error_adopt(&c->states[i].error);
    }
    return CRD_OK;
}
