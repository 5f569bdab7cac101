#include "measure/active.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "measure/pass.h"
#include "measure/transport/joining.h"

enum { TRIPLES = CRD_TRIPLES_MAX * (CRD_TRIPLES_MAX - 1) * (CRD_TRIPLES_MAX - 2) / 6, BAND = 8 };

/* Three phases, in the order in which all triples are listed. */
typedef struct triple {
    int phases[3];
} triple;

static int list_triples(int64_t phases, triple out[TRIPLES])
{
    int count = 0;
    for (int a = 0; a < phases; a++) {
        for (int b = a + 1; b < phases; b++) {
            for (int c = b + 1; c < phases; c++) out[count++] = (triple){{a, b, c}};
        }
    }
    return count;
}

/* ---- one realisation ---- */

/* Voxel edges, by their axis, around which the four voxels hold all three phases, counted for each cell that they
 * belong to; and how many cells there are. */
typedef struct tally {
    int64_t crossings[TRIPLES][3];
    int64_t cells;
} tally;

typedef struct realisation {
    crd_bitmap phases[CRD_TRIPLES_MAX];
    uint64_t *joined[CRD_TRIPLES_MAX]; /* of each, what joins both faces */
    crd_status status[CRD_TRIPLES_MAX];
    crd_error errors[CRD_TRIPLES_MAX];
    int64_t phase_count;
    int axis;
    triple triples[TRIPLES];
    int triple_count;
    tally *tallies; /* one a thread */
} realisation;

static void join_phase(void *context, int64_t item, int worker)
{
    realisation *r = context;
    int64_t voxels;
    (void)worker;
    r->status[item] = crd_joining_find(&r->phases[item], r->axis, NULL, &r->joined[item], &voxels);
    if (r->status[item] != CRD_OK) r->errors[item] = *crd_last_error();
}

/* Word w of a row whose voxels have moved by one: bit x is that of voxel x + 1. */
static uint64_t next_voxels(const uint64_t *row, int64_t words, int64_t w)
{
    return row[w] >> 1 | (w + 1 < words ? row[w + 1] << 63 : 0);
}

/* The four rows of voxels of a row of cells: (z, y), (z, y + 1), (z + 1, y), (z + 1, y + 1). */
typedef struct cell_rows {
    const uint64_t *of[4];
} cell_rows;

static cell_rows rows_of(const crd_bitmap *b, const uint64_t *bits, int64_t z, int64_t y)
{
    cell_rows rows;
    for (int k = 0; k < 4; k++) rows.of[k] = crd_bitmap_row(b, bits, z + (k >> 1), y + (k & 1));
    return rows;
}

/* Which of 64 cells count: all of their voxels are in the window. */
static uint64_t inner_cells(const crd_bitmap *b, int64_t z, int64_t y, int64_t w)
{
    const int64_t cells = b->shape[2] - 1 - 64 * w;
    uint64_t inner = cells <= 0 ? 0 : cells >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << cells) - 1;
    if (b->inside == NULL) return inner;
    const cell_rows rows = rows_of(b, b->inside, z, y);
    for (int k = 0; k < 4; k++) inner &= rows.of[k][w] & next_voxels(rows.of[k], b->words, w);
    return inner;
}

/* Does a phase have any of the four voxels of a face? The six faces of 64 cells: two normal to each of z, y, x. */
static void faces_with(const cell_rows *rows, int64_t words, int64_t w, uint64_t faces[6])
{
    uint64_t here[4], next[4];
    for (int k = 0; k < 4; k++) {
        here[k] = rows->of[k][w];
        next[k] = next_voxels(rows->of[k], words, w);
    }
    for (int side = 0; side < 2; side++) {
        faces[side] = here[2 * side] | here[2 * side + 1] | next[2 * side] | next[2 * side + 1];
        faces[2 + side] = here[side] | here[2 + side] | next[side] | next[2 + side];
    }
    faces[4] = here[0] | here[1] | here[2] | here[3];
    faces[5] = next[0] | next[1] | next[2] | next[3];
}

