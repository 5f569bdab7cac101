/* Model files: equal models are equal bytes, what is written comes back, what doesn't fit is refused in words, and no
 * damaged file ends the program. */
#include <hdf5.h>
#include <inttypes.h>

#include "base/file.h"
#include "base/memory.h"
#include "harness.h"
#include "model_tools.h"
#include "net/init.h"
#include "net/model.h"
#include "reference_data.h"
#include "volume_tools.h"

/* libhdf5 loses a few hundred bytes for every object header whose checksum is wrong. */
CRD_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

/* A small model with everything in it. */
static crd_status make_model(crd_kind kind, crd_model **out)
{
    crd_model_info info = {.kind = kind,
                           .filters = 2,
                           .groups = 2,
                           .chunk = {16, 32, 24},
                           .calibration = 1.25,
                           .norm = "812.5,96.25",
                           .config = "{\"lr\": 0.001, \"unit\": \"\xc2\xb5m\"}"};
    info.training = (crd_training_record){.voxels = 1000,
                                          .minimum = -3,
                                          .maximum = 4095,
                                          .mean = 812.5,
                                          .std = 96.25,
                                          .histogram_low = -3,
                                          .histogram_high = 4095,
                                          .spacing = {2, 1.5, 1.5},
                                          .unit = "um"};
    for (int i = 0; i < CRD_HISTOGRAM_BINS; i++) info.training.histogram[i] = i * (INT64_C(1) << 33);
    return crd_model_create(&info, 42, out);
}

static void check_round_trip(crd_kind kind)
{
    crd_model *model = NULL, *again = NULL;
    const char *first = scratch("first.h5"), *second = scratch("second.h5"), *third = scratch("third.h5");
    CHECK_OK(make_model(kind, &model));
    CHECK_OK(crd_model_save(model, first));
    void *dirt = malloc(1 << 20); /* other memory below libhdf5's feet must not show in the file */
    memset(dirt, 0xa5, 1 << 20);
    free(dirt);
    CHECK_OK(crd_model_save(model, second));
    CHECK(same_files(first, second));
    CHECK_OK(crd_model_load(first, &again));
    CHECK_OK(crd_model_save(again, third));
    CHECK(same_files(first, third));
    CHECK(scratch_count("tmp") == 0);

    const crd_model_info *a = crd_model_describe(model), *b = crd_model_describe(again);
    CHECK(a->kind == b->kind && b->filters == 2 && b->groups == 2 && b->parameters == model->net.model.total);
    CHECK(memcmp(a->chunk, b->chunk, sizeof a->chunk) == 0 && b->calibration == 1.25);
    CHECK(strcmp(a->norm, b->norm) == 0 && strcmp(a->config, b->config) == 0);
    CHECK(memcmp(&a->training, &b->training, sizeof a->training) == 0);
    CHECK(memcmp(model->parameters, again->parameters, (size_t)b->parameters * sizeof(float)) == 0);
    crd_model_free(&model);
    crd_model_free(&again);
    CHECK(model == NULL);
}

static void test_round_trip_bcnn(void)
{
    check_round_trip(CRD_BCNN);
}

static void test_round_trip_mcdn(void)
{
    check_round_trip(CRD_MCDN);
}

