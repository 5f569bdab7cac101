/* Surfaces of volumes whose shape is known: closed, oriented, of the right topology, volume and area. */
#include <math.h>
#include <stdint.h>

#include "credence/surface.h"
#include "harness.h"
#include "mesh_tools.h"
#include "numbers.h"
#include "surface/cases.h"
#include "volume_tools.h"

/* ---- volumes ---- */

/* Number k of a series, in 0 .. 1. */
static double uniform(int64_t series, int64_t k)
{
    return (double)(scatter(((uint64_t)series << 40) + (uint64_t)k + 1) >> 11) * 0x1p-53;
}

typedef struct grid {
    int64_t shape[3];
    float *values;
} grid;

static grid make_grid(int64_t z, int64_t y, int64_t x)
{
    return (grid){.shape = {z, y, x}, .values = calloc((size_t)(z * y * x), sizeof(float))};
}

static float *at(const grid *g, int64_t z, int64_t y, int64_t x)
{
    return g->values + (z * g->shape[1] + y) * g->shape[2] + x;
}

static bool is_inside(const grid *g, int64_t z, int64_t y, int64_t x)
{
    if (z < 0 || y < 0 || x < 0 || z >= g->shape[0] || y >= g->shape[1] || x >= g->shape[2]) return false;
    return *at(g, z, y, x) > 0.5f;
}

/* Of the voxels with their 6 neighbours: corners - edges + faces - cubes of the complex that joins their middles. */
static int64_t voxel_euler(const grid *g)
{
    int64_t sum = 0;
    for (int64_t z = 0; z < g->shape[0]; z++) {
        for (int64_t y = 0; y < g->shape[1]; y++) {
            for (int64_t x = 0; x < g->shape[2]; x++) {
                for (int axes = 0; axes < 8; axes++) { /* the cell that spans these axes from here on */
                    bool full = true;
                    int dimension = 0;
                    for (int k = 0; k < 3; k++) dimension += axes >> k & 1;
                    for (int corner = 0; corner < 8; corner++) {
                        if ((corner & ~axes) != 0) continue;
                        full &= is_inside(g, z + (corner >> 2), y + (corner >> 1 & 1), x + (corner & 1));
                    }
                    sum += full ? (dimension % 2 == 0 ? 1 : -1) : 0;
                }
            }
        }
    }
    return sum;
}

static crd_status save(const grid *g, const double *spacing, const int64_t *origin, const char *path)
{
    crd_volume_info info = {.type = CRD_F32, .scale = 1};
    crd_volume *volume = NULL;
    const crd_box box = {.size = {g->shape[0], g->shape[1], g->shape[2]}};
    memcpy(info.shape, g->shape, sizeof info.shape);
    if (spacing != NULL) memcpy(info.spacing, spacing, sizeof info.spacing);
    if (origin != NULL) memcpy(info.origin, origin, sizeof info.origin);
    if (spacing != NULL) strcpy(info.unit, "um");
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &box, g->values);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* The options of a surface as pairs of name and value, NULL behind the last. */
static crd_status surface(const char *const *words, crd_surface_summary *summary)
{
    crd_surface_options options;
    crd_status status = crd_settings_default(&crd_surface_settings, &options);
    for (; status == CRD_OK && words[0] != NULL; words += 2) {
        status = crd_settings_set(&crd_surface_settings, &options, words[0], words[1]);
    }
    if (status == CRD_OK) status = crd_surface(&options, NULL, summary);
    crd_settings_clear(&crd_surface_settings, &options);
    return status;
}

#define SURFACE(summary, ...) surface((const char *const[]){__VA_ARGS__, NULL}, summary)

/* The closed surface of a grid; the mesh is the caller's. */
static bool mesh_of(const grid *g, mesh *m)
{
    memset(m, 0, sizeof *m);
    return save(g, NULL, NULL, scratch("grid.npy")) == CRD_OK &&
           SURFACE(NULL, "input", scratch("grid.npy"), "output", scratch("grid.ply")) == CRD_OK &&
           mesh_read(scratch("grid.ply"), m);
}

/* ---- tests ---- */

