#include "validate/sweep.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "validate/cubes.h"

enum {
    BAND_VOXELS = 1 << 17
}; /* of a slice, which then stay in the cache; larger ones are divided into bands of rows */

/* One slice of a part, as long as anything needs it. */
typedef struct layer {
    float *unc;
    uint8_t *kind, *mark;
} layer;

typedef struct room {
    int64_t depth; /* of the ring */
    layer ring[CRD_EDGE_MAX];
    float *prob, *map; /* prob: as many planes of `voxels` as there are volumes of it */
    int64_t voxels;
    uint8_t *seg, *label, *inside;
    float *no_unc; /* a row where there is no neighbour */
    uint8_t *no_kind;
    crd_cube_room cubes;
    crd_cube_pair pair[2];
    crd_hot *hot;
} room;

crd_status crd_parse_threshold(const char *name, const char *text, double *out)
{
    *out = (double)NAN;
    if (text == NULL || strcmp(text, "mean") == 0) return CRD_OK;
    if (crd_parse_real(text, strlen(text), out) && *out >= 0.0 && *out <= 1.0) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be mean or a number in 0 .. 1, not '%s'", name, text);
}

static int64_t band_rows(const int64_t shape[3])
{
    const int64_t rows = BAND_VOXELS / shape[2];
    return rows < 64 ? 64 : rows < shape[1] ? rows : shape[1];
}

/* Enough parts for every thread to get some, few enough that the slices read twice don't matter. */
static int64_t slab_slices(const crd_sweep *sweep)
{
    const int64_t each = (sweep->last - sweep->first) / (8 * (int64_t)crd_pool_threads(sweep->pool));
    return each < 16 ? 16 : each > 64 ? 64 : each;
}

static int64_t halo(const crd_sweep *sweep)
{
    return sweep->edge > 2 ? sweep->edge - 1 : 1;
}

static void end_room(void **pointer)
{
    room *r = *pointer;
    for (int64_t i = 0; i < CRD_EDGE_MAX; i++) {
        crd_free(&r->ring[i].unc);
        crd_free(&r->ring[i].kind);
        crd_free(&r->ring[i].mark);
    }
    crd_free(&r->prob);
    crd_free(&r->map);
    crd_free(&r->seg);
    crd_free(&r->label);
    crd_free(&r->inside);
    crd_free(&r->no_unc);
    crd_free(&r->no_kind);
    crd_free(&r->cubes.sum);
    crd_free(&r->cubes.right);
    crd_free(&r->cubes.counted);
    crd_free(&r->hot);
    crd_free(pointer);
}

static crd_status begin_room(const crd_sweep *sweep, void **out)
{
    static const char what[] = "a slice of the maps";
    room *r = NULL;
    const int64_t *shape = sweep->inputs->shape, width = shape[2];
    const int64_t voxels = (band_rows(shape) + halo(sweep)) * width;
    CRD_PASS(crd_alloc(1, sizeof *r, what, &r));
    *out = r;
    r->depth = halo(sweep) + 1;
    for (int64_t i = 0; i < r->depth; i++) {
        CRD_PASS(crd_alloc(voxels, sizeof *r->ring[i].unc, what, &r->ring[i].unc));
        CRD_PASS(crd_alloc(voxels, 1, what, &r->ring[i].kind));
        CRD_PASS(crd_alloc(voxels, 1, what, &r->ring[i].mark));
    }
    int64_t probabilities = 0;
    CRD_PASS(crd_product(voxels, sweep->inputs->prob_count > 0 ? sweep->inputs->prob_count : 1, 1, &probabilities));
    CRD_PASS(crd_alloc(probabilities, sizeof *r->prob, what, &r->prob));
    r->voxels = voxels;
    if (sweep->inputs->map_count > 0) CRD_PASS(crd_alloc(voxels, sizeof *r->map, what, &r->map));
    CRD_PASS(crd_alloc(voxels, 1, what, &r->seg));
    CRD_PASS(crd_alloc(voxels, 1, what, &r->label));
    CRD_PASS(crd_alloc(voxels, 1, what, &r->inside));
    CRD_PASS(crd_alloc(width, sizeof *r->no_unc, what, &r->no_unc));
    CRD_PASS(crd_alloc(width, 1, what, &r->no_kind));
    CRD_PASS(crd_alloc(width, sizeof *r->cubes.sum, what, &r->cubes.sum));
    CRD_PASS(crd_alloc(width, sizeof *r->cubes.right, what, &r->cubes.right));
    CRD_PASS(crd_alloc(width, sizeof *r->cubes.counted, what, &r->cubes.counted));
    return crd_alloc(1, sizeof *r->hot, "the sums", &r->hot);
}

