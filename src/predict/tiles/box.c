#include "predict/tiles/box.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/memory.h"
#include "predict/finished/volumes.h"
#include "predict/quantities/derive.h"
#include "predict/sums/fraction.h"

int64_t crd_tile_first_step(const crd_request *request)
{
    return crd_slice_sums(request);
}

int64_t crd_tile_first_range(const crd_request *request)
{
    return crd_tile_first_step(request) + CRD_TILE_WORDS;
}

int64_t crd_tile_sums(const crd_request *request)
{
    return crd_tile_first_range(request) + 2 * request->output_count;
}

/* The largest edge of what a tile keeps of the run's box. */
static int64_t edge_of(const crd_request *request, int axis)
{
    const int64_t tile = request->plan.axes[axis].stride, box = request->box.size[axis];
    return tile < box ? tile : box;
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_tile_box *box = owner;
    const crd_request *request = box->request;
    const int64_t depth = edge_of(request, 0), voxels = depth * edge_of(request, 1) * edge_of(request, 2);
    box->sums = crd_arena_take(arena, crd_tile_sums(request), sizeof *box->sums);
    box->slices = crd_arena_take(arena, depth * crd_tile_sums(request), sizeof *box->slices);
    box->voxels = crd_arena_take(arena, request->quantity_count, sizeof *box->voxels);
    box->rows = crd_arena_take(arena, depth * request->quantity_count, sizeof *box->rows);
    int64_t passing = 0;
    for (int64_t i = 0; i < request->quantity_count; i++) {
        const crd_quantity *quantity = &request->quantities[i];
        passing += quantity->passing;
        void *values = quantity->passing ? NULL : crd_arena_take(arena, voxels, crd_type_size(quantity->stored));
        if (box->voxels != NULL) box->voxels[i] = values;
    }
    box->passing = crd_arena_take(arena, depth * passing * edge_of(request, 2), sizeof *box->passing);
}

int64_t crd_tile_box_bytes(const crd_request *request)
{
    crd_tile_box counted = {.request = request};
    return crd_arena_count(lay_out, &counted);
}

crd_status crd_tile_box_alloc(const crd_request *request, crd_tile_box *out)
{
    *out = (crd_tile_box){.request = request};
    return crd_arena_carve(lay_out, out, "a finished tile", &out->memory);
}

void crd_tile_box_free(crd_tile_box *box)
{
    crd_free(&box->memory);
}

void crd_tile_box_place(crd_tile_box *box, int64_t number)
{
    const crd_request *request = box->request;
    crd_box window;
    crd_plan_chunk(&request->plan, number, &window, &box->box);
    for (int axis = 0; axis < 3; axis++) {
        const int64_t low = request->box.origin[axis], high = low + request->box.size[axis];
        int64_t begin = box->box.origin[axis], end = begin + box->box.size[axis];
        if (begin < low) begin = low;
        if (end > high) end = high;
        CRD_ASSERT(begin < end && end - begin <= edge_of(request, axis));
        box->box.origin[axis] = begin;
        box->box.size[axis] = end - begin;
    }
    box->tile = crd_request_index(request, number);
}

typedef struct filling {
    crd_tile_box *box;
    const crd_chunk_result *result;
    const uint8_t *inside; /* of the box, or NULL */
    crd_box asked;         /* what the result is of, in the scan */
} filling;

static void store(crd_type type, const float *values, int64_t count, void *to)
{
    for (int64_t i = 0; i < count && type == CRD_F32; i++) ((float *)to)[i] = values[i];
    for (int64_t i = 0; i < count && type == CRD_U16; i++) {
        ((uint16_t *)to)[i] = (uint16_t)lrint((double)values[i] * 65535.0);
    }
    for (int64_t i = 0; i < count && type == CRD_U8; i++) {
        ((uint8_t *)to)[i] = (uint8_t)lrint((double)values[i] * 255.0);
    }
}

/* Multiples of 2^-24 up to 1, which a float holds exactly. */
static void take_fixed(const uint32_t *values, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++) to[i] = (float)values[i] * 0x1p-24f;
}

