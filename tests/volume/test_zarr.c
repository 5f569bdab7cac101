/* OME-Zarr: growing volumes, boxes that cut chunks, and folders that lie. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "build_config.h"
#include "harness.h"
#include "volume/zarr/zarr.h"
#include "volume_tools.h"

static crd_volume *volume; /* stays NULL through every failure */
static char said[1024];

static void keep_words(void *context, crd_level level, const char *text)
{
    const size_t used = strlen(said);
    (void)context;
    (void)level;
    snprintf(said + used, sizeof said - used, "%s\n", text);
}

static const crd_monitor monitor = {.message = keep_words};

static void write_bytes(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(scratch(name), "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror(scratch(name));
        exit(1);
    }
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

/* x.zarr with the array x.zarr/0. */
static void make_folders(void)
{
    static const char *const names[] = {"x.zarr", "x.zarr/0", "x.zarr/0/0", "x.zarr/0/0/0"};
    for (int i = 0; i < 4; i++) (void)mkdir(scratch(names[i]), 0700);
    write_text("x.zarr/.zattrs", "{\"multiscales\": [{\"datasets\": [{\"path\": \"0\"}]}]}");
}

static crd_status open_array(const char *layout)
{
    make_folders();
    said[0] = '\0';
    write_text("x.zarr/0/.zarray", layout);
    return crd_volume_open(scratch("x.zarr"), &(crd_volume_options){.cache_bytes = 1 << 20}, &monitor, &volume);
}

#define LAYOUT(SHAPE, CHUNKS, TYPE, COMPRESSOR, REST)                                                                  \
    "{\"zarr_format\": 2, \"shape\": " SHAPE ", \"chunks\": " CHUNKS ", \"dtype\": \"" TYPE                            \
    "\", \"compressor\": " COMPRESSOR ", \"order\": \"C\", \"fill_value\": 0, \"filters\": null" REST "}"
#define PLAIN(SHAPE, CHUNKS) LAYOUT(SHAPE, CHUNKS, "|u1", "null", "")
#define WITH(COMPRESSOR)     LAYOUT("[2, 3, 4]", "[2, 3, 4]", "|u1", "{\"id\": \"" COMPRESSOR "\"}", "")

static void test_layouts_that_lie(void)
{
    static const struct {
        const char *layout, *words;
        crd_status status;
    } rows[] = {
        {"", "no JSON object", CRD_ERR_FORMAT},
        {"[]", "no JSON object", CRD_ERR_FORMAT},
        {"{\"zarr_format\": 3}", "version 2", CRD_ERR_UNSUPPORTED},
        {PLAIN("[2, 3]", "[2, 3]"), "2 dimensions", CRD_ERR_UNSUPPORTED},
        {PLAIN("[2, 3, 4, 5]", "[1, 3, 4, 5]"), "several channels", CRD_ERR_UNSUPPORTED},
        {PLAIN("[1, 3, 4, 5]", "[2, 3, 4, 5]"), "reach beyond its axis 0", CRD_ERR_UNSUPPORTED},
        {PLAIN("[0, 3, 4]", "[1, 3, 4]"), "shape", CRD_ERR_FORMAT},
        {PLAIN("[2, 3, 4.5]", "[1, 3, 4]"), "shape", CRD_ERR_FORMAT},
        {PLAIN("[2, 3, 4]", "[1, 3, 0]"), "chunks", CRD_ERR_FORMAT},
        {PLAIN("[2, 3, 4]", "[1, 3]"), "chunks", CRD_ERR_FORMAT},
        {PLAIN("[9007199254740992, 9007199254740992, 4]", "[1, 1, 1]"), "can't hold", CRD_ERR_FORMAT},
        {PLAIN("[2, 3, 4]", "[9007199254740992, 9007199254740992, 4]"), "can't hold", CRD_ERR_FORMAT},
        {LAYOUT("[2, 3, 4]", "[2, 3, 4]", "<c8", "null", ""), "'<c8'", CRD_ERR_UNSUPPORTED},
        {LAYOUT("[2, 3, 4]", "[2, 3, 4]", "|u1", "null", ", \"dimension_separator\": \"..\""), "separator",
         CRD_ERR_FORMAT},
        {LAYOUT("[2, 3, 4]", "[2000, 3000, 4000]", "|u1", "{\"id\": \"zlib\"}", ""), "rechunk", CRD_ERR_UNSUPPORTED},
        {WITH("lzma"), "'lzma'", CRD_ERR_UNSUPPORTED},
    };
    static const char *const fills[] = {"\"NaN\"", "-1", "256", "1e300"};
    char filled[400];
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        snprintf(filled, sizeof filled,
                 "{\"zarr_format\": 2, \"shape\": [2, 3, 4], \"chunks\": [2, 3, 4], \"dtype\": \"|u1\", "
                 "\"compressor\": null, \"filters\": null, \"fill_value\": %s}",
                 fills[i]);
        CHECK_FAILS(open_array(filled), CRD_ERR_FORMAT, "fill_value");
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_FAILS(open_array(rows[i].layout), rows[i].status, rows[i].words);
        CHECK(volume == NULL && strstr(crd_last_error()->message, "x.zarr") != NULL);
    }
    CHECK_FAILS(open_array("{\"zarr_format\": 2, \"shape\": [2, 3, 4], \"chunks\": [2, 3, 4], \"dtype\": \"|u1\", "
                           "\"compressor\": null, \"filters\": [{\"id\": \"delta\"}]}"),
                CRD_ERR_UNSUPPORTED, "'delta'");
}

