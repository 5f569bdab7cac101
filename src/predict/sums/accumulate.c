#include "predict/sums/accumulate.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"
#include "ops/ops.h"
#include "predict/sums/fraction.h"

/* Sums of up to 255 values of at most 2^24 fit 32 bits. */
enum { NARROW_COVERAGE = 255 };

struct crd_accumulator {
    const crd_request *request;
    crd_slab *slab;
    crd_slab_shape shape;
    crd_slab_tiles division;
    int threads;
    int64_t *coverage[3]; /* along each axis, by coordinate of the box */
    uint64_t *fractions;  /* [depth of the ring][samples], where draws are shared */
    double *denominators; /* of one row of voxels, for each thread */
    void **tiles;         /* of a slice that is being finished: [quantity][tile], where all fit in memory */
    crd_pool *pool;
    const crd_ops *ops;
    float *values, *summary; /* of one tile: [samples][voxels], [2 + percentiles][voxels] */
    void *memory;            /* one block behind all arrays */
};

int64_t crd_slice_first_fraction(const crd_request *request)
{
    return CRD_SUM_FIRST_INTERVAL + CRD_INTERVAL_WORDS * request->interval_count;
}

int64_t crd_slice_sums(const crd_request *request)
{
    return crd_slice_first_fraction(request) + (request->draws_per_chunk ? 0 : request->samples);
}

static void lay_out_slice(crd_arena *arena, void *owner)
{
    crd_slice *slice = owner;
    const crd_request *request = slice->request;
    slice->sums = crd_arena_take(arena, crd_slice_sums(request), sizeof *slice->sums);
    slice->voxels = crd_arena_take(arena, request->quantity_count, sizeof *slice->voxels);
    for (int64_t i = 0; i < request->quantity_count; i++) {
        void *voxels = crd_arena_take(arena, request->box.size[1] * request->box.size[2],
                                      crd_type_size(request->quantities[i].stored));
        if (slice->voxels != NULL) slice->voxels[i] = voxels;
    }
}

int64_t crd_slice_bytes(const crd_request *request)
{
    crd_slice counted = {.request = request};
    return crd_arena_count(lay_out_slice, &counted);
}

crd_status crd_slice_alloc(const crd_request *request, crd_slice *out)
{
    *out = (crd_slice){.request = request};
    return crd_arena_carve(lay_out_slice, out, "a slice", &out->memory);
}

void crd_slice_free(crd_slice *slice)
{
    crd_free(&slice->memory);
}

/* Quantities that are sums themselves. Bits of samples, which come behind them, are made of one sum for each sample. */
static int64_t first_bits(const crd_request *request)
{
    const int64_t words = request->save_bits ? (request->samples + 63) / 64 : 0;
    return request->quantity_count - words;
}

void crd_accumulator_shape(const crd_request *request, crd_slab_shape *out)
{
    int64_t least, most;
    crd_plan_coverage(&request->plan, &least, &most);
    *out = (crd_slab_shape){.height = request->box.size[1], .width = request->box.size[2]};
    out->sums = request->aggregate_samples ? request->samples
                : request->save_bits       ? first_bits(request) + request->samples
                                           : request->quantity_count;
    out->wide = most > NARROW_COVERAGE;
    for (int64_t row = 0; row < request->count[0]; row++) {
        int64_t begin, end;
        crd_request_row(request, row, &begin, &end);
        if (end - begin > out->depth) out->depth = end - begin;
    }
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_accumulator *a = owner;
    const crd_request *request = a->request;
    for (int axis = 0; axis < 3; axis++) {
        a->coverage[axis] = crd_arena_take(arena, request->box.size[axis], sizeof(int64_t));
    }
    if (!request->draws_per_chunk) {
        a->fractions = crd_arena_take(arena, a->shape.depth * request->samples, sizeof(uint64_t));
    }
    a->denominators = crd_arena_take(arena, a->threads * request->box.size[2], sizeof(double));
    a->tiles = crd_arena_take(arena, a->shape.sums * a->division.count[0] * a->division.count[1], sizeof *a->tiles);
    if (!request->aggregate_samples) return;
    const int64_t voxels = a->division.edge[0] * a->division.edge[1];
    a->values = crd_arena_take(arena, request->samples * voxels, sizeof(float));
    a->summary = crd_arena_take(arena, (2 + request->percentile_count) * voxels, sizeof(float));
}

