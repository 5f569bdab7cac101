/* Pieces that stand for scans: where they lie. */
#include "base/memory.h"
#include "chunk/pieces.h"
#include "harness.h"
#include "volume_tools.h"

enum { Z = 50, Y = 160, X = 160, COUNT = Z * Y * X };

/* A chequerboard of 1 and 2, and a mask of the voxels below `depth`, `height` and `width`. */
static crd_status save(const char *scan, const char *mask, int depth, int height, int width)
{
    static uint8_t voxels[COUNT], inside[COUNT];
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U8, .scale = 1.0};
    const crd_box whole = {{0, 0, 0}, {Z, Y, X}};
    crd_status status = CRD_OK;
    for (int i = 0; i < COUNT; i++) {
        const int z = i / (Y * X), y = i / X % Y, x = i % X;
        voxels[i] = (uint8_t)(1 + (z + y + x) % 2);
        inside[i] = z < depth && y < height && x < width;
    }
    for (int i = 0; i < 2 && status == CRD_OK; i++) {
        crd_volume *volume = NULL;
        status = crd_volume_create(i == 0 ? scan : mask, &info, NULL, &volume);
        if (status == CRD_OK) status = crd_volume_write(volume, &whole, i == 0 ? voxels : inside);
        if (status == CRD_OK) status = crd_volume_commit(volume);
        crd_volume_close(&volume);
    }
    return status;
}

/* The share of the pieces' voxels that are the scan's own; those outside the mask are its mean, 1.5. */
static double share_inside(const char *mask, uint64_t seed)
{
    const crd_scan_options options = {.norm = {CRD_NORM_NONE, 0, 0}, .mask = mask};
    crd_scan *scan = NULL;
    int64_t size[3], own = 0, all = 0;
    float *voxels = NULL;
    if (crd_scan_open(scratch("scan.npy"), &options, NULL, &scan) == CRD_OK && crd_pieces_size(&scan, 1, 8, size)) {
        all = CRD_PIECES_WANTED * size[0] * size[1] * size[2];
        if (crd_alloc(all, sizeof *voxels, "pieces", &voxels) != CRD_OK ||
            crd_pieces_read(&scan, 1, seed, size, voxels) != CRD_OK)
            all = 0;
    }
    for (int64_t i = 0; i < all; i++) own += voxels[i] == 1.0f || voxels[i] == 2.0f;
    crd_free(&voxels);
    crd_scan_close(&scan);
    return all > 0 ? (double)own / (double)all : -1.0;
}

/* Where they fit into the mask they lie in it; where not even one does, most of them does. */
static void test_inside_the_mask(void)
{
    CHECK_OK(save(scratch("scan.npy"), scratch("mask.npy"), 50, 130, 130));
    for (uint64_t seed = 0; seed < 3; seed++) {
        CHECK(share_inside(NULL, seed) == 1.0);
        CHECK(share_inside(scratch("mask.npy"), seed) == 1.0);
    }
    CHECK_OK(save(scratch("scan.npy"), scratch("mask.npy"), 50, 130, 48));
    for (uint64_t seed = 0; seed < 3; seed++) {
        const double share = share_inside(scratch("mask.npy"), seed);
        CHECK(share > 0.35 && share <= 0.5);
    }
}

TEST_MAIN(TEST(test_inside_the_mask))
