/* TIFF files that are cut short, contradict themselves or lie: one sentence each, no crash, no memory to speak of. */
#include <math.h>
#include <sys/resource.h>
#include <zlib.h>

#include "harness.h"
#include "tiff_tools.h"

static const page_spec plain = {
    .width = 4, .height = 4, .bits = 8, .compression = 1, .strip_offset = 8, .strip_bytes = 16};

/* A file of one or more pages: `fill` bytes behind the header, then what `add` put there. */
static maker start(bool big, size_t fill)
{
    maker m = make_header(big, (big ? 16 : 8) + fill);
    memset(m.bytes + m.used, 255, fill); /* no codec takes this for its own */
    m.used += fill;
    return m;
}

static crd_status try_bytes(const maker *m, int64_t length)
{
    if (!tools_save(scratch("hostile.tif"), m->bytes, m->used, length)) return CRD_ERR_INTERNAL;
    return tools_try(scratch("hostile.tif"));
}

static crd_status try_read(const maker *m, int64_t length, crd_box box)
{
    crd_volume *volume = NULL;
    unsigned char out[4096];
    if (!tools_save(scratch("hostile.tif"), m->bytes, m->used, length)) return CRD_ERR_INTERNAL;
    crd_status status = tools_open(scratch("hostile.tif"), &volume);
    if (status == CRD_OK) {
        status = crd_volume_read(volume, &box, crd_volume_describe(volume)->type, out);
        const crd_status again = crd_volume_read(volume, &box, crd_volume_describe(volume)->type, out);
        if (again != status) status = CRD_ERR_INTERNAL; /* what failed once must not succeed out of a cache */
    }
    crd_volume_close(&volume);
    return status;
}

static void test_a_good_one_passes(void)
{
    maker m = start(false, 16);
    make_page(&m, &plain);
    CHECK_OK(try_read(&m, 0, (crd_box){.size = {1, 4, 4}}));
    m = start(true, 16);
    page_spec big = plain;
    big.strip_offset = 16;
    make_page(&m, &big);
    CHECK_OK(try_read(&m, 0, (crd_box){.size = {1, 4, 4}}));
}

static void test_headers(void)
{
    maker m = make_header(false, 0);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "holds no image");
    m = make_header(false, 1000);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "first directory lies beyond its end");
    m = make_header(true, UINT64_MAX - 3);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "first directory lies beyond its end");
    m.bytes[4] = 4;
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "its header isn't one");
    m = make_header(false, 8);
    m.used = 6;
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "it has 6 bytes");
    m = make_header(false, 2);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "a directory lies beyond its end");
}

static void test_directories_that_never_end(void)
{
    for (int length = 1; length <= 9; length++) { /* pages 1, 2, ..., length, then back to each of them */
        for (int back = 0; back < length; back++) {
            maker m = start(false, 16);
            page_spec page = plain;
            const size_t first = m.used, each = 2 + 8 * 12 + 4;
            for (int i = 0; i < length; i++) {
                page.next = first + each * (size_t)(i + 1 < length ? i + 1 : back);
                make_page(&m, &page);
            }
            CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "comes back to itself");
        }
    }
}

static void test_directories_out_of_range(void)
{
    maker m = start(false, 16);
    page_spec page = plain;
    page.next = 5000;
    make_page(&m, &page);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "a directory lies beyond its end");
    m = start(false, 16);
    make_page(&m, &plain);
    m.used -= 10;
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "a directory lies beyond its end");
    m = start(false, 16);
    make_number(&m, 0, 8);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "has 0 entries");
    m = start(true, 16);
    make_number(&m, UINT64_MAX, 8);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "entries");
    m = start(false, 16); /* more strips than the file could list */
    make_number(&m, 2, 2);
    make_entry(&m, TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 4);
    make_entry(&m, TIFFTAG_STRIPOFFSETS, TIFF_LONG, 0x40000000, 8);
    make_number(&m, 0, 4);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "tag 273 of page 1");
    m = start(false, 16); /* a size that is a fraction */
    make_number(&m, 1, 2);
    make_entry(&m, TIFFTAG_IMAGEWIDTH, TIFF_RATIONAL, 1, 8);
    make_number(&m, 0, 4);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, "tag 256 of page 1");
}

