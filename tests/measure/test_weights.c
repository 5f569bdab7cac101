/* Weights of cells: the sphere's shares, the mesh, and what must hold for any spacing. */
#include "measure/weights.h"

#include "harness.h"
#include "volume_tools.h"

static const double cubic[3] = {1.0, 1.0, 1.0};
static const double spacings[][3] = {{1.0, 1.0, 1.0}, {3.0, 1.0, 1.0}, {0.4, 0.65, 1.7}, {10.0, 1.0, 1.0}};

/* Of cubic voxels they are known; of others they add up, and mirrored directions have the same. */
static void test_shares(void)
{
    const double known[3] = {0.0915557824, 0.0739612558, 0.0703912796};
    crd_cell_weights w;
    crd_cell_weights_make(cubic, &w);
    for (int axis = 0; axis < 3; axis++) {
        CHECK_NEAR(w.surface[axis], 2.0 * known[0] / 4.0, 1e-10);
        CHECK_NEAR(w.surface[3 + axis], 2.0 * known[1] / (2.0 * sqrt(2.0)), 1e-10);
    }
    CHECK_NEAR(w.surface[6], 2.0 * known[2] / sqrt(3.0), 1e-10);
    for (size_t i = 0; i < sizeof spacings / sizeof spacings[0]; i++) {
        const double *s = spacings[i];
        double sum = 0.0;
        crd_cell_weights_make(s, &w);
        for (int c = 0; c < 7; c++) {
            const double parts[3] = {c == 0 || c == 4 || c == 5 || c == 6 ? s[0] : 0.0,
                                     c == 1 || c == 3 || c == 5 || c == 6 ? s[1] : 0.0,
                                     c == 2 || c == 3 || c == 4 || c == 6 ? s[2] : 0.0};
            const double length = sqrt(parts[0] * parts[0] + parts[1] * parts[1] + parts[2] * parts[2]);
            const double pairs = c < 3 ? 4.0 : c < 6 ? 2.0 : 1.0, directions = c < 3 ? 1.0 : c < 6 ? 2.0 : 4.0;
            sum += directions * w.surface[c] * pairs * length / 2.0;
        }
        CHECK_NEAR(sum, 1.0, 1e-12);
    }
}

static void test_euler_codes(void)
{
    crd_cell_weights w;
    crd_cell_weights_make(cubic, &w);
    CHECK(w.codes[0].euler[0] == 0 && w.codes[0].euler[1] == 0 && w.codes[255].euler[0] == 0);
    CHECK(w.codes[1].euler[0] == 1 && w.codes[1].euler[1] == 1); /* an eighth of a voxel */
    CHECK(w.codes[129].euler[0] == 2 && w.codes[129].euler[1] == -6);
    for (int code = 0; code < 256; code++) {
        int corners = 0;
        for (int k = 0; k < 8; k++) corners += code >> k & 1;
        CHECK(w.codes[code].corners == corners);
        for (int c = 0; c < 7; c++) {
            CHECK(w.codes[code].unlike[c] == w.codes[255 - code].unlike[c]);
            CHECK(w.codes[code].tiles[c] == -w.codes[255 - code].tiles[c]);
        }
        CHECK(w.codes[code].dual == w.codes[255 - code].euler[0]);
    }
}

/* A cell's bits with axis `axis` mirrored, or with y and x exchanged. */
static int mirrored(int code, int axis)
{
    int out = 0;
    for (int k = 0; k < 8; k++) out |= (code >> k & 1) << (k ^ (4 >> axis));
    return out;
}

static int exchanged(int code)
{
    int out = 0;
    for (int k = 0; k < 8; k++) out |= (code >> k & 1) << ((k & 4) | (k & 1) << 1 | (k >> 1 & 1));
    return out;
}

