/* Predictions of odd scans and with odd options: what is refused, what is warned about, what each output is. */
#include <cjson/cJSON.h>

#include "base/settings/row.h"
#include "comma_locale.h"
#include "harness.h"
#include "predict/memory_plan.h"
#include "predict/training_match.h"
#include "predict_run.h"
#include "run/lock.h"
#include "run/paths.h"

enum { Z = 16, Y = 24, X = 24, VOXELS = Z * Y * X };
static const int64_t shape[3] = {Z, Y, X};

static char said[8192];
static void listen(void *context, crd_level level, const char *text)
{
    (void)context;
    if (level != CRD_LEVEL_WARNING) return;
    const size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%s\n", text);
}
static const crd_monitor monitor = {.message = listen};

static void fresh(const char *name)
{
    begin(name);
    set("samples", "3");
    set("chunk", "16,16,16");
    set("step", "1");
    set("intervals", "33-67");
    said[0] = '\0';
}

static double wave(int i)
{
    return sin((double)(i / X / Y) * 0.5) + sin((double)(i / X % Y) * 0.4) + sin((double)(i % X) * 0.3);
}

static float plain_value(int i)
{
    return (float)(100.0 + 10.0 * round(wave(i) * 3.0));
}

/* The model, the scan and the run "plain" that others are compared with: made for whichever test comes first. */
static crd_status make_plain(void)
{
    static float voxels[VOXELS];
    static bool made;
    const crd_model_info bcnn = {.kind = CRD_BCNN, .filters = quick_filters()};
    if (made) return CRD_OK;
    for (int i = 0; i < VOXELS; i++) voxels[i] = plain_value(i);
    CRD_PASS(tools_save_model(scratch("model.h5"), &bcnn, 7));
    CRD_PASS(save_scan(scratch("scan.npy"), CRD_F32, shape, voxels));
    fresh("plain");
    CRD_PASS(crd_predict(&options, &monitor, NULL));
    made = true;
    return CRD_OK;
}

static void small(const char *name)
{
    if (make_plain() != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
    fresh(name);
}

static void test_models_and_scans(void)
{
    static uint8_t bytes[VOXELS];
    const crd_model_info mcdn = {.kind = CRD_MCDN, .filters = quick_filters()};
    CHECK_OK(make_plain());
    CHECK(said[0] == '\0');
    CHECK_OK(tools_save_model(scratch("mcdn.h5"), &mcdn, 7));

    /* Another type of voxel, the same values: the same result. */
    for (int i = 0; i < VOXELS; i++) bytes[i] = (uint8_t)lrintf(plain_value(i));
    CHECK_OK(save_scan(scratch("bytes.npy"), CRD_U8, shape, bytes));
    small("typed");
    set("scan", scratch("bytes.npy"));
    CHECK_OK(crd_predict(&options, &monitor, NULL));
    float *a = floats("plain", "scan_prob.npy", VOXELS), *b = floats("typed", "bytes_prob.npy", VOXELS);
    CHECK(memcmp(a, b, VOXELS * sizeof *a) == 0);
    free(a);
    free(b);

    /* Raw data comes out as TIFF; an MCDN runs, too. */
    FILE *file = fopen(scratch("scan.raw"), "wb");
    CHECK(file != NULL && fwrite(bytes, 1, VOXELS, file) == VOXELS && fclose(file) == 0);
    small("raw");
    set("model", scratch("mcdn.h5"));
    set("scan", scratch("scan.raw"));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_ARGUMENT, "scan.raw");
    set("shape", "16,24,24");
    set("type", "u8");
    set("spacing", "3,2,2,mm");
    set("samples", "6"); /* among them some with the head's channel dropped and some without */
    CHECK_OK(crd_predict(&options, NULL, NULL));
    crd_volume *volume = NULL;
    CHECK_OK(crd_volume_open(run_path("raw/scan_unc.tif"), NULL, NULL, &volume));
    CHECK(crd_volume_describe(volume)->spacing[0] == 3.0 && strcmp(crd_volume_describe(volume)->unit, "mm") == 0);
    crd_volume_close(&volume);
}

