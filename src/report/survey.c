/* One look at every voxel: where the map is high and the segmentation wrong, slice by slice and block by block. */
#include <math.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "report/reported_run.h"

typedef struct work {
    crd_reported_run *run;
    int64_t block, cells[3];
    double *sums, *edges, *counts; /* by block: of the map, and of voxels at an edge and of all that count */
    float *means, *edge_shares, *shares;
    float *unc;                      /* one slice */
    uint8_t *seg, *before, *classes; /* `before` is the slice above */
    uint8_t *inside, *inside_before; /* NULL: all voxels count */
    double counted;                  /* voxels that do */
} work;

static crd_status prepare(work *w)
{
    static const char what[] = "a survey of the map";
    crd_reported_run *s = w->run;
    const int64_t *shape = s->whole.size;
    w->block = crd_look_blocks(shape, w->cells);
    const int64_t cells = w->cells[0] * w->cells[1] * w->cells[2];
    CRD_PASS(crd_alloc(cells, sizeof *w->sums, what, &w->sums));
    CRD_PASS(crd_alloc(cells, sizeof *w->edges, what, &w->edges));
    CRD_PASS(crd_alloc(cells, sizeof *w->counts, what, &w->counts));
    CRD_PASS(crd_alloc(shape[1] * shape[2], sizeof *w->unc, what, &w->unc));
    CRD_PASS(crd_alloc(shape[1] * shape[2], 1, what, &w->seg));
    CRD_PASS(crd_alloc(shape[1] * shape[2], 1, what, &w->before));
    CRD_PASS(crd_alloc(shape[1] * shape[2], 1, what, &w->classes));
    for (int i = 0; s->mask != NULL && i < 2; i++) {
        CRD_PASS(crd_alloc(shape[1] * shape[2], 1, what, i == 0 ? &w->inside : &w->inside_before));
    }
    for (int axis = 0; axis < 3; axis++) {
        if (s->unc != NULL) {
            CRD_PASS(crd_alloc(shape[axis], sizeof(double), what, &s->survey.uncertainty[axis]));
            CRD_PASS(crd_alloc(shape[axis], sizeof(double), what, &s->survey.inside[axis]));
        }
        if (s->label == NULL) continue;
        CRD_PASS(crd_alloc(shape[axis], sizeof(double), what, &s->survey.wrong[axis]));
        CRD_PASS(crd_alloc(shape[axis], sizeof(double), what, &s->survey.labelled[axis]));
    }
    return CRD_OK;
}

static void look_at_map(work *w, int64_t z)
{
    crd_survey *survey = &w->run->survey;
    const int64_t height = w->run->whole.size[1], width = w->run->whole.size[2];
    const double scale = w->run->unc_scale;
    for (int64_t y = 0; y < height; y++) {
        double *cells = w->sums + (z / w->block * w->cells[1] + y / w->block) * w->cells[2];
        double row = 0.0, counted = 0.0;
        for (int64_t x = 0; x < width; x++) {
            if (w->inside != NULL && !w->inside[y * width + x]) continue;
            const double stored = (double)w->unc[y * width + x] * scale;
            const double value = stored > 0.0 ? stored : 0.0; /* also for what is no number */
            const int64_t bin = value < 1.0 ? (int64_t)(value * CRD_SURVEY_BINS) : CRD_SURVEY_BINS - 1;
            survey->bins[bin]++;
            survey->uncertainty[2][x] += value;
            survey->inside[2][x] += 1.0;
            counted += 1.0;
            cells[x / w->block] += value;
            row += value;
            if (value > survey->largest) survey->largest = value;
        }
        survey->uncertainty[1][y] += row;
        survey->uncertainty[0][z] += row;
        survey->inside[1][y] += counted;
        survey->inside[0][z] += counted;
        survey->mean += row;
    }
}

static void look_at_errors(work *w, int64_t z)
{
    crd_survey *survey = &w->run->survey;
    const int64_t height = w->run->whole.size[1], width = w->run->whole.size[2];
    for (int64_t i = 0; i < height * width; i++) {
        if (w->classes[i] == CRD_LABEL_NONE || (w->inside != NULL && !w->inside[i])) continue;
        const int64_t at[3] = {z, i / width, i % width};
        const double wrong = w->seg[i] != w->classes[i];
        for (int axis = 0; axis < 3; axis++) {
            survey->wrong[axis][at[axis]] += wrong;
            survey->labelled[axis][at[axis]] += 1.0;
        }
    }
}

static void swap(uint8_t **a, uint8_t **b)
{
    uint8_t *kept = *a;
    *a = *b;
    *b = kept;
}

/* Whether one voxel of a slice and one of the same or another slice are of two classes; outside the mask is none. */
static bool differ(const uint8_t *own, int64_t i, const uint8_t *other, const uint8_t *inside, int64_t k)
{
    return own[i] != other[k] && (inside == NULL || inside[k]);
}

/* Of slice z, which is w->before where there is one below it, and else w->seg: voxels whose next one along an axis is
 * of another class. */
static void look_at_edges(work *w, int64_t z)
{
    const int64_t height = w->run->whole.size[1], width = w->run->whole.size[2];
    const bool last = z + 1 == w->run->whole.size[0];
    const uint8_t *own = last ? w->seg : w->before, *inside = last ? w->inside : w->inside_before;
    for (int64_t i = 0; i < height * width; i++) {
        const int64_t y = i / width, x = i % width;
        const int64_t cell = (z / w->block * w->cells[1] + y / w->block) * w->cells[2] + x / w->block;
        if (inside != NULL && !inside[i]) continue;
        const bool edge = (!last && differ(own, i, w->seg, w->inside, i)) ||
                          (y + 1 < height && differ(own, i, own, inside, i + width)) ||
                          (x + 1 < width && differ(own, i, own, inside, i + 1));
        w->edges[cell] += edge ? 1.0 : 0.0;
        w->counts[cell] += 1.0;
    }
}

