#include "backend/several_learner.h"

#include <pthread.h>
#include <string.h>

#include "backend/several.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/queue.h"

typedef struct worker { /* a device and the thread that drives it */
    crd_learner *owner, *device;
    int number;
    crd_queue *queue; /* of steps */
} worker;

typedef struct examples { /* of a mini-batch */
    float *inputs;
    uint8_t *labels;
} examples;

struct crd_learner {
    const crd_backend *each;
    int count;
    worker workers[CRD_DEVICES_MOST];
    int64_t batch, voxels, values;
    examples staged[2]; /* of the step that runs, and of the next */
    int filling;        /* which of the two is the next one's */

    crd_learner_step step; /* that runs, or ran last */
    float *gradients;      /* [batch][values]: of its examples */
    float *sum;            /* [values] */
    crd_loss *losses;      /* [batch] */
    double kl;
    void *memory; /* one block behind all arrays */

    int64_t begun; /* steps */
    bool meets;    /* `meeting` was made */
    pthread_barrier_t meeting;
    pthread_mutex_t mutex; /* guards what follows */
    crd_status status;
    crd_error error;
};

/* A device is given one example at a time. */
static crd_learner_plan plan_of_one(const crd_learner_plan *plan)
{
    crd_learner_plan one = *plan;
    one.batch = 1;
    return one;
}

static void set_plan(crd_learner *learner, const crd_learner_plan *plan)
{
    learner->batch = plan->batch;
    learner->voxels = plan->chunk[0] * plan->chunk[1] * plan->chunk[2];
    learner->values = plan->net->model.total;
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_learner *learner = owner;
    for (int i = 0; i < 2; i++) {
        learner->staged[i].inputs = crd_arena_take(arena, learner->batch * learner->voxels, sizeof(float));
        learner->staged[i].labels = crd_arena_take(arena, learner->batch * learner->voxels, 1);
    }
    learner->gradients = crd_arena_take(arena, learner->batch * learner->values, sizeof(float));
    learner->sum = crd_arena_take(arena, learner->values, sizeof(float));
    learner->losses = crd_arena_take(arena, learner->batch, sizeof *learner->losses);
}

crd_status crd_several_learner_bytes(const crd_device_settings *settings, const crd_learner_plan *plan,
                                     int64_t *host_bytes, int64_t *device_bytes)
{
    const crd_learner_plan one = plan_of_one(plan);
    crd_learner counted;
    set_plan(&counted, plan);
    *host_bytes = (int64_t)sizeof counted + crd_arena_count(lay_out, &counted);
    *device_bytes = 0;
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings own = crd_several_settings_of(settings, i);
        int64_t host, device;
        CRD_PASS(settings->each->learner_bytes(&own, &one, &host, &device));
        *host_bytes += host;
        *device_bytes += device;
    }
    return CRD_OK;
}

crd_status crd_several_learner_path(const crd_device_settings *settings, char *text, size_t size)
{
    const crd_device_settings first = crd_several_settings_of(settings, 0);
    return settings->each->learner_path(&first, text, size);
}

static void note(crd_learner *learner, crd_status status)
{
    pthread_mutex_lock(&learner->mutex);
    if (status != CRD_OK && learner->status == CRD_OK) {
        learner->status = status;
        learner->error = *crd_last_error();
    }
    pthread_mutex_unlock(&learner->mutex);
}

static bool has_failed(crd_learner *learner)
{
    pthread_mutex_lock(&learner->mutex);
    const bool failed = learner->status != CRD_OK;
    pthread_mutex_unlock(&learner->mutex);
    return failed;
}

static crd_status stage(const worker *w, int64_t i)
{
    const crd_learner *learner = w->owner;
    const examples *from = &learner->staged[1 - learner->filling];
    return learner->each->learner_stage(w->device, 0, from->inputs + i * learner->voxels,
                                        from->labels + i * learner->voxels);
}