static void take_width(const uint32_t *high, const uint32_t *low, int64_t count, float *to)
{
    for (int64_t i = 0; i < count; i++) to[i] = (float)(high[i] > low[i] ? high[i] - low[i] : 0) * 0x1p-24f;
}

/* Samples are rounded to 2^-24 as all the rest is, so that they are what sums of them would be. */
static void take_sample(const float *values, int64_t count, crd_type type, void *to)
{
    enum { PIECE = 256 };
    float rounded[PIECE];
    for (int64_t first = 0; first < count; first += PIECE) {
        const int64_t n = count - first < PIECE ? count - first : PIECE;
        for (int64_t i = 0; i < n; i++) rounded[i] = (float)lrintf(values[first + i] * 0x1p24f) * 0x1p-24f;
        store(type, rounded, n, (char *)to + (size_t)first * crd_type_size(type));
    }
}

/* Bits of a word of samples: where they are above one half, or a bit of their class's number. */
static void take_bits(const uint64_t *above, int64_t voxels, int planes, int bit, int64_t count, uint64_t *to)
{
    memset(to, 0, (size_t)count * sizeof *to);
    for (int plane = 0; plane < planes; plane++) {
        const int number = planes > 1 ? plane : 1;
        for (int64_t i = 0; (number >> bit & 1) != 0 && i < count; i++) to[i] |= above[plane * voxels + i];
    }
}

/* `count` voxels of quantity q from voxel `from` of the result on; what is made of others has none of it. */
static void take_row(const filling *f, int64_t q, int64_t from, int64_t count, void *to)
{
    const crd_request *request = f->box->request;
    const crd_quantity *quantity = &request->quantities[q];
    const crd_chunk_result *result = f->result;
    const int64_t voxels = f->asked.size[0] * f->asked.size[1] * f->asked.size[2];
    const int64_t at = quantity->plane * voxels + from;
    switch (quantity->kind) {
    case CRD_PROBABILITY:
        take_fixed(result->mean + at, count, to);
        break;
    case CRD_DEVIATION:
        take_fixed(result->deviation + at, count, to);
        break;
    case CRD_PERCENTILE:
        take_fixed(result->percentiles[quantity->low] + at, count, to);
        break;
    case CRD_WIDTH:
        take_width(result->percentiles[quantity->high] + at, result->percentiles[quantity->low] + at, count, to);
        break;
    case CRD_SAMPLE:
        take_sample(result->samples + quantity->low * request->planes * voxels + at, count, quantity->stored, to);
        break;
    case CRD_SAMPLE_BITS:
        take_bits(result->above + quantity->low / 64 * request->planes * voxels + from, voxels, request->planes,
                  quantity->plane, count, to);
        break;
    case CRD_ALEATORIC:
        for (int64_t i = 0; i < count; i++) ((float *)to)[i] = (float)result->entropy[from + i] * 0x1p-22f;
        break;
    default: /* made of these */
        break;
    }
}

static void blank_outside(const uint8_t *inside, int64_t count, size_t bytes, char *to)
{
    for (int64_t i = 0; i < count; i++, to += bytes) {
        if (!inside[i]) memset(to, 0, bytes);
    }
}

/* Where a row of each quantity goes: to voxel `at` of the box, or to a room of the slice. */
static void place_rows(const crd_tile_box *box, int64_t z, int64_t at, void **rows)
{
    const crd_request *request = box->request;
    const int64_t width = edge_of(request, 2);
    int64_t passing = 0, all = 0;
    for (int64_t q = 0; q < request->quantity_count; q++) all += request->quantities[q].passing;
    for (int64_t q = 0; q < request->quantity_count; q++) {
        const crd_quantity *quantity = &request->quantities[q];
        rows[q] = quantity->passing ? (void *)(box->passing + (z * all + passing++) * width)
                                    : (char *)box->voxels[q] + (size_t)at * crd_type_size(quantity->stored);
    }
}

