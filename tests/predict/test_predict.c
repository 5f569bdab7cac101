/* Whole predictions of small scans: the same bytes whatever the threads, the memory, the box or the interruptions. */
#include <cjson/cJSON.h>

#include "harness.h"
#include "predict/finished/volumes.h"
#include "predict_run.h"
#include "run/paths.h"

enum { Z = 34, Y = 21, X = 18, VOXELS = Z * Y * X };

static const char *const volumes[] = {"scan_prob.npy", "scan_seg.npy", "scan_unc.npy", "scan_unc_5-95.npy", "probe.h5"};
enum { VOLUMES = sizeof volumes / sizeof volumes[0] };

/* The same volumes, and the same manifest but for the times. */
static bool same_run(const char *a, const char *b)
{
    for (int i = 0; i < VOLUMES; i++) {
        if (!same_file(a, b, volumes[i])) {
            printf("%s differs between %s and %s\n", volumes[i], a, b);
            return false;
        }
    }
    char *text_a = content(a, "manifest.json", NULL), *text_b = content(b, "manifest.json", NULL);
    cJSON *json_a = cJSON_Parse(text_a), *json_b = cJSON_Parse(text_b);
    cJSON_DeleteItemFromObject(json_a, "times");
    cJSON_DeleteItemFromObject(json_b, "times");
    const bool same = json_a != NULL && cJSON_Compare(json_a, json_b, true);
    if (!same) printf("the manifests differ: %s %s\n", text_a, text_b);
    cJSON_Delete(json_a);
    cJSON_Delete(json_b);
    crd_free(&text_a);
    crd_free(&text_b);
    return same;
}

/* Is that file there, in the folder of a run? */
static bool there(const char *run, const char *file)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", run_path(run), file);
    return access(path, F_OK) == 0;
}

static crd_predict_result whole_result;

/* The model, a blobby scan, and the run "whole" that others are compared with: made for whichever test comes first. */
static crd_status make_whole(void)
{
    static uint16_t voxels[VOXELS];
    static bool made;
    const crd_model_info info = {.kind = CRD_BCNN, .filters = quick_filters()};
    uint64_t state = 1;
    if (made) return CRD_OK;
    for (int i = 0; i < VOXELS; i++) {
        const double z = i / X / Y, y = i / X % Y, x = i % X;
        const double wave = sin(z * 0.5) * sin(y * 0.4) * sin(x * 0.3);
        voxels[i] = (uint16_t)(30000.0 + 12000.0 * wave + (double)(tools_random(&state) % 4000));
    }
    CRD_PASS(tools_save_model(scratch("model.h5"), &info, 7));
    CRD_PASS(save_scan(scratch("scan.npy"), CRD_U16, (const int64_t[]){Z, Y, X}, voxels));
    begin("whole");
    set("threads", "1");
    CRD_PASS(crd_predict(&options, NULL, &whole_result));
    made = true;
    return CRD_OK;
}

static void test_whole(void)
{
    CHECK_OK(make_whole());
    const crd_predict_result result = whole_result;
    CHECK(result.chunks == result.computed && result.chunks == 4 * 2 * 2 && result.samples == 5);
    CHECK(result.volume_fraction > 0.02 && result.volume_fraction < 0.98);
    CHECK(result.fraction_low <= result.fraction_high && result.mean_uncertainty > 1e-4);
    float *prob = floats("whole", "scan_prob.npy", VOXELS), *unc = floats("whole", "scan_unc.npy", VOXELS);
    float *wide = floats("whole", "scan_unc_5-95.npy", VOXELS);
    size_t bytes;
    char *seg = content("whole", "scan_seg.npy", &bytes);
    double sum = 0.0, above = 0.0;
    for (int i = 0; i < VOXELS; i++) {
        CHECK(prob[i] > 0.0f && prob[i] < 1.0f && unc[i] >= 0.0f && wide[i] >= unc[i]);
        CHECK(seg[bytes - VOXELS + (size_t)i] == (prob[i] > 0.5f));
        sum += (double)unc[i];
        above += prob[i] > 0.5f;
    }
    CHECK_NEAR(result.mean_uncertainty, sum / VOXELS, 1e-9);
    CHECK_NEAR(result.volume_fraction, above / VOXELS, 1e-12);
    free(prob);
    free(unc);
    free(wide);
    crd_free(&seg);
}