static crd_status set_request(crd_accumulator *a, const crd_request *request)
{
    a->request = request;
    a->threads = request->device.threads > 0 ? request->device.threads : crd_available_cores();
    crd_accumulator_shape(request, &a->shape);
    return crd_slab_divide(&a->shape, &a->division);
}

int64_t crd_accumulator_bytes(const crd_request *request)
{
    crd_accumulator counted = {0};
    if (set_request(&counted, request) != CRD_OK) return 0; /* making the slab will say why */
    return (int64_t)sizeof counted + crd_arena_count(lay_out, &counted);
}

static crd_status prepare(crd_accumulator *a)
{
    const crd_request *request = a->request;
    CRD_PASS(crd_arena_carve(lay_out, a, "the sums", &a->memory));
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t i = 0; i < request->box.size[axis]; i++) {
            a->coverage[axis][i] = crd_axis_coverage(&request->plan.axes[axis], request->box.origin[axis] + i);
        }
    }
    CRD_PASS(crd_pool_create(request->device.threads, &a->pool));
    if (!request->aggregate_samples) return CRD_OK;
    /* a GPU's instruction path is none of the CPU's */
    return crd_ops_select(request->backend->on_host ? request->device.isa : NULL, &a->ops);
}

crd_status crd_accumulator_create(const crd_request *request, int64_t slab_memory, const char *scratch,
                                  crd_accumulator **out)
{
    crd_status status = CRD_OK;
    crd_accumulator *a = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *a, "the sums", &a));
    CRD_TRY(set_request(a, request));
    CRD_TRY(crd_slab_create(&a->shape, slab_memory, scratch, &a->slab));
    CRD_TRY(prepare(a));
    *out = a;
    a = NULL;
done:
    crd_accumulator_free(&a);
    return status;
}

void crd_accumulator_free(crd_accumulator **pointer)
{
    crd_accumulator *a = *pointer;
    if (a == NULL) return;
    crd_slab_free(&a->slab);
    crd_pool_free(&a->pool);
    crd_free(&a->memory);
    crd_free(pointer);
}

/* What one sum adds for `count` voxels from number `first` of the chunk on. */
typedef struct addend {
    const uint32_t *plus, *minus; /* plus - minus where minus isn't NULL */
    const float *real;            /* in their place: rounded to 2^-24 here */
} addend;

static addend addend_of(const crd_request *request, const crd_chunk_result *result, int64_t sum)
{
    const int64_t voxels = result->kept.size[0] * result->kept.size[1] * result->kept.size[2];
    if (request->aggregate_samples) return (addend){.real = result->samples + sum * voxels};
    if (sum >= first_bits(request)) return (addend){.real = result->samples + (sum - first_bits(request)) * voxels};
    const crd_quantity *q = &request->quantities[sum];
    switch (q->kind) {
    case CRD_PROBABILITY:
        return (addend){.plus = result->mean};
    case CRD_DEVIATION:
        return (addend){.plus = result->deviation};
    case CRD_PERCENTILE:
        return (addend){.plus = result->percentiles[q->low]};
    case CRD_WIDTH:
        return (addend){.plus = result->percentiles[q->high], .minus = result->percentiles[q->low]};
    case CRD_SAMPLE:
    case CRD_SAMPLE_BITS:
        break;
    }
    return (addend){.real = result->samples + q->low * voxels};
}

