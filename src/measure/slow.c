#include "measure/slow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "measure/thickness/thickness.h"

enum { MEAN, STD, MEDIAN, MOST, FIGURES };

/* Of all bits; NaN where nothing was computed. */
typedef struct thicknesses {
    double *figures[FIGURES];
    double *shares; /* [bit][bin] of the phase's voxels */
    int64_t bins;
    double edge; /* of a bin */
} thicknesses;

static double diameter(int64_t radius, double edge)
{
    return 2.0 * sqrt((double)radius / (double)(1 << CRD_DISTANCE_SHIFT)) * edge;
}

static void describe(const crd_thickness *t, int64_t bit, double edge, thicknesses *out)
{
    double voxels = 0.0, sum = 0.0, square = 0.0, met = 0.0;
    if (t->count == 0) return;
    for (int64_t i = 0; i < t->count; i++) voxels += (double)t->voxels[i];
    for (int64_t i = 0; i < t->count; i++) sum += diameter(t->radii[i], edge) * (double)t->voxels[i];
    for (int64_t i = 0; i < t->count; i++) {
        const double d = diameter(t->radii[i], edge) - sum / voxels;
        square += d * d * (double)t->voxels[i];
    }
    out->figures[MEAN][bit] = sum / voxels;
    out->figures[STD][bit] = sqrt(square / voxels);
    out->figures[MOST][bit] = diameter(t->radii[0], edge);
    for (int64_t i = t->count - 1; i >= 0; i--) { /* from the thinnest on */
        met += (double)t->voxels[i];
        if (2.0 * met < voxels) continue;
        out->figures[MEDIAN][bit] = diameter(t->radii[i], edge);
        break;
    }
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t bin = (int64_t)(diameter(t->radii[i], edge) / edge);
        out->shares[bit * out->bins + (bin < out->bins ? bin : out->bins - 1)] += (double)t->voxels[i] / voxels;
    }
}

/* What a realisation gave: its figures, and the shares behind them. */
static void move_values(thicknesses *t, int64_t bit, double *values, bool into)
{
    for (int64_t i = 0; i < FIGURES + t->bins; i++) {
        double *own = i < FIGURES ? &t->figures[i][bit] : &t->shares[bit * t->bins + i - FIGURES];
        if (into) *own = values[i];
        if (!into) values[i] = *own;
    }
}

static crd_status one_realisation(const crd_slow_plan *plan, int64_t bit, const crd_measurement *m, thicknesses *out)
{
    crd_status status = CRD_OK;
    char name[80];
    double *values = NULL;
    bool found;
    crd_bitmap bitmap = {0};
    crd_thickness t = {0};
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int64_t bytes = (FIGURES + out->bins) * (int64_t)sizeof *values;
    snprintf(name, sizeof name, "thickness-%lld-%lld", (long long)plan->phase, (long long)bit);
    CRD_TRY(crd_alloc(FIGURES + out->bins, sizeof *values, "values", &values));
    CRD_TRY(crd_journal_find(plan->journal, name, values, bytes, &found));
    if (found) move_values(out, bit, values, true);
    if (found) goto done;
    CRD_TRY(crd_bitmap_read(plan->realisations, 1u << plan->phase, false, bit, &bitmap));
    const int64_t left = plan->memory_bytes - 2 * crd_bitmap_bytes(info);
    CRD_TRY(crd_thickness_compute(&bitmap, m->spacing, left, plan->pool, &t));
    describe(&t, bit, out->edge, out);
    move_values(out, bit, values, false);
    CRD_TRY(crd_journal_keep(plan->journal, name, values, bytes));
done:
    crd_free(&values);
    crd_thickness_free(&t);
    crd_bitmap_free(&bitmap);
    return status;
}

/* ---- several processes ---- */

void crd_slow_note_samples(const crd_slow_plan *plan, char *note, size_t size)
{
    const int64_t all = crd_realisations_describe(plan->realisations)->samples;
    note[0] = '\0';
    if (plan->samples < all)
        snprintf(note, size, "first %lld of %lld realisations", (long long)plan->samples, (long long)all);
}

bool crd_slow_mine(const crd_slow_plan *plan, int64_t turn)
{
    return plan->dist == NULL || turn % crd_dist_size(plan->dist) == crd_dist_rank(plan->dist);
}

crd_status crd_slow_share(const crd_slow_plan *plan, double *values, int64_t count, const int64_t *turns)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int64_t all = info->bits * count;
    double *theirs = NULL;
    if (plan->dist == NULL || crd_dist_size(plan->dist) == 1) return CRD_OK;
    const int64_t size = crd_dist_size(plan->dist);
    CRD_TRY(crd_alloc(all * size, sizeof *theirs, "values", &theirs));
    CRD_TRY(crd_dist_share(plan->dist, values, all * (int64_t)sizeof *values, theirs));
    for (int64_t bit = 0; bit < info->bits; bit++) {
        if (turns[bit] < 0) continue;
        memcpy(values + bit * count, theirs + turns[bit] % size * all + bit * count, (size_t)count * sizeof *values);
    }
