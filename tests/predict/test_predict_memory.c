/* Predictions of scans in memory: the same files as of scans in files. */
#include "credence/measure.h"
#include "credence/train.h"
#include "harness.h"
#include "predict_run.h"
#include "volume/types.h"

enum { Z = 20, Y = 24, X = 28, VOXELS = Z * Y * X };
static const int64_t shape[3] = {Z, Y, X};
static const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U16, .spacing = {2, 1, 1}, .unit = "um"};
static uint16_t voxels[VOXELS], turned[VOXELS];
static uint8_t inside[VOXELS];

static crd_status make_files(void)
{
    const crd_model_info bcnn = {.kind = CRD_BCNN, .filters = quick_filters()};
    for (int i = 0; i < VOXELS; i++) {
        const int z = i / X / Y, y = i / X % Y, x = i % X;
        voxels[i] = (uint16_t)(1000.0 + 300.0 * (sin(z * 0.5) + sin(y * 0.4) + sin(x * 0.3)));
        inside[i] = (z - 10) * (z - 10) + (y - 12) * (y - 12) + (x - 14) * (x - 14) < 150;
    }
    CRD_PASS(tools_save_model(scratch("model.h5"), &bcnn, 7));
    CRD_PASS(save_scan(scratch("mask.npy"), CRD_U8, shape, inside));
    return save_scan(scratch("scan.npy"), CRD_U16, shape, voxels);
}

static crd_status read_turned(void *context, const crd_box *box, void *out)
{
    uint16_t *to = out;
    if (context != turned) return CRD_ERR_INTERNAL;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            for (int64_t x = box->origin[2]; x < box->origin[2] + box->size[2]; x++) {
                *to++ = voxels[(z * Y + y) * X + x];
            }
        }
    }
    return CRD_OK;
}

static void settings(const char *run, bool seamless, const char *mask)
{
    begin(run);
    set("format", "npy");
    set("std", "true");
    set("save-samples", "f32");
    set("mask", mask);
    if (seamless) {
        crd_settings_clear(&crd_predict_settings, &options);
        (void)crd_settings_default(&crd_predict_settings, &options);
        set("model", scratch("model.h5"));
        set("scan", scratch("scan.npy"));
        set("output", run_path(run));
        set("samples", "3");
        set("mode", "seamless");
        set("norms", "scan");
        set("format", "npy");
        set("save-samples", "u8");
        set("mask", mask);
    }
}

static bool same_runs(const char *a, const char *b)
{
    static const char *const files[] = {"scan_prob.npy", "scan_seg.npy", "scan_unc.npy", "scan_sample_0.npy"};
    bool same = true;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) same &= same_file(a, b, files[i]);
    return same;
}

static void test_same_files(void)
{
    crd_volume *scan = NULL, *mask = NULL;
    const crd_volume_info mask_info = {.shape = {Z, Y, X}, .type = CRD_U8};
    const crd_volume_source source = {.size = sizeof source, .read = read_turned, .context = turned, .layer = 3};
    const int64_t strides[3] = {-2, 2 * Z, 2 * Y * Z}; /* z backwards and fastest */
    CHECK_OK(make_files());
    for (int i = 0; i < VOXELS; i++) {
        const int z = i / X / Y, y = i / X % Y, x = i % X;
        turned[(x * Y + y) * Z + Z - 1 - z] = voxels[i];
    }
    crd_swap_bytes(turned, VOXELS, 2);
    for (int seamless = 0; seamless < 2; seamless++) {
        settings("files", seamless, scratch("mask.npy"));
        CHECK_OK(crd_predict(&options, NULL, NULL));
        CHECK_OK(crd_volume_from_memory(inside, &mask_info, NULL, false, "mask", &mask));
        CHECK_OK(crd_volume_from_memory(turned + Z - 1, &info, strides, !CRD_BIG_ENDIAN, "scan", &scan));
        settings("array", seamless, "memory:mask");
        set("scan", crd_volume_path(scan));
        CHECK_OK(crd_predict(&options, NULL, NULL));
        CHECK(same_runs("files", "array"));
        crd_volume_close(&scan);
        CHECK_OK(crd_volume_from_callback(&source, &info, "scan", &scan));
        settings("callback", seamless, "memory:mask");
        set("scan", crd_volume_path(scan));
        CHECK_OK(crd_predict(&options, NULL, NULL));
        CHECK(same_runs("files", "callback"));
        set("resume", "true"); /* the same voxels, found again */
        CHECK_OK(crd_predict(&options, NULL, NULL));
        crd_volume_close(&scan);
        crd_volume_close(&mask);
    }
}

