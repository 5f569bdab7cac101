#include "base/queue.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/thread.h"

#define NONE INT64_MAX
enum { BEGINNING = -1 }; /* is before all items */

typedef struct worker {
    crd_queue *queue;
    int number;
    pthread_t thread;
    int64_t item; /* at work; BEGINNING, or NONE. Guarded by the queue's mutex */
} worker;

struct crd_queue {
    crd_queue_plan plan;
    int started;           /* threads */
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t more, done;
    int64_t allowed, begun; /* items */
    int64_t failed;         /* the first that did, or NONE; then why */
    crd_error error;
    bool stop;
    worker workers[];
};

static void *work(void *context)
{
    worker *self = context;
    crd_queue *q = self->queue;
    const crd_queue_plan *plan = &q->plan;
    crd_status status = plan->begin != NULL ? plan->begin(plan->context, self->number) : CRD_OK;
    pthread_mutex_lock(&q->mutex);
    for (;;) {
        if (status != CRD_OK && self->item < q->failed) {
            q->failed = self->item;
            q->error = *crd_last_error();
        }
        self->item = NONE;
        pthread_cond_signal(&q->done);
        while (!q->stop && (q->begun == q->allowed || q->failed != NONE)) pthread_cond_wait(&q->more, &q->mutex);
        if (q->stop) break;
        self->item = q->begun++;
        pthread_mutex_unlock(&q->mutex);
        status = plan->work(plan->context, self->item, self->number);
        pthread_mutex_lock(&q->mutex);
    }
    pthread_mutex_unlock(&q->mutex);
    return NULL;
}

/* Whether all items before `end` are done, or as many as ever will be: they are begun in order, so those that nobody
 * works on are done. Called with the mutex held. */
static bool is_over(const crd_queue *q, int64_t end)
{
    int64_t done = q->begun;
    for (int i = 0; i < q->started; i++) {
        if (q->workers[i].item < done) done = q->workers[i].item;
    }
    return done >= (end < q->failed ? end : q->failed);
}

/* For waits that end by a clock which nobody sets: the one on the wall may jump back by hours. */
static void make_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

crd_status crd_queue_open(const crd_queue_plan *plan, crd_queue **out)
{
    crd_status status = CRD_OK;
    crd_queue *q = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc((int64_t)sizeof *q + plan->threads * (int64_t)sizeof *q->workers, 1, "a queue of work", &q));
    q->plan = *plan;
    q->failed = NONE;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->more, NULL);
    make_condition(&q->done);
    for (; q->started < plan->threads; q->started++) {
        worker *w = &q->workers[q->started];
        *w = (worker){.queue = q, .number = q->started, .item = BEGINNING};
        const int cause = crd_thread_start(&w->thread, work, w);
        if (cause != 0) CRD_FAIL(CRD_ERR_SYSTEM, "can't start a thread that %s: %s", plan->what, strerror(cause));
    }
    CRD_TRY(crd_queue_wait(q, 0));
    *out = q;
    q = NULL;
done:
    crd_queue_close(&q);
    return status;
}

void crd_queue_close(crd_queue **pointer)
{
    crd_queue *q = *pointer;
    if (q == NULL) return;
    pthread_mutex_lock(&q->mutex);
    q->stop = true;
    pthread_cond_broadcast(&q->more);
    pthread_mutex_unlock(&q->mutex);
    for (int i = 0; i < q->started; i++) (void)pthread_join(q->workers[i].thread, NULL);
    pthread_cond_destroy(&q->done);
    pthread_cond_destroy(&q->more);
    pthread_mutex_destroy(&q->mutex);
    crd_free(pointer);
}

void crd_queue_allow(crd_queue *q, int64_t end)
{
    pthread_mutex_lock(&q->mutex);
    if (end > q->allowed) q->allowed = end;
    pthread_cond_broadcast(&q->more);
    pthread_mutex_unlock(&q->mutex);
}

crd_status crd_queue_wait(crd_queue *q, int64_t end)
{
    pthread_mutex_lock(&q->mutex);
    CRD_ASSERT(end <= q->allowed);
    while (!is_over(q, end)) pthread_cond_wait(&q->done, &q->mutex);
    const bool failed = q->failed < end;
    pthread_mutex_unlock(&q->mutex);
    return failed ? crd_error_adopt(&q->error) : CRD_OK;
}

bool crd_queue_wait_a_while(crd_queue *q, int64_t end, int milliseconds)
{
    struct timespec until;
    int result = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&q->mutex);
    while (!is_over(q, end) && result != ETIMEDOUT) result = pthread_cond_timedwait(&q->done, &q->mutex, &until);
    const bool over = is_over(q, end);
    pthread_mutex_unlock(&q->mutex);
    return over;
}
