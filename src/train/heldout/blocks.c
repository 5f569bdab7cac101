#include "train/heldout/blocks.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random/philox.h"

enum { TRIALS = 64, GIVE_UP = 12, TRIES = 16, LABELS_LEAST = 8 };

/* What is tried in turn: large blocks with a wide margin where the labels allow for many of them, then smaller ones.
 * More blocks say more about how blocks differ than larger ones do. Where the labels are few, blocks are sought whose
 * margins take little of them, at the ends of what is labelled. */
typedef struct wish {
    int64_t edge, margin;
    int64_t most, least; /* blocks */
    bool thrifty;
} wish;
static const wish wishes[] = {{32, 8, 24, 24, false}, {24, 8, 24, 24, false}, {16, 8, 24, 24, false},
                              {16, 4, 24, 12, false}, {8, 4, 24, 8, false},   {8, 4, 8, CRD_BLOCKS_LEAST, true}};

typedef struct row { /* of cells along x */
    int64_t before;  /* labelled voxels of all rows before it */
    int64_t scan, z, y;
} row;

typedef struct search {
    const crd_label_map *const *maps;
    const int64_t *sources;
    int64_t scans;
    int classes;
    row *rows;
    int64_t row_count;
    int64_t labelled;                /* in rows: voxels of the scans that blocks are chosen in */
    int64_t totals[CRD_CLASSES_MAX]; /* of these scans */
    double most;                     /* labelled voxels in blocks */
    uint64_t seed;
} search;

bool crd_box_meet(const crd_box *a, const crd_box *b, crd_box *out)
{
    for (int axis = 0; axis < 3; axis++) {
        const int64_t a_end = a->origin[axis] + a->size[axis], b_end = b->origin[axis] + b->size[axis];
        out->origin[axis] = a->origin[axis] > b->origin[axis] ? a->origin[axis] : b->origin[axis];
        out->size[axis] = (a_end < b_end ? a_end : b_end) - out->origin[axis];
        if (out->size[axis] <= 0) return false;
    }
    return true;
}

static crd_box grown(const crd_box *box, int64_t margin)
{
    crd_box larger = *box;
    for (int axis = 0; axis < 3; axis++) {
        larger.origin[axis] -= margin;
        larger.size[axis] += 2 * margin;
    }
    return larger;
}

static int64_t sum_of(const int64_t *counts, int classes)
{
    int64_t sum = 0;
    for (int k = 0; k < classes; k++) sum += counts[k];
    return sum;
}

static bool has_blocks(const search *s, const crd_held_blocks *blocks, int64_t scan)
{
    for (int64_t i = 0; i < blocks->count; i++) {
        if (s->sources[blocks->blocks[i].scan] == s->sources[scan]) return true;
    }
    return false;
}

/* Lists the rows of cells that hold labels, in order. */
static crd_status list_rows(search *s, const crd_held_blocks *kept)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < s->scans; i++) {
        const int64_t *cells = crd_label_map_cells(s->maps[i]);
        rows += cells[0] * cells[1];
    }
    CRD_PASS(crd_alloc(rows, sizeof *s->rows, "the choice of blocks", &s->rows));
    for (int64_t i = 0; i < s->scans; i++) {
        const int64_t *cells = crd_label_map_cells(s->maps[i]);
        if (has_blocks(s, kept, i)) continue;
        for (int64_t z = 0; z < cells[0]; z++) {
            for (int64_t y = 0; y < cells[1]; y++) {
                const uint16_t *counts = crd_label_map_counts(s->maps[i], z, y, 0);
                const int64_t before = s->labelled;
                for (int64_t x = 0; x < cells[2] * s->classes; x++) {
                    s->totals[x % s->classes] += counts[x];
                    s->labelled += counts[x];
                }
                if (s->labelled > before) s->rows[s->row_count++] = (row){before, i, z, y};
            }
        }
    }
    return CRD_OK;
}

/* The cell of labelled voxel number `voxel`. */
static const row *find_cell(const search *s, int64_t voxel, int64_t *x)
{
    int64_t low = 0, high = s->row_count;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (s->rows[middle].before <= voxel) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const row *found = &s->rows[low];
    const uint16_t *counts = crd_label_map_counts(s->maps[found->scan], found->z, found->y, 0);
    int64_t left = voxel - found->before;
    for (*x = 0;; (*x)++, counts += s->classes) {
        for (int k = 0; k < s->classes; k++) left -= counts[k];
        if (left < 0) return found;
    }
}

