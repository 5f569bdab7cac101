/* The CPU's predictor: reference numbers, draws, summaries over samples. */
#include "backend/backend.h"
#include "base/memory.h"
#include "harness.h"
#include "net/model.h"
#include "ops/reference.h"
#include "predict_tools.h"
#include "reference_data.h"

enum { SAMPLES = 5, PROBES = 3, VOXELS = REFERENCE_VOXELS };
static const double percentiles[] = {0, 33, 50, 67.5, 100};
enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };
static const int64_t probe[PROBES] = {0, 4711, VOXELS - 1};

/* A copy of what a chunk gave, for comparing one with another. */
typedef struct copy {
    uint32_t mean[VOXELS], deviation[VOXELS], entropy[VOXELS], percentiles[PERCENTILES][VOXELS];
    uint64_t above[VOXELS];
    float samples[SAMPLES][VOXELS];
    float probe[PROBES * SAMPLES];
} copy;

static crd_predictor_plan plan_of(const reference_case *c)
{
    crd_predictor_plan plan = {.net = &c->net,
                               .parameters = c->model,
                               .samples = SAMPLES,
                               .seed = 11,
                               .estimator = CRD_INDEPENDENT,
                               .inverse_temperature = 1.0f,
                               .percentiles = percentiles,
                               .percentile_count = PERCENTILES,
                               .standard_deviation = true,
                               .entropy = true,
                               .keep_samples = true};
    memcpy(plan.chunk, c->chunk, sizeof plan.chunk);
    return plan;
}

/* One chunk through a new predictor. */
static crd_status predict(const crd_predictor_plan *plan, int threads, int64_t number, const float *input, copy *out)
{
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    const crd_device_settings settings = {.threads = threads};
    crd_status status = crd_backend_cpu.predictor_create(&settings, plan, &predictor);
    if (status == CRD_OK) status = crd_backend_cpu.predictor_submit(predictor, number, input, probe, PROBES);
    if (status == CRD_OK) status = crd_backend_cpu.predictor_collect(predictor, &result);
    memset(out, 0, sizeof *out);
    if (status == CRD_OK) {
        memcpy(out->mean, result.mean, sizeof out->mean);
        if (result.deviation != NULL) memcpy(out->deviation, result.deviation, sizeof out->deviation);
        if (result.entropy != NULL) memcpy(out->entropy, result.entropy, sizeof out->entropy);
        for (int64_t i = 0; i < plan->percentile_count; i++) {
            memcpy(out->percentiles[i], result.percentiles[i], sizeof out->percentiles[i]);
        }
        memcpy(out->above, result.above, sizeof out->above);
        if (result.samples != NULL) {
            memcpy(out->samples, result.samples, (size_t)plan->samples * sizeof out->samples[0]);
        }
        memcpy(out->probe, result.probe, (size_t)(PROBES * plan->samples) * sizeof(float));
        if (result.chunk_number != number || result.probe_count != PROBES) status = CRD_ERR_INTERNAL;
    }
    crd_backend_cpu.predictor_free(&predictor);
    return status;
}

static copy *new_copy(void)
{
    copy *made = malloc(sizeof *made);
    if (made == NULL) exit(1);
    return made;
}

static void check_mean(crd_kind kind)
{
    const reference_case *c = reference_load(kind);
    crd_predictor_plan plan = plan_of(c);
    copy *got = new_copy();
    plan.estimator = CRD_MEAN;
    plan.samples = 2;
    for (int b = 0; b < REFERENCE_BATCH; b++) {
        double worst = 0.0;
        CHECK_OK(predict(&plan, 2, 3, c->input + b * VOXELS, got));
        for (int64_t i = 0; i < VOXELS; i++) {
            worst = worse(worst, apart(got->mean[i] * 0x1p-24, c->mean_probability[b * VOXELS + i]));
            CHECK(got->deviation[i] == 0 && got->percentiles[0][i] == got->mean[i]);
            CHECK(got->percentiles[PERCENTILES - 1][i] == got->mean[i]);
        }
        CHECK_NEAR(worst, 0.0, 1e-4);
    }
    free(got);
}

