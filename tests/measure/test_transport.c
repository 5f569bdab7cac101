/* Transport against a dense solver, against shapes whose values are known, and on cells of 2x2x2 voxels. */
#include <math.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "harness.h"
#include "measure/transport/grid_rows.h"
#include "measure/transport/joining.h"
#include "measure/transport/two_level.h"
#include "volume_tools.h"

enum { EDGE = 48, MOST = EDGE * EDGE * EDGE, SMALL = 500 };
static uint8_t voxels[MOST];   /* phases, of which 0 doesn't conduct */
static const double *conducts; /* what they conduct; NULL: 1 */
static crd_pool *pool;

static crd_bitmap make_bitmap(const int64_t shape[3])
{
    crd_bitmap b = {.shape = {shape[0], shape[1], shape[2]}, .words = (shape[2] + 63) / 64};
    const crd_status status = crd_alloc(shape[0] * shape[1] * b.words, sizeof *b.phase, "a bitmap", &b.phase);
    const int64_t count = shape[0] * shape[1] * shape[2];
    for (int64_t i = 0; status == CRD_OK && i < count; i++) {
        b.phase[i / shape[2] * b.words + i % shape[2] / 64] |= (uint64_t)(voxels[i] != 0) << i % shape[2] % 64;
        b.voxels += voxels[i] != 0;
    }
    if (conducts != NULL && crd_alloc(count, 1, "a bitmap", &b.numbers) == CRD_OK) {
        memcpy(b.numbers, voxels, (size_t)count);
    }
    return b;
}

static crd_conduction solve(const int64_t shape[3], const double spacing[3], int axis, double tolerance, int cell)
{
    crd_conduction t = {0};
    crd_bitmap b = make_bitmap(shape);
    const crd_laplace problem = {.bitmap = &b,
                                 .spacing = {spacing[0], spacing[1], spacing[2]},
                                 .axis = axis,
                                 .tolerance = tolerance,
                                 .conductivity = conducts,
                                 .cell = cell,
                                 .pool = pool};
    if (crd_laplace_solve(&problem, &t) != CRD_OK) t.relative = (double)NAN;
    crd_bitmap_free(&b);
    return t;
}

/* Finite volumes with Gaussian elimination, all voxels of the phase that have a neighbour or a face with a value. */
static double solve_densely(const int64_t shape[3], const double s[3], int axis)
{
    static double a[SMALL][SMALL + 1];
    static int64_t number[SMALL * 4];
    const int64_t n = shape[0] * shape[1] * shape[2];
    const double volume = s[0] * s[1] * s[2];
    int64_t unknowns = 0;
    memset(a, 0, sizeof a);
    for (int64_t i = 0; i < n; i++) number[i] = voxels[i] ? unknowns++ : -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[3] = {i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]}, k = number[i];
        const int64_t steps[3] = {shape[1] * shape[2], shape[2], 1};
        if (k < 0) continue;
        for (int d = 0; d < 3; d++) {
            const double own = conducts != NULL ? conducts[voxels[i]] : 1.0, whole = volume / (s[d] * s[d]);
            for (int side = -1; side <= 1; side += 2) {
                const int64_t there = at[d] + side;
                if (there >= 0 && there < shape[d]) {
                    const int64_t other = number[i + side * steps[d]];
                    if (other < 0) continue;
                    const double next = conducts != NULL ? conducts[voxels[i + side * steps[d]]] : 1.0;
                    const double g = whole / (0.5 / own + 0.5 / next); /* half a voxel of each */
                    a[k][k] += g;
                    a[k][other] -= g;
                } else if (d == axis) {
                    a[k][k] += 2.0 * whole * own;
                    a[k][unknowns] += there < 0 ? 2.0 * whole * own : 0.0;
                }
            }
        }
        if (a[k][k] == 0.0) a[k][k] = 1.0;
    }
    for (int64_t p = 0; p < unknowns; p++) {
        if (fabs(a[p][p]) < 1e-12) a[p][p] = 1.0; /* a part that reaches no face: any value does */
        for (int64_t r = p + 1; r < unknowns; r++) {
            const double factor = a[r][p] / a[p][p];
            for (int64_t c = p; factor != 0.0 && c <= unknowns; c++) a[r][c] -= factor * a[p][c];
        }
    }
    for (int64_t p = unknowns - 1; p >= 0; p--) {
        for (int64_t c = p + 1; c < unknowns; c++) a[p][unknowns] -= a[p][c] * a[c][unknowns];
        a[p][unknowns] /= a[p][p];
    }
    double flux = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[3] = {i / shape[2] / shape[1], i / shape[2] % shape[1], i % shape[2]};
        if (number[i] < 0 || at[axis] != 0) continue;
        const double own = conducts != NULL ? conducts[voxels[i]] : 1.0;
        flux += 2.0 * volume / (s[axis] * s[axis]) * own * (1.0 - a[number[i]][unknowns]);
    }
    return flux * (double)shape[axis] * s[axis] * (double)shape[axis] * s[axis] / (volume * (double)n);
}

