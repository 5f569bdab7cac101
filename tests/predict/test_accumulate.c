/* Sums of chunks without any network: tiles in memory and in a scratch file, coverage, volume fractions, any order. */
#include "base/memory.h"
#include "harness.h"
#include "predict/sums/accumulate.h"
#include "volume_tools.h"

enum { SAMPLES = 70, QUANTITIES = 3 }; /* more samples than one word of bits has */

static void test_slab_tiles_survive_the_disk(void)
{
    const crd_slab_shape shape = {.depth = 3, .height = 130, .width = 70, .sums = 7, .wide = false};
    crd_slab_tiles tiles;
    crd_slab *slab = NULL;
    uint64_t state = 5;
    CHECK_OK(crd_slab_divide(&shape, &tiles));
    CHECK(tiles.total > CRD_SLAB_LEAST_TILES && tiles.edge[0] * tiles.count[0] >= 130);
    uint32_t *expected = calloc((size_t)tiles.total, sizeof *expected);
    CHECK_OK(crd_slab_create(&shape, 0, scratch("tiles"), &slab));
    for (int i = 0; i < 20000; i++) {
        const int64_t number = (int64_t)(tools_random(&state) % (uint64_t)tiles.total);
        const int64_t x = number % tiles.count[1], y = number / tiles.count[1] % tiles.count[0];
        const int64_t plane = number / tiles.count[1] / tiles.count[0];
        void *tile;
        CHECK_OK(crd_slab_tile(slab, plane / 7 + 3 * (i % 5), plane % 7, y, x, &tile));
        CHECK(((uint32_t *)tile)[17] == expected[number]);
        ((uint32_t *)tile)[17] = expected[number] += (uint32_t)tools_random(&state) % 1000;
        if (i % 1000 == 999) { /* a slice that was released is zero */
            const int64_t z = i / 1000 % 3, per_slice = 7 * tiles.count[0] * tiles.count[1];
            crd_slab_release(slab, z);
            memset(expected + z * per_slice, 0, (size_t)per_slice * sizeof *expected);
        }
    }
    CHECK(scratch_count("tiles") == 1);
    crd_slab_free(&slab);
    CHECK(scratch_count("tiles") == 0);
    free(expected);
}

/* What a made-up chunk answers: pseudo-random, different for every chunk. */
typedef struct answer {
    uint32_t *mean, *low, *high;
    const uint32_t *percentiles[2];
    uint64_t *above;
    crd_chunk_result result;
} answer;

static void make_answer(const crd_request *request, int64_t number, answer *a)
{
    int64_t voxels = 1;
    uint64_t state = (uint64_t)number * 977;
    for (int axis = 0; axis < 3; axis++) voxels *= request->plan.axes[axis].window;
    a->mean = malloc((size_t)voxels * sizeof *a->mean);
    a->low = malloc((size_t)voxels * sizeof *a->low);
    a->high = malloc((size_t)voxels * sizeof *a->high);
    a->above = malloc((size_t)voxels * 2 * sizeof *a->above);
    for (int64_t i = 0; i < voxels; i++) {
        a->mean[i] = (uint32_t)(tools_random(&state) % ((1u << 24) + 1));
        a->low[i] = (uint32_t)(tools_random(&state) % (1u << 23));
        a->high[i] = a->low[i] + (uint32_t)(tools_random(&state) % (1u << 23));
        a->above[i] = tools_random(&state);
        a->above[voxels + i] = tools_random(&state) & 63; /* samples 64 .. 69 */
    }
    a->percentiles[0] = a->low;
    a->percentiles[1] = a->high;
    a->result =
        (crd_chunk_result){.chunk_number = number, .mean = a->mean, .percentiles = a->percentiles, .above = a->above};
    for (int axis = 0; axis < 3; axis++) a->result.kept.size[axis] = request->plan.axes[axis].window;
}

static void free_answer(answer *a)
{
    free(a->mean);
    free(a->low);
    free(a->high);
    free(a->above);
}

static crd_quantity quantities[QUANTITIES] = {{.kind = CRD_PROBABILITY, .stored = CRD_F32},
                                              {.kind = CRD_WIDTH, .low = 0, .high = 1, .stored = CRD_F32},
                                              {.kind = CRD_PERCENTILE, .low = 1, .high = 1, .stored = CRD_F32}};
static crd_output outputs[2] = {{.quantity = 0, .type = CRD_F32, .scale = 1},
                                {.role = CRD_OUTPUT_UNCERTAINTY, .quantity = 1, .type = CRD_U8}};
