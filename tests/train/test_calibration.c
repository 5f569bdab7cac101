/* When the calibration is kept, and when it is refused: with a network whose answers are what the scan says. */
#include "base/memory.h"
#include "base/portable_math.h"
#include "base/random/philox.h"
#include "harness.h"
#include "train/validation.h"
#include "volume_tools.h"

enum { EDGE = 8, CHUNKS = 16, CHUNK_VOXELS = EDGE * EDGE * EDGE, VOXELS = CHUNKS * CHUNK_VOXELS, SAMPLES = 4 };

/* A learner that takes the scan's values for probabilities, all samples alike. */
struct crd_learner {
    const float *input;
};

static crd_status fake_create(const crd_device_settings *settings, const crd_learner_plan *plan, crd_learner **out)
{
    (void)settings;
    (void)plan;
    return crd_alloc(1, sizeof **out, "a learner", out);
}

static crd_status fake_path(const crd_device_settings *settings, char *text, size_t size)
{
    (void)settings;
    snprintf(text, size, "fake");
    return CRD_OK;
}

static void fake_free(crd_learner **learner)
{
    crd_free(learner);
}

static void fake_free_predictor(crd_predictor **predictor)
{
    *predictor = NULL;
}

static void fake_draw(crd_learner *learner, int64_t first_sample, int64_t count)
{
    (void)learner;
    (void)first_sample;
    (void)count;
}

static void fake_encode(crd_learner *learner, const float *input)
{
    learner->input = input;
}

static void fake_decode(crd_learner *learner, int64_t sample, float *probability)
{
    (void)sample;
    memcpy(probability, learner->input, CHUNK_VOXELS * sizeof *probability);
}

static const crd_backend fake = {.version = CRD_BACKEND_VERSION,
                                 .name = "fake",
                                 .on_host = true,
                                 .predictor_free = fake_free_predictor,
                                 .learner_path = fake_path,
                                 .learner_create = fake_create,
                                 .learner_free = fake_free,
                                 .learner_draw = fake_draw,
                                 .learner_encode = fake_encode,
                                 .learner_decode = fake_decode};

static crd_status save(const char *name, crd_type type, const void *voxels)
{
    const crd_volume_info info = {.shape = {CHUNKS * EDGE, EDGE, EDGE}, .type = type, .scale = 1.0};
    const crd_box whole = {.size = {CHUNKS * EDGE, EDGE, EDGE}};
    crd_volume *volume = NULL;
    crd_status status = crd_volume_create(scratch(name), &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* How true the network's logit is in a chunk: how often it is right is sigmoid(truth * |logit|). */
typedef double truth_of(int64_t chunk);

static crd_status calibrate(truth_of *truth, double *calibration)
{
    static float scan[VOXELS];
    static uint8_t label[VOXELS];
    const crd_stream chance = {.seed = 6, .purpose = CRD_PURPOSE_PHANTOM};
    const crd_dataset_options options = {
        .chunk = {EDGE, EDGE, EDGE}, .step = 1, .norm = {.mode = CRD_NORM_NONE}, .label = {.classes_most = 2}};
    crd_status status = CRD_OK;
    crd_dataset *data = NULL;
    crd_trainer *trainer = NULL;
    crd_checker checker = {0};
    crd_net net;
    for (int64_t i = 0; i < VOXELS; i++) {
        const double logit = 4.0 * crd_random_uniform(&chance, (uint64_t)i) - 2.0;
        const double share = crd_sigmoid(truth(i / CHUNK_VOXELS) * logit);
        scan[i] = (float)crd_sigmoid(logit);
        label[i] = crd_random_uniform(&chance, (uint64_t)(i + VOXELS)) < share;
    }
    CRD_TRY(save("scan.npy", CRD_F32, scan));
    CRD_TRY(save("label.npy", CRD_U8, label));
    CRD_TRY(crd_dataset_create(&options, &data));
    CRD_TRY(crd_dataset_add(data, scratch("scan.npy"), scratch("label.npy"), NULL, NULL));
    CRD_TRY(crd_dataset_settle(&data, 1, NULL));
    CRD_TRY(crd_net_describe(CRD_MCDN, 4, 4, &net));
    const crd_trainer_plan plan = {
        .backend = &fake, .learner = {.net = &net, .chunk = {EDGE, EDGE, EDGE}, .batch = 1, .samples = SAMPLES}};
    CRD_TRY(crd_trainer_create(&plan, &trainer));
    CRD_TRY(crd_checker_open(trainer, data, crd_dist_current(), NULL, &checker));
    CRD_TRY(crd_calibrate(&checker, SAMPLES, calibration));
done:
    crd_checker_close(&checker);
    crd_trainer_free(&trainer);
    crd_dataset_close(&data);
    return status;
}

static double as_it_says(int64_t chunk)
{
    (void)chunk;
    return 1.0;
}

static double too_bold(int64_t chunk)
{
    (void)chunk;
    return 0.4;
}

static double too_timid(int64_t chunk)
{
    (void)chunk;
    return 3.0;
}

/* What fits three quarters of the places makes the last one worse, whichever that is. */
static double wrong_in_one_place(int64_t chunk)
{
    return chunk == 3 ? -20.0 : 20.0;
}

static void test_kept(void)
{
    double calibration;
    CHECK_OK(calibrate(too_bold, &calibration));
    CHECK(fabs(calibration - 1.0 / 0.4) < 0.3);
    CHECK_OK(calibrate(too_timid, &calibration));
    CHECK(fabs(calibration - 1.0 / 3.0) < 0.05);
}

static void test_refused(void)
{
    double calibration;
    CHECK_OK(calibrate(wrong_in_one_place, &calibration));
    CHECK(calibration == 1.0);
    CHECK_OK(calibrate(as_it_says, &calibration));
    CHECK(fabs(calibration - 1.0) < 0.06);
}

TEST_MAIN(TEST(test_kept), TEST(test_refused))
