/* Files that are broken, lie, or can't be written: one sentence with the file's name, nothing left behind. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "harness.h"
#include "volume/array/npy_header.h"
#include "volume_tools.h"

static crd_volume *volume; /* stays NULL through every failure */

static void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static size_t read_bytes(const char *path, char *out, size_t room)
{
    FILE *file = fopen(path, "rb");
    const size_t count = file != NULL ? fread(out, 1, room, file) : 0;
    if (file != NULL) fclose(file);
    return count;
}

static crd_status save(const char *path, const int64_t shape[3], const crd_volume_options *options)
{
    crd_volume *out = NULL;
    const crd_volume_info info = {.shape = {shape[0], shape[1], shape[2]}, .type = CRD_U16};
    const int64_t slice = shape[1] * shape[2];
    uint16_t *voxels = malloc((size_t)slice * 2);
    crd_status status = crd_volume_create(path, &info, options, &out);
    for (int64_t z = 0; z < shape[0] && status == CRD_OK; z++) {
        tools_fill(CRD_U16, slice, (uint64_t)z, voxels);
        status = crd_volume_write(out, &(crd_box){{z, 0, 0}, {1, shape[1], shape[2]}}, voxels);
    }
    if (status == CRD_OK) status = crd_volume_commit(out);
    crd_volume_close(&out);
    free(voxels);
    return status;
}

static void check_npy_text(const char *text, crd_status expected, const char *words)
{
    crd_npy_header header;
    CHECK_FAILS(crd_npy_parse("x.npy", text, strlen(text), &header), expected, words);
    CHECK(strstr(crd_last_error()->message, "x.npy") != NULL);
}

static void test_npy_headers(void)
{
    crd_npy_header h;
    const char good[] = "{\"shape\" : ( 3L , 4,5 ,) ,'descr':'>f4','fortran_order':True}  \n";
    CHECK_OK(crd_npy_parse("x.npy", good, sizeof good - 1, &h));
    CHECK(h.dim_count == 3 && h.dims[0] == 3 && h.dims[2] == 5 && h.fortran && h.swap && h.stored == CRD_F32);
    const char empty_shape[] = "{'descr': '|b1', 'fortran_order': False, 'shape': (), }";
    CHECK_OK(crd_npy_parse("x.npy", empty_shape, sizeof empty_shape - 1, &h));
    CHECK(h.dim_count == 0 && h.stored == CRD_U8);
    /* Cut at every place, it is refused and nothing is read beyond the end. */
    for (size_t i = 0; i + 4 < sizeof good; i++) {
        char *copy = malloc(i + 1);
        memcpy(copy, good, i);
        const crd_status status = crd_npy_parse("x.npy", copy, i, &h);
        free(copy);
        CHECK(status != CRD_OK);
    }
    check_npy_text("", CRD_ERR_FORMAT, "no dictionary");
    check_npy_text("{}", CRD_ERR_FORMAT, "missing");
    check_npy_text("{'descr': '<u2', 'fortran_order': Maybe, 'shape': (1,2,3)}", CRD_ERR_FORMAT, "neither True");
    check_npy_text("{'descr': '<u2', 'fortran_order': False, 'shape': (1,-2,3)}", CRD_ERR_FORMAT, "plain numbers");
    check_npy_text("{'descr': '<u2', 'fortran_order': False, 'shape': (1,99999999999999999999,3)}", CRD_ERR_FORMAT,
                   "too large");
    check_npy_text("{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", CRD_ERR_FORMAT,
                   "too many");
    check_npy_text("{'descr': '<u2', 'descr': '<u4', 'fortran_order': False, 'shape': (1,2,3)}", CRD_ERR_FORMAT,
                   "twice");
    check_npy_text("{'descr': [('a','<u2')], 'fortran_order': False, 'shape': (1,2,3)}", CRD_ERR_UNSUPPORTED,
                   "records");
    check_npy_text("{'descr': '<c8', 'fortran_order': False, 'shape': (1,2,3)}", CRD_ERR_UNSUPPORTED, "'<c8'");
    check_npy_text("{'descr': '', 'fortran_order': False, 'shape': (1,2,3)}", CRD_ERR_UNSUPPORTED, "type");
    check_npy_text("{'descr': '<u2', 'fortran_order': False, 'shape': (1,2,3)} x", CRD_ERR_FORMAT, "follows");
}