static void fill_slice(void *context, int64_t z, int worker)
{
    const filling *f = context;
    const crd_tile_box *box = f->box;
    const crd_request *request = box->request;
    const int64_t height = box->box.size[1], width = box->box.size[2], slice = height * width;
    const int64_t voxels = f->asked.size[0] * f->asked.size[1] * f->asked.size[2];
    uint64_t *sums = box->slices + z * crd_tile_sums(request);
    void **rows = box->rows + z * request->quantity_count;
    (void)worker;
    memset(sums, 0, (size_t)crd_tile_sums(request) * sizeof *sums);
    for (int64_t y = 0; y < height; y++) {
        const int64_t row = (box->box.origin[0] + z - f->asked.origin[0]) * f->asked.size[1] + box->box.origin[1] + y -
                            f->asked.origin[1];
        const int64_t from = row * f->asked.size[2] + box->box.origin[2] - f->asked.origin[2];
        const int64_t at = z * slice + y * width;
        const uint8_t *inside = f->inside != NULL ? f->inside + at : NULL;
        place_rows(box, z, at, rows);
        for (int64_t q = 0; q < request->quantity_count; q++) take_row(f, q, from, width, rows[q]);
        crd_derive(request, rows, width);
        for (int64_t q = 0; q < request->quantity_count && inside != NULL; q++) {
            blank_outside(inside, width, crd_type_size(request->quantities[q].stored), rows[q]);
        }
        crd_fraction_row(request, f->result->above, voxels, from, inside, width,
                         sums + crd_slice_first_fraction(request));
    }
    crd_fraction_sum_voxels(request, box->voxels, z * slice, slice, f->inside != NULL ? f->inside + z * slice : NULL,
                            sums);
}

/* Steps of the probability between neighbours within the tile: no seam is among them. */
static void measure_slice(void *context, int64_t z, int worker)
{
    const filling *f = context;
    const crd_tile_box *box = f->box;
    const int64_t height = box->box.size[1], width = box->box.size[2];
    const float *slice = (const float *)box->voxels[0] + z * height * width;
    uint64_t *words = box->slices + z * crd_tile_sums(box->request) + crd_tile_first_step(box->request);
    crd_seams steps = {0};
    (void)worker;
    for (int64_t y = 0; y < height; y++) {
        crd_seams_add(slice + y * width + 1, slice + y * width, width - 1, false, &steps);
        if (y > 0) crd_seams_add(slice + y * width, slice + (y - 1) * width, width, false, &steps);
    }
    if (z > 0) crd_seams_add(slice, slice - height * width, height * width, false, &steps);
    words[CRD_TILE_STEP_SUM] = steps.other_sum;
    words[CRD_TILE_STEP_COUNT] = steps.other_count;
}

static double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_up(const crd_tile_box *box)
{
    const crd_request *request = box->request;
    const int64_t words = crd_tile_sums(request), first_range = crd_tile_first_range(request);
    const int64_t first_interval = crd_slice_first_interval(request);
    memcpy(box->sums, box->slices, (size_t)words * sizeof *box->sums);
    for (int64_t z = 1; z < box->box.size[0]; z++) {
        const uint64_t *sums = box->slices + z * words;
        for (int64_t i = 0; i < first_range; i++) {
            const int64_t word = (i - first_interval) % CRD_INTERVAL_WORDS;
            const bool interval = i >= first_interval && i < crd_slice_first_fraction(request);
            if (interval && word == CRD_INTERVAL_LEAST) {
                if (real_of(sums[i]) < real_of(box->sums[i])) box->sums[i] = sums[i];
            } else if (interval && word == CRD_INTERVAL_MOST) {
                if (real_of(sums[i]) > real_of(box->sums[i])) box->sums[i] = sums[i];
            } else {
                box->sums[i] += sums[i];
            }
        }
    }
}

void crd_tile_box_fill(crd_tile_box *box, const crd_chunk_result *result, const uint8_t *inside, crd_pool *pool)
{
    filling f = {.box = box, .result = result, .inside = inside};
    crd_request_asked(box->request, result->chunk_number, &f.asked);
    crd_pool_run(pool, box->box.size[0], fill_slice, &f);
    crd_pool_run(pool, box->box.size[0], measure_slice, &f);
    add_up(box);
}
