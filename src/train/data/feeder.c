#include "train/data/feeder.h"

#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "dist/dist.h"
#include "train/schedule.h"

/* A batch on its way: its examples are dealt out to readers in order, and finished in any. */
typedef struct slot {
    float *inputs;
    uint8_t *labels;
    int64_t step, count, first, end; /* as in crd_batch */
    int64_t dealt, finished;         /* of its end - first examples */
    int64_t labelled;
    int64_t failed; /* the first of them that couldn't be read, or -1; then why */
    crd_error error;
} slot;

typedef struct reader {
    crd_feeder *feeder;
    crd_dataset *dataset; /* its own; only unpacked blocks of the files are shared */
    pthread_t thread;
    double seconds; /* of its own processor time; guarded by the feeder's lock */
} reader;

struct crd_feeder {
    crd_feeder_plan plan;
    int64_t chunks, batches; /* of an epoch */
    int64_t depth;           /* slots: batch n of this run lies in slot n modulo this */
    slot *slots;
    reader *readers;
    int64_t started; /* readers that run and must be joined */
    pthread_mutex_t lock;
    pthread_cond_t room, done; /* a slot is free or all is over; an example was finished, or a reader is ready */
    /* Guarded by the lock. */
    int64_t ready; /* readers that have opened their files, or couldn't */
    crd_error unopened;
    int64_t *order; /* of the chunks in the epoch that is dealt out */
    int64_t epoch;
    int64_t dealing, taken; /* batches since the start: the one that is dealt out, and those that were handed on */
    bool in_use;            /* the batch before `taken` is in the caller's hands */
    bool stop;              /* the caller wants no more, or something failed: nothing more is dealt out */
};

/* What a reader is to do. */
typedef struct example {
    slot *into;
    int64_t index; /* among those of the batch that are here */
    int64_t number, epoch;
} example;

int64_t crd_feeder_batches(int64_t chunks, int64_t batch)
{
    return (chunks + batch - 1) / batch;
}

static void set_order(crd_feeder *feeder, int64_t epoch)
{
    if (feeder->epoch == epoch) return;
    feeder->epoch = epoch;
    if (feeder->plan.shuffle) {
        crd_shuffle(feeder->plan.seed, epoch, feeder->chunks, feeder->order);
    } else {
        for (int64_t i = 0; i < feeder->chunks; i++) feeder->order[i] = i;
    }
}

static void begin_batch(const crd_feeder *feeder, int64_t step, slot *into)
{
    const crd_feeder_plan *plan = &feeder->plan;
    const int64_t first = step % feeder->batches * plan->batch;
    into->step = step;
    into->count = first + plan->batch < feeder->chunks ? plan->batch : feeder->chunks - first;
    crd_dist_part(into->count, plan->size > 0 ? plan->size : 1, plan->rank, &into->first, &into->end);
    into->dealt = into->finished = into->labelled = 0;
    into->failed = -1;
}

/* The next example in order, once there is room for its batch; false at the end. Called with the lock held. */
static bool deal(crd_feeder *feeder, example *out)
{
    const crd_feeder_plan *plan = &feeder->plan;
    for (;;) {
        const int64_t step = plan->first_step + feeder->dealing;
        if (feeder->stop || step >= plan->end_step) return false;
        if (feeder->dealing - (feeder->taken - feeder->in_use) >= feeder->depth) {
            pthread_cond_wait(&feeder->room, &feeder->lock);
            continue;
        }
        slot *into = &feeder->slots[feeder->dealing % feeder->depth];
        if (into->step != step) begin_batch(feeder, step, into);
        if (into->dealt == into->end - into->first) { /* all of it is under way, or none of it is read here */
            feeder->dealing++;
            pthread_cond_signal(&feeder->done);
            continue;
        }
        set_order(feeder, step / feeder->batches + 1);
        CRD_ASSERT(into->dealt < into->end - into->first);
        *out = (example){into, into->dealt, 0, feeder->epoch};
        out->number = feeder->order[step % feeder->batches * plan->batch + into->first + into->dealt];
        into->dealt++;
        return true;
    }
}