static void test_defaults_and_summary(void)
{
    crd_model *model = NULL, *again = NULL;
    char text[128];
    const crd_model_info plain = {.kind = CRD_BCNN};
    CHECK_OK(crd_model_create(&plain, 1, &model));
    CHECK_OK(crd_model_save(model, scratch("plain.h5")));
    CHECK_OK(crd_model_load(scratch("plain.h5"), &again));
    const crd_model_info *info = crd_model_describe(again);
    CHECK(info->filters == 16 && info->groups == 4 && info->calibration == 1 && info->parameters == 1924964);
    CHECK(strcmp(info->norm, "scan") == 0 && info->config == NULL && info->training.voxels == 0 && info->chunk[0] == 0);
    crd_model_summary(again, text, sizeof text);
    CHECK(strcmp(text, "bcnn, 16 filters, 4 groups, 1924964 parameters") == 0);
    CHECK_FAILS(crd_model_set_calibration(again, 0), CRD_ERR_ARGUMENT, "above 0");
    CHECK_FAILS(crd_model_set_calibration(again, NAN), CRD_ERR_ARGUMENT, "above 0");
    CHECK_OK(crd_model_set_calibration(again, 2));
    crd_model_free(&model);
    crd_model_free(&again);

    const crd_model_info chunked = {.kind = CRD_MCDN, .chunk = {88, 176, 176}};
    CHECK_OK(crd_model_create(&chunked, 1, &model));
    crd_model_summary(model, text, sizeof text);
    CHECK(strcmp(text, "mcdn, 16 filters, 4 groups, 1403059 parameters, chunk 88,176,176 (z,y,x)") == 0);
    crd_model_free(&model);

    const crd_model_info uneven = {.kind = CRD_MCDN, .chunk = {88, 172, 172}};
    CHECK_FAILS(crd_model_create(&uneven, 1, &model), CRD_ERR_ARGUMENT, "88,168,168");
    const crd_model_info odd = {.kind = CRD_MCDN, .filters = 10};
    CHECK_FAILS(crd_model_create(&odd, 1, &model), CRD_ERR_ARGUMENT, "10 base filters");
    CHECK(model == NULL);
}

static void test_long_config(void)
{
    enum { LENGTH = 200000 }; /* more than the 64 KiB that an old HDF5 attribute can hold */
    char *config = malloc(LENGTH + 1);
    memset(config, 'x', LENGTH);
    config[LENGTH] = '\0';
    crd_model *model = NULL, *again = NULL;
    CHECK_OK(make_model(CRD_MCDN, &model));
    CHECK_OK(crd_model_set_config(model, config));
    CHECK_OK(crd_model_save(model, scratch("long.h5")));
    CHECK_OK(crd_model_load(scratch("long.h5"), &again));
    CHECK(strcmp(crd_model_describe(again)->config, config) == 0);
    crd_model_free(&model);
    crd_model_free(&again);
    free(config);
}

/* A checkpoint: a model and more. */
typedef struct extra {
    const crd_net *net;
    float *moments;
    int64_t step[2];
    char *words;
} extra;

static crd_status write_extra(void *context, crd_store *store)
{
    const extra *e = context;
    CRD_PASS(crd_store_put_layout(store, "optimizer/m", &e->net->model, e->moments));
    CRD_PASS(crd_store_put_numbers(store, "state", "step", 2, e->step));
    return crd_store_put_text(store, "state", "words", "go on here");
}

static crd_status read_extra(void *context, crd_store *store)
{
    extra *e = context;
    CRD_PASS(crd_store_get_layout(store, "optimizer/m", &e->net->model, "a checkpoint", e->moments));
    CRD_PASS(crd_store_get_numbers(store, "state", "step", 2, e->step));
    return crd_store_get_text(store, "state", "words", &e->words);
}

static void test_checkpoint_content(void)
{
    crd_model *model = NULL, *again = NULL;
    const char *path = scratch("model.ckpt.h5"), *twin = scratch("twin.ckpt.h5"), *bare = scratch("bare.h5");
    CHECK_OK(make_model(CRD_BCNN, &model));
    const size_t bytes = (size_t)model->net.model.total * sizeof(float);
    extra in = {.net = &model->net, .moments = malloc(bytes), .step = {12, INT64_C(1) << 40}};
    crd_net_init(&model->net, 99, in.moments);
    CHECK_OK(crd_model_write(model, path, write_extra, &in));
    CHECK_OK(crd_model_write(model, twin, write_extra, &in));
    CHECK(same_files(path, twin));

    extra out = {.net = &model->net, .moments = malloc(bytes)};
    CHECK_OK(crd_model_read(path, read_extra, &out, &again));
    CHECK(memcmp(in.moments, out.moments, bytes) == 0 && out.step[0] == 12 && out.step[1] == INT64_C(1) << 40);
    CHECK(strcmp(out.words, "go on here") == 0);
    crd_free(&out.words);
    crd_model_free(&again);
    CHECK_OK(crd_model_load(path, &again)); /* a checkpoint is a model, too */
    crd_model_free(&again);
    CHECK_OK(crd_model_save(model, bare));
    CHECK_FAILS(crd_model_read(bare, read_extra, &out, &again), CRD_ERR_MISMATCH, "lacks the dataset optimizer/m/");
    CHECK(again == NULL);
    free(in.moments);
    free(out.moments);
    crd_model_free(&model);
}

