/* Any range of a gzip or zlib stream: against the plain bytes, with caches that hold next to nothing. */
#include <fcntl.h>
#include <zlib.h>

#include "base/memory.h"
#include "harness.h"
#include "volume/array/unpack.h"
#include "volume_tools.h"

enum { PLAIN = 24 << 20, HEAD = 13 };

static unsigned char *plain;

/* Compressible in parts, and not at all in others. */
static void make_plain(void)
{
    uint64_t state = 7;
    if (plain != NULL) return;
    plain = malloc(PLAIN);
    for (size_t i = 0; i < PLAIN; i++) {
        if (i % 4096 == 0) state += i / (1 << 20);
        plain[i] = i / 300000 % 3 == 0   ? (unsigned char)tools_random(&state)
                   : i / 300000 % 3 == 1 ? (unsigned char)(i / 7)
                                         : (unsigned char)(tools_random(&state) & 3);
    }
}

/* Appends plain[from, to) as one member. */
static void add_member(FILE *file, size_t from, size_t to, int format)
{
    z_stream z;
    unsigned char *out = malloc(to - from + 4096);
    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, 3, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY) != Z_OK) exit(1);
    z.next_in = plain + from;
    z.avail_in = (uInt)(to - from);
    z.next_out = out;
    z.avail_out = (uInt)(to - from + 4096);
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) exit(1);
    if (fwrite(out, 1, z.total_out, file) != z.total_out) exit(1);
    deflateEnd(&z);
    free(out);
}

static int64_t write_stream(const char *path, crd_packing packing, int members)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite("thirteen byte", 1, HEAD, file) != HEAD) exit(1);
    for (int i = 0; i < members; i++) {
        add_member(file, (size_t)i * (PLAIN / (size_t)members), (size_t)(i + 1) * (PLAIN / (size_t)members),
                   packing == CRD_PACKING_GZIP ? 15 + 16 : 15);
    }
    const int64_t bytes = ftell(file);
    if (fclose(file) != 0) exit(1);
    return bytes;
}

static void read_ranges(crd_packing packing, int members, size_t cache)
{
    const char *path = scratch("stream");
    const int64_t bytes = write_stream(path, packing, members);
    static unsigned char got[3 << 20];
    crd_unpack *u = NULL;
    uint64_t state = 3;
    const int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_OK(crd_unpack_open(fd, path, HEAD, bytes, packing, cache, NULL, &u));
    CHECK_OK(crd_unpack_read(u, 5, got, 100)); /* before the size is known */
    CHECK(memcmp(got, plain + 5, 100) == 0);
    CHECK_OK(crd_unpack_expect(u, PLAIN));
    for (int i = 0; i < 60; i += sparse(4, "ranges")) {
        const size_t most = i % 8 == 0 ? sizeof got : 5000, offset = tools_random(&state) % (PLAIN - 1);
        size_t count = 1 + tools_random(&state) % most;
        if (count > PLAIN - offset) count = PLAIN - offset;
        CHECK_OK(crd_unpack_read(u, (int64_t)offset, got, count));
        CHECK(memcmp(got, plain + offset, count) == 0);
    }
    CHECK_OK(crd_unpack_read(u, PLAIN - 10, got, 10)); /* to the end: the checksum was looked at */
    crd_unpack_close(&u);
    close(fd);
}

static void test_ranges(void)
{
    make_plain();
    read_ranges(CRD_PACKING_GZIP, 1, 8 << 20);
    if (!harness_failed) read_ranges(CRD_PACKING_GZIP, 1, 64 << 10);
    if (!harness_failed) read_ranges(CRD_PACKING_GZIP, 6, 1 << 20);
    if (!harness_failed) read_ranges(CRD_PACKING_ZLIB, 1, 1 << 20);
}

static crd_status read_all(const char *path, int64_t bytes, int64_t expected)
{
    crd_unpack *u = NULL;
    static unsigned char got[1 << 20];
    const int fd = open(path, O_RDONLY);
    crd_status status = crd_unpack_open(fd, path, HEAD, bytes, CRD_PACKING_GZIP, 4 << 20, NULL, &u);
    if (status == CRD_OK) status = crd_unpack_expect(u, expected);
    for (int64_t at = 0; at < expected && status == CRD_OK; at += (int64_t)sizeof got) {
        const int64_t left = expected - at;
        status = crd_unpack_read(u, at, got, left < (int64_t)sizeof got ? (size_t)left : sizeof got);
    }
    crd_unpack_close(&u);
    close(fd);
    return status;
}

static void test_damage(void)
{
    make_plain();
    const char *path = scratch("damaged");
    const int64_t bytes = write_stream(path, CRD_PACKING_GZIP, 1);
    CHECK_OK(read_all(path, bytes, PLAIN));
    CHECK_OK(read_all(path, bytes, PLAIN / 2)); /* more is there than is wanted */
    CHECK_FAILS(read_all(path, bytes, PLAIN + 1), CRD_ERR_FORMAT, "speaks of more");
    CHECK_FAILS(read_all(path, bytes, INT64_C(1) << 40), CRD_ERR_FORMAT, "can't hold");
    CHECK_FAILS(read_all(path, bytes - 1000, PLAIN), CRD_ERR_FORMAT, "ends within");
    CHECK_FAILS(read_all(path, bytes - 3, PLAIN), CRD_ERR_FORMAT, "ends within"); /* within the checksum */
    const int fd = open(path, O_RDWR);
    unsigned char byte;
    CHECK(pread(fd, &byte, 1, bytes - 6) == 1); /* of the checksum */
    byte ^= 1;
    CHECK(pwrite(fd, &byte, 1, bytes - 6) == 1);
    CHECK_FAILS(read_all(path, bytes, PLAIN), CRD_ERR_FORMAT, "checksum");
    CHECK(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, bytes / 2) == 8);
    CHECK(read_all(path, bytes, PLAIN) == CRD_ERR_FORMAT);
    CHECK(pwrite(fd, "x", 1, HEAD) == 1);
    CHECK_FAILS(read_all(path, bytes, PLAIN), CRD_ERR_FORMAT, "doesn't begin like it");
    close(fd);
}

static void test_after_a_failure(void)
{
    make_plain();
    const char *path = scratch("half");
    int64_t bytes = write_stream(path, CRD_PACKING_GZIP, 1);
    crd_unpack *u = NULL;
    unsigned char got[1000];
    const int fd = open(path, O_RDONLY);
    CHECK_OK(crd_unpack_open(fd, path, HEAD, bytes / 2, CRD_PACKING_GZIP, 1 << 20, NULL, &u));
    CHECK_OK(crd_unpack_expect(u, PLAIN));
    for (int i = 0; i < 3; i++) { /* what comes before the damage can still be read, whatever failed before */
        CHECK_FAILS(crd_unpack_read(u, PLAIN - 1000, got, 1000), CRD_ERR_FORMAT, "cut short");
        CHECK_OK(crd_unpack_read(u, 7000000 - i * 3000000, got, 1000));
        CHECK(memcmp(got, plain + 7000000 - i * 3000000, 1000) == 0);
    }
    crd_unpack_close(&u);
    close(fd);
}

TEST_MAIN(TEST(test_ranges), TEST(test_damage), TEST(test_after_a_failure))
