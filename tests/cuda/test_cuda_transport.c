/* Transport on the GPU against the CPU's solver: the same value, after as many iterations. Skipped where there is no
 * GPU. CREDENCE_BENCH="Z Y X" times one solution of such a volume on both. */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "credence/measure.h"
#include "gpu.h"
#include "harness.h"
#include "measure/device.h"
#include "measure/transport/joining.h"
#include "measure/transport/two_level.h"
#include "volume_tools.h"

enum { MOST = 160 * 160 * 160, BYTES = 105 /* that a voxel moves in an iteration: src/backend/cuda/transport/ */ };
static uint8_t *voxels; /* phases, of which 0 doesn't conduct */
static crd_pool *pool;
static crd_measure_device device;

static bool begin(void)
{
    if (!have_gpu()) return false;
    if (crd_measure_device_choose("cuda", NULL, MOST, crd_dist_current(), NULL, &device) != CRD_OK) exit(1);
    if (voxels == NULL && crd_alloc(MOST, 1, "voxels", &voxels) != CRD_OK) exit(1);
    return crd_pool_create(0, &pool) == CRD_OK;
}

/* Voxels of their own, `percent` of them conducting, of `phases`. */
static void fill_noise(const int64_t shape[3], int percent, int phases, uint64_t seed)
{
    const int64_t count = shape[0] * shape[1] * shape[2];
    for (int64_t i = 0; i < count; i++) {
        const uint64_t random = tools_random(&seed);
        voxels[i] = (int)(random % 100) < percent ? (uint8_t)(1 + random / 100 % (uint64_t)phases) : 0;
    }
}

/* Smooth blobs. The larger `level`, the fewer conduct. */
static bool is_blob(double z, double y, double x, double period, double level)
{
    const double k = 2.0 * 3.14159265358979323846 / period;
    return sin(k * z) * cos(k * y) + sin(1.1 * k * y) * cos(k * x) + sin(0.9 * k * x) * cos(k * z) > level;
}

static void fill_blobs(const int64_t shape[3], double period, double level)
{
    const int64_t count = shape[0] * shape[1] * shape[2];
    for (int64_t i = 0; i < count; i++) {
        voxels[i] = is_blob((double)(i / shape[2] / shape[1]), (double)(i / shape[2] % shape[1]),
                            (double)(i % shape[2]), period, level);
    }
}

static crd_bitmap make_bitmap(const int64_t shape[3], bool numbers)
{
    crd_bitmap b = {.shape = {shape[0], shape[1], shape[2]}, .words = (shape[2] + 63) / 64};
    const int64_t count = shape[0] * shape[1] * shape[2];
    if (crd_alloc(shape[0] * shape[1] * b.words, sizeof *b.phase, "a bitmap", &b.phase) != CRD_OK) exit(1);
    for (int64_t i = 0; i < count; i++) {
        b.phase[i / shape[2] * b.words + i % shape[2] / 64] |= (uint64_t)(voxels[i] != 0) << i % shape[2] % 64;
        b.voxels += voxels[i] != 0;
    }
    if (numbers) {
        if (crd_alloc(count, 1, "a bitmap", &b.numbers) != CRD_OK) exit(1);
        memcpy(b.numbers, voxels, (size_t)count);
    }
    return b;
}

static crd_laplace problem_of(const crd_bitmap *b, const double spacing[3], int axis, bool on_gpu)
{
    return (crd_laplace){.bitmap = b,
                         .spacing = {spacing[0], spacing[1], spacing[2]},
                         .axis = axis,
                         .tolerance = 1e-7,
                         .cell = 1,
                         .pool = pool,
                         .backend = on_gpu ? device.backend : NULL,
                         .device = &device.settings};
}