static void test_against_dense(void)
{
    const int64_t shape[3] = {8, 9, 10};
    const double spacings[2][3] = {{1.0, 1.0, 1.0}, {0.65, 1.3, 2.0}};
    uint64_t state = 4;
    CHECK_OK(crd_pool_create(2, &pool));
    for (int turn = 0; turn < 6; turn++) {
        int64_t count = 0;
        for (int64_t i = 0; i < 720; i++) count += voxels[i] = tools_random(&state) % 100 < 62;
        CHECK(count < SMALL);
        for (int axis = 0; axis < 3; axis++) {
            const crd_conduction t = solve(shape, spacings[turn % 2], axis, 1e-8, 1);
            const double exact = solve_densely(shape, spacings[turn % 2], axis);
            CHECK(t.converged && t.percolating > 0);
            CHECK_NEAR(t.relative, exact, 2e-6 * exact);
            CHECK(t.uneven < 1e-3);
        }
    }
    crd_pool_free(&pool);
}

static void fill_channels(void)
{
    for (int64_t i = 0; i < MOST; i++) voxels[i] = i / EDGE % EDGE % 3 == 0 && i % EDGE % 4 < 2;
}

static void test_known(void)
{
    const int64_t shape[3] = {EDGE, EDGE, EDGE};
    const double spacing[3] = {0.5, 0.7, 0.9};
    CHECK_OK(crd_pool_create(3, &pool));
    memset(voxels, 1, MOST);
    for (int axis = 0; axis < 3; axis++) {
        CHECK(solve(shape, spacing, axis, 1e-4, 1).relative == 1.0); /* open space */
        CHECK(solve(shape, spacing, axis, 1e-4, 2).relative == 1.0);
    }
    fill_channels();
    CHECK(solve(shape, spacing, 0, 1e-4, 1).relative == 1.0 / 6.0);
    CHECK(solve(shape, spacing, 1, 1e-4, 1).relative == 0.0 && solve(shape, spacing, 1, 1e-4, 1).percolating == 0);
    for (int64_t i = 0; i < MOST; i++) voxels[i] = i / (EDGE * EDGE) % 8 < 7; /* layers in series */
    const crd_conduction none = solve(shape, spacing, 0, 1e-4, 1);
    CHECK(none.relative == 0.0 && none.converged);
    const int64_t one[3] = {1, 20, 30};
    memset(voxels, 1, 600);
    CHECK(solve(one, spacing, 0, 1e-4, 1).relative == 1.0); /* both faces on one voxel */
    CHECK(solve(one, spacing, 2, 1e-4, 2).relative == 1.0);
    crd_pool_free(&pool);
}

/* Channels along each axis, of rows that end within a word and at its end: exactly their share. One voxel less, or one
 * that is beside them, takes the solver, whose value is what a solver without the short way would give. */
