/* The GPU against the CPU, whose portable path is the most exact: whole chunks, both kinds, every precision. Skipped
 * where there is no GPU. */
#include "backend/choose.h"
#include "base/clock.h"
#include "harness.h"
#include "net/model.h"

typedef struct chunk_case {
    crd_kind kind;
    int filters;
    int64_t chunk[3], samples;
    const char *precision;
    bool per_chunk;
    double mean_error, largest_error; /* allowed between samples on the two devices */
} chunk_case;

static const double percentiles[] = {33, 67, 5, 95};

static crd_status make_model(const chunk_case *c, crd_model **model)
{
    const crd_model_info info = {.kind = c->kind, .filters = c->filters, .groups = 4};
    CRD_PASS(crd_model_create(&info, 3, model));
    /* Norms that do something, and a head that is alive: like a trained network's. */
    for (int i = 0; i < (*model)->net.model.count; i++) {
        const crd_parameter *p = &(*model)->net.model.parameters[i];
        float *values = (*model)->parameters + p->offset;
        for (int64_t k = 0; k < p->count; k++) {
            if (p->role == CRD_ROLE_GAMMA) values[k] = 1.0f + 0.3f * (float)((k * 7 + i) % 5 - 2) / 2.0f;
            if (p->role == CRD_ROLE_BETA) values[k] = 0.2f * (float)((k * 3 + i) % 7 - 3) / 3.0f;
            if (p->layer == CRD_SPATIAL && p->role == CRD_ROLE_BIAS) values[k] = 0.5f;
        }
    }
    return CRD_OK;
}

static float *make_input(int64_t voxels)
{
    float *input = malloc((size_t)voxels * sizeof *input);
    uint32_t state = 12345;
    if (input == NULL) exit(1);
    for (int64_t i = 0; i < voxels; i++) {
        state = state * 1664525u + 1013904223u;
        input[i] = ((float)(state >> 8) / 16777216.0f - 0.5f) * 3.4f;
    }
    return input;
}

typedef struct outcome {
    int64_t voxels, samples;
    float *values;   /* [samples][voxels] */
    uint32_t *mean, *first_percentile;
    uint64_t *above;
    float probe[8];
} outcome;

static crd_status predict(const char *device, const char *isa, const chunk_case *c, const crd_model *model,
                          const float *input, outcome *out)
{
    const crd_device_choice choice = {
        .device = device, .precision = strcmp(device, "cpu") == 0 ? NULL : c->precision, .isa = isa};
    const int64_t probe[] = {0, 7};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    crd_predictor_plan plan = {.net = &model->net, .parameters = model->parameters,
                               .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]}, .samples = c->samples, .seed = 11,
                               .estimator = CRD_INDEPENDENT, .draws_per_chunk = c->per_chunk,
                               .inverse_temperature = 0.8f, .percentiles = percentiles, .percentile_count = 4,
                               .standard_deviation = true, .keep_samples = true, .first_sample = 2};
    CRD_PASS(crd_backend_choose(&choice, &backend, &settings));
    CRD_PASS(backend->predictor_create(&settings, &plan, &predictor));
    crd_status status = backend->predictor_submit(predictor, 5, input, probe, 2);
    if (status == CRD_OK) status = backend->predictor_collect(predictor, &result);
    if (status == CRD_OK) {
        const size_t voxels = (size_t)(c->chunk[0] * c->chunk[1] * c->chunk[2]);
        out->voxels = (int64_t)voxels;
        out->samples = c->samples;
        out->values = malloc((size_t)c->samples * voxels * sizeof(float));
        out->mean = malloc(voxels * sizeof(uint32_t));
        out->first_percentile = malloc(voxels * sizeof(uint32_t));
        out->above = malloc(voxels * sizeof(uint64_t));
        memcpy(out->values, result.samples, (size_t)c->samples * voxels * sizeof(float));
        memcpy(out->mean, result.mean, voxels * sizeof(uint32_t));
        memcpy(out->first_percentile, result.percentiles[0], voxels * sizeof(uint32_t));
        memcpy(out->above, result.above, voxels * sizeof(uint64_t));
        memcpy(out->probe, result.probe, sizeof(float) * (size_t)(c->samples < 4 ? 2 * c->samples : 8));
        if (result.chunk_number != 5 || result.probe_count != 2) status = CRD_ERR_INTERNAL;
    }
    backend->predictor_free(&predictor);
    return status;
}

