#include "measure/properties.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char axes[3] = {'z', 'y', 'x'};

/* What all functions here look at. */
typedef struct making {
    const crd_pass *pass;
    const crd_realisations_info *info;
    int64_t phase;
    double value; /* of the phase */
    crd_cell_weights weights;
    double *bits;             /* room for one value of each realisation */
    const double *systematic; /* as that of crd_property_plan */
    crd_measurement *m;
} making;

/* `why` a value can be missing: words, to which the axis is added where they end with a space; NULL: it can't. */
static crd_status add_some(const making *k, const char *name, int axis, const char *unit, double size_error,
                           const char *note, const char *why)
{
    char full[CRD_PROPERTY_NAME], reason[64];
    if (axis >= 0) {
        snprintf(full, sizeof full, "%s_%c", name, axes[axis]);
    } else {
        snprintf(full, sizeof full, "%s", name);
    }
    if (axis >= 0 && why != NULL && why[strlen(why) - 1] == ' ') {
        snprintf(reason, sizeof reason, "%s%c", why, axes[axis]);
        why = reason;
    }
    const crd_property_plan plan = {.name = full,
                                    .phase = k->value,
                                    .axis = axis >= 0 ? axes[axis] : '\0',
                                    .unit = unit,
                                    .bits = k->bits,
                                    .size_error = size_error,
                                    .systematic = k->systematic,
                                    .note = note,
                                    .why = why};
    return crd_measurement_add(k->m, k->info, &plan);
}

static crd_status add(const making *k, const char *name, int axis, const char *unit, double size_error,
                      const char *note)
{
    return add_some(k, name, axis, unit, size_error, note, NULL);
}

/* ---- cells ---- */

typedef enum density { FRACTION, SURFACE, MESH, CURVATURE, EULER_6, EULER_26, DENSITIES } density;

static double density_of(const crd_cell_weights *weights, const int64_t histogram[CRD_CELL_CODES], density which)
{
    crd_cell_sums sums;
    crd_cell_sum(weights, histogram, &sums);
    switch (which) {
    case FRACTION:
        return sums.cells > 0 ? (double)sums.corners / (8.0 * (double)sums.cells) : (double)NAN;
    case SURFACE:
        return crd_surface_density(weights, &sums);
    case MESH:
        return crd_mesh_density(weights, histogram);
    case CURVATURE:
        return crd_curvature_density(weights, &sums);
    default:
        return crd_euler_density(weights, &sums, which == EULER_6 ? 6 : 26);
    }
}

/* The deviation of the mean over the blocks of the segmentation. */
static double size_error_of(const making *k, density which)
{
    int own;
    if (k->info->segmentation < 0) return (double)NAN;
    const crd_cells *cells = &crd_pass_part_of(k->pass, k->phase, k->info->segmentation, &own)->cells;
    const int64_t count = cells->blocks[0] * cells->blocks[1] * cells->blocks[2];
    double sum = 0.0, square = 0.0;
    int64_t met = 0;
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < count && cells->own >= 0; i++) {
            const double value = density_of(&k->weights, cells->block[i], which);
            if (isnan(value)) continue; /* the mask leaves it out */
            if (round == 0) {
                met++;
                sum += value;
            } else {
                const double d = value - sum / (double)met;
                square += d * d;
            }
        }
    }
    return met > 1 ? sqrt(square / (double)(met - 1) / (double)met) : (double)NAN;
}

/* Voxels of the phase: every voxel is a corner of eight cells. */
static int64_t voxels_of(const making *k, int64_t bit)
{
    int own;
    crd_cell_sums inner, outer;
    const crd_cells *cells = &crd_pass_part_of(k->pass, k->phase, bit, &own)->cells;
    crd_cell_sum(&k->weights, cells->inner[own], &inner);
    crd_cell_sum(&k->weights, cells->outer[own], &outer);
    return (inner.corners + outer.corners) / 8;
}