static void test_straight_channels(void)
{
    static const int64_t shapes[][3] = {{9, 10, 64}, {11, 7, 67}, {5, 6, 128}};
    const double spacing[3] = {0.5, 0.7, 0.9};
    uint64_t state = 3;
    CHECK_OK(crd_pool_create(2, &pool));
    for (int turn = 0; turn < 9; turn++) {
        const int64_t *shape = shapes[turn / 3];
        const int axis = turn % 3, u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
        const int64_t n = shape[0] * shape[1] * shape[2], strides[3] = {shape[1] * shape[2], shape[2], 1};
        static uint8_t open[128 * 128];
        int64_t count = 0, inside = -1, beside = -1;
        for (int64_t i = 0; i < shape[u] * shape[v]; i++) open[i] = tools_random(&state) % 3 == 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t a = i / strides[u] % shape[u], b = i / strides[v] % shape[v], place = a * shape[v] + b;
            const bool middle = i / strides[axis] % shape[axis] == shape[axis] / 2;
            count += voxels[i] = open[place];
            if (open[place] && middle) inside = i;
            if (!open[place] && middle && b > 0 && open[place - 1]) beside = i;
        }
        const crd_conduction straight = solve(shape, spacing, axis, 1e-6, 1);
        const double share = (double)count / (double)n;
        CHECK(straight.relative == share && straight.converged && straight.percolating == count);
        voxels[beside] = 1; /* a dead end, into which nothing flows */
        const crd_conduction solved = solve(shape, spacing, axis, 1e-6, 1);
        CHECK(solved.percolating == count + 1);
        CHECK_NEAR(solved.relative, share, 1e-6 * share);
        voxels[beside] = 0;
        voxels[inside] = 0;
        CHECK(solve(shape, spacing, axis, 1e-6, 1).relative < share * (1.0 - 1e-4));
    }
    crd_pool_free(&pool);
}

/* Phases that conduct differently: against the dense solution, and layers in series and side by side. */
static void test_conductivity(void)
{
    static const double of[3] = {0.0, 1.0, 0.04};
    const int64_t shape[3] = {7, 8, 9}, whole[3] = {EDGE, EDGE, EDGE}, one[3] = {1, 20, 30};
    const double spacing[3] = {0.65, 1.3, 2.0};
    uint64_t state = 11;
    CHECK_OK(crd_pool_create(2, &pool));
    conducts = of;
    for (int turn = 0; turn < 3; turn++) {
        for (int64_t i = 0; i < 504; i++) {
            const uint64_t value = tools_random(&state) % 100;
            voxels[i] = value < 35 ? 0 : value < 70 ? 1 : 2;
        }
        for (int axis = 0; axis < 3; axis++) {
            const crd_conduction t = solve(shape, spacing, axis, 1e-8, 1);
            const double exact = solve_densely(shape, spacing, axis);
            CHECK(t.converged && t.percolating > 0 && t.uneven < 1e-3);
            CHECK_NEAR(t.relative, exact, 5e-6 * exact);
        }
    }
    for (int64_t i = 0; i < MOST; i++) voxels[i] = i / (EDGE * EDGE) % 4 < 3 ? 1 : 2; /* layers of three and of one */
    const double series = 1.0 / (0.75 / 1.0 + 0.25 / 0.04), side_by_side = 0.75 * 1.0 + 0.25 * 0.04;
    CHECK_NEAR(solve(whole, spacing, 0, 1e-6, 1).relative, series, 1e-5 * series);
    CHECK_NEAR(solve(whole, spacing, 1, 1e-6, 1).relative, side_by_side, 1e-5);
    CHECK_NEAR(solve(whole, spacing, 1, 1e-6, 2).relative, side_by_side, 1e-5);
    CHECK(fabs(solve(whole, spacing, 0, 1e-6, 2).relative / series - 1.0) < 0.2);
    memset(voxels, 2, 600);
    CHECK_NEAR(solve(one, spacing, 0, 1e-6, 1).relative, 0.04, 1e-7); /* both faces on one voxel */
    fill_channels();                                                  /* all of one phase: as without conductivities */
    const double of_one = solve(whole, spacing, 0, 1e-6, 1).relative;
    conducts = NULL;
    CHECK_NEAR(solve(whole, spacing, 0, 1e-6, 1).relative, of_one, 1e-6);
    crd_pool_free(&pool);
}