static void release(outcome *o)
{
    free(o->values);
    free(o->mean);
    free(o->first_percentile);
    free(o->above);
}

static bool have_gpu(void)
{
    const crd_device_choice choice = {.device = "cuda"};
    const crd_backend *backend;
    crd_device_settings settings;
    return crd_backend_choose(&choice, &backend, &settings) == CRD_OK;
}

static void check_case(const chunk_case *c, const char *isa)
{
    crd_model *model = NULL;
    outcome cpu = {0}, gpu = {0}, again = {0};
    double mean = 0, largest = 0, mean_of_means = 0, percentile = 0;
    CHECK_OK(make_model(c, &model));
    float *input = make_input(c->chunk[0] * c->chunk[1] * c->chunk[2]);
    CHECK_OK(predict("cpu", "portable", c, model, input, &cpu));
    CHECK_OK(predict("cuda", isa, c, model, input, &gpu));
    CHECK_OK(predict("cuda", isa, c, model, input, &again));
    const size_t bytes = (size_t)(gpu.samples * gpu.voxels) * sizeof(float);
    CHECK(memcmp(gpu.values, again.values, bytes) == 0); /* the same bits twice */
    for (int64_t i = 0; i < cpu.samples * cpu.voxels; i++) {
        const double difference = fabs((double)cpu.values[i] - (double)gpu.values[i]);
        mean += difference / (double)(cpu.samples * cpu.voxels);
        largest = fmax(largest, difference);
        if (!isfinite(gpu.values[i])) largest = INFINITY;
    }
    for (int64_t v = 0; v < cpu.voxels; v++) {
        double total = 0;
        for (int64_t s = 0; s < gpu.samples; s++) total += gpu.values[s * gpu.voxels + v] / (double)gpu.samples;
        mean_of_means = fmax(mean_of_means, fabs(total - gpu.mean[v] * 0x1p-24));
        percentile = fmax(percentile, fabs((double)gpu.first_percentile[v] - (double)cpu.first_percentile[v]) * 0x1p-24);
        for (int64_t s = 0; s < gpu.samples && s < 64; s++) {
            CHECK(((gpu.above[v] >> s) & 1) == (gpu.values[s * gpu.voxels + v] > 0.5f));
        }
    }
    for (int64_t s = 0; s < gpu.samples && s < 4; s++) CHECK(gpu.probe[s] == gpu.values[s * gpu.voxels]);
    printf("       %s f %d %lldx%lldx%lld, %lld samples, %s %s%s: mean |difference| %.2e, largest %.2e, P33 %.2e\n",
           crd_kind_name(c->kind), c->filters, (long long)c->chunk[0], (long long)c->chunk[1], (long long)c->chunk[2],
           (long long)c->samples, isa != NULL ? isa : "best path", c->precision, c->per_chunk ? ", draws per chunk" : "", mean, largest, percentile);
    CHECK(mean <= c->mean_error);
    CHECK(largest <= c->largest_error);
    CHECK(mean_of_means <= 1e-6);
    release(&cpu);
    release(&gpu);
    release(&again);
    free(input);
    crd_model_free(&model);
}

static void test_gpu_against_cpu(void)
{
    static const chunk_case cases[] = {
        {CRD_BCNN, 16, {16, 32, 24}, 3, "f32", false, 1e-6, 1e-4},
        {CRD_BCNN, 16, {8, 8, 8}, 2, "f32", false, 1e-6, 1e-4},
        {CRD_BCNN, 8, {16, 24, 40}, 5, "fp16", false, 1e-6, 1e-4}, /* too narrow for fp16: runs in f32 */
        {CRD_MCDN, 16, {16, 24, 40}, 4, "f32", true, 1e-6, 1e-4},
        {CRD_BCNN, 16, {16, 32, 24}, 20, "fp16", false, 3e-3, 1},
        {CRD_BCNN, 16, {8, 24, 40}, 9, "fp16", true, 3e-3, 1},
        {CRD_MCDN, 32, {16, 24, 16}, 17, "fp16", false, 3e-3, 1},
        {CRD_BCNN, 16, {16, 32, 24}, 48, "bf16", false, 2e-2, 1},
        {CRD_MCDN, 16, {24, 40, 16}, 70, "fp16", false, 3e-3, 1}, /* more than one word of samples */
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && !harness_failed; i++) {
        check_case(&cases[i], NULL);
        if (!harness_failed) check_case(&cases[i], "sm80");
    }
}

