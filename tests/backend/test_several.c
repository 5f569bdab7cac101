/* Several devices as one: here two and three CPUs, which must give what one gives, and made-up devices of different
 * speed, of which the faster computes more. And which lists of devices are understood. */
#include "backend/several.h"

#include <pthread.h>
#include <time.h>

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
        CHECK(more_host == count * (host + 4 * VOXELS * (int64_t)sizeof(float)) && more_device == count * device);
    }
    free(inputs);
    crd_model_free(&model);
}

/* Norms frozen at what the devices measure themselves: the first of them does it, and each has the moments. */
static void test_frozen_norms(void)
{
    enum { SAMPLES = 2 };
    static uint32_t alone[CHUNKS * VOXELS], together[CHUNKS * VOXELS], thawed[CHUNKS * VOXELS];
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 4, .groups = 4};
    const crd_device_settings one = {.threads = 1},
                              several = {.threads = 1, .each = &crd_backend_cpu, .device_count = 2};
    crd_model *model = NULL;
    CHECK_OK(crd_model_create(&info, 3, &model));
    const size_t bytes = SAMPLES * (size_t)crd_net_moments(&model->net) * sizeof(crd_moments);
    crd_moments *moments = malloc(bytes), *same = malloc(bytes);
    CHECK(moments != NULL && same != NULL);
    float *inputs = make_inputs();
    const crd_pieces pieces = {.count = 2, .size = {8, 16, 8}, .voxels = inputs};
    crd_predictor_plan plan = {.net = &model->net,
                               .parameters = model->parameters,
                               .chunk = {8, 16, 8},
                               .samples = SAMPLES,
                               .estimator = CRD_INDEPENDENT,
                               .inverse_temperature = 1};
    CHECK_OK(crd_backend_cpu.measure_norms(&one, &plan, &pieces, NULL, moments));
    CHECK_OK(crd_backend_several.measure_norms(&several, &plan, &pieces, NULL, same));
    CHECK(memcmp(moments, same, bytes) == 0);
    CHECK_OK(run(&crd_backend_several, &several, &plan, inputs, thawed));
    plan.moments = moments;
    CHECK_OK(run(&crd_backend_cpu, &one, &plan, inputs, alone));
    CHECK_OK(run(&crd_backend_several, &several, &plan, inputs, together));
    CHECK(memcmp(alone, together, sizeof alone) == 0 && memcmp(thawed, together, sizeof thawed) != 0);
    free(moments);
    free(same);
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

/* Made-up devices. The mean of a chunk is its input, the probe its voxel numbers. Device SLOW takes 2 ms for a
 * chunk, and ends none before the others have ended `lead`; device BROKEN fails. The others end none before these two
 * have begun. */
enum { SLOW = 1, BROKEN = 2, OLD = 3, FAKE_DEPTH = 4, FAKE_VOXELS = 8, MOST_FAKE = 64, PATIENCE_SECONDS = 10 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int ended_by_others, ended_by_slow, lead;
    bool begun, gave_up; /* the odd device has a chunk; somebody waited in vain */
} fakes = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct crd_predictor {
    int device;
    int64_t submitted, collected;
    int64_t numbers[FAKE_DEPTH + 1];
    uint32_t means[FAKE_DEPTH + 1][FAKE_VOXELS];
    float probe[FAKE_DEPTH + 1][2];
};

static crd_status fake_describe(const crd_device_settings *settings, char *text, size_t size)
{
    const bool sm90 = settings->isa != NULL && strcmp(settings->isa, "sm90") == 0;
    if (sm90 && settings->device == OLD) return CRD_ERR_UNSUPPORTED;
    snprintf(text, size, "fake");
    return CRD_OK;
}

static crd_status fake_create(const crd_device_settings *settings, const crd_predictor_plan *plan, crd_predictor **out)
{
    (void)plan;
    *out = calloc(1, sizeof **out);
    if (*out == NULL) exit(1);
    (*out)->device = settings->device;
    return CRD_OK;
}

static void fake_free(crd_predictor **predictor)
{
    free(*predictor);
    *predictor = NULL;
}

static int fake_depth(const crd_predictor *predictor)
{
    (void)predictor;
    return FAKE_DEPTH;
}

