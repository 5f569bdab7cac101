#include "view/loop/candidates.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

void crd_candidates_grid(const int64_t shape[3], const int64_t size[3], crd_candidates *out)
{
    memset(out, 0, sizeof *out);
    out->count = 1;
    for (int i = 0; i < 3; i++) {
        out->size[i] = size[i] < shape[i] ? size[i] : shape[i];
        out->step[i] = out->size[i] > 1 ? out->size[i] / 2 : 1;
        out->counts[i] = (shape[i] - out->size[i]) / out->step[i] + 1;
        out->count *= out->counts[i];
    }
}

void crd_candidates_free(crd_candidates *candidates)
{
    crd_free(&candidates->items);
}

void crd_candidates_box(const crd_candidates *c, int64_t number, crd_box *out)
{
    const int64_t index[3] = {number / c->counts[2] / c->counts[1], number / c->counts[2] % c->counts[1],
                              number % c->counts[2]};
    for (int i = 0; i < 3; i++) {
        out->origin[i] = index[i] * c->step[i];
        out->size[i] = c->size[i];
    }
}

/* ---- sums over half boxes: a box is two of them along each axis ---- */

enum { GREY, SQUARE, GRADIENT, PROBABILITY, UNCERTAINTY, EDGES, INSIDE, SUMS };

typedef struct pass {
    const crd_candidates *grid;
    int64_t shape[3], halves[3];
    float (*sums)[SUMS];
    float *grey[2], *classes[2]; /* of a slice and of the next one */
    float *probability, *uncertainty;
    uint8_t *inside;
} pass;

static void free_pass(pass *p)
{
    crd_free(&p->sums);
    for (int i = 0; i < 2; i++) {
        crd_free(&p->grey[i]);
        crd_free(&p->classes[i]);
    }
    crd_free(&p->probability);
    crd_free(&p->uncertainty);
    crd_free(&p->inside);
}

static crd_status make_pass(const crd_candidate_sources *from, pass *p)
{
    static const char what[] = "a survey of boxes";
    const int64_t slice = p->shape[1] * p->shape[2];
    int64_t count;
    for (int i = 0; i < 3; i++) p->halves[i] = p->grid->counts[i] + (p->grid->size[i] > 1);
    CRD_PASS(crd_product(p->halves[0], p->halves[1], p->halves[2], &count));
    CRD_PASS(crd_alloc(count, sizeof *p->sums, what, &p->sums));
    for (int i = 0; i < 2; i++) CRD_PASS(crd_alloc(slice, sizeof(float), what, &p->grey[i]));
    for (int i = 0; i < 2 && from->segmentation != NULL; i++) {
        CRD_PASS(crd_alloc(slice, sizeof(float), what, &p->classes[i]));
    }
    if (from->probability != NULL) CRD_PASS(crd_alloc(slice, sizeof(float), what, &p->probability));
    if (from->mask != NULL) CRD_PASS(crd_alloc(slice, 1, what, &p->inside));
    return crd_alloc(slice, sizeof(float), what, &p->uncertainty);
}

static crd_status read_slice(crd_volume *volume, const int64_t shape[3], int64_t z, crd_type as, void *out)
{
    const crd_box box = {.origin = {z, 0, 0}, .size = {1, shape[1], shape[2]}};
    if (volume == NULL || z >= shape[0]) return CRD_OK;
    return crd_volume_read(volume, &box, as, out);
}

static bool differs(const float *values, int64_t a, int64_t b)
{
    return values[a] != values[b];
}

/* What is no number counts as 0. */
static float number_or_0(float value)
{
    return isfinite(value) ? value : 0.0F;
}

static void add_voxel(const pass *p, int64_t i, const int64_t next[2], bool last, float *sums)
{
    const float *grey = p->grey[0], *classes = p->classes[0];
    const float value = number_or_0(grey[i]), right = number_or_0(grey[next[0]]) - value,
                down = number_or_0(grey[next[1]]) - value;
    const float deep = last ? 0.0F : number_or_0(p->grey[1][i]) - value;
    sums[GREY] += value;
    sums[SQUARE] += value * value;
    sums[GRADIENT] += sqrtf(right * right + down * down + deep * deep);
    sums[UNCERTAINTY] += number_or_0(p->uncertainty[i]);
    if (p->probability != NULL) sums[PROBABILITY] += number_or_0(p->probability[i]);
    sums[INSIDE] += p->inside == NULL || p->inside[i] != 0 ? 1.0F : 0.0F;
    if (classes == NULL) return;
    const bool edge =
        differs(classes, i, next[0]) || differs(classes, i, next[1]) || (!last && classes[i] != p->classes[1][i]);
    sums[EDGES] += edge ? 1.0F : 0.0F;
}

