/* A network of three levels on the GPU: its samples against the CPU's portable path, its gradients against the textbook
 * network. Skipped where there is no GPU. */
#include "backend/choose.h"
#include "compare.h"
#include "gpu.h"
#include "harness.h"
#include "net/init.h"
#include "net/reference_net.h"
#include "net_tables.h"

enum { DEPTH = 8, HEIGHT = 24, WIDTH = 16, VOXELS = DEPTH * HEIGHT * WIDTH, SAMPLES = 5 };

static const crd_net_table table = TABLE(three_levels);

static void *room(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (memory == NULL) exit(1);
    return memory;
}

/* Norms that do something, and a head that is alive: like a trained network's. */
static float *make_parameters(const crd_net *net)
{
    float *parameters = room(net->model.total, sizeof *parameters);
    crd_net_init(net, 3, parameters);
    for (int i = 0; i < net->model.count; i++) {
        const crd_parameter *p = &net->model.parameters[i];
        float *values = parameters + p->offset;
        for (int64_t k = 0; k < p->count; k++) {
            if (p->role == CRD_ROLE_GAMMA) values[k] = 1.0f + 0.3f * (float)((k * 7 + i) % 5 - 2) / 2.0f;
            if (p->role == CRD_ROLE_BETA) values[k] = 0.2f * (float)((k * 3 + i) % 7 - 3) / 3.0f;
            if (p->layer == net->head && p->role == CRD_ROLE_BIAS) values[k] = 0.5f;
        }
    }
    return parameters;
}

static float *make_input(void)
{
    float *input = room(VOXELS, sizeof *input);
    uint32_t state = 12345;
    for (int64_t i = 0; i < VOXELS; i++) {
        state = state * 1664525u + 1013904223u;
        input[i] = ((float)(state >> 8) / 16777216.0f - 0.5f) * 3.4f;
    }
    return input;
}

static crd_status predict(const crd_device_choice *choice, const crd_net *net, float *samples)
{
    static const double percentiles[] = {33, 67};
    float *parameters = make_parameters(net), *input = make_input();
    const crd_predictor_plan plan = {.net = net,
                                     .parameters = parameters,
                                     .chunk = {DEPTH, HEIGHT, WIDTH},
                                     .samples = SAMPLES,
                                     .seed = 11,
                                     .estimator = CRD_INDEPENDENT,
                                     .inverse_temperature = 0.8f,
                                     .percentiles = percentiles,
                                     .percentile_count = 2,
                                     .keep_samples = true};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    CRD_PASS(crd_backend_choose(choice, &backend, &settings));
    crd_status status = backend->predictor_create(&settings, &plan, &predictor);
    if (status == CRD_OK) status = backend->predictor_submit(predictor, 0, input, NULL, 0);
    if (status == CRD_OK) status = backend->predictor_collect(predictor, &result);
    if (status == CRD_OK) memcpy(samples, result.samples, (size_t)(SAMPLES * VOXELS) * sizeof *samples);
    backend->predictor_free(&predictor);
    free(parameters);
    free(input);
    return status;
}

static void check_samples(crd_kind kind, const char *isa, const char *precision, double mean_error,
                          double largest_error)
{
    const crd_device_choice portable = {.device = "cpu", .isa = "portable"};
    const crd_device_choice gpu = {.device = "cuda", .isa = isa, .precision = precision};
    crd_net net;
    float *expected = room(SAMPLES * VOXELS, sizeof *expected), *computed = room(SAMPLES * VOXELS, sizeof *computed);
    double mean = 0, largest = 0;
    CHECK_OK(crd_net_describe_table(&table, kind, 16, 4, &net));
    CHECK_OK(predict(&portable, &net, expected));
    CHECK_OK(predict(&gpu, &net, computed));
    for (int64_t i = 0; i < SAMPLES * VOXELS; i++) {
        const double difference = apart(computed[i], expected[i]);
        mean += difference / (SAMPLES * VOXELS);
        largest = worse(largest, difference);
    }
    printf("       %s %s %s: mean |difference| %.2e, largest %.2e\n", crd_kind_name(kind),
           isa != NULL ? isa : "best path", precision, mean, largest);
    CHECK(mean <= mean_error && largest <= largest_error);
    CHECK(memcmp(expected, expected + VOXELS, VOXELS * sizeof *expected) != 0);
    free(expected);
    free(computed);
}

