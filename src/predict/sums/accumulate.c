#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"
#include "predict/sums/fraction.h"
#include "predict/sums/inside.h"

/* Sums of up to 255 values of at most 2^24 fit 32 bits. */
enum { NARROW_COVERAGE = 255 };

int64_t crd_slice_first_interval(const crd_request *request)
{
    return CRD_SUM_FIRST_CLASS + CRD_CLASS_WORDS * request->planes + 1;
}

int64_t crd_slice_fractions(const crd_request *request)
{
    return request->draws_per_chunk ? 0 : request->planes * request->samples;
}

int64_t crd_slice_first_fraction(const crd_request *request)
{
    return crd_slice_first_interval(request) + CRD_INTERVAL_WORDS * request->interval_count;
}

int64_t crd_slice_sums(const crd_request *request)
{
    return crd_slice_first_fraction(request) + crd_slice_fractions(request);
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

/* Averaged quantities are sums themselves. Behind them, bits of samples are made of a sum for each sample and plane. */
void crd_accumulator_shape(const crd_request *request, crd_slab_shape *out)
{
    int64_t least, most;
    crd_plan_coverage(&request->plan, &least, &most);
    *out = (crd_slab_shape){.height = request->box.size[1], .width = request->box.size[2]};
    const int64_t samples = request->planes * request->samples;
    out->sums = request->aggregate_samples ? samples
                : request->save_bits       ? request->averaged_count + samples
                                           : request->averaged_count;
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
        a->fractions = crd_arena_take(arena, a->shape.depth * crd_slice_fractions(request), sizeof(uint64_t));
    }
    a->denominators = crd_arena_take(arena, a->threads * request->box.size[2], sizeof(double));
    a->tiles = crd_arena_take(arena, a->shape.sums * a->division.count[0] * a->division.count[1], sizeof *a->tiles);
    a->rows = crd_arena_take(arena, a->threads * request->quantity_count, sizeof *a->rows);
    if (!request->aggregate_samples) return;
    const int64_t voxels = request->planes * a->division.edge[0] * a->division.edge[1];
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
    if (sum >= request->averaged_count)
        return (addend){.real = result->samples + (sum - request->averaged_count) * voxels};
    const crd_quantity *q = &request->quantities[sum];
    const int64_t plane = q->plane * voxels;
    switch (q->kind) {
    case CRD_PROBABILITY:
        return (addend){.plus = result->mean + plane};
    case CRD_DEVIATION:
        return (addend){.plus = result->deviation + plane};
    case CRD_PERCENTILE:
        return (addend){.plus = result->percentiles[q->low] + plane};
    case CRD_WIDTH:
        return (addend){.plus = result->percentiles[q->high] + plane, .minus = result->percentiles[q->low] + plane};
    case CRD_ALEATORIC:
        return (addend){.plus = result->entropy};
    default: /* a sample: no other is averaged */
        return (addend){.real = result->samples + q->low * request->planes * voxels + plane};
    }
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

bool crd_next_patch(const crd_slab_tiles *tiles, const int64_t begin[2], const int64_t end[2], crd_patch *p)
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
    crd_patch p = {.tile = {-1, -1}};
    while (crd_next_patch(tiles, begin, end, &p)) {
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
                     a->fractions + z % a->shape.depth * crd_slice_fractions(a->request));
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

crd_accumulator_sums crd_accumulator_sums_of(crd_accumulator *a, int64_t z)
{
    const int64_t count = crd_slice_fractions(a->request);
    return (crd_accumulator_sums){.slab = a->slab,
                                  .count = a->shape.sums,
                                  .wide = a->shape.wide,
                                  .fractions = count > 0 ? a->fractions + z % a->shape.depth * count : NULL,
                                  .fraction_count = count};
}

/* Makes room for the next slice in the same place of the ring. */
void crd_accumulator_forget(crd_accumulator *a, int64_t z)
{
    crd_slab_release(a->slab, z);
    const int64_t count = crd_slice_fractions(a->request);
    if (count > 0) memset(a->fractions + z % a->shape.depth * count, 0, (size_t)count * sizeof(uint64_t));
}
