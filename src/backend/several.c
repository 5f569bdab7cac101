#include "backend/several.h"

#include <pthread.h>
#include <string.h>

#include "backend/several_learner.h"
#include "base/assert.h"
#include "base/memory.h"
#include "base/thread.h"

/* Chunks in a device at once: one that computes, and the next, so that nothing waits for the host. One more for each is
 * in the queue, so that a device that has room finds a chunk there. */
enum { AHEAD = 2, EACH = AHEAD + 1 };

typedef struct ticket { /* a chunk on its way to a device */
    float *input;
    int64_t *probe;
    int64_t chunk_number, probe_count, probe_room;
    crd_box keep;
} ticket;

typedef struct worker {
    crd_predictor *owner, *device;
    ticket current; /* the chunk that is being given to the device */
    pthread_t thread;
    bool started;
    /* guarded by the owner's mutex: */
    int64_t places[AHEAD]; /* of the chunks in the device, oldest first */
    int in_flight;
    bool holding; /* a result that the caller hasn't done with yet: `result`, of chunk `place` */
    int64_t place;
    crd_chunk_result result;
} worker;

struct crd_predictor {
    const crd_backend *each;
    int count, ahead;
    bool reuses; /* a device that holds a result must not be given the next chunk */
    int64_t voxels, any_order;
    crd_box keep; /* of the chunks that are submitted */
    worker workers[CRD_DEVICES_MOST];
    int depth;
    ticket queue[CRD_DEVICES_MOST * EACH]; /* chunk `place` is in place % depth */
    worker *handed_out;                    /* whose result the caller looks at */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    int64_t submitted, taken, collected;
    bool stop;
    crd_status status;
    crd_error error;
};

crd_device_settings crd_several_settings_of(const crd_device_settings *settings, int index)
{
    crd_device_settings one = *settings;
    int64_t sharing = 0;
    one.device = settings->devices[index];
    one.device_count = 1;
    for (int i = 0; i < settings->device_count; i++) sharing += settings->devices[i] == one.device;
    one.max_bytes = settings->max_bytes / sharing;
    return one;
}

static crd_status describe(const crd_device_settings *settings, char *text, size_t size)
{
    const crd_device_settings one = crd_several_settings_of(settings, 0);
    return settings->each->describe(&one, text, size);
}

static crd_precision precision_of(const crd_device_settings *settings, int filters, bool training)
{
    const crd_backend *each = settings->each;
    return each->precision_of != NULL ? each->precision_of(settings, filters, training) : settings->precision;
}

static crd_status predictor_bytes(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                  int64_t *host_bytes, int64_t *device_bytes)
{
    *host_bytes = *device_bytes = 0;
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings one = crd_several_settings_of(settings, i);
        int64_t host, device;
        CRD_PASS(settings->each->predictor_bytes(&one, plan, &host, &device));
        *host_bytes += host + (EACH + 1) * plan->chunk[0] * plan->chunk[1] * plan->chunk[2] * (int64_t)sizeof(float);
        *device_bytes += device;
    }
    return CRD_OK;
}

static void free_ticket(ticket *t)
{
    crd_free(&t->input);
    crd_free(&t->probe);
}

static void predictor_free(crd_predictor **pointer)
{
    crd_predictor *p = *pointer;
    if (p == NULL) return;
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->count; i++) {
        if (p->workers[i].started) pthread_join(p->workers[i].thread, NULL);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
    for (int i = 0; i < p->count; i++) {
        p->each->predictor_free(&p->workers[i].device);
        free_ticket(&p->workers[i].current);
    }
    for (int i = 0; i < p->depth; i++) free_ticket(&p->queue[i]);
    crd_free(pointer);
}

/* The first chunk of the queue into the device. The mutex is held, but not meanwhile. */
static crd_status feed(worker *w)
{
    crd_predictor *p = w->owner;
    const int64_t place = p->taken++;
    const ticket now = p->queue[place % p->depth];
    p->queue[place % p->depth] = w->current; /* an empty one, to be filled again */
    w->current = now;
    CRD_ASSERT(place < p->submitted && w->in_flight < AHEAD);
    w->places[w->in_flight++] = place;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    p->each->predictor_keep(w->device, &now.keep);
    const crd_status status =
        p->each->predictor_submit(w->device, now.chunk_number, now.input, now.probe, now.probe_count);
    pthread_mutex_lock(&p->mutex);
    return status;
}

