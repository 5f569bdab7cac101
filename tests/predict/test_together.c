/* Several calls at once, each in a thread of its own: they know nothing of each other. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "credence/train.h"
#include "harness.h"
#include "predict_run.h"

static const int64_t low[3] = {20, 18, 18}, tall[3] = {52, 16, 20}; /* so that their rows differ in number */

/* Blobs in noise, and which voxels are theirs: a scan and its label. */
static crd_status make_scan(const char *scan, const char *label, const int64_t shape[3], uint64_t seed)
{
    const int64_t count = shape[0] * shape[1] * shape[2];
    uint16_t *voxels = malloc((size_t)count * sizeof *voxels);
    uint8_t *inside = malloc((size_t)count);
    if (voxels == NULL || inside == NULL) exit(1);
    for (int64_t i = 0; i < count; i++) {
        const double z = (double)(i / shape[2] / shape[1]), y = (double)(i / shape[2] % shape[1]);
        const double wave = sin(z * 0.5) * sin(y * 0.4) * sin((double)(i % shape[2]) * 0.3);
        voxels[i] = (uint16_t)(30000.0 + 12000.0 * wave + (double)(tools_random(&seed) % 4000));
        inside[i] = wave > 0.1;
    }
    crd_status status = save_scan(scratch(scan), CRD_U16, shape, voxels);
    if (status == CRD_OK) status = save_scan(scratch(label), CRD_U8, shape, inside);
    free(voxels);
    free(inside);
    return status;
}

static crd_status make_inputs(void)
{
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 4};
    CRD_PASS(tools_save_model(scratch("model.h5"), &info, 7));
    CRD_PASS(make_scan("low.npy", "low_label.npy", low, 1));
    return make_scan("tall.npy", "tall_label.npy", tall, 2);
}

typedef struct job {
    crd_predict_options prediction;
    crd_train_options training;
    const char *stage; /* that the others are waited for in, so that all are in the middle of it */
    pthread_t thread;
    bool waited, foreign;
    crd_status status;
    crd_error error;
} job;

static atomic_int arrived;
static int expected;

static bool on_progress(void *context, const crd_progress *progress)
{
    job *j = context;
    j->foreign = j->foreign || !pthread_equal(pthread_self(), j->thread);
    if (j->waited || strcmp(progress->stage, j->stage) != 0) return true;
    j->waited = true;
    atomic_fetch_add(&arrived, 1);
    /* One that failed never comes. */
    for (int i = 0; i < 3000 && atomic_load(&arrived) < expected; i++) {
        const struct timespec nap = {.tv_nsec = 10000000};
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

static void *work(void *context)
{
    job *j = context;
    const crd_monitor monitor = {.context = j, .progress = on_progress};
    j->thread = pthread_self();
    j->status = j->training.output != NULL ? crd_train(&j->training, &monitor, NULL)
                                           : crd_predict(&j->prediction, &monitor, NULL);
    j->error = *crd_last_error();
    return NULL;
}

/* Runs all, in threads or one after the other. */
static bool run(job *jobs, int count, bool together)
{
    bool fine = true;
    pthread_t threads[4];
    atomic_store(&arrived, 0);
    expected = together ? count : 0;
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0) exit(1);
        if (!together) pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < count; i++) {
        if (together) pthread_join(threads[i], NULL);
        if (jobs[i].status != CRD_OK) printf("%s\n", jobs[i].error.message);
        fine = fine && jobs[i].status == CRD_OK && !jobs[i].foreign && jobs[i].waited;
        crd_settings_clear(&crd_predict_settings, &jobs[i].prediction);
        crd_settings_clear(&crd_train_settings, &jobs[i].training);
    }
    return fine;
}

static job prediction(const char *scan, const char *name)
{
    job j = {.stage = "predicting"};
    begin(name);
    set("scan", scratch(scan));
    set("threads", "2");
    j.prediction = options;
    memset(&options, 0, sizeof options);
    return j;
}

static job training(const char *name)
{
    static const char *const settings[][2] = {{"filters", "4"}, {"chunk", "16,16,16"}, {"batch", "2"},
                                              {"seed", "3"},    {"max-steps", "4"},    {"epochs", "2"}};
    job j = {.stage = "training"};
    crd_status status = crd_settings_default(&crd_train_settings, &j.training);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0] && status == CRD_OK; i++) {
        status = crd_settings_set(&crd_train_settings, &j.training, settings[i][0], settings[i][1]);
    }
    if (status == CRD_OK) status = crd_settings_set(&crd_train_settings, &j.training, "scan", scratch("tall.npy"));
    if (status == CRD_OK)
        status = crd_settings_set(&crd_train_settings, &j.training, "label", scratch("tall_label.npy"));
    if (status == CRD_OK) status = crd_settings_set(&crd_train_settings, &j.training, "output", scratch(name));
    if (status == CRD_OK) status = crd_train_apply_preset(&j.training, NULL);
    if (status != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
    return j;
}

static bool same_volumes(const char *a, const char *b, const char *scan)
{
    static const char *const endings[] = {"prob", "seg", "unc", "unc_5-95"};
    char file[64];
    bool same = true;
    for (int i = 0; i < 4; i++) {
        snprintf(file, sizeof file, "%s_%s.npy", scan, endings[i]);
        same = same && same_file(a, b, file);
    }
    return same;
}

static bool same_model(const char *a, const char *b)
{
    size_t length_a, length_b;
    char *text_a = content(".", a, &length_a), *text_b = content(".", b, &length_b);
    const bool same = length_a == length_b && memcmp(text_a, text_b, length_a) == 0;
    crd_free(&text_a);
    crd_free(&text_b);
    return same;
}

static void test_two_predictions(void)
{
    CHECK_OK(make_inputs());
    CHECK(run((job[]){prediction("low.npy", "low_alone"), prediction("tall.npy", "tall_alone")}, 2, false));
    CHECK(run((job[]){prediction("low.npy", "low_beside"), prediction("tall.npy", "tall_beside")}, 2, true));
    CHECK(same_volumes("low_alone", "low_beside", "low"));
    CHECK(same_volumes("tall_alone", "tall_beside", "tall"));
}

static void test_a_training_and_a_prediction(void)
{
    CHECK_OK(make_inputs());
    CHECK(run((job[]){prediction("tall.npy", "alone"), training("alone.h5")}, 2, false));
    CHECK(run((job[]){prediction("tall.npy", "beside"), training("beside.h5")}, 2, true));
    CHECK(same_volumes("alone", "beside", "tall"));
    CHECK(same_model("alone.h5", "beside.h5"));
}

TEST_MAIN(TEST(test_two_predictions), TEST(test_a_training_and_a_prediction))