static void test_constant_scan(void)
{
    static uint16_t voxels[VOXELS];
    for (int i = 0; i < VOXELS; i++) voxels[i] = 500;
    CHECK_OK(save_scan(scratch("flat.npy"), CRD_U16, shape, voxels));
    small("flat");
    set("scan", scratch("flat.npy"));
    CHECK_OK(crd_predict(&options, &monitor, NULL));
    CHECK(strstr(said, "constant") != NULL);
    char *manifest = content("flat", "manifest.json", NULL);
    CHECK(strstr(manifest, "constant") != NULL); /* every warning is recorded */
    crd_free(&manifest);
}

static void test_not_numbers(void)
{
    static float voxels[VOXELS];
    for (int i = 0; i < VOXELS; i++) voxels[i] = i % 97 == 5 ? NAN : (float)wave(i);
    CHECK_OK(save_scan(scratch("holes.npy"), CRD_F32, shape, voxels));
    small("holes");
    set("scan", scratch("holes.npy"));
    CHECK_OK(crd_predict(&options, &monitor, NULL));
    CHECK(strstr(said, "95 voxels that are not finite") != NULL);
    float *prob = floats("holes", "holes_prob.npy", VOXELS);
    for (int i = 0; i < VOXELS; i++) CHECK(prob[i] >= 0.0f && prob[i] <= 1.0f);
    free(prob);
}

static void test_mask(void)
{
    crd_predict_result result;
    int64_t inside = 0, foreground = 0;
    double sum = 0.0;
    small("masked");
    set("mask", "cylinder");
    CHECK_OK(crd_predict(&options, &monitor, &result));
    float *prob = floats("masked", "scan_prob.npy", VOXELS), *unc = floats("masked", "scan_unc.npy", VOXELS);
    for (int i = 0; i < VOXELS; i++) {
        const double y = (double)(i / X % Y) - 11.5, x = (double)(i % X) - 11.5;
        if (y * y + x * x > 144.0) {
            CHECK(prob[i] == 0.0f && unc[i] == 0.0f);
            continue;
        }
        CHECK(prob[i] > 0.0f);
        inside++;
        foreground += prob[i] > 0.5f;
        sum += (double)unc[i];
    }
    CHECK(inside > 0 && inside < VOXELS);
    CHECK_NEAR(result.volume_fraction, (double)foreground / (double)inside, 1e-12);
    CHECK_NEAR(result.mean_uncertainty, sum / (double)inside, 1e-9);
    free(prob);
    free(unc);
}

/* Stops the run of that name, but not before a thread of its own has written down what it is of: what is stopped
 * earlier has nothing to go on with. */
static bool stop_once_identified(void *run, const crd_progress *progress)
{
    char *path = NULL;
    if (strcmp(progress->stage, "predicting") != 0) return true;
    if (crd_run_path(run_path(run), CRD_RUN_IDENTITY, &path) != CRD_OK) return true; /* the run won't be stopped */
    for (int i = 0; i < 3000 && access(path, F_OK) != 0; i++) usleep(10000);
    crd_free(&path);
    return false;
}

/* A volume of 0 and 1 that marks all voxels but the first `left_out`. */
static crd_status save_mask(const char *name, int left_out)
{
    static uint8_t marks[VOXELS];
    for (int i = 0; i < VOXELS; i++) marks[i] = i >= left_out;
    return save_scan(scratch(name), CRD_U8, shape, marks);
}

