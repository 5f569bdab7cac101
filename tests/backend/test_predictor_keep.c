/* Parts of chunks: what a predictor says of a part is what it says of those voxels of the whole chunk, on one device
 * and on several that share a queue. */
#include "backend/backend.h"
#include "backend/several.h"
#include "harness.h"
#include "net/model.h"
#include "predict_tools.h"

enum { SAMPLES = 3, DEPTH = 24, HEIGHT = 32, WIDTH = 40, VOXELS = DEPTH * HEIGHT * WIDTH };
static const double percentiles[] = {10, 90};
static const crd_box boxes[] = {
    {{0, 0, 0}, {8, 16, 16}},  {{8, 8, 8}, {8, 16, 16}},  {{16, 16, 24}, {8, 16, 16}}, {{8, 24, 0}, {8, 5, 16}},
    {{0, 16, 32}, {7, 16, 3}}, {{16, 0, 16}, {1, 1, 16}}, {{8, 8, 8}, {8, 16, 16}},
};
enum { BOXES = sizeof boxes / sizeof boxes[0] };

static void make(crd_kind kind, crd_model **model, crd_moments **moments, float **input)
{
    const crd_model_info info = {.kind = kind, .filters = 8, .groups = 4};
    CHECK_OK(crd_model_create(&info, 5, model));
    tools_enliven(*model);
    const int64_t each = crd_net_moments(&(*model)->net), count = SAMPLES * each;
    *moments = calloc((size_t)count, sizeof **moments);
    *input = malloc(VOXELS * sizeof **input);
    if (*moments == NULL || *input == NULL) exit(1);
    /* Of the encoder all samples have the same. */
    for (int64_t i = 0; i < count; i++) (*moments)[i] = (crd_moments){0.3, 0.4 + 0.02 * (double)(i % each % 9)};
    for (int64_t i = 0; i < VOXELS; i++) (*input)[i] = (float)(i * 7919 % 2048) / 512.0f - 2.0f;
}

static crd_predictor_plan plan_of(const crd_model *model, const crd_moments *moments)
{
    return (crd_predictor_plan){.net = &model->net,
                                .parameters = model->parameters,
                                .chunk = {DEPTH, HEIGHT, WIDTH},
                                .samples = SAMPLES,
                                .seed = 3,
                                .estimator = CRD_INDEPENDENT,
                                .moments = moments,
                                .inverse_temperature = 1.0f,
                                .percentiles = percentiles,
                                .percentile_count = 2,
                                .standard_deviation = true,
                                .keep_samples = true};
}

static int64_t in_chunk(const crd_box *box, int64_t v)
{
    const int64_t z = v / box->size[2] / box->size[1], y = v / box->size[2] % box->size[1], x = v % box->size[2];
    return ((box->origin[0] + z) * HEIGHT + box->origin[1] + y) * WIDTH + box->origin[2] + x;
}

/* On the portable path to the bit. */
static void check_part(const crd_chunk_result *part, const crd_chunk_result *whole, const crd_box *box, int64_t probe)
{
    const int64_t voxels = box->size[0] * box->size[1] * box->size[2];
    CHECK(memcmp(&part->kept, box, sizeof *box) == 0 && part->nonfinite == 0);
    for (int64_t v = 0; v < voxels; v++) {
        const int64_t at = in_chunk(box, v);
        CHECK(part->mean[v] == whole->mean[at] && part->deviation[v] == whole->deviation[at]);
        CHECK(part->percentiles[0][v] == whole->percentiles[0][at]);
        CHECK(part->percentiles[1][v] == whole->percentiles[1][at]);
        CHECK(part->above[v] == whole->above[at]);
        for (int s = 0; s < SAMPLES; s++) {
            CHECK(part->samples[s * voxels + v] == whole->samples[s * (int64_t)VOXELS + at]);
        }
    }
    CHECK(part->probe_count == 1);
    for (int s = 0; s < SAMPLES; s++) CHECK(part->probe[s] == part->samples[s * voxels + probe]);
}

/* As a prediction drives its queue. */
static void check_queue(const crd_backend *backend, const crd_device_settings *settings, const crd_predictor_plan *plan,
                        const float *input, const crd_chunk_result *whole)
{
    crd_predictor *predictor = NULL;
    CHECK_OK(backend->predictor_create(settings, plan, &predictor));
    const int depth = backend->predictor_depth(predictor);
    for (int i = 0, collected = 0; collected < BOXES; i++) {
        if (i < BOXES) {
            const int64_t probe = boxes[i].size[2] - 1;
            backend->predictor_keep(predictor, &boxes[i]);
            CHECK_OK(backend->predictor_submit(predictor, i, input, &probe, 1));
        }
        if (i < BOXES && i + 1 - collected < depth) continue;
        crd_chunk_result part;
        CHECK_OK(backend->predictor_collect(predictor, &part));
        CHECK(part.chunk_number == collected);
        check_part(&part, whole, &boxes[collected], boxes[collected].size[2] - 1);
        collected++;
    }
    backend->predictor_free(&predictor);
}

static void check_kind(crd_kind kind)
{
    const crd_device_settings one = {.threads = 1, .isa = "portable"};
    crd_device_settings several = {.threads = 1, .isa = "portable", .device_count = 2, .devices = {0, 0}};
    crd_model *model = NULL;
    crd_moments *moments = NULL;
    crd_predictor *predictor = NULL;
    float *input = NULL;
    crd_chunk_result whole;
    int64_t bytes, all_bytes, device;
    make(kind, &model, &moments, &input);
    crd_predictor_plan plan = plan_of(model, moments);
    CHECK_OK(crd_backend_cpu.predictor_bytes(&one, &plan, &all_bytes, &device));
    CHECK_OK(crd_backend_cpu.predictor_create(&one, &plan, &predictor));
    CHECK_OK(crd_backend_cpu.predictor_submit(predictor, 0, input, NULL, 0));
    CHECK_OK(crd_backend_cpu.predictor_collect(predictor, &whole));
    const crd_box all = {{0, 0, 0}, {DEPTH, HEIGHT, WIDTH}};
    CHECK(memcmp(&whole.kept, &all, sizeof all) == 0);
    memcpy(plan.keep, (int64_t[3]){8, 16, 16}, sizeof plan.keep);
    CHECK_OK(crd_backend_cpu.predictor_bytes(&one, &plan, &bytes, &device));
    CHECK(bytes < all_bytes);
    check_queue(&crd_backend_cpu, &one, &plan, input, &whole);
    crd_several_join(&crd_backend_cpu, &several);
    check_queue(&crd_backend_several, &several, &plan, input, &whole);
    plan.moments = NULL;
    crd_predictor *refused = NULL;
    CHECK_FAILS(crd_backend_cpu.predictor_create(&one, &plan, &refused), CRD_ERR_INTERNAL, "depends on all of it");
    crd_backend_cpu.predictor_free(&predictor);
    free(moments);
    free(input);
    crd_model_free(&model);
}

static void test_bcnn(void)
{
    check_kind(CRD_BCNN);
}

static void test_mcdn(void)
{
    check_kind(CRD_MCDN);
}

TEST_MAIN(TEST(test_bcnn), TEST(test_mcdn))