static void test_threads_and_memory(void)
{
    crd_predict_plan *plan = NULL;
    char text[64];
    CHECK_OK(make_whole());
    begin("threads");
    set("threads", "3");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_run("whole", "threads"));

    /* As little as it takes. */
    begin("memory");
    set("max-memory", "1M");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MEMORY, "max-memory");
    const char *needs = strstr(crd_last_error()->message, "needs ");
    CHECK(needs != NULL);
    snprintf(text, sizeof text, "%dM", atoi(needs + 6));
    set("max-memory", text);
    CHECK_OK(crd_predict_plan_make(&options, NULL, &plan));
    CHECK(crd_predict_plan_needs(plan)->memory_bytes <= (int64_t)atoi(text) << 20);
    crd_predict_plan_free(&plan);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_run("whole", "memory"));
}

static void check_box(const char *text, const crd_box *box)
{
    const int64_t shape[3] = {Z, Y, X}, count = box->size[0] * box->size[1] * box->size[2];
    begin("box");
    set("bbox", text);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    for (int i = 0; i < 4; i++) {
        if (i == 1) continue;
        float *whole = floats("whole", volumes[i], VOXELS), *part = floats("box", volumes[i], count);
        float *expected = malloc((size_t)count * sizeof *expected);
        tools_copy_box(whole, shape, sizeof *whole, box, expected, 0);
        CHECK(memcmp(part, expected, (size_t)count * sizeof *part) == 0);
        free(whole);
        free(part);
        free(expected);
    }
    char path[1200];
    crd_volume *volume = NULL;
    snprintf(path, sizeof path, "%s/scan_prob.npy", run_path("box"));
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    CHECK(memcmp(info->origin, box->origin, sizeof info->origin) == 0 && info->spacing[0] == 2.0);
    CHECK(strcmp(info->unit, "um") == 0);
    crd_volume_close(&volume);
}

static void test_boxes(void)
{
    CHECK_OK(make_whole());
    check_box("3:19,4:20,5:6", &(crd_box){{3, 4, 5}, {16, 16, 1}});
    if (!harness_failed) check_box("33:34,0:21,14:18", &(crd_box){{33, 0, 14}, {1, Y, 4}});
    if (!harness_failed) check_box("0:34,0:21,0:18", &(crd_box){{0, 0, 0}, {Z, Y, X}});
}

/* Stops after so many reports of the stage. */
typedef struct stopper {
    const char *stage;
    int64_t left;
} stopper;

static bool stop_later(void *context, const crd_progress *progress)
{
    stopper *s = context;
    return strcmp(progress->stage, s->stage) != 0 || s->left-- > 0;
}

/* Nothing is lost in a manifest: what is read from one is what was written. */
static bool same_findings(const crd_predict_result *a, const crd_predict_result *b)
{
    return a->chunks == b->chunks && a->samples == b->samples && a->volume_fraction == b->volume_fraction &&
           a->fraction_low == b->fraction_low && a->fraction_high == b->fraction_high &&
           a->mean_uncertainty == b->mean_uncertainty && a->seconds > 0.0;
}

static void test_stop_and_resume(void)
{
    static const int64_t stops[] = {0, 5, 9, 15};
    crd_predict_result result;
    CHECK_OK(make_whole());
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i += (size_t)sparse(2, "stops")) {
        stopper s = {"predicting", stops[i]};
        const crd_monitor monitor = {.context = &s, .progress = stop_later};
        begin("stopped");
        CHECK_FAILS(crd_predict(&options, &monitor, NULL), CRD_ERR_CANCELLED, "--resume goes on");
        CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_ARGUMENT, "interrupted");
        set("resume", NULL);
        set("threads", "2");
        CHECK_OK(crd_predict(&options, NULL, &result));
        CHECK(same_run("whole", "stopped"));
        CHECK(result.computed == (stops[i] < 8 ? 16 : 12)); /* after two rows the first isn't needed again */
        CHECK_OK(crd_predict(&options, NULL, &result));     /* complete: nothing happens */
        CHECK(result.computed == 0 && same_findings(&result, &whole_result));
    }
    /* While the volumes are written, no chunk is computed again. */
    stopper s = {"writing the volumes", 1};
    const crd_monitor monitor = {.context = &s, .progress = stop_later};
    begin("stopped");
    CHECK_FAILS(crd_predict(&options, &monitor, NULL), CRD_ERR_CANCELLED, "--resume goes on");
    set("resume", NULL);
    CHECK_OK(crd_predict(&options, NULL, &result));
    CHECK(same_run("whole", "stopped") && result.computed == 0);
}