/* Both solvers on what `voxels` holds; `agreed` is the GPU's value then. */
static double agreed;
static void solve_twice(const int64_t shape[3], const double spacing[3], int axis, double tolerance, int cell,
                        const double *conductivity)
{
    crd_conduction own[2], again;
    crd_bitmap b = make_bitmap(shape, conductivity != NULL);
    for (int i = 0; i < 2; i++) {
        crd_laplace problem = problem_of(&b, spacing, axis, i > 0);
        problem.tolerance = tolerance;
        problem.cell = cell;
        problem.conductivity = conductivity;
        CHECK_OK(crd_laplace_solve(&problem, &own[i]));
        if (i == 0) continue;
        CHECK_OK(crd_laplace_solve(&problem, &again));
        CHECK(memcmp(&own[1].relative, &again.relative, sizeof again.relative) == 0);
        CHECK(own[1].error == again.error && own[1].uneven == again.uneven && own[1].iterations == again.iterations);
    }
    CHECK(own[0].percolating == own[1].percolating && own[0].converged == own[1].converged);
    CHECK(abs(own[0].iterations - own[1].iterations) <= 1);
    CHECK_NEAR(own[1].relative, own[0].relative, 1e-5 * own[0].relative);
    CHECK(own[0].iterations == 0 || own[1].uneven < 10.0 * own[0].uneven + 1e-4);
    if (harness_failed || getenv("CREDENCE_VERBOSE") != NULL) {
        printf("       %lld x %lld x %lld, axis %d, cell %d, %g: CPU %.9f in %d, error %.2g, uneven %.2g; GPU %.9f in "
               "%d, %.2g, %.2g\n",
               (long long)shape[0], (long long)shape[1], (long long)shape[2], axis, cell, tolerance, own[0].relative,
               own[0].iterations, own[0].error, own[0].uneven, own[1].relative, own[1].iterations, own[1].error,
               own[1].uneven);
    }
    crd_bitmap_free(&b);
    agreed = own[1].relative;
}

static const double even[3] = {1.0, 1.0, 1.0}, uneven[3] = {0.65, 1.3, 2.0};

/* For the sanitizer: every kernel, within seconds. */
static void test_little(void)
{
    const int64_t shape[3] = {21, 18, 23};
    const double conductivity[CRD_PHASES_MAX] = {0.0, 1.0, 0.3};
    if (!begin()) SKIP("no GPU");
    fill_noise(shape, 70, 2, 3);
    for (int axis = 0; axis < 3; axis++) {
        solve_twice(shape, uneven, axis, 1e-2, 1, NULL);
        solve_twice(shape, even, axis, 1e-2, 2, NULL);
        solve_twice(shape, uneven, axis, 1e-2, 1, conductivity);
    }
    crd_pool_free(&pool);
}

static void test_fields(void)
{
    static const int64_t shapes[][3] = {{33, 40, 29}, {16, 16, 64},  {1, 90, 77}, {50, 1, 61},
                                        {47, 45, 1},  {70, 131, 66}, {9, 8, 7},   {65, 3, 130}};
    if (!begin()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] && !harness_failed; i++) {
        const int64_t *shape = shapes[i];
        const bool flat = shape[0] < 4 || shape[1] < 4 || shape[2] < 4;
        for (int axis = 0; axis < 3 && !harness_failed; axis++) {
            fill_noise(shape, flat ? 80 : 55, 1, 4 + i);
            solve_twice(shape, axis == 1 ? uneven : even, axis, 1e-7, 1, NULL);
            solve_twice(shape, axis == 0 ? uneven : even, axis, 1e-4, 1, NULL);
            fill_blobs(shape, 14.0, 0.1);
            solve_twice(shape, even, axis, 1e-7, 1, NULL);
            solve_twice(shape, uneven, axis, 1e-5, 2, NULL);
        }
    }
    crd_pool_free(&pool);
}

/* So large that several grids have kernels of their own. */
static void test_large_field(void)
{
    const int64_t shape[3] = {157, 160, 155};
    if (!begin()) SKIP("no GPU");
    fill_blobs(shape, 21.0, 0.2);
    for (int axis = 0; axis < 3 && !harness_failed; axis++) solve_twice(shape, even, axis, 1e-4, 1, NULL);
    solve_twice(shape, uneven, 0, 1e-6, 1, NULL);
    crd_pool_free(&pool);
}

