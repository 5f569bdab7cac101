/* Sums of a slice that no other chunk touches become its voxels. */
#include <math.h>
#include <string.h>

#include "predict/quantities/derive.h"
#include "predict/sums/fraction.h"
#include "predict/sums/inside.h"

static void store(crd_type type, double value, int64_t at, void *voxels)
{
    if (type == CRD_F32) {
        ((float *)voxels)[at] = (float)value;
    } else if (type == CRD_U16) {
        ((uint16_t *)voxels)[at] = (uint16_t)lrint(value * 65535.0);
    } else {
        ((uint8_t *)voxels)[at] = (uint8_t)lrint(value * 255.0);
    }
}

/* Of the voxels [x0, x1) of a row: a worker's own. */
static const double *denominators_of(const crd_accumulator *a, int worker, int64_t z, int64_t y, int64_t x0, int64_t x1)
{
    const int64_t rows = a->coverage[0][z - a->request->box.origin[0]] * a->coverage[1][y];
    double *denominators = a->denominators + worker * a->request->box.size[2];
    for (int64_t x = x0; x < x1; x++) denominators[x - x0] = (double)(rows * a->coverage[2][x]) * 0x1p24;
    return denominators;
}

/* One row of one tile: sums divided by their coverage, which `to` gets from its voxel `at` on. */
static void divide_row(const crd_accumulator *a, const crd_patch *p, int64_t y, const double *denominators,
                       const void *tile, crd_type type, int64_t at, void *to)
{
    const crd_slab_tiles *tiles = crd_slab_division(a->slab);
    const int64_t in_tile =
        (y - p->tile[0] * tiles->edge[0]) * tiles->edge[1] + p->begin[1] - p->tile[1] * tiles->edge[1];
    const int64_t count = p->end[1] - p->begin[1];
    if (type == CRD_F32 && !a->shape.wide) {
        const uint32_t *sums = (const uint32_t *)tile + in_tile;
        float *values = (float *)to + at;
        for (int64_t i = 0; i < count; i++) values[i] = (float)((double)sums[i] / denominators[i]);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const double sum = a->shape.wide ? (double)((const uint64_t *)tile)[in_tile + i]
                                         : (double)((const uint32_t *)tile)[in_tile + i];
        store(type, (double)(float)(sum / denominators[i]), at + i,
              to); /* a float first, as where samples are aggregated */
    }
}

static void finish_tile(const crd_accumulator *a, const crd_patch *p, int64_t q, const void *tile, int worker,
                        const crd_slice *out)
{
    const crd_quantity *quantity = &a->request->quantities[q];
    for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
        const int64_t at = y * a->request->box.size[2] + p->begin[1], count = p->end[1] - p->begin[1];
        divide_row(a, p, y, denominators_of(a, worker, out->z, y, p->begin[1], p->end[1]), tile, quantity->stored, at,
                   out->voxels[q]);
        if (quantity->kind != CRD_ALEATORIC) continue;
        float *bits = (float *)out->voxels[q] + at; /* entropies are sums of 2^-22 */
        for (int64_t i = 0; i < count; i++) bits[i] *= 4.0f;
    }
}

static int64_t word_count(const crd_request *request)
{
    return request->save_bits ? (request->samples + 63) / 64 : 0;
}

static int64_t first_bits(const crd_request *request)
{
    int64_t first = request->quantity_count;
    while (first > 0 && request->quantities[first - 1].kind == CRD_SAMPLE_BITS) first--;
    return first;
}

/* Sample s of up to CRD_DERIVE_VOXELS voxels, [planes][stride], as bits of the slice's voxels from `at` on. Samples
 * come in rising order: the first of a word sets the others' bits to 0. */