/* Waits for the oldest chunk of the device. The mutex is held, but not meanwhile. */
static crd_status fetch(worker *w)
{
    crd_predictor *p = w->owner;
    pthread_mutex_unlock(&p->mutex);
    const crd_status status = p->each->predictor_collect(w->device, &w->result);
    pthread_mutex_lock(&p->mutex);
    CRD_ASSERT(w->in_flight > 0 && !w->holding);
    w->place = w->places[0];
    w->in_flight--;
    memmove(w->places, w->places + 1, (size_t)w->in_flight * sizeof *w->places);
    w->holding = true;
    return status;
}

static void *work(void *context)
{
    worker *w = context;
    crd_predictor *p = w->owner;
    pthread_mutex_lock(&p->mutex);
    while (!p->stop && p->status == CRD_OK) {
        crd_status status = CRD_OK;
        if (p->taken < p->submitted && w->in_flight < p->ahead && !(p->reuses && w->holding)) {
            status = feed(w);
        } else if (w->in_flight > 0 && !w->holding) {
            status = fetch(w);
        } else {
            pthread_cond_wait(&p->changed, &p->mutex);
            continue;
        }
        if (status != CRD_OK && p->status == CRD_OK) {
            p->status = status;
            p->error = *crd_last_error();
        }
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static crd_status predictor_create(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                   crd_predictor **out)
{
    crd_status status = CRD_OK;
    crd_predictor *p = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *p, "the predictor", &p));
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->each = settings->each;
    p->any_order = plan->any_order > 0 ? plan->any_order : 1;
    p->voxels = plan->chunk[0] * plan->chunk[1] * plan->chunk[2];
    memcpy(p->keep.size, plan->keep[0] > 0 ? plan->keep : plan->chunk, sizeof p->keep.size);
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings one = crd_several_settings_of(settings, i);
        p->count++;
        p->workers[i].owner = p;
        CRD_TRY(p->each->predictor_create(&one, plan, &p->workers[i].device));
        CRD_TRY(crd_alloc(p->voxels, sizeof(float), "a chunk", &p->workers[i].current.input));
    }
    for (; p->depth < p->count * EACH; p->depth++) {
        CRD_TRY(crd_alloc(p->voxels, sizeof(float), "a chunk", &p->queue[p->depth].input));
    }
    const int depth = p->each->predictor_depth(p->workers[0].device);
    p->ahead = depth < AHEAD ? depth : AHEAD;
    p->reuses = depth == 1;
    for (int i = 0; i < p->count; i++) {
        if (crd_thread_start(&p->workers[i].thread, work, &p->workers[i]) != 0) {
            CRD_FAIL(CRD_ERR_SYSTEM, "can't start a thread for a device");
        }
        p->workers[i].started = true;
    }
    *out = p;
    p = NULL;
done:
    predictor_free(&p);
    return status;
}

static int predictor_depth(const crd_predictor *predictor)
{
    return predictor->depth;
}

static crd_status fill(const crd_predictor *p, ticket *t, int64_t chunk_number, const float *input,
                       const int64_t *probe, int64_t probe_count)
{
    if (probe_count > t->probe_room) {
        crd_free(&t->probe);
        t->probe_room = 0;
        CRD_PASS(crd_alloc(2 * probe_count, sizeof *t->probe, "the probe's voxels", &t->probe));
        t->probe_room = 2 * probe_count;
    }
    if (probe_count > 0) memcpy(t->probe, probe, (size_t)probe_count * sizeof *probe);
    memcpy(t->input, input, (size_t)p->voxels * sizeof *input);
    t->chunk_number = chunk_number;
    t->probe_count = probe_count;
    t->keep = p->keep;
    return CRD_OK;
}

static void predictor_keep(crd_predictor *p, const crd_box *keep)
{
    p->keep = *keep;
}

static crd_status predictor_submit(crd_predictor *p, int64_t chunk_number, const float *input, const int64_t *probe,
                                   int64_t probe_count)
{
    pthread_mutex_lock(&p->mutex);
    const bool failed = p->status != CRD_OK, full = p->submitted - p->collected == p->depth;
    pthread_mutex_unlock(&p->mutex);
    if (failed) return crd_error_adopt(&p->error);
    if (full) return crd_fail(CRD_ERR_INTERNAL, "more chunks were submitted than the queue takes");
    /* Nobody else looks at a place of the queue that is free. */
    CRD_PASS(fill(p, &p->queue[p->submitted % p->depth], chunk_number, input, probe, probe_count));
    pthread_mutex_lock(&p->mutex);
    p->submitted++;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    return CRD_OK;
}