#define ADD_ROW(NAME, TYPE)                                                                                            \
    static void NAME(const addend *from, int64_t first, int64_t count, TYPE *to)                                       \
    {                                                                                                                  \
        if (from->real != NULL) {                                                                                      \
            const float *real = from->real + first;                                                                    \
            for (int64_t i = 0; i < count; i++) to[i] += (uint32_t)lrintf(real[i] * 0x1p24f);                          \
        } else if (from->minus != NULL) {                                                                              \
            const uint32_t *high = from->plus + first, *low = from->minus + first;                                     \
            for (int64_t i = 0; i < count; i++) to[i] += high[i] > low[i] ? high[i] - low[i] : 0;                      \
        } else {                                                                                                       \
            const uint32_t *plus = from->plus + first;                                                                 \
            for (int64_t i = 0; i < count; i++) to[i] += plus[i];                                                      \
        }                                                                                                              \
    }
ADD_ROW(add_narrow, uint32_t)
ADD_ROW(add_wide, uint64_t)

/* Part of a tile: rows [y0, y1) and columns [x0, x1) of the box. */
typedef struct patch {
    int64_t tile[2];
    int64_t begin[2], end[2];
} patch;

/* The next tile that meets [begin, end) of the box, in rows; false after the last. patch.tile starts at -1, -1. */
static bool next_patch(const crd_slab_tiles *tiles, const int64_t begin[2], const int64_t end[2], patch *p)
{
    if (p->tile[0] < 0) {
        p->tile[0] = begin[0] / tiles->edge[0];
        p->tile[1] = begin[1] / tiles->edge[1];
    } else if ((p->tile[1] + 1) * tiles->edge[1] < end[1]) {
        p->tile[1]++;
    } else {
        p->tile[0]++;
        p->tile[1] = begin[1] / tiles->edge[1];
    }
    for (int axis = 0; axis < 2; axis++) {
        const int64_t low = p->tile[axis] * tiles->edge[axis], high = low + tiles->edge[axis];
        p->begin[axis] = low > begin[axis] ? low : begin[axis];
        p->end[axis] = high < end[axis] ? high : end[axis];
    }
    return p->begin[0] < end[0];
}

static crd_status add_slice(crd_accumulator *a, const crd_chunk_result *result, const crd_box *asked,
                            const crd_box *keep, int64_t z)
{
    const crd_request *request = a->request;
    const crd_slab_tiles *tiles = crd_slab_division(a->slab);
    const int64_t *origin = request->box.origin;
    int64_t begin[2], end[2];
    for (int axis = 0; axis < 2; axis++) {
        begin[axis] = keep->origin[axis + 1] - origin[axis + 1];
        end[axis] = begin[axis] + keep->size[axis + 1];
    }
    CRD_ASSERT(z >= asked->origin[0] && z < asked->origin[0] + asked->size[0]);
    CRD_ASSERT(begin[0] >= 0 && end[0] <= request->box.size[1] && begin[1] >= 0 && end[1] <= request->box.size[2]);
    patch p = {.tile = {-1, -1}};
    while (next_patch(tiles, begin, end, &p)) {
        for (int64_t sum = 0; sum < a->shape.sums; sum++) {
            void *tile;
            const addend from = addend_of(request, result, sum);
            CRD_PASS(crd_slab_tile(a->slab, z, sum, p.tile[0], p.tile[1], &tile));
            for (int64_t y = p.begin[0]; y < p.end[0]; y++) {
                const int64_t in_chunk =
                    ((z - asked->origin[0]) * asked->size[1] + y + origin[1] - asked->origin[1]) * asked->size[2] +
                    p.begin[1] + origin[2] - asked->origin[2];
                const int64_t in_tile =
                    (y - p.tile[0] * tiles->edge[0]) * tiles->edge[1] + p.begin[1] - p.tile[1] * tiles->edge[1];
                const int64_t count = p.end[1] - p.begin[1];
                if (a->shape.wide) {
                    add_wide(&from, in_chunk, count, (uint64_t *)tile + in_tile);
                } else {
                    add_narrow(&from, in_chunk, count, (uint32_t *)tile + in_tile);
                }
            }
        }
    }
    return CRD_OK;
}