static void test_queue_gives_results_in_order(void)
{
    const chunk_case c = {CRD_BCNN, 16, {16, 16, 16}, 4, "fp16", false, 0, 0};
    const crd_device_choice choice = {.device = "cuda"};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_model *model = NULL;
    if (!have_gpu()) SKIP("no GPU");
    CHECK_OK(make_model(&c, &model));
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    const crd_predictor_plan plan = {.net = &model->net, .parameters = model->parameters, .chunk = {16, 16, 16},
                                     .samples = 4, .seed = 1, .estimator = CRD_INDEPENDENT, .inverse_temperature = 1,
                                     .percentiles = percentiles, .percentile_count = 2};
    CHECK_OK(backend->predictor_create(&settings, &plan, &predictor));
    float *inputs = make_input(7 * 4096);
    static uint32_t alone[7][4096];
    for (int i = 0; i < 7; i++) {
        crd_chunk_result result;
        CHECK_OK(backend->predictor_submit(predictor, i, inputs + i * 4096, NULL, 0));
        CHECK_OK(backend->predictor_collect(predictor, &result));
        memcpy(alone[i], result.mean, sizeof alone[i]);
    }
    const int depth = backend->predictor_depth(predictor);
    for (int i = 0; i < 7 + depth; i++) {
        crd_chunk_result result;
        if (i >= depth) {
            CHECK_OK(backend->predictor_collect(predictor, &result));
            CHECK(result.chunk_number == i - depth);
        }
        if (i < 7) CHECK_OK(backend->predictor_submit(predictor, i, inputs + i * 4096, NULL, 0));
        if (i >= depth) CHECK(memcmp(alone[i - depth], result.mean, sizeof alone[0]) == 0);
    }
    free(inputs);
    backend->predictor_free(&predictor);
    crd_model_free(&model);
}

static void test_speed(void)
{
    const chunk_case c = {CRD_BCNN, 16, {88, 176, 176}, 48, "fp16", false, 0, 0};
    const crd_device_choice choice = {.device = "cuda"};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_model *model = NULL;
    crd_chunk_result result;
    if (!have_gpu()) SKIP("no GPU");
    CHECK_OK(make_model(&c, &model));
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    const crd_predictor_plan plan = {.net = &model->net, .parameters = model->parameters, .chunk = {88, 176, 176},
                                     .samples = 48, .seed = 1, .estimator = CRD_INDEPENDENT, .inverse_temperature = 1,
                                     .percentiles = percentiles, .percentile_count = 2};
    CHECK_OK(backend->predictor_create(&settings, &plan, &predictor));
    float *input = make_input(88 * 176 * 176);
    CHECK_OK(backend->predictor_submit(predictor, 0, input, NULL, 0));
    CHECK_OK(backend->predictor_collect(predictor, &result));
    const double begin = crd_seconds();
    int chunks = 0;
    CHECK_OK(backend->predictor_submit(predictor, 0, input, NULL, 0));
    for (; crd_seconds() - begin < 3.0; chunks++) {
        CHECK_OK(backend->predictor_submit(predictor, 0, input, NULL, 0));
        CHECK_OK(backend->predictor_collect(predictor, &result));
    }
    CHECK_OK(backend->predictor_collect(predictor, &result));
    printf("       88x176x176, 48 samples, fp16: %.1f ms a chunk\n", 1e3 * (crd_seconds() - begin) / (chunks + 1));
    double layers[CRD_CONV_COUNT + 1];
    CHECK_OK(backend->predictor_layers(predictor, input, layers));
    CHECK_OK(backend->predictor_layers(predictor, input, layers));
    for (int i = 0; i <= CRD_CONV_COUNT; i++) {
        printf("       %-14s %7.3f ms\n", i < CRD_CONV_COUNT ? model->net.layers[i].path : "summary", layers[i]);
    }
    free(input);
    backend->predictor_free(&predictor);
    crd_model_free(&model);
}

TEST_MAIN(TEST(test_gpu_against_cpu), TEST(test_queue_gives_results_in_order), TEST(test_speed))