static crd_interval interval = {.low = 0, .high = 1, .text = "33-67"};

static crd_status make_request(const int64_t shape[3], const int64_t chunk[3], int64_t step, double trim, crd_box box,
                               crd_request *out)
{
    *out = (crd_request){.planes = 1,
                         .samples = SAMPLES,
                         .quantities = quantities,
                         .quantity_count = QUANTITIES,
                         .averaged_count = QUANTITIES,
                         .outputs = outputs,
                         .output_count = 2,
                         .intervals = &interval,
                         .interval_count = 1,
                         .box = box};
    memcpy(out->scan.shape, shape, 3 * sizeof shape[0]);
    out->chunks = 1;
    for (int axis = 0; axis < 3; axis++) out->count[axis] = 0;
    crd_status status = crd_plan_make(shape, chunk, step, trim, &out->plan);
    for (int axis = 0; axis < 3 && status == CRD_OK; axis++) { /* all windows: those beside the box add nothing */
        out->count[axis] = out->plan.axes[axis].count;
        out->chunks *= out->count[axis];
    }
    return status;
}

/* The straightforward sums of one voxel, over all chunks that keep it. */
typedef struct expected {
    double values[QUANTITIES];
    uint64_t fractions[SAMPLES];
} expected;

static void add_directly(const crd_request *request, const int64_t at[3], const answer *answers, expected *out)
{
    uint64_t sums[QUANTITIES] = {0}, coverage = 0, counts[SAMPLES] = {0};
    memset(out, 0, sizeof *out);
    for (int64_t n = 0; n < request->plan.count; n++) {
        crd_box window, keep;
        bool kept = true;
        crd_plan_chunk(&request->plan, n, &window, &keep);
        for (int axis = 0; axis < 3; axis++) {
            kept = kept && at[axis] >= keep.origin[axis] && at[axis] < keep.origin[axis] + keep.size[axis];
        }
        if (!kept) continue;
        const int64_t voxels = window.size[0] * window.size[1] * window.size[2];
        const int64_t v = ((at[0] - window.origin[0]) * window.size[1] + at[1] - window.origin[1]) * window.size[2] +
                          at[2] - window.origin[2];
        sums[0] += answers[n].mean[v];
        sums[1] += answers[n].high[v] - answers[n].low[v];
        sums[2] += answers[n].high[v];
        coverage++;
        for (int s = 0; s < SAMPLES; s++) counts[s] += answers[n].above[s / 64 * voxels + v] >> (s % 64) & 1;
    }
    for (int q = 0; q < QUANTITIES; q++) out->values[q] = (double)sums[q] / ((double)coverage * 0x1p24);
    for (int s = 0; s < SAMPLES; s++) {
        out->fractions[s] = counts[s] * (uint64_t)llround(0x1p32 / (double)coverage);
    }
}

static bool masked_out(const int64_t at[3])
{
    return (at[0] + 2 * at[1] + 3 * at[2]) % 5 == 0;
}

