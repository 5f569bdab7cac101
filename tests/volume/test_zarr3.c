/* Zarr of version 3: what zarr.json may say and what it may not, shards that lie, and what we write. */
#include "base/file.h"
#include "base/hash/crc32c.h"
#include "base/memory.h"
#include "build_config.h"
#include "harness.h"
#include "volume/zarr/array.h"
#include "volume/zarr/zarr.h"
#include "volume_tools.h"

enum { Z = 2, Y = 3, X = 4, VOXELS = Z * Y * X };

static crd_volume *volume; /* stays NULL through every failure */

static void write_bytes(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(scratch(name), "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror(scratch(name));
        exit(1);
    }
}

static crd_status open_array(const char *layout)
{
    static const char *const names[] = {"x.zarr", "x.zarr/c", "x.zarr/c/0", "x.zarr/c/0/0"};
    for (int i = 0; i < 4; i++) (void)mkdir(scratch(names[i]), 0700);
    write_bytes("x.zarr/zarr.json", layout, strlen(layout));
    return crd_volume_open(scratch("x.zarr"), &(crd_volume_options){.cache_bytes = 1 << 20}, NULL, &volume);
}

#define ARRAY(SHAPE, TYPE, GRID, NAMES, FILL, CODECS, REST)                                                            \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": " SHAPE ", \"data_type\": " TYPE                        \
    ", \"chunk_grid\": " GRID ", \"chunk_key_encoding\": " NAMES ", \"fill_value\": " FILL ", \"codecs\": " CODECS     \
    ", \"attributes\": {}" REST "}"
#define REGULAR(CHUNK) "{\"name\": \"regular\", \"configuration\": {\"chunk_shape\": " CHUNK "}}"
#define DEFAULT        "{\"name\": \"default\"}"
#define CODED(CODECS)  ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3, 4]"), DEFAULT, "0", CODECS, "")
#define FILLED(TYPE, FILL)                                                                                             \
    ARRAY("[2, 3, 4]", TYPE, REGULAR("[2, 3, 4]"), DEFAULT, FILL,                                                      \
          "[{\"name\": \"bytes\", \"configuration\": "                                                                 \
          "{\"endian\": \"little\"}}]",                                                                                \
          "")
#define SHARDED(GRID, CHUNK, CODECS, INDEX, REST)                                                                      \
    ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR(GRID), DEFAULT, "9",                                                       \
          "[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": " CHUNK ", \"codecs\": " CODECS      \
          ", \"index_codecs\": " INDEX REST "}}]",                                                                     \
          "")
#define LITTLE "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"