static void test_mean_is_the_reference(void)
{
    check_mean(CRD_BCNN);
    if (!harness_failed) check_mean(CRD_MCDN);
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Mean, deviation, percentiles, bits and probes all follow from the samples. */
static void check_summary(const crd_predictor_plan *plan, const float *input)
{
    copy *got = new_copy();
    double spread = 0.0;
    CHECK_OK(predict(plan, 2, 0, input, got));
    for (int64_t v = 0; v < VOXELS; v++) {
        float sorted[SAMPLES];
        double mean = 0.0, variance = 0.0, entropy = 0.0;
        uint64_t bits = 0;
        for (int s = 0; s < SAMPLES; s++) {
            sorted[s] = got->samples[s][v];
            mean += (double)sorted[s] / SAMPLES;
            bits |= (uint64_t)(sorted[s] > 0.5f) << s;
            const double p = (double)sorted[s];
            entropy -= ((p > 0.0 ? p * log2(p) : 0.0) + (p < 1.0 ? (1.0 - p) * log2(1.0 - p) : 0.0)) / SAMPLES;
        }
        for (int s = 0; s < SAMPLES; s++) variance += pow((double)sorted[s] - mean, 2) / SAMPLES;
        qsort(sorted, SAMPLES, sizeof sorted[0], by_size);
        CHECK_NEAR(got->mean[v] * 0x1p-24, mean, 1e-7);
        CHECK_NEAR(got->deviation[v] * 0x1p-24, sqrt(variance), 1e-7);
        CHECK_NEAR(got->entropy[v] * 0x1p-22, entropy, 3e-7);
        CHECK(got->above[v] == bits);
        if (sqrt(variance) > spread) spread = sqrt(variance);
        for (int p = 0; p < PERCENTILES; p++) {
            const double at = percentiles[p] / 100 * (SAMPLES - 1);
            const int below = (int)at < SAMPLES - 1 ? (int)at : SAMPLES - 2;
            const double low = (double)sorted[below], high = (double)sorted[below + 1];
            CHECK_NEAR(got->percentiles[p][v] * 0x1p-24, low + (high - low) * (at - below), 1e-7);
        }
    }
    CHECK(spread > 1e-4); /* the samples do differ */
    for (int i = 0; i < PROBES; i++) {
        for (int s = 0; s < SAMPLES; s++) CHECK(got->probe[i * SAMPLES + s] == got->samples[s][probe[i]]);
    }
    free(got);
}

static void test_summary_of_the_samples(void)
{
    for (int kind = 0; kind < 2 && !harness_failed; kind++) {
        const reference_case *c = reference_load((crd_kind)kind);
        const crd_predictor_plan plan = plan_of(c);
        check_summary(&plan, c->input);
    }
}

/* More than two classes: a plane each, in all that comes out. */
static void test_planes(void)
{
    enum { CLASSES = 3, Z = 8, Y = 16, X = 16, PLANE = Z * Y * X, VALUES = CLASSES * PLANE, MANY = 70 };
    const crd_model_info info = {
        .kind = CRD_BCNN, .filters = 4, .groups = 4, .classes = CLASSES, .class_values = {0, 1, 2}};
    const crd_device_settings settings = {.threads = 2};
    const int64_t asked[2] = {3, PLANE - 1};
    crd_model *model = NULL;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    static float input[PLANE];
    static double percentile[MANY];
    CHECK_OK(crd_model_create(&info, 3, &model));
    for (int i = 0; i < PLANE; i++) input[i] = (float)(i * 37 % 101) / 50 - 1;
    const crd_predictor_plan plan = {.net = &model->net,
                                     .parameters = model->parameters,
                                     .chunk = {Z, Y, X},
                                     .samples = MANY,
                                     .seed = 11,
                                     .estimator = CRD_INDEPENDENT,
                                     .inverse_temperature = 1.0f,
                                     .percentiles = percentiles + 1,
                                     .percentile_count = 1,
                                     .standard_deviation = true,
                                     .keep_samples = true};
    CHECK_OK(crd_backend_cpu.predictor_create(&settings, &plan, &predictor));
    CHECK_OK(crd_backend_cpu.predictor_submit(predictor, 0, input, asked, 2));
    CHECK_OK(crd_backend_cpu.predictor_collect(predictor, &result));
    CHECK(result.nonfinite == 0);
    int64_t chosen[CLASSES] = {0};
    for (int v = 0; v < PLANE; v++) {
        for (int s = 0; s < MANY; s++) {
            const float *p = result.samples + s * VALUES + v;
            int best = 0;
            for (int c = 1; c < CLASSES; c++) best = p[c * PLANE] > p[best * PLANE] ? c : best;
            CHECK(fabs((double)p[0] + (double)p[PLANE] + (double)p[2 * PLANE] - 1) < 1e-6);
            for (int c = 0; c < CLASSES; c++)
                CHECK((result.above[s / 64 * VALUES + c * PLANE + v] >> (s % 64) & 1) == (c == best));
            chosen[best]++;
        }
        for (int c = 0; c < CLASSES; c++) {
            double mean, deviation;
            for (int s = 0; s < MANY; s++) percentile[s] = (double)result.samples[s * VALUES + c * PLANE + v];
            crd_ref_moments_d(MANY, percentile, &mean, &deviation);
            CHECK_NEAR(result.mean[c * PLANE + v] * 0x1p-24, mean, 1e-6);
            CHECK_NEAR(result.deviation[c * PLANE + v] * 0x1p-24, deviation, 1e-6);
            CHECK_NEAR(result.percentiles[0][c * PLANE + v] * 0x1p-24,
                       crd_ref_percentile_d(MANY, percentile, percentiles[1]), 1e-6);
        }
    }
    CHECK((chosen[0] > 0) + (chosen[1] > 0) + (chosen[2] > 0) >= 2);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < MANY * CLASSES; k++)
            CHECK(result.probe[i * MANY * CLASSES + k] ==
                  result.samples[k / CLASSES * VALUES + k % CLASSES * PLANE + asked[i]]);
    crd_backend_cpu.predictor_free(&predictor);
    crd_model_free(&model);
}

