/* Volumes that grow by boxes under a passing name: every format that can, against the same volume written at once. */
#include "base/file.h"
#include "base/memory.h"
#include "harness.h"
#include "volume/format.h"
#include "volume/range.h"
#include "volume/zarr/zarr.h"
#include "volume_tools.h"

enum { Z = 37, Y = 45, X = 150, VOXELS = Z * Y * X };

typedef struct kind {
    const char *format, *suffix;
    const char *voxels; /* of a header that stands apart: the suffix of their file */
} kind;

static const kind kinds[] = {{"tiff", ".tif", NULL},      {"tiff", ".ome.tif", NULL},    {"npy", ".npy", NULL},
                             {"raw", ".raw", NULL},       {"nrrd", ".nrrd", NULL},       {"nrrd", ".nhdr", ".raw"},
                             {"metaimage", ".mha", NULL}, {"metaimage", ".mhd", ".raw"}, {"nifti", ".nii", NULL}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool built(const kind *k)
{
    char suffix[CRD_SUFFIX_BYTES];
    const crd_format *format = crd_format_meant(k->format, suffix);
    if (format->create != NULL) return true;
    skip_part(k->format, "this build can't write it");
    return false;
}

static const char *named(const char *stem, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", stem, suffix);
    return scratch(name);
}

static bool same_files(const char *a, const char *b)
{
    char *one = NULL, *other = NULL;
    size_t bytes = 0, others = 0;
    const bool read = crd_read_file(a, (size_t)1 << 26, &one, &bytes) == CRD_OK &&
                      crd_read_file(b, (size_t)1 << 26, &other, &others) == CRD_OK;
    const bool same = read && bytes == others && memcmp(one, other, bytes) == 0;
    crd_free(&one);
    crd_free(&other);
    return same;
}

static crd_volume_info info_of(crd_type type)
{
    return (crd_volume_info){.shape = {Z, Y, X},
                             .type = type,
                             .spacing = {0.5, 0.25, 0.25},
                             .unit = "um",
                             .origin = {1, 2, 3},
                             .scale = 1.0};
}

static crd_status write_at_once(const char *path, const kind *k, const crd_volume_info *info, const void *voxels)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_box whole = {{0, 0, 0}, {Z, Y, X}};
    CRD_TRY(crd_volume_create(path, info, &(crd_volume_options){.format = k->format}, &volume));
    CRD_TRY(crd_volume_write(volume, &whole, voxels));
    CRD_TRY(crd_volume_commit(volume));
done:
    crd_volume_close(&volume);
    return status;
}

/* Box `number` of 2 x 3 x 3 that cover the volume. */
static crd_box part(int number)
{
    static const int64_t edges[3][4] = {{0, 19, Z, Z}, {0, 7, 31, Y}, {0, 64, 65, X}};
    const int at[3] = {number / 9, number / 3 % 3, number % 3};
    crd_box box;
    for (int axis = 0; axis < 3; axis++) {
        box.origin[axis] = edges[axis][at[axis]];
        box.size[axis] = edges[axis][at[axis] + 1] - box.origin[axis];
    }
    return box;
}

enum { PARTS = 18 };

/* Writes parts first, first + step, ... and leaves the volume as it is, on the disk. */
static crd_status write_parts(const char *path, const char *staged, const kind *k, const crd_volume_info *info,
                              int first, void *voxels)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    char *packed = NULL;
    const size_t size = crd_type_size(info->type);
    CRD_TRY(crd_alloc(VOXELS, size, "a part", &packed));
    CRD_TRY(crd_volume_stage(path, staged, info, k->format, &volume));
    for (int i = first; i < PARTS; i += 2) {
        const crd_box box = part((7 * i + 3) % PARTS); /* in no order */
        tools_copy_box(voxels, info->shape, size, &box, packed, 0);
        CRD_TRY(crd_volume_write(volume, &box, packed));
    }
    CRD_TRY(crd_volume_sync(volume));
done:
    crd_volume_close(&volume);
    crd_free(&packed);
    return status;
}