/* Every count-th example is this device's; the next one is copied to it while one is computed. */
static crd_status compute_examples(const worker *w)
{
    crd_learner *learner = w->owner;
    crd_learner_step one = learner->step;
    double kl;
    one.count = 1;
    one.gradient_only = true;
    if (w->number < learner->step.count) CRD_PASS(stage(w, w->number));
    for (int64_t i = w->number; i < learner->step.count; i += learner->count) {
        one.first = learner->step.first + i;
        CRD_PASS(learner->each->learner_start(w->device, &one));
        if (i + learner->count < learner->step.count) CRD_PASS(stage(w, i + learner->count));
        CRD_PASS(learner->each->learner_finish(w->device, &learner->losses[i], &kl));
        CRD_PASS(learner->each->learner_gradient(w->device, learner->gradients + i * learner->values));
    }
    return CRD_OK;
}

/* This thread's share of the sum over all examples, in their order. */
static void add_up(const worker *w)
{
    const crd_learner *learner = w->owner;
    const int64_t begin = learner->values * w->number / learner->count,
                  end = learner->values * (w->number + 1) / learner->count;
    float *restrict sum = learner->sum;
    memset(sum + begin, 0, (size_t)(end - begin) * sizeof *sum);
    for (int64_t i = 0; i < learner->step.count; i++) {
        const float *restrict gradient = learner->gradients + i * learner->values;
        for (int64_t v = begin; v < end; v++) sum[v] += gradient[v];
    }
}

static crd_status take_step(const worker *w)
{
    crd_learner *learner = w->owner;
    crd_learner_step step = learner->step;
    crd_loss none;
    double kl;
    step.count = 0;
    if (step.gradient == NULL) step.gradient = learner->sum;
    CRD_PASS(learner->each->learner_start(w->device, &step));
    CRD_PASS(learner->each->learner_finish(w->device, &none, &kl));
    if (w->number == 0) learner->kl = kl;
    return CRD_OK;
}

/* A device that fails goes on to the meetings, so that no other waits there for ever. */
static crd_status work_on_step(void *context, int64_t number, int thread)
{
    const worker *w = context;
    crd_learner *learner = w->owner;
    (void)number;
    (void)thread;
    if (learner->step.gradient == NULL) {
        note(learner, compute_examples(w));
        pthread_barrier_wait(&learner->meeting);
        if (!has_failed(learner)) add_up(w);
        pthread_barrier_wait(&learner->meeting);
    }
    if (!learner->step.gradient_only && !has_failed(learner)) note(learner, take_step(w));
    return CRD_OK;
}

/* Until all devices are done with the last step. */
static void wait_for_all(crd_learner *learner)
{
    for (int i = 0; i < learner->count; i++) (void)crd_queue_wait(learner->workers[i].queue, learner->begun);
}

void crd_several_learner_free(crd_learner **pointer)
{
    crd_learner *learner = *pointer;
    if (learner == NULL) return;
    if (learner->begun > 0) wait_for_all(learner); /* or some would wait for others at a meeting */
    for (int i = 0; i < learner->count; i++) {
        crd_queue_close(&learner->workers[i].queue);
        learner->each->learner_free(&learner->workers[i].device);
    }
    if (learner->meets) pthread_barrier_destroy(&learner->meeting);
    pthread_mutex_destroy(&learner->mutex);
    crd_free(&learner->memory);
    crd_free(pointer);
}

/* None takes part before all have been started: their number is that of the meeting. */
static crd_status start_threads(crd_learner *learner)
{
    if (pthread_barrier_init(&learner->meeting, NULL, (unsigned)learner->count) != 0) {
        return crd_fail(CRD_ERR_SYSTEM, "can't make a meeting of the devices");
    }
    learner->meets = true;
    for (int i = 0; i < learner->count; i++) {
        worker *w = &learner->workers[i];
        const crd_queue_plan plan = {.what = "drives a device", .threads = 1, .context = w, .work = work_on_step};
        CRD_PASS(crd_queue_open(&plan, &w->queue));
    }
    return CRD_OK;
}

