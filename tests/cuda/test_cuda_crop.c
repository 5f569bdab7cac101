/* A part of a chunk on the GPU, for which layers compute only what it depends on, against the same voxels of the whole
 * chunk; on every path, with the time that both take. Skipped where there is no GPU. */
#include "backend/choose.h"
#include "base/clock.h"
#include "compare.h"
#include "gpu.h"
#include "harness.h"
#include "net/model.h"

typedef struct path {
    const char *isa, *precision;
    double mean; /* of |difference| that is allowed; 0: the same bits */
} path;

static const path paths[] = {
    {NULL, "f32", 0}, {"sm80", "fp16", 0}, {"sm80", "bf16", 0}, {"sm90", "fp16", 2e-3}, {"sm90", "bf16", 2e-2}};
enum { PATHS = sizeof paths / sizeof paths[0] };

static const double percentiles[] = {33, 67};

static float *make_input(int64_t voxels)
{
    float *input = malloc((size_t)voxels * sizeof *input);
    uint32_t state = 4711;
    if (input == NULL) exit(1);
    for (int64_t i = 0; i < voxels; i++) {
        state = state * 1664525u + 1013904223u;
        input[i] = ((float)(state >> 8) / 16777216.0f - 0.5f) * 3.4f;
    }
    return input;
}

static crd_predictor_plan plan_of(const crd_model *model, const crd_moments *moments, const int64_t chunk[3],
                                  int64_t samples)
{
    return (crd_predictor_plan){.net = &model->net,
                                .parameters = model->parameters,
                                .chunk = {chunk[0], chunk[1], chunk[2]},
                                .samples = samples,
                                .seed = 11,
                                .estimator = CRD_INDEPENDENT,
                                .moments = moments,
                                .inverse_temperature = 1.0f,
                                .percentiles = percentiles,
                                .percentile_count = 2,
                                .keep_samples = true};
}

/* A network with norms that do something and a head that is alive, frozen at what its layers are like: in half
 * precision anything else soon leaves the numbers that there are. */
static void make_model(crd_kind kind, int filters, int classes, int64_t samples, crd_model **model,
                       crd_moments **moments)
{
    crd_model_info info = {.kind = kind, .filters = filters, .groups = 4, .classes = classes};
    for (int i = 0; i < classes; i++) info.class_values[i] = i;
    CHECK_OK(crd_model_create(&info, 3, model));
    const crd_net *net = &(*model)->net;
    for (int i = 0; i < net->model.count; i++) {
        const crd_parameter *p = &net->model.parameters[i];
        float *values = (*model)->parameters + p->offset;
        for (int64_t k = 0; k < p->count; k++) {
            if (p->role == CRD_ROLE_GAMMA) values[k] = 1.0f + 0.3f * (float)((k * 7 + i) % 5 - 2) / 2.0f;
            if (p->role == CRD_ROLE_BETA) values[k] = 0.2f * (float)((k * 3 + i) % 7 - 3) / 3.0f;
            if (p->layer == net->head && p->role == CRD_ROLE_BIAS) values[k] = 0.5f;
        }
    }
    static const int64_t size[3] = {16, 32, 32};
    crd_pieces pieces = {.count = 1, .size = {size[0], size[1], size[2]}, .voxels = make_input(16 * 32 * 32)};
    const crd_predictor_plan plan = plan_of(*model, NULL, size, samples);
    const crd_device_settings cpu = {.precision = CRD_PRECISION_F32};
    *moments = calloc((size_t)(samples * crd_net_moments(net)), sizeof **moments);
    CHECK_OK(crd_backend_cpu.measure_norms(&cpu, &plan, &pieces, NULL, *moments));
    free(pieces.voxels);
}

static bool at_rim(const int64_t at[3], const crd_box *box)
{
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] == 0 || at[axis] == box->size[axis] - 1) return true;
    }
    return false;
}

/* Differences of all samples, and of those at the part's rim, which a mistake would show in. */
typedef struct difference {
    double mean, rim, largest;
} difference;