static crd_status wrong_values(const char *what, const char *path)
{
    return crd_fail(
        CRD_ERR_FORMAT,
        "the %s %s holds values outside 0 .. 1, or that are not numbers; it must be one that predict wrote, "
        "or say its scale",
        what, path);
}

static crd_status load(const crd_sweep *sweep, const crd_box *box, crd_input_reader *reader, room *r, layer *l)
{
    const crd_inputs *inputs = sweep->inputs;
    const int64_t count = box->size[1] * box->size[2];
    for (int k = 0; k < inputs->prob_count; k++) {
        CRD_PASS(crd_volume_read(reader->probs[k], box, CRD_F32, r->prob + k * r->voxels));
    }
    CRD_PASS(crd_input_reader_segmentation(reader, box, r->prob, r->seg));
    CRD_PASS(crd_input_reader_label(reader, box, r->label));
    if (inputs->mask != NULL) CRD_PASS(crd_input_reader_mask(reader, box, r->inside));
    crd_sweep_mark(sweep, r->seg, r->label, inputs->mask != NULL ? r->inside : NULL, count, l->kind, l->mark);
    if (inputs->unc == NULL) return CRD_OK;
    CRD_PASS(crd_volume_read(reader->unc, box, CRD_F32, l->unc));
    sweep->rows->clean(l->unc, l->kind, count);
    return CRD_OK;
}

static crd_status tally_probability(const crd_sweep *sweep, int64_t at, int64_t count, const room *r, const layer *l,
                                    crd_tally *tally)
{
    const crd_inputs *inputs = sweep->inputs;
    if (inputs->prob_count == 0) return CRD_OK;
    if (!crd_sweep_many(sweep)) {
        const double scale = inputs->prob_scales[0];
        const uint32_t most = sweep->rows->probability(r->prob + at, l->kind + at, scale, count, tally, r->hot);
        return most > crd_rows_limit(scale) ? wrong_values("probability", inputs->probs[0]) : CRD_OK;
    }
    crd_class_rows rows = {.classes = inputs->class_count,
                           .scales = inputs->prob_scales,
                           .seg = r->seg + at,
                           .label = r->label + at,
                           .kind = l->kind + at};
    for (int k = 0; k < inputs->class_count; k++) rows.prob[k] = r->prob + k * r->voxels + at;
    const int wrong = sweep->rows->class_probabilities(&rows, count, tally, r->hot);
    return wrong >= 0 ? wrong_values("probability", inputs->probs[wrong]) : CRD_OK;
}

/* Adds a slice's matrix to that of all, and what it says of the slice to the profile. */
static void add_confusion(int64_t (*confusion)[CRD_CLASSES_MAX], int64_t z, crd_tally *tally)
{
    for (int label = 0; label < CRD_CLASSES_MAX; label++) {
        for (int seg = 0; seg < CRD_CLASSES_MAX; seg++) {
            tally->confusion[label][seg] += confusion[label][seg];
            tally->slice_classes[z][0][label] += confusion[label][seg];
            tally->slice_classes[z][1][seg] += confusion[label][seg];
        }
    }
}