static crd_status add_fraction(making *k)
{
    int64_t empty = 0, full = 0;
    char note[160] = "";
    for (int64_t i = 0; i < k->info->bits; i++) {
        const int64_t voxels = voxels_of(k, i);
        k->bits[i] = (double)voxels / (double)k->pass->voxels;
        empty += voxels == 0;
        full += voxels == k->pass->voxels;
    }
    if (empty > 0 || full > 0) {
        const char *how = empty >= full ? "is empty" : "fills the window";
        snprintf(note, sizeof note, "the phase %s", how);
        if (k->info->bits > 1) {
            snprintf(note, sizeof note, "the phase %s in %lld of %lld segmentations%s", how,
                     (long long)(empty >= full ? empty : full), (long long)k->info->bits,
                     empty > 0 && full > 0 ? ", and fills the window in others" : "");
        }
    }
    k->systematic = &k->info->systematic[k->pass->plan.phases[k->phase]];
    CRD_PASS(add(k, "volume_fraction", -1, "1", size_error_of(k, FRACTION), note[0] != '\0' ? note : NULL));
    k->systematic = NULL;
    return CRD_OK;
}

static crd_status add_densities(making *k)
{
    static const struct {
        density which;
        const char *name, *unit;
    } rows[] = {{SURFACE, "specific_surface", "1/length"},
                {MESH, "specific_surface_mesh", "1/length"},
                {CURVATURE, "mean_curvature", "1/length^2"},
                {EULER_6, "euler_density_6", "1/length^3"},
                {EULER_26, "euler_density_26", "1/length^3"}};
    const int64_t *shape = k->info->shape;
    const bool thin = shape[0] < 2 || shape[1] < 2 || shape[2] < 2;
    const char *note = thin ? "the window is one voxel thick: there are no cells of 2x2x2 voxels" : NULL;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (int64_t i = 0; i < k->info->bits; i++) {
            int own;
            const crd_cells *cells = &crd_pass_part_of(k->pass, k->phase, i, &own)->cells;
            k->bits[i] = density_of(&k->weights, cells->inner[own], rows[r].which);
        }
        CRD_PASS(add(k, rows[r].name, -1, rows[r].unit, size_error_of(k, rows[r].which), note));
    }
    for (int kind = 0; kind < 2; kind++) {
        for (int64_t i = 0; i < k->info->bits; i++) {
            int own;
            crd_cell_sums inner, outer;
            const crd_cells *cells = &crd_pass_part_of(k->pass, k->phase, i, &own)->cells;
            crd_cell_sum(&k->weights, cells->inner[own], &inner);
            crd_cell_sum(&k->weights, cells->outer[own], &outer);
            k->bits[i] = thin ? (double)NAN : (double)((inner.euler[kind] + outer.euler[kind]) / 8);
        }
        CRD_PASS(add(k, kind == 0 ? "euler_6" : "euler_26", -1, "1", (double)NAN, note));
    }
    return CRD_OK;
}

/* ---- components ---- */

static const crd_component_counts *components_of(const making *k, int64_t bit)
{
    int own;
    const crd_pass_part *part = crd_pass_part_of(k->pass, k->phase, bit, &own);
    return &part->components.counts[own];
}