static difference compare_samples(const crd_chunk_result *part, const float *whole, const int64_t chunk[3],
                                  int64_t samples)
{
    const crd_box *box = &part->kept;
    const int64_t voxels = box->size[0] * box->size[1] * box->size[2], all = chunk[0] * chunk[1] * chunk[2];
    int64_t rim = 0;
    difference d = {0};
    for (int64_t i = 0; i < samples * voxels; i++) {
        const int64_t v = i % voxels,
                      at[3] = {v / box->size[2] / box->size[1], v / box->size[2] % box->size[1], v % box->size[2]};
        const int64_t row = (box->origin[0] + at[0]) * chunk[1] + box->origin[1] + at[1];
        const double error = apart(part->samples[i], whole[i / voxels * all + row * chunk[2] + box->origin[2] + at[2]]);
        d.mean += error / (double)(samples * voxels);
        d.largest = worse(d.largest, error);
        if (!at_rim(at, box)) continue;
        d.rim += error;
        rim++;
    }
    d.rim /= (double)rim;
    return d;
}

static float *compute_whole(const crd_backend *backend, const crd_device_settings *device,
                            const crd_predictor_plan *plan, const float *input)
{
    const int64_t values = plan->samples * crd_net_planes(plan->net) * plan->chunk[0] * plan->chunk[1] * plan->chunk[2];
    float *whole = malloc((size_t)values * sizeof *whole);
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    if (whole == NULL || backend->predictor_create(device, plan, &predictor) != CRD_OK ||
        backend->predictor_submit(predictor, 0, input, NULL, 0) != CRD_OK ||
        backend->predictor_collect(predictor, &result) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
    memcpy(whole, result.samples, (size_t)values * sizeof *whole);
    backend->predictor_free(&predictor);
    return whole;
}

/* Parts at the beginning, inside and at the end of a chunk, one after the other in the same queue. */
static void check_parts(crd_kind kind, int filters, int classes, const path *way)
{
    static const int64_t chunk[3] = {40, 64, 96}, most[3] = {16, 24, 40};
    static const crd_box boxes[] = {
        {{0, 0, 0}, {16, 24, 40}},   {{16, 24, 24}, {16, 24, 40}}, {{24, 40, 56}, {16, 24, 40}},
        {{16, 0, 56}, {11, 17, 33}}, {{0, 40, 24}, {16, 7, 40}},   {{32, 24, 88}, {8, 24, 3}},
    };
    enum { BOXES = sizeof boxes / sizeof boxes[0], SAMPLES = 5 };
    const crd_device_choice choice = {.device = "cuda", .precision = way->precision, .isa = way->isa};
    const crd_backend *backend;
    crd_device_settings device;
    crd_model *model = NULL;
    crd_moments *moments = NULL;
    crd_predictor *predictor = NULL;
    difference most_apart = {0};
    char text[256];
    CHECK_OK(crd_backend_choose(&choice, &backend, &device));
    if (backend->describe(&device, text, sizeof text) != CRD_OK) {
        skip_part(way->isa, crd_last_error()->message);
        return;
    }
    make_model(kind, filters, classes, SAMPLES, &model, &moments);
    (void)crd_backend_settle(backend, filters, false, &device);
    crd_predictor_plan plan = plan_of(model, moments, chunk, SAMPLES);
    const int64_t planes = crd_net_planes(&model->net);
    float *input = make_input(chunk[0] * chunk[1] * chunk[2]);
    float *whole = compute_whole(backend, &device, &plan, input);
    memcpy(plan.keep, most, sizeof plan.keep);
    CHECK_OK(backend->predictor_create(&device, &plan, &predictor));
    const int depth = backend->predictor_depth(predictor);
    for (int i = 0, collected = 0; collected < BOXES; i++) {
        if (i < BOXES) {
            const int64_t probe[] = {0, 5};
            backend->predictor_keep(predictor, &boxes[i]);
            CHECK_OK(backend->predictor_submit(predictor, i, input, probe, 2));
        }
        if (i < BOXES && i + 1 - collected < depth) continue;
        crd_chunk_result result;
        CHECK_OK(backend->predictor_collect(predictor, &result));
        CHECK(result.nonfinite == 0 && memcmp(&result.kept, &boxes[collected], sizeof result.kept) == 0);
        const int64_t voxels = result.kept.size[0] * result.kept.size[1] * result.kept.size[2];
        for (int s = 0; s < SAMPLES * planes; s++)
            CHECK(result.probe[SAMPLES * planes + s] == result.samples[s * voxels + 5]);
        const difference d = compare_samples(&result, whole, chunk, SAMPLES * planes);
        if (way->mean == 0) CHECK(d.largest == 0);
        CHECK(d.mean <= way->mean && d.rim <= 2 * way->mean);
        most_apart.mean = worse(most_apart.mean, d.mean);
        most_apart.rim = worse(most_apart.rim, d.rim);
        most_apart.largest = worse(most_apart.largest, d.largest);
        collected++;
    }
    printf("       %s f %d, %d classes, %s %s: |difference| %.1e in the mean, %.1e at the rim, %.1e at most\n",
           crd_kind_name(kind), filters, model->net.classes, way->isa != NULL ? way->isa : "best path", way->precision,
           most_apart.mean, most_apart.rim, most_apart.largest);
    backend->predictor_free(&predictor);
    free(input);
    free(whole);
    free(moments);
    crd_model_free(&model);
}

static void test_parts(void)
{
    if (!have_gpu()) SKIP("no GPU");
    for (int i = 0; i < PATHS && !harness_failed; i++) {
        check_parts(CRD_BCNN, 16, 2, &paths[i]);
        check_parts(CRD_MCDN, 16, 2, &paths[i]);
        check_parts(CRD_BCNN, 32, 2, &paths[i]);
        check_parts(CRD_BCNN, 16, 3, &paths[i]);
        check_parts(CRD_MCDN, 16, 6, &paths[i]);
    }
}

/* Milliseconds of a chunk in a full queue. */
static double time_chunk(const crd_backend *backend, const crd_device_settings *device, const crd_predictor_plan *plan,
                         const crd_box *keep, const float *input)
{
    enum { WARM = 4, TIMED = 6 };
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    double begin = 0.0;
    if (backend->predictor_create(device, plan, &predictor) != CRD_OK) return -1.0;
    backend->predictor_keep(predictor, keep);
    const int depth = backend->predictor_depth(predictor);
    bool good = true;
    for (int submitted = 0, collected = 0; good && collected < WARM + TIMED; collected++) {
        for (; good && submitted < WARM + TIMED && submitted - collected < depth; submitted++) {
            good = backend->predictor_submit(predictor, submitted, input, NULL, 0) == CRD_OK;
        }
        good = good && backend->predictor_collect(predictor, &result) == CRD_OK;
        if (collected + 1 == WARM) begin = crd_seconds();
    }
    const double seconds = crd_seconds() - begin;
    backend->predictor_free(&predictor);
    return good ? 1e3 * seconds / TIMED : -1.0;
}

static void test_times(void)
{
    static const int64_t chunk[3] = {176, 208, 208}, keep[3] = {96, 128, 128};
    enum { SAMPLES = 16 };
    if (!have_gpu()) SKIP("no GPU");
    float *input = make_input(chunk[0] * chunk[1] * chunk[2]);
    for (int i = 1; i < PATHS && !harness_failed; i++) {
        const crd_device_choice choice = {.device = "cuda", .precision = paths[i].precision, .isa = paths[i].isa};
        const crd_box all = {{0, 0, 0}, {chunk[0], chunk[1], chunk[2]}},
                      part = {{40, 40, 40}, {keep[0], keep[1], keep[2]}};
        const crd_backend *backend;
        crd_device_settings device;
        crd_model *model = NULL;
        crd_moments *moments = NULL;
        CHECK_OK(crd_backend_choose(&choice, &backend, &device));
        make_model(CRD_BCNN, 16, 2, SAMPLES, &model, &moments);
        crd_predictor_plan plan = plan_of(model, moments, chunk, SAMPLES);
        plan.keep_samples = false;
        const double whole = time_chunk(backend, &device, &plan, &all, input);
        memcpy(plan.keep, keep, sizeof plan.keep);
        const double cropped = time_chunk(backend, &device, &plan, &part, input);
        printf("       %s %s: chunk 176,208,208, %d samples: whole %.1f ms, its inner 96,128,128 %.1f ms\n",
               paths[i].isa != NULL ? paths[i].isa : "best path", paths[i].precision, (int)SAMPLES, whole, cropped);
        CHECK(whole > 0 && cropped > 0 && cropped < 0.7 * whole); /* of the work less than a third is left */
        free(moments);
        crd_model_free(&model);
    }
    free(input);
}

TEST_MAIN(TEST(test_parts), TEST(test_times))