/* Counts, sums, bins of the part's own voxels of a slice. */
static crd_status tally_voxels(const crd_sweep *sweep, int64_t z, int64_t own, room *r, const layer *l,
                               crd_tally *tally)
{
    const crd_inputs *inputs = sweep->inputs;
    const int64_t width = inputs->shape[2];
    int64_t confusion[CRD_CLASSES_MAX][CRD_CLASSES_MAX] = {{0}};
    crd_slice_tally slice = {0};
    for (int64_t y = 0; y < own; y++) {
        for (int64_t x = 0; x < width; x += CRD_STRETCH) {
            const int64_t at = y * width + x, count = width - x < CRD_STRETCH ? width - x : CRD_STRETCH;
            sweep->rows->count(l->kind + at, count, &slice.counts);
            if (inputs->unc != NULL) {
                sweep->rows->uncertainty(l->unc + at, l->kind + at, inputs->unc_scale, count, tally, &slice, r->hot);
            }
            CRD_PASS(tally_probability(sweep, at, count, r, l, tally));
            if (crd_sweep_many(sweep)) {
                if (!sweep->rows->confusion(r->seg + at, r->label + at, l->kind + at, count, confusion)) {
                    return crd_fail(CRD_ERR_FORMAT,
                                    "the segmentation %s holds values that none of the run's %d classes has",
                                    inputs->seg, inputs->class_count);
                }
            }
        }
    }
    if (inputs->unc != NULL && tally->most > crd_rows_limit(inputs->unc_scale)) {
        return wrong_values("uncertainty map", inputs->unc);
    }
    if (crd_sweep_many(sweep)) add_confusion(confusion, z, tally);
    tally->counts.voxels += slice.counts.voxels;
    tally->counts.predicted += slice.counts.predicted;
    tally->counts.labelled += slice.counts.labelled;
    tally->counts.both += slice.counts.both;
    crd_slice_tally *all = &tally->slice[z];
    all->counts.voxels += slice.counts.voxels;
    all->counts.predicted += slice.counts.predicted;
    all->counts.labelled += slice.counts.labelled;
    all->counts.both += slice.counts.both;
    all->sum += slice.sum;
    return CRD_OK;
}

static void tally_above(const crd_sweep *sweep, int64_t count, const layer *l, crd_tally *tally)
{
    const double scale = sweep->inputs->unc_scale, threshold = sweep->threshold;
    for (int64_t i = 0; i < count; i++) tally->above += ((double)l->unc[i] * scale > threshold) & (l->kind[i] >> 2);
}

static crd_status tally_map(const crd_sweep *sweep, int64_t index, int64_t own, const room *r, const layer *l,
                            crd_tally *tally)
{
    const crd_inputs *inputs = sweep->inputs;
    const double scale = inputs->map_scales[index], first_scale = inputs->unc_scale, threshold = sweep->threshold;
    const int64_t width = inputs->shape[2];
    uint32_t most = 0;
    sweep->rows->clean(r->map, l->kind, own * width);
    for (int64_t first = 0; first < own * width; first += CRD_STRETCH) {
        const int64_t count = own * width - first < CRD_STRETCH ? own * width - first : CRD_STRETCH;
        const float *map = r->map + first, *unc = l->unc + first;
        const uint8_t *kind = l->kind + first;
        uint64_t square = 0, cross = 0;
        int64_t above = 0;
        tally->maps[index].sum += sweep->rows->sum(map, NULL, scale, count, &most);
        for (int64_t i = 0; i < count; i++) {
            const double value = (double)map[i] * scale;
            square += crd_nearest_integer(value * value * 0x1p48);
            cross += crd_nearest_integer(value * ((double)unc[i] * first_scale) * 0x1p48);
            above += (value > threshold) & (kind[i] >> 2);
        }
        tally->maps[index].square += square;
        tally->maps[index].cross += cross;
        tally->maps[index].above += above;
    }
    return most > crd_rows_limit(scale) ? wrong_values("uncertainty map", inputs->maps[index]) : CRD_OK;
}