/* A block of whole cells around a labelled voxel of stratum `place` of `count`; false where the scan has no room. */
static bool draw_block(const search *s, const wish *w, int64_t place, int64_t count, const crd_stream *base,
                       uint64_t element, crd_held_block *block)
{
    crd_stream stream = *base;
    stream.layer = 3; /* after the axes */
    const double where = ((double)place + crd_random_uniform(&stream, element)) / (double)count;
    int64_t voxel = (int64_t)(where * (double)s->labelled), x;
    if (voxel >= s->labelled) voxel = s->labelled - 1;
    const row *found = find_cell(s, voxel, &x);
    const int64_t cell[3] = {found->z, found->y, x}, edge = w->edge / CRD_CELL;
    const int64_t *shape = crd_label_map_shape(s->maps[found->scan]);
    *block = (crd_held_block){.scan = found->scan, .margin = w->margin};
    for (int axis = 0; axis < 3; axis++) {
        const int64_t last = shape[axis] / CRD_CELL - edge;
        if (last < 0) return false;
        stream.layer = (uint32_t)axis;
        int64_t first = cell[axis] - crd_random_below(&stream, element, edge);
        first = first < 0 ? 0 : first > last ? last : first;
        block->box.origin[axis] = first * CRD_CELL;
        block->box.size[axis] = w->edge;
    }
    return crd_label_map_add(s->maps[found->scan], &block->box, block->counts) >= LABELS_LEAST;
}

typedef struct taken {
    int64_t blocks, all;              /* labelled voxels in them, and with their margins at most */
    int64_t classes[CRD_CLASSES_MAX]; /* these, by class */
} taken;

/* May the block join the others? Margins that overlap count twice, so less is taken than allowed, never more. */
static bool fits(const search *s, const crd_held_block *block, const crd_held_blocks *others, taken *t)
{
    crd_box both;
    taken with = *t;
    const int64_t source = s->sources[block->scan];
    const crd_box around = grown(&block->box, block->margin);
    for (int64_t i = 0; i < others->count; i++) {
        const crd_held_block *other = &others->blocks[i];
        if (s->sources[other->scan] == source && crd_box_meet(&block->box, &other->box, &both)) return false;
    }
    with.blocks += sum_of(block->counts, s->classes);
    for (int64_t i = source; i < s->scans; i++) {
        if (s->sources[i] == source) with.all += crd_label_map_add(s->maps[i], &around, with.classes);
    }
    if ((double)with.blocks > s->most) return false;
    if ((double)with.all > CRD_BLOCKS_TAKE_MOST * (double)s->labelled) return false;
    for (int k = 0; k < s->classes; k++) { /* of every class enough is left to learn from */
        if (3 * with.classes[k] > 2 * s->totals[k]) return false;
    }
    *t = with;
    return true;
}

/* Block number `place` of `count` joins the others: the first draw that fits or, to be thrifty, the one that takes
 * fewest labels. */
static bool draw_fitting(const search *s, const wish *w, int64_t place, int64_t count, const crd_stream *stream,
                         crd_held_blocks *out, taken *t)
{
    int64_t fewest = INT64_MAX;
    taken best = *t;
    crd_held_block drawn;
    for (int attempt = 0; attempt < TRIES; attempt++) {
        taken with = *t;
        if (!draw_block(s, w, place, count, stream, (uint64_t)(place * TRIES + attempt), &drawn)) continue;
        if (!fits(s, &drawn, out, &with) || with.all >= fewest) continue;
        fewest = with.all;
        best = with;
        out->blocks[out->count] = drawn;
        if (!w->thrifty) break;
    }
    *t = best;
    return fewest < INT64_MAX;
}

/* `count` blocks, each from its part of the labelled voxels; neighbours go to different halves. */
static bool draw_all(const search *s, const wish *w, int64_t count, uint32_t trial, crd_held_blocks *out)
{
    const crd_stream stream = {.seed = s->seed, .purpose = CRD_PURPOSE_HELD_BACK, .step = trial};
    const crd_stream halves = {.seed = s->seed, .purpose = CRD_PURPOSE_HELD_BACK, .layer = 4, .step = trial};
    taken t = {0};
    out->count = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!draw_fitting(s, w, i, count, &stream, out, &t)) return false;
        out->blocks[out->count++].exam = (crd_random_below(&halves, (uint64_t)(i / 2), 2) == 0) == (i % 2 == 0);
    }
    return true;
}

/* How far the shares of the classes in the two halves are from those of the label. */
static double unlikeness(const search *s, const crd_held_blocks *blocks)
{
    double sum = 0.0;
    for (int exam = 0; exam < 2; exam++) {
        int64_t counts[CRD_CLASSES_MAX];
        const int64_t voxels = crd_blocks_counts(blocks, exam != 0, counts);
        for (int k = 0; k < s->classes && voxels > 0; k++) {
            const double wanted = (double)s->totals[k] / (double)s->labelled;
            if (s->totals[k] > 0) sum += fabs((double)counts[k] / (double)voxels - wanted) / sqrt(wanted);
        }
    }
    return sum;
}

