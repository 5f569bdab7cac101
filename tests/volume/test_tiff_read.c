/* TIFF volumes that others wrote: every layout, codec, type and byte order; ImageJ's and large files. */
#include <math.h>
#include <time.h>

#include "harness.h"
#include "tiff_tools.h"

static double voxels[7 * 70 * 90];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Writes by libtiff, reads by us, with a cache of that many bytes. */
static bool reads_back(const tiff_spec *spec, const void *expected, size_t cache)
{
    const char *path = scratch("foreign.tif");
    const crd_volume_options options = {.cache_bytes = cache};
    crd_volume *volume = NULL;
    if (!tools_make_tiff(path, spec, expected)) return false;
    if (crd_volume_open(path, &options, NULL, &volume) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        return false;
    }
    const crd_volume_info *info = crd_volume_describe(volume);
    bool same = info->type == spec->type && memcmp(info->shape, spec->shape, sizeof spec->shape) == 0;
    same = same && tools_same(volume, expected, 25, cache);
    if (!same) printf("compression %d, predictor %d\n", spec->compression, spec->predictor);
    crd_volume_close(&volume);
    return same;
}

static void test_layouts_types_and_byte_orders(void)
{
    static const char *const modes[] = {"wl", "wb", "w8", "w8b"};
    static const struct layout {
        uint32_t rows, tile;
        bool backwards;
    } layouts[] = {{0, 0, false}, {1, 0, false}, {7, 0, false}, {7, 0, true}, {0, 16, false}, {0, 64, false}};
    for (int type = 0; type < CRD_TYPE_COUNT; type++) {
        for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
            for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; l++) {
                const tiff_spec spec = {.mode = modes[m],
                                        .shape = {3, 37, 45},
                                        .type = (crd_type)type,
                                        .photometric = 1,
                                        .rows_per_strip = layouts[l].rows,
                                        .tile = layouts[l].tile,
                                        .strips_backwards = layouts[l].backwards};
                tools_fill(spec.type, 3 * 37 * 45, (uint64_t)type + 10 * m + 100 * l, voxels);
                CHECK(reads_back(&spec, voxels, 1 << 20));
            }
        }
    }
}

static void test_codecs_and_predictors(void)
{
    static const struct row {
        int compression, predictor;
        crd_type type;
    } rows[] = {
        {COMPRESSION_LZW, 1, CRD_U8},
        {COMPRESSION_LZW, 2, CRD_U16},
        {COMPRESSION_LZW, 2, CRD_I32},
        {COMPRESSION_ADOBE_DEFLATE, 1, CRD_F32},
        {COMPRESSION_ADOBE_DEFLATE, 2, CRD_U8},
        {COMPRESSION_ADOBE_DEFLATE, 2, CRD_I16},
        {COMPRESSION_ADOBE_DEFLATE, 3, CRD_F32},
        {COMPRESSION_ADOBE_DEFLATE, 3, CRD_F64},
        {COMPRESSION_DEFLATE, 1, CRD_U32},
        {COMPRESSION_PACKBITS, 0, CRD_U8},
        {COMPRESSION_PACKBITS, 0, CRD_U16},
        {COMPRESSION_ZSTD, 2, CRD_U16},
        {COMPRESSION_LZMA, 1, CRD_I8},
        {COMPRESSION_LERC, 0, CRD_F32},
    };
    static const size_t caches[] = {1 << 20, 12000, 100}; /* all of it, a few blocks, no block at all */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!TIFFIsCODECConfigured((uint16_t)rows[i].compression)) continue;
        /* libtiff 4.5 can't write these two in the other byte order: it swaps the floats before it encodes them. */
        const bool one_order = rows[i].predictor == 3 || rows[i].compression == COMPRESSION_LERC;
        for (int big = 0; big < (one_order ? 1 : 2); big++) {
            tiff_spec spec = {.mode = big ? "wb" : "w",
                              .shape = {4, 33, 50},
                              .type = rows[i].type,
                              .photometric = 1,
                              .compression = rows[i].compression,
                              .predictor = rows[i].predictor};
            tools_fill(spec.type, 4 * 33 * 50, i, voxels);
            for (size_t c = 0; c < 3; c++) {
                spec.rows_per_strip = 0;
                CHECK(reads_back(&spec, voxels, caches[c]));
                spec.rows_per_strip = 10;
                CHECK(reads_back(&spec, voxels, caches[c]));
            }
            spec.tile = 16;
            CHECK(reads_back(&spec, voxels, 1 << 20));
            CHECK(reads_back(&spec, voxels, 12000));
        }
    }
    const tiff_spec tiled = {.shape = {1, 64, 64}, .photometric = 1, .compression = COMPRESSION_LZW, .tile = 64};
    crd_volume *volume = NULL;
    const crd_box box = {.size = {1, 1, 1}};
    const crd_volume_options tiny = {.cache_bytes = 1000};
    unsigned char byte;
    CHECK(tools_make_tiff(scratch("tiled.tif"), &tiled, voxels));
    CHECK_OK(crd_volume_open(scratch("tiled.tif"), &tiny, NULL, &volume));
    CHECK_FAILS(crd_volume_read(volume, &box, CRD_U8, &byte), CRD_ERR_MEMORY, "allow more memory");
    crd_volume_close(&volume);
}

