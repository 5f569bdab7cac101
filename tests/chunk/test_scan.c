/* A scan as the network sees it: normalisation, voxels that are no numbers, masks. */
#include <float.h>

#include "chunk/mask.h"
#include "chunk/recent_slices.h"
#include "chunk/scan.h"
#include "harness.h"
#include "volume/format.h"
#include "volume_tools.h"

enum { Z = 5, Y = 6, X = 9, COUNT = Z * Y * X };
static const int64_t shape[3] = {Z, Y, X};
static const crd_box whole = {{0, 0, 0}, {Z, Y, X}};

static crd_status save(const char *path, crd_type type, const void *voxels)
{
    crd_volume *volume = NULL;
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = type, .scale = 1.0};
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

static char last_warning[1024];
static int warnings;
static void listen(void *context, crd_level level, const char *text)
{
    (void)context;
    if (level != CRD_LEVEL_WARNING) return;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", text);
}
static const crd_monitor monitor = {.message = listen};

static void test_norm_text(void)
{
    crd_norm_setting norm, again;
    char text[64];
    CHECK_OK(crd_norm_parse("scan", &norm));
    CHECK(norm.mode == CRD_NORM_SCAN);
    CHECK_OK(crd_norm_parse("none", &norm));
    CHECK(norm.mode == CRD_NORM_NONE);
    CHECK_OK(crd_norm_parse("levels", &norm));
    CHECK(norm.mode == CRD_NORM_LEVELS);
    crd_norm_format(&norm, text, sizeof text);
    CHECK(strcmp(text, "levels") == 0);
    CHECK_OK(crd_norm_parse("0.1,3.3", &norm));
    CHECK(norm.mode == CRD_NORM_FIXED && norm.mean == 0.1 && norm.std == 3.3);
    crd_norm_format(&norm, text, sizeof text);
    CHECK_OK(crd_norm_parse(text, &again));
    CHECK(again.mean == norm.mean && again.std == norm.std);
    static const char *const bad[] = {"", "mean", "1", "1,", ",1", "1,0", "1,-2", "1,2,3", "nan,1", "scan "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(crd_norm_parse(bad[i], &norm), CRD_ERR_ARGUMENT, "normalisation");
    }
}

/* Two grey values become -1 and 1, in whatever shares they occur. */
static void test_levels(void)
{
    uint16_t voxels[COUNT];
    float seen[COUNT];
    double middle, half;
    for (int share = 2; share < 10; share++) {
        crd_scan *scan = NULL;
        for (int i = 0; i < COUNT; i++) voxels[i] = i % 10 < share ? 300 : 700;
        CHECK_OK(save(scratch("levels.npy"), CRD_U16, voxels));
        const crd_scan_options options = {.norm = {CRD_NORM_LEVELS, 0, 0}};
        CHECK_OK(crd_scan_open(scratch("levels.npy"), &options, NULL, &scan));
        crd_scan_normalisation(scan, &middle, &half);
        CHECK(middle == 500.0 && half == 200.0);
        CHECK_OK(crd_scan_read(scan, &whole, seen));
        for (int i = 0; i < COUNT; i++) CHECK(seen[i] == (i % 10 < share ? -1.0f : 1.0f));
        crd_scan_close(&scan);
    }
}

static void test_zero_mean_unit_variance(void)
{
    uint16_t voxels[COUNT];
    float seen[COUNT], part[2 * 3 * 4];
    double sum = 0.0, square = 0.0, mean, std;
    crd_scan *scan = NULL, *again = NULL;
    tools_fill(CRD_U16, COUNT, 1, voxels);
    CHECK_OK(save(scratch("scan.npy"), CRD_U16, voxels));
    const crd_scan_options options = {.norm = {CRD_NORM_SCAN, 0, 0}};
    CHECK_OK(crd_scan_open(scratch("scan.npy"), &options, NULL, &scan));
    CHECK(!crd_scan_masked(scan) && memcmp(crd_scan_info(scan)->shape, shape, sizeof shape) == 0);
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    crd_scan_normalisation(scan, &mean, &std);
    for (int i = 0; i < COUNT; i++) {
        sum += (double)seen[i];
        square += (double)seen[i] * (double)seen[i];
        CHECK_NEAR(seen[i], ((double)voxels[i] - mean) / std, 1e-6);
    }
    CHECK_NEAR(sum / COUNT, 0.0, 1e-6);
    CHECK_NEAR(square / COUNT, 1.0, 1e-6);

    /* Opened once more, a part is the same part. */
    const crd_box box = {{1, 2, 3}, {2, 3, 4}};
    float expected[2 * 3 * 4];
    tools_copy_box(seen, shape, sizeof(float), &box, expected, 0);
    CHECK_OK(crd_scan_reopen(scan, &again));
    CHECK_OK(crd_scan_read(again, &box, part));
    CHECK(memcmp(part, expected, sizeof part) == 0);
    crd_scan_close(&scan);
    crd_scan_close(&again);
}