static void check_draws(const crd_predictor_plan *shared, const float *input)
{
    copy *a = new_copy(), *b = new_copy();
    crd_predictor_plan plan = *shared;

    /* The same bytes for any number of threads, whether the samples are kept or not. */
    CHECK_OK(predict(&plan, 1, 0, input, a));
    CHECK_OK(predict(&plan, 3, 0, input, b));
    CHECK(memcmp(a, b, sizeof *a) == 0);
    plan.keep_samples = false;
    CHECK_OK(predict(&plan, 2, 0, input, b));
    CHECK(memcmp(a->mean, b->mean, sizeof a->mean) == 0);
    CHECK(memcmp(a->percentiles, b->percentiles, sizeof a->percentiles) == 0);
    CHECK(memcmp(a->above, b->above, sizeof a->above) == 0 && memcmp(a->probe, b->probe, sizeof a->probe) == 0);
    plan.keep_samples = true;

    /* One set of draws for all chunks: the number doesn't matter. Draws per chunk: it does, and chunk 0 has the shared
     * ones. */
    CHECK_OK(predict(&plan, 2, 9, input, b));
    CHECK(memcmp(a->samples, b->samples, sizeof a->samples) == 0);
    plan.draws_per_chunk = true;
    CHECK_OK(predict(&plan, 2, 0, input, b));
    CHECK(memcmp(a->samples, b->samples, sizeof a->samples) == 0);
    CHECK_OK(predict(&plan, 2, 9, input, b));
    for (int s = 0; s < SAMPLES; s++) CHECK(memcmp(a->samples[s], b->samples[s], sizeof a->samples[s]) != 0);

    /* Any sample can be made again alone, also where every chunk has its own. */
    plan.first_sample = 3;
    plan.samples = 1;
    CHECK_OK(predict(&plan, 2, 9, input, a));
    CHECK(memcmp(a->samples[0], b->samples[3], sizeof a->samples[0]) == 0);
    plan.draws_per_chunk = false;
    CHECK_OK(predict(shared, 2, 0, input, b));
    CHECK_OK(predict(&plan, 2, 0, input, a));
    CHECK(memcmp(a->samples[0], b->samples[3], sizeof a->samples[0]) == 0);

    /* Another seed, other samples. */
    plan.seed++;
    CHECK_OK(predict(&plan, 2, 0, input, a));
    CHECK(memcmp(a->samples[0], b->samples[3], sizeof a->samples[0]) != 0);
    free(a);
    free(b);
}