static crd_status look_at_slice(work *w, int64_t z)
{
    crd_reported_run *s = w->run;
    const int64_t count = s->whole.size[1] * s->whole.size[2];
    const crd_box slice = {{z, 0, 0}, {1, s->whole.size[1], s->whole.size[2]}};
    swap(&w->seg, &w->before);
    swap(&w->inside, &w->inside_before);
    if (s->seg != NULL) {
        CRD_PASS(crd_volume_read(s->seg, &slice, CRD_F32, w->unc));
    } else {
        CRD_PASS(crd_volume_read(s->prob, &slice, CRD_F32, w->unc));
    }
    const double half = s->seg != NULL ? 0.0 : 0.5 / s->prob_scale;
    if (s->mask != NULL) {
        crd_box there = slice;
        for (int axis = 0; axis < 3; axis++) there.origin[axis] += s->in_scan.origin[axis];
        CRD_PASS(crd_volume_read(s->mask, &there, CRD_U8, w->inside));
    }
    for (int64_t i = 0; i < count; i++) w->counted += w->inside == NULL || w->inside[i];
    for (int64_t i = 0; s->class_count == 2 && i < count; i++) {
        w->seg[i] = (double)w->unc[i] > half;
        if (w->inside == NULL || w->inside[i]) s->survey.foreground += w->seg[i];
    }
    for (int64_t i = 0; s->class_count > 2 && i < count; i++) w->seg[i] = (uint8_t)crd_reported_class(s, w->unc[i]);
    if (z > 0) look_at_edges(w, z - 1);
    if (z + 1 == s->whole.size[0]) look_at_edges(w, z);
    if (s->label != NULL) {
        crd_box there = slice;
        for (int axis = 0; axis < 3; axis++) there.origin[axis] += s->in_label.origin[axis];
        CRD_PASS(crd_label_read(s->label, &there, w->classes));
        look_at_errors(w, z);
    }
    if (s->unc == NULL) return CRD_OK;
    CRD_PASS(crd_volume_read(s->unc, &slice, CRD_F32, w->unc));
    look_at_map(w, z);
    return CRD_OK;
}

/* From sums to means. */
static crd_status finish(work *w)
{
    crd_reported_run *s = w->run;
    crd_survey *survey = &s->survey;
    const int64_t *shape = s->whole.size;
    const double voxels = w->counted; /* none: what follows is no number */
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t i = 0; i < shape[axis]; i++) {
            if (survey->uncertainty[axis] != NULL) survey->uncertainty[axis][i] /= survey->inside[axis][i];
            if (survey->wrong[axis] != NULL) survey->wrong[axis][i] /= survey->labelled[axis][i];
        }
    }
    survey->foreground /= voxels;
    survey->mean /= voxels;
    if (s->unc == NULL) return CRD_OK;
    double below = 0.0;
    int64_t bin = 0;
    while (bin < CRD_SURVEY_BINS - 1 && below + (double)survey->bins[bin] < 0.999 * voxels) {
        below += (double)survey->bins[bin++];
    }
    survey->high = fmax((double)(bin + 1) / CRD_SURVEY_BINS, 1e-6);
    if (survey->largest < survey->high) survey->high = survey->largest > 0.0 ? survey->largest : 1.0;
    const int64_t cells = w->cells[0] * w->cells[1] * w->cells[2];
    CRD_PASS(crd_alloc(cells, sizeof *w->means, "a survey of the map", &w->means));
    CRD_PASS(crd_alloc(cells, sizeof *w->edge_shares, "a survey of the map", &w->edge_shares));
    CRD_PASS(crd_alloc(cells, sizeof *w->shares, "a survey of the map", &w->shares));
    for (int64_t i = 0; i < cells; i++) {
        const int64_t at[3] = {i / w->cells[2] / w->cells[1], i / w->cells[2] % w->cells[1], i % w->cells[2]};
        if (w->counts[i] == 0.0) continue;
        w->means[i] = (float)(w->sums[i] / w->counts[i]);
        w->edge_shares[i] = (float)(w->edges[i] / w->counts[i]);
        w->shares[i] = (float)(w->counts[i] / (double)crd_look_voxels(at, w->block, shape));
    }
    return crd_look_survey_of(w->means, w->edge_shares, w->shares, w->cells, w->block, shape, &survey->look);
}

crd_status crd_survey_make(crd_reported_run *run, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    work w = {.run = run};
    const int64_t depth = run->whole.size[0];
    CRD_TRY(prepare(&w));
    for (int64_t z = 0; z < depth; z++) {
        CRD_TRY(look_at_slice(&w, z));
        CRD_TRY(crd_advance(monitor, "looking for what matters", "slices", z + 1, depth, NULL));
    }
    CRD_TRY(finish(&w));
done:
    crd_free(&w.sums);
    crd_free(&w.edges);
    crd_free(&w.counts);
    crd_free(&w.means);
    crd_free(&w.edge_shares);
    crd_free(&w.shares);
    crd_free(&w.unc);
    crd_free(&w.seg);
    crd_free(&w.before);
    crd_free(&w.classes);
    crd_free(&w.inside);
    crd_free(&w.inside_before);
    return status;
}

void crd_survey_free(crd_survey *survey)
{
    for (int axis = 0; axis < 3; axis++) {
        crd_free(&survey->uncertainty[axis]);
        crd_free(&survey->inside[axis]);
        crd_free(&survey->wrong[axis]);
        crd_free(&survey->labelled[axis]);
    }
}