static void test_other_normalisations(void)
{
    float voxels[COUNT], seen[COUNT];
    crd_scan *scan = NULL;
    tools_fill(CRD_F32, COUNT, 2, voxels);
    CHECK_OK(save(scratch("scan.npy"), CRD_F32, voxels));
    crd_scan_options options = {.norm = {CRD_NORM_NONE, 0, 0}};
    CHECK_OK(crd_scan_open(scratch("scan.npy"), &options, NULL, &scan));
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    CHECK(memcmp(seen, voxels, sizeof seen) == 0);
    crd_scan_close(&scan);
    options.norm = (crd_norm_setting){CRD_NORM_FIXED, 10.0, 4.0};
    CHECK_OK(crd_scan_open(scratch("scan.npy"), &options, NULL, &scan));
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    for (int i = 0; i < COUNT; i++) CHECK(seen[i] == (float)(((double)voxels[i] - 10.0) * 0.25));
    crd_scan_close(&scan);
}

static void test_not_numbers(void)
{
    float voxels[COUNT], seen[COUNT];
    double mean, std, expected = 0.0;
    crd_scan *scan = NULL;
    tools_fill(CRD_F32, COUNT, 3, voxels);
    voxels[0] = NAN;
    voxels[7] = INFINITY;
    voxels[COUNT - 1] = -INFINITY;
    for (int i = 0; i < COUNT; i++) expected += isfinite(voxels[i]) ? (double)voxels[i] / (COUNT - 3) : 0.0;
    CHECK_OK(save(scratch("scan.npy"), CRD_F32, voxels));
    crd_scan_options options = {.norm = {CRD_NORM_SCAN, 0, 0}};
    warnings = 0;
    CHECK_OK(crd_scan_open(scratch("scan.npy"), &options, &monitor, &scan));
    CHECK(warnings == 1 && strstr(last_warning, "3 voxels") != NULL);
    crd_scan_normalisation(scan, &mean, &std);
    CHECK_NEAR(mean, expected, 1e-9 * fabs(expected) + 1e-9);
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    CHECK(seen[0] == 0.0f && seen[7] == 0.0f && seen[COUNT - 1] == 0.0f && seen[1] != 0.0f);
    crd_scan_close(&scan);

    /* Without normalisation the mean of the scan stands for them. */
    options.norm.mode = CRD_NORM_NONE;
    CHECK_OK(crd_scan_open(scratch("scan.npy"), &options, &monitor, &scan));
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    CHECK_NEAR(seen[0], expected, 1e-5 * fabs(expected) + 1e-6);
    crd_scan_close(&scan);

    for (int i = 0; i < COUNT; i++) voxels[i] = NAN;
    CHECK_OK(save(scratch("scan.npy"), CRD_F32, voxels));
    CHECK_FAILS(crd_scan_open(scratch("scan.npy"), &options, &monitor, &scan), CRD_ERR_FORMAT, "finite");
    CHECK(scan == NULL);
}

static void test_constant(void)
{
    uint8_t voxels[COUNT];
    float seen[COUNT];
    crd_scan *scan = NULL;
    memset(voxels, 77, sizeof voxels);
    CHECK_OK(save(scratch("scan.npy"), CRD_U8, voxels));
    const crd_scan_options options = {.norm = {CRD_NORM_SCAN, 0, 0}};
    warnings = 0;
    CHECK_OK(crd_scan_open(scratch("scan.npy"), &options, &monitor, &scan));
    CHECK(warnings == 1 && strstr(last_warning, "constant") != NULL);
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    for (int i = 0; i < COUNT; i++) CHECK(seen[i] == 0.0f);
    crd_scan_close(&scan);
}