static void test_conductivity(void)
{
    const double conductivity[CRD_PHASES_MAX] = {0.0, 1.0, 0.04, 2.5};
    const int64_t shape[3] = {41, 38, 45}, layers[3] = {48, 48, 48};
    if (!begin()) SKIP("no GPU");
    for (int cell = 1; cell <= 2; cell++) {
        for (int axis = 0; axis < 3; axis++) {
            fill_noise(shape, 75, 3, 9);
            solve_twice(shape, uneven, axis, 1e-7, cell, conductivity);
        }
    }
    for (int64_t i = 0; i < 48 * 48 * 48; i++) voxels[i] = i / (48 * 48) % 4 < 3 ? 1 : 2; /* of three and of one */
    const double series = 1.0 / (0.75 / 1.0 + 0.25 / 0.04), side_by_side = 0.75 * 1.0 + 0.25 * 0.04;
    solve_twice(layers, even, 0, 1e-6, 1, conductivity);
    CHECK_NEAR(agreed, series, 1e-5 * series);
    solve_twice(layers, even, 1, 1e-6, 1, conductivity);
    CHECK_NEAR(agreed, side_by_side, 1e-5);
    memset(voxels, 1, 48 * 48 * 48); /* open space, solved for */
    solve_twice(layers, uneven, 2, 1e-6, 1, conductivity);
    CHECK_NEAR(agreed, 1.0, 1e-6);
    crd_pool_free(&pool);
}

static void test_known(void)
{
    const int64_t shape[3] = {48, 48, 48}, one[3] = {1, 20, 30};
    if (!begin()) SKIP("no GPU");
    memset(voxels, 1, 48 * 48 * 48);
    for (int axis = 0; axis < 3; axis++) {
        solve_twice(shape, uneven, axis, 1e-4, 1, NULL);
        CHECK(agreed == 1.0);
    }
    for (int64_t i = 0; i < 48 * 48 * 48; i++) voxels[i] = i / 48 % 48 % 3 == 0 && i % 48 % 4 < 2;
    solve_twice(shape, uneven, 0, 1e-4, 1, NULL);
    CHECK(agreed == 1.0 / 6.0);
    solve_twice(shape, uneven, 1, 1e-4, 1, NULL);
    CHECK(agreed == 0.0); /* nothing percolates */
    for (int64_t z = 20; z < 28; z++) voxels[(z * 48 + 1) * 48] = voxels[(z * 48 + 2) * 48] = 1; /* and a bridge */
    solve_twice(shape, even, 0, 1e-7, 1, NULL);
    const double bridged = agreed;
    CHECK(bridged > 1.0 / 6.0 && bridged < 1.001 / 6.0);
    memset(voxels, 1, 600);
    solve_twice(one, even, 0, 1e-4, 1, NULL);
    CHECK(agreed == 1.0); /* both faces on one voxel */
    voxels[17] = 0;
    solve_twice(one, even, 0, 1e-7, 1, NULL);
    const double less = agreed; /* of a whole slice no voxel is in another's way */
    CHECK_NEAR(less, 599.0 / 600.0, 1e-7);
    crd_pool_free(&pool);
}

/* Windows of voxels correct coarse cells as on the CPU. */
static void test_two_levels(void)
{
    const int64_t shape[3] = {60, 64, 58};
    double ratios[2] = {0.0, 0.0};
    if (!begin()) SKIP("no GPU");
    fill_blobs(shape, 15.0, 0.1);
    crd_bitmap b = make_bitmap(shape, false);
    for (int i = 0; i < 2; i++) {
        const crd_laplace problem = problem_of(&b, even, 1, i > 0);
        CHECK_OK(crd_two_level_ratio(&problem, 32, &ratios[i]));
    }
    CHECK_NEAR(ratios[1], ratios[0], 1e-5);
    crd_bitmap_free(&b);
    crd_pool_free(&pool);
}

