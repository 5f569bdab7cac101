/* Run folders: what a manifest says comes back, volumes are found by it, and by their names only where it can't help.
 */
#include "harness.h"

#include "base/file.h"
#include "base/memory.h"
#include "run/paths.h"
#include "run/read.h"
#include "volume_tools.h"

static char folder[1024];

/* An empty run folder, with these files in it. */
static void make_folder(const char *name, const char *const *files)
{
    char path[1200];
    snprintf(folder, sizeof folder, "%s", scratch(name));
    CHECK_OK(crd_make_folders(folder));
    for (; *files != NULL; files++) {
        snprintf(path, sizeof path, "%s/%s", folder, *files);
        CHECK_OK(crd_write_file(path, "{}", 2));
    }
}

static void remove_folder(void)
{
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        (void)unlinkat(dirfd(listing), entry->d_name, 0);
    }
    if (listing != NULL) closedir(listing);
    CHECK(rmdir(folder) == 0);
}

static void put(crd_run_file file, const char *text)
{
    char *path = NULL;
    CHECK_OK(crd_run_path(folder, file, &path));
    CHECK_OK(crd_write_file(path, text, strlen(text)));
    crd_free(&path);
}

static bool is_file(const crd_manifest *m, crd_output_role role, int64_t number, const char *file)
{
    const crd_output *output = crd_manifest_output(m, role, number);
    if (output == NULL || file == NULL) return output == NULL && file == NULL;
    return strcmp(output->file, file) == 0;
}