/* Statistics, fill and the mask itself, for a mask in a file and for the cylinder. */
static void check_mask(const char *text, const uint8_t *inside)
{
    float voxels[COUNT], seen[COUNT];
    uint8_t read[COUNT];
    double sum = 0.0, mean, std;
    int64_t count = 0;
    crd_scan *scan = NULL;
    tools_fill(CRD_F32, COUNT, 4, voxels);
    for (int i = 0; i < COUNT; i++) {
        count += inside[i];
        sum += inside[i] ? (double)voxels[i] : 0.0;
    }
    CHECK(count > 0 && count < COUNT);
    CHECK_OK(save(scratch("scan.npy"), CRD_F32, voxels));
    const crd_scan_options options = {.norm = {CRD_NORM_SCAN, 0, 0}, .mask = text};
    warnings = 0;
    CHECK_OK(crd_scan_open(scratch("scan.npy"), &options, &monitor, &scan));
    CHECK(warnings == 0 && crd_scan_masked(scan));
    CHECK(crd_scan_statistics(scan)->count == count && crd_scan_statistics(scan)->nonfinite == 0);
    crd_scan_normalisation(scan, &mean, &std);
    CHECK_NEAR(mean, sum / (double)count, 1e-9 * fabs(mean) + 1e-9);
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    CHECK_OK(crd_scan_read_mask(scan, &whole, read));
    CHECK(memcmp(read, inside, COUNT) == 0);
    for (int i = 0; i < COUNT; i++) CHECK(inside[i] ? seen[i] != 0.0f : seen[i] == 0.0f);
    crd_scan_close(&scan);
}

static void test_masks(void)
{
    uint8_t inside[COUNT];
    uint16_t marks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        inside[i] = i % 3 != 0;
        marks[i] = inside[i] ? 256 : 0; /* not to be cut to its lowest byte */
    }
    CHECK_OK(save(scratch("mask.npy"), CRD_U16, marks));
    check_mask(scratch("mask.npy"), inside);
    float holes[COUNT]; /* as programs write what isn't there */
    for (int i = 0; i < COUNT; i++) holes[i] = inside[i] ? -0.25f : (float)NAN;
    CHECK_OK(save(scratch("holes.npy"), CRD_F32, holes));
    check_mask(scratch("holes.npy"), inside);
    for (int i = 0; i < COUNT; i++) { /* the circle of diameter 6 around the middle of 6 x 9 */
        const double y = (double)(i / X % Y) + 0.5 - 3.0, x = (double)(i % X) + 0.5 - 4.5;
        inside[i] = y * y + x * x <= 9.0;
    }
    if (!harness_failed) check_mask("cylinder", inside);
}

/* Such a file is measured in its own order, a masked one slice by slice. */
static void test_mask_of_fortran_order(void)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': True, 'shape': (5, 6, 9), }";
    uint8_t inside[COUNT];
    float voxels[COUNT], reversed[COUNT], seen[2][COUNT];
    char text[118];
    const char *const path[2] = {scratch("scan.npy"), scratch("fortran.npy")};
    tools_fill(CRD_F32, COUNT, 4, voxels);
    for (int i = 0; i < COUNT; i++) {
        inside[i] = i % 3 != 0;
        reversed[i / (Y * X) + Z * (i / X % Y) + Z * Y * (i % X)] = voxels[i];
    }
    CHECK_OK(save(path[0], CRD_F32, voxels));
    CHECK_OK(save(scratch("mask.npy"), CRD_U8, inside));
    snprintf(text, sizeof text, "%-*s\n", (int)sizeof text - 2, header);
    FILE *file = fopen(path[1], "wb");
    CHECK(file != NULL && fwrite("\x93NUMPY\1\0\x75\0", 1, 10, file) == 10 && fwrite(text, 1, 117, file) == 117 &&
          fwrite(reversed, sizeof reversed, 1, file) == 1 && fclose(file) == 0);
    const crd_scan_options options = {.norm = {CRD_NORM_SCAN, 0, 0}, .mask = scratch("mask.npy")};
    for (int i = 0; i < 2; i++) {
        crd_scan *scan = NULL;
        CHECK_OK(crd_scan_open(path[i], &options, NULL, &scan));
        CHECK_OK(crd_scan_read(scan, &whole, seen[i]));
        crd_scan_close(&scan);
    }
    CHECK(memcmp(seen[0], seen[1], sizeof seen[0]) == 0);
}

