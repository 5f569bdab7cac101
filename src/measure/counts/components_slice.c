/* One slice of one realisation after the other: runs, what they touch, and what is known of their components. */
#include <string.h>

#include "base/memory.h"
#include "measure/counts/components_state.h"

/* ---- union-find ---- */

static inline uint32_t find(uint32_t *parents, uint32_t label)
{
    while (parents[label] != label) {
        parents[label] = parents[parents[label]];
        label = parents[label];
    }
    return label;
}

static uint32_t unite(uint32_t *parents, uint32_t a, uint32_t b)
{
    a = find(parents, a);
    b = find(parents, b);
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    parents[high] = low;
    return low;
}

/* `count` entries longer, at least, with what was there. */
static crd_status lengthen(void *pointer, int64_t room, size_t size, int64_t wanted)
{
    void *longer = NULL, *old;
    memcpy(&old, pointer, sizeof old);
    CRD_PASS(crd_alloc(wanted, size, "runs of voxels", &longer));
    if (room > 0) memcpy(longer, old, (size_t)room * size);
    crd_free(&old);
    memcpy(pointer, &longer, sizeof longer);
    return CRD_OK;
}

static int64_t more_room(int64_t room, int64_t needed)
{
    const int64_t twice = 2 * room > 1024 ? 2 * room : 1024;
    return twice > needed ? twice : needed;
}

/* Room for `runs` labels of the slice, and for as many components beside those that there are. */
static crd_status make_room(crd_component_state *s, int64_t count, int64_t runs)
{
    if (count + runs > s->here.room) {
        const int64_t wanted = more_room(s->here.room, count + runs);
        CRD_PASS(lengthen(&s->here.labels, s->here.room, sizeof *s->here.labels, wanted));
        s->here.room = wanted;
    }
    if (s->count + runs < s->room) return CRD_OK;
    const int64_t wanted = more_room(s->room, s->count + runs + 1);
    CRD_PASS(lengthen(&s->parents, s->room, sizeof *s->parents, wanted));
    CRD_PASS(lengthen(&s->fresh, s->room, sizeof *s->fresh, wanted));
    CRD_PASS(lengthen(&s->voxels, s->room, sizeof *s->voxels, wanted));
    CRD_PASS(lengthen(&s->faces, s->room, sizeof *s->faces, wanted));
    s->room = wanted;
    return CRD_OK;
}

static void count_component(int64_t voxels, int faces, crd_component_counts *counts)
{
    counts->components++;
    counts->voxels += voxels;
    if (voxels > counts->largest) counts->largest = voxels;
    if (faces == 0) counts->closed += voxels;
    for (int axis = 0; axis < 3; axis++) {
        const int both = (CRD_FACE_LOW | CRD_FACE_HIGH) << 2 * axis;
        if ((faces & both) != both) continue;
        counts->percolating[axis] += voxels;
        counts->joining[axis]++;
    }
    counts->sizes[63 - __builtin_clzll((unsigned long long)voxels)]++;
}

/* Brings what was counted to the first number of each component. */
static void gather(crd_component_state *s)
{
    for (int64_t i = 0; i < s->count; i++) {
        const uint32_t root = find(s->parents, (uint32_t)i);
        if (root == i) continue; /* a root's number is the least, so that it was met already */
        s->voxels[root] += s->voxels[i];
        s->faces[root] |= s->faces[i];
    }
}

/* Components that the last slice doesn't touch are finished: counts them, and numbers the others anew. */
static void settle(crd_component_state *s, int64_t height, crd_component_counts *counts)
{
    enum { NOT_MET = 0, FIRST = 1 };
    run_list *last = &s->before;
    uint32_t kept = 0;
    gather(s);
    memset(s->fresh, NOT_MET, (size_t)s->count * sizeof *s->fresh);
    for (int64_t r = 0; r < last->rows[height]; r++) {
        last->labels[r] = find(s->parents, last->labels[r]);
        s->fresh[last->labels[r]] = FIRST;
    }
    for (int64_t i = 0; i < s->count; i++) {
        if (s->parents[i] != i) continue;
        if (s->fresh[i] == NOT_MET) {
            count_component(s->voxels[i], s->faces[i], counts);
            continue;
        }
        s->fresh[i] = kept; /* numbers only fall, so nothing is overwritten before it moved */
        s->voxels[kept] = s->voxels[i];
        s->faces[kept] = s->faces[i];
        kept++;
    }
    for (int64_t r = 0; r < last->rows[height]; r++) last->labels[r] = s->fresh[last->labels[r]];
    for (uint32_t i = 0; i < kept; i++) s->parents[i] = i;
    s->count = kept;
}

