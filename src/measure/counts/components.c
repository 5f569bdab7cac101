#include "measure/counts/components.h"

#include <string.h>

#include "base/memory.h"

typedef struct run {
    int32_t begin, end; /* voxels begin to before end of a row */
    uint32_t label;
} run;

/* A slice's runs, row after row. */
typedef struct run_list {
    run *runs;
    int64_t room;
    int64_t *rows; /* where each row begins; one more for the end */
} run_list;

typedef struct component {
    uint32_t parent, fresh; /* fresh: its new number while numbers are given anew */
    uint8_t faces;
    int64_t voxels;
} component;

typedef struct crd_component_state {
    run_list before, here;
    component *components;
    int64_t count, room;
    crd_status status;
    crd_error error;
} crd_component_state;

/* ---- union-find ---- */

static uint32_t find(component *all, uint32_t label)
{
    while (all[label].parent != label) {
        all[label].parent = all[all[label].parent].parent;
        label = all[label].parent;
    }
    return label;
}

static uint32_t unite(component *all, uint32_t a, uint32_t b)
{
    a = find(all, a);
    b = find(all, b);
    if (a == b) return a;
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    all[high].parent = low;
    all[low].voxels += all[high].voxels;
    all[low].faces |= all[high].faces;
    return low;
}

/* Twice the room, with what was there. */
static crd_status grow(void *pointer, int64_t *room, size_t size, int64_t least)
{
    void *longer = NULL, *old;
    const int64_t wanted = *room * 2 > least ? *room * 2 : least;
    memcpy(&old, pointer, sizeof old);
    CRD_PASS(crd_alloc(wanted, size, "runs of voxels", &longer));
    if (*room > 0) memcpy(longer, old, (size_t)*room * size);
    crd_free(&old);
    memcpy(pointer, &longer, sizeof longer);
    *room = wanted;
    return CRD_OK;
}

static void count_component(const component *c, crd_component_counts *counts)
{
    counts->components++;
    counts->voxels += c->voxels;
    if (c->voxels > counts->largest) counts->largest = c->voxels;
    if (c->faces == 0) counts->closed += c->voxels;
    for (int axis = 0; axis < 3; axis++) {
        const int both = (CRD_FACE_LOW | CRD_FACE_HIGH) << 2 * axis;
        if ((c->faces & both) != both) continue;
        counts->percolating[axis] += c->voxels;
        counts->joining[axis]++;
    }
    counts->sizes[63 - __builtin_clzll((unsigned long long)c->voxels)]++;
}

/* Components that the last slice doesn't touch are finished: counts them, and numbers the others anew. */
static void settle(crd_component_state *s, int64_t height, crd_component_counts *counts)
{
    enum { NOT_MET = 0, FIRST = 1 };
    run_list *last = &s->before;
    uint32_t kept = 0;
    for (int64_t i = 0; i < s->count; i++) s->components[i].fresh = NOT_MET;
    for (int64_t r = 0; r < last->rows[height]; r++) {
        const uint32_t root = find(s->components, last->runs[r].label);
        if (s->components[root].fresh == NOT_MET) s->components[root].fresh = FIRST;
        last->runs[r].label = root;
    }
    for (int64_t i = 0; i < s->count; i++) {
        component *c = &s->components[i];
        if (c->parent == i && c->fresh == NOT_MET) count_component(c, counts);
        if (c->parent == i && c->fresh == FIRST) c->fresh = FIRST + kept++;
    }
    for (int64_t r = 0; r < last->rows[height]; r++) {
        last->runs[r].label = s->components[last->runs[r].label].fresh - FIRST;
    }
    for (int64_t i = 0; i < s->count; i++) { /* numbers only fall, so nothing is overwritten before it moved */
        const component c = s->components[i];
        if (c.parent != i || c.fresh == NOT_MET) continue;
        s->components[c.fresh - FIRST] = (component){.parent = c.fresh - FIRST, .faces = c.faces, .voxels = c.voxels};
    }
    s->count = kept;
}

