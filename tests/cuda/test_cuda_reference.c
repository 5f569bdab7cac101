/* Predictions on the GPU against the numbers of an independent implementation. Skipped where there is no GPU. */
#include "backend/choose.h"
#include "gpu.h"
#include "harness.h"
#include "reference_data.h"

static void check_reference(const reference_case *c, const char *precision, double allowed)
{
    const crd_device_choice choice = {.device = "cuda", .precision = precision};
    const int64_t values = c->voxels * crd_net_planes(&c->net);
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    double largest = 0, mean = 0;
    const crd_predictor_plan plan = {.net = &c->net,
                                     .parameters = c->model,
                                     .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]},
                                     .samples = 1,
                                     .estimator = CRD_MEAN,
                                     .inverse_temperature = 1,
                                     .keep_samples = true};
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    CHECK_OK(backend->predictor_create(&settings, &plan, &predictor));
    for (int b = 0; b < c->batch; b++) {
        CHECK_OK(backend->predictor_submit(predictor, b, c->input + b * c->voxels, NULL, 0));
        CHECK_OK(backend->predictor_collect(predictor, &result));
        CHECK(result.nonfinite == 0);
        for (int64_t i = 0; i < values; i++) {
            const double difference = apart((double)result.samples[i], c->mean_probability[b * values + i]);
            largest = worse(largest, difference);
            mean += difference / (double)(c->batch * values);
            CHECK(fabs((double)result.mean[i] * 0x1p-24 - (double)result.samples[i]) <= 0x1p-24);
        }
    }
    printf("       %s, %d filters, %d classes, %s, against the reference numbers: mean %.2e, largest %.2e\n",
           crd_kind_name(c->net.kind), c->net.filters, c->net.classes, precision, mean, largest);
    CHECK(strcmp(precision, "f32") == 0 ? largest <= allowed : mean <= allowed);
    backend->predictor_free(&predictor);
}

static void test_reference_numbers(void)
{
    if (!have_gpu()) SKIP("no GPU");
    check_reference(reference_load(CRD_BCNN), "f32", 1e-4);
    if (!harness_failed) check_reference(reference_load(CRD_MCDN), "f32", 1e-4);
}

/* Three classes, and in half precision a network of 16 filters: there rounding turns ReLUs of an untrained network
 * over, so means are what is bounded, as on the CPU (test_engine.c). */
static void test_full_reference_numbers(void)
{
    static const struct {
        const char *which, *precision;
        double allowed;
    } cases[] = {{"f8_k3", "f32", 1e-4}, {"f16", "f32", 1e-4}, {"f16", "fp16", 5e-3}, {"f16", "bf16", 2e-2}};
    if (!have_gpu()) SKIP("no GPU");
    for (int i = 0; i < 8 && !harness_failed; i++) {
        const reference_case *c = reference_load_named((crd_kind)(i % 2), cases[i / 2].which);
        if (c == NULL) SKIP("16 filters need the full reference files");
        check_reference(c, cases[i / 2].precision, cases[i / 2].allowed);
    }
}

TEST_MAIN(TEST(test_reference_numbers), TEST(test_full_reference_numbers))