/* Notes what became of an example. Called with the lock held. */
static void finish(crd_feeder *feeder, const example *e, crd_status status, int64_t labelled)
{
    slot *into = e->into;
    into->finished++;
    CRD_ASSERT(into->finished <= into->dealt);
    if (status == CRD_OK) {
        into->labelled += labelled;
    } else {
        if (into->failed < 0 || e->index < into->failed) {
            into->failed = e->index;
            into->error = *crd_last_error();
        }
        feeder->stop = true;
        pthread_cond_broadcast(&feeder->room);
    }
    if (into->finished == into->dealt) pthread_cond_signal(&feeder->done);
}

static double thread_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec : 0.0;
}

static void *read_examples(void *context)
{
    reader *self = context;
    crd_feeder *feeder = self->feeder;
    example e;
    const crd_status opened = crd_dataset_reopen(feeder->plan.dataset, &self->dataset);
    pthread_mutex_lock(&feeder->lock);
    if (opened != CRD_OK) {
        feeder->unopened = *crd_last_error();
        feeder->stop = true;
    }
    feeder->ready++;
    pthread_cond_signal(&feeder->done);
    while (deal(feeder, &e)) {
        const int64_t at = e.index * feeder->plan.chunk_voxels;
        int64_t labelled = 0;
        pthread_mutex_unlock(&feeder->lock);
        const crd_status status =
            crd_dataset_read(self->dataset, e.number, e.epoch, e.into->inputs + at, e.into->labels + at, &labelled);
        const double seconds = thread_seconds();
        pthread_mutex_lock(&feeder->lock);
        self->seconds = seconds;
        finish(feeder, &e, status, labelled);
    }
    pthread_mutex_unlock(&feeder->lock);
    return NULL;
}

/* Each opens the files for itself, all at the same time: a folder of slices on a slow disk takes its time. */
static crd_status start_readers(crd_feeder *feeder)
{
    int cause = 0;
    for (int64_t i = 0; i < feeder->plan.readers && cause == 0; i++) {
        cause = crd_thread_start(&feeder->readers[i].thread, read_examples, &feeder->readers[i]);
        if (cause == 0) feeder->started++;
    }
    if (cause != 0) {
        return crd_fail(CRD_ERR_SYSTEM, "a thread to read chunks with could not be started: %s", strerror(cause));
    }
    pthread_mutex_lock(&feeder->lock);
    while (feeder->ready < feeder->started) pthread_cond_wait(&feeder->done, &feeder->lock);
    pthread_mutex_unlock(&feeder->lock);
    return feeder->unopened.status == CRD_OK ? CRD_OK : crd_error_adopt(&feeder->unopened);
}

/* One batch in the caller's hands, and as many ahead that the readers work on two at least and none has to wait for
 * another that has the last example of its batch. */
static crd_status make_slots(crd_feeder *feeder)
{
    const crd_feeder_plan *plan = &feeder->plan;
    int64_t first, end;
    crd_dist_part(plan->batch, plan->size > 0 ? plan->size : 1, 0, &first, &end); /* nobody has more than rank 0 */
    const int64_t examples = end - first;
    feeder->depth = 2 + (plan->readers + examples - 1) / examples;
    CRD_PASS(crd_alloc(feeder->depth, sizeof *feeder->slots, "chunks read ahead", &feeder->slots));
    for (int64_t i = 0; i < feeder->depth; i++) {
        slot *s = &feeder->slots[i];
        s->step = -1;
        CRD_PASS(crd_alloc(examples * plan->chunk_voxels, sizeof(float), "chunks read ahead", &s->inputs));
        CRD_PASS(crd_alloc(examples * plan->chunk_voxels, 1, "chunks read ahead", &s->labels));
    }
    return CRD_OK;
}