/* ---- one slice ---- */

typedef struct slice {
    const crd_components *c;
    crd_component_state *s;
    int64_t z, index; /* in the window; in the call */
    int bit;
} slice;

static const uint64_t *row_bits(const slice *k, int64_t y)
{
    const crd_components *c = k->c;
    return c->rows + ((k->bit * c->most + k->index) * c->field->window->shape[1] + y) * c->words;
}

static const uint64_t *mask_bits(const slice *k, int64_t y)
{
    return k->c->mask + (k->index * k->c->field->window->shape[1] + y) * k->c->words;
}

static bool bit_at(const uint64_t *bits, int64_t x)
{
    return bits[x / 64] >> x % 64 & 1;
}

/* A chord has a voxel of the window at both ends that isn't of the phase. */
static void count_chord(const slice *k, int64_t y, int64_t begin, int64_t end)
{
    const int64_t width = k->c->field->window->shape[2];
    crd_chord_counts *chord = &k->c->chord[k->bit];
    bool whole = begin > 0 && end < width;
    if (whole && k->c->mask != NULL) {
        const uint64_t *mask = mask_bits(k, y);
        whole = bit_at(mask, begin - 1) && bit_at(mask, end);
    }
    if (whole) {
        chord->whole[end - begin]++;
    } else {
        chord->cut++;
    }
}

static crd_status add_run(slice *k, int64_t *count, int64_t y, int64_t begin, int64_t end)
{
    run_list *list = &k->s->here;
    if (*count == list->room) CRD_PASS(grow(&list->runs, &list->room, sizeof *list->runs, 1024));
    list->runs[*count] = (run){.begin = (int32_t)begin, .end = (int32_t)end};
    ++*count;
    if (k->c->chords) count_chord(k, y, begin, end);
    return CRD_OK;
}

static crd_status find_runs(slice *k, int64_t y, int64_t *count)
{
    const uint64_t *bits = row_bits(k, y);
    uint64_t carry = 0;
    int64_t begin = -1;
    for (int64_t w = 0; w < k->c->words; w++) {
        uint64_t edges = bits[w] ^ (bits[w] << 1 | carry);
        carry = bits[w] >> 63;
        for (; edges != 0; edges &= edges - 1) {
            const int64_t x = 64 * w + __builtin_ctzll(edges);
            if (begin >= 0) CRD_PASS(add_run(k, count, y, begin, x));
            begin = begin < 0 ? x : -1;
        }
    }
    return begin >= 0 ? add_run(k, count, y, begin, k->c->field->window->shape[2]) : CRD_OK;
}

static const uint32_t no_label = UINT32_MAX;

/* Joins a run to those of another row that it meets; `*from` is the first of them that may, for the runs behind it,
 * too. `reach` is 1 where corners join. */
static uint32_t meet(component *all, const run *r, uint32_t label, const run_list *list, int64_t *from, int64_t end,
                     int32_t reach)
{
    while (*from < end && list->runs[*from].end + reach <= r->begin) ++*from;
    for (int64_t i = *from; i < end && list->runs[i].begin < r->end + reach; i++) {
        label = label == no_label ? find(all, list->runs[i].label) : unite(all, label, list->runs[i].label);
    }
    return label;
}

/* Is a voxel of the run beside one that is in the box and doesn't count? */
static bool beside_edge(const uint64_t *mask, const run *r)
{
    for (int64_t x = r->begin; x < r->end; x++) {
        if (!bit_at(mask, x)) return true;
    }
    return false;
}

