/* HDF5 files are read by a process of their own: what that makes of files on which libhdf5 crashes or hangs, that it
 * gives the same voxels and words, and that what it says isn't believed. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/hdf5/sandbox.h"
#include "harness.h"
#include "volume/hdf5/remote.h"
#include "volume_tools.h"

static crd_volume *volume; /* stays NULL through every failure */

/* All files on which libhdf5 was seen to fail: a sentence or voxels, and this process lives. */
static void test_files_that_crash_libhdf5(void)
{
    static const char *const names[] = {"attribute", "compact", "datatype", "filter_name", "link_table", "text_index"};
    const char *source = getenv("CREDENCE_SOURCE");
    int crashed = 0;
    if (source == NULL) SKIP("CREDENCE_SOURCE isn't set");
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        char path[1024];
        static double voxels[1 << 12];
        snprintf(path, sizeof path, "%s/fuzz/libhdf5/%s.h5%s", source, names[i / 2], i % 2 == 0 ? "" : ":/x");
        const crd_status status = crd_volume_open(path, NULL, NULL, &volume);
        if (status == CRD_OK) {
            const int64_t *shape = crd_volume_describe(volume)->shape;
            const crd_box box = {.size = {1, 1, shape[2] < 4096 ? shape[2] : 4096}};
            (void)crd_volume_read(volume, &box, CRD_F64, voxels);
            crd_volume_close(&volume);
        } else {
            CHECK(volume == NULL && strstr(crd_last_error()->message, names[i / 2]) != NULL);
            crashed += strstr(crd_last_error()->message, "makes libhdf5 crash") != NULL;
        }
    }
    printf("%d openings crashed libhdf5 %d.%d.%d\n", crashed, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
}

typedef enum layout { PLAIN, CHUNKED, PACKED, COMPACT, HOLES, ODD, LAYOUTS } layout;

enum { Z = 20, Y = 30, X = 40, VOXELS = Z * Y * X };

static void make_file(const char *path, layout kind)
{
    static uint16_t voxels[VOXELS];
    const bool small = kind == COMPACT;
    const hsize_t dims[3] = {small ? 4 : Z, small ? 10 : Y, X}, chunk[3] = {7, 16, 16};
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t type = H5Tcopy(kind == CHUNKED ? H5T_STD_U16BE : H5T_STD_U16LE);
    const uint16_t fill = 77;
    tools_fill(CRD_U16, VOXELS, 3, voxels);
    if (kind == ODD) CHECK(H5Tset_precision(type, 12) >= 0);
    if (kind == COMPACT) CHECK(H5Pset_layout(creation, H5D_COMPACT) >= 0);
    if (kind == CHUNKED || kind == PACKED || kind == HOLES) CHECK(H5Pset_chunk(creation, 3, chunk) >= 0);
    if (kind == PACKED) CHECK(H5Pset_shuffle(creation) >= 0 && H5Pset_deflate(creation, 3) >= 0);
    CHECK(H5Pset_fill_value(creation, H5T_NATIVE_UINT16, &fill) >= 0);
    const hid_t set = H5Dcreate2(file, "data", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const hsize_t start[3] = {0}, part[3] = {7, 16, 16};
    const hid_t memory = H5Screate_simple(3, kind == HOLES ? part : dims, NULL);
    if (kind == HOLES) CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL) >= 0);
    CHECK(H5Dwrite(set, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, voxels) >= 0);
    CHECK(H5Sclose(memory) >= 0 && H5Dclose(set) >= 0 && H5Tclose(type) >= 0 && H5Pclose(creation) >= 0 &&
          H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

/* Voxels, and boxes across the borders of chunks, here and there. */
static void test_same_voxels(void)
{
    static uint16_t here[VOXELS], there[VOXELS];
    for (int kind = 0; kind < LAYOUTS; kind++) {
        const char *path = scratch("a.h5");
        crd_volume *trusted = NULL;
        make_file(path, (layout)kind);
        CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
        crd_trust_files(true);
        CHECK_OK(crd_volume_open(path, NULL, NULL, &trusted));
        crd_trust_files(false);
        const crd_volume_info *a = crd_volume_describe(volume), *b = crd_volume_describe(trusted);
        CHECK(memcmp(a->shape, b->shape, sizeof a->shape) == 0 && a->type == CRD_U16 && b->type == CRD_U16);
        const crd_box boxes[] = {{.size = {a->shape[0], a->shape[1], a->shape[2]}},
                                 {{1, 3, 5}, {2, 4, 30}},
                                 {{a->shape[0] - 1, a->shape[1] - 1, 0}, {1, 1, a->shape[2]}}};
        for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
            memset(here, 0, sizeof here);
            memset(there, 1, sizeof there);
            const size_t bytes = 2 * (size_t)(boxes[i].size[0] * boxes[i].size[1] * boxes[i].size[2]);
            CHECK_OK(crd_volume_read(trusted, &boxes[i], CRD_U16, here));
            CHECK_OK(crd_volume_read(volume, &boxes[i], CRD_U16, there));
            CHECK(memcmp(here, there, bytes) == 0);
        }
        if (kind == HOLES) {
            CHECK_OK(crd_volume_read(volume, &boxes[2], CRD_U16, there));
            CHECK(there[0] == 77 && there[39] == 77);
        }
        crd_volume_close(&trusted);
        crd_volume_close(&volume);
    }
}