static void test_groups_that_lie(void)
{
    static const char *const paths[] = {"..", "../x", "/etc", "a/../../b", "", "..\\\\x"};
    char text[200];
    CHECK_OK(open_array(PLAIN("[2, 3, 4]", "[2, 3, 4]")));
    crd_volume_close(&volume);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        snprintf(text, sizeof text, "{\"multiscales\": [{\"datasets\": [{\"path\": \"%s\"}]}]}", paths[i]);
        write_text("x.zarr/.zattrs", text);
        CHECK_FAILS(crd_volume_open(scratch("x.zarr"), NULL, NULL, &volume), CRD_ERR_FORMAT, "isn't a place below it");
    }
    write_text("x.zarr/.zattrs", "{\"multiscales\": [{\"datasets\": [{\"path\": \"7\"}]}]}");
    CHECK_FAILS(crd_volume_open(scratch("x.zarr"), NULL, NULL, &volume), CRD_ERR_FORMAT, "lacks its level 7");
    write_text("x.zarr/.zattrs",
               "{\"multiscales\": [{\"axes\": [\"x\", \"y\", \"z\"], \"datasets\": [{\"path\": \"0\"}]}]}");
    CHECK_FAILS(crd_volume_open(scratch("x.zarr"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "end in z, y, x");
    write_text("x.zarr/.zattrs", "{}");
    CHECK_FAILS(crd_volume_open(scratch("x.zarr"), NULL, NULL, &volume), CRD_ERR_FORMAT, "without an OME-Zarr image");
    /* Units that differ between the axes, a scale of the whole image, one that makes no sense. */
    write_text(
        "x.zarr/.zattrs",
        "{\"multiscales\": [{\"axes\": [{\"name\": \"z\", \"unit\": \"millimeter\"}, {\"name\": \"y\", \"unit\": "
        "\"micrometer\"}, {\"name\": \"x\", \"unit\": \"micrometer\"}], \"datasets\": [{\"path\": \"0\", "
        "\"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [0.002, 3, 4]}]}], "
        "\"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [1, 2, 2]}]}]}");
    CHECK_OK(crd_volume_open(scratch("x.zarr"), NULL, NULL, &volume));
    const double *spacing = crd_volume_describe(volume)->spacing;
    CHECK(spacing[0] == 2.0 && spacing[1] == 6.0 && spacing[2] == 8.0);
    crd_volume_close(&volume);
    /* Axes as xarray names them, of the array alone. */
    write_text("x.zarr/0/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"plane\", \"y\", \"x\"]}");
    CHECK_OK(crd_volume_open(scratch("x.zarr/0"), NULL, NULL, &volume));
    crd_volume_close(&volume);
    write_text("x.zarr/0/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\", \"y\", \"z\"]}");
    CHECK_FAILS(crd_volume_open(scratch("x.zarr/0"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "end in z, y, x");
    CHECK(unlink(scratch("x.zarr/0/.zattrs")) == 0);
}

/* What another machine's owner may have put where a file is expected. */
static void test_pipes_and_links(void)
{
    char *large = malloc(5 << 20);
    CHECK_OK(open_array(PLAIN("[2, 3, 4]", "[2, 3, 4]")));
    crd_volume_close(&volume);
    CHECK(large != NULL && rename(scratch("x.zarr/0"), scratch("elsewhere")) == 0);
    CHECK(symlink("../elsewhere", scratch("x.zarr/0")) == 0);
    CHECK_OK(crd_volume_open(scratch("x.zarr"), NULL, &monitor, &volume));
    CHECK(strstr(said, "outside its folder") != NULL);
    crd_volume_close(&volume);
    CHECK(unlink(scratch("x.zarr/0")) == 0 && rename(scratch("elsewhere"), scratch("x.zarr/0")) == 0);

    static const char *const names[] = {"x.zarr/.zattrs", "x.zarr/0/.zarray"};
    for (int i = 0; i < 2; i++) {
        CHECK(unlink(scratch(names[i])) == 0 && mkfifo(scratch(names[i]), 0600) == 0);
        CHECK_FAILS(crd_volume_open(scratch("x.zarr"), NULL, NULL, &volume), CRD_ERR_ARGUMENT, "no plain file");
        CHECK(unlink(scratch(names[i])) == 0);
        CHECK_FAILS(open_array("{}"), CRD_ERR_UNSUPPORTED, "version 2");
    }
    memset(large, ' ', 5 << 20);
    write_bytes("x.zarr/.zattrs", large, 5 << 20);
    CHECK_FAILS(crd_volume_open(scratch("x.zarr"), NULL, NULL, &volume), CRD_ERR_ARGUMENT, "larger than");
    free(large);
}

static void test_chunks_that_lie(void)
{
    static const char *const codecs[] = {"zlib", "gzip", "blosc", "zstd"};
    static const bool built[] = {true, true, CRD_HAVE_BLOSC, CRD_HAVE_ZSTD};
    const crd_box all = {.size = {2, 3, 4}};
    uint8_t voxels[24];
    unsigned char junk[64];
    CHECK_OK(open_array(PLAIN("[2, 3, 4]", "[2, 3, 4]")));
    write_bytes("x.zarr/0/0/0/0", "too short", 9);
    CHECK_FAILS(crd_volume_read(volume, &all, CRD_U8, voxels), CRD_ERR_FORMAT, "chunk");
    write_bytes("x.zarr/0/0/0/0", "this is longer than a chunk can be", 34);
    CHECK_FAILS(crd_volume_read(volume, &all, CRD_U8, voxels), CRD_ERR_FORMAT, "chunk");
    CHECK(unlink(scratch("x.zarr/0/0/0/0")) == 0 && mkfifo(scratch("x.zarr/0/0/0/0"), 0600) == 0);
    CHECK_FAILS(crd_volume_read(volume, &all, CRD_U8, voxels), CRD_ERR_FORMAT, "no plain file");
    CHECK(unlink(scratch("x.zarr/0/0/0/0")) == 0);
    CHECK_OK(crd_volume_read(volume, &all, CRD_U8, voxels)); /* none at all: the value to fill with */
    CHECK(voxels[0] == 0);
    crd_volume_close(&volume);
    for (int i = 0; i < 4; i++) {
        char layout[400];
        uint64_t state = 5;
        if (!built[i]) continue;
        snprintf(layout, sizeof layout, LAYOUT("[2, 3, 4]", "[2, 3, 4]", "|u1", "{\"id\": \"%s\"}", ""), codecs[i]);
        for (int k = 0; k < 50; k++) {
            for (size_t n = 0; n < sizeof junk; n++) junk[n] = (unsigned char)tools_random(&state);
            if (i == 2) memcpy(junk, "\x02\x01\x21\x01\x18\0\0\0\x18\0\0\0\x40\0\0\0", 16); /* a header that fits */
            write_bytes("x.zarr/0/0/0/0", junk, sizeof junk);
            CHECK_OK(open_array(layout));
            CHECK_FAILS(crd_volume_read(volume, &all, CRD_U8, voxels), CRD_ERR_FORMAT, "can't be unpacked");
            crd_volume_close(&volume);
        }
        CHECK(unlink(scratch("x.zarr/0/0/0/0")) == 0);
    }
}

/* Chunks that aren't packed and don't fit the cache are read by rows, also in another byte order. */
static void test_large_plain_chunks(void)
{
    enum { EDGE = 120 };
    static uint16_t stored[EDGE * EDGE * EDGE];
    uint16_t voxels[2 * 3 * 4];
    for (int i = 0; i < EDGE * EDGE * EDGE; i++) stored[i] = __builtin_bswap16((uint16_t)(i * 31));
    make_folders();
    write_bytes("x.zarr/0/0/0/0", stored, sizeof stored);
    CHECK_OK(
        open_array(LAYOUT("[120, 120, 120]", "[120, 120, 120]", ">u2", "null", ", \"dimension_separator\": \"/\"")));
    CHECK_OK(crd_volume_read(volume, &(crd_box){{100, 50, 7}, {2, 3, 4}}, CRD_U16, voxels));
    for (int z = 0; z < 2; z++) {
        for (int y = 0; y < 3; y++) {
            for (int x = 0; x < 4; x++) {
                const int i = ((100 + z) * EDGE + 50 + y) * EDGE + 7 + x;
                CHECK(voxels[(z * 3 + y) * 4 + x] == (uint16_t)(i * 31));
            }
        }
    }
    crd_volume_close(&volume);
    CHECK(unlink(scratch("x.zarr/0/0/0/0")) == 0);
}

static void test_growing(void)
{
    const crd_volume_info info = {.shape = {70, 5, 6}, .type = CRD_U8, .spacing = {1, 2, 3}, .unit = "um"};
    static uint8_t voxels[70 * 5 * 6], read[70 * 5 * 6];
    const char *path = scratch("grow.zarr");
    CHECK_OK(crd_zarr_remove(path)); /* nothing there */
    tools_fill(CRD_U8, 70 * 5 * 6, 1, voxels);
    CHECK_OK(crd_zarr_grow(path, 2, &info, &volume));
    CHECK(crd_zarr_layer(volume) == 32);
    CHECK_OK(crd_volume_write(volume, &(crd_box){{32, 0, 0}, {32, 5, 6}}, voxels + 32 * 30));
    crd_volume_close(&volume); /* interrupted */
    said[0] = '\0';
    CHECK_OK(crd_volume_open(path, NULL, &monitor, &volume));
    CHECK(strstr(said, "isn't complete") != NULL);
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {70, 5, 6}}, CRD_U8, read));
    CHECK(memcmp(read + 32 * 30, voxels + 32 * 30, 32 * 30) == 0 && read[0] == 0 && read[69 * 30] == 0);
    crd_volume_close(&volume);
    crd_volume_info other = info;
    other.shape[2] = 7;
    CHECK_FAILS(crd_zarr_grow(path, 2, &other, &volume), CRD_ERR_MISMATCH, "another array");
    CHECK_OK(crd_zarr_grow(path, 2, &info, &volume)); /* goes on */
    CHECK_OK(crd_volume_write(volume, &(crd_box){{0, 0, 0}, {32, 5, 6}}, voxels));
    CHECK_OK(crd_volume_write(volume, &(crd_box){{64, 0, 0}, {6, 5, 6}}, voxels + 64 * 30));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    said[0] = '\0';
    CHECK_OK(crd_volume_open(path, NULL, &monitor, &volume));
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {70, 5, 6}}, CRD_U8, read));
    CHECK(said[0] == '\0' && memcmp(read, voxels, sizeof read) == 0);
    crd_volume_close(&volume);
    /* Not over something that is there; removed only where nothing else lies in it. */
    CHECK_FAILS(crd_volume_create(path, &info, NULL, &volume), CRD_ERR_ARGUMENT, "is there already");
    write_text("grow.zarr/notes.txt", "mine");
    CHECK_FAILS(crd_zarr_remove(path), CRD_ERR_SYSTEM, "more than a zarr volume");
    CHECK(access(scratch("grow.zarr/notes.txt"), F_OK) == 0 && unlink(scratch("grow.zarr/notes.txt")) == 0);
    CHECK_OK(crd_zarr_remove(path));
    CHECK(access(path, F_OK) != 0);
}