static uint8_t faces_of(const slice *k, int64_t y, const run *r)
{
    const int64_t *shape = k->c->field->window->shape;
    int faces = (k->z == 0 ? CRD_FACE_LOW : 0) | (k->z == shape[0] - 1 ? CRD_FACE_HIGH : 0) |
                (y == 0 ? CRD_FACE_LOW << 2 : 0) | (y == shape[1] - 1 ? CRD_FACE_HIGH << 2 : 0) |
                (r->begin == 0 ? CRD_FACE_LOW << 4 : 0) | (r->end == shape[2] ? CRD_FACE_HIGH << 4 : 0);
    if (k->c->mask != NULL) {
        const uint64_t *mask = mask_bits(k, y);
        if ((r->begin > 0 && !bit_at(mask, r->begin - 1)) || (r->end < shape[2] && !bit_at(mask, r->end)) ||
            (y > 0 && beside_edge(mask_bits(k, y - 1), r)) ||
            (y + 1 < shape[1] && beside_edge(mask_bits(k, y + 1), r)) ||
            (k->z > 0 && beside_edge(mask - shape[1] * k->c->words, r))) {
            faces |= CRD_EDGE;
        }
    }
    return (uint8_t)faces;
}

/* Rows of a slice are joined to the row before, and to the row or the rows of the slice before. */
static crd_status join_row(slice *k, int64_t y)
{
    crd_component_state *s = k->s;
    const int64_t height = k->c->field->window->shape[1];
    const bool corners = k->c->neighbours == 26;
    const run_list *lists[4] = {&s->here, &s->before, &s->before, &s->before};
    const int64_t rows[4] = {y - 1, y, corners ? y - 1 : -1, corners && y + 1 < height ? y + 1 : -1};
    int64_t from[4] = {0}, end[4] = {0};
    for (int i = 0; i < 4; i++) {
        if (rows[i] < 0 || (i > 0 && k->z == 0)) continue;
        from[i] = lists[i]->rows[rows[i]];
        end[i] = lists[i]->rows[rows[i] + 1];
    }
    for (int64_t i = s->here.rows[y]; i < s->here.rows[y + 1]; i++) {
        run *r = &s->here.runs[i];
        uint32_t label = no_label;
        for (int n = 0; n < 4; n++) label = meet(s->components, r, label, lists[n], &from[n], end[n], corners);
        if (label == no_label) {
            if (s->count == s->room) CRD_PASS(grow(&s->components, &s->room, sizeof *s->components, 1024));
            label = (uint32_t)s->count++;
            s->components[label] = (component){.parent = label};
        }
        r->label = label;
        s->components[label].voxels += r->end - r->begin;
        s->components[label].faces |= faces_of(k, y, r);
    }
    return CRD_OK;
}

/* The slice before touches the mask's edge where this one doesn't count. */
static void look_back(slice *k)
{
    run_list *before = &k->s->before;
    if (k->c->mask == NULL || k->z == 0) return;
    for (int64_t y = 0; y < k->c->field->window->shape[1]; y++) {
        for (int64_t i = before->rows[y]; i < before->rows[y + 1]; i++) {
            if (!beside_edge(mask_bits(k, y), &before->runs[i])) continue;
            k->s->components[find(k->s->components, before->runs[i].label)].faces |= CRD_EDGE;
        }
    }
}

static crd_status do_slice(slice *k)
{
    crd_component_state *s = k->s;
    const int64_t height = k->c->field->window->shape[1];
    int64_t count = 0;
    look_back(k);
    for (int64_t y = 0; y < height; y++) {
        s->here.rows[y] = count;
        CRD_PASS(find_runs(k, y, &count));
        s->here.rows[y + 1] = count;
        CRD_PASS(join_row(k, y));
    }
    const run_list spare = s->before;
    s->before = s->here;
    s->here = spare;
    if (s->count > 4096 + 4 * count) settle(s, height, &k->c->counts[k->bit]);
    return CRD_OK;
}

/* ---- bits of rows ---- */

/* 64 words of 64 bits: bit b of word x becomes bit x of word b. */
static void transpose(uint64_t a[64])
{
    uint64_t mask = UINT64_C(0x00000000ffffffff);
    for (int j = 32; j != 0; j >>= 1, mask ^= mask << j) {
        for (int k = 0; k < 64; k = ((k | j) + 1) & ~j) {
            const uint64_t t = ((a[k] >> j) ^ a[k | j]) & mask;
            a[k] ^= t << j;
            a[k | j] ^= t;
        }
    }
}