done:
    crd_free(&theirs);
    return status;
}

static crd_status compute(const crd_slow_plan *plan, const crd_realisations_info *info, const crd_measurement *m,
                          thicknesses *out)
{
    crd_status status = CRD_OK;
    int64_t turn = 0, *turns = NULL;
    const int64_t total = plan->samples + (info->segmentation >= 0);
    CRD_TRY(crd_alloc(info->bits, sizeof *turns, "turns", &turns));
    for (int64_t bit = 0; bit < info->bits; bit++) {
        turns[bit] = bit >= plan->samples && bit != info->segmentation ? -1 : turn++;
        if (turns[bit] < 0 || !crd_slow_mine(plan, turns[bit])) continue;
        CRD_TRY(crd_advance(plan->monitor, "local thickness", "realisations", turns[bit], total, ""));
        CRD_TRY(one_realisation(plan, bit, m, out));
    }
    for (int i = 0; i < FIGURES; i++) CRD_TRY(crd_slow_share(plan, out->figures[i], 1, turns));
    CRD_TRY(crd_slow_share(plan, out->shares, out->bins, turns));
    CRD_TRY(crd_advance(plan->monitor, "local thickness", "realisations", total, total, ""));
done:
    crd_free(&turns);
    return status;
}

static crd_status add_all(const crd_slow_plan *plan, const crd_realisations_info *info, const thicknesses *t,
                          crd_measurement *m)
{
    static const char *const names[FIGURES] = {"thickness_mean", "thickness_std", "thickness_median", "thickness_max"};
    crd_status status = CRD_OK;
    crd_realisations_info taken = *info;
    const double value = info->values[plan->phase];
    double *edges = NULL;
    char note[64];
    int64_t used = 1;
    taken.samples = plan->samples;
    crd_slow_note_samples(plan, note, sizeof note);
    for (int i = 0; i < FIGURES; i++) {
        CRD_TRY(crd_measurement_add(m, &taken,
                                    &(crd_property_plan){.name = names[i],
                                                         .phase = value,
                                                         .unit = "length",
                                                         .bits = t->figures[i],
                                                         .size_error = (double)NAN,
                                                         .why = "the phase is empty or fills the window",
                                                         .note = note[0] != '\0' ? note : NULL}));
    }
    for (int64_t i = 0; i < info->bits * t->bins; i++) {
        if (t->shares[i] > 0.0 && i % t->bins >= used) used = i % t->bins + 1;
    }
    for (int64_t b = 0; b < info->bits; b++) memmove(t->shares + b * used, t->shares + b * t->bins, (size_t)used * 8);
    CRD_TRY(crd_alloc(used + 1, sizeof *edges, "a distribution", &edges));
    for (int64_t i = 0; i <= used; i++) edges[i] = (double)i * t->edge;
    CRD_TRY(crd_measurement_add_distribution(
        m, &taken,
        &(crd_distribution_plan){
            .name = "thickness", .phase = value, .unit = "length", .edges = edges, .rows = t->shares, .count = used}));
done:
    crd_free(&edges);
    return status;
}

crd_status crd_slow_thickness(const crd_slow_plan *plan, crd_measurement *m)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    thicknesses t = {.edge = m->spacing[0]};
    double longest = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        t.edge = m->spacing[axis] < t.edge ? m->spacing[axis] : t.edge;
        longest += m->spacing[axis] * (double)m->shape[axis];
    }
    t.bins = (int64_t)(2.0 * longest / t.edge) + 2; /* no ball is larger than twice the way through the window */
    CRD_TRY(crd_alloc(info->bits * t.bins, sizeof *t.shares, "a distribution", &t.shares));
    for (int i = 0; i < FIGURES; i++) {
        CRD_TRY(crd_alloc(info->bits, sizeof(double), "values", &t.figures[i]));
        for (int64_t b = 0; b < info->bits; b++) t.figures[i][b] = (double)NAN;
    }
    CRD_TRY(compute(plan, info, m, &t));
    CRD_TRY(add_all(plan, info, &t, m));
done:
    for (int i = 0; i < FIGURES; i++) crd_free(&t.figures[i]);
    crd_free(&t.shares);
    return status;
}

int64_t crd_slow_thickness_bytes(const crd_realisations_info *info, int64_t memory_bytes)
{
    const int64_t bitmaps = 2 * crd_bitmap_bytes(info);
    return bitmaps + crd_thickness_needs(info->shape, memory_bytes - bitmaps);
}
