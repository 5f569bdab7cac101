/* Round trips over formats, types and odd shapes; every box compared with a copy in memory. */
#include "build_config.h"
#include "harness.h"
#include "volume/format.h"
#include "volume/types.h"
#include "volume/zarr/zarr.h"
#include "volume_tools.h"

static const int64_t shapes[][3] = {{1, 1, 1}, {1, 1, 7},    {1, 13, 1},  {11, 1, 1},
                                    {3, 5, 7}, {17, 19, 23}, {2, 64, 33}, {40, 3, 130}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static crd_status write_in_boxes(crd_volume *out, const int64_t shape[3], size_t size, char *voxels)
{
    /* Eight corners of the volume, in an order that no file has. */
    static const int order[8] = {5, 0, 7, 2, 1, 6, 3, 4};
    crd_status status = CRD_OK;
    char *packed = malloc((size_t)(shape[0] * shape[1] * shape[2]) * size);
    for (int corner = 0; corner < 8 && status == CRD_OK; corner++) {
        crd_box box;
        int empty = 0;
        for (int i = 0; i < 3; i++) {
            const int64_t half = shape[i] / 2;
            const int high = order[corner] >> i & 1;
            box.origin[i] = high ? half : 0;
            box.size[i] = high ? shape[i] - half : half;
            empty |= box.size[i] == 0;
        }
        if (empty) continue;
        tools_copy_box(voxels, shape, size, &box, packed, 0);
        status = crd_volume_write(out, &box, packed);
    }
    free(packed);
    return status;
}

/* Packed files take slices in rising z. */
static crd_status write_in_order(crd_volume *out, const int64_t shape[3], size_t size, const char *voxels)
{
    crd_status status = CRD_OK;
    const int64_t slice = shape[1] * shape[2];
    for (int64_t z = 0, count; z < shape[0] && status == CRD_OK; z += count) {
        count = z % 3 + 1 < shape[0] - z ? z % 3 + 1 : shape[0] - z;
        status = crd_volume_write(out, &(crd_box){{z, 0, 0}, {count, shape[1], shape[2]}},
                                  voxels + (size_t)(z * slice) * size);
    }
    return status;
}

static void round_trip(const char *suffix, crd_type type, const int64_t shape[3], const crd_volume_options *options)
{
    char name[64];
    snprintf(name, sizeof name, "trip_%s%s", suffix + 1, suffix); /* a .mhd has a .raw of its own */
    const char *path = scratch(name);
    const size_t size = crd_type_size(type);
    const int64_t count = shape[0] * shape[1] * shape[2];
    char *voxels = malloc((size_t)count * size), *packed = malloc((size_t)count * size);
    double *reals = malloc((size_t)count * sizeof *reals), *expected = malloc((size_t)count * sizeof *reals);
    crd_volume_info info = {.shape = {shape[0], shape[1], shape[2]},
                            .type = type,
                            .spacing = {3.5, 2.25, 1.0 / 3.0},
                            .unit = "micron",
                            .scale = 1.0 / 255.0,
                            .origin = {4, 5, 6}};
    crd_volume *volume = NULL;
    uint64_t state = 99;
    tools_fill(type, count, (uint64_t)(count * 8 + type), voxels);

    CHECK_OK(crd_volume_create(path, &info, options, &volume));
    if (volume->in_order || !volume->format->any_order) {
        CHECK_OK(write_in_order(volume, shape, size, voxels));
    } else {
        CHECK_OK(write_in_boxes(volume, shape, size, voxels));
    }
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK(scratch_count(".tmp.") == 0);

    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    const crd_volume_info *read = crd_volume_describe(volume);
    CHECK(memcmp(read->shape, shape, sizeof info.shape) == 0 && read->type == type);
    for (int i = 0; i < 3; i++) CHECK_NEAR(read->spacing[i], info.spacing[i], 0.0);
    CHECK(strcmp(read->unit, "um") == 0 && read->scale == info.scale && read->origin[2] == 6);
    for (int i = 0; i < 30; i++) {
        const crd_box box =
            i == 0 ? (crd_box){.size = {shape[0], shape[1], shape[2]}} : tools_random_box(shape, &state);
        const int64_t n = box.size[0] * box.size[1] * box.size[2];
        CHECK_OK(crd_volume_read(volume, &box, type, packed));
        char *wanted = malloc((size_t)n * size);
        tools_copy_box(voxels, shape, size, &box, wanted, 0);
        const int same = memcmp(packed, wanted, (size_t)n * size) == 0;
        CHECK_OK(crd_volume_read(volume, &box, CRD_F64, reals));
        crd_convert(type, wanted, 1.0, n, CRD_F64, expected);
        const int same_reals = memcmp(reals, expected, (size_t)n * sizeof *reals) == 0;
        CHECK_OK(crd_volume_read(volume, &box, CRD_F32, reals));
        crd_convert(type, wanted, 1.0, n, CRD_F32, expected);
        const int same_floats = memcmp(reals, expected, (size_t)n * sizeof(float)) == 0;
        free(wanted);
        CHECK(same);
        CHECK(same_reals);
        CHECK(same_floats);
    }
    crd_volume_close(&volume);
    if (strcmp(suffix, ".zarr") == 0) CHECK_OK(crd_zarr_remove(path));
    free(voxels);
    free(packed);
    free(reals);
    free(expected);
}

static void all_round_trips(const char *suffix, const crd_volume_options *options)
{
    const int step = sparse(3, "types");
    for (int shape = 0; shape < SHAPES; shape++) {
        for (int type = shape % step; type < CRD_TYPE_COUNT; type += step) { /* of each shape others */
            round_trip(suffix, (crd_type)type, shapes[shape], options);
            if (harness_failed) {
                printf("    with %s, %s, (%lld, %lld, %lld)\n", suffix, crd_type_name((crd_type)type),
                       (long long)shapes[shape][0], (long long)shapes[shape][1], (long long)shapes[shape][2]);
                return;
            }
        }
    }
}

static void test_raw_round_trips(void)
{
    all_round_trips(".raw", NULL);
}

static void test_raw_big_endian_round_trip(void)
{
    round_trip(".raw", CRD_U16, shapes[5], &(crd_volume_options){.type = "u16be"});
    if (!harness_failed) round_trip(".raw", CRD_F64, shapes[5], &(crd_volume_options){.type = "f64be"});
}

static void test_npy_round_trips(void)
{
    all_round_trips(".npy", NULL);
}

static void test_hdf5_round_trips(void)
{
    all_round_trips(".h5", NULL);
}

static void test_hdf5_compressed_round_trips(void)
{
    all_round_trips(".hdf5", &(crd_volume_options){.compress = 4});
}

static void test_nrrd_round_trips(void)
{
    all_round_trips(".nrrd", NULL);
    if (!harness_failed) all_round_trips(".nhdr", NULL);
}

static void test_nrrd_packed_round_trips(void)
{
    all_round_trips(".nrrd", &(crd_volume_options){.compress = 1});
    if (!harness_failed) all_round_trips(".nhdr", &(crd_volume_options){.compress = 6});
}

static void test_metaimage_round_trips(void)
{
    all_round_trips(".mha", NULL);
    if (!harness_failed) all_round_trips(".mhd", NULL);
}

static void test_metaimage_packed_round_trips(void)
{
    all_round_trips(".mha", &(crd_volume_options){.compress = 1});
    if (!harness_failed) all_round_trips(".mhd", &(crd_volume_options){.compress = 6});
}

static void test_nifti_round_trips(void)
{
#if CRD_HAVE_NIFTI
    all_round_trips(".nii", NULL);
    if (!harness_failed) all_round_trips(".nii.gz", NULL);
#else
    SKIP("built without libnifti");
#endif
}

static void test_zarr_round_trips(void)
{
    all_round_trips(".zarr", NULL);
}

static void test_zarr_packed_round_trips(void)
{
    all_round_trips(".zarr", &(crd_volume_options){.compress = 3, .levels = 2});
}

static void test_zarr3_round_trips(void)
{
    all_round_trips(".zarr", &(crd_volume_options){.format = "zarr3"});
    if (!harness_failed) all_round_trips(".zarr", &(crd_volume_options){.format = "zarr3", .compress = 3, .levels = 2});
}

static void test_ome_tiff_round_trips(void)
{
#if CRD_HAVE_TIFF
    all_round_trips(".ome.tif", NULL);
    if (!harness_failed) all_round_trips(".ome.tiff", &(crd_volume_options){.compress = 2});
#else
    SKIP("built without libtiff");
#endif
}

TEST_MAIN(TEST(test_raw_round_trips), TEST(test_raw_big_endian_round_trip), TEST(test_npy_round_trips),
          TEST(test_hdf5_round_trips), TEST(test_hdf5_compressed_round_trips), TEST(test_nrrd_round_trips),
          TEST(test_nrrd_packed_round_trips), TEST(test_metaimage_round_trips), TEST(test_metaimage_packed_round_trips),
          TEST(test_nifti_round_trips), TEST(test_zarr_round_trips), TEST(test_zarr_packed_round_trips),
          TEST(test_zarr3_round_trips), TEST(test_ome_tiff_round_trips))