static void mark_bits(const crd_request *request, int64_t s, const float *values, int64_t stride, int64_t count,
                      int64_t at, const crd_slice *out)
{
    const int64_t first = first_bits(request), planes = (request->quantity_count - first) / word_count(request);
    const float *rows[CRD_CLASSES_MAX];
    uint8_t numbers[CRD_DERIVE_VOXELS];
    float largest[CRD_DERIVE_VOXELS];
    for (int plane = 0; plane < request->planes; plane++) rows[plane] = values + plane * stride;
    if (request->planes > 1) {
        crd_derive_classes(rows, request->planes, count, numbers, largest);
    } else {
        for (int64_t i = 0; i < count; i++) numbers[i] = values[i] > 0.5f;
    }
    for (int64_t plane = 0; plane < planes; plane++) {
        uint64_t *words = (uint64_t *)out->voxels[first + plane * word_count(request) + s / 64] + at;
        for (int64_t i = 0; i < count; i++) {
            const uint64_t bit = (uint64_t)(numbers[i] >> plane & 1) << s % 64;
            words[i] = s % 64 == 0 ? bit : words[i] | bit;
        }
    }
}

/* Where the tiles of a slice are: all in memory, or brought there one at a time. */
static crd_status find_tile(crd_accumulator *a, const crd_patch *p, int64_t z, int64_t sum, bool together,
                            const void **out)
{
    const crd_slab_tiles *tiles = crd_slab_division(a->slab);
    void *tile;
    *out = a->tiles[(sum * tiles->count[0] + p->tile[0]) * tiles->count[1] + p->tile[1]];
    if (together) return CRD_OK;
    CRD_PASS(crd_slab_tile(a->slab, z, sum, p->tile[0], p->tile[1], &tile));
    *out = tile;
    return CRD_OK;
}

/* The bits of the samples of a word. */
static crd_status finish_word(crd_accumulator *a, const crd_patch *p, int64_t word, bool together, int worker,
                              const crd_slice *out)
{
    const crd_request *request = a->request;
    const int64_t end = (word + 1) * 64 < request->samples ? (word + 1) * 64 : request->samples;
    float values[CRD_CLASSES_MAX * CRD_DERIVE_VOXELS];
    for (int64_t s = word * 64; s < end; s++) {
        for (int64_t y = p->begin[0]; y < p->end[0]; y++) { /* a tile's edge is shorter than CRD_DERIVE_VOXELS */
            const double *denominators = denominators_of(a, worker, out->z, y, p->begin[1], p->end[1]);
            for (int plane = 0; plane < request->planes; plane++) {
                const void *tile;
                const int64_t sum = request->averaged_count + s * request->planes + plane;
                CRD_PASS(find_tile(a, p, out->z, sum, together, &tile));
                divide_row(a, p, y, denominators, tile, CRD_F32, plane * CRD_DERIVE_VOXELS, values);
            }
            mark_bits(request, s, values, CRD_DERIVE_VOXELS, p->end[1] - p->begin[1],
                      y * request->box.size[2] + p->begin[1], out);
        }
    }
    return CRD_OK;
}

/* Item: an averaged quantity, or behind them a word of bits. */
static crd_status finish_part(crd_accumulator *a, const crd_patch *p, int64_t item, bool together, int worker,
                              const crd_slice *out)
{
    const int64_t word = item - a->request->averaged_count;
    const void *tile;
    if (word >= 0) return finish_word(a, p, word, together, worker, out);
    CRD_PASS(find_tile(a, p, out->z, item, together, &tile));
    finish_tile(a, p, item, tile, worker, out);
    return CRD_OK;
}

static int64_t part_count(const crd_request *request)
{
    return request->averaged_count + word_count(request);
}

static crd_status finish_parts(crd_accumulator *a, const crd_patch *p, crd_slice *out)
{
    for (int64_t i = 0; i < part_count(a->request); i++) CRD_PASS(finish_part(a, p, i, false, 0, out));
    return CRD_OK;
}

typedef struct finish_work {
    crd_accumulator *a;
    const crd_slice *out;
} finish_work;

static crd_patch patch_of(const crd_accumulator *a, int64_t tile)
{
    const crd_slab_tiles *tiles = crd_slab_division(a->slab);
    crd_patch p = {.tile = {tile / tiles->count[1], tile % tiles->count[1]}};
    for (int axis = 0; axis < 2; axis++) {
        const int64_t size = a->request->box.size[axis + 1];
        p.begin[axis] = p.tile[axis] * tiles->edge[axis];
        p.end[axis] = p.begin[axis] + tiles->edge[axis] < size ? p.begin[axis] + tiles->edge[axis] : size;
    }
    return p;
}

