/* TIFF volumes that we write: read back by us and by libtiff. */
#include <signal.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "harness.h"
#include "tiff_tools.h"
#include "volume/tiff/tiff.h"

/* Writes in pieces of `step` slices. */
static crd_status write_volume(const char *path, const crd_volume_info *info, int compress, int64_t step,
                               const void *voxels)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_volume_options options = {.compress = compress};
    const int64_t slice = info->shape[1] * info->shape[2] * (int64_t)crd_type_size(info->type);
    CRD_TRY(crd_volume_create(path, info, &options, &volume));
    for (int64_t z = 0; z < info->shape[0]; z += step) {
        const crd_box box = {
            .origin = {z, 0, 0},
            .size = {info->shape[0] - z < step ? info->shape[0] - z : step, info->shape[1], info->shape[2]}};
        CRD_TRY(crd_volume_write(volume, &box, (const char *)voxels + z * slice));
    }
    CRD_TRY(crd_volume_commit(volume));
done:
    crd_volume_close(&volume);
    return status;
}

static bool libtiff_agrees(const char *path, const crd_volume_info *info, const unsigned char *voxels)
{
    const int64_t slice = info->shape[1] * info->shape[2] * (int64_t)crd_type_size(info->type);
    unsigned char *page = malloc((size_t)slice);
    TIFF *t = TIFFOpen(path, "r");
    bool good = t != NULL;
    for (int64_t z = 0; good && z < info->shape[0]; z++) {
        int64_t at = 0;
        for (uint32_t i = 0; good && i < TIFFNumberOfStrips(t); i++) {
            const tmsize_t got = TIFFReadEncodedStrip(t, i, page + at, slice - at);
            good = got > 0;
            at += got;
        }
        good = good && at == slice && memcmp(page, voxels + z * slice, (size_t)slice) == 0;
        good = good && (TIFFReadDirectory(t) != 0) == (z + 1 < info->shape[0]);
    }
    if (t != NULL) TIFFClose(t);
    free(page);
    return good;
}

static bool same_file(const char *a, const char *b)
{
    FILE *p = fopen(a, "rb"), *q = fopen(b, "rb");
    bool same = p != NULL && q != NULL;
    for (int c = 0; same && c != EOF;) {
        c = fgetc(p);
        same = c == fgetc(q);
    }
    if (p != NULL) fclose(p);
    if (q != NULL) fclose(q);
    return same;
}

static void test_round_trips(void)
{
    static const int64_t shapes[][3] = {{1, 1, 1}, {1, 5, 7}, {3, 1, 9}, {4, 6, 1}, {5, 17, 33}, {19, 8, 65}};
    static double voxels[19 * 8 * 65];
    for (int type = 0; type < CRD_TYPE_COUNT; type++) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            for (int compress = 0; compress <= 6; compress += 6) {
                crd_volume_info info = {.type = (crd_type)type,
                                        .spacing = {2.5, 0.65, 0.325},
                                        .unit = "um",
                                        .origin = {-3, 0, 1000000},
                                        .scale = 1.0 / 255.0};
                memcpy(info.shape, shapes[i], sizeof info.shape);
                const int64_t count = info.shape[0] * info.shape[1] * info.shape[2];
                tools_fill(info.type, count, (uint64_t)type + i, voxels);
                const char *path = scratch("round.tif"), *again = scratch("again.tif");
                CHECK_OK(write_volume(path, &info, compress, 1 + (int64_t)i, voxels));
                crd_volume *volume = NULL;
                CHECK_OK(tools_open(path, &volume));
                const crd_volume_info *read = crd_volume_describe(volume);
                CHECK(memcmp(read->shape, info.shape, sizeof info.shape) == 0 && read->type == info.type);
                CHECK(memcmp(read->spacing, info.spacing, sizeof info.spacing) == 0);
                CHECK(memcmp(read->origin, info.origin, sizeof info.origin) == 0);
                CHECK(read->scale == info.scale && strcmp(read->unit, "um") == 0 && strcmp(read->format, "tiff") == 0);
                CHECK(strstr(tools_said, "warning") == NULL);
                CHECK(tools_same(volume, voxels, 20, i));
                crd_volume_close(&volume);
                CHECK(libtiff_agrees(path, &info, (unsigned char *)voxels));
                CHECK_OK(write_volume(again, &info, compress, 100, voxels));
                CHECK(same_file(path, again));
            }
        }
    }
    CHECK(scratch_count("tmp") == 0);
}

