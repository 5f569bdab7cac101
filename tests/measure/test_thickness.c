/* Distances and local thickness against brute force, and shapes whose thickness is known. */
#include "measure/thickness/thickness.h"

#include "base/memory.h"
#include "harness.h"
#include "volume_tools.h"

enum { MOST = 100000 };
static uint8_t voxels[MOST], inside[MOST];

static void make_bitmap(const int64_t shape[3], bool masked, crd_bitmap *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->shape, shape, sizeof out->shape);
    out->words = (shape[2] + 63) / 64;
    CHECK_OK(crd_alloc(shape[0] * shape[1] * out->words, 8, "bits", &out->phase));
    if (masked) CHECK_OK(crd_alloc(shape[0] * shape[1] * out->words, 8, "bits", &out->inside));
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        const int64_t x = i % shape[2], at = i / shape[2] * out->words + x / 64;
        if (masked) out->inside[at] |= (uint64_t)inside[i] << x % 64;
        out->phase[at] |= (uint64_t)(voxels[i] && (!masked || inside[i])) << x % 64;
    }
}

static int64_t norm(const int64_t shape[3], const int64_t squares[3], int64_t a, int64_t b)
{
    const int64_t dz = a / shape[2] / shape[1] - b / shape[2] / shape[1];
    const int64_t dy = a / shape[2] % shape[1] - b / shape[2] % shape[1], dx = a % shape[2] - b % shape[2];
    return dz * dz * squares[0] + dy * dy * squares[1] + dx * dx * squares[2];
}

/* By definition: the largest r(c) of all c with |x - c| < r(c). */
static void brute_force(const int64_t shape[3], const int64_t squares[3], bool masked, int64_t *thick)
{
    static int64_t radius[MOST];
    const int64_t n = shape[0] * shape[1] * shape[2];
    for (int64_t c = 0; c < n; c++) {
        radius[c] = 0;
        if (!voxels[c] || (masked && !inside[c])) continue;
        radius[c] = CRD_FAR;
        for (int64_t w = 0; w < n; w++) {
            if (voxels[w] || (masked && !inside[w])) continue;
            const int64_t d = norm(shape, squares, c, w);
            radius[c] = d < radius[c] ? d : radius[c];
        }
    }
    memset(thick, 0, (size_t)n * sizeof *thick);
    for (int64_t c = 0; c < n; c++) {
        for (int64_t x = 0; x < n && radius[c] > 0 && radius[c] < CRD_FAR; x++) {
            if (!voxels[x] || (masked && !inside[x]) || radius[c] <= thick[x]) continue;
            if (norm(shape, squares, c, x) < radius[c]) thick[x] = radius[c];
        }
    }
}

static void check(const int64_t shape[3], const double spacing[3], bool masked, int64_t memory, int threads)
{
    static int64_t thick[MOST];
    int64_t squares[3];
    crd_bitmap bitmap;
    crd_thickness t;
    crd_pool *pool = NULL;
    make_bitmap(shape, masked, &bitmap);
    crd_distance_squares(spacing, squares);
    CHECK_OK(crd_pool_create(threads, &pool));
    CHECK_OK(crd_thickness_compute(&bitmap, spacing, memory, pool, &t));
    brute_force(shape, squares, masked, thick);
    int64_t sum = 0, expected = 0;
    for (int64_t i = 0; i < t.count; i++) {
        int64_t count = 0;
        CHECK(i == 0 || t.radii[i] < t.radii[i - 1]);
        for (int64_t v = 0; v < shape[0] * shape[1] * shape[2]; v++) count += thick[v] == t.radii[i];
        if (t.voxels[i] != count) {
            CHECK_FAILED("radius^2 %lld: %lld voxels, not %lld", (long long)t.radii[i], (long long)t.voxels[i],
                         (long long)count);
        }
        sum += count;
    }
    for (int64_t v = 0; v < shape[0] * shape[1] * shape[2]; v++) expected += thick[v] > 0;
    CHECK(sum == expected);
    crd_thickness_free(&t);
    crd_bitmap_free(&bitmap);
    crd_pool_free(&pool);
}