typedef struct task {
    crd_components *c;
    int64_t first, end;
} task;

static void turn_row(const crd_components *c, int64_t z, int64_t index, int64_t y)
{
    const crd_frame *w = c->field->window;
    const uint64_t *row = crd_field_row(c->field, z, y);
    for (int64_t k = 0; k < c->words; k++) {
        uint64_t block[64] = {0};
        const int64_t n = w->shape[2] - 64 * k < 64 ? w->shape[2] - 64 * k : 64;
        memcpy(block, row + 64 * k, (size_t)n * sizeof *block);
        transpose(block);
        for (int b = 0; b < c->field->bits; b++) {
            c->rows[((b * c->most + index) * w->shape[1] + y) * c->words + k] = block[b];
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
    crd_component_state *s = &t->c->states[item];
    (void)worker;
    if ((t->c->mine >> item & 1) == 0) return;
    for (int64_t z = t->first; z < t->end && s->status == CRD_OK; z++) {
        slice k = {.c = t->c, .s = s, .z = z, .index = z - t->first, .bit = (int)item};
        s->status = do_slice(&k);
        if (s->status != CRD_OK) s->error = *crd_last_error();
    }
    const int64_t depth = t->c->field->window->shape[0];
    if (t->end < depth || s->status != CRD_OK) return;
    for (int64_t i = 0; i < s->count; i++) {
        if (s->components[i].parent == i) count_component(&s->components[i], &t->c->counts[item]);
    }
    s->count = 0;
}

/* ---- from outside ---- */

int64_t crd_components_bytes(const crd_frame *w, int bits, int64_t most)
{
    const int64_t words = (w->shape[2] + 63) / 64;
    return (bits + (w->inside != NULL)) * (most + 1) * w->shape[1] * words * 8 +
           bits * (2 * (w->shape[1] + 1) * 8 + 3 * w->shape[2] * 8);
}

crd_status crd_components_begin(crd_components *c, const crd_field *field, int neighbours, bool chords, int64_t most)
{
    static const char what[] = "connected components";
    const int64_t *shape = field->window->shape;
    memset(c, 0, sizeof *c);
    *c =
        (crd_components){.field = field, .neighbours = neighbours, .chords = chords, .mine = field->used, .most = most};
    c->words = (shape[2] + 63) / 64;
    CRD_PASS(crd_alloc(field->bits * most * shape[1] * c->words, sizeof *c->rows, what, &c->rows));
    if (field->window->inside != NULL) {
        CRD_PASS(crd_alloc((most + 1) * shape[1] * c->words, sizeof *c->mask, what, &c->mask));
        c->mask += shape[1] * c->words; /* the last slice of the call before lies before the first */
    }
    CRD_PASS(crd_alloc(field->bits, sizeof *c->counts, what, &c->counts));
    CRD_PASS(crd_alloc(field->bits, sizeof *c->chord, what, &c->chord));
    CRD_PASS(crd_alloc(field->bits, sizeof *c->states, what, &c->states));
    for (int i = 0; i < field->bits; i++) {
        CRD_PASS(crd_alloc(shape[1] + 1, sizeof(int64_t), what, &c->states[i].before.rows));
        CRD_PASS(crd_alloc(shape[1] + 1, sizeof(int64_t), what, &c->states[i].here.rows));
        CRD_PASS(crd_alloc(shape[2] + 1, sizeof(int64_t), what, &c->chord[i].whole));
    }
    return CRD_OK;
}

void crd_components_end(crd_components *c)
{
    for (int i = 0; c->states != NULL && i < c->field->bits; i++) {
        crd_component_state *s = &c->states[i];
        crd_free(&s->before.runs);
        crd_free(&s->before.rows);
        crd_free(&s->here.runs);
        crd_free(&s->here.rows);
        crd_free(&s->components);
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
