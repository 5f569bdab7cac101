/* The GPU against the CPU, whose portable path is the most exact: whole chunks, both kinds, every precision. Skipped
 * where there is no GPU. */
#include "backend/choose.h"
#include "gpu.h"
#include "harness.h"
#include "net/model.h"
#include "predict_tools.h"

typedef struct chunk_case {
    crd_kind kind;
    int filters;
    int64_t chunk[3], samples;
    const char *precision;
    bool per_chunk;
    double mean_error, largest_error; /* allowed between samples on the two devices */
    int classes;                      /* 0: two */
} chunk_case;

static const double percentiles[] = {33, 67, 5, 95};

static crd_status make_model(const chunk_case *c, crd_model **model)
{
    crd_model_info info = {.kind = c->kind, .filters = c->filters, .groups = 4, .classes = c->classes};
    for (int i = 0; i < c->classes; i++) info.class_values[i] = i;
    CRD_PASS(crd_model_create(&info, 3, model));
    /* Norms that do something, and a head that is alive: like a trained network's. */
    for (int i = 0; i < (*model)->net.model.count; i++) {
        const crd_parameter *p = &(*model)->net.model.parameters[i];
        float *values = (*model)->parameters + p->offset;
        for (int64_t k = 0; k < p->count; k++) {
            if (p->role == CRD_ROLE_GAMMA) values[k] = 1.0f + 0.3f * (float)((k * 7 + i) % 5 - 2) / 2.0f;
            if (p->role == CRD_ROLE_BETA) values[k] = 0.2f * (float)((k * 3 + i) % 7 - 3) / 3.0f;
            if (p->layer == (*model)->net.head && p->role == CRD_ROLE_BIAS) values[k] = 0.5f;
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

static crd_predictor_plan case_plan(const chunk_case *c, const crd_model *model)
{
    return (crd_predictor_plan){.net = &model->net,
                                .parameters = model->parameters,
                                .chunk = {c->chunk[0], c->chunk[1], c->chunk[2]},
                                .samples = c->samples,
                                .seed = 11,
                                .estimator = CRD_INDEPENDENT,
                                .draws_per_chunk = c->per_chunk,
                                .inverse_temperature = 0.8f,
                                .percentiles = percentiles,
                                .percentile_count = 4,
                                .standard_deviation = true,
                                .entropy = true,
                                .keep_samples = true,
                                .first_sample = 2};
}

/* Moments over pieces of which each is unlike the others, and unlike the input; NULL: it failed. */
static crd_moments *measure(const crd_device_choice *choice, const crd_predictor_plan *plan)
{
    enum { PIECES = 3, PIECE_VOXELS = 16 * 16 * 24 };
    const crd_pieces pieces = {.count = PIECES, .size = {16, 16, 24}, .voxels = make_input(PIECES * PIECE_VOXELS)};
    const crd_backend *backend;
    crd_device_settings settings;
    for (int i = 0; i < PIECES * PIECE_VOXELS; i++) {
        const float k = (float)(i / PIECE_VOXELS);
        pieces.voxels[i] = pieces.voxels[i] * (0.7f + 0.3f * k) + 0.4f * k;
    }
    crd_moments *moments = calloc((size_t)(plan->samples * crd_net_moments(plan->net)), sizeof *moments);
    if (crd_backend_choose(choice, &backend, &settings) != CRD_OK ||
        backend->measure_norms(&settings, plan, &pieces, NULL, moments) != CRD_OK) {
        printf("       %s\n", crd_last_error()->message);
        free(moments);
        moments = NULL;
    }
    free(pieces.voxels);
    return moments;
}

static crd_moments *measure_on_cpu(const crd_predictor_plan *plan)
{
    const crd_device_choice cpu = {.device = "cpu", .isa = "portable"};
    return measure(&cpu, plan);
}

typedef struct outcome {
    int64_t voxels, samples; /* voxels: of all planes together */
    float *values;           /* [samples][voxels] */
    uint32_t *mean, *first_percentile;
    uint64_t *above;
    float probe[8];
} outcome;

/* The mean of the samples' entropies, in a few voxels. */
static bool entropies_fit(const crd_predictor_plan *plan, const crd_chunk_result *result)
{
    const int64_t voxels = plan->chunk[0] * plan->chunk[1] * plan->chunk[2], planes = crd_net_planes(plan->net);
    for (int64_t v = 0; v < voxels; v += 17) {
        double sum = 0;
        for (int64_t row = 0; row < plan->samples * planes; row++) {
            const double p = (double)result->samples[row * voxels + v], rest = planes == 1 ? 1 - p : 0;
            sum -= (p > 0 ? p * log2(p) : 0) + (rest > 0 ? rest * log2(rest) : 0);
        }
        if (!(fabs(result->entropy[v] * 0x1p-22 - sum / (double)plan->samples) <= 2e-6)) return false;
    }
    return true;
}

static crd_status predict(const char *device, const char *isa, const chunk_case *c, const crd_model *model,
                          const crd_moments *moments, const float *input, outcome *out)
{
    const crd_device_choice choice = {
        .device = device, .precision = strcmp(device, "cpu") == 0 ? NULL : c->precision, .isa = isa};
    const int64_t probe[] = {0, 7};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    crd_predictor_plan plan = case_plan(c, model);
    plan.moments = moments;
    CRD_PASS(crd_backend_choose(&choice, &backend, &settings));
    CRD_PASS(backend->predictor_create(&settings, &plan, &predictor));
    crd_status status = backend->predictor_submit(predictor, 5, input, probe, 2);
    if (status == CRD_OK) status = backend->predictor_collect(predictor, &result);
    if (status == CRD_OK) {
        const size_t voxels = (size_t)(c->chunk[0] * c->chunk[1] * c->chunk[2] * crd_net_planes(&model->net));
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
        if (!entropies_fit(&plan, &result)) status = CRD_ERR_NUMERIC;
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

/* Whether value v of a sample is above one half, or the first of the largest of its voxel's. */
static bool chosen(const outcome *o, int64_t planes, int64_t sample, int64_t v)
{
    const float *values = o->values + sample * o->voxels;
    const int64_t plane = o->voxels / planes;
    if (planes == 1) return values[v] > 0.5f;
    for (int64_t other = v % plane; other < o->voxels; other += plane) {
        if (values[other] > values[v] || (values[other] == values[v] && other < v)) return false;
    }
    return true;
}

static void check_case(const chunk_case *c, const char *isa, bool frozen)
{
    crd_model *model = NULL;
    crd_moments *moments = NULL;
    outcome cpu = {0}, gpu = {0}, again = {0};
    comparison all = {0};
    double mean = 0, mean_of_means = 0, percentile = 0;
    CHECK_OK(make_model(c, &model));
    float *input = make_input(c->chunk[0] * c->chunk[1] * c->chunk[2]);
    if (frozen) {
        const crd_predictor_plan plan = case_plan(c, model);
        moments = measure_on_cpu(&plan);
        CHECK(moments != NULL);
    }
    CHECK_OK(predict("cpu", "portable", c, model, moments, input, &cpu));
    CHECK_OK(predict("cuda", isa, c, model, moments, input, &gpu));
    CHECK_OK(predict("cuda", isa, c, model, moments, input, &again));
    const size_t bytes = (size_t)(gpu.samples * gpu.voxels) * sizeof(float);
    CHECK(memcmp(gpu.values, again.values, bytes) == 0); /* the same bits twice */
    for (int64_t i = 0; i < cpu.samples * cpu.voxels; i++) {
        compare(&all, (double)gpu.values[i], (double)cpu.values[i]);
        mean += apart((double)gpu.values[i], (double)cpu.values[i]) / (double)(cpu.samples * cpu.voxels);
    }
    for (int64_t v = 0; v < cpu.voxels; v++) {
        double total = 0;
        for (int64_t s = 0; s < gpu.samples; s++) total += gpu.values[s * gpu.voxels + v] / (double)gpu.samples;
        mean_of_means = worse(mean_of_means, apart(gpu.mean[v] * 0x1p-24, total));
        percentile =
            worse(percentile, apart((double)gpu.first_percentile[v], (double)cpu.first_percentile[v]) * 0x1p-24);
        for (int64_t s = 0; s < gpu.samples && s < 64; s++) {
            CHECK(((gpu.above[v] >> s) & 1) == chosen(&gpu, crd_net_planes(&model->net), s, v));
        }
    }
    for (int64_t s = 0; s < gpu.samples && s < 4; s++) { /* [samples][planes] of the first voxel */
        const int64_t planes = crd_net_planes(&model->net), plane = gpu.voxels / planes;
        CHECK(gpu.probe[s] == gpu.values[s / planes * gpu.voxels + s % planes * plane]);
    }
    printf("       %s f %d %lldx%lldx%lld, %lld samples, %s %s%s%s: mean |difference| %.2e, largest %.2e, P33 %.2e\n",
           crd_kind_name(c->kind), c->filters, (long long)c->chunk[0], (long long)c->chunk[1], (long long)c->chunk[2],
           (long long)c->samples, isa != NULL ? isa : "best path", c->precision,
           c->per_chunk ? ", draws per chunk" : "", frozen ? ", frozen" : "", mean, all.error, percentile);
    CHECK(mean <= c->mean_error);
    CHECK(all.error <= c->largest_error);
    CHECK(mean_of_means <= 1e-6);
    release(&cpu);
    release(&gpu);
    release(&again);
    free(moments);
    free(input);
    crd_model_free(&model);
}

static void check_cases(const chunk_case *cases, size_t count)
{
    for (size_t i = 0; i < count && !harness_failed; i++) {
        for (int way = 0; way < 4 && !harness_failed; way++) {
            check_case(&cases[i], way % 2 == 0 ? NULL : "sm80", way >= 2);
        }
    }
}

static void test_more_classes(void)
{
    static const chunk_case cases[] = {
        {CRD_BCNN, 8, {16, 32, 24}, 3, "f32", false, 1e-6, 1e-4, 3},
        {CRD_MCDN, 16, {8, 24, 40}, 4, "f32", true, 1e-6, 1e-4, 5},
        {CRD_BCNN, 16, {16, 32, 24}, 20, "fp16", false, 3e-3, 1, 3},
        {CRD_MCDN, 32, {16, 24, 16}, 17, "fp16", false, 3e-3, 1, 7},
        {CRD_BCNN, 16, {16, 32, 24}, 48, "bf16", false, 2e-2, 1, 4},
        {CRD_BCNN, 16, {24, 40, 16}, 70, "fp16", true, 3e-3, 1, 16},
    };
    if (!have_gpu()) SKIP("no GPU");
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

static void test_gpu_against_cpu(void)
{
    static const chunk_case cases[] = {
        {CRD_BCNN, 16, {16, 32, 24}, 3, "f32", false, 1e-6, 1e-4, 0},
        {CRD_BCNN, 16, {8, 8, 8}, 2, "f32", false, 1e-6, 1e-4, 0},
        {CRD_BCNN, 8, {16, 24, 40}, 5, "fp16", false, 1e-6, 1e-4, 0}, /* too narrow for fp16: runs in f32 */
        {CRD_MCDN, 16, {16, 24, 40}, 4, "f32", true, 1e-6, 1e-4, 0},
        {CRD_BCNN, 16, {16, 32, 24}, 20, "fp16", false, 3e-3, 1, 0},
        {CRD_BCNN, 16, {8, 24, 40}, 9, "fp16", true, 3e-3, 1, 0},
        {CRD_MCDN, 32, {16, 24, 16}, 17, "fp16", false, 3e-3, 1, 0},
        {CRD_BCNN, 16, {16, 32, 24}, 48, "bf16", false, 2e-2, 1, 0},
        {CRD_MCDN, 16, {24, 40, 16}, 70, "fp16", false, 3e-3, 1, 0}, /* more than one word of samples */
    };
    if (!have_gpu()) SKIP("no GPU");
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

/* By the size of the values; a layer without norm has none. */
static double moments_apart(const crd_moments *a, const crd_moments *b)
{
    if (b->square == 0) return a->mean == b->mean && a->square == 0 ? 0.0 : 1.0;
    return worse(apart(a->mean, b->mean) / sqrt(b->square), apart(a->square, b->square) / b->square);
}

static void check_measured_norms(const chunk_case *c, const char *isa)
{
    const crd_device_choice gpu = {.device = "cuda", .precision = c->precision, .isa = isa};
    const crd_device_choice workers = {.device = "cuda:0,0", .precision = c->precision, .isa = isa};
    crd_model *model = NULL;
    double largest = 0;
    CHECK_OK(make_model(c, &model));
    const crd_predictor_plan plan = case_plan(c, model);
    const int64_t count = c->samples * crd_net_moments(&model->net);
    crd_moments *exact = measure_on_cpu(&plan), *found = measure(&gpu, &plan), *again = measure(&workers, &plan);
    CHECK(exact != NULL && found != NULL && again != NULL);
    CHECK(memcmp(found, again, (size_t)count * sizeof *found) == 0);
    for (int64_t i = 0; i < count; i++) largest = worse(largest, moments_apart(&found[i], &exact[i]));
    printf("       %s f %d, %s %s: moments %.2e apart\n", crd_kind_name(c->kind), c->filters,
           isa != NULL ? isa : "best path", c->precision, largest);
    CHECK(largest <= c->largest_error);
    free(exact);
    free(found);
    free(again);
    crd_model_free(&model);
}

static void test_measured_norms(void)
{
    static const chunk_case cases[] = {
        {CRD_BCNN, 16, {8, 8, 8}, 5, "f32", false, 0, 1e-5, 0},
        {CRD_MCDN, 8, {8, 8, 8}, 3, "f32", true, 0, 1e-5, 0},
        {CRD_BCNN, 16, {8, 8, 8}, 5, "fp16", false, 0, 1e-3, 0},
        {CRD_MCDN, 32, {8, 8, 8}, 3, "fp16", false, 0, 1e-3, 0},
        {CRD_BCNN, 32, {8, 8, 8}, 3, "fp16", true, 0, 1e-3, 0},
        {CRD_MCDN, 16, {8, 8, 8}, 5, "bf16", false, 0, 1e-2, 0},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0] && !harness_failed; i++) {
        check_measured_norms(&cases[i / 2], i % 2 == 0 ? NULL : "sm80");
    }
}

static crd_predictor_plan plan_of(const crd_model *model, int64_t depth, int64_t height, int64_t width, int64_t samples)
{
    return (crd_predictor_plan){.net = &model->net,
                                .parameters = model->parameters,
                                .chunk = {depth, height, width},
                                .samples = samples,
                                .seed = 1,
                                .estimator = CRD_INDEPENDENT,
                                .inverse_temperature = 1,
                                .percentiles = percentiles,
                                .percentile_count = 2};
}

static void check_queue(const char *isa, bool frozen)
{
    const chunk_case c = {CRD_BCNN, 16, {16, 16, 16}, 4, "fp16", false, 0, 0, 0};
    const crd_device_choice choice = {.device = "cuda", .isa = isa};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_model *model = NULL;
    CHECK_OK(make_model(&c, &model));
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    crd_predictor_plan plan = plan_of(model, 16, 16, 16, 4);
    crd_moments *moments = frozen ? measure_on_cpu(&plan) : NULL;
    plan.moments = moments;
    CHECK(frozen == (moments != NULL));
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
    free(moments);
    crd_model_free(&model);
}

static void test_queue_gives_results_in_order(void)
{
    if (!have_gpu()) SKIP("no GPU");
    for (int i = 0; i < 4 && !harness_failed; i++) check_queue(i % 2 == 0 ? NULL : "sm80", i >= 2);
}

/* Submits some chunks as the queue allows, and keeps the means. */
static crd_status run_queue(const crd_device_choice *choice, int64_t limit, const crd_predictor_plan *plan,
                            const float *inputs, int chunks, uint32_t *means)
{
    const int64_t voxels = plan->chunk[0] * plan->chunk[1] * plan->chunk[2];
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_status status = CRD_OK;
    CRD_PASS(crd_backend_choose(choice, &backend, &settings));
    settings.max_bytes = limit;
    CRD_PASS(backend->predictor_create(&settings, plan, &predictor));
    const int depth = backend->predictor_depth(predictor);
    for (int i = 0; i < chunks + depth && status == CRD_OK; i++) {
        crd_chunk_result result;
        if (i >= depth) {
            status = backend->predictor_collect(predictor, &result);
            if (status == CRD_OK) memcpy(means + (i - depth) * voxels, result.mean, (size_t)voxels * sizeof *means);
        }
        if (i < chunks && status == CRD_OK) {
            status = backend->predictor_submit(predictor, i, inputs + i * voxels, NULL, 0);
        }
    }
    backend->predictor_free(&predictor);
    return status;
}

/* The least memory of the GPU that a plan can do with: one sample in a launch. */
static int64_t least_memory(const char *isa, const crd_predictor_plan *plan)
{
    const crd_device_choice choice = {.device = "cuda", .isa = isa};
    const crd_backend *backend;
    crd_device_settings settings;
    int64_t host, device, low = 0, high;
    if (crd_backend_choose(&choice, &backend, &settings) != CRD_OK ||
        backend->predictor_bytes(&settings, plan, &host, &high) != CRD_OK) {
        return 0;
    }
    while (high - low > 1) {
        settings.max_bytes = low + (high - low) / 2;
        if (backend->predictor_bytes(&settings, plan, &host, &device) == CRD_OK)
            high = settings.max_bytes;
        else
            low = settings.max_bytes;
    }
    return high;
}

/* Two workers on one GPU, and as few samples in a launch as a limit of memory leaves: the same bytes. */
static void check_workers_and_limits(bool frozen)
{
    enum { CHUNKS = 7, VOXELS = 16 * 24 * 32 };
    static const struct {
        const char *device, *isa;
        int limit; /* times the least memory; 0: none */
    } ways[] = {{"cuda", NULL, 0},   {"cuda:0", NULL, 1}, {"cuda:0,0", NULL, 0},    {"cuda:0,0", NULL, 2},
                {"cuda", "sm80", 0}, {"cuda", "sm80", 1}, {"cuda:0,0,0", "sm80", 0}};
    const chunk_case c = {CRD_BCNN, 16, {16, 24, 32}, 20, "fp16", false, 0, 0, 0};
    crd_model *model = NULL;
    static uint32_t first[CHUNKS * VOXELS], means[CHUNKS * VOXELS];
    CHECK_OK(make_model(&c, &model));
    crd_predictor_plan plan = plan_of(model, 16, 24, 32, 20);
    crd_moments *moments = frozen ? measure_on_cpu(&plan) : NULL;
    plan.moments = moments;
    CHECK(frozen == (moments != NULL));
    float *inputs = make_input(CHUNKS * VOXELS);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const crd_device_choice choice = {.device = ways[i].device, .isa = ways[i].isa};
        const int64_t least = least_memory(ways[i].isa, &plan);
        CHECK(least > 0);
        CHECK_OK(run_queue(&choice, ways[i].limit * least, &plan, inputs, CHUNKS, means));
        if (i == 0 || i == 4) memcpy(first, means, sizeof first); /* each path against itself */
        CHECK(memcmp(first, means, sizeof first) == 0);
    }
    free(inputs);
    free(moments);
    crd_model_free(&model);
}

static void test_workers_and_limits_change_nothing(void)
{
    if (!have_gpu()) SKIP("no GPU");
    check_workers_and_limits(false);
    if (!harness_failed) check_workers_and_limits(true);
}

/* Too little memory: a sentence before the start, and, where others took it meanwhile, during it; then all is as
 * before. */
static void test_out_of_memory(void)
{
    enum { MOST = 200 };
    const chunk_case c = {CRD_BCNN, 16, {88, 176, 176}, 48, "fp16", false, 0, 0, 0};
    const crd_device_choice choice = {.device = "cuda"}, tight = {.device = "cuda", .max_gpu_memory = "10M"};
    const crd_backend *backend;
    crd_device_settings settings, limited;
    crd_predictor *held[MOST] = {NULL}, *one = NULL;
    crd_model *model = NULL;
    int64_t host, device, all;
    int count = 0;
    if (!have_gpu()) SKIP("no GPU");
    CHECK_OK(make_model(&c, &model));
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    CHECK_OK(crd_backend_choose(&tight, &backend, &limited));
    const crd_predictor_plan plan = plan_of(model, 88, 176, 176, 48), huge = plan_of(model, 8000, 8000, 8000, 48);
    CHECK_FAILS(backend->predictor_create(&limited, &plan, &one), CRD_ERR_MEMORY, "--max-gpu-memory");
    CHECK_FAILS(backend->predictor_create(&settings, &huge, &one), CRD_ERR_MEMORY, "smaller --chunk");
    CHECK(one == NULL);
    CHECK_OK(backend->predictor_bytes(&settings, &plan, &host, &all));
    crd_status status = CRD_OK;
    for (; count < MOST && status == CRD_OK; count++) {
        status = backend->predictor_create(&settings, &plan, &held[count]);
    }
    CHECK(status == CRD_ERR_MEMORY);
    CHECK(strstr(crd_last_error()->message, "chunk") != NULL);
    printf("       %d predictors filled the GPU; then: %s\n", count - 1, crd_last_error()->message);
    for (int i = 0; i < count; i++) backend->predictor_free(&held[i]);
    CHECK_OK(backend->predictor_bytes(&settings, &plan, &host, &device));
    CHECK(device == all); /* what was taken is given back */
    crd_model_free(&model);
}

/* What the GPU counts must be what its samples hold: `broken` of them have values that aren't finite. */
static crd_status count_nonfinite(const chunk_case *c, const char *isa, const crd_model *model, const float *input,
                                  int64_t *broken)
{
    const crd_device_choice choice = {.device = "cuda", .precision = c->precision, .isa = isa};
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    int64_t values, first;
    crd_predictor_plan plan = plan_of(model, c->chunk[0], c->chunk[1], c->chunk[2], c->samples);
    plan.keep_samples = true;
    CRD_PASS(crd_backend_choose(&choice, &backend, &settings));
    CRD_PASS(backend->predictor_create(&settings, &plan, &predictor));
    crd_status status = backend->predictor_submit(predictor, 0, input, NULL, 0);
    if (status == CRD_OK) status = backend->predictor_collect(predictor, &result);
    if (status == CRD_OK) {
        const int64_t voxels = c->chunk[0] * c->chunk[1] * c->chunk[2];
        *broken = tools_count_nonfinite(result.samples, c->samples, voxels, &values, &first);
        if (result.nonfinite != values || result.nonfinite_sample != first) status = CRD_ERR_INTERNAL;
    }
    backend->predictor_free(&predictor);
    return status;
}

/* Every path in every precision; each breaks another quarter of the tensors, each in another way. */
static void check_broken(const chunk_case *c, const char *isa, int turn)
{
    static const float values[] = {NAN, INFINITY, -INFINITY};
    const int64_t voxels = c->chunk[0] * c->chunk[1] * c->chunk[2];
    crd_model *model = NULL;
    int64_t broken;
    CHECK_OK(make_model(c, &model));
    float *input = make_input(voxels);
    CHECK_OK(count_nonfinite(c, isa, model, input, &broken));
    CHECK(broken == 0);
    for (int p = turn % 4; p < model->net.model.count; p += 4) {
        const crd_parameter *parameter = &model->net.model.parameters[p];
        float *value = &model->parameters[parameter->offset + parameter->count / 2];
        const float before = *value;
        *value = values[(p + turn) % (parameter->role == CRD_ROLE_RHO ? 2 : 3)];
        CHECK_OK(count_nonfinite(c, isa, model, input, &broken));
        if (broken != c->samples) {
            CHECK_FAILED("%s %s: %g in %s breaks %lld of %lld samples", isa != NULL ? isa : "best path", c->precision,
                         (double)*value, parameter->path, (long long)broken, (long long)c->samples);
        }
        *value = before;
    }
    for (int64_t i = 0; i < voxels; i++) input[i] *= 1e7f; /* beyond what half precision holds */
    CHECK_OK(count_nonfinite(c, isa, model, input, &broken));
    CHECK(broken == (strcmp(c->precision, "fp16") == 0 ? c->samples : 0));
    for (int64_t i = 0; i < voxels; i++) input[i] *= 1e-7f;
    tools_break_some_draws(model);
    CHECK_OK(count_nonfinite(c, isa, model, input, &broken));
    CHECK(broken > 0 && broken < c->samples);
    free(input);
    crd_model_free(&model);
}

static void test_broken_models(void)
{
    static const chunk_case cases[] = {
        {.kind = CRD_BCNN, .filters = 16, .chunk = {16, 32, 24}, .samples = 40, .precision = "f32"},
        {.kind = CRD_BCNN, .filters = 16, .chunk = {16, 32, 24}, .samples = 40, .precision = "fp16"},
        {.kind = CRD_BCNN, .filters = 16, .chunk = {16, 32, 24}, .samples = 70, .precision = "bf16"},
    };
    if (!have_gpu()) SKIP("no GPU");
    for (int i = 0; i < 6 && !harness_failed; i++) check_broken(&cases[i / 2], i % 2 == 0 ? NULL : "sm80", i);
}

/* A broken chunk leaves nothing behind for those after it, which run as a graph. */
static void test_broken_chunk_in_the_queue(void)
{
    const chunk_case c = {.kind = CRD_MCDN, .filters = 16, .chunk = {16, 16, 16}, .samples = 4, .precision = "fp16"};
    const crd_device_choice choice = {.device = "cuda", .precision = c.precision};
    enum { VOXELS = 16 * 16 * 16, CHUNKS = 14 };
    const crd_backend *backend;
    crd_device_settings settings;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    crd_model *model = NULL;
    if (!have_gpu()) SKIP("no GPU");
    CHECK_OK(make_model(&c, &model));
    const crd_predictor_plan plan = plan_of(model, c.chunk[0], c.chunk[1], c.chunk[2], c.samples);
    float *inputs[2] = {make_input(VOXELS), make_input(VOXELS)};
    for (int i = 0; i < VOXELS; i++) inputs[1][i] *= 1e7f;
    CHECK_OK(crd_backend_choose(&choice, &backend, &settings));
    CHECK_OK(backend->predictor_create(&settings, &plan, &predictor));
    for (int i = 0; i < CHUNKS + 2; i++) {
        if (i < CHUNKS) CHECK_OK(backend->predictor_submit(predictor, i, inputs[i % 3 == 1], NULL, 0));
        if (i < 2) continue;
        CHECK_OK(backend->predictor_collect(predictor, &result));
        const bool broken = result.chunk_number % 3 == 1;
        CHECK(result.nonfinite == (broken ? c.samples * VOXELS : 0) && result.nonfinite_sample == (broken ? 0 : -1));
    }
    backend->predictor_free(&predictor);
    crd_model_free(&model);
    free(inputs[0]);
    free(inputs[1]);
}

TEST_MAIN(TEST(test_broken_models), TEST(test_broken_chunk_in_the_queue), TEST(test_gpu_against_cpu),
          TEST(test_more_classes), TEST(test_measured_norms), TEST(test_queue_gives_results_in_order),
          TEST(test_workers_and_limits_change_nothing), TEST(test_out_of_memory))