static void test_names(void)
{
    static const struct {
        crd_output_role role;
        const char *which, *file;
    } cases[] = {{CRD_OUTPUT_PROBABILITY, "", "a_prob.tif"},      {CRD_OUTPUT_SEGMENTATION, "", "a_seg.tif"},
                 {CRD_OUTPUT_UNCERTAINTY, "", "a_unc.tif"},       {CRD_OUTPUT_UNCERTAINTY, "5-95", "a_unc_5-95.tif"},
                 {CRD_OUTPUT_PERCENTILE, "2.5", "a_p2.5.tif"},    {CRD_OUTPUT_DEVIATION, "", "a_std.tif"},
                 {CRD_OUTPUT_LOWER_BOUND, "", "a_seg_lower.tif"}, {CRD_OUTPUT_UPPER_BOUND, "", "a_seg_upper.tif"},
                 {CRD_OUTPUT_SAMPLE, "12", "a_sample_12.tif"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = NULL;
        CHECK_OK(crd_output_name("a", cases[i].role, cases[i].which, ".tif", &name));
        CHECK(strcmp(name, cases[i].file) == 0);
        CHECK(crd_output_role_of(crd_output_role_name(cases[i].role)) == cases[i].role);
        crd_free(&name);
    }
    CHECK(crd_output_role_of("class probability") == CRD_OUTPUT_UNKNOWN &&
          crd_output_role_of(NULL) == CRD_OUTPUT_UNKNOWN);
}

/* More than two classes: volumes and fractions are by class, and there is no foreground. */
static void test_classes_round_trip(void)
{
    crd_output outputs[] = {{.role = CRD_OUTPUT_PROBABILITY, .file = "s_prob_pore.npy", .class_name = "pore"},
                            {.role = CRD_OUTPUT_SEGMENTATION, .file = "s_seg.npy", .type = CRD_I16}};
    crd_run_interval intervals[] = {{.text = "33-67"}, {.text = "5-95"}};
    double samples[] = {0.1, 0.2}, fractions[][2] = {{0.11, 0.19}, {0.1, 0.2}};
    crd_run_class classes[3] = {{.name = "pore",
                                 .value = -3.0,
                                 .segmentation = 0.15,
                                 .mean = 0.16,
                                 .mean_probability = 0.17,
                                 .interval90 = {0.1, 0.2},
                                 .samples = {samples, 2},
                                 .intervals = fractions},
                                {.name = "ysz", .value = 2.5, .mean_probability = 0.5},
                                {.name = "128", .value = 128}};
    const crd_manifest m = {.outputs = outputs,
                            .output_count = 2,
                            .intervals = intervals,
                            .interval_count = 2,
                            .classes = classes,
                            .class_count = 3,
                            .settings = cJSON_Parse("{}"),
                            .identity = cJSON_Parse("{}")};
    crd_manifest r;
    char *path = NULL;
    make_folder("classes", (const char *const[]){NULL});
    CHECK_OK(crd_run_path(folder, CRD_RUN_MANIFEST, &path));
    CHECK_OK(crd_manifest_write(&m, path));
    CHECK_OK(crd_manifest_read(path, &r));
    CHECK(r.class_count == 3 && r.classes[0].value == -3.0 && strcmp(r.classes[2].name, "128") == 0);
    CHECK(r.classes[0].segmentation == 0.15 && r.classes[0].mean == 0.16 && r.classes[0].mean_probability == 0.17);
    CHECK(memcmp(r.classes[0].intervals, fractions, sizeof fractions) == 0 && r.classes[1].intervals == NULL);
    CHECK(r.classes[0].samples.count == 2 && r.classes[1].samples.count == 0 && isnan(r.classes[1].mean));
    CHECK(strcmp(r.outputs[0].class_name, "pore") == 0 && r.outputs[1].class_name == NULL);
    CHECK(isnan(r.fraction.segmentation) && r.fraction.samples.count == 0);
    crd_manifest_free(&r);
    cJSON_Delete(m.settings);
    cJSON_Delete(m.identity);
    crd_free(&path);
    remove_folder();
}

/* What one program writes another reads: everything that isn't a path, to the bit. */
static void test_round_trip(void)
{
    crd_output outputs[] = {
        {.role = CRD_OUTPUT_PROBABILITY,
         .file = "s_prob.npy",
         .type = CRD_U16,
         .scale = 1.0 / 65535.0,
         .percents = {(double)NAN, (double)NAN}},
        {.role = CRD_OUTPUT_UNCERTAINTY,
         .file = "s_unc.npy",
         .type = CRD_F32,
         .scale = 1.0,
         .percents = {100.0 / 3.0, 67}},
        {.role = CRD_OUTPUT_PERCENTILE, .file = "s_p0.npy", .type = CRD_F32, .scale = 1.0, .percents = {0, 0}}};
    crd_run_interval intervals[] = {{"33-67", 0.1, 0.0, 1.0 / 3.0, "123456789012345678901234567890", {0.25, 0.5}}};
    double samples[] = {0.1, 0.2, 0.7};
    crd_run_class classes[] = {
        {.name = "background", .value = 0.0, .segmentation = 0.7, .mean = 2.0 / 3.0, .interval90 = {0.6, 0.7}},
        {.name = "foreground",
         .value = 1.0,
         .segmentation = 0.3,
         .mean = 1.0 / 3.0,
         .interval90 = {0.3, 0.4},
         .samples = {samples, 3}},
    };
    char *warnings[] = {"one", "two \"quoted\""};
    char *path = NULL;
    crd_manifest m = {.program = "1.2.3",
                      .device = "some processor",
                      .seed = 17,
                      .model = {.path = "/m.h5", .sha256 = "aa", .kind = "mcdn", .filters = 8, .groups = 4},
                      .scan = {.path = "/s.npy", .shape = {7, 8, 9}, .spacing = {0.1, 0.2, 0.3}, .name = "s"},
                      .plan = {.chunk = {16, 32, 48}, .origin = {1, 2, 3}, .shape = {4, 5, 6}, .samples = 3},
                      .outputs = outputs,
                      .output_count = 3,
                      .inside = 120,
                      .uncertainty = intervals[0],
                      .intervals = intervals,
                      .interval_count = 1,
                      .fraction = {.segmentation = 0.3,
                                   .mean = 1.0 / 3.0,
                                   .mean_cut = 1.0 / 3.0,
                                   .mean_probability = 0.35,
                                   .interval90 = {0.1, 0.65},
                                   .samples = {samples, 3}},
                      .match = {0.07, 0.05, (double)NAN},
                      .classes = classes,
                      .class_count = 2,
                      .seams = {.at = 0.5, .elsewhere = 0.25, .ratio = (double)NAN},
                      .warnings = {warnings, 2},
                      .settings = cJSON_Parse("{\"mask\": \"cylinder\", \"shape\": [7, 8, 9], \"type\": \"u16be\", "
                                              "\"offset\": 70}"),
                      .identity = cJSON_Parse("{\"seed\": 17}"),
                      .times = {.network = 1.5}};
    crd_manifest r;
    make_folder("round", (const char *const[]){NULL});
    CHECK_OK(crd_run_path(folder, CRD_RUN_MANIFEST, &path));
    CHECK_OK(crd_manifest_write(&m, path));
    CHECK_OK(crd_manifest_read(path, &r));
    CHECK(strcmp(r.program, m.program) == 0 && strcmp(r.device, m.device) == 0 && r.seed == m.seed);
    CHECK(strcmp(r.model.kind, "mcdn") == 0 && r.model.filters == 8 && r.model.calibration == 0.0);
    CHECK(memcmp(r.scan.shape, m.scan.shape, sizeof r.scan.shape) == 0 && r.scan.sha256 == NULL && r.mask.path == NULL);
    CHECK(memcmp(r.scan.spacing, m.scan.spacing, sizeof r.scan.spacing) == 0);
    CHECK(memcmp(&r.plan, &m.plan, sizeof r.plan) == 0 && memcmp(&r.times, &m.times, sizeof r.times) == 0);
    CHECK(r.output_count == 3 && r.inside == 120 && r.interval_count == 1 && isnan(r.seams.ratio) && r.seams.at == 0.5);
    for (int i = 0; i < 3; i++) {
        CHECK(r.outputs[i].role == outputs[i].role && r.outputs[i].type == outputs[i].type);
        CHECK(strcmp(r.outputs[i].file, outputs[i].file) == 0 && r.outputs[i].scale == outputs[i].scale);
        CHECK(memcmp(r.outputs[i].percents, outputs[i].percents, sizeof outputs[i].percents) == 0 ||
              (isnan(r.outputs[i].percents[0]) && isnan(outputs[i].percents[0])));
        CHECK(r.fraction.samples.items[i] == samples[i]);
    }
    CHECK(strcmp(r.uncertainty.sum, intervals[0].sum) == 0 && r.uncertainty.most == 1.0 / 3.0);
    CHECK(strcmp(r.intervals[0].text, "33-67") == 0 && r.intervals[0].fractions[1] == 0.5 &&
          r.uncertainty.fractions[0] == 0.25);
    CHECK(r.fraction.segmentation == 0.3 && r.fraction.mean == 1.0 / 3.0 && r.fraction.samples.count == 3);
    CHECK(r.fraction.mean_cut == 1.0 / 3.0 && r.fraction.mean_probability == 0.35);
    CHECK(r.fraction.interval90[0] == 0.1 && r.fraction.interval90[1] == 0.65);
    CHECK(r.class_count == 2 && strcmp(r.classes[0].name, "background") == 0 && r.classes[1].value == 1.0);
    CHECK(r.classes[0].segmentation == 0.7 && r.classes[0].samples.count == 0 && isnan(r.classes[0].mean));
    CHECK(r.classes[1].mean == 1.0 / 3.0 && r.classes[1].interval90[1] == 0.4);
    CHECK(r.classes[1].samples.count == 3 && r.classes[1].samples.items[2] == 0.7);
    CHECK(r.match.expected_error == 0.07 && r.match.training_expected_error == 0.05);
    CHECK(isnan(r.match.histogram_distance));
    CHECK(r.warnings.count == 2 && strcmp(r.warnings.items[1], warnings[1]) == 0);
    CHECK(cJSON_Compare(r.settings, m.settings, true) && cJSON_Compare(r.identity, m.identity, true));
    CHECK(crd_manifest_boxed(&r) && strcmp(crd_manifest_mask(&r), "cylinder") == 0);
    const crd_volume_options reading = crd_manifest_reading(&r);
    CHECK(reading.offset == 70 && reading.shape[2] == 9 && strcmp(reading.type, "u16be") == 0);
    crd_manifest_free(&r);
    cJSON_Delete(m.settings);
    cJSON_Delete(m.identity);
    crd_free(&path);
    remove_folder();
}

static const char listing[] =
    "{\"outputs\": [{\"file\": \"one.npy\", \"role\": \"probability\"},"
    "{\"file\": \"two.npy\", \"role\": \"segmentation\"},"
    "{\"file\": \"three.npy\", \"role\": \"uncertainty\", \"percentiles\": [33, 67]},"
    "{\"file\": \"wide.npy\", \"role\": \"uncertainty\", \"percentiles\": [2.5, 97.5]},"
    "{\"file\": \"narrow.npy\", \"role\": \"uncertainty\", \"percentiles\": [20, 80]},"
    "{\"file\": \"gone.npy\", \"role\": \"uncertainty\", \"percentiles\": [10, 90]},"
    "{\"file\": \"../one.npy\", \"role\": \"standard deviation\"}, {\"file\": \".one.npy\", \"role\": \"sample\"},"
    "{\"file\": \"new.npy\", \"role\": \"of a later version\"}, 7, {}]}";

/* Names mean nothing where the manifest says what is what; volumes of other runs may lie beside. */
static void test_found_by_the_manifest(void)
{
    crd_manifest m;
    make_folder("listed", (const char *const[]){"one.npy", "two.npy", "three.npy", "wide.npy", "narrow.npy", "new.npy",
                                                "a_prob.npy", "b_prob.npy", "a_unc.npy", NULL});
    put(CRD_RUN_MANIFEST, listing);
    CHECK_OK(crd_run_read(folder, &m));
    CHECK(is_file(&m, CRD_OUTPUT_PROBABILITY, 0, "one.npy") && is_file(&m, CRD_OUTPUT_PROBABILITY, 1, NULL));
    CHECK(is_file(&m, CRD_OUTPUT_SEGMENTATION, 0, "two.npy"));
    CHECK(is_file(&m, CRD_OUTPUT_UNCERTAINTY, 0, "three.npy") && is_file(&m, CRD_OUTPUT_UNCERTAINTY, 1, "narrow.npy"));
    CHECK(is_file(&m, CRD_OUTPUT_UNCERTAINTY, 2, "wide.npy") && is_file(&m, CRD_OUTPUT_UNCERTAINTY, 3, NULL));
    CHECK(is_file(&m, CRD_OUTPUT_DEVIATION, 0, NULL) && is_file(&m, CRD_OUTPUT_SAMPLE, 0, NULL));
    CHECK(is_file(&m, CRD_OUTPUT_UNKNOWN, 0, "new.npy"));
    crd_manifest_free(&m);
    CHECK(unlink(scratch("listed/three.npy")) == 0); /* other maps don't take the place of the one it goes by */
    CHECK_OK(crd_run_read(folder, &m));
    CHECK(is_file(&m, CRD_OUTPUT_UNCERTAINTY, 0, NULL) && is_file(&m, CRD_OUTPUT_PROBABILITY, 0, "one.npy"));
    crd_manifest_free(&m);
    remove_folder();
}

/* Volumes that somebody copied, or converted beside the manifest of the run. */
static void test_found_by_names(void)
{
    crd_manifest m;
    make_folder("copied", (const char *const[]){"a_prob.mhd", "a_prob.raw", "a_seg.nii.gz", "a_unc_5-95.npy",
                                                "a_unc.npy", "a_unc_2.5-97.5.nii.gz", "a_unc_20-80.npy.json",
                                                "a_seg_lower.npy", "a_std.tif", "notes_probably.txt", NULL});
    for (int round = 0; round < 2; round++) {
        CHECK_OK(crd_run_read(folder, &m));
        CHECK((m.document == NULL) == (round == 0) && strcmp(m.scan.name, "a") == 0);
        CHECK(is_file(&m, CRD_OUTPUT_PROBABILITY, 0, "a_prob.mhd") &&
              is_file(&m, CRD_OUTPUT_DEVIATION, 0, "a_std.tif"));
        CHECK(is_file(&m, CRD_OUTPUT_SEGMENTATION, 0, "a_seg.nii.gz") && is_file(&m, CRD_OUTPUT_SEGMENTATION, 1, NULL));
        CHECK(is_file(&m, CRD_OUTPUT_UNCERTAINTY, 0, "a_unc.npy") &&
              is_file(&m, CRD_OUTPUT_UNCERTAINTY, 1, "a_unc_5-95.npy"));
        CHECK(is_file(&m, CRD_OUTPUT_UNCERTAINTY, 2, "a_unc_2.5-97.5.nii.gz") &&
              is_file(&m, CRD_OUTPUT_UNCERTAINTY, 3, NULL));
        CHECK(crd_manifest_output(&m, CRD_OUTPUT_UNCERTAINTY, 2)->percents[1] == 97.5);
        crd_manifest_free(&m);
        put(CRD_RUN_MANIFEST, listing);
    }
    CHECK(unlink(scratch("copied/a_unc.npy")) == 0);
    CHECK_OK(crd_run_read(folder, &m));
    CHECK(is_file(&m, CRD_OUTPUT_UNCERTAINTY, 0, NULL));
    crd_manifest_free(&m);
    CHECK_OK(crd_write_file(scratch("copied/b_seg.npy"), "", 0));
    CHECK_FAILS(crd_run_read(folder, &m), CRD_ERR_ARGUMENT, "the volumes of more than one run");
    remove_folder();
}

static void test_refused(void)
{
    crd_manifest m;
    make_folder("refused", (const char *const[]){"readme.txt", NULL});
    CHECK_FAILS(crd_run_read(folder, &m), CRD_ERR_ARGUMENT, "refused is no run folder");
    put(CRD_RUN_MANIFEST, "[1, 2");
    CHECK_FAILS(crd_run_read(folder, &m), CRD_ERR_FORMAT, "refused/manifest.json isn't JSON");
    CHECK(mkdir(scratch("refused/.partial"), 0777) == 0);
    CHECK(!crd_run_interrupted(folder));
    put(CRD_RUN_IDENTITY, "{}");
    CHECK_FAILS(crd_run_read(folder, &m), CRD_ERR_ARGUMENT, "refused isn't complete");
    CHECK_OK(crd_run_partial_remove(folder));
    CHECK(!crd_run_interrupted(folder));
    CHECK_FAILS(crd_run_read(scratch("nowhere"), &m), CRD_ERR_SYSTEM, "can't open the run folder");
    remove_folder();
}

TEST_MAIN(TEST(test_names), TEST(test_round_trip), TEST(test_classes_round_trip), TEST(test_found_by_the_manifest),
          TEST(test_found_by_names), TEST(test_refused))