/* One byte a voxel: read as what it must be. Anything else needs a word beside it. */
static void test_raw_mask(void)
{
    crd_volume *mask = NULL, *again = NULL;
    uint8_t voxels[COUNT], inside[COUNT];
    const int64_t deeper[3] = {Z + 1, Y, X};
    for (int i = 0; i < COUNT; i++) voxels[i] = (uint8_t)(i % 3);
    FILE *file = fopen(scratch("mask.raw"), "wb");
    CHECK(file != NULL && fwrite(voxels, sizeof voxels, 1, file) == 1 && fclose(file) == 0);
    CHECK_OK(crd_mask_open(scratch("mask.raw"), shape, &mask));
    CHECK_OK(crd_volume_open_again(mask, &again));
    crd_volume_close(&mask);
    CHECK_OK(crd_volume_read(again, &whole, CRD_U8, inside));
    for (int i = 0; i < COUNT; i++) CHECK(inside[i] == (voxels[i] != 0));
    crd_volume_close(&again);
    CHECK_FAILS(crd_mask_open(scratch("mask.raw"), deeper, &mask), CRD_ERR_ARGUMENT, "mask.raw.json");
}

static void test_cylinder(void)
{
    crd_volume *mask = NULL, *again = NULL;
    uint8_t inside[COUNT], part[2 * 3];
    CHECK_OK(crd_mask_open("cylinder", shape, &mask));
    CHECK_OK(crd_volume_read(mask, &whole, CRD_U8, inside));
    for (int i = 0; i < COUNT; i++) {
        const double y = i / X % Y + 0.5 - Y / 2.0, x = i % X + 0.5 - X / 2.0;
        CHECK(inside[i] == (y * y + x * x <= Y * Y / 4.0));
    }
    CHECK_OK(crd_volume_open_again(mask, &again));
    crd_volume_close(&mask);
    CHECK_OK(crd_volume_read(again, &(crd_box){{1, 0, 2}, {1, 2, 3}}, CRD_U8, part));
    for (int i = 0; i < 6; i++) CHECK(part[i] == inside[Y * X + i / 3 * X + 2 + i % 3]);
    CHECK_FAILS(crd_volume_read(again, &(crd_box){{Z, 0, 0}, {1, 1, 1}}, CRD_U8, part), CRD_ERR_ARGUMENT, "cylinder");
    crd_volume_close(&again);
}

static void test_mask_of_another_shape(void)
{
    crd_volume *mask = NULL;
    const int64_t other[3] = {Z, Y, X + 1};
    uint8_t voxels[COUNT] = {0};
    CHECK_OK(save(scratch("mask.npy"), CRD_U8, voxels));
    CHECK_FAILS(crd_mask_open(scratch("mask.npy"), other, &mask), CRD_ERR_MISMATCH, "shape");
    CHECK(mask == NULL);
    CHECK_FAILS(crd_mask_open(scratch("absent.npy"), other, &mask), CRD_ERR_SYSTEM, "absent");
}

/* A volume that counts how often each of its slices is read; voxel (z, y, x) is 100 z + 10 y + x. */
static int reads[Z];
static bool broken;

static crd_status counted_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    uint16_t *out = voxels;
    (void)volume;
    if (broken) return crd_fail(CRD_ERR_SYSTEM, "the disk is gone");
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        reads[z]++;
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            for (int64_t x = box->origin[2]; x < box->origin[2] + box->size[2]; x++) {
                *out++ = (uint16_t)(100 * z + 10 * y + x);
            }
        }
    }
    return CRD_OK;
}

static bool recent_gives(crd_recent_slices *recent, const crd_box *box)
{
    float seen[COUNT];
    int64_t i = 0;
    if (crd_recent_slices_read(recent, &(crd_normaliser){.factor = 1.0, .reach = FLT_MAX}, box, seen) != CRD_OK)
        return false;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            for (int64_t x = box->origin[2]; x < box->origin[2] + box->size[2]; x++) {
                if (seen[i++] != (float)(100 * z + 10 * y + x)) return false;
            }
        }
    }
    return true;
}