/* The kept part of a chunk that lies in the box. */
static void clip(const crd_box *box, crd_box *keep)
{
    for (int axis = 0; axis < 3; axis++) {
        int64_t begin = keep->origin[axis], end = begin + keep->size[axis];
        if (begin < box->origin[axis]) begin = box->origin[axis];
        if (end > box->origin[axis] + box->size[axis]) end = box->origin[axis] + box->size[axis];
        keep->origin[axis] = begin;
        keep->size[axis] = end - begin;
    }
}

typedef struct fraction_work {
    const crd_accumulator *a;
    const crd_chunk_result *result;
    const uint8_t *inside, *skip;
    const crd_box *asked, *keep;
} fraction_work;

static void add_fractions(void *context, int64_t item, int worker)
{
    const fraction_work *work = context;
    const crd_accumulator *a = work->a;
    const int64_t z = work->keep->origin[0] + item;
    (void)worker;
    if (work->skip[z - a->request->box.origin[0]]) return;
    const crd_fraction_slice slice = {.request = a->request,
                                      .asked = work->asked,
                                      .keep = work->keep,
                                      .z = z,
                                      .above = work->result->above,
                                      .inside = work->inside};
    crd_fraction_add(&slice, (const int64_t *const *)a->coverage,
                     a->fractions + z % a->shape.depth * a->request->samples);
}

crd_status crd_accumulator_add(crd_accumulator *a, const crd_chunk_result *result, const uint8_t *inside,
                               const uint8_t *skip)
{
    const crd_request *request = a->request;
    crd_box window, keep, asked;
    crd_plan_chunk(&request->plan, result->chunk_number, &window, &keep);
    crd_request_asked(request, result->chunk_number, &asked);
    clip(&request->box, &keep);
    for (int64_t z = keep.origin[0]; z < keep.origin[0] + keep.size[0]; z++) {
        if (skip[z - request->box.origin[0]]) continue;
        CRD_PASS(add_slice(a, result, &asked, &keep, z));
    }
    if (a->fractions != NULL) {
        fraction_work work = {a, result, inside, skip, &asked, &keep};
        crd_pool_run(a->pool, keep.size[0], add_fractions, &work);
    }
    return CRD_OK;
}

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
static void divide_row(const crd_accumulator *a, const patch *p, int64_t y, const double *denominators,
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

static void finish_tile(const crd_accumulator *a, const patch *p, int64_t q, const void *tile, int worker,
                        const crd_slice *out)
{
    for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
        divide_row(a, p, y, denominators_of(a, worker, out->z, y, p->begin[1], p->end[1]), tile,
                   a->request->quantities[q].stored, y * a->request->box.size[2] + p->begin[1], out->voxels[q]);
    }
}

static void set_bit(uint64_t *word, int64_t s, float value)
{
    const uint64_t bit = (uint64_t)(value > 0.5f) << s % 64;
    *word = s % 64 == 0 ? bit : *word | bit; /* the first sets the others to 0 */
}

/* The bits of sample s; those of a word in rising order. */
static void finish_bits(const crd_accumulator *a, const patch *p, int64_t s, const void *tile, int worker,
                        const crd_slice *out)
{
    enum { PIECE = 512 };
    const int64_t width = a->request->box.size[2];
    uint64_t *words = out->voxels[first_bits(a->request) + s / 64];
    for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
        for (patch piece = *p; piece.begin[1] < p->end[1]; piece.begin[1] = piece.end[1]) {
            float values[PIECE];
            if (piece.begin[1] + PIECE < p->end[1]) {
                piece.end[1] = piece.begin[1] + PIECE;
            } else {
                piece.end[1] = p->end[1];
            }
            const double *denominators = denominators_of(a, worker, out->z, y, piece.begin[1], piece.end[1]);
            divide_row(a, &piece, y, denominators, tile, CRD_F32, 0, values);
            for (int64_t x = piece.begin[1]; x < piece.end[1]; x++) {
                set_bit(&words[y * width + x], s, values[x - piece.begin[1]]);
            }
        }
    }
}