/* Segments in a face must be those of its own samples, whatever the rest of the cell: neighbours then fit. */
static void test_table_fits_across_faces(void)
{
    const crd_cell_case *cases = crd_cell_cases();
    CHECK(cases[0].triangles == 0 && cases[255].triangles == 0);
    for (int face = 0; face < 6; face++) {
        const int axis = face / 2, side = face % 2;
        int64_t seen[16];
        for (int i = 0; i < 16; i++) seen[i] = -1;
        for (int code = 0; code < CRD_CELL_CASES; code++) {
            int key = 0, bits = 0;
            for (int sample = 0; sample < 8; sample++) {
                if ((sample >> axis & 1) == side) key |= (code >> sample & 1) << bits++;
            }
            /* Directed edges of triangles between two of the face's edges, as a set of pairs. */
            int64_t segments = 0;
            int count = 0;
            for (int t = 0; t < cases[code].triangles; t++) {
                for (int k = 0; k < 3; k++) {
                    const int from = cases[code].corners[t][k], to = cases[code].corners[t][(k + 1) % 3];
                    const bool here = from / 4 != axis && to / 4 != axis &&
                                      (crd_cell_edge_start(from) >> axis & 1) == side &&
                                      (crd_cell_edge_start(to) >> axis & 1) == side;
                    if (!here) continue;
                    segments += ((int64_t)1 << (from + 12)) + ((int64_t)1 << (to + 36));
                    count++;
                }
            }
            CHECK(count <= 2);
            CHECK(seen[key] == -1 || seen[key] == segments);
            seen[key] = segments;
        }
    }
}

static void check_topology(const grid *g)
{
    mesh m;
    CHECK(mesh_of(g, &m));
    CHECK(mesh_open_edges(&m) == 0);
    CHECK(mesh_bad_fans(&m) == 0);
    CHECK(mesh_euler(&m) == 2 * voxel_euler(g));
    CHECK(mesh_measure(&m).least_area > 0);
    CHECK(mesh_measure(&m).volume > 0);
    mesh_free(&m);
}

/* All 255 that have a sample inside, apart from each other. */
static void test_every_cell(void)
{
    grid g = make_grid(2, 48, 48);
    for (int code = 1; code < 256; code++) {
        for (int i = 0; i < 8; i++) {
            *at(&g, i >> 2, code / 16 * 3 + (i >> 1 & 1), code % 16 * 3 + (i & 1)) = (float)(code >> i & 1);
        }
    }
    check_topology(&g);
    free(g.values);
}

static void test_random_voxels(void)
{
    static const int64_t shapes[][3] = {{1, 1, 1},  {1, 7, 9},    {9, 1, 7},  {7, 9, 1},  {5, 6, 61},
                                        {5, 6, 62}, {5, 6, 63},   {4, 5, 64}, {4, 5, 65}, {3, 4, 126},
                                        {40, 9, 8}, {3, 40, 128}, {2, 2, 200}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int density = 1; density < 4; density++) {
            grid g = make_grid(shapes[i][0], shapes[i][1], shapes[i][2]);
            const int64_t count = shapes[i][0] * shapes[i][1] * shapes[i][2];
            for (int64_t k = 0; k < count; k++) g.values[k] = 4 * uniform(100 * (int64_t)i + density, k) < density;
            g.values[count / 2] = 1;
            check_topology(&g);
            free(g.values);
            if (harness_failed) return;
        }
    }
}

/* Samples just at the level, next to it and beyond all numbers: still closed, and no two vertices in one place. */
static void test_values_at_the_level(void)
{
    static const float values[] = {0.5f, 0.5f, 0.0f, 1.0f, 0.50000006f, 0.49999997f, 1e30f, -1e30f, 0.5f};
    grid g = make_grid(9, 10, 11);
    for (int64_t k = 0; k < 9 * 10 * 11; k++) {
        g.values[k] = values[(int)(9 * uniform(7, k))];
        if (k % 97 == 0) g.values[k] = NAN;
        if (k % 89 == 0) g.values[k] = INFINITY;
    }
    check_topology(&g);
    free(g.values);
}

/* A function of the place that is positive inside. */
typedef double shape_function(double z, double y, double x);