/* One run over all chunks, in rows from the top, in the order the seed gives within a row; checks every slice. */
static void check_run(const crd_request *request, const answer *answers, bool with_mask, int64_t memory, uint64_t seed)
{
    crd_accumulator *accumulator = NULL;
    crd_slice slice;
    const int64_t *origin = request->box.origin, *size = request->box.size;
    const int64_t per_row = request->count[1] * request->count[2];
    uint8_t *skip = calloc((size_t)size[0], 1), *inside = NULL, *slice_inside = malloc((size_t)(size[1] * size[2]));
    int64_t voxels = 1, done = origin[0];
    for (int axis = 0; axis < 3; axis++) voxels *= request->plan.axes[axis].window;
    if (with_mask) inside = malloc((size_t)voxels);
    CHECK_OK(crd_slice_alloc(request, &slice));
    CHECK_OK(crd_accumulator_create(request, memory, scratch("sums"), &accumulator));
    for (int64_t row = 0; row < request->count[0]; row++) {
        for (int64_t i = 0; i < per_row; i++) {
            const int64_t number = row * per_row + (i + (int64_t)(seed % (uint64_t)per_row)) % per_row;
            crd_box window, keep;
            crd_plan_chunk(&request->plan, number, &window, &keep);
            for (int64_t v = 0; with_mask && v < voxels; v++) {
                const int64_t at[3] = {window.origin[0] + v / window.size[2] / window.size[1],
                                       window.origin[1] + v / window.size[2] % window.size[1],
                                       window.origin[2] + v % window.size[2]};
                inside[v] = !masked_out(at);
            }
            CHECK_OK(crd_accumulator_add(accumulator, &answers[number].result, inside, skip));
        }
        int64_t begin, end, next = origin[0] + size[0];
        if (row + 1 < request->count[0]) crd_request_row(request, row + 1, &next, &end);
        crd_request_row(request, row, &begin, &end);
        for (; done < next && done < end && done < origin[0] + size[0]; done++) {
            uint64_t fractions[SAMPLES] = {0}, within = 0, above = 0, total = 0;
            for (int64_t i = 0; i < size[1] * size[2]; i++) {
                const int64_t at[3] = {done, origin[1] + i / size[2], origin[2] + i % size[2]};
                slice_inside[i] = !masked_out(at);
            }
            CHECK_OK(crd_accumulator_finish(accumulator, done, with_mask ? slice_inside : NULL, &slice));
            for (int64_t i = 0; i < size[1] * size[2]; i++) {
                const int64_t at[3] = {done, origin[1] + i / size[2], origin[2] + i % size[2]};
                const bool counted = !with_mask || slice_inside[i];
                expected e;
                add_directly(request, at, answers, &e);
                for (int q = 0; q < QUANTITIES; q++) {
                    CHECK(((float *)slice.voxels[q])[i] == (counted ? (float)e.values[q] : 0.0f));
                }
                if (!counted) continue;
                for (int s = 0; s < SAMPLES; s++) fractions[s] += e.fractions[s];
                within++;
                above += (float)e.values[0] > 0.5f;
                total += (uint64_t)llround(round((double)(float)e.values[1] * 255.0) / 255.0 * 0x1p32);
            }
            const uint64_t *sums = slice.sums;
            CHECK(sums[CRD_SUM_INSIDE] == within && sums[CRD_SUM_FIRST_CLASS + CRD_CLASS_VOXELS] == above);
            CHECK(sums[crd_slice_first_interval(request) + CRD_INTERVAL_SUM] == total); /* as written: in u8 */
            CHECK(memcmp(sums + crd_slice_first_fraction(request), fractions, sizeof fractions) == 0);
        }
    }
    CHECK(done == origin[0] + size[0]);
    crd_accumulator_free(&accumulator);
    crd_slice_free(&slice);
    free(skip);
    free(inside);
    free(slice_inside);
}

static void check_case(const int64_t shape[3], const int64_t chunk[3], int64_t step, double trim, crd_box box)
{
    crd_request request;
    CHECK_OK(make_request(shape, chunk, step, trim, box, &request));
    answer *answers = calloc((size_t)request.plan.count, sizeof *answers);
    for (int64_t n = 0; n < request.plan.count; n++) make_answer(&request, n, &answers[n]);
    check_run(&request, answers, false, INT64_C(1) << 30, 0);
    if (!harness_failed) check_run(&request, answers, true, 0, 7);
    for (int64_t n = 0; n < request.plan.count; n++) free_answer(&answers[n]);
    free(answers);
}

static void test_every_voxel(void)
{
    const crd_box whole = {{0, 0, 0}, {21, 19, 26}};
    check_case((const int64_t[]){21, 19, 26}, (const int64_t[]){8, 8, 16}, 3, 0.1, whole);
}

static void test_tiles_and_boxes(void)
{
    const crd_box whole = {{0, 0, 0}, {9, 150, 20}}, part = {{2, 67, 5}, {5, 70, 11}};
    check_case((const int64_t[]){9, 150, 20}, (const int64_t[]){8, 64, 16}, 2, 0.1, whole);
    if (!harness_failed) check_case((const int64_t[]){9, 150, 20}, (const int64_t[]){8, 64, 16}, 2, 0.1, part);
}

/* More than 255 chunks over one voxel: the sums are 64 bits wide. */
static void test_wide_sums(void)
{
    crd_slab_shape shape;
    crd_request request;
    const crd_box whole = {{0, 0, 0}, {15, 15, 15}};
    CHECK_OK(make_request((const int64_t[]){15, 15, 15}, (const int64_t[]){8, 8, 8}, 8, 0.0, whole, &request));
    crd_accumulator_shape(&request, &shape);
    CHECK(shape.wide && shape.depth == 8);
    check_case((const int64_t[]){15, 15, 15}, (const int64_t[]){8, 8, 8}, 8, 0.0, whole);
}

TEST_MAIN(TEST(test_slab_tiles_survive_the_disk), TEST(test_every_voxel), TEST(test_tiles_and_boxes),
          TEST(test_wide_sums))
