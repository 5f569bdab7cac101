/* Transport of every realisation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "measure/slow.h"
#include "measure/transport/two_level.h"

/* What is kept of a realisation along an axis. */
enum {
    RELATIVE,
    TORTUOSITY,
    FORMATION,
    JOINED_TORTUOSITY,
    ERROR,
    UNEVEN,
    CONVERGED,
    CORRECTION,
    RATIO,
    BOX,
    FIGURES = BOX + 6
};

typedef struct transports {
    double *figures[FIGURES]; /* of all bits along one axis; NaN where nothing was computed */
    crd_slow_way way;
    double ratio;                         /* of the segmentation; 0: it has none, and each has its own */
    int64_t computed, joined, unfinished; /* realisations; of them, how many percolate and didn't converge */
    crd_box box;                          /* in a mask */
} transports;

/* The phases that conduct. */
static unsigned conducting(const crd_slow_plan *plan)
{
    unsigned phases = 0;
    if (plan->conductivity == NULL) return 1u << plan->phase;
    for (int p = 0; p < CRD_PHASES_MAX; p++) phases |= (unsigned)(plan->conductivity[p] > 0.0) << p;
    return phases;
}

static crd_status read_whole(const crd_slow_plan *plan, int64_t bit, crd_bitmap *out)
{
    return crd_bitmap_read(plan->realisations, conducting(plan), plan->conductivity != NULL, bit, out);
}

/* One realisation's window: the whole, or the box inside the mask. */
static crd_status read_part(const crd_slow_plan *plan, int64_t bit, transports *t, crd_bitmap *out)
{
    crd_status status = CRD_OK;
    crd_bitmap whole = {0};
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    if (!info->masked) return read_whole(plan, bit, out);
    CRD_TRY(read_whole(plan, bit, &whole));
    t->box = crd_bitmap_centred_box(&whole);
    if (t->box.size[0] == 0 || t->box.size[1] == 0 || t->box.size[2] == 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT,
                 "mask: transport is computed in boxes, and the middle of %s lies outside the mask; "
                 "take a part with --bbox",
                 info->name);
    }
    CRD_TRY(crd_bitmap_crop(&whole, &t->box, out));
done:
    crd_bitmap_free(&whole);
    return status;
}

/* The ratio that corrects what coarse cells say. */
static crd_status find_ratio(const crd_laplace *problem, transports *t, double coarse, double *ratio)
{
    crd_conduction exact;
    if (t->way.method == CRD_BY_SEGMENTATION && t->ratio > 0.0) {
        *ratio = t->ratio;
        return CRD_OK;
    }
    if (t->way.window > 0) {
        CRD_PASS(crd_two_level_ratio(problem, t->way.window, ratio));
    } else {
        crd_laplace voxels = *problem;
        voxels.cell = 1;
        CRD_PASS(crd_laplace_solve(&voxels, &exact));
        *ratio = coarse > 0.0 ? exact.relative / coarse : 1.0;
    }
    return CRD_OK;
}

static crd_status solve(const crd_slow_plan *plan, const crd_bitmap *bitmap, int axis, const double spacing[3],
                        transports *all, crd_conduction *out, double *ratio)
{
    crd_laplace problem = {.bitmap = bitmap,
                           .spacing = {spacing[0], spacing[1], spacing[2]},
                           .axis = axis,
                           .tolerance = plan->tolerance,
                           .conductivity = plan->conductivity,
                           .cell = all->way.method == CRD_ON_VOXELS ? 1 : 2,
                           .pool = plan->pool,
                           .monitor = plan->monitor};
    if (all->way.on_device) {
        problem.backend = plan->device->backend;
        problem.device = &plan->device->settings;
    }
    *ratio = 1.0;
    CRD_PASS(crd_laplace_solve(&problem, out));
    if (all->way.method != CRD_ON_VOXELS && out->relative > 0.0)
        CRD_PASS(find_ratio(&problem, all, out->relative, ratio));
    out->relative *= *ratio;
    return CRD_OK;
}