static double ball(double z, double y, double x)
{
    return 20 - sqrt(z * z + y * y + x * x);
}

static double torus(double z, double y, double x)
{
    const double ring = sqrt(y * y + x * x) - 18;
    return 8 - sqrt(ring * ring + z * z);
}

static double shell(double z, double y, double x)
{
    return 5 - fabs(sqrt(z * z + y * y + x * x) - 15);
}

static double gyroid(double z, double y, double x)
{
    const double k = 2 * 3.14159265358979323846 / 30;
    return 3 * (sin(k * x) * cos(k * y) + sin(k * y) * cos(k * z) + sin(k * z) * cos(k * x));
}

/* 60 samples along each axis, `step` apart, around the middle. */
static grid sample_shape(shape_function *f, const double step[3])
{
    grid g = make_grid(60, 60, 60);
    for (int64_t z = 0; z < 60; z++) {
        for (int64_t y = 0; y < 60; y++) {
            for (int64_t x = 0; x < 60; x++) {
                *at(&g, z, y, x) = (float)(0.5 + 0.1 * f(((double)z - 29.6) * step[0], ((double)y - 29.3) * step[1],
                                                         ((double)x - 29.7) * step[2]));
            }
        }
    }
    return g;
}

static void test_known_shapes(void)
{
    const double pi = 3.14159265358979323846, one[3] = {1, 1, 1};
    const struct {
        const char *name;
        shape_function *f;
        double volume, area;
        int64_t euler;
    } shapes[] = {{"ball", ball, 4.0 / 3 * pi * 8000, 4 * pi * 400, 2},
                  {"torus", torus, 2 * pi * pi * 18 * 64, 4 * pi * pi * 18 * 8, 0},
                  {"shell", shell, 4.0 / 3 * pi * 7000, 4 * pi * 500, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        grid g = sample_shape(shapes[i].f, one);
        mesh m;
        CHECK(mesh_of(&g, &m));
        const mesh_sums sums = mesh_measure(&m);
        CHECK(mesh_open_edges(&m) == 0 && mesh_bad_fans(&m) == 0);
        CHECK(mesh_euler(&m) == shapes[i].euler);
        CHECK_NEAR(sums.volume / shapes[i].volume, 1, 0.004);
        CHECK_NEAR(sums.area / shapes[i].area, 1, 0.004);
        mesh_free(&m);
        free(g.values);
    }
    /* A cube of two whole periods: its two halves are alike, and each wall of the window has a half of each. */
    grid g = sample_shape(gyroid, one);
    mesh m;
    CHECK(mesh_of(&g, &m));
    CHECK(mesh_open_edges(&m) == 0 && mesh_bad_fans(&m) == 0);
    CHECK_NEAR(mesh_measure(&m).volume / 216000, 0.5, 0.003);
    CHECK_NEAR(mesh_measure(&m).area, 8 * 3.0915 * 900 + 6 * 1800, 0.02 * 33000);
    mesh_free(&m);
    free(g.values);
}

/* All of the window: a box with its faces half a voxel beyond the outer samples, and its edges cut off. */
static void test_full_window(void)
{
    const double spacing[3] = {2, 0.5, 0.25};
    const int64_t origin[3] = {10, 20, 40};
    grid g = make_grid(4, 5, 6);
    mesh m;
    crd_surface_summary summary;
    for (int64_t k = 0; k < 120; k++) g.values[k] = 1;
    CHECK_OK(save(&g, spacing, origin, scratch("full.npy")));
    CHECK_OK(SURFACE(&summary, "input", scratch("full.npy"), "output", scratch("full.ply")));
    CHECK(mesh_read(scratch("full.ply"), &m));
    const mesh_sums sums = mesh_measure(&m);
    for (int axis = 0; axis < 3; axis++) { /* x first in meshes, z first in volumes */
        const int z_first = 2 - axis;
        CHECK_NEAR(sums.low[axis], ((double)origin[z_first] - 0.5) * spacing[z_first], 1e-5);
        CHECK_NEAR(sums.high[axis], ((double)(origin[z_first] + g.shape[z_first]) - 0.5) * spacing[z_first], 1e-5);
    }
    /* In voxels: each of the edges, from the middle of the first voxel to that of the last, lacks a prism of 1/8 and
     * each corner what is left beside a tetrahedron and three quarter prisms. */
    const double lost = 4 * (3 + 4 + 5) / 8.0 + 8 * (1.0 / 8 - 1.0 / 48);
    CHECK_NEAR(sums.volume, (120 - lost) * 0.25, 1e-5);
    CHECK_NEAR(summary.volume, sums.volume, 1e-5);
    CHECK_NEAR(summary.area, sums.area, 1e-5);
    CHECK(summary.vertices == m.vertices && summary.triangles == m.triangles && summary.euler_number == 2);
    CHECK(strcmp(summary.unit, "um") == 0);
    mesh_free(&m);
    CHECK_FAILS(SURFACE(NULL, "input", scratch("full.npy"), "output", scratch("none.ply"), "open", "true"),
                CRD_ERR_ARGUMENT, "no surface");
    for (int64_t k = 0; k < 120; k++) g.values[k] = 0;
    CHECK_OK(save(&g, NULL, NULL, scratch("empty.npy")));
    CHECK_FAILS(SURFACE(NULL, "input", scratch("empty.npy"), "output", scratch("none.ply")), CRD_ERR_ARGUMENT,
                "no surface");
    CHECK(scratch_count("none") == 0);
    free(g.values);
}

/* Without a lid the surface ends where the outer samples are, and is the same elsewhere. */
static void test_open_surface(void)
{
    const double step[3] = {1, 1, 1};
    grid g = sample_shape(gyroid, step);
    mesh m;
    crd_surface_summary summary;
    CHECK_OK(save(&g, NULL, NULL, scratch("open.npy")));
    CHECK_OK(SURFACE(&summary, "input", scratch("open.npy"), "output", scratch("open.ply"), "open", "true"));
    CHECK(mesh_read(scratch("open.ply"), &m));
    CHECK(!summary.closed && isnan(summary.volume));
    CHECK(mesh_open_edges(&m) > 0);
    const mesh_sums sums = mesh_measure(&m);
    for (int k = 0; k < 3; k++) CHECK(sums.low[k] == 0 && sums.high[k] == 59);
    CHECK_NEAR(sums.area, 3.0915 / 30 * 59 * 59 * 59, 0.02 * sums.area);
    mesh_free(&m);
    free(g.values);
}

static void test_spacing(void)
{
    const double step[3] = {1.5, 1, 0.75}, pi = 3.14159265358979323846;
    grid g = sample_shape(ball, step);
    mesh m;
    CHECK_OK(save(&g, step, NULL, scratch("flat.npy")));
    CHECK_OK(SURFACE(NULL, "input", scratch("flat.npy"), "output", scratch("flat.ply")));
    CHECK(mesh_read(scratch("flat.ply"), &m));
    const mesh_sums sums = mesh_measure(&m);
    CHECK_NEAR(sums.volume / (4.0 / 3 * pi * 8000), 1, 0.004);
    CHECK_NEAR(sums.area / (4 * pi * 400), 1, 0.004);
    for (int k = 0; k < 3; k++) CHECK_NEAR((sums.high[k] - sums.low[k]) / 2, 20, 0.05);
    mesh_free(&m);
    free(g.values);
}

static bool same_files(const char *a, const char *b)
{
    FILE *first = fopen(a, "rb"), *second = fopen(b, "rb");
    bool same = first != NULL && second != NULL;
    for (int x = 0; same && x != EOF;) {
        x = fgetc(first);
        same = x == fgetc(second);
    }
    if (first != NULL) fclose(first);
    if (second != NULL) fclose(second);
    return same;
}

static void test_threads_and_formats(void)
{
    const double step[3] = {1, 1, 1};
    grid g = sample_shape(gyroid, step);
    crd_surface_summary summary;
    struct stat about;
    CHECK_OK(save(&g, step, NULL, scratch("g.npy")));
    static const char *const names[] = {"g.ply", "g.stl", "g.vtp"};
    for (int i = 0; i < 3; i++) {
        char other[32];
        snprintf(other, sizeof other, "other_%s", names[i]);
        CHECK_OK(SURFACE(&summary, "input", scratch("g.npy"), "output", scratch(names[i]), "threads", "1"));
        CHECK_OK(SURFACE(NULL, "input", scratch("g.npy"), "output", scratch(other), "threads", "5"));
        CHECK(same_files(scratch(names[i]), scratch(other)));
    }
    CHECK(stat(scratch("g.stl"), &about) == 0 && about.st_size == 84 + 50 * summary.triangles);
    CHECK_FAILS(SURFACE(NULL, "input", scratch("g.npy"), "output", scratch("g.obj")), CRD_ERR_ARGUMENT, ".ply, .stl");
    free(g.values);
}

static void test_labels(void)
{
    grid g = make_grid(6, 7, 8);
    crd_surface_summary summary;
    crd_volume_info info = {.type = CRD_U8, .scale = 1, .shape = {6, 7, 8}};
    const crd_box box = {.size = {6, 7, 8}};
    uint8_t labels[6 * 7 * 8] = {0};
    crd_volume *volume = NULL;
    for (int i = 0; i < 6 * 7 * 8; i++) labels[i] = (uint8_t)(i % 5 == 0 ? 3 : i % 7 == 0 ? 9 : 1);
    for (int pass = 0; pass < 2; pass++) {
        CHECK_OK(crd_volume_create(scratch("labels.npy"), &info, NULL, &volume));
        CHECK_OK(crd_volume_write(volume, &box, labels));
        CHECK_OK(crd_volume_commit(volume));
        crd_volume_close(&volume);
        if (pass == 0) {
            CHECK_FAILS(SURFACE(NULL, "input", scratch("labels.npy"), "output", scratch("labels.ply")),
                        CRD_ERR_ARGUMENT, "--phase");
            CHECK_OK(SURFACE(&summary, "input", scratch("labels.npy"), "output", scratch("labels.ply"), "phase", "3"));
        } else { /* two values: the larger one */
            CHECK_OK(SURFACE(&summary, "input", scratch("labels.npy"), "output", scratch("labels.ply")));
        }
        for (int i = 0; i < 6 * 7 * 8; i++) g.values[i] = labels[i] == 3;
        CHECK(summary.euler_number == 2 * voxel_euler(&g));
        for (int i = 0; i < 6 * 7 * 8; i++) labels[i] = labels[i] == 3 ? 3 : 1;
    }
    free(g.values);
}

/* A box of a volume: the same as the surface of that box alone, at its place. */
static void test_box(void)
{
    const double step[3] = {1, 1, 1};
    grid g = sample_shape(gyroid, step), part = make_grid(20, 31, 17);
    const int64_t origin[3] = {11, 5, 30};
    for (int64_t z = 0; z < 20; z++) {
        for (int64_t y = 0; y < 31; y++) {
            for (int64_t x = 0; x < 17; x++) *at(&part, z, y, x) = *at(&g, z + 11, y + 5, x + 30);
        }
    }
    CHECK_OK(save(&g, step, NULL, scratch("whole.npy")));
    CHECK_OK(save(&part, step, origin, scratch("part.npy")));
    CHECK_OK(SURFACE(NULL, "input", scratch("whole.npy"), "output", scratch("box.ply"), "bbox", "11:31,5:36,30:47"));
    CHECK_OK(SURFACE(NULL, "input", scratch("part.npy"), "output", scratch("part.ply")));
    CHECK(same_files(scratch("box.ply"), scratch("part.ply")));
    CHECK_FAILS(SURFACE(NULL, "input", scratch("whole.npy"), "output", scratch("box.ply"), "bbox", "11:31,5:36,30:61"),
                CRD_ERR_ARGUMENT, "0:60");
    free(part.values);
    free(g.values);
}

TEST_MAIN(TEST(test_table_fits_across_faces), TEST(test_every_cell), TEST(test_random_voxels),
          TEST(test_values_at_the_level), TEST(test_known_shapes), TEST(test_full_window), TEST(test_open_surface),
          TEST(test_spacing), TEST(test_threads_and_formats), TEST(test_labels), TEST(test_box))