/* As a version that knew no fingerprint of a mask left it. */
static crd_status forget_fingerprint(const char *run)
{
    char path[1200], *text = content(run, "manifest.json", NULL);
    cJSON *manifest = cJSON_Parse(text);
    cJSON_DeleteItemFromObject(manifest, "mask");
    cJSON_DeleteItemFromObject(cJSON_GetObjectItem(manifest, "identity"), "mask_sha256");
    crd_free(&text);
    text = cJSON_Print(manifest);
    snprintf(path, sizeof path, "%s/manifest.json", run_path(run));
    const crd_status status = crd_write_file(path, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(manifest);
    return status;
}

/* A run goes on with the mask that it was begun with, by its voxels and not by its name. */
static void test_mask_that_changes(void)
{
    static const char another[] = "the mask is another one, or its content has changed";
    char name[] = "edited";
    const crd_monitor stopping = {.progress = stop_once_identified, .context = name};
    small(name);
    CHECK_OK(save_mask("mask.npy", 40));
    CHECK_OK(save_mask("same.npy", 40));
    set("mask", scratch("mask.npy"));
    CHECK_FAILS(crd_predict(&options, &stopping, NULL), CRD_ERR_CANCELLED, "stopped");
    set("resume", NULL);
    CHECK_OK(save_mask("mask.npy", 41));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, another);
    set("mask", "cylinder");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "mask was ");
    set("mask", scratch("same.npy"));
    CHECK_OK(crd_predict(&options, NULL, NULL));
    set("mask", scratch("mask.npy"));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, another); /* now that it is complete */

    small("repeated");
    set("mask", scratch("same.npy"));
    set("repeats", run_path("edited/manifest.json"));
    CHECK_OK(crd_predict(&options, &monitor, NULL));
    CHECK(strstr(said, "the mask") == NULL);
    small("repeated");
    set("mask", scratch("mask.npy"));
    set("repeats", run_path("edited/manifest.json"));
    CHECK_OK(crd_predict(&options, &monitor, NULL));
    CHECK(strstr(said, "the mask's voxels are not those that ") != NULL);

    /* Of a run of an earlier version only the mask's path is known. */
    CHECK_OK(forget_fingerprint("repeated"));
    set("resume", NULL);
    CHECK_OK(save_mask("mask.npy", 42));
    CHECK_OK(crd_predict(&options, NULL, NULL));
    set("mask", scratch("same.npy"));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "mask was ");
}

static void test_further_outputs(void)
{
    small("more");
    set("samples", "7");
    set("percentiles", "10,50");
    set("bounds", "10-90");
    set("std", NULL);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    float *p10 = floats("more", "scan_p10.npy", VOXELS), *p50 = floats("more", "scan_p50.npy", VOXELS);
    float *std = floats("more", "scan_std.npy", VOXELS), *unc = floats("more", "scan_unc.npy", VOXELS);
    size_t bytes;
    char *lower = content("more", "scan_seg_lower.npy", &bytes), *upper = content("more", "scan_seg_upper.npy", &bytes);
    for (int i = 0; i < VOXELS; i++) {
        const size_t at = bytes - VOXELS + (size_t)i;
        CHECK(p10[i] <= p50[i] && std[i] >= 0.0f && std[i] <= 0.5f && unc[i] <= 1.0f);
        CHECK(lower[at] == (p10[i] > 0.5f) && lower[at] <= upper[at]);
    }
    free(p10);
    free(p50);
    free(std);
    free(unc);
    crd_free(&lower);
    crd_free(&upper);
}

static void test_estimator_mean(void)
{
    crd_predict_result result;
    small("mean");
    set("estimator", "mean");
    CHECK_OK(crd_predict(&options, NULL, &result));
    CHECK(result.samples == 1 && result.mean_uncertainty == 0.0 && result.fraction_low == result.fraction_high);
}

static void test_calibration(void)
{
    crd_model *model = NULL;
    CHECK_OK(make_plain());
    CHECK_OK(crd_model_load(scratch("model.h5"), &model));
    CHECK_OK(crd_model_set_calibration(model, 2.0));
    CHECK_OK(crd_model_save(model, scratch("calibrated.h5")));
    crd_model_free(&model);
    small("uncalibrated");
    set("model", scratch("calibrated.h5"));
    set("no-calibration", NULL);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_file("plain", "uncalibrated", "scan_prob.npy"));
    small("calibrated");
    set("model", scratch("calibrated.h5"));
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(!same_file("plain", "calibrated", "scan_prob.npy"));
}