static crd_status compute(const crd_slow_plan *plan, int64_t bit, int axis, const crd_measurement *m, transports *out,
                          double figures[FIGURES])
{
    crd_status status = CRD_OK;
    crd_bitmap bitmap = {0};
    crd_conduction t;
    double ratio;
    CRD_TRY(read_part(plan, bit, out, &bitmap));
    CRD_TRY(solve(plan, &bitmap, axis, m->spacing, out, &t, &ratio));
    const double voxels = (double)bitmap.shape[0] * (double)bitmap.shape[1] * (double)bitmap.shape[2];
    /* nothing percolates: infinite, or undefined where there is no phase at all */
    const double none = bitmap.voxels > 0 ? HUGE_VAL : (double)NAN;
    const bool joined = t.relative > 0.0;
    const double found[FIGURES] = {
        [RELATIVE] = t.relative,
        [TORTUOSITY] = joined ? (double)bitmap.voxels / voxels / t.relative : none,
        [JOINED_TORTUOSITY] = joined ? (double)t.percolating / voxels / t.relative : none,
        [FORMATION] = joined ? 1.0 / t.relative : HUGE_VAL,
        [ERROR] = t.error,
        [UNEVEN] = t.uneven,
        [CONVERGED] = t.converged ? 1.0 : 0.0,
        [CORRECTION] = ratio - 1.0,
        [RATIO] = ratio,
    };
    memcpy(figures, found, sizeof found);
    for (int k = 0; k < 3; k++) {
        figures[BOX + k] = (double)out->box.origin[k];
        figures[BOX + 3 + k] = (double)out->box.size[k];
    }
done:
    crd_bitmap_free(&bitmap);
    return status;
}

static crd_status one_realisation(const crd_slow_plan *plan, int64_t bit, int axis, const crd_measurement *m,
                                  transports *out)
{
    double figures[FIGURES];
    char name[80];
    bool found;
    /* last digits are those of what computed them: a measurement has those of one device */
    const char *where = out->way.on_device ? "-device" : "";
    if (plan->conductivity != NULL) {
        snprintf(name, sizeof name, "conduction-%c-%lld%s", "zyx"[axis], (long long)bit, where);
    } else {
        snprintf(name, sizeof name, "transport-%lld-%c-%lld%s", (long long)plan->phase, "zyx"[axis], (long long)bit,
                 where);
    }
    CRD_PASS(crd_journal_find(plan->journal, name, figures, sizeof figures, &found));
    if (!found) {
        CRD_PASS(compute(plan, bit, axis, m, out, figures));
        CRD_PASS(crd_journal_keep(plan->journal, name, figures, sizeof figures));
    }
    for (int i = 0; i < FIGURES; i++) out->figures[i][bit] = figures[i];
    for (int k = 0; k < 3; k++) {
        out->box.origin[k] = (int64_t)figures[BOX + k];
        out->box.size[k] = (int64_t)figures[BOX + 3 + k];
    }
    return CRD_OK;
}

/* ---- what is said ---- */

static void write_note(const crd_slow_plan *plan, const crd_realisations_info *info, int axis, const transports *t,
                       char *note, size_t size)
{
    if (t->computed > 0) {
        const int length =
            snprintf(note, size, "percolates in %lld of %lld", (long long)t->joined, (long long)t->computed);
        if (plan->samples < info->samples && length > 0) {
            snprintf(note + length, size - (size_t)length, ", ");
            crd_slow_note_samples(plan, note + length + 2, size - (size_t)length - 2);
        }
    } else if (info->segmentation >= 0 && !(t->figures[RELATIVE][info->segmentation] > 0.0)) {
        snprintf(note, size, "nothing percolates along %c", "zyx"[axis]);
    }
}

