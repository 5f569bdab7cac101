/* Predictions into sinks: the same bytes as in the files of a run, arrays and boxes alike. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "credence/sink.h"
#include "harness.h"
#include "predict_run.h"

enum { Z = 20, Y = 24, X = 28, VOXELS = Z * Y * X, MOST = 64 };
static const int64_t shape[3] = {Z, Y, X};
static uint16_t voxels[VOXELS];

static crd_status make_files(int classes)
{
    crd_model_info bcnn = {.kind = CRD_BCNN, .filters = quick_filters(), .classes = classes};
    for (int k = 0; k < classes; k++) bcnn.class_values[k] = 10.0 * k;
    for (int i = 0; i < VOXELS; i++) {
        voxels[i] = (uint16_t)(1000.0 + 300.0 * (sin(i / X / Y * 0.5) + sin(i / X % Y * 0.4) + sin(i % X * 0.3)));
    }
    CRD_PASS(tools_save_model(scratch("model.h5"), &bcnn, 7));
    return save_scan(scratch("scan.npy"), CRD_U16, shape, voxels);
}

static void settings(const char *run, bool seamless)
{
    begin(run);
    if (seamless) {
        crd_settings_clear(&crd_predict_settings, &options);
        (void)crd_settings_default(&crd_predict_settings, &options);
        set("model", scratch("model.h5"));
        set("scan", scratch("scan.npy"));
        set("output", run_path(run));
        set("samples", "5");
        set("mode", "seamless");
        set("norms", "scan");
        set("tile", "16,16,16");
        set("halo", "8");
    }
    set("format", "npy");
    set("intervals", "33-67,5-95");
    set("percentiles", "50");
    set("std", "true");
    set("bounds", "10-90");
    set("save-samples", "u8");
    set("bbox", "2:19,3:24,1:27");
}

typedef struct caught {
    bool arrays; /* let the library fill them */
    char *room[MOST];
    uint8_t *seen[MOST]; /* voxels that came */
    crd_sink_volume volumes[MOST];
    char names[MOST][32];
    int64_t count;
    atomic_int twice;
    int calls;
    char *manifest;
    char *norms;
    size_t norms_bytes;
    int logs, probes;
    pthread_mutex_t lock;
    int64_t fails_at; /* box number; -1: never */
} caught;

static crd_status begin_catch(void *context, const crd_sink_volume *volumes, int64_t count, void **arrays)
{
    caught *c = context;
    if (count > MOST) return crd_set_error(CRD_ERR_ARGUMENT, "too many volumes for this test");
    c->count = count;
    for (int64_t i = 0; i < count; i++) {
        const int64_t *size = volumes[i].info.shape;
        c->volumes[i] = volumes[i];
        snprintf(c->names[i], sizeof c->names[i], "%s", volumes[i].name);
        c->room[i] = calloc((size_t)(size[0] * size[1] * size[2]), crd_type_size(volumes[i].info.type));
        c->seen[i] = calloc((size_t)(size[0] * size[1] * size[2]), 1);
        if (c->arrays) arrays[i] = c->room[i];
    }
    return CRD_OK;
}

static crd_status catch_box(void *context, int64_t volume, const crd_box *box, const void *values)
{
    caught *c = context;
    const int64_t *size = c->volumes[volume].info.shape;
    const size_t bytes = crd_type_size(c->volumes[volume].info.type);
    const char *from = values;
    (void)pthread_mutex_lock(&c->lock);
    const int call = c->calls++;
    (void)pthread_mutex_unlock(&c->lock);
    if (call == c->fails_at) return crd_set_error(CRD_ERR_SYSTEM, "no more room here");
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            for (int64_t x = box->origin[2]; x < box->origin[2] + box->size[2]; x++, from += bytes) {
                const int64_t at = (z * size[1] + y) * size[2] + x;
                if (c->seen[volume][at]++) c->twice++;
                memcpy(c->room[volume] + (size_t)at * bytes, from, bytes);
            }
        }
    }
    return CRD_OK;
}

static crd_status keep_manifest(void *context, const char *manifest)
{
    return crd_strdup(manifest, &((caught *)context)->manifest);
}

static crd_status keep_file(void *context, const char *name, const void *bytes, size_t count)
{
    caught *c = context;
    if (c->manifest == NULL || count < 8) return crd_set_error(CRD_ERR_ARGUMENT, "files come last, and whole");
    c->logs += strcmp(name, "log.jsonl") == 0 && strstr(bytes, "{\"event\": \"done\"") != NULL;
    c->probes += strcmp(name, "probe.h5") == 0 && memcmp(bytes, "\x89HDF", 4) == 0;
    if (strcmp(name, "norms.h5") != 0) return CRD_OK;
    c->norms_bytes = count;
    CRD_PASS(crd_alloc((int64_t)count, 1, "norms", &c->norms));
    memcpy(c->norms, bytes, count);
    return CRD_OK;
}

static bool same_norms(const char *run, const caught *c)
{
    size_t all;
    char *text = content(run, "norms.h5", &all);
    const bool same = all == c->norms_bytes && memcmp(text, c->norms, all) == 0;
    crd_free(&text);
    return same;
}

static void drop(caught *c)
{
    for (int64_t i = 0; i < c->count; i++) {
        free(c->room[i]);
        free(c->seen[i]);
    }
    crd_free(&c->manifest);
    crd_free(&c->norms);
}