static void test_samples(void)
{
    if (!have_gpu()) SKIP("no GPU");
    for (int i = 0; i < 4; i++) {
        const crd_kind kind = i % 2 == 0 ? CRD_BCNN : CRD_MCDN;
        const char *isa = i < 2 ? NULL : "sm80";
        check_samples(kind, isa, "f32", 1e-5, 1e-3);
        check_samples(kind, isa, "fp16", 1e-2, 1);
    }
}

/* At the means, where the model's gradient is that of the point layout. */
static void test_gradients(void)
{
    const crd_device_choice choice = {.device = "cuda", .precision = "f32"};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_learner *learner = NULL;
    crd_loss loss;
    crd_net net;
    double kl, bce;
    int64_t labelled;
    if (!have_gpu()) SKIP("no GPU");
    CHECK_OK(crd_net_describe_table(&table, CRD_MCDN, 16, 4, &net));
    const int64_t total = net.model.total;
    float *parameters = make_parameters(&net), *input = make_input(), *gradient = room(total, sizeof *gradient);
    double *weights = room(total, sizeof *weights), *scan = room(VOXELS, sizeof *scan);
    double *expected = room(total, sizeof *expected);
    uint8_t *label = room(VOXELS, 1);
    for (int64_t i = 0; i < total; i++) weights[i] = parameters[i];
    for (int64_t i = 0; i < VOXELS; i++) {
        scan[i] = input[i];
        label[i] = i % 11 == 0 ? CRD_NO_LABEL : (uint8_t)(input[i] > 0.3f);
    }
    float *m = room(total, sizeof *m), *v = room(total, sizeof *v);
    const crd_learner_plan plan = {.net = &net,
                                   .state = {parameters, m, v},
                                   .chunk = {DEPTH, HEIGHT, WIDTH},
                                   .batch = 1,
                                   .estimator = CRD_MEAN,
                                   .prior = {.std = 1},
                                   .seed = 1};
    const crd_learner_step step = {.count = 1, .scale = 1.0f / VOXELS, .gradient_only = true};
    CHECK_OK(crd_ref_net_loss_d(&net, plan.chunk, weights, NULL, scan, label, step.scale, expected, &bce, &labelled));
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    CHECK_OK(backend->learner_create(&settings, &plan, &learner));
    CHECK_OK(backend->learner_write(learner));
    CHECK_OK(backend->learner_stage(learner, 0, input, label));
    CHECK_OK(backend->learner_start(learner, &step));
    CHECK_OK(backend->learner_finish(learner, &loss, &kl));
    CHECK_OK(backend->learner_gradient(learner, gradient));
    CHECK(loss.labelled == labelled && !loss.head_dead);
    CHECK(fabs(loss.bce_sum / bce - 1) <= 1e-4);
    for (int i = 0; i < net.model.count; i++) {
        const crd_parameter *p = &net.model.parameters[i];
        comparison all = {0};
        for (int64_t k = p->offset; k < p->offset + p->count; k++) compare(&all, gradient[k], expected[k]);
        printf("       %-26s %.2e\n", p->path, relative_error(&all));
        if (!(relative_error(&all) <= 1e-2)) CHECK_FAILED("%s is off", p->path);
    }
    backend->learner_free(&learner);
    free(parameters), free(input), free(gradient), free(weights), free(scan), free(expected), free(label), free(m),
        free(v);
}

TEST_MAIN(TEST(test_samples), TEST(test_gradients))