crd_status crd_feeder_start(const crd_feeder_plan *plan, crd_feeder **out)
{
    crd_status status = CRD_OK;
    crd_feeder *feeder = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *feeder, "the reader of chunks", &feeder));
    feeder->plan = *plan;
    if (plan->readers < 1) feeder->plan.readers = 1;
    feeder->chunks = crd_dataset_count(plan->dataset);
    feeder->batches = crd_feeder_batches(feeder->chunks, plan->batch);
    pthread_mutex_init(&feeder->lock, NULL);
    pthread_cond_init(&feeder->room, NULL);
    pthread_cond_init(&feeder->done, NULL);
    CRD_TRY(crd_alloc(feeder->chunks, sizeof *feeder->order, "the order of chunks", &feeder->order));
    CRD_TRY(make_slots(feeder));
    CRD_TRY(crd_alloc(feeder->plan.readers, sizeof *feeder->readers, "the readers of chunks", &feeder->readers));
    for (int64_t i = 0; i < feeder->plan.readers; i++) feeder->readers[i].feeder = feeder;
    CRD_TRY(start_readers(feeder));
    *out = feeder;
    feeder = NULL;
done:
    crd_feeder_stop(&feeder);
    return status;
}

/* Whether batch `taken` is there, or can't come any more because an example of it failed and none before that is still
 * being read. Called with the lock held. */
static bool is_over(const crd_feeder *feeder, const slot *next)
{
    if (next->step != feeder->plan.first_step + feeder->taken || next->finished < next->dealt) return false;
    return next->failed >= 0 || next->dealt == next->end - next->first;
}

crd_status crd_feeder_next(crd_feeder *feeder, crd_batch *batch, double *waited)
{
    const double begin = crd_seconds();
    crd_status status = CRD_OK;
    pthread_mutex_lock(&feeder->lock);
    feeder->in_use = false;
    pthread_cond_broadcast(&feeder->room);
    const slot *next = &feeder->slots[feeder->taken % feeder->depth];
    while (!is_over(feeder, next)) pthread_cond_wait(&feeder->done, &feeder->lock);
    if (next->failed >= 0) {
        status = crd_error_adopt(&next->error);
    } else {
        *batch =
            (crd_batch){next->step, next->count, next->first, next->end, next->inputs, next->labels, next->labelled};
        feeder->taken++;
        feeder->in_use = true;
    }
    pthread_mutex_unlock(&feeder->lock);
    if (waited != NULL) *waited = crd_seconds() - begin;
    return status;
}

double crd_feeder_seconds(crd_feeder *feeder)
{
    double seconds = 0.0;
    pthread_mutex_lock(&feeder->lock);
    for (int64_t i = 0; i < feeder->plan.readers; i++) seconds += feeder->readers[i].seconds;
    pthread_mutex_unlock(&feeder->lock);
    return seconds;
}

void crd_feeder_stop(crd_feeder **pointer)
{
    crd_feeder *feeder = *pointer;
    if (feeder == NULL) return;
    pthread_mutex_lock(&feeder->lock);
    feeder->stop = true;
    pthread_cond_broadcast(&feeder->room);
    pthread_mutex_unlock(&feeder->lock);
    for (int64_t i = 0; i < feeder->started; i++) pthread_join(feeder->readers[i].thread, NULL);
    pthread_mutex_destroy(&feeder->lock);
    pthread_cond_destroy(&feeder->room);
    pthread_cond_destroy(&feeder->done);
    for (int64_t i = 0; feeder->readers != NULL && i < feeder->plan.readers; i++) {
        crd_dataset_close(&feeder->readers[i].dataset);
    }
    for (int64_t i = 0; feeder->slots != NULL && i < feeder->depth; i++) {
        crd_free(&feeder->slots[i].inputs);
        crd_free(&feeder->slots[i].labels);
    }
    crd_free(&feeder->readers);
    crd_free(&feeder->slots);
    crd_free(&feeder->order);
    crd_free(pointer);
}