static void make_blobs(const int64_t shape[3], uint64_t seed, unsigned percent)
{
    uint64_t state = seed;
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        const int64_t x = i % shape[2], y = i / shape[2] % shape[1], z = i / shape[2] / shape[1];
        uint64_t cell = (uint64_t)((z / 5 * 100 + y / 6) * 100 + x / 5) + 1000003 * seed;
        voxels[i] = tools_random(&cell) % 100 < percent && tools_random(&state) % 60 != 0;
        inside[i] = tools_random(&state) % 50 != 0 && x + y > 3;
    }
}

static void test_against_brute_force(void)
{
    static const int64_t shapes[][3] = {{13, 14, 15}, {7, 11, 67}, {1, 30, 30}, {20, 1, 5}};
    static const double spacings[][3] = {{1, 1, 1}, {3, 1, 1}, {0.4, 0.65, 0.91}};
    for (size_t i = 0; i < 4; i++) {
        for (size_t s = 0; s < 3 && !harness_failed; s++) {
            for (int masked = 0; masked < 2 && !harness_failed; masked++) {
                make_blobs(shapes[i], 3 * i + s, 70);
                check(shapes[i], spacings[s], masked == 1, INT64_C(1) << 30, masked == 1 ? 3 : 1);
                if (harness_failed) printf("    shape %d, spacing %d, masked %d\n", (int)i, (int)s, masked);
            }
        }
    }
}

/* Slabs with halos that are doubled where a ball is large. */
static void test_slabs(void)
{
    static const int64_t shape[3] = {90, 7, 8};
    static const double spacing[3] = {1, 1.5, 1};
    make_blobs(shape, 8, 85);
    const int64_t most = crd_thickness_bytes(shape, shape[0]);
    check(shape, spacing, false, 2 * most, 1);
    check(shape, spacing, false, 2 * most - 1, 2);
    memset(voxels, 1, 90 * 56); /* one wall, far away from all slabs but one */
    memset(voxels, 0, 56);
    check(shape, spacing, false, 2 * most - 1, 2);
    crd_bitmap bitmap;
    crd_thickness t;
    crd_pool *pool = NULL;
    make_bitmap(shape, false, &bitmap);
    CHECK_OK(crd_pool_create(1, &pool));
    CHECK_FAILS(crd_thickness_compute(&bitmap, spacing, most / 4, pool, &t), CRD_ERR_MEMORY, "max-memory");
    crd_pool_free(&pool);
    crd_bitmap_free(&bitmap);
}

/* A slab of n voxels has the thickness n (even) or n + 1; a full window and an empty phase have none. */
static void test_known(void)
{
    static const int64_t shape[3] = {30, 6, 6};
    static const double spacing[3] = {1, 1, 1};
    crd_bitmap bitmap;
    crd_thickness t;
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(1, &pool));
    for (int64_t n = 1; n <= 9; n++) {
        memset(voxels, 0, sizeof voxels);
        memset(voxels + 10 * 36, 1, (size_t)(36 * n));
        make_bitmap(shape, false, &bitmap);
        CHECK_OK(crd_thickness_compute(&bitmap, spacing, 1 << 30, pool, &t));
        const int64_t half = (n + 1) / 2;
        CHECK(t.radii[0] == half * half << CRD_DISTANCE_SHIFT && t.voxels[0] == 36 * n);
        crd_thickness_free(&t);
        crd_bitmap_free(&bitmap);
    }
    for (int value = 0; value < 2; value++) {
        memset(voxels, value, sizeof voxels);
        make_bitmap(shape, false, &bitmap);
        CHECK_OK(crd_thickness_compute(&bitmap, spacing, 1 << 30, pool, &t));
        CHECK(t.count == 0);
        crd_bitmap_free(&bitmap);
    }
    crd_pool_free(&pool);
}

TEST_MAIN(TEST(test_against_brute_force), TEST(test_slabs), TEST(test_known))
