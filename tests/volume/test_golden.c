/* Files that earlier versions wrote, one of every format and version: read for ever. tests/data/make_golden.sh says
 * what they hold. */
#include "build_config.h"
#include "harness.h"
#include "volume_tools.h"

static const char *golden(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/golden/%s", getenv("CREDENCE_TEST_DATA"), name);
    return path;
}

static void check_volume(const char *name)
{
    crd_volume *volume = NULL;
    uint16_t voxels[24];
    CHECK_OK(crd_volume_open(golden(name), NULL, NULL, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    CHECK(info->shape[0] == 2 && info->shape[1] == 3 && info->shape[2] == 4 && info->type == CRD_U16);
    CHECK(info->spacing[0] == 2.0 && info->spacing[1] == 0.65 && info->spacing[2] == 0.5);
    CHECK(strcmp(info->unit, "um") == 0 && info->scale == 1.0 / 255.0);
    CHECK(info->origin[0] == 4 && info->origin[1] == 5 && info->origin[2] == 6);
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U16, voxels));
    for (int i = 0; i < 24; i++) CHECK(voxels[i] == 7 * i + 1);
    crd_volume_close(&volume);
}

static void check_all(const char *const *names)
{
    for (; *names != NULL; names++) {
        check_volume(*names);
        if (harness_failed) {
            printf("    in %s\n", *names);
            return;
        }
    }
}

static void test_without_libraries(void)
{
    static const char *const names[] = {
        "plain.h5",     "packed.h5",           "volume.npy",   "volume.raw",           "attached.nrrd",
        "packed.nrrd",  "detached.nhdr",       "attached.mha", "packed_detached.nhdr", "packed.mha",
        "separate.mhd", "packed_separate.mhd", "raw.zarr",     "raw.zarr/0",           NULL};
    check_all(names);
}

static void test_tiff(void)
{
    static const char *const names[] = {"classic.tif", "deflate.tif", "ome.ome.tif", NULL};
    if (!CRD_HAVE_TIFF) SKIP("built without libtiff");
    check_all(names);
}

static void test_nifti(void)
{
    static const char *const names[] = {"nifti1.nii", "nifti1.nii.gz", NULL};
    crd_volume *volume = NULL;
    static uint8_t voxels[32768];
    if (!CRD_HAVE_NIFTI) SKIP("built without libnifti");
    check_all(names);
    if (harness_failed) return;
    CHECK_OK(crd_volume_open(golden("nifti2.nii.gz"), NULL, NULL, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    CHECK(info->shape[0] == 1 && info->shape[2] == 32768 && info->spacing[1] == 0.65 && strcmp(info->unit, "um") == 0);
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {1, 1, 32768}}, CRD_U8, voxels));
    for (int i = 0; i < 32768; i++) CHECK(voxels[i] == i % 251);
    crd_volume_close(&volume);
}

static void test_zarr_levels_and_blosc(void)
{
    static const char *const names[] = {"packed.zarr", NULL};
    crd_volume *volume = NULL;
    uint16_t voxels[4];
    CHECK_OK(crd_volume_open(golden("raw.zarr/1"), NULL, NULL, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    CHECK(info->shape[0] == 1 && info->shape[1] == 2 && info->shape[2] == 2);
    CHECK(info->spacing[0] == 4.0 && info->spacing[1] == 1.3 && info->spacing[2] == 1.0 && info->scale == 1.0 / 255.0);
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {1, 2, 2}}, CRD_U16, voxels));
    /* means of 7 * (12 z + 4 y + x) + 1; of two rows, then of one */
    CHECK(voxels[0] == 60 && voxels[1] == 74 && voxels[2] == 102 && voxels[3] == 116);
    crd_volume_close(&volume);
    if (!CRD_HAVE_BLOSC) SKIP("built without c-blosc");
    check_all(names);
}

TEST_MAIN(TEST(test_without_libraries), TEST(test_tiff), TEST(test_nifti), TEST(test_zarr_levels_and_blosc))