static void test_preview(void)
{
    crd_predict_plan *plan = NULL;
    small("preview");
    set("samples", "48");
    set("step", "3");
    set("chunk", "8,8,8");
    set("preview", NULL);
    CHECK_OK(crd_predict_plan_make(&options, NULL, &plan));
    const crd_predict_needs *needs = crd_predict_plan_needs(plan);
    CHECK(needs->samples == 4 && needs->step == 1 && needs->size[0] == 8 && needs->origin[0] == 8);
    CHECK(needs->chunks == 9);
    crd_predict_plan_free(&plan);
    CHECK_OK(crd_predict(&options, NULL, NULL));

    /* The slab of the run over everything with those settings. */
    static const char *const volumes[] = {"scan_prob.npy", "scan_unc.npy"};
    enum { SLAB = 8 * Y * X };
    small("all");
    set("samples", "4");
    set("chunk", "8,8,8");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        float *slab = floats("preview", volumes[i], SLAB), *all = floats("all", volumes[i], VOXELS);
        double least = 1.0, most = 0.0;
        CHECK(memcmp(slab, all + SLAB, SLAB * sizeof *slab) == 0); /* slices 8 to 15 of 16 */
        for (int v = 0; v < SLAB; v++) {
            CHECK(slab[v] >= 0.0f && slab[v] <= 1.0f);
            if ((double)slab[v] < least) least = (double)slab[v];
            if ((double)slab[v] > most) most = (double)slab[v];
        }
        CHECK(most - least > 0.05);
        free(slab);
        free(all);
    }
}

static void test_unlike_the_training_data(void)
{
    crd_model *model = NULL;
    crd_volume *volume = NULL;
    crd_volume_statistics statistics;
    crd_model_info info = {.kind = CRD_BCNN, .filters = quick_filters(), .chunk = {16, 16, 16}};
    CHECK_OK(make_plain());
    CHECK_OK(crd_volume_open(scratch("scan.npy"), NULL, NULL, &volume));
    CHECK_OK(crd_volume_measure(volume, NULL, &statistics));
    crd_volume_close(&volume);
    info.training = (crd_training_record){.voxels = VOXELS,
                                          .minimum = statistics.minimum,
                                          .maximum = statistics.maximum,
                                          .mean = statistics.mean,
                                          .std = sqrt(statistics.variance),
                                          .histogram_low = statistics.histogram_low,
                                          .histogram_high = statistics.histogram_high,
                                          .spacing = {0.002, 0.001, 0.001},
                                          .unit = "mm"};
    memcpy(info.training.histogram, statistics.histogram, sizeof statistics.histogram);
    CHECK_NEAR(crd_training_match_distance(&info.training, &statistics, true), 0.0, 1e-12);
    CHECK_OK(crd_model_create(&info, 1, &model));
    CHECK_OK(crd_model_save(model, scratch("trained.h5")));
    crd_model_free(&model);
    small("like");
    set("model", scratch("trained.h5"));
    CHECK_OK(crd_predict(&options, &monitor, NULL));
    CHECK(said[0] == '\0'); /* 2, 1, 1 um is 0.002, 0.001, 0.001 mm */

    static float voxels[VOXELS];
    for (int i = 0; i < VOXELS; i++) voxels[i] = i % 20 == 0 ? 1.0f : (float)(i % 7) * 0.001f;
    CHECK_OK(save_scan(scratch("unlike.npy"), CRD_F32, shape, voxels));
    small("unlike");
    set("model", scratch("trained.h5"));
    set("scan", scratch("unlike.npy"));
    set("spacing", "1,1,1,um");
    set("chunk", "16,24,24");
    CHECK_OK(crd_predict(&options, &monitor, NULL));
    CHECK(strstr(said, "grey values are unlike") != NULL && strstr(said, "voxels measure 1, 1, 1 um") != NULL);
    CHECK(strstr(said, "trained on chunks of 16,16,16 (z,y,x) and sees 16,24,24") != NULL);
}

