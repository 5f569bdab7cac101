/* Training on several devices: made-up ones, which must give the bytes of one for any number of them. */
#include <pthread.h>

#include "backend/several.h"
#include "base/memory.h"
#include "harness.h"
#include "net/model.h"

enum { VOXELS = 8 * 8 * 8, BATCH = 7, STEPS = 6, BROKEN = 9 };

/* A learner whose example i has the gradient scale * input[v] * parameter * (something of the example's place and of
 * the step): float32 sums of it depend on the order. What was staged is read when a step starts, and computed when it
 * ends. */
struct crd_learner {
    int device;
    int64_t batch, values, steps;
    crd_learner_state host;
    crd_learner_step step;
    float *parameters, *m, *v, *gradient, *inputs, *running;
    uint8_t *labels;
};

static crd_status fake_describe(const crd_device_settings *settings, char *text, size_t size)
{
    (void)settings;
    snprintf(text, size, "fake");
    return CRD_OK;
}

static crd_status fake_path(const crd_device_settings *settings, char *text, size_t size)
{
    snprintf(text, size, "path of %d", settings->device);
    return CRD_OK;
}

static crd_status fake_bytes(const crd_device_settings *settings, const crd_learner_plan *plan, int64_t *host_bytes,
                             int64_t *device_bytes)
{
    (void)settings;
    *host_bytes = 1000 * plan->batch;
    *device_bytes = 10;
    return CRD_OK;
}

static void fake_free(crd_learner **pointer)
{
    crd_learner *l = *pointer;
    if (l == NULL) return;
    crd_free(&l->parameters);
    crd_free(&l->m);
    crd_free(&l->v);
    crd_free(&l->gradient);
    crd_free(&l->inputs);
    crd_free(&l->running);
    crd_free(&l->labels);
    crd_free(pointer);
}

static crd_status fake_create(const crd_device_settings *settings, const crd_learner_plan *plan, crd_learner **out)
{
    crd_status status = CRD_OK;
    crd_learner *l = NULL;
    CRD_TRY(crd_alloc(1, sizeof *l, "a fake", &l));
    l->device = settings->device;
    l->batch = plan->batch;
    l->host = plan->state;
    l->values = plan->net->model.total;
    CRD_TRY(crd_alloc(l->values, sizeof(float), "a fake", &l->parameters));
    CRD_TRY(crd_alloc(l->values, sizeof(float), "a fake", &l->m));
    CRD_TRY(crd_alloc(l->values, sizeof(float), "a fake", &l->v));
    CRD_TRY(crd_alloc(l->values, sizeof(float), "a fake", &l->gradient));
    CRD_TRY(crd_alloc(l->batch * VOXELS, sizeof(float), "a fake", &l->inputs));
    CRD_TRY(crd_alloc(l->batch * VOXELS, sizeof(float), "a fake", &l->running));
    CRD_TRY(crd_alloc(l->batch * VOXELS, 1, "a fake", &l->labels));
    *out = l;
    l = NULL;
done:
    fake_free(&l);
    return status;
}

static crd_status fake_write(crd_learner *l)
{
    memcpy(l->parameters, l->host.parameters, (size_t)l->values * sizeof(float));
    memcpy(l->m, l->host.m, (size_t)l->values * sizeof(float));
    memcpy(l->v, l->host.v, (size_t)l->values * sizeof(float));
    return CRD_OK;
}

static crd_status fake_read(crd_learner *l, bool moments)
{
    memcpy(l->host.parameters, l->parameters, (size_t)l->values * sizeof(float));
    if (!moments) return CRD_OK;
    memcpy(l->host.m, l->m, (size_t)l->values * sizeof(float));
    memcpy(l->host.v, l->v, (size_t)l->values * sizeof(float));
    return CRD_OK;
}

static crd_status fake_stage(crd_learner *l, int64_t place, const float *input, const uint8_t *label)
{
    if (place >= l->batch) return crd_fail(CRD_ERR_INTERNAL, "too many");
    memcpy(l->inputs + place * VOXELS, input, VOXELS * sizeof(float));
    memcpy(l->labels + place * VOXELS, label, VOXELS);
    return CRD_OK;
}

static crd_status fake_start(crd_learner *l, const crd_learner_step *step)
{
    l->step = *step;
    for (int64_t i = 0; i < step->count * VOXELS; i++) l->running[i] = l->inputs[i] * (float)(1 + l->labels[i]);
    return CRD_OK;
}

static float share_of(const crd_learner *l, int64_t i, int64_t j)
{
    const int64_t place = l->step.first + i;
    return l->step.scale * l->running[i * VOXELS + j % VOXELS] * (l->parameters[j] + 0.1f) *
           (float)(1 + (l->step.number * 31 + place) % 7);
}

