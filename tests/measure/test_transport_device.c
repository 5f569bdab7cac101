/* What of transport on a GPU needs none: where it is computed, what the device is asked, and what is said. */
#include <math.h>

#include "backend/choose.h"
#include "base/memory.h"
#include "harness.h"
#include "measure/slow.h"
#include "measure/transport/laplace.h"
#include "volume_tools.h"

enum { EDGE = 40, VOXELS = EDGE * EDGE * EDGE };
static uint8_t voxels[VOXELS];

/* A device that remembers what it was asked. */
static struct {
    int64_t available;
    int solutions;
    bool fails;
    crd_conduction_plan plan;
} fake;

static crd_status fake_bytes(const crd_device_settings *settings, const int64_t shape[3], int cell, bool conductivity,
                             int64_t *bytes, int64_t *available)
{
    (void)settings;
    *bytes = (conductivity ? 40 : 20) * shape[0] * shape[1] * shape[2] / (cell * cell * cell);
    *available = fake.available;
    return CRD_OK;
}

static crd_status fake_solve(const crd_device_settings *settings, const crd_conduction_plan *plan,
                             const crd_monitor *monitor, crd_conduction_result *result)
{
    (void)settings;
    (void)monitor;
    fake.plan = *plan;
    fake.solutions++;
    if (fake.fails) return crd_fail(CRD_ERR_SYSTEM, "the GPU failed");
    *result =
        (crd_conduction_result){.relative = 0.25, .error = 1e-5, .uneven = 2e-3, .iterations = 7, .converged = true};
    return CRD_OK;
}

static const crd_backend fake_backend = {
    .version = CRD_BACKEND_VERSION, .name = "fake", .transport_bytes = fake_bytes, .transport_solve = fake_solve};

static crd_status save(const char *path)
{
    crd_volume *volume = NULL;
    crd_volume_info info = {.shape = {EDGE, EDGE, EDGE}, .type = CRD_U8, .scale = 1.0};
    const crd_box box = {.size = {EDGE, EDGE, EDGE}};
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &box, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

static void fill(void)
{
    uint64_t state = 5;
    for (int64_t i = 0; i < VOXELS; i++) voxels[i] = tools_random(&state) % 100 < 60;
}

static void test_way(void)
{
    crd_realisations *r = NULL;
    crd_slow_way way;
    const char *path = scratch("volume.npy");
    fill();
    CHECK_OK(save(path));
    const crd_realisations_options options = {.paths = &path, .path_count = 1};
    CHECK_OK(crd_realisations_open(&options, NULL, &r));
    const crd_realisations_info *info = crd_realisations_describe(r);
    crd_measure_device device = {.backend = &fake_backend, .text = "fake"};
    crd_slow_plan plan = {.realisations = r, .phase = 1, .memory_bytes = INT64_C(1) << 30, .device = &device};
    const int64_t voxels_here = crd_slow_transport_bytes(info, 1, false);
    const int64_t coarse_here = crd_slow_transport_bytes(info, 2, false);

    fake.available = INT64_C(20) * VOXELS; /* it fits, to the byte; of this machine's memory little is needed */
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(way.on_device && way.method == CRD_ON_VOXELS && way.device_bytes == fake.available);
    CHECK(way.instead[0] == '\0' && way.bytes < voxels_here / 10);
    plan.memory_bytes = way.bytes;
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(way.on_device && way.method == CRD_ON_VOXELS);
    plan.fast = true;
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(way.on_device && way.method == CRD_BY_SEGMENTATION);
    plan.fast = false;

    fake.available--; /* a byte less: voxels on the CPU, which is said */
    plan.memory_bytes = voxels_here;
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(!way.on_device && way.method == CRD_ON_VOXELS && way.bytes == voxels_here && way.device_bytes == 0);
    CHECK(strstr(way.instead, "the GPU would need 2 MiB") != NULL);
    plan.memory_bytes--; /* and here as well: coarse cells on the device */
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(way.on_device && way.method == CRD_BY_WINDOWS && way.window == 32);
    CHECK(way.device_bytes == INT64_C(20) * VOXELS / 8 && way.instead[0] == '\0');
    fake.available = 1000; /* or here */
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(!way.on_device && way.method == CRD_BY_WINDOWS && way.window == 32 && way.instead[0] != '\0');
    plan.memory_bytes = coarse_here - 1;
    CHECK(crd_slow_transport_way(&plan, &way) == CRD_ERR_MEMORY);
    device.backend = NULL; /* no device */
    plan.memory_bytes = voxels_here;
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(!way.on_device && way.method == CRD_ON_VOXELS && way.instead[0] == '\0');
    plan.device = NULL;
    CHECK_OK(crd_slow_transport_way(&plan, &way));
    CHECK(!way.on_device);
    crd_realisations_close(&r);
}

static crd_bitmap make_bitmap(const int64_t shape[3])
{
    crd_bitmap b = {.shape = {shape[0], shape[1], shape[2]}, .words = (shape[2] + 63) / 64};
    if (crd_alloc(shape[0] * shape[1] * b.words, sizeof *b.phase, "a bitmap", &b.phase) != CRD_OK) exit(1);
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        b.phase[i / shape[2] * b.words + i % shape[2] / 64] |= (uint64_t)voxels[i] << i % shape[2] % 64;
        b.voxels += voxels[i];
    }
    return b;
}