/* Each slice's sums of a half box go into a number of their own first: floats keep what is small beside what is large.
 */
static void add_slice(pass *p, int64_t z)
{
    const int64_t height = p->shape[1], width = p->shape[2], half = z / p->grid->step[0];
    const bool last = z + 1 == p->shape[0];
    if (half >= p->halves[0]) return;
    for (int64_t y = 0; y < height && y / p->grid->step[1] < p->halves[1]; y++) {
        float(*row)[SUMS] = p->sums + (half * p->halves[1] + y / p->grid->step[1]) * p->halves[2];
        for (int64_t cell = 0; cell < p->halves[2]; cell++) {
            float sums[SUMS] = {0.0F};
            const int64_t end = (cell + 1) * p->grid->step[2];
            for (int64_t x = cell * p->grid->step[2]; x < end && x < width; x++) {
                const int64_t i = y * width + x;
                const int64_t next[2] = {x + 1 < width ? i + 1 : i, y + 1 < height ? i + width : i};
                add_voxel(p, i, next, last, sums);
            }
            for (int k = 0; k < SUMS; k++) row[cell][k] += sums[k];
        }
    }
}

static void describe(const pass *p, const crd_candidate_sources *from, int64_t number, crd_candidate *out)
{
    const crd_candidates *c = p->grid;
    const int64_t index[3] = {number / c->counts[2] / c->counts[1], number / c->counts[2] % c->counts[1],
                              number % c->counts[2]};
    double sums[SUMS] = {0.0}, voxels = 1.0;
    int64_t span[3];
    for (int i = 0; i < 3; i++) {
        span[i] = c->size[i] > 1 ? 2 : 1;
        voxels *= (double)(span[i] * c->step[i]);
    }
    for (int64_t z = 0; z < span[0]; z++) {
        for (int64_t y = 0; y < span[1]; y++) {
            for (int64_t x = 0; x < span[2]; x++) {
                const float *half =
                    p->sums[((index[0] + z) * p->halves[1] + index[1] + y) * p->halves[2] + index[2] + x];
                for (int k = 0; k < SUMS; k++) sums[k] += (double)half[k];
            }
        }
    }
    const double grey = sums[GREY] / voxels, variance = sums[SQUARE] / voxels - grey * grey;
    out->uncertainty = sums[UNCERTAINTY] / voxels * from->uncertainty_scale;
    out->edges = sums[EDGES] / voxels;
    out->features[0] = grey;
    out->features[1] = variance > 0.0 ? sqrt(variance) : 0.0;
    out->features[2] = sums[PROBABILITY] / voxels * from->probability_scale;
    out->features[3] = out->edges;
    out->features[4] = sums[GRADIENT] / voxels;
    out->inside = 10.0 * sums[INSIDE] >= 9.0 * voxels;
}

crd_status crd_candidates_measure(const crd_candidate_sources *from, bool (*pause)(void *context, double share),
                                  void *context, crd_candidates *candidates, bool *done)
{
    crd_status status = CRD_OK;
    pass p = {.grid = candidates};
    memcpy(p.shape, crd_volume_describe(from->uncertainty)->shape, sizeof p.shape);
    *done = false;
    CRD_TRY(make_pass(from, &p));
    CRD_TRY(read_slice(from->scan, p.shape, 0, CRD_F32, p.grey[0]));
    CRD_TRY(read_slice(from->segmentation, p.shape, 0, CRD_F32, p.classes[0]));
    for (int64_t z = 0; z < p.shape[0]; z++) {
        if (pause != NULL && !pause(context, (double)z / (double)p.shape[0])) goto done;
        CRD_TRY(read_slice(from->scan, p.shape, z + 1, CRD_F32, p.grey[1]));
        CRD_TRY(read_slice(from->segmentation, p.shape, z + 1, CRD_F32, p.classes[1]));
        CRD_TRY(read_slice(from->uncertainty, p.shape, z, CRD_F32, p.uncertainty));
        CRD_TRY(read_slice(from->probability, p.shape, z, CRD_F32, p.probability));
        CRD_TRY(read_slice(from->mask, p.shape, z, CRD_U8, p.inside));
        add_slice(&p, z);
        float *grey = p.grey[0], *classes = p.classes[0];
        p.grey[0] = p.grey[1];
        p.grey[1] = grey;
        p.classes[0] = p.classes[1];
        p.classes[1] = classes;
    }
    CRD_TRY(crd_alloc(candidates->count, sizeof *candidates->items, "boxes to propose", &candidates->items));
    for (int64_t i = 0; i < candidates->count; i++) describe(&p, from, i, &candidates->items[i]);
    *done = true;
done:
    free_pass(&p);
    return status;
}