/* Every volume of the run's folder, with all its voxels. */
static bool same_as_files(const char *run, const caught *c)
{
    bool same = c->count > 8;
    for (int64_t i = 0; i < c->count && same; i++) {
        char file[64];
        size_t all;
        const int64_t *size = c->volumes[i].info.shape;
        const size_t bytes = (size_t)(size[0] * size[1] * size[2]) * crd_type_size(c->volumes[i].info.type);
        snprintf(file, sizeof file, "scan_%s.npy", c->names[i]);
        char *text = content(run, file, &all);
        same = all > bytes && memcmp(text + all - bytes, c->room[i], bytes) == 0;
        if (!same) printf("%s differs\n", file);
        crd_free(&text);
    }
    return same;
}

static int folders_left(void)
{
    int count = 0;
    DIR *listing = opendir(getenv("TMPDIR"));
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        count += strncmp(entry->d_name, "credence-", 9) == 0;
    }
    if (listing != NULL) closedir(listing);
    return count;
}

/* More than two classes have no one volume fraction. */
static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void compare_runs(int classes)
{
    crd_model *model = NULL;
    CHECK_OK(make_files(classes));
    CHECK_OK(crd_model_load(scratch("model.h5"), &model));
    CHECK(setenv("TMPDIR", scratch("."), 1) == 0);
    /* Where all is slow: overlapping chunks of two classes, tiles of three. */
    const int step = sparse(2, "the other mode");
    for (int seamless = step == 1 ? 0 : classes > 2; seamless < 2; seamless += step) {
        crd_predict_result of_files, of_sink;
        settings("files", seamless);
        CHECK_OK(crd_predict(&options, NULL, &of_files));
        for (int arrays = 0; arrays < 2; arrays++) {
            caught c = {.arrays = arrays, .lock = PTHREAD_MUTEX_INITIALIZER, .fails_at = -1};
            crd_sink sink = {.size = sizeof sink,
                             .context = &c,
                             .begin = begin_catch,
                             .box = catch_box,
                             .end = keep_manifest,
                             .file = keep_file};
            if (arrays) sink.size = offsetof(crd_sink, file); /* as a program had it that was built before */
            settings("files again", seamless);
            set("output", "");
            crd_free(&options.output);
            if (arrays) crd_free(&options.model); /* the open one is enough */
            CHECK_OK(crd_predict_to(&options, arrays ? model : NULL, &sink, NULL, &of_sink));
            CHECK(same_as_files("files", &c));
            CHECK(c.twice == 0 && (arrays ? c.calls == 0 : c.calls > 8));
            CHECK(same(of_sink.volume_fraction, of_files.volume_fraction) && of_sink.chunks == of_files.chunks);
            cJSON *manifest = cJSON_Parse(c.manifest);
            const cJSON *fraction =
                cJSON_GetObjectItem(cJSON_GetObjectItem(manifest, "volume_fraction"), "segmentation");
            CHECK(classes > 2 || (cJSON_IsNumber(fraction) && fraction->valuedouble == of_files.volume_fraction));
            CHECK(cJSON_GetArraySize(cJSON_GetObjectItem(manifest, "classes")) == classes);
            CHECK(c.logs == !arrays && c.probes == !arrays && (c.norms != NULL) == (seamless && !arrays));
            CHECK(c.norms == NULL || same_norms("files", &c));
            cJSON_Delete(manifest);
            CHECK(folders_left() == 0);
            drop(&c);
        }
    }
    crd_model_free(&model);
}

static void test_same_bytes(void)
{
    compare_runs(2);
}

static void test_three_classes(void)
{
    compare_runs(3);
}

static bool stop_soon(void *context, const crd_progress *progress)
{
    (void)context;
    return progress->done < 1;
}

static void test_ends_early(void)
{
    const crd_monitor stops = {.progress = stop_soon};
    CHECK_OK(make_files(2));
    CHECK(setenv("TMPDIR", scratch("."), 1) == 0);
    for (int seamless = 0; seamless < 2; seamless++) {
        caught c = {.lock = PTHREAD_MUTEX_INITIALIZER, .fails_at = 3};
        const crd_sink sink = {.size = sizeof sink, .context = &c, .begin = begin_catch, .box = catch_box};
        settings("none", seamless);
        crd_free(&options.output);
        CHECK_FAILS(crd_predict_to(&options, NULL, &sink, NULL, NULL), CRD_ERR_SYSTEM, "no more room here");
        drop(&c);
        c = (caught){.lock = PTHREAD_MUTEX_INITIALIZER, .fails_at = -1};
        CHECK_FAILS(crd_predict_to(&options, NULL, &sink, &stops, NULL), CRD_ERR_CANCELLED, "");
        drop(&c);
        CHECK(folders_left() == 0);
    }
}

static void test_refused(void)
{
    const crd_sink nothing = {.size = sizeof nothing}, wrong = {0};
    CHECK_OK(make_files(2));
    settings("refused", false);
    CHECK_FAILS(crd_predict_to(&options, NULL, &nothing, NULL, NULL), CRD_ERR_ARGUMENT, "run folder");
    crd_free(&options.output);
    CHECK_FAILS(crd_predict_to(&options, NULL, &wrong, NULL, NULL), CRD_ERR_ARGUMENT, "size");
    CHECK_OK(crd_predict_to(&options, NULL, &nothing, NULL, NULL)); /* for its figures alone */
    crd_free(&options.model);
    CHECK_FAILS(crd_predict_to(&options, NULL, &nothing, NULL, NULL), CRD_ERR_ARGUMENT, "needs a model");
    crd_settings_clear(&crd_predict_settings, &options);
}

TEST_MAIN(TEST(test_same_bytes), TEST(test_three_classes), TEST(test_ends_early), TEST(test_refused))
