#include "measure/interfaces.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"

typedef struct making {
    const crd_pass *pass;
    const crd_realisations_info *info;
    crd_cell_weights weights;
    double *bits, *staircase; /* of each realisation */
    const char *note;
    crd_measurement *m;
} making;

static void sums_of(const making *k, unsigned phases, int64_t bit, crd_cell_sums *out)
{
    int64_t histogram[CRD_CELL_CODES] = {0};
    crd_pass_cells_of(k->pass, phases, bit, histogram);
    crd_cell_sum(&k->weights, histogram, out);
}

static double interface_of(const making *k, int64_t a, int64_t b, int64_t bit)
{
    crd_cell_sums one, other, both;
    sums_of(k, 1u << a, bit, &one);
    sums_of(k, 1u << b, bit, &other);
    sums_of(k, 1u << a | 1u << b, bit, &both);
    for (int class = 0; class < CRD_CELL_CLASSES; class ++) {
        both.unlike[class] = (one.unlike[class] + other.unlike[class] - both.unlike[class]) / 2;
    }
    return crd_surface_density(&k->weights, &both);
}

/* Length of the staircase along voxel edges for each volume: two faces a cell for each axis. */
static double staircase_of(const making *k, const int64_t phases[3], int64_t bit)
{
    int64_t crossed[3] = {0}, cells = 0;
    double sum = 0.0;
    for (unsigned chosen = 0; chosen < 8; chosen++) {
        crd_cell_sums sums;
        unsigned set = 0;
        for (int i = 0; i < 3; i++) set |= (chosen >> i & 1) << phases[i];
        const int64_t sign = __builtin_popcount(chosen) % 2 == 0 ? 1 : -1;
        if (chosen == 0) {
            sums_of(k, 1u << phases[0], bit, &sums);
            cells = sums.cells;
            for (int axis = 0; axis < 3; axis++) crossed[axis] = 2 * cells;
            continue;
        }
        sums_of(k, set, bit, &sums);
        for (int axis = 0; axis < 3; axis++) crossed[axis] += sign * sums.bare[axis];
    }
    if (cells == 0) return (double)NAN;
    for (int axis = 0; axis < 3; axis++) {
        const double face = k->weights.volume / k->m->spacing[axis];
        sum += (double)crossed[axis] / (2.0 * (double)cells * face);
    }
    return sum;
}

static crd_status add(const making *k, const char *name, const char *unit, const double *staircase)
{
    return crd_measurement_add(k->m, k->info,
                               &(crd_property_plan){.name = name,
                                                    .phase = (double)NAN,
                                                    .unit = unit,
                                                    .bits = k->bits,
                                                    .size_error = (double)NAN,
                                                    .note = k->note,
                                                    .details = {{staircase != NULL ? "staircase" : NULL, staircase}}});
}

static crd_status add_pair(const making *k, int64_t a, int64_t b)
{
    char name[CRD_PROPERTY_NAME];
    for (int64_t bit = 0; bit < k->info->bits; bit++) k->bits[bit] = interface_of(k, a, b, bit);
    snprintf(name, sizeof name, "interface_area_%g-%g", k->info->values[a], k->info->values[b]);
    return add(k, name, "1/length", NULL);
}

static crd_status add_triple(const making *k, const int64_t phases[3])
{
    char name[CRD_PROPERTY_NAME];
    for (int64_t bit = 0; bit < k->info->bits; bit++) {
        k->staircase[bit] = staircase_of(k, phases, bit);
        k->bits[bit] = 2.0 / 3.0 * k->staircase[bit];
    }
    snprintf(name, sizeof name, "triple_line_%g-%g-%g", k->info->values[phases[0]], k->info->values[phases[1]],
             k->info->values[phases[2]]);
    return add(k, name, "1/length^2", k->staircase);
}

crd_status crd_interfaces_add(const crd_pass *pass, crd_measurement *m)
{
    crd_status status = CRD_OK;
    making k = {.pass = pass, .info = crd_realisations_describe(pass->plan.realisations), .m = m};
    const int64_t n = k.info->phases, *shape = k.info->shape;
    if (pass->set_count == 0) return CRD_OK;
    if (shape[0] < 2 || shape[1] < 2 || shape[2] < 2) {
        k.note = "the window is one voxel thick: there are no cells of 2x2x2 voxels";
    }
    crd_cell_weights_make(m->spacing, &k.weights);
    CRD_TRY(crd_alloc(k.info->bits, sizeof *k.bits, "values", &k.bits));
    CRD_TRY(crd_alloc(k.info->bits, sizeof *k.staircase, "values", &k.staircase));
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = a + 1; b < n; b++) CRD_TRY(add_pair(&k, a, b));
    }
    for (int64_t a = 0; a < n && n <= CRD_TRIPLES_MAX; a++) {
        for (int64_t b = a + 1; b < n; b++) {
            for (int64_t c = b + 1; c < n; c++) CRD_TRY(add_triple(&k, (const int64_t[3]){a, b, c}));
        }
    }
    if (n > CRD_TRIPLES_MAX) {
        CRD_TRY(crd_measurement_note(m, "there are %lld phases, and triple lines are measured for up to %d",
                                     (long long)n, CRD_TRIPLES_MAX));
    }
done:
    crd_free(&k.bits);
    crd_free(&k.staircase);
    return status;
}