static void finish_item(void *context, int64_t item, int worker)
{
    const finish_work *work = context;
    const crd_slab_tiles *tiles = crd_slab_division(work->a->slab);
    const int64_t count = tiles->count[0] * tiles->count[1];
    const crd_patch p = patch_of(work->a, item % count);
    (void)finish_part(work->a, &p, item / count, true, worker, work->out); /* of tiles in memory none can fail */
}

/* The same on all threads, where no tile has to make room for another. */
static crd_status finish_together(crd_accumulator *a, crd_slice *out)
{
    const crd_slab_tiles *tiles = crd_slab_division(a->slab);
    const int64_t count = tiles->count[0] * tiles->count[1];
    for (int64_t i = 0; i < a->shape.sums * count; i++) {
        const int64_t tile = i % count;
        CRD_PASS(
            crd_slab_tile(a->slab, out->z, i / count, tile / tiles->count[1], tile % tiles->count[1], &a->tiles[i]));
    }
    finish_work work = {a, out};
    crd_pool_run(a->pool, part_count(a->request) * count, finish_item, &work);
    return CRD_OK;
}

/* Copies row `row` of a tile's summary into a quantity; minus another row where that is >= 0. */
static void copy_summary(const crd_accumulator *a, const crd_patch *p, int64_t row, int64_t minus,
                         const crd_quantity *quantity, float *to)
{
    const int64_t columns = p->end[1] - p->begin[1], width = a->request->box.size[2];
    const int64_t voxels = columns * (p->end[0] - p->begin[0]), planes = a->request->planes;
    const float *high = a->summary + (row * planes + quantity->plane) * voxels;
    const float *low = minus >= 0 ? a->summary + (minus * planes + quantity->plane) * voxels : NULL;
    for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
        float *line = to + y * width + p->begin[1];
        for (int64_t x = 0; x < columns; x++, high++) line[x] = low != NULL ? *high - *low++ : *high;
    }
}

/* All samples of a tile, each averaged over its chunks, into a->values. */
static crd_status average_samples(crd_accumulator *a, const crd_patch *p, int64_t z)
{
    const int64_t columns = p->end[1] - p->begin[1], voxels = columns * (p->end[0] - p->begin[0]);
    for (int64_t sum = 0; sum < a->shape.sums; sum++) {
        void *tile;
        CRD_PASS(crd_slab_tile(a->slab, z, sum, p->tile[0], p->tile[1], &tile));
        for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
            divide_row(a, p, y, denominators_of(a, 0, z, y, p->begin[1], p->end[1]), tile, CRD_F32,
                       sum * voxels + (y - p->begin[0]) * columns, a->values);
        }
    }
    return CRD_OK;
}

/* What of the samples themselves is kept. */
static void keep_samples(const crd_accumulator *a, const crd_patch *p, const crd_slice *out)
{
    const crd_request *request = a->request;
    const int64_t columns = p->end[1] - p->begin[1], voxels = columns * (p->end[0] - p->begin[0]);
    for (int64_t q = 0; q < request->averaged_count; q++) {
        const crd_quantity *quantity = &request->quantities[q];
        if (quantity->kind != CRD_SAMPLE) continue;
        const float *values = a->values + (quantity->low * request->planes + quantity->plane) * voxels;
        for (int64_t i = 0; i < voxels; i++) {
            const int64_t at = (p->begin[0] + i / columns) * request->box.size[2] + p->begin[1] + i % columns;
            store(quantity->stored, (double)values[i], at, out->voxels[q]);
        }
    }
    for (int64_t s = 0; request->save_bits && s < request->samples; s++) {
        for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
            mark_bits(request, s, a->values + s * request->planes * voxels + (y - p->begin[0]) * columns, voxels,
                      columns, y * request->box.size[2] + p->begin[1], out);
        }
    }
}