/* A page of one entry less: every tag that is needed is missed by name or by consequence, none crashes. */
static void test_tags_left_out(void)
{
    for (int left_out = 0; left_out < 8; left_out++) {
        maker m = start(false, 16);
        make_page(&m, &plain);
        unsigned char *entries = m.bytes + 8 + 16 + 2;
        memmove(entries + 12 * left_out, entries + 12 * (left_out + 1), (size_t)(12 * (7 - left_out) + 4));
        m.bytes[8 + 16] = 7;
        m.used -= 12;
        const crd_status status = try_read(&m, 0, (crd_box){.size = {1, 4, 4}});
        static const bool needed[8] = {true, true, false, false, false, true, false, false};
        CHECK(status == (needed[left_out] ? CRD_ERR_FORMAT : CRD_OK));
    }
}

static void test_strips_that_lie(void)
{
    static const struct row {
        uint64_t offset, bytes, compression;
        const char *words;
    } rows[] = {
        {8, 15, 1, "has 15 bytes and should have 16"},
        {0, 16, 1, "never written"},
        {120, 16, 1, "cut short"},
        {0xffffffff, 16, 1, "cut short"},
        {8, 0, 5, "never written"},
        {8, 0xffffffff, 8, "cut short"},
        {8, 16, 8, "can't be read"},
        {8, 16, 5, "can't be read"},
        {8, 1, 32773, "can't be read"},
        {8, 16, 7, "can't be read"},
        {8, 16, 50000, "can't be read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!TIFFIsCODECConfigured((uint16_t)rows[i].compression)) continue;
        maker m = start(false, 16);
        page_spec page = plain;
        page.strip_offset = rows[i].offset;
        page.strip_bytes = rows[i].bytes;
        page.compression = rows[i].compression;
        make_page(&m, &page);
        CHECK_FAILS(try_read(&m, 0, (crd_box){.size = {1, 4, 4}}), CRD_ERR_FORMAT, rows[i].words);
        if (strcmp(rows[i].words, "can't be read") == 0) continue;
        CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_FORMAT, rows[i].words); /* known as soon as it is opened */
    }
    maker m = start(false, 16);
    page_spec page = plain;
    page.compression = 34712;
    make_page(&m, &page);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_UNSUPPORTED, "number 34712");
}

/* JPEG and fax decoders make up what is missing; we don't. */
static void test_strips_that_end_early(void)
{
    static const int codecs[] = {COMPRESSION_JPEG, COMPRESSION_CCITTFAX4, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE};
    static unsigned char voxels[64 * 64], packed[1 << 16];
    tools_fill(CRD_U8, sizeof voxels, 8, voxels);
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        const bool fax = codecs[i] == COMPRESSION_CCITTFAX4;
        const tiff_spec spec = {
            .shape = {1, 64, 64}, .type = CRD_U8, .bits = fax ? 1 : 0, .photometric = 1, .compression = codecs[i]};
        if (!TIFFIsCODECConfigured((uint16_t)codecs[i])) continue;
        for (int part = 1; part <= 2; part++) { /* half of the strip, then all of it */
            CHECK(tools_make_tiff(scratch("early.tif"), &spec, voxels));
            TIFF *t = TIFFOpen(scratch("early.tif"), "r+");
            CHECK(t != NULL);
            const tmsize_t bytes = TIFFReadRawStrip(t, 0, packed, sizeof packed);
            CHECK(bytes > 20);
            const uint64_t offset = TIFFGetStrileOffset(t, 0);
            TIFFClose(t);
            if (part == 1) { /* the second half becomes zeros: no codec goes on from there */
                memset(packed, 0, sizeof packed);
                CHECK(
                    tools_poke(scratch("early.tif"), (int64_t)offset + bytes / 2, packed, (size_t)(bytes - bytes / 2)));
            }
            crd_volume *volume = NULL;
            const crd_box all = {.size = {1, 64, 64}};
            CHECK_OK(tools_open(scratch("early.tif"), &volume));
            if (part == 1)
                CHECK_FAILS(crd_volume_read(volume, &all, CRD_U8, packed), CRD_ERR_FORMAT, "early.tif");
            else
                CHECK_OK(crd_volume_read(volume, &all, CRD_U8, packed));
            crd_volume_close(&volume);
        }
    }
}