static void count_row(const realisation *r, int64_t z, int64_t y, tally *t)
{
    const crd_bitmap *b = &r->phases[0];
    cell_rows rows[CRD_TRIPLES_MAX];
    for (int64_t p = 0; p < r->phase_count; p++) rows[p] = rows_of(b, r->joined[p], z, y);
    for (int64_t w = 0; w < b->words; w++) {
        uint64_t faces[CRD_TRIPLES_MAX][6];
        const uint64_t inner = inner_cells(b, z, y, w);
        if (inner == 0) continue;
        t->cells += __builtin_popcountll(inner);
        for (int64_t p = 0; p < r->phase_count; p++) faces_with(&rows[p], b->words, w, faces[p]);
        for (int i = 0; i < r->triple_count; i++) {
            const int *of = r->triples[i].phases;
            for (int f = 0; f < 6; f++) {
                const uint64_t met = faces[of[0]][f] & faces[of[1]][f] & faces[of[2]][f] & inner;
                t->crossings[i][f / 2] += __builtin_popcountll(met);
            }
        }
    }
}

static void count_band(void *context, int64_t item, int worker)
{
    const realisation *r = context;
    const int64_t *shape = r->phases[0].shape;
    const int64_t end = (item + 1) * BAND < shape[0] - 1 ? (item + 1) * BAND : shape[0] - 1;
    for (int64_t z = item * BAND; z < end; z++) {
        for (int64_t y = 0; y + 1 < shape[1]; y++) count_row(r, z, y, &r->tallies[worker]);
    }
}

static void forget_joined(realisation *r)
{
    for (int p = 0; p < CRD_TRIPLES_MAX; p++) crd_free(&r->joined[p]);
}

/* Length for each volume, of every triple. */
static crd_status along(const crd_slow_plan *plan, realisation *r, const double spacing[3], double *out)
{
    crd_status status = CRD_OK;
    tally sum = {0};
    const int threads = crd_pool_threads(plan->pool);
    const int64_t *shape = r->phases[0].shape;
    const double volume = spacing[0] * spacing[1] * spacing[2];
    crd_pool_run(plan->pool, r->phase_count, join_phase, r);
    for (int64_t p = 0; p < r->phase_count; p++) {
        if (r->status[p] == CRD_OK) continue;
        status = crd_error_adopt(&r->errors[p]);
        goto done;
    }
    memset(r->tallies, 0, (size_t)threads * sizeof *r->tallies);
    if (shape[0] > 1) crd_pool_run(plan->pool, (shape[0] - 1 + BAND - 1) / BAND, count_band, r);
    for (int t = 0; t < threads; t++) { /* integers: whoever counted them */
        sum.cells += r->tallies[t].cells;
        for (int i = 0; i < r->triple_count; i++) {
            for (int a = 0; a < 3; a++) sum.crossings[i][a] += r->tallies[t].crossings[i][a];
        }
    }
    for (int i = 0; i < r->triple_count; i++) {
        double length = 0.0;
        for (int a = 0; a < 3; a++) {
            length += (double)sum.crossings[i][a] / (2.0 * (double)sum.cells * (volume / spacing[a]));
        }
        out[i] = sum.cells > 0 ? 2.0 / 3.0 * length : (double)NAN;
    }
done:
    forget_joined(r);
    return status;
}

/* Values of a realisation: [axis of the plan][triple]. */
static crd_status one_realisation(const crd_slow_plan *plan, int64_t bit, const double spacing[3], realisation *r,
                                  double *values, int64_t count)
{
    crd_status status = CRD_OK;
    char name[80];
    bool found;
    snprintf(name, sizeof name, "active-%d%d%d-%lld", plan->axes[0], plan->axes[1], plan->axes[2], (long long)bit);
    CRD_TRY(crd_journal_find(plan->journal, name, values, count * (int64_t)sizeof *values, &found));
    if (found) return CRD_OK;
    for (int64_t p = 0; p < r->phase_count; p++) {
        CRD_TRY(crd_bitmap_read(plan->realisations, 1u << p, false, bit, &r->phases[p]));
    }
    double *at = values;
    for (r->axis = 0; r->axis < 3; r->axis++) {
        if (!plan->axes[r->axis]) continue;
        CRD_TRY(along(plan, r, spacing, at));
        at += r->triple_count;
    }
    CRD_TRY(crd_journal_keep(plan->journal, name, values, count * (int64_t)sizeof *values));
done:
    for (int64_t p = 0; p < r->phase_count; p++) crd_bitmap_free(&r->phases[p]);
    return status;
}

/* ---- all of them ---- */