static crd_status add_notes(const crd_slow_plan *plan, int axis, const transports *t, crd_measurement *m)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int64_t *size = t->box.size, *origin = t->box.origin, window = t->way.window;
    const int64_t unfinished = t->unfinished, computed = t->computed;
    const double ratio = t->ratio;
    double most = 0.0;
    if (unfinished > 0) {
        CRD_PASS(crd_measurement_note(
            m, "along %c the solver stopped before its tolerance in %lld of %lld segmentations", "zyx"[axis],
            (long long)unfinished, (long long)(computed + (info->segmentation >= 0))));
    }
    if (info->masked) {
        CRD_PASS(crd_measurement_note(m,
                                      "transport along %c is that of the largest box in the middle of the mask: "
                                      "%lld x %lld x %lld voxels from %lld,%lld,%lld on",
                                      "zyx"[axis], (long long)size[0], (long long)size[1], (long long)size[2],
                                      (long long)origin[0], (long long)origin[1], (long long)origin[2]));
    }
    if (t->way.method == CRD_ON_VOXELS) return CRD_OK;
    for (int64_t bit = 0; bit < info->bits; bit++) {
        if (fabs(t->figures[CORRECTION][bit]) > most) most = fabs(t->figures[CORRECTION][bit]);
    }
    if (t->way.method == CRD_BY_SEGMENTATION) {
        const char *first = info->segmentation >= 0 ? "the segmentation" : "the first realisation";
        return crd_measurement_note(m,
                                    "transport along %c is that of cells of 2x2x2 voxels, corrected by up to %.2g %%, "
                                    "which is also its error: by what voxels give for %s",
                                    "zyx"[axis], 100.0 * most, ratio > 0.0 ? first : "each realisation");
    }
    return crd_measurement_note(m,
                                "transport along %c is that of cells of 2x2x2 voxels, corrected by up to %.2g %%, "
                                "which is also its error: by what voxels give in windows of %lld voxels",
                                "zyx"[axis], 100.0 * most, (long long)window);
}

/* The formation factor's interval is the inverse of that of D_rel, and holds the truth where that one does. */
static void take_inverse(const crd_property *relative, crd_property *formation)
{
    if (!relative->shown) return;
    for (int k = 0; k < 2; k++) {
        const double end = relative->interval[1 - k];
        formation->interval[k] = end > 0.0 ? 1.0 / end : HUGE_VAL;
    }
    formation->shown = true;
    formation->coverage_held = relative->coverage_held;
    formation->coverage_phantoms = relative->coverage_phantoms;
}

static crd_status add_axis(const crd_slow_plan *plan, int axis, const transports *t, crd_measurement *m)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    crd_realisations_info taken = *info;
    char note[96] = "", why[32], name[CRD_PROPERTY_NAME];
    int64_t relative = 0;
    static const char *const names[] = {"d_rel", "tortuosity_factor", "formation_factor"};
    taken.samples = plan->samples;
    write_note(plan, info, axis, t, note, sizeof note);
    snprintf(why, sizeof why, "nothing percolates along %c", "zyx"[axis]);
    for (int i = 0; i < 3; i++) {
        const bool several = plan->conductivity != NULL;
        if (several && i == TORTUOSITY) continue; /* there is no share of a phase that it could relate to */
        crd_property_plan property = {.name = name,
                                      .phase = several ? (double)NAN : info->values[plan->phase],
                                      .axis = "zyx"[axis],
                                      .unit = "1",
                                      .bits = t->figures[i],
                                      .size_error = (double)NAN,
                                      .by_cuts = i == RELATIVE && !several,
                                      .why = i == RELATIVE ? NULL : why,
                                      .note = i == RELATIVE && note[0] != '\0' ? note : NULL};
        snprintf(name, sizeof name, "%s_%c", names[i], "zyx"[axis]);
        if (i == RELATIVE) {
            static const char *const details[] = {"error", "flux_difference", "converged", "correction"};
            for (int d = 0; d < (t->way.method == CRD_ON_VOXELS ? 3 : 4); d++) {
                property.details[d].name = details[d];
                property.details[d].bits = t->figures[ERROR + d];
            }
        } else if (i == TORTUOSITY) {
            property.details[0].name = "percolating_part";
            property.details[0].bits = t->figures[JOINED_TORTUOSITY];
        }
        CRD_PASS(crd_measurement_add(m, &taken, &property));
        if (i == RELATIVE) relative = m->property_count - 1;
        if (i == FORMATION) take_inverse(&m->properties[relative], &m->properties[m->property_count - 1]);
    }
    return add_notes(plan, axis, t, m);
}