static void test_uncommitted_leaves_nothing(void)
{
    const crd_volume_info info = {.shape = {4, 5, 6}, .type = CRD_F32};
    float voxels[4 * 5 * 6] = {1};
    CHECK_OK(crd_volume_create(scratch("late.zarr"), &info, NULL, &volume));
    CHECK_OK(crd_volume_write(volume, &(crd_box){.size = {4, 5, 6}}, voxels));
    CHECK(access(scratch("late.zarr"), F_OK) != 0 && scratch_count("late") == 1);
    crd_volume_close(&volume);
    CHECK(scratch_count("late") == 0);
}

/* Writing fails at 64 KiB a file, as on a full disk. */
static void test_disk_full(void)
{
    const crd_volume_info info = {.shape = {40, 100, 100}, .type = CRD_U8};
    static uint8_t voxels[40 * 100 * 100];
    struct rlimit limit, small;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    tools_fill(CRD_U8, sizeof voxels, 1, voxels);
    for (int compress = 0; compress < 2; compress++) {
        small = limit;
        small.rlim_cur = 1 << 16;
        CHECK_OK(crd_volume_create(scratch("full.zarr"), &info, &(crd_volume_options){.compress = compress}, &volume));
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        const crd_status status = crd_volume_write(volume, &(crd_box){.size = {40, 100, 100}}, voxels);
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        CHECK(status == CRD_ERR_SYSTEM && strstr(crd_last_error()->message, "File too large") != NULL);
        CHECK_FAILS(crd_volume_commit(volume), CRD_ERR_ARGUMENT, "failed before");
        crd_volume_close(&volume);
        CHECK(scratch_count("full") == 0);
    }
}