static crd_status add_sizes(making *k)
{
    crd_status status = CRD_OK;
    double *rows = NULL, edges[CRD_SIZE_BINS + 1];
    int64_t bins = 1;
    for (int64_t i = 0; i < k->info->bits; i++) {
        for (int64_t b = 0; b < CRD_SIZE_BINS; b++) {
            if (components_of(k, i)->sizes[b] > 0 && b >= bins) bins = b + 1;
        }
    }
    CRD_TRY(crd_alloc(k->info->bits * bins, sizeof *rows, "a distribution", &rows));
    for (int64_t i = 0; i < k->info->bits * bins; i++) rows[i] = (double)components_of(k, i / bins)->sizes[i % bins];
    for (int64_t b = 0; b <= bins; b++) edges[b] = ldexp(1.0, (int)b);
    CRD_TRY(crd_measurement_add_distribution(k->m, k->info,
                                             &(crd_distribution_plan){.name = "component_size",
                                                                      .phase = k->value,
                                                                      .unit = "voxel",
                                                                      .edges = edges,
                                                                      .rows = rows,
                                                                      .count = bins}));
done:
    crd_free(&rows);
    return status;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static crd_status add_components(making *k)
{
    for (int64_t i = 0; i < k->info->bits; i++) k->bits[i] = (double)components_of(k, i)->components;
    CRD_PASS(add(k, "components", -1, "1", (double)NAN, NULL));
    for (int64_t i = 0; i < k->info->bits; i++) {
        k->bits[i] = share(components_of(k, i)->largest, components_of(k, i)->voxels);
    }
    CRD_PASS(add_some(k, "largest_share", -1, "1", (double)NAN, NULL, "the phase is empty"));
    for (int64_t i = 0; i < k->info->bits; i++) {
        k->bits[i] = share(components_of(k, i)->closed, components_of(k, i)->voxels);
    }
    CRD_PASS(add_some(k, "closed_share", -1, "1", (double)NAN, NULL, "the phase is empty"));
    for (int axis = 0; axis < 3; axis++) {
        char note[80];
        int64_t joined = 0;
        for (int64_t i = 0; i < k->info->bits; i++) {
            k->bits[i] = components_of(k, i)->joining[axis] > 0 ? 1.0 : 0.0;
            joined += i < k->info->samples && k->bits[i] > 0.0;
        }
        snprintf(note, sizeof note, "percolates in %lld of %lld", (long long)joined, (long long)k->info->samples);
        CRD_PASS(add(k, "percolates", axis, "1", (double)NAN, k->info->samples > 0 ? note : NULL));
        for (int64_t i = 0; i < k->info->bits; i++) {
            k->bits[i] = share(components_of(k, i)->percolating[axis], components_of(k, i)->voxels);
        }
        CRD_PASS(add_some(k, "percolating_share", axis, "1", (double)NAN, NULL, "the phase is empty"));
    }
    return add_sizes(k);
}

/* ---- chords ---- */

static const crd_chord_counts *chord_of(const making *k, int64_t bit, int axis)
{
    int own;
    const crd_pass_part *part = crd_pass_part_of(k->pass, k->phase, bit, &own);
    return axis == 2 ? &part->components.chord[own] : &part->chords.chord[axis][own];
}

static int64_t lag_index(const crd_pass *pass, int64_t lag)
{
    int64_t index = 0;
    while (index < pass->plan.lag_count && pass->plan.lags[index] != lag) index++;
    return index;
}

static crd_status add_chord_lengths(making *k, int axis)
{
    crd_status status = CRD_OK;
    double *rows = NULL, *edges = NULL;
    int64_t bins = 1;
    char name[16];
    for (int64_t i = 0; i < k->info->bits; i++) {
        for (int64_t l = 1; l <= k->info->shape[axis]; l++) {
            if (chord_of(k, i, axis)->whole[l] > 0 && l > bins) bins = l;
        }
    }
    CRD_TRY(crd_alloc(k->info->bits * bins, sizeof *rows, "a distribution", &rows));
    CRD_TRY(crd_alloc(bins + 1, sizeof *edges, "a distribution", &edges));
    for (int64_t i = 0; i < k->info->bits * bins; i++) {
        rows[i] = (double)chord_of(k, i / bins, axis)->whole[i % bins + 1];
    }
    for (int64_t l = 0; l <= bins; l++) edges[l] = ((double)l + 0.5) * k->m->spacing[axis];
    snprintf(name, sizeof name, "chord_%c", axes[axis]);
    CRD_TRY(crd_measurement_add_distribution(k->m, k->info,
                                             &(crd_distribution_plan){.name = name,
                                                                      .phase = k->value,
                                                                      .axis = axes[axis],
                                                                      .unit = "length",
                                                                      .edges = edges,
                                                                      .rows = rows,
                                                                      .count = bins}));
done:
    crd_free(&rows);
    crd_free(&edges);
    return status;
}

static crd_status add_chords(making *k)
{
    const int64_t one = lag_index(k->pass, 1), lags = k->pass->plan.lag_count;
    for (int axis = 0; axis < 3; axis++) {
        const double spacing = k->m->spacing[axis];
        for (int64_t i = 0; i < k->info->bits; i++) {
            int own;
            const crd_twopoint *pairs = &crd_pass_part_of(k->pass, k->phase, i, &own)->pairs;
            const int64_t ends = pairs->ends[axis][own], both = pairs->both[axis * lags + one][own];
            const int64_t unlike = ends - 2 * both;
            k->bits[i] = unlike > 0 && ends > 0 ? spacing * (double)ends / (double)unlike : (double)NAN;
        }
        CRD_PASS(add_some(k, "mean_intercept", axis, "length", (double)NAN, NULL, "the phase has no boundary across "));
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int kind = 0; kind < 3; kind++) { /* mean, length-weighted mean, share of chords that are cut */
            static const char *const names[] = {"chord_mean", "chord_weighted_mean", "chord_cut_share"};
            for (int64_t i = 0; i < k->info->bits; i++) {
                const crd_chord_counts *chord = chord_of(k, i, axis);
                double n = 0.0, sum = 0.0, square = 0.0;
                for (int64_t l = 1; l <= k->info->shape[axis]; l++) {
                    n += (double)chord->whole[l];
                    sum += (double)chord->whole[l] * (double)l;
                    square += (double)chord->whole[l] * (double)l * (double)l;
                }
                const double all = n + (double)chord->cut;
                k->bits[i] = kind == 0   ? (n > 0.0 ? k->m->spacing[axis] * sum / n : (double)NAN)
                             : kind == 1 ? (n > 0.0 ? k->m->spacing[axis] * square / sum : (double)NAN)
                             : all > 0.0 ? (double)chord->cut / all
                                         : (double)NAN;
            }
            CRD_PASS(add_some(k, names[kind], axis, kind < 2 ? "length" : "1", (double)NAN, NULL,
                              kind < 2 ? "no chord is whole along " : "there are no chords along "));
        }
        CRD_PASS(add_chord_lengths(k, axis));
    }
    return CRD_OK;
}