static void test_layouts_that_lie(void)
{
    static const struct {
        const char *layout, *words;
        crd_status status;
    } rows[] = {
        {"", "describes no array or group", CRD_ERR_FORMAT},
        {"[3]", "describes no array or group", CRD_ERR_FORMAT},
        {"{\"zarr_format\": 2, \"node_type\": \"array\"}", "describes no array or group", CRD_ERR_FORMAT},
        {"{\"zarr_format\": 3, \"node_type\": \"table\"}", "describes no array or group", CRD_ERR_FORMAT},
        {"{\"zarr_format\": 3, \"node_type\": \"group\"}", "without an OME-Zarr image", CRD_ERR_FORMAT},
        {"{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": 7}", "without an OME-Zarr image",
         CRD_ERR_FORMAT},
        {"{\"zarr_format\": 3, \"node_type\": \"array\"}", "type '?'", CRD_ERR_UNSUPPORTED},
        {FILLED("\"complex64\"", "0"), "'complex64'", CRD_ERR_UNSUPPORTED},
        {FILLED("{\"name\": \"numpy.datetime64\"}", "0"), "'numpy.datetime64'", CRD_ERR_UNSUPPORTED},
        {FILLED("\"uint8\"", "256"), "fill_value", CRD_ERR_FORMAT},
        {FILLED("\"uint8\"", "\"0x00\""), "fill_value", CRD_ERR_FORMAT},
        {FILLED("\"float32\"", "\"0x7fc0000\""), "fill_value", CRD_ERR_FORMAT},
        {ARRAY("[2, 3]", "\"uint8\"", REGULAR("[2, 3]"), DEFAULT, "0", "[\"bytes\"]", ""), "2 dimensions",
         CRD_ERR_UNSUPPORTED},
        {ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3]"), DEFAULT, "0", "[\"bytes\"]", ""), "chunk_shape",
         CRD_ERR_FORMAT},
        {ARRAY("[2, 2, 3, 4]", "\"uint8\"", REGULAR("[1, 2, 3, 4]"), DEFAULT, "0", "[\"bytes\"]", ""),
         "several channels", CRD_ERR_UNSUPPORTED},
        {ARRAY("[2, 3, 4]", "\"uint8\"", "{\"name\": \"rectilinear\"}", DEFAULT, "0", "[\"bytes\"]", ""),
         "'rectilinear'", CRD_ERR_UNSUPPORTED},
        {ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3, 4]"), "{\"name\": \"suffix\"}", "0", "[\"bytes\"]", ""),
         "'suffix'", CRD_ERR_UNSUPPORTED},
        {ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3, 4]"),
               "{\"name\": \"v2\", \"configuration\": {\"separator\": \"-\"}}", "0", "[\"bytes\"]", ""),
         "separator", CRD_ERR_FORMAT},
        {ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3, 4]"), DEFAULT, "0", "[\"bytes\"]",
               ", \"storage_transformers\": [{\"name\": \"x\"}]"),
         "storage transformers", CRD_ERR_UNSUPPORTED},
        {ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3, 4]"), DEFAULT, "0", "[\"bytes\"]", ", \"secret\": 1"),
         "'secret'", CRD_ERR_UNSUPPORTED},
        {ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3, 4]"), DEFAULT, "0", "[\"bytes\"]",
               ", \"dimension_names\": [\"x\", \"y\", \"z\"]"),
         "end in z, y, x", CRD_ERR_UNSUPPORTED},
        {CODED("7"), "no list", CRD_ERR_FORMAT},
        {CODED("[]"), "'nothing'", CRD_ERR_UNSUPPORTED},
        {CODED("[\"vlen-bytes\"]"), "'vlen-bytes'", CRD_ERR_UNSUPPORTED},
        {CODED("[\"bytes\", \"lzma\"]"), "'lzma'", CRD_ERR_UNSUPPORTED},
        {CODED("[\"bytes\", \"gzip\", \"gzip\"]"), "packed twice", CRD_ERR_UNSUPPORTED},
        {CODED("[\"bytes\", \"crc32c\", \"crc32c\", \"crc32c\", \"crc32c\", \"crc32c\", \"crc32c\", \"crc32c\", "
               "\"crc32c\", \"crc32c\"]"),
         "more checksums", CRD_ERR_FORMAT},
        {CODED("[{\"name\": \"transpose\", \"configuration\": {\"order\": [0, 1]}}, \"bytes\"]"), "no order",
         CRD_ERR_FORMAT},
        {CODED("[{\"name\": \"transpose\", \"configuration\": {\"order\": [0, 1, 3]}}, \"bytes\"]"), "no order",
         CRD_ERR_FORMAT},
        {CODED("[{\"name\": \"transpose\", \"configuration\": {\"order\": [0, 1, 1]}}, \"bytes\"]"), "an axis twice",
         CRD_ERR_FORMAT},
        {CODED("[{\"name\": \"transpose\", \"configuration\": {\"order\": [0, 2, 1]}}, \"sharding_indexed\"]"),
         "'sharding_indexed' behind 'transpose'", CRD_ERR_UNSUPPORTED},
        {ARRAY("[2, 3, 4]", "\"uint16\"", REGULAR("[2, 3, 4]"), DEFAULT, "0", "[\"bytes\"]", ""), "which byte",
         CRD_ERR_FORMAT},
        {SHARDED("[2, 3, 4]", "[2, 2, 4]", "[\"bytes\"]", "[" LITTLE "]", ""), "whole numbers of chunks",
         CRD_ERR_FORMAT},
        {SHARDED("[2, 3, 4]", "[0, 3, 4]", "[\"bytes\"]", "[" LITTLE "]", ""), "inner chunk_shape", CRD_ERR_FORMAT},
        {SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"sharding_indexed\"]", "[" LITTLE "]", ""),
         "'sharding_indexed' in shards", CRD_ERR_UNSUPPORTED},
        {SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[\"bytes\"]", ""), "which byte", CRD_ERR_FORMAT},
        {SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[" LITTLE ", \"gzip\"]", ""), "index is coded",
         CRD_ERR_UNSUPPORTED},
        {SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[]", ""), "index is coded", CRD_ERR_UNSUPPORTED},
        {SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[" LITTLE "]", ", \"index_location\": \"middle\""),
         "neither at the start nor", CRD_ERR_FORMAT},
        {SHARDED("[9007199254740992, 9007199254740992, 4]", "[1, 1, 1]", "[\"bytes\"]", "[" LITTLE "]", ""),
         "can't have shards", CRD_ERR_FORMAT},
        {SHARDED("[1048576, 1, 1]", "[1, 1, 1]", "[\"bytes\"]", "[" LITTLE "]", ""), "index doesn't fit",
         CRD_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_FAILS(open_array(rows[i].layout), rows[i].status, rows[i].words);
        CHECK(volume == NULL && strstr(crd_last_error()->message, "x.zarr") != NULL);
    }
    CHECK_OK(
        open_array(ARRAY("[2, 3, 4]", "\"uint8\"", REGULAR("[2, 3, 4]"), DEFAULT, "0", "[\"bytes\"]",
                         ", \"secret\": {\"must_understand\": false}, \"dimension_names\": [null, \"b\", \"x\"]")));
    crd_volume_close(&volume);
}