static crd_status fake_finish(crd_learner *l, crd_loss *losses, double *kl)
{
    if (l->device == BROKEN && ++l->steps == 3) return crd_fail(CRD_ERR_SYSTEM, "device %d broke", l->device);
    *kl = 0;
    for (int64_t j = 0; j < l->values; j++) *kl += (double)l->parameters[j] * (double)l->parameters[j];
    for (int64_t i = 0; i < l->step.count; i++) {
        losses[i] = (crd_loss){.bce_sum = (double)l->running[i * VOXELS] + (double)(l->step.first + i)};
    }
    if (l->step.gradient != NULL) {
        memcpy(l->gradient, l->step.gradient, (size_t)l->values * sizeof(float));
    } else {
        memset(l->gradient, 0, (size_t)l->values * sizeof(float));
        for (int64_t i = 0; i < l->step.count; i++) {
            for (int64_t j = 0; j < l->values; j++) l->gradient[j] += share_of(l, i, j);
        }
    }
    if (l->step.gradient_only) return CRD_OK;
    for (int64_t j = 0; j < l->values; j++) {
        l->gradient[j] += (float)l->step.kl_scale * l->parameters[j];
        l->m[j] = 0.9f * l->m[j] + 0.1f * l->gradient[j];
        l->v[j] = 0.9f * l->v[j] + 0.1f * l->gradient[j] * l->gradient[j];
        l->parameters[j] -= (float)l->step.rate * l->m[j];
    }
    return CRD_OK;
}

static crd_status fake_gradient(crd_learner *l, float *gradient)
{
    memcpy(gradient, l->gradient, (size_t)l->values * sizeof(float));
    return CRD_OK;
}

static crd_status fake_evaluate(crd_learner *l, const float *input, const uint8_t *label, crd_loss *loss)
{
    *loss = (crd_loss){.bce_sum = (double)input[0] + label[0] + (double)l->parameters[5]};
    return CRD_OK;
}

static const crd_backend fake = {.version = CRD_BACKEND_VERSION,
                                 .name = "fake",
                                 .describe = fake_describe,
                                 .learner_bytes = fake_bytes,
                                 .learner_path = fake_path,
                                 .learner_create = fake_create,
                                 .learner_write = fake_write,
                                 .learner_read = fake_read,
                                 .learner_stage = fake_stage,
                                 .learner_start = fake_start,
                                 .learner_finish = fake_finish,
                                 .learner_gradient = fake_gradient,
                                 .learner_evaluate = fake_evaluate,
                                 .learner_free = fake_free};

/* All that a training leaves behind. */
typedef struct trace {
    float *parameters, *m, *v, *gradient, *only;
    crd_loss losses[STEPS][BATCH], evaluated;
    double kl[STEPS];
} trace;

static void fill(int64_t step, int64_t i, float *input, uint8_t *label)
{
    uint32_t state = (uint32_t)(step * 100 + i + 1);
    for (int v = 0; v < VOXELS; v++) {
        state = state * 1664525u + 1013904223u;
        input[v] = (float)(state >> 8) / 8388608.0f - 1.0f;
        label[v] = (uint8_t)(state >> 31);
    }
}

static int64_t count_of(int64_t step)
{
    return (const int64_t[STEPS]){7, 1, 2, 5, 3, 7}[step];
}

static crd_status add_batch(const crd_backend *backend, crd_learner *learner, int64_t step)
{
    float input[VOXELS];
    uint8_t label[VOXELS];
    for (int64_t i = 0; i < count_of(step); i++) {
        fill(step, i, input, label);
        CRD_PASS(backend->learner_stage(learner, i, input, label));
    }
    return CRD_OK;
}

/* As src/train does it: the next batch is staged while a step runs. */
static crd_status train(const crd_backend *backend, crd_learner *learner, const crd_net *net, trace *t)
{
    float input[VOXELS];
    uint8_t label[VOXELS];
    for (int64_t j = 0; j < net->model.total; j++) t->parameters[j] = (float)(j % 97) / 97.0f - 0.5f;
    memset(t->m, 0, (size_t)net->model.total * sizeof(float));
    memset(t->v, 0, (size_t)net->model.total * sizeof(float));
    CRD_PASS(backend->learner_write(learner));
    CRD_PASS(add_batch(backend, learner, 0));
    for (int64_t s = 0; s < STEPS; s++) {
        const crd_learner_step step = {
            .number = s, .count = count_of(s), .scale = 0.01f, .kl_scale = 0.02, .rate = 0.05};
        CRD_PASS(backend->learner_start(learner, &step));
        if (s + 1 < STEPS) CRD_PASS(add_batch(backend, learner, s + 1));
        CRD_PASS(backend->learner_finish(learner, t->losses[s], &t->kl[s]));
    }
    CRD_PASS(backend->learner_gradient(learner, t->gradient));
    fill(50, 0, input, label);
    CRD_PASS(backend->learner_evaluate(learner, input, label, &t->evaluated));

    /* A gradient alone, of examples from the third on, and a step that follows one from elsewhere. */
    crd_learner_step step = {.number = STEPS, .first = 2, .count = count_of(3), .scale = 0.01f, .gradient_only = true};
    crd_loss losses[BATCH];
    double kl;
    CRD_PASS(add_batch(backend, learner, 3));
    CRD_PASS(backend->learner_start(learner, &step));
    CRD_PASS(backend->learner_finish(learner, losses, &kl));
    CRD_PASS(backend->learner_gradient(learner, t->only));
    step = (crd_learner_step){.number = STEPS, .kl_scale = 0.02, .rate = 0.05, .gradient = t->only};
    CRD_PASS(backend->learner_start(learner, &step));
    CRD_PASS(backend->learner_finish(learner, losses, &kl));
    return backend->learner_read(learner, true);
}