/* Changes to a good file, by another hand than the library's. */

static void put_real(hid_t file, const char *name, double value)
{
    (void)H5Adelete(file, name);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value);
    (void)H5Aclose(attribute);
    (void)H5Sclose(space);
}

/* Of fixed length, as we don't do it. */
static void put_text(hid_t file, const char *name, const char *text)
{
    if (H5Aexists(file, name) > 0) (void)H5Adelete(file, name);
    const hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, strlen(text));
    const hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Awrite(attribute, type, text);
    (void)H5Aclose(attribute);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
}

static void put_dataset(hid_t file, const char *name, hid_t type, hsize_t count)
{
    (void)H5Ldelete(file, name, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
}

static void put_value(hid_t file, const char *name, float value)
{
    float values[4] = {0, value, 0, 0};
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    (void)H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    (void)H5Dclose(dataset);
}

static void other_format(hid_t file)
{
    put_text(file, "format", "somebody-else's");
}
static void no_format(hid_t file)
{
    (void)H5Adelete(file, "format");
}
static void newer_version(hid_t file)
{
    put_number(file, "version", 4);
}
static void other_kind(hid_t file)
{
    put_text(file, "kind", "unet");
}
static void kind_is_a_number(hid_t file)
{
    put_number(file, "kind", 1);
}
static void more_filters(hid_t file)
{
    put_number(file, "filters", 4);
}
static void negative_filters(hid_t file)
{
    put_number(file, "filters", -4);
}
static void uneven_filters(hid_t file)
{
    put_number(file, "filters", 3);
}
static void real_filters(hid_t file)
{
    put_real(file, "filters", 2.5);
}
static void calibration_zero(hid_t file)
{
    put_real(file, "calibration", 0);
}
static void chunk_of_one(hid_t file)
{
    put_number(file, "chunk", 16);
}
static void chunk_gone_wrong(hid_t file)
{
    const int64_t chunk[3] = {16, 32, 25};
    const hid_t attribute = H5Aopen(file, "chunk", H5P_DEFAULT);
    (void)H5Awrite(attribute, H5T_NATIVE_INT64, chunk);
    (void)H5Aclose(attribute);
}
static void missing_dataset(hid_t file)
{
    (void)H5Ldelete(file, "decoder/2/a/kernel_rho", H5P_DEFAULT);
}
static void missing_group(hid_t file)
{
    (void)H5Ldelete(file, "head", H5P_DEFAULT);
}
static void dataset_is_a_group(hid_t file)
{
    (void)H5Ldelete(file, "head/point/bias", H5P_DEFAULT);
    (void)H5Gclose(H5Gcreate2(file, "head/point/bias", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}
static void other_shape(hid_t file)
{
    put_dataset(file, "encoder/2/b/gamma", H5T_NATIVE_FLOAT, 5);
}
static void other_rank(hid_t file)
{
    put_dataset(file, "encoder/1/a/kernel", H5T_NATIVE_FLOAT, 54);
}
static void other_type(hid_t file)
{
    put_dataset(file, "encoder/2/b/gamma", H5T_NATIVE_DOUBLE, 4);
}
static void not_a_number(hid_t file)
{
    put_value(file, "encoder/2/b/gamma", NAN);
}
static void infinite(hid_t file)
{
    put_value(file, "encoder/2/b/gamma", -INFINITY);
}
static void changed_value(hid_t file)
{
    put_value(file, "encoder/2/b/gamma", 1.5f);
}
static void changed_norm(hid_t file)
{
    put_text(file, "norm", "912.5,96.25");
}
static void record_in_pieces(hid_t file)
{
    (void)H5Ldelete(file, "training/histogram", H5P_DEFAULT);
}

static void test_refusals(void)
{
    static const struct {
        void (*change)(hid_t file);
        crd_status status;
        const char *words;
    } cases[] = {
        {other_format, CRD_ERR_FORMAT, "its format is 'somebody-else's' instead of 'credence-model'"},
        {no_format, CRD_ERR_FORMAT, "no model of credence"},
        {newer_version, CRD_ERR_UNSUPPORTED,
         "is of version 4, and this program knows versions 1 to 3; use a newer credence"},
        {other_kind, CRD_ERR_FORMAT, "unknown kind 'unet'"},
        {kind_is_a_number, CRD_ERR_FORMAT, "'kind' of "},
        {more_filters, CRD_ERR_MISMATCH,
         "has the shape 3x3x3x1x2, but a bcnn with 4 filters and 2 groups needs 3x3x3x1x4"},
        {negative_filters, CRD_ERR_FORMAT, "'filters' of "},
        {uneven_filters, CRD_ERR_FORMAT, "can't be used: a network with 3 base filters and 2 normalisation groups"},
        {real_filters, CRD_ERR_FORMAT, "isn't a whole number"},
        {calibration_zero, CRD_ERR_FORMAT, "must be above 0"},
        {chunk_of_one, CRD_ERR_FORMAT, "holds 1 values instead of 3"},
        {chunk_gone_wrong, CRD_ERR_FORMAT, "16,32,24 or 16,32,32"},
        {missing_dataset, CRD_ERR_MISMATCH,
         "lacks the dataset decoder/2/a/kernel_rho, which a bcnn with 2 filters and 2 groups needs with the shape "
         "3x3x3x8x4"},
        {missing_group, CRD_ERR_MISMATCH, "lacks the dataset head/spatial/kernel_loc"},
        {dataset_is_a_group, CRD_ERR_FORMAT, "head/point/bias of "},
        {other_shape, CRD_ERR_MISMATCH, "encoder/2/b/gamma of "},
        {other_shape, CRD_ERR_MISMATCH, "has the shape 5, but a bcnn with 2 filters and 2 groups needs 4"},
        {other_rank, CRD_ERR_MISMATCH, "has the shape 54, but a bcnn with 2 filters and 2 groups needs 3x3x3x1x2"},
        {other_type, CRD_ERR_MISMATCH, "isn't of type float32"},
        {not_a_number, CRD_ERR_NUMERIC, "encoder/2/b/gamma of the model"},
        {infinite, CRD_ERR_NUMERIC, "isn't a finite number (number 1)"},
        {changed_value, CRD_ERR_FORMAT, "checksum"},
        {changed_norm, CRD_ERR_FORMAT, "checksum"},
        {record_in_pieces, CRD_ERR_MISMATCH, "training/histogram"},
    };
    crd_model *model = NULL, *loaded = NULL;
    const char *path = scratch("changed.h5");
    CHECK_OK(make_model(CRD_BCNN, &model));
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_OK(crd_model_save(model, path));
        const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        CHECK(file >= 0);
        cases[i].change(file);
        (void)H5Fclose(file);
        CHECK_FAILS(crd_model_load(path, &loaded), cases[i].status, cases[i].words);
        CHECK_FAILS(crd_model_load(path, &loaded), cases[i].status, path);
        CHECK(loaded == NULL);
    }
    crd_model_free(&model);
}

static void test_other_files(void)
{
    crd_model *loaded = NULL;
    CHECK_FAILS(crd_model_load(scratch("nowhere.h5"), &loaded), CRD_ERR_SYSTEM, "nowhere.h5");
    CHECK_OK(crd_write_file(scratch("text.h5"), "not a model\n", 12));
    CHECK_FAILS(crd_model_load(scratch("text.h5"), &loaded), CRD_ERR_FORMAT, "text.h5");
    CHECK_OK(crd_write_file(scratch("empty.h5"), "", 0));
    CHECK_FAILS(crd_model_load(scratch("empty.h5"), &loaded), CRD_ERR_FORMAT, "empty.h5");
    CHECK(loaded == NULL);
}

/* A save that fails leaves the old file and no other. */
static void test_failed_saves(void)
{
    crd_model *model = NULL, *again = NULL;
    const char *path = scratch("kept.h5");
    CHECK_OK(make_model(CRD_MCDN, &model));
    CHECK_OK(crd_model_save(model, path));
    const int before = scratch_count("");
    model->parameters[model->net.model.bias[crd_net_find(&model->net, "decoder/1/a")]] = NAN;
    CHECK_FAILS(crd_model_save(model, path), CRD_ERR_NUMERIC, "decoder/1/a/bias");
    CHECK_OK(crd_model_load(path, &again));
    CHECK(scratch_count("") == before);
    CHECK_FAILS(crd_model_save(again, scratch("no-such-folder/model.h5")), CRD_ERR_SYSTEM, "no-such-folder/model.h5");
    crd_model_free(&model);
    crd_model_free(&again);
}

/* Cut at many lengths it is always refused; with one byte changed it is refused or was changed where nothing counts,
 * and then the parameters are still the same. */
static void test_damage(void)
{
    crd_model *model = NULL, *loaded = NULL;
    char *bytes = NULL;
    size_t size = 0;
    const char *path = scratch("damaged.h5");
    CHECK_OK(make_model(CRD_BCNN, &model));
    CHECK_OK(crd_model_save(model, path));
    CHECK_OK(crd_read_file(path, FILE_LIMIT, &bytes, &size));
    for (size_t length = 0; length < size; length += (size / 97 + 1) * (size_t)sparse(4, "lengths")) {
        CHECK_OK(crd_write_file(path, bytes, length));
        CHECK(crd_model_load(path, &loaded) != CRD_OK && loaded == NULL);
    }
    uint32_t random = 1;
    int refused = 0, tried = 0;
    for (int i = 0; i < 400; i += sparse(5, "changes")) { /* an odd stride: both kinds of places */
        tried++;
        random = random * 1664525u + 1013904223u;
        const size_t place = (size_t)random % (i % 2 == 0 ? size : 2048); /* half of them where the structure is */
        bytes[place] ^= (char)(1 << (random >> 29));
        CHECK_OK(crd_write_file(path, bytes, size));
        if (crd_model_load(path, &loaded) == CRD_OK)
            CHECK(memcmp(loaded->parameters, model->parameters, (size_t)model->net.model.total * sizeof(float)) == 0);
        else
            refused++;
        crd_model_free(&loaded);
        bytes[place] ^= (char)(1 << (random >> 29));
    }
    printf("       %zu bytes, %d of %d changes refused\n", size, refused, tried);
    CHECK(refused > tried / 2);
    crd_free(&bytes);
    crd_model_free(&model);
}

/* The datasets were written by h5py, the attributes lack what may be absent and are of other types. */
static void test_file_of_another_program(void)
{
    const reference_case *c = reference_load(CRD_BCNN);
    const char *data = getenv("CREDENCE_TEST_DATA"), *path = scratch("foreign.h5");
    char source_path[1024];
    snprintf(source_path, sizeof source_path, "%s/bcnn_f8.h5", data != NULL ? data : "../../tests/data");
    const hid_t source = H5Fopen(source_path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(source >= 0 && file >= 0);
    static const char *const parts[3] = {"encoder", "decoder", "head"};
    for (int i = 0; i < 3; i++) {
        char from[32];
        snprintf(from, sizeof from, "model/%s", parts[i]);
        CHECK(H5Ocopy(source, from, file, parts[i], H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    put_text(file, "format", "credence-model");
    put_number(file, "version", 1);
    put_text(file, "kind", "bcnn");
    put_number(file, "filters", 8);
    put_text(file, "config", "{}");
    (void)H5Fclose(file);
    (void)H5Fclose(source);
    crd_model *model = NULL;
    CHECK_OK(crd_model_load(path, &model));
    CHECK(memcmp(model->parameters, c->model, (size_t)c->net.model.total * sizeof(float)) == 0);
    CHECK(model->info.groups == 4 && model->info.calibration == 1 && strcmp(model->info.config, "{}") == 0);
    crd_model_free(&model);
}

/* A file of version 1, written once and never again: every later program has to read it. */
static void test_golden_file(void)
{
    const char *data = getenv("CREDENCE_TEST_DATA");
    char path[1024];
    snprintf(path, sizeof path, "%s/golden_model_v1.h5", data != NULL ? data : "../../tests/data");
    crd_model *expected = NULL, *golden = NULL;
    CHECK_OK(make_model(CRD_BCNN, &expected));
    CHECK_OK(crd_model_load(path, &golden));
    const crd_model_info *a = &expected->info, *b = &golden->info;
    CHECK(b->kind == CRD_BCNN && b->filters == 2 && b->groups == 2 && b->calibration == 1.25);
    CHECK(memcmp(a->chunk, b->chunk, sizeof a->chunk) == 0);
    CHECK(strcmp(a->norm, b->norm) == 0 && strcmp(a->config, b->config) == 0);
    CHECK(memcmp(&a->training, &b->training, sizeof a->training) == 0);
    /* The initial values of seed 42: these numbers never change, either. */
    CHECK(memcmp(expected->parameters, golden->parameters, (size_t)b->parameters * sizeof(float)) == 0);
    crd_model_free(&expected);
    crd_model_free(&golden);
}

/* Three classes with names and values, and a file that says how many there are and nothing else of them. */
static void test_classes(void)
{
    crd_model *model = NULL, *read = NULL;
    char name[CRD_CLASS_NAME_TEXT];
    crd_model_info info = {.kind = CRD_BCNN, .filters = 4, .classes = 3, .class_values = {0, 128, 255}};
    snprintf(info.class_names, sizeof info.class_names, "pore,ysz,nickel");
    CHECK_OK(crd_model_create(&info, 3, &model));
    CHECK_OK(crd_model_save(model, "classes.h5"));
    CHECK_OK(crd_model_load("classes.h5", &read));
    CHECK(read->net.classes == 3 &&
          memcmp(read->parameters, model->parameters, (size_t)model->net.model.total * 4) == 0);
    CHECK(strcmp(read->info.class_names, "pore,ysz,nickel") == 0 && read->info.class_values[2] == 255);
    crd_class_name(&read->info, 1, name);
    CHECK(strcmp(name, "ysz") == 0);
    crd_model_free(&read);
    crd_model_free(&model);

    info.class_names[0] = '\0';
    CHECK_OK(crd_model_create(&info, 3, &model));
    crd_class_name(crd_model_describe(model), 1, name);
    CHECK(strcmp(name, "128") == 0);
    crd_model_free(&model);
    info.classes = 2;
    CHECK_OK(crd_model_create(&info, 3, &model));
    crd_class_name(crd_model_describe(model), 1, name);
    CHECK(strcmp(name, "foreground") == 0);
    crd_model_free(&model);

    snprintf(info.class_names, sizeof info.class_names, "pore,ysz,nickel");
    CHECK_FAILS(crd_model_create(&info, 3, &model), CRD_ERR_ARGUMENT, "2 classes and 3 names");
    info.classes = 3;
    info.class_values[1] = 255;
    CHECK_FAILS(crd_model_create(&info, 3, &model), CRD_ERR_ARGUMENT, "have the same value");
    info.classes = 17;
    CHECK_FAILS(crd_model_create(&info, 3, &model), CRD_ERR_ARGUMENT, "2 to 16");
    unlink("classes.h5");
}

TEST_MAIN(TEST(test_classes), TEST(test_round_trip_bcnn), TEST(test_round_trip_mcdn), TEST(test_defaults_and_summary),
          TEST(test_long_config), TEST(test_checkpoint_content), TEST(test_refusals), TEST(test_other_files),
          TEST(test_failed_saves), TEST(test_damage), TEST(test_file_of_another_program), TEST(test_golden_file))