/* As a program does it that fills the struct itself. */
static void set_past_the_table(const char *name, const char *value)
{
    const crd_setting *row = crd_settings_find(&crd_predict_settings, name);
    char **field = (char **)((char *)&options + row->offset);
    if (row->kind == CRD_SETTING_PAIRS) {
        crd_setting_clear(row, &options);
        CHECK_OK(crd_pairs_parse(name, value, (crd_pair_list *)(void *)field));
        return;
    }
    CHECK(row->kind == CRD_SETTING_TEXT || row->kind == CRD_SETTING_CHOICE);
    crd_free(field);
    CHECK_OK(crd_strdup(value, field));
}

/* One option that can't be, and the words that say so. */
static void test_refusals(void)
{
    static const struct {
        const char *name, *value;
        crd_status status;
        const char *words;
        bool at_once; /* by the table already, which knows neither scan nor model */
    } cases[] = {
        {"chunk", "16,20,16", CRD_ERR_ARGUMENT, "16,24", true},
        {"chunk", "16,16", CRD_ERR_ARGUMENT, "z,y,x or auto", true},
        {"chunk", "24,16,16", CRD_ERR_ARGUMENT, "a chunk of 16", false},
        {"bbox", "0:17,0:24,0:24", CRD_ERR_ARGUMENT, "0:16", false},
        {"bbox", "4:4,0:24,0:24", CRD_ERR_ARGUMENT, "hold a voxel", false},
        {"bbox", "0:16,0:24", CRD_ERR_ARGUMENT, "z0:z1,y0:y1,x0:x1", true},
        {"intervals", "67-33", CRD_ERR_ARGUMENT, "33-67", true},
        {"intervals", "33-67,33-67", CRD_ERR_ARGUMENT, "intervals", true},
        {"intervals", "33-101", CRD_ERR_ARGUMENT, "0 .. 100", true},
        {"bounds", "33-67,5-95", CRD_ERR_ARGUMENT, "bounds", true},
        {"norm", "twice", CRD_ERR_ARGUMENT, "normalisation", true},
        {"mask", "nowhere.npy", CRD_ERR_SYSTEM, "nowhere.npy", false},
        {"format", "bmp", CRD_ERR_ARGUMENT, "not 'bmp'", true},
        {"format", "jpeg", CRD_ERR_ARGUMENT, "doesn't write them", true},
        {"spacing", "1,2", CRD_ERR_ARGUMENT, "a spacing is three", true},
        {"max-memory", "lots", CRD_ERR_ARGUMENT, "max-memory", true},
        {"device", "cuda:1", CRD_ERR_UNSUPPORTED, "GPU", false},
        {"device", "abacus", CRD_ERR_ARGUMENT, "abacus", true},
        {"isa", "mmx", CRD_ERR_ARGUMENT, "mmx", true},
        {"model", "nowhere.h5", CRD_ERR_SYSTEM, "nowhere.h5", false},
        {"scan", "nowhere.tif", CRD_ERR_SYSTEM, "nowhere.tif", false},
        {"output", "", CRD_ERR_ARGUMENT, "-o", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        small("refused");
        if (cases[i].at_once) {
            CHECK_FAILS(crd_settings_set(&crd_predict_settings, &options, cases[i].name, cases[i].value),
                        cases[i].status, cases[i].words);
            set_past_the_table(cases[i].name, cases[i].value);
        } else {
            set(cases[i].name, cases[i].value);
        }
        CHECK_FAILS(crd_predict(&options, NULL, NULL), cases[i].status, cases[i].words);
    }
    /* Numbers that the table refuses from people, and crd_predict from programs. */
    small("refused");
    options.samples = 0;
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_ARGUMENT, "samples");
    small("refused");
    options.step = 0;
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_ARGUMENT, "step");
    small("refused");
    options.trim = 1.5;
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_ARGUMENT, "trim");
    CHECK(crd_settings_set(&crd_predict_settings, &options, "percentiles", "50,101") == CRD_ERR_ARGUMENT);

    /* A file that is no model, and a mask of another shape. */
    small("refused");
    set("model", scratch("scan.npy"));
    CHECK(crd_predict(&options, NULL, NULL) != CRD_OK && strstr(crd_last_error()->message, "scan.npy") != NULL);
    static uint8_t marks[VOXELS];
    CHECK_OK(save_scan(scratch("marks.npy"), CRD_U8, (const int64_t[]){Z, X * Y, 1}, marks));
    small("refused");
    set("mask", scratch("marks.npy"));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "marks.npy");
}