/* Boxes that the shared memory doesn't hold at once, of chunks that only libhdf5 unpacks: in orders that follow the
 * chunks, where a layer of them fits and where none does, and begun amid a chunk. */
static void test_large_boxes(void)
{
    static const hsize_t shapes[][3] = {{30, 500, 400}, {9, 1200, 1100}, {2, 3, 1500000}};
    static const hsize_t chunks[][3] = {{7, 90, 400}, {9, 90, 1100}, {1, 2, 300000}};
    for (int i = 0; i < 3; i++) {
        const char *path = scratch("a.h5");
        const int64_t z = (int64_t)shapes[i][0], y = (int64_t)shapes[i][1], x = (int64_t)shapes[i][2],
                      count = z * y * x;
        uint16_t *written = calloc((size_t)count, sizeof *written), *read = calloc((size_t)count, sizeof *read);
        CHECK(written != NULL && read != NULL);
        tools_fill(CRD_U16, count, 5, written);
        for (int64_t k = 0; k < count; k++) written[k] &= 4095;
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), type = H5Tcopy(H5T_STD_U16LE);
        const hid_t space = H5Screate_simple(3, shapes[i], NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
        CHECK(H5Tset_precision(type, 12) >= 0 && H5Pset_chunk(creation, 3, chunks[i]) >= 0);
        const hid_t set = H5Dcreate2(file, "data", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        CHECK(H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) >= 0);
        CHECK(H5Dclose(set) >= 0 && H5Pclose(creation) >= 0 && H5Sclose(space) >= 0 && H5Tclose(type) >= 0 &&
              H5Fclose(file) >= 0);
        const crd_box whole = {.size = {z, y, x}}, part = {.origin = {1, 1, 3}, .size = {z - 1, y - 1, x - 3}};
        CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
        CHECK_OK(crd_volume_read(volume, &whole, CRD_U16, read));
        CHECK(memcmp(read, written, (size_t)count * sizeof *read) == 0);
        CHECK_OK(crd_volume_read(volume, &part, CRD_U16, read));
        for (int64_t row = 0; row < (z - 1) * (y - 1); row++) {
            const int64_t from = ((1 + row / (y - 1)) * y + 1 + row % (y - 1)) * x + 3;
            CHECK(memcmp(read + row * (x - 3), written + from, (size_t)(x - 3) * sizeof *read) == 0);
        }
        crd_volume_close(&volume);
        free(written);
        free(read);
    }
}

/* The one process that is our child. */
static pid_t helper_of_this_process(void)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    const bool got = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    return got ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* It is killed between two boxes, and stopped and killed while a box is awaited. */
static void test_helper_that_dies(void)
{
    static uint16_t voxels[VOXELS];
    const char *path = scratch("a.h5");
    make_file(path, ODD);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    const pid_t helper = helper_of_this_process();
    if (helper == 0) {
        crd_volume_close(&volume);
        SKIP("no list of children in /proc");
    }
    CHECK(kill(helper, SIGSEGV) == 0);
    const crd_box all = {.size = {Z, Y, X}};
    CHECK_FAILS(crd_volume_read(volume, &all, CRD_U16, voxels), CRD_ERR_FORMAT, "makes libhdf5 crash (Segmentation");
    CHECK_FAILS(crd_volume_read(volume, &all, CRD_U16, voxels), CRD_ERR_FORMAT, "can't be read any more");
    crd_volume_close(&volume);
    CHECK(helper_of_this_process() == 0);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    CHECK(kill(helper_of_this_process(), SIGXCPU) == 0); /* as the limit on its time does */
    CHECK_FAILS(crd_volume_read(volume, &all, CRD_U16, voxels), CRD_ERR_FORMAT, "busy without an end");
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    CHECK(kill(helper_of_this_process(), SIGKILL) == 0); /* as a system without memory does */
    CHECK_FAILS(crd_volume_read(volume, &all, CRD_U16, voxels), CRD_ERR_MEMORY, "where memory runs out");
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    for (int i = 0; i < 3; i++) CHECK(kill(helper_of_this_process(), i == 0 ? SIGINT : i == 1 ? SIGTERM : SIGHUP) == 0);
    CHECK_OK(crd_volume_read(volume, &all, CRD_U16, voxels)); /* stopping is for us alone */
    crd_volume_close(&volume);
    make_file(path, PLAIN);
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    CHECK(helper_of_this_process() == 0); /* read without it */
    crd_volume_close(&volume);
}