/* ---- one slice ---- */

typedef struct slice {
    crd_components *c;
    crd_component_state *s;
    int64_t z, index; /* in the window; in the call */
    int bit;
} slice;

static const uint64_t *row_bits(const slice *k, int64_t y)
{
    const crd_components *c = k->c;
    return c->rows + k->bit * c->pitch + ((1 + k->index) * c->field->window->shape[1] + y) * c->words;
}

static const uint64_t *mask_bits(const slice *k, int64_t y)
{
    return k->c->mask + (k->index * k->c->field->window->shape[1] + y) * k->c->words;
}

static bool bit_at(const uint64_t *bits, int64_t x)
{
    return bits[x / 64] >> x % 64 & 1;
}

static const uint64_t *row_before(const slice *k, int64_t y)
{
    return row_bits(k, y) - k->c->field->window->shape[1] * k->c->words;
}

/* A chord has a voxel of the window at both ends that isn't of the phase. */
static void count_chords(const slice *k, int64_t y, int64_t runs)
{
    const int64_t width = k->c->field->window->shape[2];
    const uint16_t *edges = k->s->edges;
    crd_chord_counts *chord = &k->c->chord[k->bit];
    int64_t first = 0, end = runs;
    if (k->c->mask != NULL) {
        const uint64_t *mask = mask_bits(k, y);
        for (int64_t i = 0; i < runs; i++) {
            const int64_t from = edges[2 * i], to = edges[2 * i + 1];
            const bool whole = from > 0 && to < width && bit_at(mask, from - 1) && bit_at(mask, to);
            chord->whole[to - from] += whole;
            chord->cut += !whole;
        }
        return;
    }
    if (runs > 0 && edges[0] == 0) first = 1;
    if (end > first && edges[2 * end - 1] == width) end--;
    for (int64_t i = first; i < end; i++) chord->whole[edges[2 * i + 1] - edges[2 * i]]++;
    chord->cut += runs - (end - first);
}

static const uint32_t no_label = UINT32_MAX;

/* Joins the runs of a row, whose labels these are, to those that they touch in another row. */
static void join_rows(const slice *k, const uint64_t *bits, uint32_t *labels, const uint64_t *other_bits,
                      const uint32_t *others)
{
    crd_component_state *s = k->s;
    const uint16_t *mine = s->touches[0], *theirs = s->touches[1];
    const int64_t count =
        k->c->path->touch(bits, other_bits, k->c->words, k->c->neighbours == 26, s->touches[0], s->touches[1]);
    uint32_t *parents = s->parents;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t own = labels[mine[i]], other = others[theirs[i]];
        if (own == other) continue;
        labels[mine[i]] = own == no_label ? find(parents, other) : unite(parents, own, other);
    }
}

/* Bits of a row that lie beside a voxel of the box that doesn't count, in this slice or the one before. */
static bool beside_edge(const slice *k, const uint64_t *bits, int64_t y, uint64_t *out)
{
    const int64_t *shape = k->c->field->window->shape, words = k->c->words, last = shape[2] - 1;
    const uint64_t *mask = mask_bits(k, y);
    uint64_t any = 0;
    for (int64_t w = 0; w < words; w++) {
        const uint64_t left = mask[w] << 1 | (w > 0 ? mask[w - 1] >> 63 : 1);
        uint64_t right = mask[w] >> 1 | (w + 1 < words ? mask[w + 1] << 63 : 0);
        if (w == last / 64) right |= UINT64_C(1) << last % 64;
        uint64_t all = left & right;
        if (y > 0) all &= mask[w - words];
        if (y + 1 < shape[1]) all &= mask[w + words];
        if (k->z > 0) all &= mask[w - shape[1] * words];
        any |= out[w] = bits[w] & ~all;
    }
    return any != 0;
}

/* Components of the runs that have some of these bits touch the mask's edge. */
static void mark_edge(const slice *k, const uint64_t *bits, const uint64_t *some, const uint32_t *labels)
{
    crd_component_state *s = k->s;
    const int64_t count = k->c->path->touch(bits, some, k->c->words, 0, s->touches[0], s->touches[1]);
    for (int64_t i = 0; i < count; i++) s->faces[labels[s->touches[0][i]]] |= CRD_EDGE;
}