/* The best of many draws of `count` blocks; false where there is none. */
static bool choose(const search *s, const wish *w, int64_t count, crd_held_blocks *best)
{
    double least = HUGE_VAL;
    crd_held_blocks drawn;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        if (trial == GIVE_UP && least == HUGE_VAL) return false;
        if (!draw_all(s, w, count, trial, &drawn)) continue;
        const double score = unlikeness(s, &drawn);
        if (score >= least) continue;
        least = score;
        *best = drawn;
    }
    return least < HUGE_VAL;
}

static bool choose_size(const search *s, int64_t most, crd_held_blocks *out)
{
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        const int64_t first = wishes[i].most < most ? wishes[i].most : most;
        for (int64_t count = first; count >= wishes[i].least; count -= 2) {
            if (choose(s, &wishes[i], count, out)) return true;
        }
    }
    return false;
}

crd_status crd_blocks_choose(const crd_label_map *const *maps, const int64_t *sources, int64_t scans, double share,
                             uint64_t seed, crd_held_blocks *blocks)
{
    crd_status status = CRD_OK;
    search s = {
        .maps = maps, .sources = sources, .scans = scans, .classes = crd_label_map_classes(maps[0]), .seed = seed};
    crd_held_blocks chosen = {0};
    const int64_t most = (CRD_BLOCKS_MOST - blocks->count) / 2 * 2;
    for (int64_t i = 0; i < blocks->count; i++) { /* of labels that may be others now */
        crd_held_block *kept = &blocks->blocks[i];
        memset(kept->counts, 0, sizeof kept->counts);
        crd_label_map_add(maps[kept->scan], &kept->box, kept->counts);
    }
    CRD_TRY(list_rows(&s, blocks));
    s.most = share * (double)s.labelled;
    if (s.labelled == 0 || most < CRD_BLOCKS_LEAST || !choose_size(&s, most, &chosen)) goto done;
    memcpy(blocks->blocks + blocks->count, chosen.blocks, (size_t)chosen.count * sizeof *chosen.blocks);
    blocks->count += chosen.count;
done:
    crd_free(&s.rows);
    return status;
}

int64_t crd_blocks_counts(const crd_held_blocks *blocks, bool exam, int64_t counts[CRD_CLASSES_MAX])
{
    memset(counts, 0, CRD_CLASSES_MAX * sizeof *counts);
    for (int64_t i = 0; i < blocks->count; i++) {
        if (blocks->blocks[i].exam != exam) continue;
        for (int k = 0; k < CRD_CLASSES_MAX; k++) counts[k] += blocks->blocks[i].counts[k];
    }
    return sum_of(counts, CRD_CLASSES_MAX);
}

void crd_blocks_hide(const crd_held_blocks *blocks, int64_t scan, const crd_box *box, uint8_t *classes)
{
    for (int64_t i = 0; i < blocks->count; i++) {
        const crd_held_block *block = &blocks->blocks[i];
        const crd_box around = grown(&block->box, block->margin);
        crd_box hidden;
        if (block->scan != scan || !crd_box_meet(&around, box, &hidden)) continue;
        for (int64_t z = 0; z < hidden.size[0]; z++) {
            for (int64_t y = 0; y < hidden.size[1]; y++) {
                const int64_t at[3] = {hidden.origin[0] - box->origin[0] + z, hidden.origin[1] - box->origin[1] + y,
                                       hidden.origin[2] - box->origin[2]};
                memset(classes + (at[0] * box->size[1] + at[1]) * box->size[2] + at[2], CRD_LABEL_NONE,
                       (size_t)hidden.size[2]);
            }
        }
    }
}

bool crd_blocks_touch(const crd_held_blocks *blocks, int64_t scan, const crd_box *box)
{
    for (int64_t i = 0; i < blocks->count; i++) {
        const crd_held_block *block = &blocks->blocks[i];
        const crd_box around = grown(&block->box, block->margin);
        crd_box both;
        if (block->scan == scan && crd_box_meet(&around, box, &both)) return true;
    }
    return false;
}

bool crd_blocks_cover(const crd_held_blocks *blocks, int64_t scan, const crd_box *box)
{
    for (int64_t i = 0; i < blocks->count; i++) {
        const crd_held_block *block = &blocks->blocks[i];
        const crd_box around = grown(&block->box, block->margin);
        crd_box both;
        if (block->scan != scan || !crd_box_meet(&around, box, &both)) continue;
        if (both.size[0] == box->size[0] && both.size[1] == box->size[1] && both.size[2] == box->size[2]) return true;
    }
    return false;
}