static void test_mesh(void)
{
    CHECK(crd_mesh_area(0, cubic) == 0.0 && crd_mesh_area(255, cubic) == 0.0);
    CHECK_NEAR(crd_mesh_area(1, cubic), sqrt(3.0) / 8.0, 1e-15);
    CHECK_NEAR(crd_mesh_area(15, cubic), 1.0, 1e-15);
    CHECK_NEAR(crd_mesh_area(3, cubic), sqrt(0.5), 1e-15);
    CHECK_NEAR(crd_mesh_area(129, cubic), 2.0 * crd_mesh_area(1, cubic), 1e-15); /* corners apart */
    CHECK_NEAR(crd_mesh_area(9, cubic), 2.0 * crd_mesh_area(1, cubic), 1e-15);   /* diagonal on a face: apart */
    CHECK_NEAR(crd_mesh_area(23, cubic), 6.0 * sqrt(3.0) / 4.0 * 0.5, 1e-15);    /* a regular hexagon */
    for (size_t i = 0; i < sizeof spacings / sizeof spacings[0]; i++) {
        for (int code = 0; code < 256; code++) {
            const double *s = spacings[i], turned[3] = {s[0], s[2], s[1]};
            const double area = crd_mesh_area(code, s);
            for (int axis = 0; axis < 3; axis++) CHECK_NEAR(crd_mesh_area(mirrored(code, axis), s), area, 1e-13 * area);
            CHECK_NEAR(crd_mesh_area(exchanged(code), turned), area, 1e-13 * area);
        }
    }
}

/* Densities of a random histogram: scaling, exchanging axes, complement. */
static void test_densities(void)
{
    uint64_t state = 4;
    int64_t h[256], complement[256], turned[256], flipped[256];
    for (int code = 0; code < 256; code++) h[code] = (int64_t)(tools_random(&state) % 1000);
    for (int code = 0; code < 256; code++) {
        complement[255 - code] = h[code];
        turned[exchanged(code)] = h[code];
        flipped[mirrored(code, 1)] = h[code];
    }
    for (size_t i = 0; i < sizeof spacings / sizeof spacings[0]; i++) {
        const double *s = spacings[i];
        crd_cell_weights w, scaled, swapped;
        crd_cell_sums a, b;
        crd_cell_weights_make(s, &w);
        crd_cell_weights_make((const double[]){7.0 * s[0], 7.0 * s[1], 7.0 * s[2]}, &scaled);
        crd_cell_weights_make((const double[]){s[0], s[2], s[1]}, &swapped);
        crd_cell_sum(&w, h, &a);
        const double surface = crd_surface_density(&w, &a), curvature = crd_curvature_density(&w, &a);
        CHECK_NEAR(7.0 * crd_surface_density(&scaled, &a), surface, 1e-12 * surface);
        CHECK_NEAR(49.0 * crd_curvature_density(&scaled, &a), curvature, 1e-12 * fabs(curvature));
        CHECK_NEAR(343.0 * crd_euler_density(&scaled, &a, 6), crd_euler_density(&w, &a, 6),
                   1e-12 * fabs(crd_euler_density(&w, &a, 6)));
        CHECK_NEAR(7.0 * crd_mesh_density(&scaled, h), crd_mesh_density(&w, h), 1e-12 * crd_mesh_density(&w, h));
        crd_cell_sum(&w, complement, &b);
        CHECK(crd_surface_density(&w, &b) == surface && crd_curvature_density(&w, &b) == -curvature);
        CHECK(crd_euler_density(&w, &b, 6) == crd_euler_density(&w, &a, 26));
        CHECK(crd_euler_density(&w, &b, 26) == crd_euler_density(&w, &a, 6));
        crd_cell_sum(&w, flipped, &b);
        CHECK(crd_surface_density(&w, &b) == surface && crd_curvature_density(&w, &b) == curvature);
        CHECK(memcmp(a.euler, b.euler, sizeof a.euler) == 0);
        crd_cell_sum(&swapped, turned, &b);
        CHECK_NEAR(crd_surface_density(&swapped, &b), surface, 1e-12 * surface);
        CHECK_NEAR(crd_curvature_density(&swapped, &b), curvature, 1e-12 * fabs(curvature));
    }
}

TEST_MAIN(TEST(test_shares), TEST(test_euler_codes), TEST(test_mesh), TEST(test_densities))