static void test_recent_slices_are_read_once(void)
{
    static const crd_format format = {.name = "counted", .read = counted_read};
    static char path[] = "counted";
    crd_volume volume = {.format = &format, .path = path, .info = {.shape = {Z, Y, X}, .type = CRD_U16, .scale = 1.0}};
    const crd_box region = {{0, 1, 2}, {3, 5, 7}};
    crd_recent_slices *recent = NULL;
    CHECK_OK(crd_recent_slices_create(&volume, &region, 3, &recent));
    CHECK(crd_recent_slices_bytes(&volume.info, &region, 3) == 3 * 5 * 7 * 2);
    memset(reads, 0, sizeof reads);
    for (int64_t z = 0; z + 3 <= Z; z++) {
        for (int64_t y = 1; y + 3 <= 6; y++) {
            for (int64_t x = 2; x + 4 <= 9; x++) CHECK(recent_gives(recent, &(crd_box){{z, y, x}, {3, 3, 4}}));
        }
    }
    for (int z = 0; z < Z; z++) CHECK(reads[z] == 1);
    CHECK(crd_recent_slices_covers(recent, &(crd_box){{1, 1, 2}, {3, 5, 7}}));
    CHECK(!crd_recent_slices_covers(recent, &(crd_box){{1, 0, 2}, {2, 3, 4}}));
    CHECK(!crd_recent_slices_covers(recent, &(crd_box){{1, 1, 6}, {2, 3, 4}}));
    CHECK(!crd_recent_slices_covers(recent, &(crd_box){{0, 1, 2}, {5, 3, 4}}));
    /* A failure is passed on, and leaves nothing wrong behind. */
    broken = true;
    CHECK(!recent_gives(recent, &(crd_box){{0, 1, 2}, {3, 3, 4}}));
    broken = false;
    CHECK(recent_gives(recent, &(crd_box){{0, 1, 2}, {3, 3, 4}}));
    crd_recent_slices_free(&recent);
}

/* Value i of a type's own kind as a double, and in place. */
static double put(crd_type type, int i, void *voxels)
{
    const double values[] = {0.0,          1.0,      -1.0,    127.0,      -128.0,       255.0,
                             32767.0,      -32768.0, 65535.0, 16777217.0, 4294967295.0, -2147483648.0,
                             2147483647.0, 0.1,      1e39,    -1e300,     (double)NAN,  (double)INFINITY};
    const double low[] = {0, -128, 0, -32768, 0, -2147483648.0, [CRD_U64] = 0},
                 high[] = {255, 127, 65535, 32767, 4294967295.0, 2147483647.0, [CRD_U64] = 0x1p50};
    double v = values[i % (int)(sizeof values / sizeof values[0])];
    if (type <= CRD_I32 || type == CRD_U64)
        v = v >= low[type] ? (v <= high[type] ? (double)(int64_t)v : high[type]) : low[type];
    switch (type) {
    case CRD_U8:
        ((uint8_t *)voxels)[i] = (uint8_t)v;
        break;
    case CRD_I8:
        ((int8_t *)voxels)[i] = (int8_t)v;
        break;
    case CRD_U16:
        ((uint16_t *)voxels)[i] = (uint16_t)v;
        break;
    case CRD_I16:
        ((int16_t *)voxels)[i] = (int16_t)v;
        break;
    case CRD_U32:
        ((uint32_t *)voxels)[i] = (uint32_t)v;
        break;
    case CRD_I32:
        ((int32_t *)voxels)[i] = (int32_t)v;
        break;
    case CRD_F32:
        ((float *)voxels)[i] = (float)v;
        break;
    case CRD_U64:
        ((uint64_t *)voxels)[i] = (uint64_t)v;
        break;
    default:
        ((double *)voxels)[i] = v;
        break;
    }
    return v;
}

/* Every instruction set that this machine has, every type and many lengths give the definition's bits. */
static void test_normalising(void)
{
    enum { MOST = 150 };
    const crd_normaliser n = {.mean = 1234.5678, .factor = 1.0 / 0.37, .fill = -7.0f, .reach = 2500.0f};
    double room[MOST], values[MOST];
    float seen[MOST];
    for (int type = 0; type < CRD_TYPE_COUNT; type++) {
        for (int i = 0; i < MOST; i++) values[i] = put((crd_type)type, i, room);
        for (int path = 0; path < CRD_CPU_PATH_COUNT; path++) {
            if (!have_cpu(path)) continue;
            for (int count = 1; count <= MOST; count += 7) {
                crd_normalise_loops[path](&n, (crd_type)type, room, count, seen);
                for (int i = 0; i < count; i++) {
                    const float expected = (float)(((double)(float)values[i] - n.mean) * n.factor);
                    const float moved = fmaxf(-n.reach, fminf(n.reach, expected));
                    const bool finite = type == CRD_F32 ? isfinite((float)values[i]) : isfinite(values[i]);
                    CHECK(seen[i] == (finite ? moved : n.fill));
                }
            }
        }
        crd_normalise(&n, (crd_type)type, room, 3, seen);
        CHECK(seen[2] == fmaxf(-n.reach, (float)(((double)(float)values[2] - n.mean) * n.factor)));
    }
}