static crd_status commit(const char *path, const char *staged, const kind *k, const crd_volume_info *info,
                         const void *voxels)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    double low = INFINITY, high = -INFINITY;
    crd_voxel_range(info->type, voxels, VOXELS, &low, &high);
    CRD_TRY(crd_volume_stage(path, staged, info, k->format, &volume));
    crd_volume_set_range(volume, low, high);
    CRD_TRY(crd_volume_commit(volume));
done:
    crd_volume_close(&volume);
    return status;
}

/* Boxes in no order, over two openings, give the bytes of one write; and a commit that was interrupted can be taken
 * back and done again. */
static void test_boxes(void)
{
    static const crd_type types[] = {CRD_F32, CRD_U8, CRD_U16};
    static double voxels[VOXELS];
    for (int i = 0; i < KINDS * 3; i++) {
        const kind *k = &kinds[i / 3];
        const crd_volume_info info = info_of(types[i % 3]);
        const char *whole = named("whole", k->suffix), *path = named("grown", k->suffix);
        const char *staged = named("staged", k->suffix);
        bool there = true;
        if (!built(k)) continue;
        CHECK(crd_format_stages(k->format, k->suffix));
        tools_fill(info.type, VOXELS, (uint64_t)i, voxels);
        CHECK_OK(crd_volume_restage(path, staged, k->format, &there));
        CHECK(!there);
        CHECK_OK(write_at_once(whole, k, &info, voxels));
        CHECK_OK(write_parts(path, staged, k, &info, 0, voxels));
        CHECK_OK(write_parts(path, staged, k, &info, 1, voxels));
        CHECK(access(path, F_OK) != 0);
        for (int again = 0; again < 2; again++) {
            CHECK_OK(commit(path, staged, k, &info, voxels));
            if (k->voxels == NULL) {
                CHECK(same_files(whole, path));
            } else { /* the header names its voxels' file */
                CHECK(same_files(named("whole", k->voxels), named("grown", k->voxels)));
            }
            if (again == 1) break;
            if (k->voxels != NULL) CHECK(unlink(path) == 0); /* as far as the first of two files */
            CHECK_OK(crd_volume_restage(path, staged, k->format, &there));
            CHECK(there);
        }
        CHECK_OK(crd_volume_remove(whole));
        CHECK_OK(crd_volume_remove(path));
        CHECK(scratch_count("staged") == 0);
    }
}

static void stage_zarr(const char *format)
{
    /* What a writer that was killed leaves, and a file that is somebody else's. */
    static const char *const left[] = {"..zattrs.tmp.12.3", "0/..zarray.tmp.12.4", "notes.txt"};
    char places[3][1200];
    static float voxels[VOXELS], read[VOXELS];
    const kind k = {format, ".zarr", NULL};
    const crd_volume_info info = info_of(CRD_F32);
    const char *path = scratch("grown.zarr"), *staged = scratch("staged.zarr");
    crd_volume *volume = NULL;
    bool there;
    CHECK(crd_format_stages(format, ".zarr"));
    tools_fill(CRD_F32, VOXELS, 5, voxels);
    CHECK_OK(crd_volume_restage(path, staged, format, &there));
    CHECK(!there);
    CHECK_OK(write_parts(path, staged, &k, &info, 0, voxels));
    CHECK_OK(crd_volume_restage(path, staged, format, &there));
    CHECK(there && access(staged, F_OK) != 0); /* it grows under its own name */
    CHECK_OK(write_parts(path, staged, &k, &info, 1, voxels));
    for (int i = 0; i < 3; i++) {
        snprintf(places[i], sizeof places[i], "%s/%s", path, left[i]);
        CHECK_OK(crd_write_file(places[i], "{}", 2));
    }
    CHECK_OK(commit(path, staged, &k, &info, voxels));
    for (int i = 0; i < 3; i++) CHECK((access(places[i], F_OK) == 0) == (i == 2));
    CHECK(unlink(places[2]) == 0);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    CHECK_OK(crd_volume_read(volume, &(crd_box){{0, 0, 0}, {Z, Y, X}}, CRD_F32, read));
    crd_volume_close(&volume);
    CHECK(memcmp(voxels, read, sizeof voxels) == 0);
    CHECK_OK(crd_zarr_remove(path));
}

