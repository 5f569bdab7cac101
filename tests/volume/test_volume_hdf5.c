/* HDF5 files as others write them, and those that point outside. */
#include <hdf5.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hdf5/lock.h"
#include "base/memory.h"
#include "harness.h"
#include "net/store/store.h"
#include "volume_tools.h"

static crd_volume *volume;

static void add(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims)
{
    const hid_t space = H5Screate_simple(rank, dims, NULL), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Dclose(H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT));
    H5Pclose(links);
    H5Sclose(space);
}

static const hsize_t three[3] = {4, 5, 6}, four_last[4] = {4, 5, 6, 1}, four_first[4] = {1, 4, 5, 6}, two[2] = {4, 5},
                     four_many[4] = {4, 5, 6, 3};

static void test_the_only_volume_is_found(void)
{
    const hid_t file = H5Fcreate(scratch("one.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, "/flat", H5T_NATIVE_INT, 2, two);
    add(file, "/colours", H5T_NATIVE_INT, 4, four_many);
    add(file, "/deep/in/here", H5T_NATIVE_USHORT, 3, three);
    H5Fclose(file);
    CHECK_OK(crd_volume_open(scratch("one.h5"), NULL, NULL, &volume));
    CHECK(crd_volume_describe(volume)->type == CRD_U16 && crd_volume_describe(volume)->shape[2] == 6);
    CHECK(strcmp(crd_volume_describe(volume)->format, "hdf5") == 0 && crd_volume_describe(volume)->scale == 1.0);
    crd_volume_close(&volume);
    CHECK_FAILS(crd_volume_open(scratch("one.h5:/flat"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "is no volume");
    CHECK_FAILS(crd_volume_open(scratch("one.h5:/colours"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "is no volume");
    CHECK_FAILS(crd_volume_open(scratch("one.h5:/deep"), NULL, NULL, &volume), CRD_ERR_ARGUMENT,
                "/deep/in/here (z 4, y 5, x 6)");
    CHECK_FAILS(crd_volume_open(scratch("one.h5:/absent"), NULL, NULL, &volume), CRD_ERR_ARGUMENT,
                "it holds /deep/in/here");
}

static void test_several_volumes_are_listed(void)
{
    const hid_t file = H5Fcreate(scratch("many.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, "/b", H5T_IEEE_F32BE, 4, four_last);
    add(file, "/a", H5T_STD_I64LE, 4, four_first);
    H5Lcreate_soft("/a", file, "/soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "/", file, "/circle", H5P_DEFAULT, H5P_DEFAULT); /* the root inside itself */
    H5Fclose(file);
    CHECK_FAILS(crd_volume_open(scratch("many.h5"), NULL, NULL, &volume), CRD_ERR_ARGUMENT,
                "many.h5:/name: /a (z 4, y 5, x 6), /b (z 4, y 5, x 6)");
    CHECK_OK(crd_volume_open(scratch("many.h5:/b"), NULL, NULL, &volume));
    CHECK(crd_volume_describe(volume)->type == CRD_F32);
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(scratch("many.h5:/soft"), NULL, NULL, &volume));
    CHECK(crd_volume_describe(volume)->type == CRD_F64 && crd_volume_describe(volume)->shape[0] == 4);
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(scratch("many.h5:/circle/circle/a"), NULL, NULL, &volume));
    crd_volume_close(&volume);
    const hid_t empty = H5Fcreate(scratch("none.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(empty);
    CHECK_FAILS(crd_volume_open(scratch("none.h5"), NULL, NULL, &volume), CRD_ERR_FORMAT, "no dataset of three");
}

/* Nothing inside a file makes credence read another one. */
static void test_other_files_are_not_read(void)
{
    char secret[512];
    snprintf(secret, sizeof secret, "%s", scratch("secret.h5"));
    hid_t file = H5Fcreate(secret, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, "/data", H5T_NATIVE_UCHAR, 3, three);
    H5Fclose(file);

    file = H5Fcreate(scratch("link.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(secret, "/data", file, "/data", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(secret, "/", file, "/group", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/group/data", file, "/soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    static const char *const paths[] = {"link.h5:/data", "link.h5:/group/data", "link.h5:/soft"};
    for (int i = 0; i < 3; i++) {
        CHECK_FAILS(crd_volume_open(scratch(paths[i]), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED,
                    "link into another file");
        CHECK(strstr(crd_last_error()->message, "secret.h5") != NULL && volume == NULL);
    }
    CHECK_FAILS(crd_volume_open(scratch("link.h5"), NULL, NULL, &volume), CRD_ERR_FORMAT, "no dataset of three");

    file = H5Fcreate(scratch("external.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, three, NULL);
    H5Pset_external(creation, "/etc/passwd", 0, 120);
    H5Dclose(H5Dcreate2(file, "/data", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    H5Fclose(file);
    CHECK_FAILS(crd_volume_open(scratch("external.h5"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "in other files");

    file = H5Fcreate(scratch("virtual.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(creation, space, secret, "/data", space);
    H5Dclose(H5Dcreate2(file, "/data", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    CHECK_FAILS(crd_volume_open(scratch("virtual.h5"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "in other files");
}

/* The same for models and all else that is read through the store. */
static void test_a_model_reads_no_other_files(void)
{
    static const char *const names[] = {"/linked", "/stored", "/made"};
    char secret[512];
    float values[120] = {0};
    const int64_t shape[3] = {4, 5, 6};
    crd_store *store = NULL;
    snprintf(secret, sizeof secret, "%s", scratch("weights.h5"));
    hid_t file = H5Fcreate(secret, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, "/inside", H5T_NATIVE_FLOAT, 3, three);
    H5Fclose(file);

    file = H5Fcreate(scratch("model.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, three, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    add(file, "/inside", H5T_NATIVE_FLOAT, 3, three);
    H5Lcreate_external(secret, "/inside", file, "/linked", H5P_DEFAULT, H5P_DEFAULT);
    H5Pset_external(creation, "/etc/passwd", 0, 480);
    H5Dclose(H5Dcreate2(file, "/stored", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(creation, space, secret, "/inside", space);
    H5Dclose(H5Dcreate2(file, "/made", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    CHECK_OK(crd_store_open(scratch("model.h5"), &store));
    crd_status results[3];
    for (int i = 0; i < 3; i++) results[i] = crd_store_get_floats(store, names[i], 3, shape, "a test", values);
    const crd_status inside = crd_store_get_floats(store, "/inside", 3, shape, "a test", values);
    crd_store_close(&store);
    for (int i = 0; i < 3; i++) CHECK(results[i] != CRD_OK);
    CHECK(inside == CRD_OK);
}

static void test_types_that_are_none(void)
{
    const hid_t file = H5Fcreate(scratch("types.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t text = H5Tcopy(H5T_C_S1), pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "re", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(pair, "im", 4, H5T_NATIVE_FLOAT);
    add(file, "/text", text, 3, three);
    add(file, "/complex", pair, 3, three);
    H5Tclose(text);
    H5Tclose(pair);
    H5Fclose(file);
    CHECK_FAILS(crd_volume_open(scratch("types.h5:/text"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED,
                "neither integers");
    CHECK_FAILS(crd_volume_open(scratch("types.h5:/complex"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED,
                "neither integers");
    CHECK_FAILS(crd_volume_open(scratch("types.h5"), NULL, NULL, &volume), CRD_ERR_FORMAT, "no dataset of three");
}

/* The exponent of a float of 64 bits, moved beyond its bytes wherever the file describes one; gives back how often. */
static int move_exponents(const char *path)
{
    static const unsigned char sound[] = {0x11, 0x20, 0x3f, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52};
    char *bytes = NULL;
    size_t count;
    int moved = 0;
    if (crd_read_file(path, 1 << 20, &bytes, &count) != CRD_OK) return -1;
    for (size_t i = 0; i + sizeof sound <= count; i++) {
        if (memcmp(bytes + i, sound, sizeof sound) != 0) continue;
        bytes[i + 12] = 60;
        moved++;
    }
    const crd_status status = crd_write_file(path, bytes, count);
    crd_free(&bytes);
    return status == CRD_OK ? moved : -1;
}

/* Types that libhdf5 would read beyond its buffers for: such an attribute of a volume is let be, others are refused. */
static void test_bits_beyond_their_bytes(void)
{
    const crd_volume_info info = {.shape = {1, 2, 2}, .type = CRD_U16, .spacing = {2, 3, 4}, .unit = "um"};
    const crd_box all = {.size = {1, 2, 2}};
    const uint16_t voxels[4] = {1, 2, 3, 4};
    const double real = 0.5;
    double got;
    crd_store *store = NULL;
    CHECK_OK(crd_volume_create(scratch("about.h5"), &info, NULL, &volume));
    CHECK_OK(crd_volume_write(volume, &all, voxels));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK(move_exponents(scratch("about.h5")) > 0);
    CHECK_OK(crd_volume_open(scratch("about.h5"), NULL, NULL, &volume));
    CHECK(crd_volume_describe(volume)->spacing[0] == 0.0 && crd_volume_describe(volume)->spacing[2] == 0.0);
    crd_volume_close(&volume);

    hid_t file = H5Fcreate(scratch("broken.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, "/x", H5T_IEEE_F64LE, 3, three);
    H5Fclose(file);
    CHECK(move_exponents(scratch("broken.h5")) == 1);
    CHECK_FAILS(crd_volume_open(scratch("broken.h5:/x"), NULL, NULL, &volume), CRD_ERR_UNSUPPORTED, "neither integers");

    file = H5Fcreate(scratch("store.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(file, "real", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &real) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Fclose(file);
    CHECK_OK(crd_store_open(scratch("store.h5"), &store));
    const crd_status before = crd_store_get_reals(store, "", "real", 1, &got);
    crd_store_close(&store);
    CHECK(before == CRD_OK && got == real && move_exponents(scratch("store.h5")) == 1);
    CHECK_OK(crd_store_open(scratch("store.h5"), &store));
    const crd_status after = crd_store_get_reals(store, "", "real", 1, &got);
    crd_store_close(&store);
    CHECK_FAILS(after, CRD_ERR_FORMAT, "is damaged");
}

static void test_names_of_datasets(void)
{
    const crd_volume_info info = {.shape = {2, 3, 4}, .type = CRD_U8};
    CHECK_OK(crd_volume_create(scratch("named.h5:/some/where"), &info, NULL, &volume));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(scratch("named.h5:/some/where"), NULL, NULL, &volume));
    CHECK(strstr(crd_volume_path(volume), "named.h5:/some/where") != NULL);
    crd_volume_close(&volume);
    CHECK_FAILS(crd_volume_create(scratch("named.h5:/other"), &info, NULL, &volume), CRD_ERR_ARGUMENT,
                "replace the whole");
    CHECK_OK(crd_volume_create(scratch("named.h5"), &info, NULL, &volume)); /* without a name it is replaced */
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(scratch("named.h5:/data"), NULL, NULL, &volume));
    crd_volume_close(&volume);
}

static size_t contents(const char *path, char *out, size_t room)
{
    FILE *file = fopen(path, "rb");
    const size_t count = file != NULL ? fread(out, 1, room, file) : 0;
    if (file != NULL) fclose(file);
    return count;
}

/* No times inside: two files of the same voxels are the same bytes, a second apart. */
static void test_equal_volumes_are_equal_bytes(void)
{
    static char first[1 << 20], second[1 << 20], voxels[20 * 30 * 40];
    const crd_volume_info info = {
        .shape = {20, 30, 40}, .type = CRD_U8, .spacing = {1, 2, 3}, .unit = "mm", .scale = 0.5};
    size_t sizes[2];
    tools_fill(CRD_U8, (int64_t)sizeof voxels, 1, voxels);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(crd_volume_create(scratch("time.h5:/a/b"), &info, &(crd_volume_options){.compress = 1}, &volume));
        CHECK_OK(crd_volume_write(volume, &(crd_box){.size = {20, 30, 40}}, voxels));
        CHECK_OK(crd_volume_commit(volume));
        crd_volume_close(&volume);
        sizes[i] = contents(scratch("time.h5"), i == 0 ? first : second, sizeof first);
        CHECK(unlink(scratch("time.h5")) == 0);
        if (i == 0) usleep(1100000);
    }
    CHECK(sizes[0] > 1000 && sizes[0] == sizes[1] && memcmp(first, second, sizes[0]) == 0);
}

static void add_text(hid_t dataset, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t attribute = H5Acreate2(dataset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, &text);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* A unit as h5py writes it lies in a heap. libhdf5 walks along a broken one for ever, or out of it. Of a heap beyond
 * 4096 bytes it reads the rest by itself. */
static void check_heaps_that_lie(size_t length)
{
    static char notes[8192];
    memset(notes, 'n', length);
    notes[length] = '\0';
    enum { HEAD = 16, OBJECT = 16, TEXT = 8, SIZE = 8 };
    static unsigned char bytes[1 << 16];
    static const uint64_t sizes[] = {0, 1, UINT64_MAX, UINT64_MAX - 4095, UINT64_C(1) << 63, 100000};
    const hsize_t three_numbers = 3;
    const double edges[3] = {3.0, 2.0, 1.0};
    hid_t file = H5Fcreate(scratch("heap.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, "/x", H5T_NATIVE_USHORT, 3, three);
    const hid_t dataset = H5Dopen2(file, "/x", H5P_DEFAULT), space = H5Screate_simple(1, &three_numbers, NULL);
    const hid_t attribute = H5Acreate2(dataset, "spacing", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_DOUBLE, edges);
    H5Aclose(attribute);
    if (length > 0) add_text(dataset, "notes", notes);
    add_text(dataset, "unit", "mm");
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    CHECK_OK(crd_volume_open(scratch("heap.h5"), NULL, NULL, &volume));
    CHECK(strcmp(crd_volume_describe(volume)->unit, "mm") == 0);
    crd_volume_close(&volume);

    FILE *stream = fopen(scratch("heap.h5"), "rb");
    const size_t count = stream != NULL ? fread(bytes, 1, sizeof bytes, stream) : 0;
    unsigned char *heap = memmem(bytes, count, "GCOL", 4);
    CHECK(stream != NULL && fclose(stream) == 0 && heap != NULL);
    unsigned char *used_part = heap + HEAD, *free_part = used_part + OBJECT + (length + 7) / 8 * 8;
    if (length > 0) free_part += OBJECT;
    free_part += TEXT;
    CHECK(free_part[0] == 0 && used_part[0] == 1);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *size = (i % 2 == 0 ? free_part : used_part) + SIZE, kept[8];
        memcpy(kept, size, sizeof kept);
        memcpy(size, &sizes[i / 2], sizeof sizes[0]);
        heap[5] = (unsigned char)(i / 2 % 2); /* reserved, and libhdf5 passes over it */
        stream = fopen(scratch("lie.h5"), "wb");
        CHECK(stream != NULL && fwrite(bytes, 1, count, stream) == count && fclose(stream) == 0);
        memcpy(size, kept, sizeof kept);
        alarm(60);
        CHECK_OK(crd_volume_open(scratch("lie.h5"), NULL, NULL, &volume));
        alarm(0);
        CHECK(crd_volume_describe(volume)->shape[0] == 4);
        crd_volume_close(&volume);
    }
}

static void test_heaps_that_lie(void)
{
    check_heaps_that_lie(0);
    check_heaps_that_lie(5000);
}

/* The list of what is free among a group's names leads in a circle, or out of them. */
static void test_names_that_lie(void)
{
    enum { HEAD_OF_LIST = 16, DATA = 24 };
    static unsigned char bytes[1 << 16];
    static const uint64_t values[] = {0, 80, UINT64_MAX, UINT64_MAX - 7, 1 << 20};
    const hid_t file = H5Fcreate(scratch("names.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, "/x", H5T_NATIVE_USHORT, 3, three);
    H5Fclose(file);
    FILE *stream = fopen(scratch("names.h5"), "rb");
    const size_t count = stream != NULL ? fread(bytes, 1, sizeof bytes, stream) : 0;
    unsigned char *heap = memmem(bytes, count, "HEAP", 4);
    CHECK(stream != NULL && fclose(stream) == 0 && heap != NULL);
    uint64_t first, data;
    memcpy(&first, heap + HEAD_OF_LIST, sizeof first);
    memcpy(&data, heap + DATA, sizeof data);
    unsigned char *block = bytes + data + first; /* the place of the next one, and its size */
    CHECK(first < 4096 && data + first + 16 <= count);
    for (size_t i = 0; i < 3 * sizeof values / sizeof values[0]; i++) {
        unsigned char *const places[] = {heap + HEAD_OF_LIST, block, block + 8}, *place = places[i % 3], before[8];
        const uint64_t circle = i == 1 ? first : values[i / 3];
        memcpy(before, place, sizeof before);
        memcpy(place, &circle, sizeof circle);
        stream = fopen(scratch("names.h5"), "wb");
        CHECK(stream != NULL && fwrite(bytes, 1, count, stream) == count && fclose(stream) == 0);
        memcpy(place, before, sizeof before);
        alarm(60);
        const crd_status status = crd_volume_open(scratch("names.h5"), NULL, NULL, &volume);
        alarm(0);
        CHECK(status == CRD_OK || strstr(crd_last_error()->message, "names.h5") != NULL);
        CHECK(i != 1 || status == CRD_ERR_FORMAT);
        crd_volume_close(&volume);
    }
}

/* A chunk that says to be packed into a gigabyte, in a file that is as long, but mostly a hole. */
static void test_a_chunk_larger_than_itself(void)
{
    enum { KEY = 24 };
    static unsigned char bytes[1 << 16];
    uint16_t voxels[120] = {0};
    const uint32_t claimed = 1 << 30;
    const crd_volume_info info = {.shape = {4, 5, 6}, .type = CRD_U16};
    CHECK_OK(crd_volume_create(scratch("packed.h5"), &info, &(crd_volume_options){.compress = 4}, &volume));
    CHECK_OK(crd_volume_write(volume, &(crd_box){.size = {4, 5, 6}}, voxels));
    CHECK_OK(crd_volume_commit(volume));
    crd_volume_close(&volume);
    FILE *stream = fopen(scratch("packed.h5"), "r+b");
    const size_t count = stream != NULL ? fread(bytes, 1, sizeof bytes, stream) : 0;
    const unsigned char *tree = memmem(bytes, count, "TREE\1", 5);
    CHECK(stream != NULL && tree != NULL && fseek(stream, (long)(tree - bytes) + KEY, SEEK_SET) == 0);
    CHECK(fwrite(&claimed, sizeof claimed, 1, stream) == 1 && fflush(stream) == 0);
    CHECK(ftruncate(fileno(stream), (off_t)claimed + (1 << 20)) == 0 && fclose(stream) == 0);
    CHECK_OK(crd_volume_open(scratch("packed.h5"), NULL, NULL, &volume));
    CHECK_FAILS(crd_volume_read(volume, &(crd_box){.size = {4, 5, 6}}, CRD_U16, voxels), CRD_ERR_FORMAT,
                "is packed into 1073741824");
    crd_volume_close(&volume);
    /* One of no bytes isn't one that was never written. */
    stream = fopen(scratch("packed.h5"), "r+b");
    CHECK(stream != NULL && fseek(stream, (long)(tree - bytes) + KEY, SEEK_SET) == 0);
    CHECK(fwrite(&(uint32_t){0}, sizeof claimed, 1, stream) == 1 && fclose(stream) == 0);
    for (int trust = 0; trust < 2; trust++) {
        crd_trust_files(trust == 1);
        CHECK_OK(crd_volume_open(scratch("packed.h5"), NULL, NULL, &volume));
        CHECK_FAILS(crd_volume_read(volume, &(crd_box){.size = {4, 5, 6}}, CRD_U16, voxels), CRD_ERR_FORMAT, "damaged");
        crd_volume_close(&volume);
    }
    crd_trust_files(false);
}

/* The index of chunks, as old files have it and as new ones: chunks that a broken part of it leads to aren't taken for
 * some that were never written. */
static void test_an_index_that_is_damaged(void)
{
    static const char *const nodes[] = {"TREE\1", "BTLF"};
    static unsigned char bytes[1 << 20];
    static uint8_t voxels[32 * 64 * 64];
    static const hsize_t shape[3] = {32, 64, 64}, most[3] = {H5S_UNLIMITED, H5S_UNLIMITED, 64}, chunk[3] = {2, 8, 8};
    const crd_box all = {.size = {32, 64, 64}};
    for (int version = 0; version < 2; version++) {
        const char *path = scratch("index.h5");
        const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_DATASET_CREATE);
        if (version == 1) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
        const hid_t space = H5Screate_simple(3, shape, most);
        H5Pset_chunk(creation, 3, chunk);
        const hid_t set = H5Dcreate2(file, "/x", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        memset(voxels, 7, sizeof voxels);
        CHECK(H5Dwrite(set, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, voxels) >= 0);
        CHECK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
        CHECK(H5Pclose(access) >= 0 && H5Pclose(creation) >= 0);
        FILE *stream = fopen(path, "r+b");
        const size_t count = stream != NULL ? fread(bytes, 1, sizeof bytes, stream) : 0;
        const unsigned char *node = NULL, *end = bytes + count; /* the last of them is a leaf */
        for (const unsigned char *at = bytes; (at = memmem(at, (size_t)(end - at), nodes[version], 4)) != NULL; at++) {
            node = at;
        }
        CHECK(node != NULL && fseek(stream, (long)(node - bytes), SEEK_SET) == 0 && fwrite("XXXX", 4, 1, stream) == 1);
        CHECK(fclose(stream) == 0);
        for (int trust = 0; trust < 2; trust++) {
            crd_trust_files(trust == 1);
            CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
            CHECK_FAILS(crd_volume_read(volume, &all, CRD_U8, voxels), CRD_ERR_FORMAT, "may be damaged");
            crd_volume_close(&volume);
        }
        crd_trust_files(false);
    }
}

/* 800 MiB of zeros may be packed into some kilobytes, but not into what an empty file has. */
static void test_chunks_larger_than_any_file(void)
{
    static const hsize_t shape[3] = {800, 1024, 1024}, small[3] = {1, 1, 8};
    const hid_t file = H5Fcreate(scratch("claim.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, shape, NULL);
    H5Pset_chunk(creation, 3, shape);
    H5Pset_deflate(creation, 6);
    H5Dclose(H5Dcreate2(file, "/x", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pset_chunk(creation, 3, small);
    H5Dclose(H5Dcreate2(file, "/y", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(creation);
    H5Fclose(file);
    CHECK_FAILS(crd_volume_open(scratch("claim.h5:/x"), NULL, NULL, &volume), CRD_ERR_FORMAT, "chunks of 800 MiB");
    CHECK_OK(crd_volume_open(scratch("claim.h5:/y"), NULL, NULL, &volume));
    crd_volume_close(&volume);
}

static void test_a_host_program_keeps_its_error_printer(void)
{
    H5E_auto2_t before, after;
    void *context;
    CHECK(H5Eget_auto2(H5E_DEFAULT, &before, &context) >= 0);
    CHECK(crd_volume_open(scratch("nothing.h5"), NULL, NULL, &volume) != CRD_OK);
    crd_hdf5_lock();
    CHECK(H5Eget_auto2(H5E_DEFAULT, &after, &context) >= 0 && after == NULL);
    crd_hdf5_unlock();
    CHECK(H5Eget_auto2(H5E_DEFAULT, &after, &context) >= 0 && after == before);
}

TEST_MAIN(TEST(test_the_only_volume_is_found), TEST(test_several_volumes_are_listed),
          TEST(test_other_files_are_not_read), TEST(test_a_model_reads_no_other_files), TEST(test_types_that_are_none),
          TEST(test_bits_beyond_their_bytes), TEST(test_names_of_datasets), TEST(test_equal_volumes_are_equal_bytes),
          TEST(test_heaps_that_lie), TEST(test_chunks_larger_than_any_file), TEST(test_names_that_lie),
          TEST(test_a_chunk_larger_than_itself), TEST(test_an_index_that_is_damaged),
          TEST(test_a_host_program_keeps_its_error_printer))