/* ---- two-point probabilities ---- */

static crd_status add_s2(making *k)
{
    crd_status status = CRD_OK;
    const crd_pass_plan *plan = &k->pass->plan;
    double *rows = NULL, *edges = NULL;
    CRD_TRY(crd_alloc(k->info->bits * plan->lag_count, sizeof *rows, "a distribution", &rows));
    CRD_TRY(crd_alloc(plan->lag_count, sizeof *edges, "a distribution", &edges));
    for (int axis = 0; axis < 3; axis++) {
        int64_t count = 0;
        char name[16];
        while (count < plan->lag_count && plan->lags[count] < k->info->shape[axis]) count++;
        for (int64_t l = 0; l < count; l++) edges[l] = (double)plan->lags[l] * k->m->spacing[axis];
        for (int64_t i = 0; i < k->info->bits * count; i++) {
            int own;
            const crd_twopoint *pairs = &crd_pass_part_of(k->pass, k->phase, i / count, &own)->pairs;
            const int64_t at = axis * plan->lag_count + i % count;
            rows[i] = share(pairs->both[at][own], pairs->pairs[at]);
        }
        snprintf(name, sizeof name, "s2_%c", axes[axis]);
        CRD_TRY(crd_measurement_add_distribution(k->m, k->info,
                                                 &(crd_distribution_plan){.name = name,
                                                                          .phase = k->value,
                                                                          .axis = axes[axis],
                                                                          .unit = "length",
                                                                          .edges = edges,
                                                                          .points = true,
                                                                          .rows = rows,
                                                                          .count = count}));
    }
done:
    crd_free(&rows);
    crd_free(&edges);
    return status;
}

crd_status crd_properties_add(const crd_pass *pass, int64_t phase, unsigned wanted, crd_measurement *m)
{
    crd_status status = CRD_OK;
    making k = {.pass = pass, .info = crd_realisations_describe(pass->plan.realisations), .phase = phase, .m = m};
    k.value = k.info->values[pass->plan.phases[phase]];
    crd_cell_weights_make(m->spacing, &k.weights);
    CRD_TRY(crd_alloc(k.info->bits, sizeof *k.bits, "values", &k.bits));
    if ((wanted & CRD_WANT_FRACTION) != 0) CRD_TRY(add_fraction(&k));
    if ((wanted & CRD_WANT_SURFACE) != 0) CRD_TRY(add_densities(&k));
    if ((wanted & CRD_WANT_COMPONENTS) != 0) CRD_TRY(add_components(&k));
    if ((wanted & CRD_WANT_CHORDS) != 0) CRD_TRY(add_chords(&k));
    if ((wanted & CRD_WANT_S2) != 0) CRD_TRY(add_s2(&k));
done:
    crd_free(&k.bits);
    return status;
}