/* Pairs of neighbours that begin in slice `here`; `behind` is the next one, or NULL after the last. */
static void tally_neighbours(const crd_sweep *sweep, const crd_sweep_part *part, const layer *here, const layer *behind,
                             const room *r, crd_tally *tally)
{
    const int64_t width = sweep->inputs->shape[2], height = sweep->inputs->shape[1];
    for (int64_t y = 0; y < part->y_end - part->y_begin; y++) {
        const bool more = part->y_begin + y + 1 < height;
        for (int64_t x = 0; x < width; x += CRD_STRETCH) {
            const int64_t at = y * width + x, count = width - x < CRD_STRETCH ? width - x : CRD_STRETCH;
            const crd_neighbour_rows rows = {.here = here->unc + at,
                                             .here_kind = here->kind + at,
                                             .below = more ? here->unc + at + width : r->no_unc + x,
                                             .below_kind = more ? here->kind + at + width : r->no_kind + x,
                                             .behind = behind != NULL ? behind->unc + at : r->no_unc + x,
                                             .behind_kind = behind != NULL ? behind->kind + at : r->no_kind + x,
                                             .last = x + count == width};
            sweep->rows->neighbours(&rows, sweep->inputs->unc_scale, count, tally);
        }
    }
}

static void tally_pairs_of_slices(const crd_sweep *sweep, const crd_sweep_part *part, const layer *low,
                                  const layer *high, room *r)
{
    const int64_t width = sweep->inputs->shape[2], height = sweep->inputs->shape[1];
    const crd_cube_rule rule = {
        .limit = crd_cube_limit(sweep->threshold, 2), .need = sweep->need, .scale = sweep->inputs->unc_scale * 0x1p32};
    const int64_t own = part->y_end - part->y_begin, rows = part->y_end < height ? own + 1 : own;
    for (int64_t x = 0; x + 1 < width; x += CRD_STRETCH) {
        const int64_t count = width - 1 - x < CRD_STRETCH ? width - 1 - x : CRD_STRETCH;
        for (int64_t y = 0; y < rows; y++) {
            const int64_t at = y * width + x;
            const float *const unc[2] = {low->unc + at, high->unc + at};
            const uint8_t *const mark[2] = {low->mark + at, high->mark + at};
            sweep->rows->cubes(unc, mark, &rule, count, y > 0 ? &r->pair[1 - y % 2] : NULL, &r->pair[y % 2], r->hot);
        }
    }
}

/* The cubes whose first slice is z; the ring holds all of theirs. */
static void tally_cubes(const crd_sweep *sweep, const crd_sweep_part *part, int64_t z, room *r, crd_tally *tally)
{
    if (sweep->edge == 2 && sweep->stride == 1 && sweep->threshold_count == 0) {
        tally_pairs_of_slices(sweep, part, &r->ring[z % r->depth], &r->ring[(z + 1) % r->depth], r);
        return;
    }
    crd_cube_slices slices = {.width = sweep->inputs->shape[2]};
    for (int64_t dz = 0; dz < sweep->edge; dz++) {
        slices.unc[dz] = r->ring[(z + dz) % r->depth].unc;
        slices.mark[dz] = r->ring[(z + dz) % r->depth].mark;
    }
    for (int64_t y = part->y_begin; y < part->y_end && y + sweep->edge <= sweep->inputs->shape[1]; y++) {
        if (y % sweep->stride == 0) crd_cubes_row(sweep, &slices, y - part->y_begin, &r->cubes, tally);
    }
}

