/* HDF5 files as others write them, and those that point outside. */
#include <hdf5.h>

#include "base/hdf5_lock.h"
#include "harness.h"
#include "net/store.h"
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
                "/deep/in/here (4, 5, 6)");
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
                "many.h5:/name: /a (4, 5, 6), /b (4, 5, 6)");
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
          TEST(test_names_of_datasets), TEST(test_equal_volumes_are_equal_bytes),
          TEST(test_a_host_program_keeps_its_error_printer))