crd_status crd_several_learner_create(const crd_device_settings *settings, const crd_learner_plan *plan,
                                      crd_learner **out)
{
    crd_status status = CRD_OK;
    crd_learner *learner = NULL;
    const crd_learner_plan one = plan_of_one(plan);
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *learner, "the trainer", &learner));
    pthread_mutex_init(&learner->mutex, NULL);
    learner->each = settings->each;
    set_plan(learner, plan);
    CRD_TRY(crd_arena_carve(lay_out, learner, "the gradients", &learner->memory));
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings own = crd_several_settings_of(settings, i);
        learner->workers[i] = (worker){.owner = learner, .number = i};
        learner->count++;
        CRD_TRY(learner->each->learner_create(&own, &one, &learner->workers[i].device));
    }
    CRD_TRY(start_threads(learner));
    *out = learner;
    learner = NULL;
done:
    crd_several_learner_free(&learner);
    return status;
}

crd_status crd_several_learner_write(crd_learner *learner)
{
    for (int i = 0; i < learner->count; i++) {
        CRD_PASS(learner->each->learner_write(learner->workers[i].device));
    }
    return CRD_OK;
}

crd_status crd_several_learner_read(crd_learner *learner, bool moments)
{
    return learner->each->learner_read(learner->workers[0].device, moments);
}

crd_status crd_several_learner_stage(crd_learner *learner, int64_t place, const float *input, const uint8_t *label)
{
    const examples *to = &learner->staged[learner->filling];
    if (place < 0 || place >= learner->batch)
        return crd_fail(CRD_ERR_INTERNAL, "example %lld is none of the batch", (long long)place);
    memcpy(to->inputs + place * learner->voxels, input, (size_t)learner->voxels * sizeof *input);
    memcpy(to->labels + place * learner->voxels, label, (size_t)learner->voxels);
    return CRD_OK;
}

crd_status crd_several_learner_start(crd_learner *learner, const crd_learner_step *step)
{
    if (step->count > learner->batch) return crd_fail(CRD_ERR_INTERNAL, "more examples than the batch has");
    learner->step = *step; /* nobody looks at it before the next lines */
    learner->filling = 1 - learner->filling;
    learner->begun++;
    for (int i = 0; i < learner->count; i++) crd_queue_allow(learner->workers[i].queue, learner->begun);
    return CRD_OK;
}

crd_status crd_several_learner_finish(crd_learner *learner, crd_loss *losses, double *kl)
{
    wait_for_all(learner);
    if (learner->status != CRD_OK) return crd_error_adopt(&learner->error);
    memcpy(losses, learner->losses, (size_t)learner->step.count * sizeof *losses);
    *kl = learner->kl;
    return CRD_OK;
}

crd_status crd_several_learner_gradient(crd_learner *learner, float *gradient)
{
    if (!learner->step.gradient_only) return learner->each->learner_gradient(learner->workers[0].device, gradient);
    memcpy(gradient, learner->sum, (size_t)learner->values * sizeof *gradient);
    return CRD_OK;
}

crd_status crd_several_learner_evaluate(crd_learner *learner, const float *input, const uint8_t *label, crd_loss *loss)
{
    return learner->each->learner_evaluate(learner->workers[0].device, input, label, loss);
}

/* The first device checks, where devices do. */
crd_status crd_several_learner_check(crd_learner *learner, int64_t number, const float *input, const uint8_t *label,
                                     crd_loss *loss)
{
    if (learner->each->learner_check == NULL) return crd_several_learner_evaluate(learner, input, label, loss);
    return learner->each->learner_check(learner->workers[0].device, number, input, label, loss);
}

crd_status crd_several_learner_checked(crd_learner *learner)
{
    if (learner->each->learner_check == NULL) return CRD_OK;
    return learner->each->learner_checked(learner->workers[0].device);
}

bool crd_several_learner_keeps(const crd_learner *learner, int64_t number)
{
    return learner->each->learner_check != NULL && learner->each->learner_keeps(learner->workers[0].device, number);
}