/* All is missing: what is read is the value to fill with. */
static void test_fill_values(void)
{
    static const struct {
        const char *layout;
        double value;
    } rows[] = {
        {FILLED("\"uint8\"", "255"), 255.0},
        {FILLED("\"int16\"", "-3"), -3.0},
        {FILLED("\"bool\"", "true"), 1.0},
        {FILLED("\"float32\"", "\"Infinity\""), (double)INFINITY},
        {FILLED("\"float32\"", "\"0x3fc00000\""), 1.5},
        {FILLED("\"float64\"", "\"0xc000000000000000\""), -2.0},
        {FILLED("\"float16\"", "\"0x3e00\""), 1.5},
    };
    double voxels[VOXELS];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_OK(open_array(rows[i].layout));
        CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {Z, Y, X}}, CRD_F64, voxels));
        for (int k = 0; k < VOXELS; k++) CHECK(voxels[k] == rows[i].value);
        crd_volume_close(&volume);
    }
    CHECK_OK(open_array(FILLED("\"float32\"", "\"0x7fc00000\"")));
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {Z, Y, X}}, CRD_F64, voxels));
    CHECK(voxels[0] != voxels[0]);
    crd_volume_close(&volume);
}

/* Two chunks of 12 voxels and an index of two entries, with a checksum or without. */
static size_t make_shard(const uint64_t index[4], bool first, bool summed, unsigned char *out)
{
    size_t used = 0;
    if (!first) {
        for (; used < VOXELS; used++) out[used] = (unsigned char)(used + 1);
    }
    for (int i = 0; i < 4; i++) {
        for (int byte = 0; byte < 8; byte++) out[used++] = (unsigned char)(index[i] >> 8 * byte);
    }
    const uint32_t crc = crd_crc32c(0, out + used - 32, 32);
    for (int byte = 0; summed && byte < 4; byte++) out[used++] = (unsigned char)(crc >> 8 * byte);
    for (int i = 0; first && i < VOXELS; i++) out[used++] = (unsigned char)(i + 1);
    return used;
}

static crd_status read_shard(const char *layout, const void *bytes, size_t count, uint8_t voxels[VOXELS])
{
    crd_status status = open_array(layout);
    write_bytes("x.zarr/c/0/0/0", bytes, count);
    if (status == CRD_OK) status = crd_volume_read(volume, &(crd_box){.size = {Z, Y, X}}, CRD_U8, voxels);
    crd_volume_close(&volume);
    return status;
}

static void test_shards(void)
{
    static const char *const layouts[2][2] = {
        {SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[" LITTLE "]", ""),
         SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[" LITTLE ", \"crc32c\"]", "")},
        {SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[" LITTLE "]", ", \"index_location\": \"start\""),
         SHARDED("[2, 3, 4]", "[1, 3, 4]", "[\"bytes\"]", "[" LITTLE ", \"crc32c\"]",
                 ", \"index_location\": \"start\"")}};
    unsigned char bytes[100];
    uint8_t voxels[VOXELS];
    for (int first = 0; first < 2; first++) {
        for (int summed = 0; summed < 2; summed++) {
            const uint64_t start = first ? 32 + 4 * (uint64_t)summed : 0, none = UINT64_MAX;
            const char *layout = layouts[first][summed];
            size_t count = make_shard((uint64_t[]){start + 12, 12, start, 12}, first, summed, bytes);
            CHECK_OK(read_shard(layout, bytes, count, voxels));
            for (int i = 0; i < VOXELS; i++) CHECK(voxels[i] == (i + 12) % VOXELS + 1);
            count = make_shard((uint64_t[]){none, none, start, 12}, first, summed, bytes);
            CHECK_OK(read_shard(layout, bytes, count, voxels));
            CHECK(voxels[0] == 9 && voxels[11] == 9 && voxels[12] == 1 && voxels[23] == 12);
            const uint64_t lies[][4] = {{none, 12, start, 12},       {start, none, start, 12}, {1000, 12, start, 12},
                                        {start + 90, 12, start, 12}, {start, none - 3, 0, 0},  {none - 3, 12, 0, 0}};
            for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
                count = make_shard(lies[i], first, summed, bytes);
                CHECK_FAILS(read_shard(layout, bytes, count, voxels), CRD_ERR_FORMAT, "its index says");
            }
            count = make_shard((uint64_t[]){start, 11, start, 12}, first, summed, bytes);
            CHECK_FAILS(read_shard(layout, bytes, count, voxels), CRD_ERR_FORMAT, "can't be unpacked");
            CHECK_FAILS(read_shard(layout, bytes, 31, voxels), CRD_ERR_FORMAT, "fewer than the index");
            CHECK_FAILS(read_shard(layout, bytes, 0, voxels), CRD_ERR_FORMAT, "fewer than the index");
            count = make_shard((uint64_t[]){start, 12, start, 12}, first, summed, bytes);
            bytes[first ? 3 : VOXELS + 3] ^= 1;
            CHECK_FAILS(read_shard(layout, bytes, count, voxels), CRD_ERR_FORMAT, summed ? "crc32c" : "its index says");
        }
    }
}

