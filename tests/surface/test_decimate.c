/* Decimation: fewer triangles, the same surface, whatever the window. */
#include <math.h>

#include "base/parallel.h"
#include "harness.h"
#include "mesh_tools.h"
#include "surface/decimate.h"
#include "surface/march.h"
#include "surface/mesh_file.h"
#include "volume/views/view.h"
#include "volume_tools.h"

enum { EDGE = 48 };

static crd_status put(void *file, const crd_mesh_part *part)
{
    return crd_mesh_file_add(file, part);
}

/* The surface of a volume of EDGE voxels each way, its value at a vertex as datum; window 0: not decimated. */
static crd_status write_mesh(const float *values, bool closed, double share, int64_t window, const char *path)
{
    const crd_volume_info info = {.shape = {EDGE, EDGE, EDGE}, .type = CRD_F32, .scale = 1};
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    crd_slices *slices = NULL;
    crd_pool *pool = NULL;
    crd_march *march = NULL;
    crd_decimator *decimator = NULL;
    crd_mesh_file *file = NULL;
    crd_vertex_data data = {
        .count = 1, .kinds = {CRD_DATUM_PROBABILITY}, .shape = {EDGE, EDGE, EDGE}, .spacing = {1, 1, 1}, .level = 0.5};
    const crd_mesh_about about = {.unit = "voxels", .description = "test", .data_count = 1, .data_names = {"value"}};
    bool more = true;
    CRD_TRY(crd_view_memory(values, &info, NULL, NULL, &volume));
    const crd_slice_source source = {.shape = {EDGE, EDGE, EDGE}, .volume = volume, .scale = 1};
    CRD_TRY(crd_pool_create(2, &pool));
    CRD_TRY(crd_slices_open(&source, 1, crd_march_depth(info.shape, 0), &slices));
    data.slices = slices;
    const crd_march_plan plan = {.shape = {EDGE, EDGE, EDGE},
                                 .slices = slices,
                                 .level = 0.5f,
                                 .closed = closed,
                                 .spacing = {1, 1, 1},
                                 .data = &data,
                                 .pool = pool};
    CRD_TRY(crd_march_open(&plan, &march));
    CRD_TRY(crd_mesh_file_create(path, &crd_mesh_ply, &about, pool, &file));
    if (window > 0) CRD_TRY(crd_decimator_open(share, window, 1, put, file, &decimator));
    while (more) {
        crd_mesh_part part;
        CRD_TRY(crd_march_next(march, &part, &more));
        if (more) CRD_TRY(window > 0 ? crd_decimator_add(decimator, &part) : crd_mesh_file_add(file, &part));
    }
    if (window > 0) CRD_TRY(crd_decimator_finish(decimator));
    CRD_TRY(crd_mesh_file_commit(file));
done:
    crd_decimator_close(&decimator);
    crd_mesh_file_close(&file);
    crd_march_close(&march);
    crd_slices_close(&slices);
    crd_pool_free(&pool);
    crd_volume_close(&volume);
    return status;
}

/* Two tori, one of them in the other's hole, and a ball that the window cuts. */
static void fill(float *values)
{
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) {
        const double z = i / (EDGE * EDGE) - 23.4, y = i / EDGE % EDGE - 23.3, x = i % EDGE - 23.7;
        const double first = sqrt(y * y + x * x) - 14, second = sqrt(z * z + (x - 14) * (x - 14)) - 14;
        const double tori = fmax(4 - sqrt(first * first + z * z), 4 - sqrt(second * second + y * y));
        const double ball = 9 - sqrt((z + 23) * (z + 23) + (y - 14) * (y - 14) + (x + 14) * (x + 14));
        values[i] = (float)(0.5 + 0.1 * fmax(tori, ball));
    }
}

static float volume_values[EDGE * EDGE * EDGE];

static void test_windows(void)
{
    static const int64_t windows[] = {1000000, 3000, 400};
    mesh whole, less;
    fill(volume_values);
    CHECK_OK(write_mesh(volume_values, true, 1, 0, scratch("whole.ply")));
    CHECK(mesh_read(scratch("whole.ply"), &whole));
    const mesh_sums before = mesh_measure(&whole);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(write_mesh(volume_values, true, 0.2, windows[i], scratch("less.ply")));
        CHECK(mesh_read(scratch("less.ply"), &less));
        const mesh_sums after = mesh_measure(&less);
        CHECK(mesh_open_edges(&less) == 0);
        CHECK(mesh_bad_fans(&less) == 0);
        CHECK(mesh_euler(&less) == mesh_euler(&whole));
        CHECK(after.least_area > 0);
        CHECK_NEAR((double)less.triangles / (double)whole.triangles, 0.2, 0.001);
        CHECK_NEAR(after.volume / before.volume, 1, 0.01);
        CHECK_NEAR(after.area / before.area, 1, 0.02);
        for (int64_t v = 0; v < less.vertices; v++) CHECK(mesh_place(&less, v)[3] >= 0.49f);
        mesh_free(&less);
    }
    mesh_free(&whole);
}

/* A mesh that can't get any smaller without becoming another surface. */
static void test_as_far_as_it_goes(void)
{
    mesh m;
    fill(volume_values);
    CHECK_OK(write_mesh(volume_values, true, 0.001, 1000000, scratch("least.ply")));
    CHECK(mesh_read(scratch("least.ply"), &m));
    CHECK(mesh_open_edges(&m) == 0 && mesh_bad_fans(&m) == 0);
    CHECK(mesh_measure(&m).volume > 0);
    mesh_free(&m);
}

/* The rim of an open surface stays as it is. */
static void test_rim(void)
{
    mesh whole, less;
    fill(volume_values);
    CHECK_OK(write_mesh(volume_values, false, 1, 0, scratch("whole.ply")));
    CHECK_OK(write_mesh(volume_values, false, 0.2, 3000, scratch("less.ply")));
    CHECK(mesh_read(scratch("whole.ply"), &whole));
    CHECK(mesh_read(scratch("less.ply"), &less));
    CHECK(mesh_open_edges(&whole) > 0 && mesh_open_edges(&less) == mesh_open_edges(&whole));
    CHECK(less.triangles < whole.triangles / 4);
    mesh_free(&whole);
    mesh_free(&less);
}

TEST_MAIN(TEST(test_windows), TEST(test_as_far_as_it_goes), TEST(test_rim))