/* The oldest result that may be handed out now; NULL: none. */
static worker *ready(crd_predictor *p)
{
    const int64_t row = p->collected / p->any_order; /* all before it are collected */
    worker *oldest = NULL;
    for (int i = 0; i < p->count; i++) {
        worker *w = &p->workers[i];
        if (!w->holding || w->place / p->any_order != row) continue;
        if (oldest == NULL || w->place < oldest->place) oldest = w;
    }
    return oldest;
}

static crd_status predictor_collect(crd_predictor *p, crd_chunk_result *result)
{
    crd_status status = CRD_OK;
    pthread_mutex_lock(&p->mutex);
    if (p->collected == p->submitted) CRD_FAIL(CRD_ERR_INTERNAL, "a chunk was collected that was not submitted");
    if (p->handed_out != NULL) {
        p->handed_out->holding = false;
        p->handed_out = NULL;
        pthread_cond_broadcast(&p->changed);
    }
    while (p->status == CRD_OK && (p->handed_out = ready(p)) == NULL) pthread_cond_wait(&p->changed, &p->mutex);
    if (p->status != CRD_OK) {
        status = crd_error_adopt(&p->error);
        goto done;
    }
    CRD_ASSERT(p->handed_out->holding);
    *result = p->handed_out->result;
    p->collected++;
done:
    pthread_mutex_unlock(&p->mutex);
    return status;
}

static crd_status measure_norms(const crd_device_settings *settings, const crd_predictor_plan *plan,
                                const crd_pieces *pieces, const crd_monitor *monitor, crd_moments *moments)
{
    const crd_device_settings one = crd_several_settings_of(settings, 0);
    return settings->each->measure_norms(&one, plan, pieces, monitor, moments);
}

static bool named_before(const crd_device_settings *settings, int index)
{
    for (int i = 0; i < index; i++) {
        if (settings->devices[i] == settings->devices[index]) return true;
    }
    return false;
}

void crd_several_join(const crd_backend *each, crd_device_settings *settings)
{
    char text[256];
    int with = 0;
    for (int i = 0; i < settings->device_count; i++) {
        crd_device_settings one = crd_several_settings_of(settings, i);
        one.isa = "sm90";
        with += each->describe(&one, text, sizeof text) == CRD_OK;
    }
    if (settings->isa == NULL && with > 0 && with < settings->device_count) settings->isa = "sm80";
    settings->each = each;
}

int crd_several_distinct(const crd_device_settings *settings)
{
    int count = 0;
    for (int i = 0; i < settings->device_count; i++) count += !named_before(settings, i);
    return count;
}

/* All of them together. */
static crd_status device_peak(const crd_device_settings *settings, crd_device_peak *out)
{
    *out = (crd_device_peak){0};
    for (int i = 0; i < settings->device_count; i++) {
        const crd_device_settings one = crd_several_settings_of(settings, i);
        crd_device_peak peak;
        if (named_before(settings, i)) continue;
        CRD_PASS(settings->each->device_peak(&one, &peak));
        out->matrix_gflops += peak.matrix_gflops;
        out->copy_gigabytes += peak.copy_gigabytes;
    }
    return CRD_OK;
}

static crd_status device_load(const crd_device_settings *settings, crd_device_load *out)
{
    const crd_device_settings one = crd_several_settings_of(settings, 0);
    return settings->each->device_load(&one, out);
}

const crd_backend crd_backend_several = {
    .version = CRD_BACKEND_VERSION,
    .name = "several",
    .overlaps = true,
    .auto_chunk = {88, 176, 176},
    .auto_tile_voxels = CRD_GPU_TILE_VOXELS,
    .describe = describe,
    .precision_of = precision_of,
    .predictor_bytes = predictor_bytes,
    .predictor_create = predictor_create,
    .predictor_depth = predictor_depth,
    .predictor_keep = predictor_keep,
    .predictor_submit = predictor_submit,
    .predictor_collect = predictor_collect,
    .predictor_free = predictor_free,
    .measure_norms = measure_norms,
    .device_peak = device_peak,
    .device_load = device_load,
    .learner_bytes = crd_several_learner_bytes,
    .learner_path = crd_several_learner_path,
    .learner_create = crd_several_learner_create,
    .learner_write = crd_several_learner_write,
    .learner_read = crd_several_learner_read,
    .learner_stage = crd_several_learner_stage,
    .learner_start = crd_several_learner_start,
    .learner_finish = crd_several_learner_finish,
    .learner_gradient = crd_several_learner_gradient,
    .learner_evaluate = crd_several_learner_evaluate,
    .learner_check = crd_several_learner_check,
    .learner_checked = crd_several_learner_checked,
    .learner_keeps = crd_several_learner_keeps,
    .learner_free = crd_several_learner_free,
};