/* A voxel that is finite stays what it is as far as the network may see it, however far out it lies; only what is no
 * number becomes the mean. */
static void test_outliers(void)
{
    static const double far[] = {1e30, -1e30, 3e38, -3e38};
    static const crd_norm_setting norms[] = {{CRD_NORM_LEVELS, 0, 0}, {CRD_NORM_FIXED, 10.0, 1e-3}};
    float voxels[COUNT], seen[COUNT];
    for (int n = 0; n < 2; n++) {
        crd_scan *scan = NULL;
        const crd_scan_options options = {.norm = norms[n]};
        for (int i = 0; i < COUNT; i++) voxels[i] = i % 2 == 0 ? 10.0f : 20.0f;
        for (int i = 0; i < 4; i++) voxels[i] = (float)far[i];
        voxels[4] = HUGE_VALF;
        voxels[5] = -HUGE_VALF;
        voxels[6] = NAN;
        CHECK_OK(save(scratch("far.npy"), CRD_F32, voxels));
        CHECK_OK(crd_scan_open(scratch("far.npy"), &options, NULL, &scan));
        CHECK(crd_scan_statistics(scan)->nonfinite == 3);
        CHECK_OK(crd_scan_read(scan, &whole, seen));
        const float reach = n == 0 ? (float)CRD_LEVELS_REACH : FLT_MAX;
        const bool held = n == 1; /* 1e33 is a float, 3e41 isn't */
        CHECK(held ? fabsf(seen[0] / 1e33f - 1.0f) < 1e-6f && seen[1] == -seen[0] : seen[0] == reach);
        CHECK(held || seen[1] == -reach);
        CHECK(seen[2] == reach && seen[3] == -reach);
        CHECK(seen[4] == seen[6] && seen[5] == seen[6] && isfinite(seen[6]) && fabsf(seen[6]) < reach);
        CHECK_NEAR(seen[8], n == 0 ? -1.0 : 0.0, 0.05);
        crd_scan_close(&scan);
    }
    /* More than a float can hold is no less finite. */
    double wide[COUNT];
    crd_scan *scan = NULL;
    const crd_scan_options options = {.norm = norms[0]};
    for (int i = 0; i < COUNT; i++) wide[i] = i % 2 == 0 ? 10.0 : 20.0;
    wide[0] = 1e300;
    wide[1] = -1e300;
    CHECK_OK(save(scratch("far.npy"), CRD_F64, wide));
    CHECK_OK(crd_scan_open(scratch("far.npy"), &options, NULL, &scan));
    CHECK_OK(crd_scan_read(scan, &whole, seen));
    CHECK(seen[0] == CRD_LEVELS_REACH && seen[1] == -CRD_LEVELS_REACH);
    crd_scan_close(&scan);
}

/* A scan that is measured later, or not at all where nothing depends on it, gives the same floats; one pass finds the
 * fingerprint, too. */
static void test_measured_later(void)
{
    static const char *const norms[] = {"scan", "levels", "none", "100,20"}, *const masks[] = {NULL, "cylinder"};
    static const crd_type types[] = {CRD_U16, CRD_F32};
    double room[COUNT];
    float expected[COUNT], seen[COUNT];
    for (int n = 0; n < 4; n++) {
        for (int t = 0; t < 2; t++) {
            for (int m = 0; m < 2; m++) {
                crd_scan *scan = NULL;
                crd_volume_statistics found;
                char in_pass[CRD_SHA256_TEXT], alone[CRD_SHA256_TEXT];
                crd_scan_options options = {.mask = masks[m]};
                tools_fill(types[t], COUNT, 7, room);
                if (types[t] == CRD_F32) ((float *)room)[40] = NAN;
                CHECK_OK(crd_norm_parse(norms[n], &options.norm));
                CHECK_OK(save(scratch("later.npy"), types[t], room));
                CHECK_OK(crd_scan_open(scratch("later.npy"), &options, NULL, &scan));
                CHECK_OK(crd_scan_read(scan, &whole, expected));
                crd_scan_close(&scan);
                options.unmeasured = true;
                CHECK_OK(crd_scan_open(scratch("later.npy"), &options, NULL, &scan));
                CHECK(crd_scan_statistics(scan)->count == 0);
                CHECK(crd_scan_needs_statistics(scan) == (n < 2 || types[t] == CRD_F32 || m == 1));
                if (!crd_scan_needs_statistics(scan)) {
                    CHECK_OK(crd_scan_settle(scan, NULL, NULL));
                    CHECK_OK(crd_scan_read(scan, &whole, seen));
                    CHECK(memcmp(seen, expected, sizeof seen) == 0);
                }
                CHECK_OK(crd_scan_measure(scan, NULL, &found, in_pass));
                CHECK_OK(crd_scan_fingerprint(scan, "hashing", NULL, alone));
                CHECK(strcmp(in_pass, m == 0 ? alone : "") == 0);
                CHECK_OK(crd_scan_settle(scan, &found, NULL));
                CHECK_OK(crd_scan_read(scan, &whole, seen));
                CHECK(memcmp(seen, expected, sizeof seen) == 0);
                crd_scan_close(&scan);
            }
        }
    }
}