static void test_single_bits(void)
{
    static const struct row {
        int compression, fill_order;
    } rows[] = {{COMPRESSION_NONE, 1},
                {COMPRESSION_NONE, 2},
                {COMPRESSION_PACKBITS, 1},
                {COMPRESSION_CCITTFAX4, 1},
                {COMPRESSION_LZW, 1}};
    enum { WIDTH = 45, HEIGHT = 21, ROW = (WIDTH + 7) / 8 };
    unsigned char bits[2 * HEIGHT * ROW] = {0}, bytes[2 * HEIGHT * WIDTH];
    uint64_t state = 4;
    for (int i = 0; i < 2 * HEIGHT * WIDTH; i++) {
        bytes[i] = (unsigned char)(tools_random(&state) % 3 == 0);
        const int row = i / WIDTH, x = i % WIDTH;
        bits[row * ROW + x / 8] = (unsigned char)(bits[row * ROW + x / 8] | bytes[i] << (7 - x % 8));
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tiff_spec spec = {.shape = {2, HEIGHT, WIDTH},
                                .type = CRD_U8,
                                .bits = 1,
                                .photometric = 1,
                                .compression = rows[i].compression,
                                .fill_order = rows[i].fill_order,
                                .rows_per_strip = 8};
        for (size_t cache = 60; cache < 100000; cache *= 100) {
            const crd_volume_options options = {.cache_bytes = cache};
            crd_volume *volume = NULL;
            CHECK(tools_make_tiff(scratch("bits.tif"), &spec, bits));
            CHECK_OK(crd_volume_open(scratch("bits.tif"), &options, NULL, &volume));
            CHECK(crd_volume_describe(volume)->type == CRD_U8);
            CHECK(tools_same(volume, bytes, 30, i));
            crd_volume_close(&volume);
        }
    }
}

static void test_what_is_special_is_said(void)
{
    tools_fill(CRD_U8, 6 * 6, 1, voxels);
    tiff_spec spec = {.shape = {1, 6, 6}, .type = CRD_U8, .photometric = PHOTOMETRIC_MINISWHITE};
    crd_volume *volume = NULL;
    CHECK(tools_make_tiff(scratch("white.tif"), &spec, voxels));
    CHECK_OK(tools_open(scratch("white.tif"), &volume));
    CHECK(strstr(tools_said, "warning: ") != NULL && strstr(tools_said, "0 is white") != NULL);
    CHECK(tools_same(volume, voxels, 1, 1)); /* as stored */
    crd_volume_close(&volume);
    spec.photometric = 1;
    spec.orientation = ORIENTATION_BOTLEFT;
    CHECK(tools_make_tiff(scratch("turned.tif"), &spec, voxels));
    CHECK_OK(tools_try(scratch("turned.tif")));
    CHECK(strstr(tools_said, "warning: ") != NULL && strstr(tools_said, "orientation 4") != NULL);
    spec.orientation = 0;
    spec.compression = COMPRESSION_ADOBE_DEFLATE;
    CHECK(tools_make_tiff(scratch("packed.tif"), &spec, voxels));
    CHECK_OK(tools_try(scratch("packed.tif")));
    CHECK(strstr(tools_said, "compressed") == NULL); /* which costs nothing that a user could change */
}

static bool make_colours(const char *path)
{
    TIFF *t = TIFFOpen(path, "w");
    unsigned char row[12] = {0};
    if (t == NULL) return false;
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, 4);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    const bool good = TIFFWriteScanline(t, row, 0, 0) == 1;
    TIFFClose(t);
    return good;
}