static void test_spacing_comes_back_exactly(void)
{
    static const struct row {
        double spacing[3];
        const char *unit, *back;
    } rows[] = {
        {{0, 0, 0}, "", ""},
        {{1, 1, 1}, "", ""},
        {{1, 1, 1}, "mm", "mm"},
        {{2, 1, 1}, "", ""},
        {{0.1, 0.2, 0.3}, "micron", "um"},
        {{1.0 / 3.0, 3.141592653589793, 2.718281828459045}, "nm", "nm"},
        {{5e-7, 5e-7, 5e-7}, "m", "m"},
        {{1e-30, 1e30, 1e-12}, "m", "m"},
        {{0.35277777777777775, 0.35277777777777775, 0.35277777777777775}, "mm", "mm"},
        {{1.0 / 72.0, 1.0 / 72.0, 1.0 / 72.0}, "inch", "inch"},
    };
    static unsigned char voxels[2 * 3 * 4];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        crd_volume_info info = {.shape = {2, 3, 4}, .type = CRD_U8, .scale = 1.0};
        memcpy(info.spacing, rows[i].spacing, sizeof info.spacing);
        snprintf(info.unit, sizeof info.unit, "%s", rows[i].unit);
        CHECK_OK(write_volume(scratch("spacing.tif"), &info, 0, 1, voxels));
        crd_volume *volume = NULL;
        CHECK_OK(tools_open(scratch("spacing.tif"), &volume));
        const crd_volume_info *read = crd_volume_describe(volume);
        CHECK(memcmp(read->spacing, info.spacing, sizeof info.spacing) == 0);
        CHECK(strcmp(read->unit, rows[i].back) == 0);
        crd_volume_close(&volume);
    }
}

/* The description of the first page; static storage. */
static const char *description_of(const char *path)
{
    static char text[2048];
    char *found = NULL;
    TIFF *t = TIFFOpen(path, "r");
    text[0] = '\0';
    if (t != NULL && TIFFGetField(t, TIFFTAG_IMAGEDESCRIPTION, &found)) snprintf(text, sizeof text, "%s", found);
    if (t != NULL) TIFFClose(t);
    return text;
}

