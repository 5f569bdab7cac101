/* The plan against a direct transcription of the paper's algorithm, over thousands of random shapes. */
#include "chunk/plan.h"
#include "harness.h"

static uint64_t state = 88172645463325252u;
static int64_t random_in(int64_t low, int64_t high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (int64_t)(state % (uint64_t)(high - low + 1));
}

enum { MOST = 4096 };

/* Positions 0, t, 2t, ... while they fit, then the one flush with the end. */
static int64_t transcribe_positions(int64_t n, int64_t w, int64_t step, int64_t positions[MOST], int64_t *stride)
{
    int64_t count = 0, t = w / step;
    if (t < 1) t = 1;
    for (int64_t p = 0; p <= n - w; p += t) positions[count++] = p;
    if (positions[count - 1] != n - w) positions[count++] = n - w;
    *stride = t;
    return count;
}

static void test_axis_equals_the_transcription(void)
{
    static int64_t positions[MOST];
    static int coverage[MOST];
    for (int round = 0; round < 20000; round++) {
        const int64_t w = random_in(1, 40), n = w + random_in(0, 90), step = random_in(1, 9);
        const double trim = (double)random_in(0, 100) / 100.0;
        const int64_t shape[3] = {n, w, w}, chunk[3] = {w, w, w};
        crd_plan plan;
        int64_t stride;
        CHECK_OK(crd_plan_make(shape, chunk, step, trim, &plan));
        const crd_axis_plan *axis = &plan.axes[0];
        const int64_t count = transcribe_positions(n, w, step, positions, &stride);
        CHECK(axis->count == count && axis->stride == stride);
        int64_t border = (int64_t)ceil(trim * (double)w);
        if (border > (w - stride) / 2) border = (w - stride) / 2;
        memset(coverage, 0, sizeof coverage);
        for (int64_t i = 0; i < count; i++) {
            int64_t begin, end;
            CHECK(crd_axis_position(axis, i) == positions[i]);
            crd_axis_keep(axis, i, &begin, &end);
            CHECK(begin == (positions[i] == 0 ? 0 : positions[i] + border));
            CHECK(end == (positions[i] + w == n ? n : positions[i] + w - border));
            for (int64_t v = begin; v < end; v++) coverage[v]++;
        }
        for (int64_t v = 0; v < n; v++) {
            CHECK(coverage[v] >= 1);
            CHECK(crd_axis_coverage(axis, v) == coverage[v]);
        }
    }
}

static void test_chunks_are_ordered_and_inside(void)
{
    const int64_t shape[3] = {50, 61, 70}, chunk[3] = {16, 24, 32};
    crd_plan plan;
    crd_box window, keep;
    CHECK_OK(crd_plan_make(shape, chunk, 3, 0.1, &plan));
    int64_t number = 0;
    for (int64_t z = 0; z < plan.axes[0].count; z++) {
        for (int64_t y = 0; y < plan.axes[1].count; y++) {
            for (int64_t x = 0; x < plan.axes[2].count; x++, number++) {
                crd_plan_chunk(&plan, number, &window, &keep);
                CHECK(window.origin[0] == crd_axis_position(&plan.axes[0], z));
                CHECK(window.origin[1] == crd_axis_position(&plan.axes[1], y));
                CHECK(window.origin[2] == crd_axis_position(&plan.axes[2], x));
                for (int axis = 0; axis < 3; axis++) {
                    CHECK(window.size[axis] == chunk[axis]);
                    CHECK(keep.origin[axis] >= window.origin[axis]);
                    CHECK(keep.origin[axis] + keep.size[axis] <= window.origin[axis] + window.size[axis]);
                    CHECK(keep.origin[axis] + keep.size[axis] <= shape[axis]);
                }
            }
        }
    }
    CHECK(number == plan.count);
}

static void test_the_papers_volume_has_6936_chunks(void)
{
    const int64_t shape[3] = {742, 1100, 1100}, chunk[3] = {88, 176, 176};
    crd_plan plan;
    int64_t least, most;
    CHECK_OK(crd_plan_make(shape, chunk, 3, 0.1, &plan));
    CHECK(plan.count == 6936);
    crd_plan_coverage(&plan, &least, &most);
    CHECK(least == 1 && most >= 8 && most <= 64);
}

static void test_wrong_settings_are_refused(void)
{
    const int64_t shape[3] = {20, 64, 64}, chunk[3] = {32, 32, 32}, tiny[3] = {5, 64, 64};
    crd_plan plan;
    CHECK_FAILS(crd_plan_make(shape, chunk, 3, 0.1, &plan), CRD_ERR_ARGUMENT, "a chunk of 16 there would fit");
    CHECK_FAILS(crd_plan_make(tiny, chunk, 3, 0.1, &plan), CRD_ERR_ARGUMENT, "smallest chunk has 8");
    CHECK_FAILS(crd_plan_make(chunk, chunk, 0, 0.1, &plan), CRD_ERR_ARGUMENT, "step");
    CHECK_FAILS(crd_plan_make(chunk, chunk, 3, 1.01, &plan), CRD_ERR_ARGUMENT, "trim");
    CHECK_FAILS(crd_plan_make(chunk, chunk, 3, (double)NAN, &plan), CRD_ERR_ARGUMENT, "trim");
}

