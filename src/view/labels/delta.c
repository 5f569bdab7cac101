#include "view/labels/delta.h"

#include <string.h>

#include "base/memory.h"

enum { NUMBER_BYTES = 10 };

void crd_delta_free(crd_delta *delta)
{
    crd_free(&delta->bytes);
    *delta = (crd_delta){0};
}

static crd_status make_room(crd_delta *d, int64_t more)
{
    uint8_t *bytes = NULL;
    if (d->count + more <= d->room) return CRD_OK;
    if (d->count + more > CRD_DELTA_BYTES) {
        return crd_fail(CRD_ERR_ARGUMENT, "the operation changes too many separate places; do it in parts");
    }
    int64_t room = d->room * 2 > 4096 ? d->room * 2 : 4096;
    while (room < d->count + more) room *= 2;
    CRD_PASS(crd_alloc(room, 1, "what was changed", &bytes));
    if (d->count > 0) memcpy(bytes, d->bytes, (size_t)d->count);
    crd_free(&d->bytes);
    d->bytes = bytes;
    d->room = room;
    return CRD_OK;
}

/* There is room. */
static void add_number(crd_delta *d, uint64_t value)
{
    for (; value >= 128; value >>= 7) d->bytes[d->count++] = (uint8_t)(value | 128);
    d->bytes[d->count++] = (uint8_t)value;
}

/* The end of the run of alike changes that begins at `i`. */
static int run_end(int i, const uint8_t *before, const uint8_t *after)
{
    const uint8_t from = before[i], to = after[i];
    while (i < CRD_BLOCK_VOXELS && before[i] == from && after[i] == to) i++;
    return i;
}

/* The next voxel that differs, from `i` on. */
static int next_change(int i, const uint8_t *before, const uint8_t *after)
{
    while (i < CRD_BLOCK_VOXELS) {
        if (i % 64 == 0 && memcmp(before + i, after + i, 64) == 0) {
            i += 64;
        } else if (before[i] == after[i]) {
            i++;
        } else {
            break;
        }
    }
    return i;
}

crd_status crd_delta_add(crd_delta *d, int64_t number, const uint8_t *before, const uint8_t *after)
{
    int64_t runs = 0;
    for (int i = next_change(0, before, after); i < CRD_BLOCK_VOXELS; i = next_change(i, before, after)) {
        i = run_end(i, before, after);
        runs++;
    }
    if (runs == 0) return CRD_OK;
    CRD_PASS(make_room(d, 2 * NUMBER_BYTES));
    add_number(d, (uint64_t)number);
    add_number(d, (uint64_t)runs);
    for (int last = 0, i = next_change(0, before, after); i < CRD_BLOCK_VOXELS; i = next_change(last, before, after)) {
        const int end = run_end(i, before, after);
        CRD_PASS(make_room(d, 2 * NUMBER_BYTES + 2));
        add_number(d, (uint64_t)(i - last));
        add_number(d, (uint64_t)(end - i));
        d->bytes[d->count++] = before[i];
        d->bytes[d->count++] = after[i];
        last = end;
    }
    return CRD_OK;
}

/* ---- reading ---- */

typedef struct cursor {
    const uint8_t *bytes;
    int64_t at, count;
} cursor;

static bool take_number(cursor *c, int64_t most, int64_t *out)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 63 && c->at < c->count; shift += 7) {
        const uint8_t byte = c->bytes[c->at++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = (int64_t)value;
            return value <= (uint64_t)most;
        }
    }
    return false;
}

typedef struct run {
    int64_t begin, end; /* in the block */
    uint8_t from, to;
} run;

static bool take_run(cursor *c, int64_t *last, run *out)
{
    int64_t gap, length;
    if (!take_number(c, CRD_BLOCK_VOXELS, &gap) || !take_number(c, CRD_BLOCK_VOXELS, &length)) return false;
    out->begin = *last + gap;
    out->end = out->begin + length;
    if (length == 0 || out->end > CRD_BLOCK_VOXELS || c->at + 2 > c->count) return false;
    out->from = c->bytes[c->at++];
    out->to = c->bytes[c->at++];
    *last = out->end;
    return out->from != out->to;
}