static crd_status finish_quantities(crd_accumulator *a, const patch *p, crd_slice *out)
{
    const int64_t plain = first_bits(a->request);
    for (int64_t sum = 0; sum < a->shape.sums; sum++) {
        void *tile;
        CRD_PASS(crd_slab_tile(a->slab, out->z, sum, p->tile[0], p->tile[1], &tile));
        if (sum < plain) {
            finish_tile(a, p, sum, tile, 0, out);
        } else {
            finish_bits(a, p, sum - plain, tile, 0, out);
        }
    }
    return CRD_OK;
}

typedef struct finish_work {
    const crd_accumulator *a;
    const crd_slice *out;
} finish_work;

static patch patch_of(const crd_accumulator *a, int64_t tile)
{
    const crd_slab_tiles *tiles = crd_slab_division(a->slab);
    patch p = {.tile = {tile / tiles->count[1], tile % tiles->count[1]}};
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
    const int64_t plain = first_bits(work->a->request), samples = work->a->request->samples, q = item / count;
    const patch p = patch_of(work->a, item % count);
    if (q < plain) {
        finish_tile(work->a, &p, q, work->a->tiles[item], worker, work->out);
        return;
    }
    for (int64_t s = (q - plain) * 64; s < samples && s < (q - plain + 1) * 64; s++) {
        finish_bits(work->a, &p, s, work->a->tiles[(plain + s) * count + item % count], worker, work->out);
    }
}

/* The same on all threads, where no tile has to make room for another. */
static crd_status finish_together(crd_accumulator *a, crd_slice *out)
{
    const crd_slab_tiles *tiles = crd_slab_division(a->slab);
    const int64_t count = tiles->count[0] * tiles->count[1], items = a->request->quantity_count * count;
    for (int64_t i = 0; i < a->shape.sums * count; i++) {
        const int64_t tile = i % count;
        CRD_PASS(
            crd_slab_tile(a->slab, out->z, i / count, tile / tiles->count[1], tile % tiles->count[1], &a->tiles[i]));
    }
    finish_work work = {a, out};
    crd_pool_run(a->pool, items, finish_item, &work);
    return CRD_OK;
}

/* Copies row `row` of a tile's summary into a quantity; minus another row where that is >= 0. */
static void copy_summary(const crd_accumulator *a, const patch *p, int64_t voxels, int64_t row, int64_t minus,
                         float *to)
{
    const int64_t columns = p->end[1] - p->begin[1], width = a->request->box.size[2];
    const float *high = a->summary + row * voxels, *low = minus >= 0 ? a->summary + minus * voxels : NULL;
    for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
        float *line = to + y * width + p->begin[1];
        for (int64_t x = 0; x < columns; x++, high++) line[x] = low != NULL ? *high - *low++ : *high;
    }
}