/* Finished slices of a large box, which are holes in files: gigabytes to be written, if nobody stops it. */
static crd_status open_large(const crd_request *request, crd_partial **partial)
{
    CRD_PASS(crd_make_folders(request->options->output));
    CRD_PASS(crd_partial_open(request->options->output, request, "{}", false, partial));
    for (int64_t i = 0; i < request->quantity_count; i++) {
        char path[1200];
        const off_t bytes = request->box.size[0] * request->box.size[1] * request->box.size[2] * (off_t)sizeof(float);
        snprintf(path, sizeof path, "%s/.partial/%s", request->options->output, request->quantities[i].name);
        if (truncate(path, bytes) != 0) return crd_fail_errno("can't make %s", path);
    }
    return CRD_OK;
}

/* A stop is heard while volumes are written, not only between them, and what is begun goes. */
static void test_stop_amid_a_volume(void)
{
    stopper s = {"writing the volumes", 1};
    const crd_monitor monitor = {.context = &s, .progress = stop_later};
    crd_request request = {0};
    crd_partial *partial = NULL;
    crd_seams seams;
    CHECK_OK(make_whole());
    begin("large");
    CHECK_OK(crd_write_file(scratch("large.raw"), "", 0));
    CHECK(truncate(scratch("large.raw"), (off_t)256 << 20) == 0);
    set("scan", scratch("large.raw"));
    set("shape", "256,1024,1024");
    set("type", "u8");
    set("intervals", "33-67");
    set("format", "npy");
    CHECK_OK(crd_request_make(&options, NULL, &request));
    CHECK_OK(open_large(&request, &partial));
    CHECK_FAILS(crd_volumes_write(&request, partial, run_path("large"), &monitor, &seams), CRD_ERR_CANCELLED,
                "stopped while writing the volumes, at ");
    CHECK_OK(crd_run_partial_remove(run_path("large")));
    CHECK(!there("large", "large_prob.npy"));
    (void)unlink(run_path("large/large_seg.npy")); /* a quarter of the others, so it may be whole */
    CHECK(rmdir(run_path("large")) == 0);          /* and no part of a volume is left */
    crd_partial_close(&partial);
    crd_request_free(&request);
}

static void test_resume_wants_the_same_run(void)
{
    stopper s = {"predicting", 10};
    const crd_monitor monitor = {.context = &s, .progress = stop_later};
    CHECK_OK(make_whole());
    begin("other");
    CHECK_FAILS(crd_predict(&options, &monitor, NULL), CRD_ERR_CANCELLED, "stopped");
    set("resume", NULL);
    set("seed", "8");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "seed was 0 and is 8 now");
    set("seed", "0");
    set("samples", "6");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "samples was 5 and is 6");
    set("samples", "5");
    set("model", scratch("model2.h5"));
    const crd_model_info info = {.kind = CRD_BCNN, .filters = quick_filters()};
    CHECK_OK(tools_save_model(scratch("model2.h5"), &info, 8));
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "the model is another one");
    set("model", scratch("model.h5"));
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_run("whole", "other"));
    /* --overwrite replaces the whole run, and only that. */
    begin("none");
    set("output", run_path("other"));
    set("overwrite", NULL);
    set("intervals", "33-67");
    CHECK_OK(crd_write_file(run_path("other/mine.txt"), "mine", 4));
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(access(run_path("other/scan_unc_5-95.npy"), F_OK) != 0 && access(run_path("other/mine.txt"), F_OK) == 0);
    CHECK(same_file("whole", "other", "scan_prob.npy"));
}