static void test_checksums(void)
{
    unsigned char bytes[VOXELS + 8] = {1, 2, 3};
    uint8_t voxels[VOXELS];
    for (int sums = 0, count = VOXELS; sums < 2; sums++, count += 4) {
        const uint32_t crc = crd_crc32c(0, bytes, (size_t)count);
        for (int i = 0; i < 4; i++) bytes[count + i] = (unsigned char)(crc >> 8 * i);
    }
    CHECK_OK(read_shard(CODED("[\"bytes\", \"crc32c\", \"crc32c\"]"), bytes, sizeof bytes, voxels));
    CHECK(voxels[2] == 3);
    CHECK_FAILS(read_shard(CODED("[\"bytes\", \"crc32c\"]"), bytes, 3, voxels), CRD_ERR_FORMAT, "lacks its checksum");
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 0x10;
        CHECK_FAILS(read_shard(CODED("[\"bytes\", \"crc32c\", \"crc32c\"]"), bytes, sizeof bytes, voxels),
                    CRD_ERR_FORMAT, "crc32c");
        bytes[i] ^= 0x10;
    }
}

/* Shards of all packings have the same bytes in whatever order and pieces they were written. */
static void test_writing_shards(void)
{
    static const crd_zarr_codec codecs[] = {CRD_ZARR_RAW, CRD_ZARR_GZIP, CRD_ZARR_ZSTD, CRD_ZARR_BLOSC};
    static const bool built[] = {true, true, CRD_HAVE_ZSTD, CRD_HAVE_BLOSC};
    static const int64_t depths[] = {80, 32, 5};
    const crd_volume_info info = {.shape = {80, 5, 300}, .type = CRD_U16};
    const int64_t count = 80 * 5 * 300;
    static uint16_t voxels[80 * 5 * 300], back[80 * 5 * 300];
    tools_fill(CRD_U16, count, 1, voxels);
    for (int64_t i = 0; i < count; i++) voxels[i] &= 0x0f0f;
    for (int codec = 0; codec < 4; codec++) {
        const crd_zarr_form form = {.version = 3, .codec = codecs[codec], .level = 3, .shards = true};
        char *first = NULL;
        size_t first_bytes = 0;
        if (!built[codec]) continue;
        for (int way = 0; way < 6; way++) {
            const int64_t depth = depths[way / 2];
            crd_zarr_array *array = NULL;
            char *bytes = NULL;
            size_t length = 0;
            CHECK_OK(crd_zarr_array_create(scratch("s.zarr"), &info, &form, false, &array));
            for (int64_t n = 0; n < 80 / depth + (80 % depth != 0); n++) {
                const int64_t at = way % 2 == 0 ? n * depth : (79 / depth - n) * depth, left = 80 - at;
                const crd_box box = {{at, 0, 0}, {left < depth ? left : depth, 5, 300}};
                CHECK_OK(crd_zarr_array_write(array, &box, voxels + at * 5 * 300));
            }
            CHECK_OK(crd_zarr_array_finish(array));
            crd_zarr_array_close(&array);
            CHECK(access(scratch("s.zarr/c/0/0/1"), F_OK) != 0); /* 3 x 1 x 3 chunks fit one */
            CHECK_OK(crd_read_file(scratch("s.zarr/c/0/0/0"), 1 << 20, &bytes, &length));
            if (way == 0) {
                first = bytes;
                first_bytes = length;
            } else {
                CHECK(length == first_bytes && memcmp(bytes, first, length) == 0);
                crd_free(&bytes);
            }
            memset(back, 0, sizeof back);
            CHECK_OK(crd_volume_open(scratch("s.zarr"), NULL, NULL, &volume));
            CHECK(strcmp(crd_volume_describe(volume)->format, "zarr3") == 0);
            CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {80, 5, 300}}, CRD_U16, back));
            CHECK(memcmp(voxels, back, sizeof back) == 0);
            crd_volume_close(&volume);
            CHECK_OK(crd_zarr_remove(scratch("s.zarr")));
        }
        crd_free(&first);
    }
}