static bool stop_soon(void *context, const crd_progress *progress)
{
    int *left = context;
    (void)progress;
    return --*left > 0;
}

static void test_stopped(void)
{
    const int64_t shape[3] = {60, 64, 58};
    int left = 4;
    const crd_monitor monitor = {.context = &left, .progress = stop_soon};
    crd_conduction t;
    if (!begin()) SKIP("no GPU");
    fill_blobs(shape, 15.0, 0.1);
    crd_bitmap b = make_bitmap(shape, false);
    crd_laplace problem = problem_of(&b, even, 1, true);
    problem.monitor = &monitor;
    CHECK(crd_laplace_solve(&problem, &t) == CRD_ERR_CANCELLED && left == 0);
    crd_bitmap_free(&b);
    crd_pool_free(&pool);
}

/* ---- a measurement ---- */

static crd_status save(const char *path, const int64_t shape[3])
{
    crd_volume *volume = NULL;
    crd_volume_info info = {.type = CRD_U8, .scale = 1.0};
    memcpy(info.shape, shape, sizeof info.shape);
    const crd_box box = {.size = {shape[0], shape[1], shape[2]}};
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &box, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* Options for transport along y of what `voxels` holds. */
static crd_status options_of(const char *path, const char *where, const char *gpu_memory, const char *mask,
                             crd_measure_options *options)
{
    const char *const rows[][2] = {{"input", path}, {"properties", "transport"}, {"axis", "y"},
                                   {"mask", mask},  {"device", where},           {"max-gpu-memory", gpu_memory}};
    CRD_PASS(crd_settings_default(&crd_measure_settings, options));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i][1] != NULL) CRD_PASS(crd_settings_set(&crd_measure_settings, options, rows[i][0], rows[i][1]));
    }
    return CRD_OK;
}

static double value;
static char used[8];
static void measure(const char *path, const char *where, const char *gpu_memory, const char *mask)
{
    crd_measure_options options;
    crd_measurement *m = NULL;
    value = (double)NAN;
    CHECK_OK(options_of(path, where, gpu_memory, mask, &options));
    CHECK_OK(crd_measure(&options, NULL, &m));
    if (m != NULL) {
        value = crd_measurement_find(m, "d_rel_y", m->phases[0])->segmentation;
        snprintf(used, sizeof used, "%.4s", m->transport_device);
    }
    crd_measurement_free(&m);
    crd_settings_clear(&crd_measure_settings, &options);
}

static void test_measurement(void)
{
    const int64_t shape[3] = {60, 64, 58};
    crd_measure_options options;
    crd_measure_plan plan;
    if (!begin()) SKIP("no GPU");
    fill_blobs(shape, 15.0, 0.1);
    const char *path = scratch("blobs.npy");
    CHECK_OK(save(path, shape));
    for (int i = 0; i < 2; i++) {
        const char *mask = i > 0 ? "cylinder" : NULL;
        measure(path, "cpu", NULL, mask);
        const double here = value;
        CHECK(strcmp(used, "cpu") == 0);
        measure(path, "cuda", NULL, mask);
        CHECK(strcmp(used, "cuda") == 0);
        CHECK_NEAR(value, here, 1e-5 * here);
        measure(path, "cuda", "1M", mask); /* too little of its memory */
        CHECK(strcmp(used, "cpu") == 0 && value == here);
        measure(path, "auto", NULL, mask); /* too few voxels for it */
        CHECK(strcmp(used, "cpu") == 0 && value == here);
    }
    CHECK_OK(options_of(path, "cuda", NULL, NULL, &options));
    CHECK_OK(crd_measure_plan_make(&options, NULL, &plan));
    CHECK(strncmp(plan.transport_device, "cuda", 4) == 0 && !plan.coarse);
    CHECK(plan.transport_device_bytes > 60 * 64 * 58 * 20 &&
          plan.transport_device_bytes < 60 * 64 * 58 * 25 + (40 << 20));
    crd_settings_clear(&crd_measure_settings, &options);
    crd_pool_free(&pool);
}