/* A megabyte that unpacks to gigabytes, and chunks that claim as much: memory stays bounded. */
static void test_bombs(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("sanitizers need memory of their own");
#endif
    static const char *const layouts[] = {
        LAYOUT("[4096, 4096, 4096]", "[256, 1024, 1024]", "|u1", "{\"id\": \"zlib\"}", ""),
        LAYOUT("[4096, 4096, 4096]", "[1024, 4096, 4096]", "|u1", "null", ""),
        LAYOUT("[4096, 4096, 4096]", "[32, 128, 128]", "<f8", "{\"id\": \"zlib\"}", ""),
    };
    make_folders();
    write_bytes("x.zarr/0/0/0/0", "\x78\x9c short", 8);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        write_text("x.zarr/0/.zarray", layouts[i]);
        const pid_t child = fork();
        int status = 1;
        if (child == 0) {
            struct rlimit limit = {64 << 20, 64 << 20};
            double voxels[8];
            crd_volume *v = NULL;
            if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(2);
            const crd_volume_options options = {.cache_bytes = 16 << 20};
            crd_status result = crd_volume_open(scratch("x.zarr"), &options, NULL, &v);
            if (result == CRD_OK) result = crd_volume_read(v, &(crd_box){.size = {1, 1, 1}}, CRD_F64, voxels);
            crd_volume_close(&v);
            _exit(result == CRD_ERR_FORMAT || result == CRD_ERR_UNSUPPORTED ? 0 : 3);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(unlink(scratch("x.zarr/0/0/0/0")) == 0);
}

static void test_clean_up(void)
{
    CHECK_OK(crd_zarr_remove(scratch("x.zarr")));
}

TEST_MAIN(TEST(test_layouts_that_lie), TEST(test_groups_that_lie), TEST(test_pipes_and_links),
          TEST(test_chunks_that_lie), TEST(test_large_plain_chunks), TEST(test_growing),
          TEST(test_uncommitted_leaves_nothing), TEST(test_disk_full), TEST(test_bombs), TEST(test_clean_up))