/* What joins the faces is the same on any number of threads. */
static void test_joining(void)
{
    const int64_t shape[3] = {EDGE, EDGE - 1, EDGE};
    uint64_t state = 6;
    for (int64_t i = 0; i < MOST; i++) voxels[i] = tools_random(&state) % 100 < 34; /* winding */
    crd_bitmap b = make_bitmap(shape);
    for (int axis = 0; axis < 3; axis++) {
        uint64_t *own[4] = {NULL};
        int64_t counts[4];
        for (int i = 0; i < 4; i++) {
            crd_pool *some = NULL;
            if (i > 0) CHECK_OK(crd_pool_create(i == 3 ? EDGE : 2 * i, &some));
            CHECK_OK(crd_joining_find(&b, axis, some, &own[i], &counts[i]));
            CHECK(counts[i] == counts[0]);
            CHECK(memcmp(own[i], own[0], (size_t)(shape[0] * shape[1] * b.words) * sizeof **own) == 0);
            crd_pool_free(&some);
        }
        CHECK(counts[0] > 0 && counts[0] < b.voxels);
        for (int i = 0; i < 4; i++) crd_free(&own[i]);
    }
    crd_bitmap_free(&b);
}

/* Smooth blobs of about half of the volume. */
static void fill_waves(double period)
{
    const double k = 2.0 * 3.14159265358979323846 / period;
    for (int64_t i = 0; i < MOST; i++) {
        const double z = (double)(i / EDGE / EDGE), y = (double)(i / EDGE % EDGE), x = (double)(i % EDGE);
        voxels[i] = sin(k * z) * cos(k * y) + sin(1.1 * k * y) * cos(k * x) + sin(0.9 * k * x) * cos(k * z) > 0.1;
    }
}

/* From above, and nearer the smaller the tolerance; coarse cells are a few percent off, and windows mend it. */
static void test_tolerance_and_levels(void)
{
    const int64_t shape[3] = {EDGE, EDGE, EDGE};
    const double spacing[3] = {1.0, 1.0, 1.2};
    fill_waves(15.0);
    CHECK_OK(crd_pool_create(2, &pool));
    const double limit = solve(shape, spacing, 1, 1e-8, 1).relative;
    double last = HUGE_VAL;
    for (double tolerance = 1e-1; tolerance > 1e-6; tolerance /= 10.0) {
        const double now = solve(shape, spacing, 1, tolerance, 1).relative;
        CHECK(now <= last * (1.0 + 1e-6) && now >= limit * (1.0 - 1e-6));
        last = now;
    }
    const double coarse = solve(shape, spacing, 1, 1e-6, 2).relative;
    CHECK(fabs(coarse / limit - 1.0) < 0.1);
    crd_bitmap b = make_bitmap(shape);
    double ratio = 0.0;
    const crd_laplace problem = {
        .bitmap = &b, .spacing = {1.0, 1.0, 1.2}, .axis = 1, .tolerance = 1e-6, .cell = 2, .pool = pool};
    CHECK_OK(crd_two_level_ratio(&problem, 24, &ratio));
    CHECK(fabs(coarse * ratio / limit - 1.0) < fabs(coarse / limit - 1.0));
    CHECK(fabs(coarse * ratio / limit - 1.0) < fabs(ratio - 1.0)); /* within the error that is stated */
    CHECK_OK(crd_two_level_ratio(&problem, 256, &ratio));          /* one window, the whole */
    CHECK_NEAR(coarse * ratio, limit, 1e-5 * limit);
    crd_bitmap_free(&b);
    crd_pool_free(&pool);
}