static crd_status fail(void *context, const crd_box *box, void *out)
{
    (void)context;
    (void)out;
    return box->origin[0] < Z / 2 ? CRD_ERR_SYSTEM : crd_set_error(CRD_ERR_SYSTEM, "the disk is gone");
}

static void test_failure(void)
{
    crd_volume *scan = NULL;
    const crd_volume_source source = {.size = sizeof source, .read = fail};
    CHECK_OK(make_files());
    CHECK_OK(crd_volume_from_callback(&source, &info, "scan", &scan));
    begin("failed");
    set("scan", "memory:scan");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_SYSTEM, "memory:scan can't be read");
    crd_volume_close(&scan);
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_SYSTEM, "memory:scan can't be opened");
    crd_settings_clear(&crd_predict_settings, &options);
}

/* A training and a measurement take them, too. */
static void train_settings(crd_train_options *o, const char *scan, const char *label, const char *output)
{
    static const char *const chosen[][2] = {
        {"filters", "8"},      {"chunk", "16,16,16"}, {"max-steps", "3"},      {"batch", "2"},   {"epochs", "1"},
        {"estimator", "mean"}, {"norm", "scan"},      {"valid-fraction", "0"}, {"keep", "last"}, {"threads", "1"}};
    const crd_settings *table = &crd_train_settings;
    CHECK_OK(crd_settings_default(table, o));
    CHECK_OK(crd_settings_set(table, o, "scan", scan));
    CHECK_OK(crd_settings_set(table, o, "label", label));
    CHECK_OK(crd_settings_set(table, o, "output", output));
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        CHECK_OK(crd_settings_set(table, o, chosen[i][0], chosen[i][1]));
    }
}

static void test_train(void)
{
    crd_volume *scan = NULL, *label = NULL;
    const crd_volume_info label_info = {.shape = {Z, Y, X}, .type = CRD_U8};
    crd_train_options o;
    crd_model *model[2] = {NULL, NULL};
    CHECK_OK(make_files());
    train_settings(&o, scratch("scan.npy"), scratch("mask.npy"), scratch("of_files.h5"));
    CHECK_OK(crd_train(&o, NULL, NULL));
    crd_settings_clear(&crd_train_settings, &o);
    CHECK_OK(crd_volume_from_memory(voxels, &info, NULL, false, "scan", &scan));
    CHECK_OK(crd_volume_from_memory(inside, &label_info, NULL, false, "label", &label));
    train_settings(&o, "memory:scan", "memory:label", scratch("of_arrays.h5"));
    CHECK_OK(crd_train(&o, NULL, NULL));
    crd_settings_clear(&crd_train_settings, &o);
    CHECK_OK(crd_model_load(scratch("of_files.h5"), &model[0]));
    CHECK_OK(crd_model_load(scratch("of_arrays.h5"), &model[1]));
    const size_t bytes = (size_t)model[0]->net.model.total * sizeof(float);
    CHECK(memcmp(model[0]->parameters, model[1]->parameters, bytes) == 0);
    crd_model_free(&model[0]);
    crd_model_free(&model[1]);
    crd_volume_close(&scan);
    crd_volume_close(&label);
}

static void test_measure(void)
{
    crd_volume *label = NULL;
    const crd_volume_info label_info = {.shape = {Z, Y, X}, .type = CRD_U8, .spacing = {2, 1, 1}, .unit = "um"};
    crd_measure_options o;
    crd_measurement *m[2] = {NULL, NULL};
    CHECK_OK(make_files());
    CHECK_OK(crd_volume_from_memory(inside, &label_info, NULL, false, "label", &label));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(crd_settings_default(&crd_measure_settings, &o));
        CHECK_OK(crd_settings_set(&crd_measure_settings, &o, "input", i == 0 ? scratch("mask.npy") : "memory:label"));
        if (i == 0) CHECK_OK(crd_settings_set(&crd_measure_settings, &o, "spacing", "2,1,1,um"));
        CHECK_OK(crd_measure(&o, NULL, &m[i]));
        crd_settings_clear(&crd_measure_settings, &o);
    }
    CHECK(m[0]->property_count > 3 && m[0]->property_count == m[1]->property_count);
    for (int64_t i = 0; i < m[0]->property_count; i++) {
        const double a = m[0]->properties[i].segmentation, b = m[1]->properties[i].segmentation;
        CHECK(a == b || (isnan(a) && isnan(b)));
    }
    crd_measurement_free(&m[0]);
    crd_measurement_free(&m[1]);
    crd_volume_close(&label);
}

TEST_MAIN(TEST(test_same_files), TEST(test_failure), TEST(test_train), TEST(test_measure))