static crd_status add_all(const crd_slow_plan *plan, const realisation *r, const double *values, int64_t count,
                          double *bits, crd_measurement *m)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    crd_realisations_info taken = *info;
    char note[64], name[CRD_PROPERTY_NAME];
    taken.samples = plan->samples;
    crd_slow_note_samples(plan, note, sizeof note);
    int64_t at = 0;
    for (int axis = 0; axis < 3; axis++) {
        for (int i = 0; plan->axes[axis] && i < r->triple_count; i++, at++) {
            const int *of = r->triples[i].phases;
            for (int64_t bit = 0; bit < info->bits; bit++) bits[bit] = values[bit * count + at];
            snprintf(name, sizeof name, "active_triple_line_%g-%g-%g_%c", info->values[of[0]], info->values[of[1]],
                     info->values[of[2]], "zyx"[axis]);
            CRD_PASS(crd_measurement_add(m, &taken,
                                         &(crd_property_plan){.name = name,
                                                              .phase = (double)NAN,
                                                              .axis = "zyx"[axis],
                                                              .unit = "1/length^2",
                                                              .bits = bits,
                                                              .size_error = (double)NAN,
                                                              .note = note[0] != '\0' ? note : NULL}));
        }
    }
    return CRD_OK;
}

crd_status crd_active_add(const crd_slow_plan *plan, crd_measurement *m)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    realisation r = {.phase_count = info->phases};
    r.triple_count = list_triples(info->phases, r.triples);
    const int64_t count = r.triple_count * (plan->axes[0] + plan->axes[1] + plan->axes[2]);
    const int64_t total = plan->samples + (info->segmentation >= 0);
    int64_t *turns = NULL, turn = 0;
    double *values = NULL, *bits = NULL;
    CRD_TRY(crd_alloc(info->bits * count, sizeof *values, "values", &values));
    CRD_TRY(crd_alloc(info->bits, sizeof *bits, "values", &bits));
    CRD_TRY(crd_alloc(info->bits, sizeof *turns, "turns", &turns));
    CRD_TRY(crd_alloc(crd_pool_threads(plan->pool), sizeof *r.tallies, "counts", &r.tallies));
    for (int64_t i = 0; i < info->bits * count; i++) values[i] = (double)NAN;
    for (int64_t bit = 0; bit < info->bits; bit++) {
        turns[bit] = bit >= plan->samples && bit != info->segmentation ? -1 : turn++;
        if (turns[bit] < 0 || !crd_slow_mine(plan, turns[bit])) continue;
        CRD_TRY(crd_advance(plan->monitor, "active triple lines", "realisations", turns[bit], total, ""));
        CRD_TRY(one_realisation(plan, bit, m->spacing, &r, values + bit * count, count));
    }
    CRD_TRY(crd_slow_share(plan, values, count, turns));
    CRD_TRY(crd_advance(plan->monitor, "active triple lines", "realisations", total, total, ""));
    CRD_TRY(add_all(plan, &r, values, count, bits, m));
done:
    crd_free(&values);
    crd_free(&bits);
    crd_free(&turns);
    crd_free(&r.tallies);
    return status;
}

int64_t crd_active_bytes(const crd_realisations_info *info)
{
    /* of each phase itself and what joins two faces; while that is found, as much again */
    return crd_bitmap_bytes(info) + (info->phases * (info->masked ? 4 : 3)) * crd_bitmap_row_bytes(info->shape);
}

crd_status crd_active_check(const crd_realisations_info *info, int64_t connectivity, int64_t memory_bytes)
{
    const int64_t bytes = crd_active_bytes(info);
    if (info->phases < 3 || info->phases > CRD_TRIPLES_MAX) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "active: triple lines are measured where there are 3 to %d phases, and %s has %lld",
                        CRD_TRIPLES_MAX, info->name, (long long)info->phases);
    }
    if (connectivity != 6) {
        return crd_fail(CRD_ERR_ARGUMENT, "active: what joins two faces is joined across voxels' faces; leave out "
                                          "--connectivity 26");
    }
    if (bytes <= memory_bytes) return CRD_OK;
    return crd_fail(CRD_ERR_MEMORY,
                    "max-memory: active triple lines need %.0f MiB here, and %.0f may be used; allow more, or take a "
                    "part with --bbox",
                    ceil((double)bytes / 0x1p20), floor((double)memory_bytes / 0x1p20));
}
