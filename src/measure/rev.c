#include "measure/rev.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "measure/transport/laplace.h"
#include "measure/weights.h"

/* voxels along the edge of the smallest block; windows of transport along an axis; sizes; percentiles over blocks */
enum { EDGE = 32, WINDOWS = 3, SIZES = 16 };
static const double REPRESENTATIVE = 0.05, PERCENT[2] = {5.0, 95.0};

typedef enum density { FRACTION, SURFACE, CURVATURE, EULER, DENSITIES } density;
static const char *const names[DENSITIES] = {"volume_fraction", "specific_surface", "mean_curvature",
                                             "euler_density_6"};

typedef struct blocks {
    const crd_bitmap *bitmap;
    int64_t count[3];
    uint16_t (*histograms)[CRD_CELL_CODES]; /* of the smallest blocks; at most EDGE^3 cells each */
    bool *whole;                            /* all of its voxels count */
} blocks;

/* EDGE + 1 bits of a row from x on; what lies behind its end is 0. */
static uint64_t bits_from(const crd_bitmap *b, const uint64_t *row, int64_t x)
{
    const int64_t w = x / 64;
    uint64_t bits = row[w] >> x % 64;
    if (x % 64 > 0 && w + 1 < b->words) bits |= row[w + 1] << (64 - x % 64);
    return bits;
}

static void count_block(void *context, int64_t item, int worker)
{
    const blocks *k = context;
    const crd_bitmap *b = k->bitmap;
    const int64_t at[3] = {item / k->count[2] / k->count[1] * EDGE, item / k->count[2] % k->count[1] * EDGE,
                           item % k->count[2] * EDGE};
    uint16_t *histogram = k->histograms[item];
    (void)worker;
    k->whole[item] = true;
    for (int64_t z = at[0]; z < at[0] + EDGE; z++) {
        for (int64_t y = at[1]; y < at[1] + EDGE; y++) {
            uint64_t rows[4], inside = UINT64_MAX;
            if (b->inside != NULL) {
                const uint64_t all = (UINT64_C(1) << EDGE) - 1;
                k->whole[item] &= (bits_from(b, crd_bitmap_row(b, b->inside, z, y), at[2]) & all) == all;
            }
            if (z + 1 >= b->shape[0] || y + 1 >= b->shape[1]) continue;
            for (int i = 0; i < 4; i++) {
                rows[i] = bits_from(b, crd_bitmap_row(b, b->phase, z + (i >> 1), y + (i & 1)), at[2]);
                if (b->inside == NULL) continue;
                inside &= bits_from(b, crd_bitmap_row(b, b->inside, z + (i >> 1), y + (i & 1)), at[2]);
            }
            const int64_t end = at[2] + EDGE < b->shape[2] ? EDGE : EDGE - 1;
            for (int64_t x = 0; x < end; x++) {
                if ((inside >> x & 3) != 3) continue; /* reaches into the next block, and there out of the mask */
                histogram[(rows[0] >> x & 3) | (rows[1] >> x & 3) << 2 | (rows[2] >> x & 3) << 4 |
                          (rows[3] >> x & 3) << 6]++;
            }
        }
    }
}

static double density_of(const crd_cell_weights *weights, const int64_t histogram[CRD_CELL_CODES], density which)
{
    crd_cell_sums sums;
    crd_cell_sum(weights, histogram, &sums);
    return which == FRACTION    ? (double)sums.corners / (8.0 * (double)sums.cells)
           : which == SURFACE   ? crd_surface_density(weights, &sums)
           : which == CURVATURE ? crd_curvature_density(weights, &sums)
                                : crd_euler_density(weights, &sums, 6);
}

/* The densities of blocks of `edge` smallest ones; gives how many are whole. */
static int64_t densities_of(const blocks *k, int64_t edge, const crd_cell_weights *weights,
                            double *const out[DENSITIES])
{
    const int64_t n[3] = {k->count[0] / edge, k->count[1] / edge, k->count[2] / edge};
    int64_t met = 0;
    for (int64_t block = 0; block < n[0] * n[1] * n[2]; block++) {
        int64_t histogram[CRD_CELL_CODES] = {0};
        bool whole = true;
        for (int64_t i = 0; i < edge * edge * edge; i++) {
            const int64_t z = block / n[2] / n[1] * edge + i / edge / edge;
            const int64_t y = block / n[2] % n[1] * edge + i / edge % edge, x = block % n[2] * edge + i % edge;
            const int64_t own = (z * k->count[1] + y) * k->count[2] + x;
            whole &= k->whole[own];
            for (int code = 0; code < CRD_CELL_CODES; code++) histogram[code] += k->histograms[own][code];
        }
        for (int which = 0; whole && which < DENSITIES; which++) {
            out[which][met] = density_of(weights, histogram, (density)which);
        }
        met += whole;
    }
    return met;
}

/* One size of one property. What isn't defined in a window doesn't count. */
static crd_status add_row(crd_measurement *m, const char *name, double phase, int64_t edge, const double *values,
                          int64_t count)
{
    crd_summary summary;
    CRD_PASS(crd_summarise(values, count, PERCENT, &summary));
    if (summary.defined < 2) return CRD_OK;
    const double limit = REPRESENTATIVE * fabs(summary.mean);
    crd_rev_row row = {.phase = phase,
                       .voxels = edge,
                       .blocks = summary.defined,
                       .mean = summary.mean,
                       .std = summary.std,
                       .interval = {summary.interval[0], summary.interval[1]},
                       .representative = summary.std < limit};
    snprintf(row.property, sizeof row.property, "%s", name);
    return crd_measurement_add_rev(m, &row);
}