/* A copy of this process starts a helper of its own. */
static void test_fork(void)
{
    static uint16_t voxels[VOXELS];
    const crd_box all = {.size = {Z, Y, X}};
    int status = 1;
    make_file(scratch("a.h5"), ODD);
    CHECK_OK(crd_volume_open(scratch("a.h5"), NULL, NULL, &volume));
    CHECK_OK(crd_volume_read(volume, &all, CRD_U16, voxels));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        static uint16_t again[VOXELS];
        const bool same = crd_volume_read(volume, &all, CRD_U16, again) == CRD_OK &&
                          memcmp(again, voxels, sizeof voxels) == 0 &&
                          crd_volume_read(volume, &all, CRD_U16, again) == CRD_OK;
        crd_volume_close(&volume);
        _exit(same ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(crd_volume_read(volume, &all, CRD_U16, voxels));
    crd_volume_close(&volume);
}

/* Of the helpers that have ended. */
static double seconds_of_helpers(void)
{
    struct rusage used = {.ru_maxrss = 0};
    (void)getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* A small file may claim millions of chunks: those that a box needs are asked for, and no others. */
static void test_many_chunks_that_are_missing(void)
{
    static const hsize_t shape[3] = {4, 1500, 1500}, chunk[3] = {1, 1, 1};
    static uint16_t voxels[16 * 16];
    const uint16_t fill = 77;
    const hid_t file = H5Fcreate(scratch("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, shape, NULL);
    CHECK(H5Pset_chunk(creation, 3, chunk) >= 0 && H5Pset_fill_value(creation, H5T_NATIVE_UINT16, &fill) >= 0);
    CHECK(H5Dclose(H5Dcreate2(file, "x", H5T_NATIVE_USHORT, space, H5P_DEFAULT, creation, H5P_DEFAULT)) >= 0);
    CHECK(H5Sclose(space) >= 0 && H5Pclose(creation) >= 0 && H5Fclose(file) >= 0);
    const double before = seconds_of_helpers();
    CHECK_OK(crd_volume_open(scratch("a.h5"), NULL, NULL, &volume));
    for (int z = 0; z < 4; z += 3) {
        const crd_box box = {{z, 700, 1484}, {1, 16, 16}};
        memset(voxels, 0, sizeof voxels);
        CHECK_OK(crd_volume_read(volume, &box, CRD_U16, voxels));
        for (int i = 0; i < 16 * 16; i++) CHECK(voxels[i] == 77);
    }
    crd_volume_close(&volume);
    CHECK(seconds_of_helpers() - before < 2);
}

/* What a helper in the wrong hands could say of chunks. */
static void test_lies(void)
{
    enum { CACHE = 1 << 20 };
    const crd_hdf5_grid good = {.channel = -1,
                                .shape = {20, 30, 40},
                                .chunk = {7, 16, 16},
                                .counts = {3, 2, 3},
                                .file_bytes = 5000,
                                .type = CRD_U16,
                                .stored = CRD_U16,
                                .size = 2,
                                .pipeline = {.count = 1, .filters = {CRD_HDF5_DEFLATE}}};
    CHECK(crd_hdf5_grid_is_sound(&good, CACHE));
    crd_hdf5_grid lies[14];
    for (size_t i = 0; i < 14; i++) lies[i] = good;
    lies[0].shape[1] = 0;
    lies[1].chunk[2] = -16;
    lies[2].counts[0] = 1000; /* places would be looked for behind their table */
    lies[3].size = 8;
    lies[4].type = CRD_F64;
    lies[5].stored = 99;
    lies[6].type = (crd_type)-1;
    lies[7].pipeline.count = CRD_HDF5_FILTERS + 1;
    lies[8].pipeline.filters[0] = (crd_hdf5_filter)307;
    lies[9].pipeline.value_bytes = 3;
    lies[10].channel = 4;
    for (int i = 0; i < 3; i++) {
        lies[11].shape[i] = lies[11].chunk[i] = INT64_C(1) << 40; /* overflows */
        lies[11].counts[i] = 1;
    }
    lies[12].shape[2] = lies[12].chunk[2] = 1 << 20; /* a chunk larger than half the cache */
    lies[12].counts[2] = 1;
    lies[13].pipeline.count = -1;
    for (size_t i = 0; i < 14; i++) {
        if (crd_hdf5_grid_is_sound(&lies[i], CACHE)) CHECK_FAILED("lie %zu is believed", i);
    }
}

/* A file that this process has open for its children isn't handed on to the helper. */
static void test_open_files(void)
{
    char path[64];
    make_file(scratch("a.h5"), ODD);
    const int open_for_all = open("/dev/null", O_RDONLY), other = fcntl(open_for_all, F_DUPFD, 40); /* no O_CLOEXEC */
    CHECK(open_for_all >= 0 && other >= 40);
    CHECK_OK(crd_volume_open(scratch("a.h5"), NULL, NULL, &volume));
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)helper_of_this_process());
    DIR *listing = opendir(path);
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        const long number = strtol(entry->d_name, NULL, 10);
        if (number > CRD_HELPER_FILE) CHECK_FAILED("the helper has file %ld open", number);
    }
    if (listing != NULL) (void)closedir(listing);
    crd_volume_close(&volume);
    CHECK(close(open_for_all) == 0 && close(other) == 0);
    if (listing == NULL) SKIP("no list of open files in /proc");
}

/* A helper that is asked by another version than its own ends at once, and a program that finds such a one says so. */
static void test_another_version(void)
{
    int pair[2], status = 0;
    char strange[CRD_HELPER_MARK] = "credence 0.0.1 1 2 3 4";
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (pair[0] != CRD_HELPER_SOCKET) (void)dup2(pair[0], CRD_HELPER_SOCKET);
        _exit(crd_hdf5_serve());
    }
    CHECK(child > 0 && write(pair[1], strange, sizeof strange) == (ssize_t)sizeof strange);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == CRD_HELPER_STRANGER);
    CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
    make_file(scratch("a.h5"), PLAIN);
    FILE *file = fopen(scratch("credence-hdf5"), "w");
    CHECK(file != NULL && fputs("#!/bin/sh\nexit 4\n", file) >= 0 && fclose(file) == 0);
    CHECK(chmod(scratch("credence-hdf5"), 0700) == 0 && setenv("CREDENCE_PLUGINS", scratch("."), 1) == 0);
    CHECK_FAILS(crd_volume_open(scratch("a.h5"), NULL, NULL, &volume), CRD_ERR_SYSTEM, "of another version");
    CHECK(unsetenv("CREDENCE_PLUGINS") == 0 && unlink(scratch("credence-hdf5")) == 0);
}