static void test_folder_that_is_not_empty(void)
{
    crd_lock *lock = NULL;
    small("taken");
    CHECK_OK(crd_make_folders(run_path("taken")));
    CHECK_OK(crd_write_file(run_path("taken/thesis.txt"), "x", 1));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_ARGUMENT, "not empty");
    small("locked");
    CHECK_OK(crd_make_folders(run_path("locked")));
    CHECK_OK(crd_lock_take(run_path("locked/.lock"), NULL, &lock));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_BUSY, "already writing");
    crd_lock_release(&lock);
    set("resume", NULL);
    CHECK_OK(crd_predict(&options, NULL, NULL)); /* nothing to go on with: it begins anew */
    CHECK(same_file("plain", "locked", "scan_prob.npy"));
}

static void test_sizes(void)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } sizes[] = {{"4G", INT64_C(4) << 30}, {"900M", 900 << 20},       {"1.5GiB", INT64_C(3) << 29},
                 {"64k", 65536},           {"2TB", INT64_C(2) << 40}, {"123456789", 123456789}};
    int64_t bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK_OK(crd_memory_parse(sizes[i].text, &bytes));
        CHECK(bytes == sizes[i].bytes);
    }
    CHECK_OK(crd_memory_parse("auto", &bytes));
    CHECK(bytes > 0);
    static const char *const bad[] = {"G", "-1G", "4X", "4GG", "0", "1e3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_FAILS(crd_memory_parse(bad[i], &bytes), CRD_ERR_ARGUMENT, "max-memory");
    }
}

/* Names of files and every line of the log are the same in a locale with a decimal comma. */
static void test_the_locale_does_not_matter(void)
{
    CHECK_OK(make_plain());
    for (int comma = 0; comma < 2; comma++) {
        if (comma && !set_comma_locale()) SKIP("no locale with a decimal comma is installed");
        small(comma ? "comma" : "dot");
        set("intervals", "33-67,2.5-97.5");
        set("percentiles", "12.5");
        set("norm", "100.25,3.5");
        const crd_status status = crd_predict(&options, NULL, NULL);
        setlocale(LC_ALL, "C");
        CHECK_OK(status);
    }
    CHECK(same_file("dot", "comma", "scan_unc_2.5-97.5.npy") && same_file("dot", "comma", "scan_p12.5.npy"));
    char *log = content("comma", "log.jsonl", NULL), *rest = NULL;
    int lines = 0;
    for (char *line = strtok_r(log, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest), lines++) {
        cJSON *json = cJSON_Parse(line);
        const cJSON *seconds =
            cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "times"), "seconds");
        CHECK(cJSON_IsNumber(seconds));
        cJSON_Delete(json);
    }
    CHECK(lines > 2);
    crd_free(&log);
    char *manifest = content("comma", "manifest.json", NULL);
    CHECK(strstr(manifest, "100.25,3.5") != NULL);
    crd_free(&manifest);
}

TEST_MAIN(TEST(test_models_and_scans), TEST(test_constant_scan), TEST(test_not_numbers), TEST(test_mask),
          TEST(test_mask_that_changes), TEST(test_further_outputs), TEST(test_estimator_mean), TEST(test_calibration),
          TEST(test_preview), TEST(test_unlike_the_training_data), TEST(test_refusals),
          TEST(test_folder_that_is_not_empty), TEST(test_sizes), TEST(test_the_locale_does_not_matter))
