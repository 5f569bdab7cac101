/* Questions to rank 0. A thread there looks for them while the job runs, so that nobody waits for rank 0's own work. A
 * process alone answers itself. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/thread.h"
#include "dist/internal.h"

struct crd_dist_questions {
    crd_dist *dist;
    crd_dist_answer *answer;
    void *context;
    int64_t answer_bytes;
    pthread_mutex_t answering; /* one question at a time, the server's or rank 0's own */
    pthread_t server;
    bool serving;
    atomic_bool stop;
    _Alignas(max_align_t) char question[CRD_DIST_QUESTION_BYTES]; /* as it is sent or comes */
    _Alignas(max_align_t) char reply[];                           /* its answer */
};

static void answer_one(crd_dist_questions *q, int rank, const void *question, void *answer)
{
    pthread_mutex_lock(&q->answering);
    q->answer(q->context, rank, question, answer);
    pthread_mutex_unlock(&q->answering);
}

/* Short against a band, long against the work of looking. */
static void take_a_nap(void)
{
    const struct timespec time = {.tv_nsec = 2000000};
    (void)nanosleep(&time, NULL);
}

/* The server's own way of waiting: a request to stop ends it. */
static bool finish(crd_dist_questions *q, crd_flight *flight)
{
    for (bool done = false; !atomic_load(&q->stop);) {
        if (crd_dist_test(q->dist, flight, 1, &done) != CRD_OK) return false;
        if (done) return true;
        take_a_nap();
    }
    return false;
}

/* Where a message can't be moved the server ends, and the thread that runs the job sees the same failure by itself. */
static void *serve(void *context)
{
    crd_dist_questions *q = context;
    while (!atomic_load(&q->stop)) {
        bool there = false;
        int from = 0;
        int64_t bytes = 0;
        crd_flight flight;
        if (crd_dist_probe(q->dist, CRD_TAG_QUESTION, &there, &from, &bytes) != CRD_OK) break;
        if (!there) {
            take_a_nap();
            continue;
        }
        if (bytes > CRD_DIST_QUESTION_BYTES ||
            crd_dist_receive(q->dist, from, CRD_TAG_QUESTION, q->question, bytes, &flight) != CRD_OK) {
            break;
        }
        if (!finish(q, &flight)) break;
        answer_one(q, from, q->question, q->reply);
        if (crd_dist_send(q->dist, from, CRD_TAG_ANSWER, q->reply, q->answer_bytes, &flight) != CRD_OK) break;
        if (!finish(q, &flight)) break;
    }
    return NULL;
}

crd_status crd_dist_questions_open(crd_dist *dist, crd_dist_answer *answer, void *context, int64_t answer_bytes,
                                   crd_dist_questions **out)
{
    crd_dist_questions *q = NULL;
    *out = NULL;
    CRD_PASS(crd_alloc((int64_t)sizeof *q + answer_bytes, 1, "questions and answers", &q));
    q->dist = dist;
    q->answer = answer;
    q->context = context;
    q->answer_bytes = answer_bytes;
    pthread_mutex_init(&q->answering, NULL);
    if (dist->place.rank == 0 && dist->place.size > 1) {
        if (crd_thread_start(&q->server, serve, q) != 0) {
            crd_dist_questions_close(&q);
            return crd_fail(CRD_ERR_SYSTEM, "can't start a thread that shares out the work");
        }
        q->serving = true;
    }
    *out = q;
    return CRD_OK;
}

crd_status crd_dist_ask(crd_dist_questions *q, const void *question, int64_t bytes, void *answer)
{
    crd_flight flights[2];
    CRD_PASS(crd_dist_check(q->dist));
    if (q->dist->place.rank == 0) {
        answer_one(q, 0, question, answer);
        return CRD_OK;
    }
    if (bytes > CRD_DIST_QUESTION_BYTES) return crd_fail(CRD_ERR_INTERNAL, "a question that is too long");
    memcpy(q->question, question, (size_t)bytes);
    CRD_PASS(crd_dist_receive(q->dist, 0, CRD_TAG_ANSWER, q->reply, q->answer_bytes, &flights[0]));
    CRD_PASS(crd_dist_send(q->dist, 0, CRD_TAG_QUESTION, q->question, bytes, &flights[1]));
    CRD_PASS(crd_dist_wait(q->dist, flights, 2));
    memcpy(answer, q->reply, (size_t)q->answer_bytes);
    return CRD_OK;
}

void crd_dist_questions_close(crd_dist_questions **questions)
{
    crd_dist_questions *q = *questions;
    if (q == NULL) return;
    if (q->serving) {
        atomic_store(&q->stop, true);
        pthread_join(q->server, NULL);
    }
    pthread_mutex_destroy(&q->answering);
    crd_dist_release(q->dist, questions);
}