static void test_draws(void)
{
    for (int kind = 0; kind < 2 && !harness_failed; kind += sparse(2, "dropout")) {
        const reference_case *c = reference_load((crd_kind)kind);
        const crd_predictor_plan plan = plan_of(c);
        check_draws(&plan, c->input);
    }
}

/* With less memory less is kept of the skips, where a path keeps anything. */
static void test_thrift(void)
{
    for (int kind = 0; kind < 2; kind += sparse(2, "dropout")) {
        const reference_case *c = reference_load((crd_kind)kind);
        const crd_device_settings settings = {.threads = 2};
        crd_predictor_plan plan = plan_of(c);
        copy *usual = new_copy(), *thrifty = new_copy();
        const int64_t half = c->net.filters;
        const crd_conv_size merge = {c->chunk[0], c->chunk[1], c->chunk[2], {half, half}, half};
        const crd_ops *ops;
        int64_t before, bytes, device;
        CHECK_OK(crd_ops_select(NULL, &ops));
        CHECK_OK(crd_backend_cpu.predictor_bytes(&settings, &plan, &before, &device));
        CHECK_OK(predict(&plan, 2, 0, c->input, usual));
        while (plan.memory_saving < CRD_MEMORY_SAVING_MOST) {
            plan.memory_saving++;
            CHECK_OK(crd_backend_cpu.predictor_bytes(&settings, &plan, &bytes, &device));
            CHECK_OK(predict(&plan, 2, 0, c->input, thrifty));
            CHECK(ops->keep_bytes(&merge) > 0 ? bytes < before : bytes == before);
            CHECK(memcmp(usual, thrifty, sizeof *usual) == 0);
            before = bytes;
        }
        free(usual);
        free(thrifty);
    }
}

/* The temperature divides the logit, and nothing else. */
static void test_temperature(void)
{
    const reference_case *c = reference_load(CRD_BCNN);
    crd_predictor_plan plan = plan_of(c);
    copy *plain = new_copy(), *cool = new_copy();
    plan.samples = 1;
    CHECK_OK(predict(&plan, 2, 0, c->input, plain));
    plan.inverse_temperature = 0.5f;
    CHECK_OK(predict(&plan, 2, 0, c->input, cool));
    int64_t checked = 0;
    for (int64_t v = 0; v < VOXELS; v++) {
        const double p = (double)plain->samples[0][v], logit = log(p / (1 - p));
        if (p < 0.01 || p > 0.99) continue; /* a float near 1 doesn't tell the logit */
        CHECK_NEAR(cool->samples[0][v], 1 / (1 + exp(-0.5 * logit)), 1e-5);
        checked++;
    }
    CHECK(checked > VOXELS / 10);
    free(plain);
    free(cool);
}

static void test_refusals(void)
{
    const reference_case *c = reference_load(CRD_BCNN);
    crd_predictor_plan plan = plan_of(c);
    copy *got = new_copy();
    int64_t host, device;
    const crd_device_settings settings = {.threads = 1};
    plan.samples = 0;
    CHECK_FAILS(predict(&plan, 1, 0, c->input, got), CRD_ERR_ARGUMENT, "samples");
    plan = plan_of(c);
    plan.chunk[1] = 20;
    CHECK_FAILS(predict(&plan, 1, 0, c->input, got), CRD_ERR_ARGUMENT, "8");
    plan = plan_of(c);
    plan.percentiles = (const double[]){101, 0, 0, 0, 0};
    CHECK_FAILS(predict(&plan, 1, 0, c->input, got), CRD_ERR_ARGUMENT, "percentile");
    plan = plan_of(c);
    CHECK_OK(crd_backend_cpu.predictor_bytes(&settings, &plan, &host, &device));
    CHECK(host > (int64_t)sizeof(float) * SAMPLES * VOXELS && device == 0);
    free(got);
}

