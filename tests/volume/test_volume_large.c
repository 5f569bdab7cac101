/* Volumes beyond 4 GiB and 2^32 voxels, as sparse files: boxes near the end, in little memory and time. */
#include <fcntl.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <time.h>

#include "harness.h"
#include "volume_tools.h"

static crd_volume *volume;
static const int64_t shape[3] = {2100, 1600, 1300};      /* 4.37e9 voxels, 8.7 GB of u16 */
static const int64_t deep[3] = {INT64_C(5) << 30, 1, 1}; /* one axis alone exceeds 32 bits */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint16_t expected(int64_t z, int64_t y, int64_t x)
{
    return (uint16_t)(z * 31 + y * 7 + x + 1);
}

static void check_corner(const char *path, const crd_volume_options *options)
{
    static uint16_t voxels[64 * 64 * 64];
    const crd_box corner = {{shape[0] - 3, shape[1] - 2, shape[2] - 5}, {3, 2, 5}};
    const crd_box middle = {{1000, 800, 600}, {64, 64, 64}};
    struct rusage before, after;
    CHECK_OK(crd_volume_open(path, options, NULL, &volume));
    CHECK(memcmp(crd_volume_describe(volume)->shape, shape, sizeof shape) == 0);
    CHECK_OK(crd_volume_read(volume, &corner, CRD_U16, voxels));
    for (int64_t i = 0; i < 30; i++) {
        CHECK(voxels[i] == expected(corner.origin[0] + i / 10, corner.origin[1] + i / 5 % 2, corner.origin[2] + i % 5));
    }
    getrusage(RUSAGE_SELF, &before);
    const double start = seconds();
    CHECK_OK(crd_volume_read(volume, &middle, CRD_U16, voxels));
    const double took = seconds() - start;
    getrusage(RUSAGE_SELF, &after);
    printf("  a 64^3 box: %.1f ms, %ld KiB more at the peak\n", took * 1e3, after.ru_maxrss - before.ru_maxrss);
    for (size_t i = 0; i < sizeof voxels / sizeof voxels[0]; i++) CHECK(voxels[i] == 0);
    CHECK(took < 1.0);
    CHECK(after.ru_maxrss - before.ru_maxrss < 32 * 1024);
    crd_volume_close(&volume);
}

/* A hole of the right length with the voxels of the last corner in it. */
static int make_sparse(const char *path, const char *header, size_t header_bytes)
{
    const off_t start = (off_t)header_bytes;
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    int good = fd >= 0 && pwrite(fd, header, header_bytes, 0) == (ssize_t)header_bytes &&
               ftruncate(fd, start + (off_t)(shape[0] * shape[1] * shape[2] * 2)) == 0;
    for (int64_t z = shape[0] - 3; z < shape[0]; z++) {
        for (int64_t y = shape[1] - 2; y < shape[1]; y++) {
            for (int64_t x = shape[2] - 5; x < shape[2]; x++) {
                const uint16_t value = expected(z, y, x);
                good = good && pwrite(fd, &value, 2, start + (off_t)(((z * shape[1] + y) * shape[2] + x) * 2)) == 2;
            }
        }
    }
    return fd >= 0 && close(fd) == 0 && good;
}

static void test_raw(void)
{
    if (!make_sparse(scratch("large.raw"), "", 0)) SKIP("no sparse files here");
    check_corner(scratch("large.raw"), &(crd_volume_options){.shape = {2100, 1600, 1300}, .type = "u16le"});
    CHECK(unlink(scratch("large.raw")) == 0);
}

static void test_npy(void)
{
    static const char text[] = "{'descr': '<u2', 'fortran_order': False, 'shape': (2100, 1600, 1300), }";
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(header + 10, text, sizeof text - 1);
    header[127] = '\n';
    if (!make_sparse(scratch("large.npy"), header, sizeof header)) SKIP("no sparse files here");
    check_corner(scratch("large.npy"), NULL);
    CHECK(unlink(scratch("large.npy")) == 0);
}

static void test_hdf5(void)
{
    const crd_volume_info info = {.shape = {shape[0], shape[1], shape[2]}, .type = CRD_U16};
    const crd_box corner = {{shape[0] - 3, shape[1] - 2, shape[2] - 5}, {3, 2, 5}};
    uint16_t voxels[30];
    for (int64_t i = 0; i < 30; i++) {
        voxels[i] = expected(corner.origin[0] + i / 10, corner.origin[1] + i / 5 % 2, corner.origin[2] + i % 5);
    }
    CHECK_OK(crd_volume_create(scratch("large.h5"), &info, NULL, &volume));
    CHECK_OK(crd_volume_write(volume, &corner, voxels));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    check_corner(scratch("large.h5"), NULL);
}

static void test_one_long_axis(void)
{
    const int fd = open(scratch("long.raw"), O_RDWR | O_CREAT | O_TRUNC, 0666);
    const uint8_t mark = 42;
    uint8_t voxels[2];
    if (fd < 0 || ftruncate(fd, deep[0]) != 0 || pwrite(fd, &mark, 1, deep[0] - 2) != 1) SKIP("no sparse files here");
    close(fd);
    for (int axis = 0; axis < 3; axis++) {
        crd_volume_options options = {.shape = {1, 1, 1}, .type = "u8"};
        crd_box box = {.origin = {0, 0, 0}, .size = {1, 1, 1}};
        options.shape[axis] = deep[0];
        box.origin[axis] = deep[0] - 2;
        box.size[axis] = 2;
        CHECK_OK(crd_volume_open(scratch("long.raw"), &options, NULL, &volume));
        CHECK_OK(crd_volume_read(volume, &box, CRD_U8, voxels));
        CHECK(voxels[0] == 42 && voxels[1] == 0);
        crd_volume_close(&volume);
    }
    CHECK(unlink(scratch("long.raw")) == 0);
}

TEST_MAIN(TEST(test_raw), TEST(test_npy), TEST(test_hdf5), TEST(test_one_long_axis))