/* All that is seen of tiles is to be worked on. */
static void seen_lengths(const void *context, const crd_axis_plan *axis, double *lengths)
{
    (void)context;
    lengths[0] = (double)(axis->window * axis->count);
}

static const crd_tile_work all_seen = {.terms = 1, .weights = {1.0}, .lengths = seen_lengths};

static void test_tiles_keep_every_voxel_once_and_see_their_halo(void)
{
    for (int round = 0; round < 20000; round++) {
        const int64_t n = random_in(1, 400), tile = 8 * random_in(1, 12), halo = 8 * random_in(0, tile / 8);
        const int64_t extent = (n + 7) / 8 * 8, shape[3] = {n, 8, 8}, tiles[3] = {tile, tile, tile};
        crd_plan plan;
        CHECK_OK(crd_plan_tiles(shape, tiles, halo, 8, &plan));
        const crd_axis_plan *axis = &plan.axes[0];
        int64_t next = 0;
        for (int64_t i = 0; i < axis->count; i++) {
            int64_t begin, end;
            const int64_t position = crd_axis_position(axis, i);
            crd_axis_keep(axis, i, &begin, &end);
            CHECK(begin == next && end > begin && begin % 8 == 0);
            CHECK(position % 8 == 0 && position >= 0 && position + axis->window <= extent && axis->window % 8 == 0);
            CHECK(position == 0 || position <= begin - halo);
            CHECK(position + axis->window == extent || position + axis->window >= end + halo);
            CHECK(crd_axis_coverage(axis, begin) == 1 && crd_axis_coverage(axis, end - 1) == 1);
            next = end;
        }
        CHECK(next == n && axis->extent == extent && axis->window <= tile + 2 * halo);
    }
    crd_plan plan;
    int64_t tile[3], low, high;
    CHECK_OK(crd_plan_best_tile((int64_t[3]){176, 352, 352}, 40, 8, 9000000, &all_seen, tile));
    CHECK(tile[0] == 176 && tile[1] == 176 && tile[2] == 176);
    CHECK_OK(crd_plan_best_tile((int64_t[3]){5, 20, 2000}, 40, 8, 9000000, &all_seen, tile));
    CHECK(tile[0] == 8 && tile[1] == 24 && tile[2] == 2000);
    CHECK_OK(crd_plan_best_tile((int64_t[3]){742, 1100, 1100}, 40, 8, 9000000, &all_seen, tile));
    CHECK_OK(crd_plan_tiles((int64_t[3]){742, 1100, 1100}, tile, 40, 8, &plan));
    CHECK_OK(crd_plan_tiles((int64_t[3]){742, 1100, 1100}, tile, 40, 8, &plan));
    static const struct {
        int64_t shape[3], halo;
    } large[] = {
        {{800, 800, 800}, 80}, {{800, 800, 800}, 160}, {{13000, 13000, 13000}, 40}, {{1 << 20, 9, 300000}, 40}};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        crd_plan other;
        int64_t voxels = 1;
        CHECK_OK(crd_plan_best_tile(large[i].shape, large[i].halo, 8, 9000000, &all_seen, tile));
        CHECK_OK(crd_plan_tiles(large[i].shape, tile, large[i].halo, 8, &other));
        for (int axis = 0; axis < 3; axis++) voxels *= other.axes[axis].window;
        CHECK(voxels <= (large[i].halo == 160 ? 480 * 480 * 480 : 14000000));
    }
    double seen = 1.0;
    for (int axis = 0; axis < 3; axis++) seen *= (double)plan.axes[axis].window;
    CHECK(seen <= 9e6 && seen * (double)plan.count <= 4.8 * 742 * 1100 * 1100);
    CHECK_NEAR(crd_plan_work(&plan, &all_seen), seen * (double)plan.count, 1.0);
    crd_plan_coverage(&plan, &low, &high);
    CHECK(low == 1 && high == 1);
    CHECK_FAILS(crd_plan_tiles((int64_t[3]){9, 9, 9}, (int64_t[3]){8, 8, 8}, 16, 8, &plan), CRD_ERR_ARGUMENT,
                "larger than the tile");
    CHECK_FAILS(crd_plan_tiles((int64_t[3]){9, 9, 9}, (int64_t[3]){8, 8, 8}, -8, 8, &plan), CRD_ERR_ARGUMENT,
                "multiple of 8");
    CHECK_FAILS(crd_plan_tiles((int64_t[3]){9, 9, 9}, (int64_t[3]){8, 8, 8}, 7, 8, &plan), CRD_ERR_ARGUMENT,
                "try --halo 8");
    CHECK_FAILS(crd_plan_tiles((int64_t[3]){9, 9, 9}, (int64_t[3]){8, 12, 8}, 8, 8, &plan), CRD_ERR_ARGUMENT,
                "a tile of 8,12,8");
}

TEST_MAIN(TEST(test_axis_equals_the_transcription), TEST(test_tiles_keep_every_voxel_once_and_see_their_halo),
          TEST(test_chunks_are_ordered_and_inside), TEST(test_the_papers_volume_has_6936_chunks),
          TEST(test_wrong_settings_are_refused))