static void mark_faces(const slice *k, int64_t y, const uint32_t *labels, int64_t runs)
{
    crd_component_state *s = k->s;
    const int64_t *shape = k->c->field->window->shape;
    const int faces = (k->z == 0 ? CRD_FACE_LOW : 0) | (k->z == shape[0] - 1 ? CRD_FACE_HIGH : 0) |
                      (y == 0 ? CRD_FACE_LOW << 2 : 0) | (y == shape[1] - 1 ? CRD_FACE_HIGH << 2 : 0);
    for (int64_t i = 0; faces != 0 && i < runs; i++) s->faces[labels[i]] |= (uint8_t)faces;
    if (runs == 0) return;
    if (s->edges[0] == 0) s->faces[labels[0]] |= CRD_FACE_LOW << 4;
    if (s->edges[2 * runs - 1] == shape[2]) s->faces[labels[runs - 1]] |= CRD_FACE_HIGH << 4;
    if (k->c->mask != NULL && beside_edge(k, row_bits(k, y), y, s->some)) {
        mark_edge(k, row_bits(k, y), s->some, labels);
    }
}

/* Runs of a row are joined to the row before, and to the row or the rows of the slice before. */
static void label_row(const slice *k, int64_t y, int64_t runs)
{
    crd_component_state *s = k->s;
    const uint64_t *bits = row_bits(k, y);
    uint32_t *labels = s->here.labels + s->here.rows[y];
    if (runs > 0) memset(labels, 0xff, (size_t)runs * sizeof *labels); /* no_label */
    if (y > 0) join_rows(k, bits, labels, row_bits(k, y - 1), s->here.labels + s->here.rows[y - 1]);
    const int64_t reach = k->c->neighbours == 26, height = k->c->field->window->shape[1];
    for (int64_t other = y - reach; k->z > 0 && other <= y + reach; other++) {
        if (other < 0 || other >= height) continue;
        join_rows(k, bits, labels, row_before(k, other), s->before.labels + s->before.rows[other]);
    }
    int64_t count = s->count;
    for (int64_t i = 0; i < runs; i++) { /* a new component's place is made ready before anybody knows of its need */
        s->parents[count] = (uint32_t)count;
        s->voxels[count] = s->faces[count] = 0;
        const bool fresh = labels[i] == no_label;
        const uint32_t label = fresh ? (uint32_t)count : labels[i];
        labels[i] = label;
        count += fresh;
        s->voxels[label] += s->edges[2 * i + 1] - s->edges[2 * i];
    }
    s->count = count;
    mark_faces(k, y, labels, runs);
}

/* The slice before touches the mask's edge where this one doesn't count. */
static void look_back(const slice *k)
{
    const crd_component_state *s = k->s;
    if (k->c->mask == NULL || k->z == 0) return;
    for (int64_t y = 0; y < k->c->field->window->shape[1]; y++) {
        const uint64_t *bits = row_before(k, y), *mask = mask_bits(k, y);
        for (int64_t w = 0; w < k->c->words; w++) s->some[w] = bits[w] & ~mask[w];
        mark_edge(k, bits, s->some, s->before.labels + s->before.rows[y]);
    }
}

crd_status crd_components_slice(crd_components *c, int bit, int64_t z, int64_t index)
{
    crd_component_state *s = &c->states[bit];
    const int64_t height = c->field->window->shape[1];
    const slice row = {.c = c, .s = s, .z = z, .index = index, .bit = bit}, *k = &row;
    int64_t count = 0;
    if (c->joined) look_back(k);
    for (int64_t y = 0; y < height; y++) {
        const int64_t runs = c->path->find(row_bits(k, y), c->words, s->edges);
        if (c->chords) count_chords(k, y, runs);
        if (!c->joined) continue;
        CRD_PASS(make_room(s, count, runs));
        s->here.rows[y] = count;
        s->here.rows[y + 1] = count + runs;
        label_row(k, y, runs);
        count += runs;
    }
    const run_list spare = s->before;
    s->before = s->here;
    s->here = spare;
    if (s->count > 4096 + 4 * count) settle(s, height, &c->counts[bit]);
    return CRD_OK;
}

void crd_components_finish(crd_components *c, int bit)
{
    crd_component_state *s = &c->states[bit];
    gather(s);
    for (int64_t i = 0; i < s->count; i++) {
        if (s->parents[i] == i) count_component(s->voxels[i], s->faces[i], &c->counts[bit]);
    }
    s->count = 0;
}