/* A preview shapes the volumes: it goes on as one only, and its manifest gives one again. */
static void test_preview_is_part_of_the_run(void)
{
    stopper s = {"predicting", 2};
    const crd_monitor monitor = {.context = &s, .progress = stop_later};
    crd_predict_plan *plan = NULL;
    char slab[64];
    CHECK_OK(make_whole());
    begin("preview");
    set("preview", NULL);
    CHECK_OK(crd_predict_plan_make(&options, NULL, &plan));
    const crd_predict_needs *needs = crd_predict_plan_needs(plan);
    snprintf(slab, sizeof slab, "%d:%d,0:%d,0:%d", (int)needs->origin[0], (int)(needs->origin[0] + needs->size[0]), Y,
             X);
    crd_predict_plan_free(&plan);
    CHECK_FAILS(crd_predict(&options, &monitor, NULL), CRD_ERR_CANCELLED, "--resume goes on");
    set("resume", NULL);
    set("preview", "false");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "preview was true and is none now");
    set("samples", "4"); /* what a preview would make of them */
    set("step", "1");
    set("bbox", slab);
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "preview was true and is none now");
    set("samples", "5");
    set("step", "2");
    set("bbox", "");
    set("preview", NULL);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK_OK(crd_predict(&options, NULL, NULL)); /* complete */
    set("preview", "false");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "preview was true and is none now");
    begin("none");
    set("output", run_path("whole"));
    set("resume", NULL);
    set("preview", NULL);
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "samples was 5 and is 4 now");

    char *manifest = content("preview", "manifest.json", NULL);
    begin("preview-again");
    CHECK_OK(crd_settings_from_json(&crd_predict_settings, &options, manifest, "manifest.json", NULL));
    crd_free(&manifest);
    CHECK(options.preview);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_run("preview", "preview-again"));
    manifest = content("whole", "manifest.json", NULL);
    CHECK(strstr(manifest, "preview") == NULL);
    crd_free(&manifest);
}

static crd_status put(const char *run, const char *file)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", run_path(run), file);
    return crd_write_file(path, "mine", 4);
}

static bool stop_when_written(void *context, const crd_progress *progress)
{
    (void)context;
    return strcmp(progress->stage, "writing the volumes") != 0 || progress->done < progress->total;
}

/* Volumes of an interrupted run don't stay beside those of another format, and nobody else's are removed. */
static void test_another_format(void)
{
    static const char *const ways[] = {"resume", "overwrite"};
    const crd_monitor monitor = {.progress = stop_when_written};
    CHECK_OK(make_whole());
    for (int i = 0; i < 2; i++) {
        begin("formats");
        CHECK_FAILS(crd_predict(&options, &monitor, NULL), CRD_ERR_CANCELLED, "--resume goes on");
        CHECK(there("formats", "scan_unc_5-95.npy") && there("formats", "scan_prob.npy.json"));
        CHECK_OK(put("formats", "mine_prob.npy"));
        set(ways[i], NULL);
        set("format", "tiff");
        CHECK_OK(crd_predict(&options, NULL, NULL));
        for (int v = 0; v < VOLUMES - 1; v++) CHECK(!there("formats", volumes[v]));
        CHECK(!there("formats", "scan_prob.npy.json") && !there("formats", ".partial"));
        CHECK(there("formats", "scan_prob.tif") && there("formats", "mine_prob.npy"));
    }
}

/* What an --overwrite leaves that didn't come to its end is no complete run, and is cleared away by the next. */
static void test_half_cleared(void)
{
    static const char *const ways[] = {"resume", "overwrite"};
    crd_predict_result result;
    CHECK_OK(make_whole());
    for (int i = 0; i < 2; i++) {
        begin("cleared");
        CHECK_OK(crd_predict(&options, NULL, NULL));
        CHECK(unlink(run_path("cleared/scan_seg.npy")) == 0 && mkdir(run_path("cleared/scan_seg.npy"), 0777) == 0);
        CHECK_OK(put("cleared", "scan_seg.npy/mine"));
        set("overwrite", NULL);
        CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_SYSTEM, "isn't removed");
        CHECK(!there("cleared", "scan_prob.npy") && there("cleared", "scan_unc.npy"));
        set("overwrite", "false");
        CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_ARGUMENT, "the rest of an earlier run");
        CHECK(unlink(run_path("cleared/scan_seg.npy/mine")) == 0);
        set(ways[i], NULL);
        CHECK_OK(crd_predict(&options, NULL, &result));
        CHECK(result.computed == result.chunks && same_run("whole", "cleared"));
    }
    /* The finished slices of a complete run, of which a part is removed. */
    CHECK(mkdir(run_path("cleared/.partial"), 0777) == 0);
    CHECK_OK(put("cleared", ".partial/journal"));
    set("overwrite", "false");
    set("resume", NULL);
    CHECK_OK(crd_predict(&options, NULL, &result));
    CHECK(result.computed == 0 && !there("cleared", ".partial") && same_run("whole", "cleared"));
}