/* Beyond its far ends a scan goes on as numpy's "reflect" has it; a grain of dust counts as far as the reach. */
static void test_extended(void)
{
    uint16_t voxels[COUNT];
    crd_scan *scan = NULL, *again = NULL;
    const int64_t extent[3] = {8, 8, 16};
    const crd_box box = {{1, 2, 3}, {7, 6, 13}};
    float plain[COUNT], seen[7 * 6 * 13], twice[7 * 6 * 13];
    uint8_t inside[7 * 6 * 13];
    for (int i = 0; i < COUNT; i++) voxels[i] = (uint16_t)(1000 + (i * 37) % 100 + (i % 2) * 1000);
    voxels[5] = 65535;
    CHECK_OK(save(scratch("ends.npy"), CRD_U16, voxels));
    const crd_scan_options options = {.norm = {CRD_NORM_LEVELS, 0, 0}, .mask = "cylinder"};
    CHECK_OK(crd_scan_open(scratch("ends.npy"), &options, NULL, &scan));
    CHECK_OK(crd_scan_read(scan, &whole, plain));
    CHECK_OK(crd_scan_extend(scan, extent));
    CHECK(memcmp(crd_scan_info(scan)->shape, shape, sizeof shape) == 0);
    CHECK_OK(crd_scan_read(scan, &box, seen));
    CHECK_OK(crd_scan_read_mask(scan, &box, inside));
    CHECK_OK(crd_scan_reopen(scan, &again));
    CHECK_OK(crd_scan_keep(again, &(crd_box){{0, 0, 0}, {8, 8, 16}}, 8));
    CHECK_OK(crd_scan_read(again, &box, twice));
    CHECK(memcmp(seen, twice, sizeof seen) == 0);
    for (int i = 0; i < 7 * 6 * 13; i++) {
        const int64_t place[3] = {1 + i / (6 * 13), 2 + i / 13 % 6, 3 + i % 13};
        int64_t from[3];
        for (int axis = 0; axis < 3; axis++) {
            from[axis] = place[axis] < shape[axis] ? place[axis] : 2 * (shape[axis] - 1) - place[axis];
        }
        CHECK(seen[i] == plain[(from[0] * Y + from[1]) * X + from[2]]);
    }
    crd_scan_close(&again);
    crd_scan_close(&scan);
    const crd_scan_options unmasked = {.norm = {CRD_NORM_LEVELS, 0, 0}};
    CHECK_OK(crd_scan_open(scratch("ends.npy"), &unmasked, NULL, &scan));
    CHECK_OK(crd_scan_read(scan, &whole, plain));
    CHECK(plain[5] == (float)CRD_LEVELS_REACH && fabsf(plain[6]) < 2.0f);
    crd_scan_close(&scan);
}

TEST_MAIN(TEST(test_norm_text), TEST(test_levels), TEST(test_extended), TEST(test_normalising), TEST(test_outliers),
          TEST(test_measured_later), TEST(test_zero_mean_unit_variance), TEST(test_other_normalisations),
          TEST(test_not_numbers), TEST(test_constant), TEST(test_masks), TEST(test_mask_of_fortran_order),
          TEST(test_raw_mask), TEST(test_cylinder), TEST(test_mask_of_another_shape),
          TEST(test_recent_slices_are_read_once))