static void test_what_is_no_scan_is_refused(void)
{
    CHECK(make_colours(scratch("colours.tif")));
    CHECK_FAILS(tools_try(scratch("colours.tif")), CRD_ERR_UNSUPPORTED, "credence convert --grey makes it grey");
    tiff_spec spec = {.shape = {1, 8, 8}, .type = CRD_U8, .bits = 4, .photometric = 1};
    CHECK(tools_make_tiff(scratch("nibbles.tif"), &spec, voxels));
    CHECK_FAILS(tools_try(scratch("nibbles.tif")), CRD_ERR_UNSUPPORTED, "unsigned integers of 4 bits");
    spec.type = CRD_F32;
    spec.bits = 16;
    CHECK(tools_make_tiff(scratch("half.tif"), &spec, voxels));
    CHECK_FAILS(tools_try(scratch("half.tif")), CRD_ERR_UNSUPPORTED, "floating-point numbers of 16 bits");
}

static void test_thumbnails_are_passed_over(void)
{
    TIFF *t = TIFFOpen(scratch("thumbs.tif"), "w");
    CHECK(t != NULL);
    tools_fill(CRD_U8, 2 * 20 * 20, 1, voxels);
    for (int page = 0; page < 3; page++) {
        const tiff_spec spec = {.shape = {1, page == 1 ? 5 : 20, page == 1 ? 5 : 20}, .type = CRD_U8, .photometric = 1};
        tools_set_fields(t, &spec, 1);
        if (page == 1) TIFFSetField(t, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
        CHECK(tools_put_page(t, &spec, (unsigned char *)voxels + (page == 2 ? 400 : 0)) && TIFFWriteDirectory(t));
    }
    TIFFClose(t);
    crd_volume *volume = NULL;
    CHECK_OK(tools_open(scratch("thumbs.tif"), &volume));
    CHECK(crd_volume_describe(volume)->shape[0] == 2 && tools_same(volume, voxels, 5, 1));
    CHECK(strstr(tools_said, "ignored 1 page") != NULL);
    crd_volume_close(&volume);
}

/* ImageJ's way with more than 4 GiB: one directory, the slices behind each other, and a hole for most of them. */
static void test_imagej_beyond_four_gibibytes(void)
{
    static const char text[] = "ImageJ=1.53t\nimages=5000\nslices=5000\nunit=micron\nspacing=3.0\nloop=false\n";
    const int64_t slice = 1000 * 1024, data = 1024;
    maker m = make_header(false, 8);
    make_page(&m, &(page_spec){.width = 1024,
                               .height = 1000,
                               .bits = 8,
                               .compression = 1,
                               .strip_offset = 1024,
                               .strip_bytes = 1024000,
                               .description = 512,
                               .description_bytes = sizeof text});
    m.used = 512;
    memcpy(m.bytes + m.used, text, sizeof text);
    m.used += sizeof text;
    const char *path = scratch("imagej.tif");
    unsigned char pattern[64], box_voxels[64 * 64 * 64];
    for (int i = 0; i < 64; i++) pattern[i] = (unsigned char)(i + 1);
    CHECK(tools_save(path, m.bytes, m.used, data + 5000 * slice));
    CHECK(tools_poke(path, data + 4990 * slice + 900 * 1024 + 800, pattern, 64));
    crd_volume *volume = NULL;
    CHECK_OK(tools_open(path, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    CHECK(info->shape[0] == 5000 && info->shape[1] == 1000 && info->shape[2] == 1024);
    const crd_box box = {.origin = {4936, 900, 800}, .size = {64, 64, 64}};
    CHECK_OK(crd_volume_read(volume, &box, CRD_U8, box_voxels));
    for (int i = 0; i < 64 * 64 * 64; i++) CHECK(box_voxels[i] == (i / 64 == 54 * 64 ? pattern[i % 64] : 0));
    crd_volume_close(&volume);
    CHECK(truncate(path, (off_t)(data + 4999 * slice + 5)) == 0);
    CHECK_FAILS(tools_try(path), CRD_ERR_FORMAT, "room for 4999");
    (void)unlink(path);
}

static void test_bigtiff_beyond_four_gibibytes(void)
{
    const uint64_t far = UINT64_C(5) << 30;
    maker m = make_header(true, 16);
    make_page(&m, &(page_spec){.width = 300,
                               .height = 200,
                               .bits = 16,
                               .compression = 1,
                               .strip_offset = 8192,
                               .strip_bytes = 120000,
                               .next = far});
    const char *path = scratch("far.tif");
    uint16_t row[300], got[300];
    for (int i = 0; i < 300; i++) row[i] = (uint16_t)(100 * i);
    CHECK(tools_save(path, m.bytes, m.used, (int64_t)far + 200000));
    m = (maker){.big = true};
    make_page(&m, &(page_spec){.width = 300,
                               .height = 200,
                               .bits = 16,
                               .compression = 1,
                               .strip_offset = far + 1000,
                               .strip_bytes = 120000});
    CHECK(tools_poke(path, (int64_t)far, m.bytes, m.used));
    CHECK(tools_poke(path, (int64_t)far + 1000 + 199 * 600, row, sizeof row));
    crd_volume *volume = NULL;
    CHECK_OK(tools_open(path, &volume));
    CHECK(crd_volume_describe(volume)->shape[0] == 2 && crd_volume_describe(volume)->type == CRD_U16);
    const crd_box box = {.origin = {1, 199, 0}, .size = {1, 1, 300}};
    CHECK_OK(crd_volume_read(volume, &box, CRD_U16, got));
    CHECK(memcmp(row, got, sizeof row) == 0);
    crd_volume_close(&volume);
    (void)unlink(path);
}

/* Many pages: opened in one pass, and a small box doesn't care. Generous limits: the machine may be busy. */
static void test_ten_thousand_pages(void)
{
    const crd_volume_info info = {.shape = {10000, 64, 64}, .type = CRD_U8, .scale = 1.0};
    crd_volume *volume = NULL;
    unsigned char *block = malloc(10000 * 64 * 64), small[4 * 4 * 4];
    CHECK(block != NULL);
    for (size_t i = 0; i < 10000 * 64 * 64; i++) block[i] = (unsigned char)(i / 4096 + i % 7);
    CHECK_OK(crd_volume_create(scratch("many.tif"), &info, NULL, &volume));
    const crd_box all = {.size = {10000, 64, 64}};
    CHECK_OK(crd_volume_write(volume, &all, block));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    double start = now();
    CHECK_OK(tools_open(scratch("many.tif"), &volume));
    const double opening = now() - start;
    start = now();
    for (int i = 0; i < 100; i++) {
        const crd_box box = {.origin = {9900, 10 + i % 8, 20}, .size = {4, 4, 4}};
        CHECK_OK(crd_volume_read(volume, &box, CRD_U8, small));
        CHECK(small[63] == block[9903 * 4096 + (13 + i % 8) * 64 + 23]);
    }
    const double reading = (now() - start) / 100;
    printf("10,000 pages opened in %.1f ms, a 4x4x4 box in %.3f ms\n", 1e3 * opening, 1e3 * reading);
    CHECK(opening < 5.0 && reading < 0.01);
    crd_volume_close(&volume);
    free(block);
    (void)unlink(scratch("many.tif"));
}

static void test_real_scans(void)
{
    static const char *const names[] = {"bone", "cement", "weave"};
    const char *shared = getenv("CREDENCE_SHARED");
    if (shared == NULL) SKIP("CREDENCE_SHARED is not set");
    for (int i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/data/%s/volume.tif", shared, names[i]);
        crd_volume *volume = NULL;
        CHECK_OK(tools_open(path, &volume));
        const crd_volume_info *info = crd_volume_describe(volume);
        const int64_t edge = i == 2 ? 150 : 128;
        CHECK(info->shape[0] == edge && info->shape[1] == edge && info->shape[2] == edge && info->type == CRD_U8);
        unsigned char *ours = malloc((size_t)(edge * edge * edge)), *theirs = malloc((size_t)(edge * edge));
        const crd_box all = {.size = {edge, edge, edge}};
        CHECK(ours != NULL && theirs != NULL);
        CHECK_OK(crd_volume_read(volume, &all, CRD_U8, ours));
        TIFF *t = TIFFOpen(path, "r");
        CHECK(t != NULL);
        for (int64_t z = 0; z < edge; z++) {
            CHECK(TIFFReadEncodedStrip(t, 0, theirs, edge * edge) == edge * edge);
            CHECK(memcmp(ours + z * edge * edge, theirs, (size_t)(edge * edge)) == 0);
            CHECK((TIFFReadDirectory(t) != 0) == (z + 1 < edge));
        }
        TIFFClose(t);
        CHECK(tools_same(volume, ours, 50, 1));
        crd_volume_close(&volume);
        free(ours);
        free(theirs);
    }
}

TEST_MAIN(TEST(test_layouts_types_and_byte_orders), TEST(test_codecs_and_predictors), TEST(test_single_bits),
          TEST(test_what_is_special_is_said), TEST(test_what_is_no_scan_is_refused),
          TEST(test_thumbnails_are_passed_over), TEST(test_imagej_beyond_four_gibibytes),
          TEST(test_bigtiff_beyond_four_gibibytes), TEST(test_ten_thousand_pages), TEST(test_real_scans))
