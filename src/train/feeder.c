#include "train/feeder.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/dist.h"
#include "train/schedule.h"

enum { DEPTH = 3 }; /* batches in memory: one in use, two ahead */

typedef struct slot {
    float *inputs;
    uint8_t *labels;
    int64_t step, count, first, end, labelled;
} slot;

struct crd_feeder {
    crd_feeder_plan plan;
    crd_dataset *dataset;
    int64_t *order;
    slot slots[DEPTH];
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. */
    int64_t read, taken; /* batches since the start */
    bool in_use;         /* the batch before `taken` is in the caller's hands */
    bool stop;
    bool failed;
    double seconds; /* of the reading thread's own time */
    crd_error error;
};

int64_t crd_feeder_batches(int64_t chunks, int64_t batch)
{
    return (chunks + batch - 1) / batch;
}

static crd_status read_batch(crd_feeder *feeder, int64_t step, int64_t *epoch_in_order, slot *into)
{
    const crd_feeder_plan *plan = &feeder->plan;
    const int64_t chunks = crd_dataset_count(feeder->dataset), batches = crd_feeder_batches(chunks, plan->batch);
    const int64_t epoch = step / batches + 1, first = step % batches * plan->batch;
    if (*epoch_in_order != epoch) {
        if (plan->shuffle) {
            crd_shuffle(plan->seed, epoch, chunks, feeder->order);
        } else {
            for (int64_t i = 0; i < chunks; i++) feeder->order[i] = i;
        }
        *epoch_in_order = epoch;
    }
    into->step = step;
    into->count = first + plan->batch < chunks ? plan->batch : chunks - first;
    into->labelled = 0;
    crd_dist_part(into->count, plan->size > 0 ? plan->size : 1, plan->rank, &into->first, &into->end);
    for (int64_t i = into->first; i < into->end; i++) {
        const int64_t at = (i - into->first) * plan->chunk_voxels;
        int64_t labelled;
        CRD_PASS(crd_dataset_read(feeder->dataset, feeder->order[first + i], epoch, into->inputs + at,
                                  into->labels + at, &labelled));
        into->labelled += labelled;
    }
    return CRD_OK;
}

static double thread_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec : 0.0;
}

static void *feed(void *context)
{
    crd_feeder *feeder = context;
    int64_t epoch_in_order = 0;
    for (int64_t step = feeder->plan.first_step; step < feeder->plan.end_step; step++) {
        pthread_mutex_lock(&feeder->lock);
        while (!feeder->stop && feeder->read - (feeder->taken - feeder->in_use) >= DEPTH) {
            pthread_cond_wait(&feeder->changed, &feeder->lock);
        }
        const bool stop = feeder->stop;
        slot *into = &feeder->slots[feeder->read % DEPTH];
        pthread_mutex_unlock(&feeder->lock);
        if (stop) return NULL;
        const crd_status status = read_batch(feeder, step, &epoch_in_order, into);
        pthread_mutex_lock(&feeder->lock);
        feeder->seconds = thread_seconds();
        if (status != CRD_OK) {
            feeder->failed = true;
            feeder->error = *crd_last_error();
        } else {
            feeder->read++;
        }
        pthread_cond_broadcast(&feeder->changed);
        pthread_mutex_unlock(&feeder->lock);
        if (status != CRD_OK) return NULL;
    }
    return NULL;
}

crd_status crd_feeder_start(const crd_feeder_plan *plan, crd_feeder **out)
{
    crd_status status = CRD_OK;
    crd_feeder *feeder = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *feeder, "the reader of chunks", &feeder));
    feeder->plan = *plan;
    pthread_mutex_init(&feeder->lock, NULL);
    pthread_cond_init(&feeder->changed, NULL);
    CRD_TRY(crd_dataset_reopen(plan->dataset, &feeder->dataset));
    CRD_TRY(
        crd_alloc(crd_dataset_count(feeder->dataset), sizeof *feeder->order, "the order of chunks", &feeder->order));
    for (int i = 0; i < DEPTH; i++) {
        int64_t first, end;
        crd_dist_part(plan->batch, plan->size > 0 ? plan->size : 1, 0, &first, &end); /* nobody has more than rank 0 */
        const int64_t voxels = (end - first) * plan->chunk_voxels;
        CRD_TRY(crd_alloc(voxels, sizeof(float), "chunks read ahead", &feeder->slots[i].inputs));
        CRD_TRY(crd_alloc(voxels, 1, "chunks read ahead", &feeder->slots[i].labels));
    }
    if (pthread_create(&feeder->thread, NULL, feed, feeder) != 0) {
        CRD_FAIL(CRD_ERR_SYSTEM, "a thread to read chunks with could not be started");
    }
    feeder->started = true;
    *out = feeder;
    feeder = NULL;
done:
    crd_feeder_stop(&feeder);
    return status;
}

crd_status crd_feeder_next(crd_feeder *feeder, crd_batch *batch, double *waited)
{
    const double begin = crd_seconds();
    pthread_mutex_lock(&feeder->lock);
    feeder->in_use = false;
    pthread_cond_broadcast(&feeder->changed);
    while (!feeder->failed && feeder->read <= feeder->taken) pthread_cond_wait(&feeder->changed, &feeder->lock);
    const bool failed = feeder->read <= feeder->taken;
    if (!failed) {
        const slot *from = &feeder->slots[feeder->taken % DEPTH];
        *batch =
            (crd_batch){from->step, from->count, from->first, from->end, from->inputs, from->labels, from->labelled};
        feeder->taken++;
        feeder->in_use = true;
    }
    pthread_mutex_unlock(&feeder->lock);
    if (waited != NULL) *waited = crd_seconds() - begin;
    return failed ? crd_error_adopt(&feeder->error) : CRD_OK;
}

double crd_feeder_seconds(crd_feeder *feeder)
{
    pthread_mutex_lock(&feeder->lock);
    const double seconds = feeder->seconds;
    pthread_mutex_unlock(&feeder->lock);
    return seconds;
}

void crd_feeder_stop(crd_feeder **pointer)
{
    crd_feeder *feeder = *pointer;
    if (feeder == NULL) return;
    if (feeder->started) {
        pthread_mutex_lock(&feeder->lock);
        feeder->stop = true;
        pthread_cond_broadcast(&feeder->changed);
        pthread_mutex_unlock(&feeder->lock);
        pthread_join(feeder->thread, NULL);
    }
    pthread_mutex_destroy(&feeder->lock);
    pthread_cond_destroy(&feeder->changed);
    crd_dataset_close(&feeder->dataset);
    crd_free(&feeder->order);
    for (int i = 0; i < DEPTH; i++) {
        crd_free(&feeder->slots[i].inputs);
        crd_free(&feeder->slots[i].labels);
    }
    crd_free(pointer);
}
