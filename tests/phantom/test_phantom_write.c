/* A phantom's files: complete, readable, described; never over somebody's own data, never half there. */
#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/memory.h"
#include "credence/phantom.h"
#include "harness.h"
#include "phantom_tools.h"
#include "volume_tools.h"

static void set(crd_phantom_kind kind, crd_phantom_options *options, const char *name, const char *value)
{
    if (crd_settings_set(crd_phantom_settings(kind), options, name, value) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        abort();
    }
}

/* Options that write to the scratch folder itself, which is removed at the end. */
static crd_phantom_options writing(crd_phantom_kind kind, const char *format)
{
    crd_phantom_options options = phantom_options(kind, 10, 40, 50);
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch(""));
    set(kind, &options, "output", folder);
    set(kind, &options, "format", format);
    return options;
}

static void remove_files(const char *suffix)
{
    static const char *const names[] = {"scan", "label", "truth"};
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", names[i], suffix);
        (void)unlink(scratch(name));
    }
    (void)unlink(scratch("phantom.json"));
}

static crd_status read_all(const char *path, crd_type type, int64_t voxels, void *out)
{
    crd_volume *volume = NULL;
    crd_status status = crd_volume_open(path, NULL, NULL, &volume);
    if (status != CRD_OK) return status;
    const crd_volume_info *info = crd_volume_describe(volume);
    crd_box box = {.size = {info->shape[0], info->shape[1], info->shape[2]}};
    if (info->type != type || info->shape[0] * info->shape[1] * info->shape[2] != voxels) {
        status = CRD_ERR_MISMATCH;
    } else {
        status = crd_volume_read(volume, &box, type, out);
    }
    crd_volume_close(&volume);
    return status;
}

static double number_at(const cJSON *root, const char *key, const char *inner)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (inner != NULL) item = cJSON_GetObjectItemCaseSensitive(item, inner);
    return cJSON_IsNumber(item) ? item->valuedouble : -1.0;
}

static void test_files_hold_what_the_generator_makes(void)
{
    crd_phantom_options options = writing(CRD_PHANTOM_WELD, "npy");
    crd_phantom_result result;
    phantom p;
    set(CRD_PHANTOM_WELD, &options, "spacing", "2,2,1.5,micron");
    CHECK_OK(crd_phantom_write(CRD_PHANTOM_WELD, &options, NULL, &result));
    CHECK_OK(phantom_make(CRD_PHANTOM_WELD, &options, 0, 1, 0, &p));
    uint16_t *scan = malloc((size_t)p.voxels * 2);
    uint8_t *mask = malloc((size_t)p.voxels);
    CHECK(scan != NULL && mask != NULL);
    CHECK_OK(read_all(scratch("scan.npy"), CRD_U16, p.voxels, scan));
    CHECK(memcmp(scan, p.scan, (size_t)p.voxels * 2) == 0);
    CHECK_OK(read_all(scratch("label.npy"), CRD_U8, p.voxels, mask));
    CHECK(memcmp(mask, p.label, (size_t)p.voxels) == 0);
    CHECK_OK(read_all(scratch("truth.npy"), CRD_U8, p.voxels, mask));
    CHECK(memcmp(mask, p.truth, (size_t)p.voxels) == 0);

    crd_volume *volume = NULL;
    CHECK_OK(crd_volume_open(scratch("scan.npy"), NULL, NULL, &volume));
    CHECK_NEAR(crd_volume_describe(volume)->spacing[2], 1.5, 1e-12);
    CHECK(strcmp(crd_volume_describe(volume)->unit, "um") == 0);
    crd_volume_close(&volume);

    char *text = NULL;
    size_t bytes = 0;
    int64_t foreground = 0, errors = 0;
    for (int64_t i = 0; i < p.voxels; i++) {
        foreground += p.truth[i];
        errors += p.truth[i] != p.label[i];
    }
    CHECK_OK(crd_read_file(scratch("phantom.json"), 1 << 20, &text, &bytes));
    cJSON *json = cJSON_Parse(text);
    CHECK(json != NULL);
    CHECK(strcmp(cJSON_GetObjectItemCaseSensitive(json, "kind")->valuestring, "weld") == 0);
    CHECK_NEAR(number_at(json, "volume_fraction", NULL), (double)foreground / (double)p.voxels, 1e-12);
    CHECK_NEAR(number_at(json, "label", "errors"), errors, 0);
    CHECK_NEAR(number_at(json, "best_threshold", "errors"), result.threshold_errors, 0);
    CHECK_NEAR(number_at(json, "settings", "noise"), options.noise, 1e-12);
    CHECK(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "settings"), "threads") == NULL);
    CHECK(result.foreground == foreground && result.label_errors == errors && result.voxels == p.voxels);
    cJSON_Delete(json);
    crd_free(&text);
    free(scan);
    free(mask);
    phantom_free(&p);
    phantom_options_free(CRD_PHANTOM_WELD, &options);
    remove_files(".npy");
    (void)unlink(scratch("scan.npy.json"));
    (void)unlink(scratch("label.npy.json"));
    (void)unlink(scratch("truth.npy.json"));
    CHECK(scratch_count("") == 0);
}