static void test_npy_files_that_lie(void)
{
    static const char *const shapes[] = {"(4, 4, 5)",
                                         "(1099511627776, 1099511627776, 1099511627776)",
                                         "(4611686018427387904, 1, 1)",
                                         "(0, 4, 4)",
                                         "(4, 4)",
                                         "(2, 4, 4, 2)"};
    static const char *const words[] = {"too short",  "can't hold",   "can't hold",
                                        "can't hold", "2 dimensions", "4 dimensions"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char file[400] = "\x93NUMPY\x01";
        const int text = snprintf(file + 10, sizeof file - 10,
                                  "{'descr': '<u2', 'fortran_order': False, 'shape': %s, }\n", shapes[i]);
        file[8] = (char)text;
        write_bytes(scratch("lie.npy"), file, (size_t)text + 10 + 4 * 4 * 4 * 2);
        const crd_status status = crd_volume_open(scratch("lie.npy"), NULL, NULL, &volume);
        CHECK(status == CRD_ERR_FORMAT || status == CRD_ERR_UNSUPPORTED);
        CHECK(volume == NULL && strstr(crd_last_error()->message, "lie.npy") != NULL);
        if (strstr(crd_last_error()->message, words[i]) == NULL) CHECK_FAILED("%s", crd_last_error()->message);
    }
    char file[64] = "\x93NUMPY\x09";
    write_bytes(scratch("version.npy"), file, sizeof file);
    CHECK_FAILS(crd_volume_open(scratch("version.npy"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "version 9.0");
    file[6] = 2;
    memset(file + 8, 0xff, 4);
    write_bytes(scratch("long.npy"), file, sizeof file);
    CHECK_FAILS(crd_volume_open(scratch("long.npy"), NULL, NULL, &volume), CRD_ERR_FORMAT, "4294967295");
    write_bytes(scratch("short.npy"), file, 9);
    CHECK_FAILS(crd_volume_open(scratch("short.npy"), NULL, NULL, &volume), CRD_ERR_FORMAT, "cut off");
    write_bytes(scratch("not.npy"), "hello, this is no array", 23);
    CHECK_FAILS(crd_volume_open(scratch("not.npy"), NULL, NULL, &volume), CRD_ERR_FORMAT, "doesn't begin like");
}

/* A superblock that speaks of 3 GB for libhdf5's file driver, which libhdf5 would take before it looks at the file. */
static void test_hdf5_driver_information(void)
{
    enum { OFFSET_SIZE = 13, LENGTH_SIZE = 14, FREE = 32, END = 40, DRIVER = 48, BYTES = 160, AT = 96, SIZE = AT + 4 };
    unsigned char file[BYTES] = "\x89HDF\r\n\x1a\n";
    file[OFFSET_SIZE] = file[LENGTH_SIZE] = 8;
    memset(file + FREE, 0xff, 8);
    file[END] = BYTES;
    file[DRIVER] = AT;
    file[SIZE + 3] = 0xc8;
    write_bytes(scratch("driver.h5"), file, sizeof file);
    CHECK_FAILS(crd_volume_open(scratch("driver.h5"), NULL, NULL, &volume), CRD_ERR_FORMAT, "driver information");
    file[SIZE + 3] = 0;
    file[DRIVER + 6] = 1;
    write_bytes(scratch("driver.h5"), file, sizeof file);
    CHECK_FAILS(crd_volume_open(scratch("driver.h5"), NULL, NULL, &volume), CRD_ERR_FORMAT, "driver information");
    memset(file + DRIVER, 0xff, 8); /* none: the rest is libhdf5's to refuse */
    write_bytes(scratch("driver.h5"), file, sizeof file);
    CHECK_FAILS(crd_volume_open(scratch("driver.h5"), NULL, NULL, &volume), CRD_ERR_FORMAT, "as an HDF5 file");
}

static void test_files_cut_at_every_size(void)
{
    static const char *const names[] = {"cut.npy", "cut.h5", "cut.raw"};
    static char bytes[1 << 16], out[1 << 16];
    for (int i = 0; i < 3; i++) {
        const char *path = scratch(names[i]);
        CHECK_OK(save(path, (const int64_t[3]){5, 6, 7}, NULL));
        const size_t count = read_bytes(path, bytes, sizeof bytes);
        CHECK(count > 400);
        const size_t step = (size_t)sparse(4, "lengths of files");
        for (size_t n = 0; n < count; n += n < 200 || n + 20 > count ? step : 37) {
            write_bytes(path, bytes, n);
            const crd_status opened = crd_volume_open(path, NULL, NULL, &volume);
            if (opened == CRD_OK) { /* libhdf5 may not need the last bytes */
                (void)crd_volume_read(volume, &(crd_box){.size = {5, 6, 7}}, CRD_U16, out);
                CHECK(i == 1);
            } else {
                CHECK(strstr(crd_last_error()->message, names[i]) != NULL);
                CHECK(strchr(crd_last_error()->message, '\n') == NULL);
            }
            crd_volume_close(&volume);
        }
    }
}

static void test_raw_needs_to_be_described(void)
{
    char voxels[48] = {0};
    const crd_volume_options given = {.shape = {2, 3, 4}, .type = "u16be"};
    write_bytes(scratch("bare.raw"), voxels, sizeof voxels);
    CHECK_FAILS(crd_volume_open(scratch("bare.raw"), NULL, NULL, &volume), CRD_ERR_ARGUMENT,
                "shape and type are unknown");
    CHECK_OK(crd_volume_open(scratch("bare.raw"), &given, NULL, &volume));
    crd_volume_close(&volume);
    CHECK_FAILS(
        crd_volume_open(scratch("bare.raw"), &(crd_volume_options){.shape = {2, 3, 5}, .type = "u16"}, NULL, &volume),
        CRD_ERR_FORMAT, "too short");
    CHECK_FAILS(crd_volume_open(scratch("bare.raw"),
                                &(crd_volume_options){.shape = {2, 3, 4}, .type = "u16", .offset = 1}, NULL, &volume),
                CRD_ERR_FORMAT, "too short");
    CHECK_FAILS(crd_volume_open(scratch("bare.raw"), &(crd_volume_options){.shape = {INT64_MAX, 3, 4}, .type = "u16"},
                                NULL, &volume),
                CRD_ERR_FORMAT, "can't hold");
    CHECK_FAILS(crd_volume_open(scratch("bare.raw"),
                                &(crd_volume_options){.shape = {1, 1, 1}, .type = "u8", .offset = INT64_MAX}, NULL,
                                &volume),
                CRD_ERR_FORMAT, "can't hold");
    CHECK_FAILS(
        crd_volume_open(scratch("bare.raw"), &(crd_volume_options){.shape = {2, -3, 4}, .type = "u8"}, NULL, &volume),
        CRD_ERR_FORMAT, "can't hold");
    write_bytes(scratch("plain.xyz"), voxels, sizeof voxels);
    CHECK_FAILS(crd_volume_open(scratch("plain.xyz"), NULL, NULL, &volume), CRD_ERR_FORMAT, "no format");
    CHECK_OK(crd_volume_open(scratch("plain.xyz"), &given, NULL, &volume));
    crd_volume_close(&volume);

    static const char *const sidecars[][2] = {
        {"{", "no JSON"},
        {"[1]", "no JSON"},
        {"{\"shape\":[2,3],\"type\":\"u16\"}", "three numbers"},
        {"{\"shape\":[2,3,4.5],\"type\":\"u16\"}", "whole numbers"},
        {"{\"shape\":[2,3,-4],\"type\":\"u16\"}", "out of range"},
        {"{\"shape\":[2,3,1e300],\"type\":\"u16\"}", "out of range"},
        {"{\"shape\":[2,3,4],\"type\":7}", "must be a text"},
        {"{\"shape\":[2,3,4],\"type\":\"u16\",\"spacing\":[1,0,1]}", "out of range"},
        {"{\"shape\":[2,3,4],\"type\":\"u16\",\"scale\":0}", "other than 0"},
        {"{\"shape\":[2,3,4],\"type\":\"u17\"}", "no voxel type"},
    };
    for (size_t i = 0; i < sizeof sidecars / sizeof sidecars[0]; i++) {
        write_bytes(scratch("bare.raw.json"), sidecars[i][0], strlen(sidecars[i][0]));
        CHECK(crd_volume_open(scratch("bare.raw"), NULL, NULL, &volume) != CRD_OK && volume == NULL);
        if (strstr(crd_last_error()->message, sidecars[i][1]) == NULL) CHECK_FAILED("%s", crd_last_error()->message);
    }
    const char good[] = "{\"shape\":[2,3,4],\"type\":\"i16\",\"spacing\":[3,2,1],\"unit\":\"mm\",\"other\":{}}";
    write_bytes(scratch("bare.raw.json"), good, strlen(good));
    CHECK_OK(crd_volume_open(scratch("bare.raw"), NULL, NULL, &volume));
    CHECK(crd_volume_describe(volume)->type == CRD_I16 && crd_volume_describe(volume)->spacing[0] == 3.0);
    crd_volume_close(&volume);
    const crd_volume_options over = {.shape = {4, 3, 2}, .type = "u16", .spacing = {5, 5, 5}, .unit = "Microns"};
    CHECK_OK(crd_volume_open(scratch("bare.raw"), &over, NULL, &volume));
    CHECK(crd_volume_describe(volume)->shape[0] == 4 && crd_volume_describe(volume)->spacing[2] == 5.0);
    CHECK(strcmp(crd_volume_describe(volume)->unit, "um") == 0);
    crd_volume_close(&volume);
    CHECK_FAILS(crd_volume_open(scratch("bare.raw"), &(crd_volume_options){.spacing = {1, 0, 1}}, NULL, &volume),
                CRD_ERR_ARGUMENT, "above 0");
}

static void test_wrong_names_and_formats(void)
{
    const crd_volume_info info = {.shape = {2, 2, 2}, .type = CRD_U8};
    CHECK_FAILS(crd_volume_open(scratch("absent.npy"), NULL, NULL, &volume), CRD_ERR_SYSTEM,
                "absent.npy can't be opened");
    CHECK_FAILS(crd_volume_open(scratch("absent.h5:/x"), NULL, NULL, &volume), CRD_ERR_SYSTEM,
                "absent.h5 can't be opened");
    CHECK_FAILS(crd_volume_open("", NULL, NULL, &volume), CRD_ERR_ARGUMENT, "no file name");
    CHECK_FAILS(crd_volume_open(NULL, NULL, NULL, &volume), CRD_ERR_ARGUMENT, "no file name");
    CHECK_FAILS(crd_volume_open("/dev/null", NULL, NULL, &volume), CRD_ERR_ARGUMENT, "neither a file nor a folder");
    write_bytes(scratch("empty.npy"), "", 0);
    CHECK_FAILS(crd_volume_open(scratch("empty.npy"), NULL, NULL, &volume), CRD_ERR_FORMAT, "is empty");
    CHECK_FAILS(crd_volume_open(scratch("empty.npy"), &(crd_volume_options){.format = "tga"}, NULL, &volume),
                CRD_ERR_FORMAT, "is empty");
    write_bytes(scratch("text.npy"), "text", 4);
    CHECK_FAILS(crd_volume_open(scratch("text.npy"), &(crd_volume_options){.format = "tga"}, NULL, &volume),
                CRD_ERR_ARGUMENT, "no format");
    CHECK_FAILS(crd_volume_create(scratch("x.tga"), &info, NULL, &volume), CRD_ERR_ARGUMENT, "suffix");
    CHECK_FAILS(crd_volume_create(scratch("none/x.npy"), &info, NULL, &volume), CRD_ERR_SYSTEM, "none/x.npy");
    CHECK_FAILS(crd_volume_create(scratch("none/x.h5"), &info, NULL, &volume), CRD_ERR_SYSTEM,
                "none/x.h5 can't be written: there is no folder");
    CHECK_FAILS(crd_volume_create(tools_folder, &info, &(crd_volume_options){.format = "raw"}, &volume),
                CRD_ERR_ARGUMENT, "is a folder");
    CHECK_FAILS(crd_volume_create("/dev/null", &info, &(crd_volume_options){.format = "raw"}, &volume),
                CRD_ERR_ARGUMENT, "no plain file");
    crd_volume_info bad = info;
    bad.shape[1] = 0;
    CHECK_FAILS(crd_volume_create(scratch("x.npy"), &bad, NULL, &volume), CRD_ERR_ARGUMENT, "shape");
    bad = info;
    bad.type = (crd_type)77;
    CHECK_FAILS(crd_volume_create(scratch("x.npy"), &bad, NULL, &volume), CRD_ERR_ARGUMENT, "voxel type");
    for (int i = 0; i < 3; i++) bad.shape[i] = INT64_C(1) << 31;
    bad.type = CRD_F64;
    CHECK_FAILS(crd_volume_create(scratch("x.h5"), &bad, NULL, &volume), CRD_ERR_ARGUMENT, "shape");
    CHECK(scratch_count("x.") == 0 && volume == NULL);
}

static void test_boxes_outside(void)
{
    uint16_t voxels[1000];
    const crd_box bad[] = {
        {{0, 0, 0}, {5, 6, 8}}, {{-1, 0, 0}, {1, 1, 1}},        {{5, 0, 0}, {1, 1, 1}},
        {{0, 0, 0}, {0, 1, 1}}, {{0, 0, 1}, {1, 1, INT64_MAX}}, {{0, INT64_MAX, 0}, {1, 1, 1}},
        {{4, 5, 6}, {1, 1, 2}}, {{0, 0, 0}, {1, -1, 1}},        {{INT64_MIN, 0, 0}, {INT64_MAX, 1, 1}}};
    CHECK_OK(save(scratch("box.npy"), (const int64_t[3]){5, 6, 7}, NULL));
    CHECK_OK(crd_volume_open(scratch("box.npy"), NULL, NULL, &volume));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(crd_volume_read(volume, &bad[i], CRD_U16, voxels), CRD_ERR_ARGUMENT, "doesn't lie within");
    }
    CHECK_FAILS(crd_volume_read(volume, &(crd_box){.size = {1, 1, 1}}, CRD_U8, voxels), CRD_ERR_ARGUMENT, "as f32");
    CHECK_FAILS(crd_volume_write(volume, &(crd_box){.size = {1, 1, 1}}, voxels), CRD_ERR_ARGUMENT,
                "not open for writing");
    CHECK_FAILS(crd_volume_commit(volume), CRD_ERR_ARGUMENT, "not open for writing");
    crd_volume_close(&volume);
    const crd_volume_info info = {.shape = {2, 2, 2}, .type = CRD_U16};
    CHECK_OK(crd_volume_create(scratch("new.raw"), &info, NULL, &volume));
    CHECK_FAILS(crd_volume_read(volume, &(crd_box){.size = {1, 1, 1}}, CRD_U16, voxels), CRD_ERR_ARGUMENT,
                "being written");
    CHECK_FAILS(crd_volume_write(volume, &bad[0], voxels), CRD_ERR_ARGUMENT, "doesn't lie within");
    crd_volume_close(&volume);
    CHECK(scratch_count("new.raw") == 0);
}

static void test_without_permission(void)
{
    CHECK_OK(save(scratch("locked.npy"), (const int64_t[3]){2, 2, 2}, NULL));
    CHECK_OK(save(scratch("locked.h5"), (const int64_t[3]){2, 2, 2}, NULL));
    CHECK(chmod(scratch("locked.npy"), 0) == 0 && chmod(scratch("locked.h5"), 0) == 0 &&
          chmod(tools_folder, 0711) == 0);
    const bool was_root = geteuid() == 0;
    if (was_root) CHECK(seteuid(65534) == 0);
    const crd_volume_info info = {.shape = {2, 2, 2}, .type = CRD_U8};
    char messages[4][1024];
    crd_status results[4];
    results[0] = crd_volume_open(scratch("locked.npy"), NULL, NULL, &volume);
    memcpy(messages[0], crd_last_error()->message, sizeof messages[0]);
    results[1] = crd_volume_open(scratch("locked.h5"), NULL, NULL, &volume);
    memcpy(messages[1], crd_last_error()->message, sizeof messages[0]);
    results[2] = was_root ? crd_volume_create(scratch("new.npy"), &info, NULL, &volume) : CRD_ERR_SYSTEM;
    memcpy(messages[2], crd_last_error()->message, sizeof messages[0]);
    results[3] = was_root ? crd_volume_create(scratch("new.h5"), &info, NULL, &volume) : CRD_ERR_SYSTEM;
    memcpy(messages[3], crd_last_error()->message, sizeof messages[0]);
    if (was_root) CHECK(seteuid(0) == 0);
    for (int i = 0; i < 4; i++) {
        CHECK(results[i] == CRD_ERR_SYSTEM);
        if (strstr(messages[i], "Permission denied") == NULL) CHECK_FAILED("%s", messages[i]);
    }
    CHECK(volume == NULL && scratch_count("new.") == 0);
}

/* Writing fails at 1 MiB, as on a full disk. */
static void test_disk_full(void)
{
    static const char *const names[] = {"full.raw",  "full.npy",    "full.h5",   "packed.h5",
                                        "full.nrrd", "packed.nrrd", "packed.mha"};
    const crd_volume_options options[] = {{.compress = 0}, {.compress = 0}, {.compress = 0}, {.compress = 1},
                                          {.compress = 0}, {.compress = 1}, {.compress = 1}};
    enum { FILES = sizeof names / sizeof names[0] };
    struct rlimit limit, small;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    small = limit;
    small.rlim_cur = 1 << 20;
    for (int i = 0; i < FILES; i++) {
        /* Small caches as well, so that HDF5 fails while writing; with the usual one it fails at the end. */
        for (size_t cache = 1; cache <= 2; cache++) {
            crd_volume_options o = options[i];
            o.cache_bytes = cache == 1 ? (size_t)1 << 20 : 0;
            CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
            const crd_status status = save(scratch(names[i]), (const int64_t[3]){64, 200, 200}, &o);
            CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
            CHECK(status == CRD_ERR_SYSTEM);
            CHECK(strstr(crd_last_error()->message, names[i]) != NULL);
            if (strstr(crd_last_error()->message, "File too large") == NULL)
                CHECK_FAILED("%s", crd_last_error()->message);
            CHECK(scratch_count("full") == 0 && scratch_count("packed") == 0);
        }
        CHECK_OK(save(scratch(names[i]), (const int64_t[3]){8, 20, 20}, &options[i])); /* and it works again */
        CHECK_OK(crd_volume_open(scratch(names[i]), NULL, NULL, &volume));
        crd_volume_close(&volume);
        CHECK(unlink(scratch(names[i])) == 0);
        (void)unlink(scratch("full.raw.json"));
    }
}

static void test_nothing_appears_before_commit(void)
{
    static const char *const names[] = {"late.raw", "late.npy", "late.h5", "late.nrrd", "late.mha"};
    enum { FILES = sizeof names / sizeof names[0] };
    const crd_volume_info info = {.shape = {4, 5, 6}, .type = CRD_U8, .spacing = {1, 1, 1}, .unit = "mm"};
    char voxels[4 * 5 * 6] = {1, 2, 3};
    for (int i = 0; i < FILES; i++) {
        CHECK_OK(crd_volume_create(scratch(names[i]), &info, NULL, &volume));
        CHECK_OK(crd_volume_write(volume, &(crd_box){.size = {4, 5, 6}}, voxels));
        CHECK(access(scratch(names[i]), F_OK) != 0);
        crd_volume_close(&volume);
        CHECK(scratch_count("late") == 0);
        CHECK_OK(crd_volume_create(scratch(names[i]), &info, NULL, &volume));
        CHECK_OK(crd_volume_commit(volume)); /* never written: zeros */
        CHECK_FAILS(crd_volume_commit(volume), CRD_ERR_ARGUMENT, "not open for writing");
        crd_volume_close(&volume);
        CHECK_OK(crd_volume_open(scratch(names[i]), NULL, NULL, &volume));
        CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {4, 5, 6}}, CRD_U8, voxels));
        for (size_t k = 0; k < sizeof voxels; k++) CHECK(voxels[k] == 0);
        crd_volume_close(&volume);
        CHECK(unlink(scratch(names[i])) == 0);
        char sidecar[64];
        snprintf(sidecar, sizeof sidecar, "%s.json", names[i]);
        (void)unlink(scratch(sidecar));
    }
    /* A description that no longer holds goes with the file it described. */
    CHECK_OK(crd_volume_create(scratch("again.npy"), &info, NULL, &volume));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK(access(scratch("again.npy.json"), F_OK) == 0);
    CHECK_OK(save(scratch("again.npy"), (const int64_t[3]){2, 2, 2}, NULL));
    CHECK(access(scratch("again.npy.json"), F_OK) != 0);
}