/* Two widths in one directory: we take one of them, libtiff the other. */
static void test_a_directory_that_contradicts_itself(void)
{
    maker m = start(false, 16);
    make_number(&m, 9, 2);
    make_entry(&m, TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 4);
    make_entry(&m, TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 3);
    make_entry(&m, TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, 4);
    make_entry(&m, TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8);
    make_entry(&m, TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_PACKBITS);
    make_entry(&m, TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1);
    make_entry(&m, TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, 8);
    make_entry(&m, TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 4);
    make_entry(&m, TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, 16);
    make_number(&m, 0, 4);
    CHECK_FAILS(try_read(&m, 0, (crd_box){.size = {1, 4, 3}}), CRD_ERR_FORMAT, "contradicts itself");
}

/* Enormous images in small files must be refused before anything of their size is allocated. */
static void test_bombs(void)
{
    static const struct row {
        uint64_t width, height, compression;
    } rows[] = {
        {INT32_MAX, INT32_MAX, 1}, {INT32_MAX, INT32_MAX, 8}, {INT32_MAX, 1, 8}, {1, INT32_MAX, 5}, {UINT32_MAX, 4, 1},
        {100000, 100000, 50000},   {1000000, 1000000, 32773}, {0, 4, 1},         {4, 0, 8}};
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        maker m = start(false, 16);
        page_spec page = plain;
        page.width = rows[i].width;
        page.height = rows[i].height;
        page.compression = rows[i].compression;
        make_page(&m, &page);
        const crd_status status = try_bytes(&m, 0);
        CHECK(status == CRD_ERR_FORMAT || status == CRD_ERR_MEMORY);
    }
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 20000);
}

/* A strip as good as deflate can make it: 60 MB of zeros in 60 kB. One row of it must not cost the whole, and a cache
 * that is too small for it is kept to. */
static void test_a_strip_larger_than_the_cache(void)
{
    enum { EDGE = 7800 };
    unsigned char *zeros = calloc(EDGE, EDGE), *packed = malloc(1 << 20), row[64];
    uLongf bytes = 1 << 20;
    struct rusage before, after;
    CHECK(zeros != NULL && packed != NULL);
    zeros[EDGE * (size_t)50 + 3] = 9;
    CHECK(compress2(packed, &bytes, zeros, (uLong)EDGE * EDGE, 9) == Z_OK);
    free(zeros);
    maker m = start(false, 16);
    page_spec page = {
        .width = EDGE, .height = EDGE, .bits = 8, .compression = 8, .strip_offset = 4096, .strip_bytes = bytes};
    make_page(&m, &page);
    CHECK(tools_save(scratch("strip.tif"), m.bytes, m.used, 4096 + (int64_t)bytes));
    CHECK(tools_poke(scratch("strip.tif"), 4096, packed, bytes));
    free(packed);
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    crd_volume *volume = NULL;
    CHECK_OK(crd_volume_open(scratch("strip.tif"), &options, NULL, &volume));
    getrusage(RUSAGE_SELF, &before);
    const crd_box box = {.origin = {0, 50, 0}, .size = {1, 1, 64}};
    CHECK_OK(crd_volume_read(volume, &box, CRD_U8, row));
    CHECK(row[3] == 9 && row[4] == 0);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 10000);
    crd_volume_close(&volume);
}