static const char *const paths[] = {"portable", "avx2", "avx512", "avx512, bf16"};
enum { PATHS = sizeof paths / sizeof paths[0], EDGE = 8, SMALL = EDGE * EDGE * EDGE };

static crd_device_settings path_settings(int path)
{
    return (crd_device_settings){.threads = 2,
                                 .isa = path == 3 ? NULL : paths[path],
                                 .precision = path == 3 ? CRD_PRECISION_BF16 : CRD_PRECISION_F32};
}

static bool path_here(int path)
{
    const crd_ops *ops;
    return have_path(paths[path],
                     (path == 3 ? crd_ops_select_bf16(NULL, &ops) : crd_ops_select(paths[path], &ops)) == CRD_OK);
}

/* As wide as the path's vectors. */
static crd_model *small_model(crd_kind kind, int path)
{
    crd_model *model = NULL;
    const crd_model_info info = {.kind = kind, .filters = path < 2 ? 8 : 16, .groups = 4};
    if (crd_model_create(&info, 5, &model) != CRD_OK) exit(1);
    tools_enliven(model);
    return model;
}

/* A chunk of waves through a new predictor; means, where not NULL, has room for SMALL values. */
static crd_status count_nonfinite(const crd_model *model, int path, int64_t *count, int64_t *sample, double *means)
{
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    float input[SMALL];
    const crd_device_settings settings = path_settings(path);
    const crd_predictor_plan plan = {.net = &model->net,
                                     .parameters = model->parameters,
                                     .chunk = {EDGE, EDGE, EDGE},
                                     .samples = 1,
                                     .seed = 3,
                                     .estimator = CRD_INDEPENDENT,
                                     .inverse_temperature = 1.0f};
    for (int i = 0; i < SMALL; i++) input[i] = (float)(2.0 * sin(i * 0.3) + cos(i * 0.011));
    crd_status status = crd_backend_cpu.predictor_create(&settings, &plan, &predictor);
    if (status == CRD_OK) status = crd_backend_cpu.predictor_submit(predictor, 0, input, NULL, 0);
    if (status == CRD_OK) status = crd_backend_cpu.predictor_collect(predictor, &result);
    if (status == CRD_OK) {
        *count = result.nonfinite;
        *sample = result.nonfinite_sample;
        for (int i = 0; means != NULL && i < SMALL; i++) means[i] = result.mean[i] * 0x1p-24;
    }
    crd_backend_cpu.predictor_free(&predictor);
    return status;
}

/* One value of every tensor in turn (all three kinds of brokenness, over the paths and networks): whatever isn't finite
 * anywhere in the network is seen at its end. */
static void check_broken(crd_kind kind, int path)
{
    static const float broken[] = {NAN, INFINITY, -INFINITY};
    crd_model *model = small_model(kind, path);
    int64_t count, sample;
    CHECK_OK(count_nonfinite(model, path, &count, &sample, NULL));
    CHECK(count == 0 && sample == -1);
    for (int p = 0; p < model->net.model.count; p += sparse(5, "tensors")) {
        const crd_parameter *parameter = &model->net.model.parameters[p];
        float *value = &model->parameters[parameter->offset + parameter->count / 2];
        const float before = *value;
        const bool deviation = parameter->role == CRD_ROLE_RHO; /* of minus infinity: none, which is sound */
        *value = broken[(p + path + (int)kind) % (deviation ? 2 : 3)];
        CHECK_OK(count_nonfinite(model, path, &count, &sample, NULL));
        if (count != SMALL || sample != 0) {
            CHECK_FAILED("%s, %s: %g in %s gives %lld broken values, first in sample %lld", crd_kind_name(kind),
                         paths[path], (double)*value, parameter->path, (long long)count, (long long)sample);
        }
        *value = before;
    }
    crd_model_free(&model);
}

static void test_broken_models(void)
{
    for (int path = 0; path < PATHS; path++) {
        if (!path_here(path)) continue;
        check_broken(CRD_BCNN, path);
        if (!harness_failed) check_broken(CRD_MCDN, path);
        if (harness_failed) return;
    }
}

