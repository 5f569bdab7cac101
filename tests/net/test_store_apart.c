/* Models and the files of runs are read by a process of their own: what that makes of files on which libhdf5 crashes,
 * that it gives the same values and words, and that what it can't tell any more isn't taken for absent. */
#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/memory.h"
#include "harness.h"
#include "net/model.h"
#include "net/store/store.h"
#include "volume_tools.h"

static crd_store *store;
static crd_model *model; /* stays NULL through every failure */

/* All files on which libhdf5 was seen to fail. */
static void test_files_that_crash_libhdf5(void)
{
    static const char *const names[] = {"attribute", "compact", "datatype", "filter_name", "link_table", "text_index"};
    const char *source = getenv("CREDENCE_SOURCE");
    if (source == NULL) SKIP("CREDENCE_SOURCE isn't set");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/fuzz/libhdf5/%s.h5", source, names[i]);
        CHECK(!crd_model_recognise(path));
        CHECK(crd_model_load(path, &model) != CRD_OK && model == NULL);
        CHECK(strstr(crd_last_error()->message, names[i]) != NULL);
    }
}

static void make_file(const char *path)
{
    static const float floats[6] = {0.5f, -1.0f, 2.0f, 3.0f, -0.0f, 1e-30f};
    static const double doubles[2] = {0.1, -1e300};
    static const int64_t numbers[3] = {1, -2, INT64_MAX};
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_OK(crd_store_create(path, &store));
    CHECK_OK(crd_store_put_floats(store, "a/floats", 2, (const int64_t[]){2, 3}, floats));
    CHECK_OK(crd_store_put_halves(store, "a/halves", 2, (const int64_t[]){2, 3}, floats));
    CHECK_OK(crd_store_put_doubles(store, "a/doubles", 1, (const int64_t[]){2}, doubles));
    CHECK_OK(crd_store_put_integers(store, "integers", 3, numbers));
    CHECK_OK(crd_store_put_text(store, "a", "text", text));
    CHECK_OK(crd_store_put_text(store, "", "empty", ""));
    CHECK_OK(crd_store_put_numbers(store, "a", "numbers", 3, numbers));
    CHECK_OK(crd_store_put_reals(store, "", "real", 1, doubles));
    CHECK_OK(crd_store_commit(store));
    crd_store_close(&store);
}

/* All that a store can be asked, as text. */
static void ask_all(const char *path, char *out, size_t room)
{
    float floats[6] = {0}, halves[6] = {0};
    double doubles[2] = {0}, real = 0;
    int64_t integers[3] = {0}, numbers[3] = {0}, shape[2] = {0};
    char *text = NULL, *empty = NULL;
    int used = 0;
    CHECK_OK(crd_store_open(path, &store));
    CHECK_OK(crd_store_get_floats(store, "a/floats", 2, (const int64_t[]){2, 3}, "x", floats));
    CHECK_OK(crd_store_get_halves(store, "a/halves", 2, (const int64_t[]){2, 3}, "x", halves));
    CHECK_OK(crd_store_get_doubles(store, "a/doubles", 1, (const int64_t[]){2}, "x", doubles));
    CHECK_OK(crd_store_get_integers(store, "integers", 3, "x", integers));
    CHECK_OK(crd_store_get_numbers(store, "a", "numbers", 3, numbers));
    CHECK_OK(crd_store_get_reals(store, "", "real", 1, &real));
    CHECK_OK(crd_store_get_text(store, "a", "text", &text));
    CHECK_OK(crd_store_get_text(store, "", "empty", &empty));
    CHECK_OK(crd_store_get_shape(store, "a/floats", 2, shape));
    used += snprintf(out, room, "%d%d%d%d%d%d ", crd_store_has(store, "a/floats"), crd_store_has(store, "a"),
                     crd_store_has(store, "a/b"), crd_store_has_attribute(store, "a", "text"),
                     crd_store_has_attribute(store, "", "text"), crd_store_has_attribute(store, "b", "text"));
    for (int i = 0; i < 6; i++) used += snprintf(out + used, room - (size_t)used, "%a %a ", floats[i], halves[i]);
    for (int i = 0; i < 3; i++)
        used += snprintf(out + used, room - (size_t)used, "%lld %lld ", (long long)integers[i], (long long)numbers[i]);
    used += snprintf(out + used, room - (size_t)used, "%a %a %a %s|%s %lld,%lld ", doubles[0], doubles[1], real, text,
                     empty, (long long)shape[0], (long long)shape[1]);
    /* Refusals, in the same words. */
    CHECK(crd_store_get_floats(store, "a/b", 1, (const int64_t[]){2}, "a test", floats) != CRD_OK);
    used += snprintf(out + used, room - (size_t)used, "%s; ", crd_last_error()->message);
    CHECK(crd_store_get_floats(store, "a/floats", 2, (const int64_t[]){3, 2}, "a test", floats) != CRD_OK);
    used += snprintf(out + used, room - (size_t)used, "%s; ", crd_last_error()->message);
    CHECK(crd_store_get_numbers(store, "", "real", 1, numbers) != CRD_OK);
    used += snprintf(out + used, room - (size_t)used, "%s; ", crd_last_error()->message);
    CHECK(crd_store_get_shape(store, "a/floats", 1, shape) != CRD_OK);
    (void)snprintf(out + used, room - (size_t)used, "%s", crd_last_error()->message);
    CHECK_OK(crd_store_check(store));
    crd_store_close(&store);
    crd_free(&text);
    crd_free(&empty);
}