/* Chunks that were never written are read as 0, and a shard without any has no file. */
static void test_holes(void)
{
    const crd_zarr_form form = {.version = 3, .shards = true};
    const crd_volume_info info = {.shape = {300, 4, 4}, .type = CRD_U8};
    crd_zarr_array *array = NULL;
    uint8_t voxels[32 * 16], all[300 * 16];
    memset(voxels, 7, sizeof voxels);
    CHECK_OK(crd_zarr_array_create(scratch("h.zarr"), &info, &form, false, &array));
    CHECK_OK(crd_zarr_array_write(array, &(crd_box){{32, 0, 0}, {32, 4, 4}}, voxels));
    CHECK_OK(crd_zarr_array_finish(array));
    crd_zarr_array_close(&array);
    CHECK(access(scratch("h.zarr/c/1/0/0"), F_OK) != 0);
    CHECK_OK(crd_volume_open(scratch("h.zarr"), NULL, NULL, &volume));
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {300, 4, 4}}, CRD_U8, all));
    for (int i = 0; i < 300 * 16; i++) CHECK(all[i] == (i / 16 / 32 == 1 ? 7 : 0));
    crd_volume_close(&volume);
    CHECK_OK(crd_zarr_remove(scratch("h.zarr")));
}

/* A run's volumes grow without shards, and make room for one of the other version. */
static void test_growing(void)
{
    const crd_volume_info info = {.shape = {70, 5, 6}, .type = CRD_U8, .spacing = {1, 2, 3}, .unit = "um"};
    static uint8_t voxels[70 * 30], read[70 * 30];
    const char *path = scratch("grow.zarr");
    tools_fill(CRD_U8, sizeof voxels, 1, voxels);
    CHECK_OK(crd_zarr_grow(path, 3, &info, &volume));
    CHECK(crd_zarr_layer(volume) == 32 && crd_zarr_version(crd_volume_describe(volume)->format) == 3);
    CHECK_OK(crd_volume_write(volume, &(crd_box){{32, 0, 0}, {32, 5, 6}}, voxels + 32 * 30));
    CHECK(access(scratch("grow.zarr/0/c/1/0/0"), F_OK) == 0 && !crd_zarr_has_layer(volume, 0));
    CHECK(crd_zarr_has_layer(volume, 1));
    crd_volume_close(&volume); /* interrupted */
    CHECK_FAILS(crd_zarr_grow(path, 2, &info, &volume), CRD_ERR_MISMATCH, "another array");
    CHECK(access(scratch("grow.zarr/.zgroup"), F_OK) != 0); /* nothing of it was changed */
    CHECK_OK(crd_zarr_make_room(path, 3));
    CHECK_OK(crd_zarr_grow(path, 3, &info, &volume)); /* goes on */
    CHECK_OK(crd_volume_write(volume, &(crd_box){{0, 0, 0}, {32, 5, 6}}, voxels));
    CHECK_OK(crd_volume_write(volume, &(crd_box){{64, 0, 0}, {6, 5, 6}}, voxels + 64 * 30));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {70, 5, 6}}, CRD_U8, read));
    CHECK(memcmp(read, voxels, sizeof read) == 0 && crd_volume_describe(volume)->spacing[1] == 2.0);
    crd_volume_close(&volume);
    CHECK_FAILS(crd_volume_open(scratch("grow.zarr/3"), NULL, NULL, &volume), CRD_ERR_ARGUMENT, "0 is its only one");
    CHECK_OK(crd_zarr_make_room(path, 2));
    CHECK(access(path, F_OK) != 0);
}

static void test_clean_up(void)
{
    CHECK_OK(crd_zarr_remove(scratch("x.zarr")));
}

TEST_MAIN(TEST(test_layouts_that_lie), TEST(test_fill_values), TEST(test_shards), TEST(test_checksums),
          TEST(test_writing_shards), TEST(test_holes), TEST(test_growing), TEST(test_clean_up))