static void test_imagej_finds_its_lines(void)
{
    const crd_volume_info info = {
        .shape = {2, 2, 2}, .type = CRD_F32, .spacing = {0.5, 0.25, 0.25}, .unit = "um", .scale = 1.0};
    const float voxels[8] = {NAN, -1.5f, 0.25f, INFINITY, 7.0f, -INFINITY, 2.0f, -0.0f};
    CHECK_OK(write_volume(scratch("lines.tif"), &info, 0, 1, voxels));
    CHECK(strcmp(description_of(scratch("lines.tif")), "ImageJ=1.53t\nimages=2\nslices=2\nunit=micron\nspacing=0.5\n"
                                                       "loop=false\nmin=-1.5\nmax=7\n") == 0);
    const float nothing[8] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    CHECK_OK(write_volume(scratch("lines.tif"), &info, 0, 1, nothing));
    CHECK(strstr(description_of(scratch("lines.tif")), "min=") == NULL);
    const float zeros[8] = {0.0f, -0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    CHECK_OK(write_volume(scratch("lines.tif"), &info, 0, 1, zeros));
    CHECK(strstr(description_of(scratch("lines.tif")), "min=0\nmax=0\n") != NULL); /* not -0, in any order of slices */
    /* ImageJ ignores the pages behind the first one: the slices must follow each other without a gap. */
    TIFF *t = TIFFOpen(scratch("lines.tif"), "r");
    CHECK(t != NULL);
    const uint64_t first = TIFFGetStrileOffset(t, 0);
    CHECK(TIFFReadDirectory(t));
    CHECK(TIFFGetStrileOffset(t, 0) == first + 16);
    TIFFClose(t);
}

static void test_large_pages_have_strips(void)
{
    const crd_volume_info info = {.shape = {1, 9001, 8000}, .type = CRD_U8, .scale = 1.0};
    unsigned char *voxels = malloc(9001 * 8000);
    CHECK(voxels != NULL);
    for (size_t i = 0; i < 9001 * 8000; i++) voxels[i] = (unsigned char)(i % 251);
    CHECK_OK(write_volume(scratch("large.tif"), &info, 0, 1, voxels));
    CHECK(libtiff_agrees(scratch("large.tif"), &info, voxels));
    TIFF *t = TIFFOpen(scratch("large.tif"), "r");
    CHECK(t != NULL);
    CHECK(TIFFNumberOfStrips(t) == 9);
    TIFFClose(t);
    crd_volume *volume = NULL;
    CHECK_OK(tools_open(scratch("large.tif"), &volume));
    CHECK(tools_same(volume, voxels, 3, 1));
    crd_volume_close(&volume);
    free(voxels);
    (void)unlink(scratch("large.tif"));
}

static void test_slices_come_in_rising_order(void)
{
    const crd_volume_info info = {.shape = {3, 4, 5}, .type = CRD_U16, .scale = 1.0};
    const crd_box slice = {.origin = {0, 0, 0}, .size = {1, 4, 5}}, later = {.origin = {1, 0, 0}, .size = {1, 4, 5}};
    const crd_box part = {.origin = {0, 0, 0}, .size = {1, 3, 5}};
    uint16_t voxels[20] = {0};
    crd_volume *volume = NULL;
    CHECK_OK(crd_volume_create(scratch("order.tif"), &info, NULL, &volume));
    CHECK_FAILS(crd_volume_write(volume, &part, voxels), CRD_ERR_ARGUMENT, "whole slices");
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_create(scratch("order.tif"), &info, NULL, &volume));
    CHECK_FAILS(crd_volume_write(volume, &later, voxels), CRD_ERR_ARGUMENT, "from z = 0 on");
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_create(scratch("order.tif"), &info, NULL, &volume));
    CHECK_OK(crd_volume_write(volume, &slice, voxels));
    CHECK_FAILS(crd_volume_commit(volume), CRD_ERR_ARGUMENT, "1 of its 3 slices");
    crd_volume_close(&volume);
    CHECK(scratch_count("order") == 0);
    const crd_volume_options options = {.compress = 10};
    CHECK_FAILS(crd_volume_create(scratch("order.tif"), &info, &options, &volume), CRD_ERR_ARGUMENT, "between 0 and 9");
}

static void test_a_full_disk_leaves_nothing(void)
{
    const crd_volume_info info = {.shape = {64, 64, 64}, .type = CRD_U16, .scale = 1.0};
    static uint16_t voxels[64 * 64 * 64];
    struct rlimit before, limit;
    tools_fill(CRD_U16, 64 * 64 * 64, 5, voxels);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 200000;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    const crd_status plain = write_volume(scratch("full.tif"), &info, 0, 1, voxels);
    char plain_said[1024];
    snprintf(plain_said, sizeof plain_said, "%s", crd_last_error()->message);
    const crd_status packed = write_volume(scratch("full.tif"), &info, 6, 1, voxels);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    signal(SIGXFSZ, SIG_DFL);
    CHECK(plain == CRD_ERR_SYSTEM && packed == CRD_ERR_SYSTEM);
    CHECK(strstr(plain_said, "can't reserve 0.5 MiB") != NULL);
    CHECK(strstr(crd_last_error()->message, "can't write") != NULL &&
          strstr(crd_last_error()->message, "full.tif") != NULL);
    CHECK(scratch_count("full") == 0);
}