static void test_zarr(void)
{
    stage_zarr("zarr");
    stage_zarr("zarr3");
}

/* One plain array in place of chunks, so other bytes than those of one write: the voxels and what describes them, and
 * the same bytes over two openings as over one. */
static void test_hdf5(void)
{
    static const crd_type types[] = {CRD_F32, CRD_U8, CRD_U64};
    static double voxels[VOXELS], read[VOXELS];
    const kind k = {"hdf5", ".h5", NULL};
    const char *path = scratch("grown.h5"), *staged = scratch("staged.h5"), *other = scratch("other.h5");
    CHECK(crd_format_stages(k.format, k.suffix));
    for (int i = 0; i < 3; i++) {
        const crd_volume_info info = info_of(types[i]);
        const crd_volume_info *told;
        crd_volume *volume = NULL;
        bool there = true;
        tools_fill(info.type, VOXELS, (uint64_t)i, voxels);
        CHECK_OK(write_parts(path, staged, &k, &info, 0, voxels));
        CHECK(access(path, F_OK) != 0);
        CHECK_OK(write_parts(path, staged, &k, &info, 1, voxels));
        CHECK_OK(commit(path, staged, &k, &info, voxels));
        CHECK_OK(crd_volume_restage(path, staged, k.format, &there));
        CHECK(there && access(path, F_OK) != 0);
        CHECK_OK(commit(path, staged, &k, &info, voxels));
        CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
        told = crd_volume_describe(volume);
        CHECK(told->type == info.type && memcmp(told->spacing, info.spacing, sizeof info.spacing) == 0);
        CHECK(strcmp(told->unit, info.unit) == 0 && memcmp(told->origin, info.origin, sizeof info.origin) == 0);
        CHECK_OK(crd_volume_read(volume, &(crd_box){{0, 0, 0}, {Z, Y, X}}, info.type, read));
        crd_volume_close(&volume);
        CHECK(memcmp(voxels, read, VOXELS * crd_type_size(info.type)) == 0);
        CHECK_OK(crd_volume_stage(other, staged, &info, k.format, &volume));
        CHECK_OK(crd_volume_write(volume, &(crd_box){{0, 0, 0}, {Z, Y, X}}, voxels));
        CHECK_OK(crd_volume_commit(volume));
        crd_volume_close(&volume);
        CHECK(same_files(path, other));
        CHECK_OK(crd_volume_remove(path));
        CHECK_OK(crd_volume_remove(other));
        CHECK(scratch_count("staged") == 0);
    }
}

/* What is packed in one piece. */
static void test_others(void)
{
    CHECK(!crd_format_stages("nifti", ".nii.gz"));
    CHECK(!crd_format_stages("none of these", ".tif"));
}

static void test_range(void)
{
    const float values[] = {0.25f, -0.0f, NAN, 7.5f, INFINITY, -2.0f};
    const int16_t whole[] = {3, -4, 9};
    double low = INFINITY, high = -INFINITY;
    crd_voxel_range(CRD_F32, values, 4, &low, &high);
    CHECK(low == 0.0 && !signbit(low) && high == 7.5);
    crd_voxel_range(CRD_F32, values + 4, 2, &low, &high);
    CHECK(low == -2.0 && high == 7.5);
    crd_voxel_range(CRD_I16, whole, 3, &low, &high);
    CHECK(low == -4.0 && high == 9.0);
    low = INFINITY;
    high = -INFINITY;
    crd_voxel_range(CRD_F32, values + 2, 1, &low, &high);
    CHECK(low > high); /* nothing finite */
}

TEST_MAIN(TEST(test_boxes), TEST(test_zarr), TEST(test_hdf5), TEST(test_others), TEST(test_range))