static void test_what_is_asked(void)
{
    const int64_t shape[3] = {20, 30, 40}, small[3] = {7, 7, 8};
    const double spacing[3] = {0.5, 1.0, 2.0};
    crd_device_settings settings = {0};
    crd_conduction t;
    crd_pool *pool = NULL;
    fill();
    CHECK_OK(crd_pool_create(2, &pool));
    crd_bitmap b = make_bitmap(shape), few = make_bitmap(small);
    crd_laplace problem = {.bitmap = &b,
                           .spacing = {spacing[0], spacing[1], spacing[2]},
                           .axis = 1,
                           .tolerance = 1e-3,
                           .cell = 1,
                           .pool = pool,
                           .backend = &fake_backend,
                           .device = &settings};
    fake.solutions = 0;
    CHECK_OK(crd_laplace_solve(&problem, &t));
    CHECK(fake.solutions == 1 && t.relative == 0.25 && t.error == 1e-5 && t.uneven == 2e-3 && t.iterations == 7);
    CHECK(t.converged && t.percolating > 0 && t.percolating <= b.voxels);
    const crd_conduction_plan *asked = &fake.plan;
    CHECK(memcmp(asked->shape, shape, sizeof shape) == 0 && asked->words == 1 && asked->axis == 1 && asked->cell == 1);
    CHECK(asked->numbers == NULL && asked->conductivity == NULL && asked->tolerance == 1e-3);
    CHECK(asked->unit[0] == 4.0f && asked->unit[1] == 1.0f && asked->unit[2] == 0.25f);
    CHECK_NEAR(asked->scale, 30.0 / (20.0 * 40.0), 1e-15);
    problem.cell = 2;
    CHECK_OK(crd_laplace_solve(&problem, &t));
    CHECK(fake.solutions == 2 && asked->cell == 2 && asked->unit[1] == 0.5f);
    fake.fails = true;
    CHECK(crd_laplace_solve(&problem, &t) == CRD_ERR_SYSTEM);
    fake.fails = false;
    problem.bitmap = &few; /* nothing for a device */
    problem.cell = 1;
    CHECK_OK(crd_laplace_solve(&problem, &t));
    CHECK(fake.solutions == 3 && t.relative != 0.25);
    memset(voxels, 1, sizeof voxels); /* and nothing to solve for */
    crd_bitmap open = make_bitmap(shape);
    problem.bitmap = &open;
    CHECK_OK(crd_laplace_solve(&problem, &t));
    CHECK(fake.solutions == 3 && t.relative == 1.0);
    crd_bitmap_free(&b);
    crd_bitmap_free(&few);
    crd_bitmap_free(&open);
    crd_pool_free(&pool);
}

static bool stop_soon(void *context, const crd_progress *progress)
{
    int *left = context;
    (void)progress;
    return --*left > 0;
}

/* On the CPU the solver can be stopped between two iterations, too. */
static void test_stopped(void)
{
    const int64_t shape[3] = {EDGE, EDGE, EDGE};
    int left = 4;
    const crd_monitor monitor = {.context = &left, .progress = stop_soon};
    crd_conduction t;
    crd_pool *pool = NULL;
    fill();
    CHECK_OK(crd_pool_create(2, &pool));
    crd_bitmap b = make_bitmap(shape);
    const crd_laplace problem = {
        .bitmap = &b, .spacing = {1.0, 1.0, 1.0}, .tolerance = 1e-6, .cell = 1, .pool = pool, .monitor = &monitor};
    CHECK(crd_laplace_solve(&problem, &t) == CRD_ERR_CANCELLED && left == 0);
    crd_bitmap_free(&b);
    crd_pool_free(&pool);
}

static void test_suits(void)
{
    CHECK(!crd_conduction_suits_device((const int64_t[3]){7, 7, 8}) &&
          !crd_conduction_suits_device((const int64_t[3]){1, 20, 20}));
    CHECK(crd_conduction_suits_device((const int64_t[3]){1, 20, 21}));
    CHECK(crd_conduction_suits_device((const int64_t[3]){742, 1100, 1100}));
    CHECK(!crd_conduction_suits_device((const int64_t[3]){65536, 10, 10}));
    CHECK(crd_conduction_suits_device((const int64_t[3]){1, 1, 1024 * 32768}));
    CHECK(!crd_conduction_suits_device((const int64_t[3]){1, 1, 1024 * 32768 + 1})); /* 1025 cells are left */
}

static void test_choice(void)
{
    crd_measure_device device;
    crd_dist *dist = crd_dist_current();
    CHECK_OK(crd_measure_device_choose("cpu", NULL, INT64_C(1) << 40, dist, NULL, &device));
    CHECK(device.backend == NULL && strcmp(device.text, "cpu") == 0);
    CHECK_OK(crd_measure_device_choose("auto", NULL, 1000, dist, NULL, &device)); /* not worth a GPU */
    CHECK(device.backend == NULL && strcmp(device.text, "cpu") == 0);
    CHECK_OK(crd_measure_device_choose(NULL, NULL, INT64_C(1) << 40, dist, NULL, &device));
    CHECK(device.text[0] != '\0' && (device.backend == NULL) == (strcmp(device.text, "cpu") == 0));
    CHECK(crd_measure_device_choose("cuda:999", NULL, 1000, dist, NULL, &device) != CRD_OK); /* named, and not there */
    CHECK(crd_measure_device_choose("abacus", NULL, 1000, dist, NULL, &device) == CRD_ERR_ARGUMENT);
    CHECK(crd_measure_device_choose("cuda", "lots", 1000, dist, NULL, &device) != CRD_OK);
}

TEST_MAIN(TEST(test_way), TEST(test_what_is_asked), TEST(test_stopped), TEST(test_suits), TEST(test_choice))