/* The summary isn't needed yet, and has room for them. */
static void keep_entropies(const crd_accumulator *a, const crd_patch *p, const crd_slice *out)
{
    const crd_request *request = a->request;
    const int64_t columns = p->end[1] - p->begin[1], voxels = columns * (p->end[0] - p->begin[0]);
    for (int64_t q = 0; q < request->averaged_count; q++) {
        if (request->quantities[q].kind != CRD_ALEATORIC) continue;
        a->ops->entropy(a->pool, a->values, request->samples, request->planes, voxels, a->summary);
        for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
            memcpy((float *)out->voxels[q] + y * request->box.size[2] + p->begin[1],
                   a->summary + (y - p->begin[0]) * columns, (size_t)columns * sizeof *a->summary);
        }
    }
}

static crd_status finish_samples(crd_accumulator *a, const crd_patch *p, crd_slice *out)
{
    enum { MEAN, DEVIATION, FIRST_PERCENTILE };
    const crd_request *request = a->request;
    const int64_t values = request->planes * (p->end[1] - p->begin[1]) * (p->end[0] - p->begin[0]);
    CRD_PASS(average_samples(a, p, out->z));
    keep_samples(a, p, out);
    keep_entropies(a, p, out);
    a->ops->summarise(a->pool, a->values, request->samples, values, values, request->percentiles,
                      request->percentile_count, a->summary);
    for (int64_t q = 0; q < request->averaged_count; q++) {
        const crd_quantity *quantity = &request->quantities[q];
        if (quantity->kind == CRD_SAMPLE || quantity->kind == CRD_ALEATORIC) continue;
        const int64_t row = quantity->kind == CRD_PROBABILITY ? MEAN
                            : quantity->kind == CRD_DEVIATION ? DEVIATION
                                                              : FIRST_PERCENTILE + quantity->high;
        copy_summary(a, p, row, quantity->kind == CRD_WIDTH ? FIRST_PERCENTILE + quantity->low : -1, quantity,
                     out->voxels[q]);
    }
    return CRD_OK;
}

/* What is made of finished quantities, in one row of voxels. */
static void derive_row(void *context, int64_t y, int worker)
{
    const finish_work *work = context;
    const crd_request *request = work->a->request;
    void **rows = work->a->rows + worker * request->quantity_count;
    for (int64_t q = 0; q < request->quantity_count; q++) {
        const size_t bytes = crd_type_size(request->quantities[q].stored);
        rows[q] = (char *)work->out->voxels[q] + (size_t)(y * request->box.size[2]) * bytes;
    }
    crd_derive(request, rows, request->box.size[2]);
}

static void blank_outside(const crd_request *request, const uint8_t *inside, crd_slice *slice)
{
    const int64_t voxels = request->box.size[1] * request->box.size[2];
    for (int64_t q = 0; q < request->quantity_count; q++) {
        const size_t bytes = crd_type_size(request->quantities[q].stored);
        char *at = slice->voxels[q];
        for (int64_t i = 0; i < voxels; i++, at += bytes) {
            if (!inside[i]) memset(at, 0, bytes);
        }
    }
}

crd_status crd_accumulator_finish(crd_accumulator *a, int64_t z, const uint8_t *inside, crd_slice *out)
{
    const crd_request *request = a->request;
    const int64_t begin[2] = {0, 0}, end[2] = {request->box.size[1], request->box.size[2]};
    const int64_t fractions = crd_slice_fractions(request);
    crd_patch p = {.tile = {-1, -1}};
    out->z = z;
    const bool together = !request->aggregate_samples && crd_slab_whole(a->slab);
    if (together) CRD_PASS(finish_together(a, out));
    while (!together && crd_next_patch(crd_slab_division(a->slab), begin, end, &p)) {
        CRD_PASS(request->aggregate_samples ? finish_samples(a, &p, out) : finish_parts(a, &p, out));
    }
    crd_pool_run(a->pool, request->box.size[1], derive_row, &(finish_work){a, out});
    if (inside != NULL) blank_outside(request, inside, out);
    crd_fraction_sum_slice(request, a->pool, inside, out);
    if (fractions > 0) {
        memcpy(out->sums + crd_slice_first_fraction(request), a->fractions + z % a->shape.depth * fractions,
               (size_t)fractions * sizeof(uint64_t));
    }
    crd_accumulator_forget(a, z);
    return CRD_OK;
}