/* A group norm takes away what its convolution is multiplied by, so huge weights give the same answer, or, where the
 * arithmetic can't hold the numbers, none: never another one. */
static void check_huge(const char *name, int path)
{
    static const float factors[] = {1e10f, 1e10f, 1e10f, 3e8f}; /* one after the other: up to 3e38 */
    crd_model *model = small_model(CRD_MCDN, path);
    const crd_layout *layout = &model->net.model;
    const int layer = crd_net_find(&model->net, name);
    double usual[SMALL], huge[SMALL];
    int64_t count, sample, refused = 0;
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        comparison all = {0};
        for (int p = 0; p < layout->count; p++) {
            const crd_parameter *parameter = &layout->parameters[p];
            if (parameter->offset != layout->kernel[layer] && parameter->offset != layout->bias[layer]) continue;
            for (int64_t i = 0; i < parameter->count; i++) model->parameters[parameter->offset + i] *= factors[f];
        }
        CHECK_OK(count_nonfinite(model, path, &count, &sample, huge));
        if (f == 0) memcpy(usual, huge, sizeof usual);
        for (int i = 0; i < SMALL; i++) compare(&all, huge[i], usual[i]);
        CHECK(f > 0 || count == 0);
        CHECK(count > 0 || all.error <= (path == 3 ? 2e-2 : 1e-3));
        refused += count > 0;
    }
    CHECK(refused > 0);
    crd_model_free(&model);
}

static void test_huge_weights(void)
{
    static const char *const layers[] = {"encoder/1/a", "encoder/1/b", "encoder/3/b", "decoder/3/up", "decoder/2/a"};
    for (int path = 0; path < PATHS; path++) {
        if (!path_here(path)) continue;
        for (size_t i = 0; i < sizeof layers / sizeof layers[0] && !harness_failed; i += (size_t)sparse(2, "layers"))
            check_huge(layers[i], path);
    }
}

/* A weight of the head that overflows with some draws only: those samples are named, no others. */
static void test_first_broken_sample(void)
{
    enum { DRAWS = 70 };
    for (int path = 0; path < PATHS; path += sparse(2, "paths")) {
        if (!path_here(path)) continue;
        crd_model *model = small_model(CRD_BCNN, path);
        const crd_device_settings settings = path_settings(path);
        const crd_predictor_plan plan = {.net = &model->net,
                                         .parameters = model->parameters,
                                         .chunk = {EDGE, EDGE, 33 * EDGE}, /* several blocks of voxels */
                                         .samples = DRAWS,
                                         .seed = 1,
                                         .estimator = CRD_INDEPENDENT,
                                         .inverse_temperature = 1.0f,
                                         .keep_samples = true};
        const int64_t voxels = 33 * SMALL;
        crd_predictor *predictor = NULL;
        crd_chunk_result result;
        float *input = calloc((size_t)voxels, sizeof *input);
        int64_t values, first;
        tools_break_some_draws(model);
        for (int64_t i = 0; i < voxels; i++) input[i] = (float)sin((double)i * 0.3);
        CHECK_OK(crd_backend_cpu.predictor_create(&settings, &plan, &predictor));
        CHECK_OK(crd_backend_cpu.predictor_submit(predictor, 0, input, NULL, 0));
        CHECK_OK(crd_backend_cpu.predictor_collect(predictor, &result));
        const int64_t broken = tools_count_nonfinite(result.samples, DRAWS, voxels, &values, &first);
        printf("       %s: %lld of %d samples are broken, the first is %lld\n", paths[path], (long long)broken, DRAWS,
               (long long)first);
        CHECK(broken > 0 && broken < DRAWS && first > 0);
        CHECK(result.nonfinite == values && result.nonfinite_sample == first);
        crd_backend_cpu.predictor_free(&predictor);
        crd_model_free(&model);
        free(input);
    }
}

TEST_MAIN(TEST(test_broken_models), TEST(test_huge_weights), TEST(test_first_broken_sample),
          TEST(test_mean_is_the_reference), TEST(test_summary_of_the_samples), TEST(test_planes), TEST(test_draws),
          TEST(test_thrift), TEST(test_temperature), TEST(test_refusals))