static void test_same_answers(void)
{
    static char apart[4096], here[4096];
    make_file(scratch("a.h5"));
    ask_all(scratch("a.h5"), apart, sizeof apart);
    crd_trust_files(true);
    ask_all(scratch("a.h5"), here, sizeof here);
    crd_trust_files(false);
    CHECK(strcmp(apart, here) == 0 && strncmp(here, "110100 ", 7) == 0 && strlen(here) > 600);
}

/* The one process that is our child. */
static pid_t helper_of_this_process(void)
{
    char path[64], text[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    const bool got = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    return got ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Whether something is there is no question that can fail: who asked for the checksum of a model must learn of it. */
static void test_helper_that_dies(void)
{
    int64_t numbers[3];
    make_file(scratch("a.h5"));
    CHECK_OK(crd_store_open(scratch("a.h5"), &store));
    const pid_t helper = helper_of_this_process();
    if (helper <= 0) SKIP("no list of child processes in /proc");
    CHECK(crd_store_has(store, "a/floats"));
    CHECK_OK(crd_store_check(store));
    CHECK(kill(helper, SIGSEGV) == 0);
    CHECK(!crd_store_has(store, "a/floats"));
    CHECK_FAILS(crd_store_check(store), CRD_ERR_FORMAT, "makes libhdf5 crash");
    CHECK(!crd_store_has_attribute(store, "a", "text"));
    CHECK(crd_store_get_integers(store, "integers", 3, "x", numbers) != CRD_OK);
    CHECK_FAILS(crd_store_check(store), CRD_ERR_FORMAT, "makes libhdf5 crash"); /* the first reason stays */
    crd_store_close(&store);
}

/* A dataset of 16 TB that was never written, in a file of some kilobytes. */
static void test_claims(void)
{
    const hsize_t dims[2] = {(hsize_t)1 << 32, 1024}, chunk[2] = {1 << 10, 1 << 10};
    const int64_t shape[2] = {INT64_C(1) << 32, 1024};
    float value;
    const hid_t file = H5Fcreate(scratch("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(creation, 2, chunk) >= 0);
    const hid_t set = H5Dcreate2(file, "huge", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(set >= 0 && H5Dclose(set) >= 0 && H5Pclose(creation) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
    for (int trust = 0; trust < 2; trust++) {
        crd_trust_files(trust != 0);
        CHECK_OK(crd_store_open(scratch("a.h5"), &store));
        CHECK_FAILS(crd_store_get_floats(store, "huge", 2, shape, "x", &value), CRD_ERR_FORMAT, "holds none");
        crd_store_close(&store);
    }
    crd_trust_files(false);
}

/* Shared memory counts as a file: a program that isn't prepared for it would be ended by a signal. */
static void test_limit_on_files(void)
{
    struct rlimit before, limit;
    float floats[6];
    make_file(scratch("a.h5"));
    CHECK_OK(crd_store_open(scratch("a.h5"), &store));
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 16;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    const crd_status status = crd_store_get_floats(store, "a/floats", 2, (const int64_t[]){2, 3}, "x", floats);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK_FAILS(status, CRD_ERR_MEMORY, "ulimit -f");
    CHECK_OK(crd_store_get_floats(store, "a/floats", 2, (const int64_t[]){2, 3}, "x", floats));
    crd_store_close(&store);
}

TEST_MAIN(TEST(test_files_that_crash_libhdf5), TEST(test_same_answers), TEST(test_helper_that_dies), TEST(test_claims),
          TEST(test_limit_on_files))