static crd_status finish_samples(crd_accumulator *a, const patch *p, crd_slice *out)
{
    enum { MEAN, DEVIATION, FIRST_PERCENTILE };
    const crd_request *request = a->request;
    const int64_t columns = p->end[1] - p->begin[1], voxels = columns * (p->end[0] - p->begin[0]);
    for (int64_t s = 0; s < request->samples; s++) {
        void *tile;
        CRD_PASS(crd_slab_tile(a->slab, out->z, s, p->tile[0], p->tile[1], &tile));
        for (int64_t y = p->begin[0]; y < p->end[0]; y++) {
            divide_row(a, p, y, denominators_of(a, 0, out->z, y, p->begin[1], p->end[1]), tile, CRD_F32,
                       s * voxels + (y - p->begin[0]) * columns, a->values);
        }
    }
    for (int64_t q = 0; q < request->quantity_count; q++) {
        const crd_quantity *quantity = &request->quantities[q];
        for (int64_t s = quantity->low; quantity->kind == CRD_SAMPLE_BITS && s <= quantity->high; s++) {
            const float *values = a->values + s * voxels;
            for (int64_t i = 0; i < voxels; i++) {
                const int64_t at = (p->begin[0] + i / columns) * request->box.size[2] + p->begin[1] + i % columns;
                set_bit((uint64_t *)out->voxels[q] + at, s, values[i]);
            }
        }
        if (quantity->kind != CRD_SAMPLE) continue;
        const float *values = a->values + quantity->low * voxels;
        for (int64_t i = 0; i < voxels; i++) {
            const int64_t at = (p->begin[0] + i / columns) * request->box.size[2] + p->begin[1] + i % columns;
            store(quantity->stored, (double)values[i], at, out->voxels[q]);
        }
    }
    a->ops->summarise(a->pool, a->values, request->samples, voxels, voxels, request->percentiles,
                      request->percentile_count, a->summary);
    for (int64_t q = 0; q < request->quantity_count; q++) {
        const crd_quantity *quantity = &request->quantities[q];
        if (quantity->kind == CRD_SAMPLE || quantity->kind == CRD_SAMPLE_BITS) continue;
        const int64_t row = quantity->kind == CRD_PROBABILITY ? MEAN
                            : quantity->kind == CRD_DEVIATION ? DEVIATION
                                                              : FIRST_PERCENTILE + quantity->high;
        copy_summary(a, p, voxels, row, quantity->kind == CRD_WIDTH ? FIRST_PERCENTILE + quantity->low : -1,
                     out->voxels[q]);
    }
    return CRD_OK;
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

crd_accumulator_sums crd_accumulator_sums_of(crd_accumulator *a, int64_t z)
{
    const int64_t samples = a->fractions != NULL ? a->request->samples : 0;
    return (crd_accumulator_sums){.slab = a->slab,
                                  .count = a->shape.sums,
                                  .wide = a->shape.wide,
                                  .fractions = samples > 0 ? a->fractions + z % a->shape.depth * samples : NULL,
                                  .fraction_count = samples};
}

/* Makes room for the next slice in the same place of the ring. */
void crd_accumulator_forget(crd_accumulator *a, int64_t z)
{
    crd_slab_release(a->slab, z);
    if (a->fractions == NULL) return;
    memset(a->fractions + z % a->shape.depth * a->request->samples, 0, (size_t)a->request->samples * sizeof(uint64_t));
}

crd_status crd_accumulator_finish(crd_accumulator *a, int64_t z, const uint8_t *inside, crd_slice *out)
{
    const crd_request *request = a->request;
    const int64_t begin[2] = {0, 0}, end[2] = {request->box.size[1], request->box.size[2]};
    patch p = {.tile = {-1, -1}};
    out->z = z;
    const bool together = !request->aggregate_samples && crd_slab_whole(a->slab);
    if (together) CRD_PASS(finish_together(a, out));
    while (!together && next_patch(crd_slab_division(a->slab), begin, end, &p)) {
        CRD_PASS(request->aggregate_samples ? finish_samples(a, &p, out) : finish_quantities(a, &p, out));
    }
    if (inside != NULL) blank_outside(request, inside, out);
    crd_fraction_sum_slice(request, a->pool, inside, out);
    if (a->fractions != NULL) {
        memcpy(out->sums + crd_slice_first_fraction(request), a->fractions + z % a->shape.depth * request->samples,
               (size_t)request->samples * sizeof(uint64_t));
    }
    crd_accumulator_forget(a, z);
    return CRD_OK;
}