static crd_status run(const crd_backend *backend, const crd_device_settings *settings, const crd_net *net, trace *t)
{
    crd_learner *learner = NULL;
    const crd_learner_plan plan = {
        .net = net, .state = {t->parameters, t->m, t->v}, .chunk = {8, 8, 8}, .batch = BATCH};
    crd_status status = backend->learner_create(settings, &plan, &learner);
    if (status == CRD_OK) status = train(backend, learner, net, t);
    backend->learner_free(&learner);
    return status;
}

static trace new_trace(const crd_net *net)
{
    trace t;
    float **rooms[] = {&t.parameters, &t.m, &t.v, &t.gradient, &t.only};
    memset(&t, 0, sizeof t);
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        *rooms[i] = calloc((size_t)net->model.total, sizeof(float));
        if (*rooms[i] == NULL) exit(1);
    }
    return t;
}

static void free_trace(trace *t)
{
    free(t->parameters);
    free(t->m);
    free(t->v);
    free(t->gradient);
    free(t->only);
}

static bool same(const trace *a, const trace *b, int64_t values)
{
    const size_t bytes = (size_t)values * sizeof(float);
    for (int64_t s = 0; s < STEPS; s++) {
        for (int64_t i = 0; i < count_of(s); i++) {
            if (a->losses[s][i].bce_sum != b->losses[s][i].bce_sum) return false;
        }
        if (a->kl[s] != b->kl[s]) return false;
    }
    return a->evaluated.bce_sum == b->evaluated.bce_sum && memcmp(a->parameters, b->parameters, bytes) == 0 &&
           memcmp(a->m, b->m, bytes) == 0 && memcmp(a->v, b->v, bytes) == 0 &&
           memcmp(a->gradient, b->gradient, bytes) == 0 && memcmp(a->only, b->only, bytes) == 0;
}

static void test_several_give_the_bytes_of_one(void)
{
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 4, .groups = 4};
    const crd_device_settings one = {.device = 0};
    crd_model *model = NULL;
    CHECK_OK(crd_model_create(&info, 3, &model));
    trace alone = new_trace(&model->net), together = new_trace(&model->net);
    CHECK_OK(run(&fake, &one, &model->net, &alone));
    for (int count = 1; count <= CRD_DEVICES_MOST; count += 1 + count / 4) {
        crd_device_settings several = {.each = &fake, .device_count = count};
        for (int i = 0; i < count; i++) several.devices[i] = i % 3;
        CHECK_OK(run(&crd_backend_several, &several, &model->net, &together));
        if (!same(&alone, &together, model->net.model.total)) CHECK_FAILED("%d devices differ from one", count);
    }
    free_trace(&alone);
    free_trace(&together);
    crd_model_free(&model);
}

static void test_a_device_that_fails_ends_the_step(void)
{
    const crd_model_info info = {.kind = CRD_MCDN, .filters = 4, .groups = 4};
    crd_model *model = NULL;
    CHECK_OK(crd_model_create(&info, 3, &model));
    trace t = new_trace(&model->net);
    for (int broken = 0; broken < 3; broken++) {
        crd_device_settings several = {.each = &fake, .device_count = 3};
        several.devices[broken] = BROKEN;
        CHECK_FAILS(run(&crd_backend_several, &several, &model->net, &t), CRD_ERR_SYSTEM, "device 9 broke");
    }
    free_trace(&t);
    crd_model_free(&model);
}

static void test_path(void)
{
    const crd_device_settings several = {.each = &fake, .device_count = 3, .devices = {2, 1, 0}};
    char text[32];
    CHECK_OK(crd_backend_several.learner_path(&several, text, sizeof text));
    CHECK(strcmp(text, "path of 2") == 0);
}

static void test_bytes(void)
{
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 4, .groups = 4};
    const crd_device_settings several = {.each = &fake, .device_count = 3};
    crd_model *model = NULL;
    int64_t host, device;
    CHECK_OK(crd_model_create(&info, 3, &model));
    const crd_learner_plan plan = {.net = &model->net, .chunk = {8, 8, 8}, .batch = 2};
    CHECK_OK(crd_backend_several.learner_bytes(&several, &plan, &host, &device));
    /* besides the devices' own: two mini-batches, the examples' gradients and their sum, and a little */
    const int64_t large = 3 * 1000 + 2 * 2 * VOXELS * 5 + 3 * model->net.model.total * 4;
    CHECK(host > large && host < large + 8192 && device == 30);
    crd_model_free(&model);
}

TEST_MAIN(TEST(test_several_give_the_bytes_of_one), TEST(test_a_device_that_fails_ends_the_step), TEST(test_path),
          TEST(test_bytes))