/* A page as wide, or with as many strips, as only its header says: the file itself is sparse. */
static void test_claims_of_sparse_files(void)
{
    enum { AT = 4096, MANY = 1 << 28, TAGS = 9, ENTRY = 12 };
    unsigned char pixel[8];
    maker m = start(false, 16);
    page_spec page = {
        .width = MANY, .height = 1, .bits = 8, .compression = 8, .strip_offset = AT, .strip_bytes = MANY / 1000};
    make_page(&m, &page);
    CHECK(tools_save(scratch("wide.tif"), m.bytes, m.used, AT + MANY));
    crd_volume *volume = NULL;
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    CHECK_OK(crd_volume_open(scratch("wide.tif"), &options, NULL, &volume));
    CHECK_FAILS(crd_volume_read(volume, &(crd_box){.size = {1, 1, 8}}, CRD_U8, pixel), CRD_ERR_MEMORY, "one row of");
    crd_volume_close(&volume);

    /* A strip for each row of one pixel; a byte for the place of each. */
    static const uint32_t tags[TAGS][4] = {
        {TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, 1},         {TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, MANY},
        {TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8},     {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, 1},
        {TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, 1},       {TIFFTAG_STRIPOFFSETS, TIFF_BYTE, MANY, AT},
        {TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1},   {TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, 1},
        {TIFFTAG_STRIPBYTECOUNTS, TIFF_BYTE, MANY, AT}};
    unsigned char bytes[256] = {'I', 'I', 42, 0, 8, 0, 0, 0, TAGS};
    for (int i = 0; i < TAGS; i++) {
        unsigned char *entry = bytes + 10 + i * ENTRY;
        entry[0] = (unsigned char)tags[i][0], entry[1] = (unsigned char)(tags[i][0] >> 8);
        entry[2] = (unsigned char)tags[i][1];
        for (int k = 0; k < 4; k++) {
            entry[4 + k] = (unsigned char)(tags[i][2] >> 8 * k);
            entry[8 + k] = (unsigned char)(tags[i][3] >> 8 * k);
        }
    }
    CHECK(tools_save(scratch("strips.tif"), bytes, sizeof bytes, AT + MANY));
    CHECK_FAILS(crd_volume_open(scratch("strips.tif"), &options, NULL, &volume), CRD_ERR_MEMORY, "the list of strips");
}

static void test_pages_that_differ(void)
{
    maker m = start(false, 16);
    page_spec page = plain;
    page.next = m.used + 2 + 8 * 12 + 4;
    make_page(&m, &page);
    page = plain;
    page.width = 2;
    page.height = 8;
    make_page(&m, &page);
    CHECK_FAILS(try_bytes(&m, 0), CRD_ERR_MISMATCH, "page 2 of");
    CHECK(strstr(crd_last_error()->message, "8 x 2") != NULL);
}

/* Whatever is cut off the end of a file: opening or reading fails with a sentence, or nothing needed was lost. */
static void test_cut_anywhere(void)
{
    static unsigned char voxels[3 * 20 * 30], bytes[1 << 16], got[3 * 20 * 30];
    tools_fill(CRD_U8, 3 * 20 * 30, 3, voxels);
    for (int kind = 0; kind < 3; kind++) {
        const tiff_spec spec = {.shape = {3, 20, 30},
                                .type = CRD_U8,
                                .photometric = 1,
                                .mode = kind == 2 ? "w8" : "w",
                                .compression = kind == 1 ? COMPRESSION_LZW : 0,
                                .rows_per_strip = 6};
        CHECK(tools_make_tiff(scratch("whole.tif"), &spec, voxels));
        FILE *f = fopen(scratch("whole.tif"), "rb");
        CHECK(f != NULL);
        const size_t size = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        int failures = 0;
        for (size_t length = 1; length < size; length += 1 + length / 97) {
            crd_volume *volume = NULL;
            const crd_box all = {.size = {3, 20, 30}};
            CHECK(tools_save(scratch("cut.tif"), bytes, length, 0));
            crd_status status = tools_open(scratch("cut.tif"), &volume);
            if (status == CRD_OK) status = crd_volume_read(volume, &all, CRD_U8, got);
            crd_volume_close(&volume);
            CHECK(status == CRD_ERR_FORMAT);
            CHECK(strstr(crd_last_error()->message, "cut.tif") != NULL);
            failures++;
        }
        CHECK(failures > 100);
    }
}