static crd_status fake_submit(crd_predictor *p, int64_t number, const float *input, const int64_t *probe, int64_t count)
{
    const int64_t slot = p->submitted % (FAKE_DEPTH + 1);
    if (p->submitted - p->collected >= FAKE_DEPTH || count != 2) return CRD_ERR_INTERNAL;
    p->numbers[slot] = number;
    for (int i = 0; i < FAKE_VOXELS; i++) p->means[slot][i] = (uint32_t)input[i];
    for (int i = 0; i < 2; i++) p->probe[slot][i] = (float)probe[i];
    p->submitted++;
    pthread_mutex_lock(&fakes.mutex);
    if (p->device == SLOW || p->device == BROKEN) fakes.begun = true;
    pthread_cond_broadcast(&fakes.changed);
    pthread_mutex_unlock(&fakes.mutex);
    return CRD_OK;
}

static crd_status fake_collect(crd_predictor *p, crd_chunk_result *result)
{
    struct timespec limit;
    const int64_t slot = p->collected % (FAKE_DEPTH + 1);
    if (p->collected == p->submitted) return CRD_ERR_INTERNAL;
    if (p->device == SLOW) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += PATIENCE_SECONDS;
    pthread_mutex_lock(&fakes.mutex);
    while (!fakes.gave_up && (!fakes.begun || (p->device == SLOW && fakes.ended_by_others < fakes.lead))) {
        fakes.gave_up = pthread_cond_timedwait(&fakes.changed, &fakes.mutex, &limit) != 0;
    }
    *(p->device == SLOW ? &fakes.ended_by_slow : &fakes.ended_by_others) += 1;
    pthread_cond_broadcast(&fakes.changed);
    pthread_mutex_unlock(&fakes.mutex);
    if (p->device == BROKEN) {
        return crd_error_set(CRD_ERR_SYSTEM, __FILE__, __LINE__, "the device fell off");
    }
    *result = (crd_chunk_result){
        .chunk_number = p->numbers[slot], .mean = p->means[slot], .probe = p->probe[slot], .probe_count = 2};
    p->collected++;
    return CRD_OK;
}

static void fake_keep(crd_predictor *p, const crd_box *keep)
{
    (void)p, (void)keep;
}

static const crd_backend fake_backend = {.version = CRD_BACKEND_VERSION,
                                         .name = "fake",
                                         .describe = fake_describe,
                                         .predictor_create = fake_create,
                                         .predictor_depth = fake_depth,
                                         .predictor_keep = fake_keep,
                                         .predictor_submit = fake_submit,
                                         .predictor_collect = fake_collect,
                                         .predictor_free = fake_free};

/* As a prediction drives its queue. `order` gets the chunks in the order of their results. */
static crd_status run_fakes(const int *devices, int count, int lead, int64_t any_order, int chunks, int *order)
{
    const crd_predictor_plan plan = {.chunk = {2, 2, 2}, .any_order = any_order};
    crd_device_settings settings = {.device_count = count};
    crd_predictor *predictor = NULL;
    crd_status status = CRD_OK;
    int collected = 0;
    memcpy(settings.devices, devices, (size_t)count * sizeof *devices);
    crd_several_join(&fake_backend, &settings);
    fakes.ended_by_others = fakes.ended_by_slow = 0;
    fakes.lead = lead;
    fakes.begun = fakes.gave_up = false;
    CRD_PASS(crd_backend_several.predictor_create(&settings, &plan, &predictor));
    const int depth = crd_backend_several.predictor_depth(predictor);
    for (int i = 0; collected < chunks && status == CRD_OK; i++) {
        crd_chunk_result result;
        float input[FAKE_VOXELS];
        for (int v = 0; v < FAKE_VOXELS; v++) input[v] = (float)(100 * i + v);
        if (i < chunks) {
            status = crd_backend_several.predictor_submit(predictor, i, input, (const int64_t[]){i, i + 1}, 2);
            memset(input, 0, sizeof input); /* it was copied */
        }
        if (status != CRD_OK || (i < chunks && i + 1 - collected < depth)) continue;
        status = crd_backend_several.predictor_collect(predictor, &result);
        if (status != CRD_OK) break;
        const int64_t number = result.chunk_number;
        for (int v = 0; v < FAKE_VOXELS; v++) {
            if (result.mean[v] != (uint32_t)(100 * number + v)) status = CRD_ERR_INTERNAL;
        }
        if (result.probe[0] != (float)number || result.probe[1] != (float)(number + 1)) status = CRD_ERR_INTERNAL;
        order[collected++] = (int)number;
    }
    crd_backend_several.predictor_free(&predictor);
    return status;
}

