/* Several devices as one: here two and three CPUs, which must give what one gives. And which lists of devices are
 * understood. */
#include "backend/several.h"

#include "backend/choose.h"
#include "harness.h"
#include "net/model.h"

enum { CHUNKS = 5, VOXELS = 8 * 16 * 8 };

static float *make_inputs(void)
{
    float *inputs = malloc(CHUNKS * VOXELS * sizeof *inputs);
    uint32_t state = 9;
    if (inputs == NULL) exit(1);
    for (int i = 0; i < CHUNKS * VOXELS; i++) {
        state = state * 1664525u + 1013904223u;
        inputs[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    return inputs;
}

static crd_status run(const crd_backend *backend, const crd_device_settings *settings, const crd_predictor_plan *plan,
                      const float *inputs, uint32_t *means)
{
    crd_predictor *predictor = NULL;
    crd_status status = backend->predictor_create(settings, plan, &predictor);
    const int depth = status == CRD_OK ? backend->predictor_depth(predictor) : 0;
    for (int i = 0; i < CHUNKS + depth && status == CRD_OK; i++) {
        crd_chunk_result result;
        if (i >= depth) {
            status = backend->predictor_collect(predictor, &result);
            if (status == CRD_OK && result.chunk_number != i - depth) status = CRD_ERR_INTERNAL;
            if (status == CRD_OK) memcpy(means + (i - depth) * VOXELS, result.mean, VOXELS * sizeof *means);
        }
        if (i < CHUNKS && status == CRD_OK) {
            status = backend->predictor_submit(predictor, i, inputs + i * VOXELS, NULL, 0);
        }
    }
    backend->predictor_free(&predictor);
    return status;
}

static void test_several_give_what_one_gives(void)
{
    static uint32_t alone[CHUNKS * VOXELS], together[CHUNKS * VOXELS];
    const double percentiles[] = {33, 67};
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 4, .groups = 4};
    crd_device_settings one = {.threads = 1}, several = {.threads = 1, .each = &crd_backend_cpu};
    crd_model *model = NULL;
    int64_t host, device, more_host, more_device;
    CHECK_OK(crd_model_create(&info, 3, &model));
    const crd_predictor_plan plan = {.net = &model->net,
                                     .parameters = model->parameters,
                                     .chunk = {8, 16, 8},
                                     .samples = 3,
                                     .seed = 1,
                                     .estimator = CRD_INDEPENDENT,
                                     .draws_per_chunk = true,
                                     .inverse_temperature = 1,
                                     .percentiles = percentiles,
                                     .percentile_count = 2};
    float *inputs = make_inputs();
    CHECK_OK(run(&crd_backend_cpu, &one, &plan, inputs, alone));
    CHECK_OK(crd_backend_cpu.predictor_bytes(&one, &plan, &host, &device));
    for (int count = 2; count <= 3; count++) {
        several.device_count = count;
        memset(together, 0, sizeof together);
        CHECK_OK(run(&crd_backend_several, &several, &plan, inputs, together));
        CHECK(memcmp(alone, together, sizeof alone) == 0);
        CHECK_OK(crd_backend_several.predictor_bytes(&several, &plan, &more_host, &more_device));
        CHECK(more_host == count * host && more_device == count * device);
    }
    free(inputs);
    crd_model_free(&model);
}

static void test_lists_of_devices(void)
{
    static const char *const bad[] = {"cuda:",     "cuda:,", "cuda:0,",
                                      "cuda:0,,1", "cuda:x", "cuda:-1",
                                      "cuda:0;1",  "gpu",    "cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
                                      "cuda:9999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const crd_device_choice choice = {.device = bad[i]};
        const crd_backend *backend;
        crd_device_settings settings;
        CHECK_FAILS(crd_backend_choose(&choice, &backend, &settings), CRD_ERR_ARGUMENT, "device must be");
    }
    const crd_device_choice choice = {.device = "cuda", .max_gpu_memory = "plenty"};
    const crd_backend *backend;
    crd_device_settings settings;
    CHECK_FAILS(crd_backend_choose(&choice, &backend, &settings), CRD_ERR_ARGUMENT, "max-gpu-memory");
}

TEST_MAIN(TEST(test_several_give_what_one_gives), TEST(test_lists_of_devices))