/* What can't be removed would describe the new voxels: then the old ones stay. */
static void test_an_earlier_sidecar_goes_first(void)
{
    char before[64], after[64];
    CHECK_OK(save(scratch("old.raw"), (const int64_t[3]){2, 3, 4}, NULL));
    CHECK(access(scratch("old.raw.json"), F_OK) == 0);
    const size_t count = read_bytes(scratch("old.raw"), before, sizeof before);
    CHECK(unlink(scratch("old.raw.json")) == 0 && mkdir(scratch("old.raw.json"), 0700) == 0);
    CHECK_FAILS(save(scratch("old.raw"), (const int64_t[3]){1, 2, 3}, NULL), CRD_ERR_SYSTEM, "describes an earlier");
    CHECK(count == 48 && read_bytes(scratch("old.raw"), after, sizeof after) == count);
    CHECK(memcmp(before, after, count) == 0 && rmdir(scratch("old.raw.json")) == 0);
    CHECK_OK(save(scratch("old.raw"), (const int64_t[3]){1, 2, 3}, NULL));
    CHECK(access(scratch("old.raw.json"), F_OK) == 0);
}

TEST_MAIN(TEST(test_npy_headers), TEST(test_npy_files_that_lie), TEST(test_hdf5_driver_information),
          TEST(test_files_cut_at_every_size), TEST(test_raw_needs_to_be_described), TEST(test_wrong_names_and_formats),
          TEST(test_boxes_outside), TEST(test_without_permission), TEST(test_disk_full),
          TEST(test_nothing_appears_before_commit), TEST(test_an_earlier_sidecar_goes_first))