static bool each_once(const int *order, int first, int count)
{
    bool seen[MOST_FAKE] = {false};
    for (int i = 0; i < count; i++) {
        const int number = order[i] - first;
        if (number < 0 || number >= count || seen[number]) return false;
        seen[number] = true;
    }
    return true;
}

/* The slow device's first chunk waits until the others have ended 40 of 64: dealt out in turn, that never happens. */
static void test_the_fast_device_gets_more(void)
{
    int order[MOST_FAKE];
    CHECK_OK(run_fakes((const int[]){SLOW, 0}, 2, 40, MOST_FAKE, MOST_FAKE, order));
    CHECK(!fakes.gave_up);
    CHECK(each_once(order, 0, MOST_FAKE));
    CHECK(fakes.ended_by_others >= 40 && fakes.ended_by_slow >= 1);
    CHECK(fakes.ended_by_others + fakes.ended_by_slow == MOST_FAKE);
}

/* Rows of 16: within one in any order, but no row before its predecessor is over. */
static void test_rows_keep_their_order(void)
{
    int order[MOST_FAKE];
    CHECK_OK(run_fakes((const int[]){0, SLOW, 5, 0}, 4, 0, 16, MOST_FAKE, order));
    CHECK(!fakes.gave_up);
    for (int row = 0; row < 4; row++) CHECK(each_once(order + 16 * row, 16 * row, 16));
}

static void test_strict_order(void)
{
    int order[MOST_FAKE];
    CHECK_OK(run_fakes((const int[]){0, SLOW, 5}, 3, 0, 0, MOST_FAKE, order));
    CHECK(!fakes.gave_up);
    for (int i = 0; i < MOST_FAKE; i++) CHECK(order[i] == i);
}

static void test_a_device_that_fails(void)
{
    int order[MOST_FAKE];
    CHECK_FAILS(run_fakes((const int[]){0, BROKEN}, 2, 0, MOST_FAKE, MOST_FAKE, order), CRD_ERR_SYSTEM,
                "the device fell off");
}

static void test_chunks_left_in_the_queue(void)
{
    const crd_predictor_plan plan = {.chunk = {2, 2, 2}};
    crd_device_settings settings = {.device_count = 2, .devices = {0, 5}};
    const float input[FAKE_VOXELS] = {0};
    crd_chunk_result result;
    crd_predictor *predictor = NULL;
    fakes.begun = true; /* no odd one is there */
    crd_several_join(&fake_backend, &settings);
    CHECK_OK(crd_backend_several.predictor_create(&settings, &plan, &predictor));
    CHECK_FAILS(crd_backend_several.predictor_collect(predictor, &result), CRD_ERR_INTERNAL, "not submitted");
    for (int i = 0; i < crd_backend_several.predictor_depth(predictor); i++) {
        CHECK_OK(crd_backend_several.predictor_submit(predictor, i, input, (const int64_t[]){0, 1}, 2));
    }
    CHECK_FAILS(crd_backend_several.predictor_submit(predictor, 0, input, NULL, 0), CRD_ERR_INTERNAL, "more chunks");
    crd_backend_several.predictor_free(&predictor);
    CHECK(predictor == NULL);
}

static void test_devices_of_different_kinds_share_a_path(void)
{
    crd_device_settings alike = {.device_count = 2, .devices = {0, 0}};
    crd_device_settings mixed = {.device_count = 3, .devices = {0, OLD, 0}};
    crd_device_settings old = {.device_count = 2, .devices = {OLD, OLD}};
    crd_several_join(&fake_backend, &alike);
    crd_several_join(&fake_backend, &mixed);
    crd_several_join(&fake_backend, &old);
    CHECK(alike.isa == NULL && old.isa == NULL);
    CHECK(mixed.isa != NULL && strcmp(mixed.isa, "sm80") == 0);
    CHECK(crd_several_distinct(&alike) == 1 && crd_several_distinct(&mixed) == 2);
}

TEST_MAIN(TEST(test_several_give_what_one_gives), TEST(test_frozen_norms), TEST(test_the_fast_device_gets_more),
          TEST(test_rows_keep_their_order), TEST(test_strict_order), TEST(test_a_device_that_fails),
          TEST(test_chunks_left_in_the_queue), TEST(test_devices_of_different_kinds_share_a_path),
          TEST(test_lists_of_devices))