static crd_status add_densities(const crd_slow_plan *plan, const crd_bitmap *bitmap, crd_measurement *m)
{
    crd_status status = CRD_OK;
    crd_cell_weights weights;
    blocks k = {.bitmap = bitmap};
    double *values[DENSITIES] = {NULL};
    const double phase = crd_realisations_describe(plan->realisations)->values[plan->phase];
    for (int axis = 0; axis < 3; axis++) k.count[axis] = bitmap->shape[axis] / EDGE;
    const int64_t all = k.count[0] * k.count[1] * k.count[2];
    if (all < 2) return CRD_OK;
    crd_cell_weights_make(m->spacing, &weights);
    CRD_TRY(crd_alloc(all, sizeof *k.histograms, "blocks", &k.histograms));
    CRD_TRY(crd_alloc(all, sizeof *k.whole, "blocks", &k.whole));
    for (int i = 0; i < DENSITIES; i++) CRD_TRY(crd_alloc(all, sizeof(double), "blocks", &values[i]));
    crd_pool_run(plan->pool, all, count_block, &k);
    int64_t counts[SIZES] = {0};
    for (int which = 0; which < DENSITIES; which++) {
        int64_t edge = 1;
        for (int size = 0; size < SIZES; size++, edge *= 2) {
            if (edge > k.count[0] || edge > k.count[1] || edge > k.count[2]) break;
            counts[size] = densities_of(&k, edge, &weights, values);
            CRD_TRY(add_row(m, names[which], phase, EDGE * edge, values[which], counts[size]));
        }
    }
done:
    crd_free(&k.histograms);
    crd_free(&k.whole);
    for (int i = 0; i < DENSITIES; i++) crd_free(&values[i]);
    return status;
}

/* ---- transport ---- */

static crd_status solve_windows(const crd_slow_plan *plan, const crd_bitmap *bitmap, const crd_measurement *m, int axis,
                                int64_t edge, double *values, int64_t *count)
{
    crd_status status = CRD_OK;
    crd_bitmap part = {0};
    int64_t n[3];
    *count = 0;
    for (int a = 0; a < 3; a++) n[a] = bitmap->shape[a] / edge < WINDOWS ? bitmap->shape[a] / edge : WINDOWS;
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int64_t place[3] = {i / n[2] / n[1], i / n[2] % n[1], i % n[2]};
        crd_conduction t;
        crd_box box = {.size = {edge, edge, edge}};
        for (int a = 0; a < 3; a++) box.origin[a] = (bitmap->shape[a] - edge) * (2 * place[a] + 1) / (2 * n[a]);
        CRD_TRY(crd_bitmap_crop(bitmap, &box, &part));
        const crd_laplace problem = {.bitmap = &part,
                                     .spacing = {m->spacing[0], m->spacing[1], m->spacing[2]},
                                     .axis = axis,
                                     .tolerance = plan->tolerance,
                                     .cell = 1,
                                     .pool = plan->pool,
                                     .monitor = plan->monitor};
        CRD_TRY(crd_laplace_solve(&problem, &t));
        values[(*count)++] = t.relative;
        crd_bitmap_free(&part);
        CRD_TRY(crd_advance(plan->monitor, "windows of transport", "windows", i + 1, n[0] * n[1] * n[2], ""));
    }
done:
    crd_bitmap_free(&part);
    return status;
}

static crd_status add_transport(const crd_slow_plan *plan, const crd_bitmap *bitmap, crd_measurement *m)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    if (info->masked) return crd_measurement_note(m, "windows of transport aren't laid into masks: they are left out");
    for (int axis = 0; axis < 3; axis++) {
        const int64_t *shape = bitmap->shape;
        for (int64_t edge = EDGE; plan->axes[axis]; edge *= 2) {
            double values[WINDOWS * WINDOWS * WINDOWS];
            char name[CRD_PROPERTY_NAME];
            int64_t count;
            if (edge > shape[0] || edge > shape[1] || edge > shape[2]) break;
            if (crd_laplace_bytes((const int64_t[3]){edge, edge, edge}, 1, false) > plan->memory_bytes / 2) break;
            CRD_PASS(solve_windows(plan, bitmap, m, axis, edge, values, &count));
            snprintf(name, sizeof name, "d_rel_%c", "zyx"[axis]);
            CRD_PASS(add_row(m, name, info->values[plan->phase], edge, values, count));
        }
    }
    return CRD_OK;
}

crd_status crd_rev_add(const crd_slow_plan *plan, bool transport, crd_measurement *m)
{
    crd_status status = CRD_OK;
    crd_bitmap bitmap = {0};
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    CRD_TRY(crd_bitmap_read(plan->realisations, 1u << plan->phase, false,
                            info->segmentation >= 0 ? info->segmentation : 0, &bitmap));
    const int64_t before = m->rev_count;
    CRD_TRY(add_densities(plan, &bitmap, m));
    if (transport) CRD_TRY(add_transport(plan, &bitmap, m));
    if (m->rev_count == before) {
        CRD_TRY(crd_measurement_note(m,
                                     "the window holds less than two blocks of %d voxels: what a representative "
                                     "piece is can't be said",
                                     EDGE));
    }
done:
    crd_bitmap_free(&bitmap);
    return status;
}
