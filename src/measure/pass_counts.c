/* All that a first pass has counted, as one row of bytes. */
#include <string.h>

#include "base/memory.h"
#include "measure/pass.h"

typedef struct walk {
    uint8_t *bytes; /* NULL: they are only counted */
    int64_t count;
    bool into_pass;
} walk;

static void visit(walk *w, void *data, int64_t bytes)
{
    if (data == NULL) return;
    if (w->bytes != NULL && w->into_pass) memcpy(data, w->bytes + w->count, (size_t)bytes);
    if (w->bytes != NULL && !w->into_pass) memcpy(w->bytes + w->count, data, (size_t)bytes);
    w->count += bytes;
}

static void visit_cells(walk *w, crd_cells *c)
{
    visit(w, c->inner, 64 * (int64_t)sizeof *c->inner);
    visit(w, c->outer, 64 * (int64_t)sizeof *c->outer);
    visit(w, c->block, c->blocks[0] * c->blocks[1] * c->blocks[2] * (int64_t)sizeof *c->block);
}

static void visit_chords(walk *w, crd_chord_counts *chord, int bits, int64_t length)
{
    for (int i = 0; chord != NULL && i < bits; i++) {
        visit(w, chord[i].whole, (length + 1) * (int64_t)sizeof *chord[i].whole);
        visit(w, &chord[i].cut, sizeof chord[i].cut);
    }
}

static void visit_part(walk *w, crd_pass_part *part)
{
    const int64_t *shape = part->field.window->shape;
    const int bits = part->field.bits;
    crd_twopoint *pairs = &part->pairs;
    visit_cells(w, &part->cells);
    visit(w, pairs->pairs, 3 * pairs->lag_count * (int64_t)sizeof *pairs->pairs);
    visit(w, pairs->both, 3 * pairs->lag_count * (int64_t)sizeof *pairs->both);
    visit(w, pairs->ends, 3 * (int64_t)sizeof *pairs->ends);
    visit(w, part->components.counts, bits * (int64_t)sizeof *part->components.counts);
    visit_chords(w, part->components.chord, bits, shape[2]);
    for (int axis = 0; axis < 2; axis++) visit_chords(w, part->chords.chord[axis], bits, shape[axis]);
}

static void walk_all(walk *w, crd_pass *pass)
{
    visit(w, &pass->voxels, sizeof pass->voxels);
    for (int64_t i = 0; i < pass->part_count; i++) visit_part(w, &pass->parts[i]);
    for (int64_t i = 0; i < pass->set_count; i++) visit_cells(w, &pass->sets[i].cells);
}

int64_t crd_pass_counts_bytes(const crd_pass *pass)
{
    walk w = {0};
    walk_all(&w, (crd_pass *)pass);
    return w.count;
}

void crd_pass_counts_save(const crd_pass *pass, uint8_t *bytes)
{
    walk w = {.bytes = bytes};
    walk_all(&w, (crd_pass *)pass);
}

void crd_pass_counts_restore(crd_pass *pass, const uint8_t *bytes)
{
    walk w = {.bytes = (uint8_t *)bytes, .into_pass = true};
    walk_all(&w, pass);
}