static void test_types_hold_the_same_scan(void)
{
    static const char *const types[] = {"u8", "u16", "f32"};
    static const double full[] = {255.0, 65535.0, 1.0};
    double values[3][10];
    for (int t = 0; t < 3; t++) {
        crd_phantom_options options = writing(CRD_PHANTOM_GRAPHITE, "npy");
        crd_phantom_result result;
        set(CRD_PHANTOM_GRAPHITE, &options, "type", types[t]);
        CHECK_OK(crd_phantom_write(CRD_PHANTOM_GRAPHITE, &options, NULL, &result));
        CHECK(result.threshold > 0.3 * full[t] && result.threshold < 0.6 * full[t]);
        crd_volume *volume = NULL;
        const crd_box box = {.origin = {4, 20, 20}, .size = {1, 1, 10}};
        CHECK_OK(crd_volume_open(scratch("scan.npy"), NULL, NULL, &volume));
        CHECK(strcmp(crd_type_name(crd_volume_describe(volume)->type), types[t]) == 0);
        CHECK_OK(crd_volume_read(volume, &box, CRD_F64, values[t]));
        crd_volume_close(&volume);
        for (int i = 0; i < 10; i++) values[t][i] /= full[t];
        phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
    }
    for (int i = 0; i < 10; i++) {
        CHECK_NEAR(values[0][i], values[2][i], 0.51 / 255.0);
        CHECK_NEAR(values[1][i], values[2][i], 0.51 / 65535.0);
    }
    remove_files(".npy");
}

static void test_own_scans_are_not_replaced(void)
{
    crd_phantom_options options = writing(CRD_PHANTOM_GRAPHITE, "raw");
    CHECK_OK(crd_write_file(scratch("label.raw"), "mine", 4));
    CHECK_FAILS(crd_phantom_write(CRD_PHANTOM_GRAPHITE, &options, NULL, NULL), CRD_ERR_ARGUMENT, "label.raw is there");
    char *text = NULL;
    size_t bytes = 0;
    CHECK_OK(crd_read_file(scratch("label.raw"), 100, &text, &bytes));
    CHECK(bytes == 4 && memcmp(text, "mine", 4) == 0);
    CHECK(scratch_count("") == 1);
    crd_free(&text);
    (void)unlink(scratch("label.raw"));
    phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
}

static bool stop(void *context, const crd_progress *progress)
{
    int *calls = context;
    return ++*calls < 2 && progress->total > 0;
}

static void test_cancelled_leaves_nothing(void)
{
    crd_phantom_options options = writing(CRD_PHANTOM_GRAPHITE, "npy");
    int calls = 0;
    const crd_monitor monitor = {.context = &calls, .progress = stop};
    CHECK_FAILS(crd_phantom_write(CRD_PHANTOM_GRAPHITE, &options, &monitor, NULL), CRD_ERR_CANCELLED, "stopped while");
    CHECK(calls == 2);
    CHECK(scratch_count("") == 0);
    phantom_options_free(CRD_PHANTOM_GRAPHITE, &options);
}

static void count_message(void *context, crd_level level, const char *text)
{
    int *warnings = context;
    *warnings += level == CRD_LEVEL_WARNING && strstr(text, "share of foreground") != NULL;
}

static void test_unreachable_fraction_is_said(void)
{
    crd_phantom_options options = writing(CRD_PHANTOM_WELD, "npy");
    int warnings = 0;
    const crd_monitor monitor = {.context = &warnings, .message = count_message};
    options.fraction = 0.8;
    CHECK_OK(crd_phantom_write(CRD_PHANTOM_WELD, &options, &monitor, NULL));
    CHECK(warnings == 1);
    options.fraction = 0.15;
    CHECK_OK(crd_phantom_write(CRD_PHANTOM_WELD, &options, &monitor, NULL)); /* over a phantom: allowed */
    CHECK(warnings == 1);
    phantom_options_free(CRD_PHANTOM_WELD, &options);
    remove_files(".npy");
}

static void test_wrong_places_and_formats_are_refused(void)
{
    const crd_settings *table = crd_phantom_settings(CRD_PHANTOM_WELD);
    crd_phantom_options options = writing(CRD_PHANTOM_WELD, "npy");
    CHECK_FAILS(crd_settings_set(table, &options, "format", "bmp"), CRD_ERR_ARGUMENT, "format must be a format (");
    /* A program may fill the struct without the table. */
    char *const format = options.format, *const spacing = options.spacing, bmp[] = "bmp", two[] = "1,1";
    options.format = bmp;
    CHECK_FAILS(crd_phantom_write(CRD_PHANTOM_WELD, &options, NULL, NULL), CRD_ERR_ARGUMENT, "not 'bmp'");
    options.format = format;
    options.spacing = two;
    CHECK_FAILS(crd_phantom_write(CRD_PHANTOM_WELD, &options, NULL, NULL), CRD_ERR_ARGUMENT, "a spacing is three");
    options.spacing = spacing;
    CHECK_OK(crd_write_file(scratch("file"), "x", 1));
    char place[512];
    snprintf(place, sizeof place, "%s", scratch("file"));
    set(CRD_PHANTOM_WELD, &options, "output", place);
    CHECK_FAILS(crd_phantom_write(CRD_PHANTOM_WELD, &options, NULL, NULL), CRD_ERR_SYSTEM, "is a file");
    snprintf(place, sizeof place, "%s", scratch("file/below"));
    set(CRD_PHANTOM_WELD, &options, "output", place);
    CHECK_FAILS(crd_phantom_write(CRD_PHANTOM_WELD, &options, NULL, NULL), CRD_ERR_SYSTEM, "folder");
    (void)unlink(scratch("file"));
    phantom_options_free(CRD_PHANTOM_WELD, &options);
}

TEST_MAIN(TEST(test_files_hold_what_the_generator_makes), TEST(test_types_hold_the_same_scan),
          TEST(test_own_scans_are_not_replaced), TEST(test_cancelled_leaves_nothing),
          TEST(test_unreachable_fraction_is_said), TEST(test_wrong_places_and_formats_are_refused))