/* Sample 3 of five, alone, is sample 3; with --aggregate samples the mean of one sample is that sample. */
static void test_sample_alone(void)
{
    CHECK_OK(make_whole());
    begin("samples");
    set("save-samples", "u16");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    for (int i = 0; i < VOLUMES; i++) CHECK(same_file("whole", "samples", volumes[i]));
    begin("alone");
    set("save-samples", "u16");
    set("samples", "1");
    set("first-sample", "3");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_file("samples", "alone", "scan_sample_3.npy"));
    begin("aggregated");
    set("save-samples", "u16");
    set("aggregate", "samples");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    for (int s = 0; s < 5; s++) {
        char name[64];
        snprintf(name, sizeof name, "scan_sample_%d.npy", s);
        CHECK(same_file("samples", "aggregated", name));
    }
    /* The mean commutes with the averaging over chunks, the width of an interval doesn't. */
    float *a = floats("whole", "scan_prob.npy", VOXELS), *b = floats("aggregated", "scan_prob.npy", VOXELS);
    double difference = 0.0;
    for (int i = 0; i < VOXELS; i++) difference = worse(difference, apart((double)a[i], (double)b[i]));
    CHECK(difference < 2e-7);
    CHECK(!same_file("whole", "aggregated", "scan_unc.npy"));
    free(a);
    free(b);
}

/* Sums that don't fit the memory go to the scratch file, which makes no difference and is gone afterwards. */
static void test_scratch_file(void)
{
    crd_predict_plan *plan = NULL;
    char text[64];
    CHECK_OK(make_whole());
    begin("roomy");
    set("aggregate", "samples");
    set("samples", "16");
    set("step", "1");
    set("chunk", "24,16,16");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    begin("cramped");
    set("aggregate", "samples");
    set("samples", "16");
    set("step", "1");
    set("chunk", "24,16,16");
    set("max-memory", "1M");
    CHECK_FAILS(crd_predict_plan_make(&options, NULL, &plan), CRD_ERR_MEMORY, "needs ");
    snprintf(text, sizeof text, "%dM", atoi(strstr(crd_last_error()->message, "needs ") + 6));
    set("max-memory", text);
    CHECK_OK(crd_predict_plan_make(&options, NULL, &plan));
    CHECK(crd_predict_plan_needs(plan)->scratch_bytes > 0);
    crd_predict_plan_free(&plan);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_run("roomy", "cramped"));
}

static void test_draws_per_chunk(void)
{
    crd_predict_result result;
    CHECK_OK(make_whole());
    begin("per-chunk");
    set("draws", "per-chunk");
    set("threads", "1");
    CHECK_OK(crd_predict(&options, NULL, &result));
    CHECK(isnan(result.fraction_low)); /* there are no realisations of the whole scan */
    CHECK(!same_file("whole", "per-chunk", "scan_prob.npy"));
    stopper s = {"predicting", 13};
    const crd_monitor monitor = {.context = &s, .progress = stop_later};
    begin("per-chunk-2");
    set("draws", "per-chunk");
    CHECK_FAILS(crd_predict(&options, &monitor, NULL), CRD_ERR_CANCELLED, "stopped");
    set("resume", NULL);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_run("per-chunk", "per-chunk-2"));
    CHECK_OK(crd_predict(&options, NULL, &result));
    CHECK(result.computed == 0 && isnan(result.fraction_low) && isnan(result.fraction_high));
}

static void test_small_types(void)
{
    size_t bytes;
    char path[1200];
    crd_volume *volume = NULL;
    CHECK_OK(make_whole());
    float *prob = floats("whole", "scan_prob.npy", VOXELS);
    begin("bytes");
    set("dtype", "u8");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    char *stored = content("bytes", "scan_prob.npy", &bytes);
    for (int i = 0; i < VOXELS; i++) {
        CHECK((uint8_t)stored[bytes - VOXELS + (size_t)i] == (uint8_t)lrint((double)prob[i] * 255.0));
    }
    CHECK(same_file("whole", "bytes", "scan_seg.npy"));
    snprintf(path, sizeof path, "%s/scan_prob.npy", run_path("bytes"));
    CHECK_OK(crd_volume_open(path, NULL, NULL, &volume));
    CHECK(crd_volume_describe(volume)->scale == 1.0 / 255.0);
    crd_volume_close(&volume);
    crd_free(&stored);
    free(prob);
}

TEST_MAIN(TEST(test_whole), TEST(test_threads_and_memory), TEST(test_boxes), TEST(test_stop_and_resume),
          TEST(test_stop_amid_a_volume), TEST(test_resume_wants_the_same_run), TEST(test_preview_is_part_of_the_run),
          TEST(test_another_format), TEST(test_half_cleared), TEST(test_sample_alone), TEST(test_scratch_file),
          TEST(test_draws_per_chunk), TEST(test_small_types))