/* ---- how long it takes ---- */

/* A bitmap of blobs of a fifth of the edge, made slice by slice on all cores. */
static void blob_slice(void *context, int64_t z, int worker)
{
    const crd_bitmap *b = context;
    (void)worker;
    for (int64_t y = 0; y < b->shape[1]; y++) {
        uint64_t *row = b->phase + (z * b->shape[1] + y) * b->words;
        for (int64_t x = 0; x < b->shape[2]; x++) {
            row[x / 64] |= (uint64_t)is_blob((double)z, (double)y, (double)x, 40.0, 0.35) << x % 64;
        }
    }
}

static void test_bench(void)
{
    const char *text = getenv("CREDENCE_BENCH");
    long long shape[3];
    crd_conduction t;
    if (text == NULL || sscanf(text, "%lld %lld %lld", &shape[0], &shape[1], &shape[2]) != 3) SKIP("not asked for");
    if (!begin()) SKIP("no GPU");
    crd_bitmap b = {.shape = {shape[0], shape[1], shape[2]}, .words = (shape[2] + 63) / 64};
    CHECK_OK(crd_alloc(b.shape[0] * b.shape[1] * b.words, sizeof *b.phase, "a bitmap", &b.phase));
    double now = crd_seconds();
    crd_pool_run(pool, b.shape[0], blob_slice, &b);
    for (int64_t i = 0; i < b.shape[0] * b.shape[1] * b.words; i++) b.voxels += __builtin_popcountll(b.phase[i]);
    const double count = (double)shape[0] * (double)shape[1] * (double)shape[2];
    printf("       %s: %.0f million voxels, %.3f of them, made in %.2f s\n", text, count / 1e6,
           (double)b.voxels / count, crd_seconds() - now);
    int64_t bytes, available;
    CHECK_OK(crd_measure_device_bytes(&device, b.shape, 1, false, &bytes, &available));
    printf("       GPU memory: %.0f MiB, %.2f bytes a voxel; %.0f may be used\n", (double)bytes / 0x1p20,
           (double)bytes / count, (double)available / 0x1p20);
    uint64_t *joined = NULL;
    int64_t percolating;
    now = crd_seconds();
    CHECK_OK(crd_joining_find(&b, 0, pool, &joined, &percolating));
    printf("       what joins the faces, on the CPU: %.3f s\n", crd_seconds() - now);
    crd_free(&joined);
    double seconds[4];
    int iterations[4];
    for (int i = 0; i < 4;
         i++) { /* the GPU twice, then with a few iterations more, and the CPU where it is asked for */
        crd_laplace problem = problem_of(&b, even, 0, i < 3);
        problem.tolerance = i == 2 ? 1e-7 : 1e-4;
        if (i == 3 && getenv("CREDENCE_BENCH_CPU") == NULL) break;
        now = crd_seconds();
        CHECK_OK(crd_laplace_solve(&problem, &t));
        seconds[i] = crd_seconds() - now;
        iterations[i] = t.iterations;
        printf("       %s, tolerance %g: D_rel %.7f, error %.1e, uneven %.1e, %d iterations, %.3f s in all\n",
               i < 3 ? device.text : "cpu", problem.tolerance, t.relative, t.error, t.uneven, t.iterations, seconds[i]);
    }
    if (iterations[2] > iterations[1]) {
        const double each = (seconds[2] - seconds[1]) / (double)(iterations[2] - iterations[1]);
        printf("       GPU: %.2f ms an iteration, %.0f GB/s of %d bytes a voxel\n", 1e3 * each,
               1e-9 * BYTES * count / each, BYTES);
    }
    crd_bitmap_free(&b);
    crd_pool_free(&pool);
}

TEST_MAIN(TEST(test_little), TEST(test_fields), TEST(test_large_field), TEST(test_conductivity), TEST(test_known),
          TEST(test_two_levels), TEST(test_stopped), TEST(test_measurement), TEST(test_bench))