static void widen(crd_delta_facts *out, const int64_t place[3], const run *r)
{
    int64_t low[3], high[3];
    const int64_t first = r->begin, last = r->end - 1, area = CRD_BLOCK_EDGE * CRD_BLOCK_EDGE;
    low[0] = first / area;
    high[0] = last / area;
    const bool slices = low[0] != high[0];
    low[1] = slices ? 0 : first / CRD_BLOCK_EDGE % CRD_BLOCK_EDGE;
    high[1] = slices ? CRD_BLOCK_EDGE - 1 : last / CRD_BLOCK_EDGE % CRD_BLOCK_EDGE;
    const bool rows = slices || low[1] != high[1];
    low[2] = rows ? 0 : first % CRD_BLOCK_EDGE;
    high[2] = rows ? CRD_BLOCK_EDGE - 1 : last % CRD_BLOCK_EDGE;
    for (int i = 0; i < 3; i++) {
        const int64_t start = place[i] * CRD_BLOCK_EDGE;
        if (start + low[i] < out->low[i]) out->low[i] = start + low[i];
        if (start + high[i] + 1 > out->high[i]) out->high[i] = start + high[i] + 1;
    }
}

static crd_status broken(void)
{
    return crd_fail(CRD_ERR_FORMAT, "what the journal says of an operation can't be read");
}

/* Do these runs lie inside the shape? Only blocks at its ends reach beyond it. */
static bool inside(const crd_label_blocks *blocks, const int64_t place[3], const run *r)
{
    const int64_t *shape = crd_label_blocks_shape(blocks);
    bool whole = true;
    for (int i = 0; i < 3; i++) whole = whole && (place[i] + 1) * CRD_BLOCK_EDGE <= shape[i];
    for (int64_t v = r->begin; !whole && v < r->end; v++) {
        const int64_t at[3] = {v / (CRD_BLOCK_EDGE * CRD_BLOCK_EDGE), v / CRD_BLOCK_EDGE % CRD_BLOCK_EDGE,
                               v % CRD_BLOCK_EDGE};
        for (int i = 0; i < 3; i++) {
            if (place[i] * CRD_BLOCK_EDGE + at[i] >= shape[i]) return false;
        }
    }
    return true;
}

static crd_status read_block(cursor *c, const crd_label_blocks *blocks, crd_delta_facts *out)
{
    const int64_t *counts = crd_label_blocks_counts(blocks);
    int64_t number, runs, last = 0, place[3];
    run r;
    if (!take_number(c, counts[0] * counts[1] * counts[2] - 1, &number) || !take_number(c, CRD_BLOCK_VOXELS, &runs)) {
        return broken();
    }
    crd_label_blocks_index(blocks, number, place);
    for (int64_t i = 0; i < runs; i++) {
        if (!take_run(c, &last, &r) || !inside(blocks, place, &r)) return broken();
        out->voxels += r.end - r.begin;
        out->counts[r.from] -= r.end - r.begin;
        out->counts[r.to] += r.end - r.begin;
        widen(out, place, &r);
    }
    if (out->places != NULL) memcpy(out->places[out->blocks], place, sizeof place);
    out->blocks++;
    return CRD_OK;
}

static crd_status read_all(const uint8_t *bytes, int64_t count, const crd_label_blocks *blocks, crd_delta_facts *out)
{
    cursor c = {.bytes = bytes, .count = count};
    out->voxels = out->blocks = 0;
    memset(out->counts, 0, sizeof out->counts);
    for (int i = 0; i < 3; i++) {
        out->low[i] = INT64_MAX;
        out->high[i] = 0;
    }
    while (c.at < c.count) CRD_PASS(read_block(&c, blocks, out));
    return CRD_OK;
}

crd_status crd_delta_read(const uint8_t *bytes, int64_t count, const crd_label_blocks *blocks, bool places,
                          crd_delta_facts *out)
{
    out->places = NULL;
    CRD_PASS(read_all(bytes, count, blocks, out));
    if (!places || out->blocks == 0) return CRD_OK;
    CRD_PASS(crd_alloc(out->blocks, sizeof *out->places, "changed blocks", &out->places));
    return read_all(bytes, count, blocks, out);
}

crd_status crd_delta_apply(const uint8_t *bytes, int64_t count, crd_label_blocks *blocks, crd_direction direction)
{
    crd_status status = CRD_OK;
    cursor c = {.bytes = bytes, .count = count};
    uint8_t *voxels = NULL;
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &voxels));
    while (c.at < c.count) {
        int64_t number = 0, runs = 0, last = 0;
        run r;
        (void)take_number(&c, INT64_MAX, &number);
        (void)take_number(&c, CRD_BLOCK_VOXELS, &runs);
        CRD_TRY(crd_label_blocks_get(blocks, number, voxels));
        for (int64_t i = 0; i < runs && take_run(&c, &last, &r); i++) {
            memset(voxels + r.begin, direction == CRD_BACK ? r.from : r.to, (size_t)(r.end - r.begin));
        }
        CRD_TRY(crd_label_blocks_put(blocks, number, voxels));
    }
done:
    crd_free(&voxels);
    return status;
}