static void test_without_helper(void)
{
    make_file(scratch("a.h5"), PLAIN);
    FILE *file = fopen(scratch("credence-hdf5"), "w");
    CHECK(file != NULL && fputs("#!/bin/sh\nexit 7\n", file) >= 0 && fclose(file) == 0);
    CHECK(setenv("CREDENCE_PLUGINS", scratch("."), 1) == 0);
    CHECK_FAILS(crd_volume_open(scratch("a.h5"), NULL, NULL, &volume), CRD_ERR_SYSTEM, "can't be started");
    CHECK(chmod(scratch("credence-hdf5"), 0700) == 0);
    CHECK_FAILS(crd_volume_open(scratch("a.h5"), NULL, NULL, &volume), CRD_ERR_FORMAT, "without an answer (exit 7)");
    CHECK(unsetenv("CREDENCE_PLUGINS") == 0 && unlink(scratch("credence-hdf5")) == 0);
}

/* What the helper may still do: to read, to compute; not to write, to connect, or to start anything. */
static void test_sandbox(void)
{
    int status = 1;
    const char *path = scratch("written");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        crd_sandbox_enter((int64_t)256 << 20);
        const int reading = open("/proc/self/exe", O_RDONLY);
        const bool writes =
            open(path, O_WRONLY | O_CREAT, 0600) >= 0 || mkdir(path, 0700) == 0 || symlink("a", path) == 0;
        const bool removes = unlink(scratch("a.h5")) == 0;
        const bool connects = socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
        const bool starts = execl("/bin/true", "true", (char *)NULL) == 0;
        const bool kills = kill(getppid(), 0) == 0;
        void *large = malloc((size_t)1 << 30);
        _exit((reading < 0) | writes << 1 | removes << 2 | connects << 3 | starts << 4 | kills << 5 |
              (large != NULL) << 6);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    status &= ~(64 << 8);
#endif
    if ((WEXITSTATUS(status) & 8) != 0) SKIP("this kernel has no seccomp");
    if (WEXITSTATUS(status) != 0) CHECK_FAILED("allowed: %d", WEXITSTATUS(status));
    CHECK(access(path, F_OK) != 0 && access(scratch("a.h5"), F_OK) == 0);
}

TEST_MAIN(TEST(test_files_that_crash_libhdf5), TEST(test_same_voxels), TEST(test_large_boxes),
          TEST(test_helper_that_dies), TEST(test_fork), TEST(test_many_chunks_that_are_missing), TEST(test_lies),
          TEST(test_open_files), TEST(test_another_version), TEST(test_without_helper), TEST(test_sandbox))