static crd_status do_part(const crd_sweep *sweep, const crd_sweep_part *part, crd_input_reader *reader, void *context,
                          crd_tally *tally)
{
    room *r = context;
    const crd_inputs *inputs = sweep->inputs;
    const int64_t *shape = inputs->shape, own = part->y_end - part->y_begin, beyond = halo(sweep);
    const int64_t rows = part->y_end + beyond < shape[1] ? own + beyond : shape[1] - part->y_begin;
    const int64_t end = part->z_end + beyond < shape[0] ? part->z_end + beyond : shape[0];
    for (int64_t z = part->z_begin; z < end; z++) {
        const crd_box box = {{z, part->y_begin, 0}, {1, rows, shape[2]}};
        layer *l = &r->ring[z % r->depth];
        CRD_PASS(load(sweep, &box, reader, r, l));
        if (z < part->z_end) CRD_PASS(tally_voxels(sweep, z, own, r, l, tally));
        if (inputs->unc == NULL) continue;
        for (int64_t i = 0; !sweep->core && z < part->z_end && i < inputs->map_count; i++) {
            const crd_box mine = {{z, part->y_begin, 0}, {1, own, shape[2]}};
            CRD_PASS(crd_volume_read(reader->maps[i], &mine, CRD_F32, r->map));
            CRD_PASS(tally_map(sweep, i, own, r, l, tally));
        }
        if (!sweep->core && z < part->z_end && inputs->map_count > 0) tally_above(sweep, own * shape[2], l, tally);
        const int64_t first = z - sweep->edge + 1;
        if (first >= part->z_begin && first < part->z_end && first % sweep->stride == 0) {
            tally_cubes(sweep, part, first, r, tally);
        }
        if (sweep->core) continue;
        if (z > part->z_begin && z - 1 < part->z_end) {
            tally_neighbours(sweep, part, &r->ring[(z - 1) % r->depth], l, r, tally);
        }
        if (z == shape[0] - 1 && z < part->z_end) tally_neighbours(sweep, part, l, NULL, r, tally);
    }
    crd_hot_empty(r->hot, tally);
    return CRD_OK;
}

crd_status crd_sweep_run(const crd_sweep *sweep, crd_tally *tally)
{
    const crd_team_work work = {.stage = "validating",
                                .slab = slab_slices(sweep),
                                .band = band_rows(sweep->inputs->shape),
                                .begin = begin_room,
                                .part = do_part,
                                .end = end_room};
    return crd_team_run(sweep, &work, tally);
}

static crd_status sum_part(const crd_sweep *sweep, const crd_sweep_part *part, crd_input_reader *reader, void *context,
                           crd_tally *tally)
{
    room *r = context;
    layer *l = &r->ring[0];
    const crd_inputs *inputs = sweep->inputs;
    const int64_t count = (part->y_end - part->y_begin) * inputs->shape[2];
    for (int64_t z = part->z_begin; z < part->z_end; z++) {
        const crd_box box = {{z, part->y_begin, 0}, {1, part->y_end - part->y_begin, inputs->shape[2]}};
        crd_class_counts counts = {0};
        CRD_PASS(crd_volume_read(reader->unc, &box, CRD_F32, l->unc));
        if (!inputs->all_count) {
            CRD_PASS(crd_input_reader_label(reader, &box, r->label));
            if (inputs->mask != NULL) CRD_PASS(crd_input_reader_mask(reader, &box, r->inside));
            crd_sweep_mark(sweep, r->label, r->label, inputs->mask != NULL ? r->inside : NULL, count, l->kind, l->mark);
        }
        for (int64_t first = 0; first < count; first += CRD_STRETCH) {
            const int64_t some = count - first < CRD_STRETCH ? count - first : CRD_STRETCH;
            const uint8_t *kind = inputs->all_count ? NULL : l->kind + first;
            if (kind != NULL) sweep->rows->count(kind, some, &counts);
            tally->sum += sweep->rows->sum(l->unc + first, kind, inputs->unc_scale, some, &tally->most);
        }
        tally->counts.voxels += inputs->all_count ? count : counts.voxels;
    }
    return CRD_OK;
}

crd_status crd_sweep_mean(const crd_sweep *sweep, int64_t *voxels, crd_wide *sum)
{
    crd_status status = CRD_OK;
    crd_tally *tally = NULL;
    const crd_team_work work = {.stage = "reading the uncertainty",
                                .slab = slab_slices(sweep),
                                .band = band_rows(sweep->inputs->shape),
                                .begin = begin_room,
                                .part = sum_part,
                                .end = end_room};
    CRD_TRY(crd_tally_create(sweep->inputs->shape[0], sweep->threshold_count, sweep->inputs->class_count, &tally));
    CRD_TRY(crd_team_run(sweep, &work, tally));
    *voxels = tally->counts.voxels;
    *sum = tally->sum;
done:
    crd_tally_free(&tally);
    return status;
}