/* Any byte changed to anything: no crash (the sanitizers watch), and what is read is read within the file. */
static void test_random_damage(void)
{
    static unsigned char voxels[4 * 9 * 11 * 2], bytes[1 << 16], got[1 << 16];
    uint64_t state = 99;
    tools_fill(CRD_U16, 4 * 9 * 11, 3, voxels);
    for (int kind = 0; kind < 4; kind++) {
        const tiff_spec spec = {.shape = {4, 9, 11},
                                .type = CRD_U16,
                                .photometric = 1,
                                .mode = kind % 2 ? "w8" : "wb",
                                .compression = kind > 1 ? COMPRESSION_ADOBE_DEFLATE : 0,
                                .rows_per_strip = 2,
                                .tile = kind == 3 ? 16 : 0};
        CHECK(tools_make_tiff(scratch("whole.tif"), &spec, voxels));
        FILE *f = fopen(scratch("whole.tif"), "rb");
        CHECK(f != NULL);
        const size_t size = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        for (int trial = 0; trial < 500; trial++) {
            const size_t at = tools_random(&state) % size;
            const unsigned char before = bytes[at];
            bytes[at] = (unsigned char)(trial % 3 == 0 ? 255 : tools_random(&state));
            CHECK(tools_save(scratch("damaged.tif"), bytes, size, 0));
            bytes[at] = before;
            crd_volume *volume = NULL;
            if (tools_open(scratch("damaged.tif"), &volume) == CRD_OK) {
                const crd_volume_info *info = crd_volume_describe(volume);
                const crd_box corner = {.size = {info->shape[0] < 2 ? 1 : 2, info->shape[1] < 8 ? info->shape[1] : 8,
                                                 info->shape[2] < 8 ? info->shape[2] : 8}};
                (void)crd_volume_read(volume, &corner, info->type, got);
            }
            crd_volume_close(&volume);
        }
    }
}

static void test_a_file_that_shrinks(void)
{
    static unsigned char voxels[10 * 100 * 100];
    crd_volume *volume = NULL;
    const tiff_spec spec = {.shape = {10, 100, 100}, .type = CRD_U8, .photometric = 1, .compression = COMPRESSION_LZW};
    const crd_box last = {.origin = {9, 0, 0}, .size = {1, 100, 100}};
    tools_fill(CRD_U8, sizeof voxels, 1, voxels);
    CHECK(tools_make_tiff(scratch("shrinks.tif"), &spec, voxels));
    CHECK_OK(tools_open(scratch("shrinks.tif"), &volume));
    CHECK(truncate(scratch("shrinks.tif"), 2000) == 0);
    CHECK_FAILS(crd_volume_read(volume, &last, CRD_U8, voxels), CRD_ERR_FORMAT, "shrinks.tif");
    crd_volume_close(&volume);
}

TEST_MAIN(TEST(test_a_good_one_passes), TEST(test_headers), TEST(test_directories_that_never_end),
          TEST(test_directories_out_of_range), TEST(test_tags_left_out), TEST(test_strips_that_lie),
          TEST(test_strips_that_end_early), TEST(test_a_directory_that_contradicts_itself), TEST(test_bombs),
          TEST(test_a_strip_larger_than_the_cache), TEST(test_claims_of_sparse_files), TEST(test_pages_that_differ),
          TEST(test_cut_anywhere), TEST(test_random_damage), TEST(test_a_file_that_shrinks))