/* ---- one axis after the other ---- */

/* The segmentation comes first: its ratio may be what corrects the others. */
static int64_t bit_of_turn(const crd_realisations_info *info, int64_t samples, int64_t turn)
{
    const int64_t first = info->segmentation >= 0;
    if (turn < first) return info->segmentation;
    return turn < first + samples ? turn - first : info->cuts[turn - first - samples];
}

static crd_status along(const crd_slow_plan *plan, const transports *how, int axis, crd_measurement *m)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int64_t cuts = info->cuts[0] >= 0 ? 2 : 0;
    const int64_t total = plan->samples + (info->segmentation >= 0) + cuts;
    transports t = *how;
    int64_t *turns = NULL;
    CRD_TRY(crd_alloc(info->bits, sizeof *turns, "turns", &turns));
    for (int64_t b = 0; b < info->bits; b++) turns[b] = -1;
    for (int k = 0; k < FIGURES; k++) {
        CRD_TRY(crd_alloc(info->bits, sizeof(double), "values", &t.figures[k]));
        for (int64_t b = 0; b < info->bits; b++) t.figures[k][b] = (double)NAN;
    }
    for (int64_t turn = 0; turn < total; turn++) {
        const int64_t bit = bit_of_turn(info, plan->samples, turn);
        const bool all = turn == 0 && how->way.method == CRD_BY_SEGMENTATION; /* everybody needs its ratio */
        turns[bit] = turn;
        if (!all && !crd_slow_mine(plan, turn)) continue;
        CRD_TRY(crd_advance(plan->monitor, "transport", "realisations", turn, total, ""));
        CRD_TRY(one_realisation(plan, bit, axis, m, &t));
        /* that of another would depend on their order, and on which process computes which */
        if (turn == 0 && t.figures[RELATIVE][bit] > 0.0) t.ratio = t.figures[RATIO][bit];
    }
    for (int k = 0; k < FIGURES; k++) CRD_TRY(crd_slow_share(plan, t.figures[k], 1, turns));
    for (int64_t bit = 0; bit < plan->samples; bit++) {
        t.computed++;
        t.joined += t.figures[RELATIVE][bit] > 0.0;
        t.unfinished += t.figures[CONVERGED][bit] == 0.0;
    }
    if (info->segmentation >= 0) t.unfinished += t.figures[CONVERGED][info->segmentation] == 0.0;
    CRD_TRY(crd_advance(plan->monitor, "transport", "realisations", total, total, ""));
    CRD_TRY(add_axis(plan, axis, &t, m));
done:
    for (int k = 0; k < FIGURES; k++) crd_free(&t.figures[k]);
    crd_free(&turns);
    return status;
}

crd_status crd_slow_transport(const crd_slow_plan *plan, crd_measurement *m)
{
    transports how = {0};
    CRD_PASS(crd_slow_transport_way(plan, &how.way));
    if (how.way.instead[0] != '\0') crd_info(plan->monitor, "%s", how.way.instead);
    snprintf(m->transport_device, sizeof m->transport_device, "%s", how.way.on_device ? plan->device->text : "cpu");
    for (int axis = 0; axis < 3; axis++) {
        if (plan->axes[axis]) CRD_PASS(along(plan, &how, axis, m));
    }
    return CRD_OK;
}
