/* Transport of every realisation. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "measure/laplace.h"
#include "measure/slow.h"

/* Of all bits along one axis; NaN where nothing was computed. */
typedef struct transports {
    double *relative, *tortuosity, *formation;
    int64_t computed, joined, unfinished; /* realisations; of them, how many percolate and didn't converge */
} transports;

static crd_status one_realisation(const crd_slow_plan *plan, int64_t bit, int axis, const crd_measurement *m,
                                  transports *out)
{
    crd_status status = CRD_OK;
    crd_bitmap bitmap = {0};
    crd_transport t;
    const double voxels = (double)m->shape[0] * (double)m->shape[1] * (double)m->shape[2];
    CRD_TRY(crd_bitmap_read(plan->realisations, plan->phase, bit, &bitmap));
    CRD_TRY(crd_laplace_solve(&bitmap, m->spacing, axis, plan->tolerance, plan->pool, &t));
    out->relative[bit] = t.relative;
    /* nothing percolates: infinite, or undefined where there is no phase at all */
    const double fraction = (double)bitmap.voxels / voxels;
    out->tortuosity[bit] = bitmap.voxels > 0 ? (t.relative > 0.0 ? fraction / t.relative : HUGE_VAL) : (double)NAN;
    out->formation[bit] = t.relative > 0.0 ? 1.0 / t.relative : HUGE_VAL;
    if (bit >= plan->samples) goto done;
    out->computed++;
    out->joined += t.percolating > 0;
    out->unfinished += !t.converged;
done:
    crd_bitmap_free(&bitmap);
    return status;
}

static crd_status add_axis(const crd_slow_plan *plan, const crd_realisations_info *info, int axis, const transports *t,
                           crd_measurement *m)
{
    crd_realisations_info taken = *info;
    char note[96] = "", name[40];
    const struct {
        const char *name;
        const double *bits;
    } rows[] = {{"d_rel", t->relative}, {"tortuosity_factor", t->tortuosity}, {"formation_factor", t->formation}};
    taken.samples = plan->samples;
    if (t->computed > 0) {
        snprintf(note, sizeof note, "percolates in %lld of %lld", (long long)t->joined, (long long)t->computed);
    } else if (!(t->relative[info->segmentation] > 0.0)) {
        snprintf(note, sizeof note, "nothing percolates along %c", "zyx"[axis]);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_%c", rows[i].name, "zyx"[axis]);
        CRD_PASS(crd_measurement_add(m, &taken,
                                     &(crd_property_plan){.name = name,
                                                          .phase = info->values[plan->phase],
                                                          .axis = "zyx"[axis],
                                                          .unit = "1",
                                                          .bits = rows[i].bits,
                                                          .size_error = (double)NAN,
                                                          .note = i == 0 && note[0] != '\0' ? note : NULL}));
    }
    if (t->unfinished == 0) return CRD_OK;
    return crd_measurement_note(m, "along %c the solver of %lld realisations stopped before its tolerance", "zyx"[axis],
                                (long long)t -> unfinished);
}

static crd_status along(const crd_slow_plan *plan, int axis, crd_measurement *m)
{
    crd_status status = CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int64_t total = plan->samples + (info->segmentation >= 0);
    transports t = {0};
    int64_t done = 0;
    double **const arrays[] = {&t.relative, &t.tortuosity, &t.formation};
    for (int k = 0; k < 3; k++) {
        CRD_TRY(crd_alloc(info->bits, sizeof(double), "values", arrays[k]));
        for (int64_t b = 0; b < info->bits; b++) (*arrays[k])[b] = (double)NAN;
    }
    for (int64_t bit = 0; bit < info->bits; bit++) {
        if (bit >= plan->samples && bit != info->segmentation) continue;
        CRD_TRY(crd_advance(plan->monitor, "transport", "realisations", done++, total, ""));
        CRD_TRY(one_realisation(plan, bit, axis, m, &t));
    }
    CRD_TRY(crd_advance(plan->monitor, "transport", "realisations", total, total, ""));
    CRD_TRY(add_axis(plan, info, axis, &t, m));
done:
    for (int k = 0; k < 3; k++) crd_free(arrays[k]);
    return status;
}

crd_status crd_slow_transport(const crd_slow_plan *plan, crd_measurement *m)
{
    const crd_realisations_info *info = crd_realisations_describe(plan->realisations);
    const int64_t bytes = 3 * crd_bitmap_bytes(info) + crd_laplace_bytes(info->shape);
    if (bytes > plan->memory_bytes) {
        return crd_fail(CRD_ERR_MEMORY,
                        "max-memory: transport needs %.0f MiB here, and %.0f may be used; allow more, or take a part "
                        "with --bbox",
                        ceil((double)bytes / 0x1p20), floor((double)plan->memory_bytes / 0x1p20));
    }
    for (int axis = 0; axis < 3; axis++) {
        if (plan->axes[axis]) CRD_PASS(along(plan, axis, m));
    }
    return CRD_OK;
}