/* BigTIFF directories without four gigabytes of voxels. */
static void test_bigtiff_directories(void)
{
    const crd_volume_info info = {
        .shape = {3, 4, 6}, .type = CRD_U16, .spacing = {1, 2, 3}, .unit = "mm", .scale = 0.5, .origin = {9, 8, 7}};
    uint16_t voxels[72];
    tools_fill(CRD_U16, 72, 9, voxels);
    crd_tiff_layout layout = {.path = scratch("big.tif"),
                              .info = &info,
                              .big = true,
                              .voxel = 2,
                              .row = 12,
                              .page = 48,
                              .rows_per_strip = 3,
                              .strips = 2,
                              .data = 16,
                              .end = 16 + 144,
                              .minimum = 1,
                              .maximum = 0};
    layout.fd = open(layout.path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    CHECK(layout.fd >= 0 && pwrite(layout.fd, voxels, 144, 16) == 144);
    CHECK_OK(crd_tiff_write_directories(&layout));
    CHECK(close(layout.fd) == 0);
    CHECK(libtiff_agrees(scratch("big.tif"), &info, (unsigned char *)voxels));
    crd_volume *volume = NULL;
    CHECK_OK(tools_open(scratch("big.tif"), &volume));
    CHECK(tools_same(volume, voxels, 20, 3));
    const crd_volume_info *read = crd_volume_describe(volume);
    CHECK(memcmp(read->spacing, info.spacing, sizeof info.spacing) == 0 && read->scale == 0.5 && read->origin[2] == 7);
    crd_volume_close(&volume);
}

/* The whole way beyond 4 GiB: minutes of disk, so only when asked for. */
static void test_beyond_four_gibibytes(void)
{
    if (getenv("CREDENCE_LONG") == NULL) SKIP("CREDENCE_LONG is not set");
    const crd_volume_info info = {.shape = {700, 2500, 2500}, .type = CRD_U8, .scale = 1.0};
    const int64_t slice = info.shape[1] * info.shape[2];
    unsigned char *voxels = malloc((size_t)slice), probe[27];
    crd_volume *volume = NULL;
    CHECK(voxels != NULL);
    CHECK_OK(crd_volume_create(scratch("beyond.tif"), &info, NULL, &volume));
    for (int64_t z = 0; z < info.shape[0]; z++) {
        const crd_box box = {.origin = {z, 0, 0}, .size = {1, info.shape[1], info.shape[2]}};
        memset(voxels, (int)(z % 256), (size_t)slice);
        voxels[z] = 77;
        CHECK_OK(crd_volume_write(volume, &box, voxels));
    }
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK_OK(tools_open(scratch("beyond.tif"), &volume));
    CHECK(crd_volume_describe(volume)->shape[0] == 700);
    const crd_box end = {.origin = {697, 0, 696}, .size = {3, 3, 3}};
    CHECK_OK(crd_volume_read(volume, &end, CRD_U8, probe));
    for (int i = 0; i < 27; i++) {
        const int z = i / 9, y = i / 3 % 3, x = i % 3;
        CHECK(probe[i] == (y == 0 && x == z + 1 ? 77 : (697 + z) % 256));
    }
    crd_volume_close(&volume);
    free(voxels);
    (void)unlink(scratch("beyond.tif"));
}

TEST_MAIN(TEST(test_round_trips), TEST(test_spacing_comes_back_exactly), TEST(test_imagej_finds_its_lines),
          TEST(test_large_pages_have_strips), TEST(test_slices_come_in_rising_order),
          TEST(test_a_full_disk_leaves_nothing), TEST(test_bigtiff_directories), TEST(test_beyond_four_gibibytes))