static void test_centred_box(void)
{
    const int64_t shape[3] = {20, 30, 40};
    crd_bitmap b = make_bitmap(shape), part = {0};
    CHECK_OK(crd_alloc(20 * 30 * b.words, sizeof *b.inside, "a bitmap", &b.inside));
    for (int64_t i = 0; i < 24000; i++) {
        const int64_t x = i % 40, y = i / 40 % 30, z = i / 1200;
        b.inside[i / 40 * b.words + x / 64] |= (uint64_t)(z > 1 && z < 18 && y > 2 && y < 27 && x > 3) << x % 64;
    }
    const crd_box box = crd_bitmap_centred_box(&b);
    CHECK(box.origin[0] == 2 && box.origin[1] == 3 && box.origin[2] == 4);
    CHECK(box.size[0] == 16 && box.size[1] == 24 && box.size[2] == 32);
    CHECK_OK(crd_bitmap_crop(&b, &box, &part));
    for (int64_t i = 0; i < 16 * 24 * 32 && !harness_failed; i++) {
        const int64_t there = ((i / 32 / 24 + 2) * 30 + i / 32 % 24 + 3) * 40 + i % 32 + 4;
        CHECK(crd_bit(part.phase + i / 32 * part.words, i % 32) == (voxels[there] != 0));
    }
    crd_bitmap_free(&part);
    crd_bitmap_free(&b);
}

/* All instruction sets give the same bits. */
static void test_all_paths(void)
{
    enum { WIDTH = 77, ROW = 96, CELLS = 3 * 3 * ROW };
    static float x[CELLS], b[CELLS], to[7][CELLS], out[2][CELLS];
    uint64_t state = 8;
    const int64_t middle = 4 * ROW + 8;
    const crd_grid_cells cells = {.count = WIDTH, .row = ROW, .slice = 3 * ROW};
    for (int64_t i = 0; i < CELLS; i++) {
        x[i] = (float)(tools_random(&state) % 1000) / 997.0f;
        b[i] = (float)(tools_random(&state) % 1000) / 991.0f;
        for (int k = 0; k < 7; k++) to[k][i] = (float)(tools_random(&state) % 5) * 0.37f;
    }
    const crd_grid_row r = {.before = {to[0] + middle, to[1] + middle},
                            .behind = {to[2] + middle, to[3] + middle},
                            .x = to[4] + middle,
                            .own = to[5] + middle,
                            .inverse = to[6] + middle};
    for (int path = 0; path < CRD_CPU_PATH_COUNT && path <= crd_cpu_path(); path++) {
        const crd_grid_loops *plain = &crd_grid_paths[0], *loops = &crd_grid_paths[path];
        for (int first = 0; first < 2; first++) {
            for (int k = 0; k < 2; k++) memcpy(out[k], x, sizeof x);
            plain->sweep(&r, &cells, b + middle, first, out[0] + middle);
            loops->sweep(&r, &cells, b + middle, first, out[1] + middle);
            CHECK(memcmp(out[0], out[1], sizeof x) == 0);
            for (int64_t i = 0; i < WIDTH; i++) CHECK((i + first) % 2 == 0 || out[0][middle + i] == x[middle + i]);
            CHECK(out[0][middle - 1] == x[middle - 1] && out[0][middle + WIDTH] == x[middle + WIDTH]);
            plain->begin(&r, WIDTH, b + middle, first, out[0] + middle);
            loops->begin(&r, WIDTH, b + middle, first, out[1] + middle);
            CHECK(memcmp(out[0], out[1], sizeof x) == 0 && out[0][middle + 1 - first] == 0.0f);
        }
        plain->apply(&r, &cells, x + middle, out[0] + middle);
        loops->apply(&r, &cells, x + middle, out[1] + middle);
        CHECK(memcmp(out[0], out[1], sizeof x) == 0);
        CHECK(plain->dot(x, b, WIDTH) == loops->dot(x, b, WIDTH));
    }
}

TEST_MAIN(TEST(test_against_dense), TEST(test_known), TEST(test_straight_channels), TEST(test_joining),
          TEST(test_conductivity), TEST(test_tolerance_and_levels), TEST(test_centred_box), TEST(test_all_paths))
