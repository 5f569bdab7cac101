/* Questions to rank 0. A thread there looks for them while the job runs, so that nobody waits for rank 0's own work. */
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/thread.h"
#include "dist/internal.h"

static void answer_one(crd_dist *dist, int rank, const void *question, void *answer)
{
    pthread_mutex_lock(&dist->answering);
    dist->answer(dist->context, rank, question, answer);
    pthread_mutex_unlock(&dist->answering);
}

/* Short against a band, long against the work of looking. */
static void take_a_nap(void)
{
    const struct timespec time = {.tv_nsec = 2000000};
    (void)nanosleep(&time, NULL);
}

/* The server's own way of waiting: a request to stop ends it. */
static bool finish(crd_dist *dist, crd_flight *flight)
{
    for (bool done = false; !atomic_load(&dist->stop);) {
        if (crd_dist_test(dist, flight, 1, &done) != CRD_OK) return false;
        if (done) return true;
        take_a_nap();
    }
    return false;
}

/* Where a message can't be moved the server ends, and the thread that runs the job sees the same failure by itself. */
static void *serve(void *context)
{
    crd_dist *dist = context;
    while (!atomic_load(&dist->stop)) {
        bool there = false;
        int from = 0;
        int64_t bytes = 0;
        crd_flight flight;
        if (crd_dist_probe(dist, CRD_TAG_QUESTION, &there, &from, &bytes) != CRD_OK) break;
        if (!there) {
            take_a_nap();
            continue;
        }
        if (bytes > CRD_DIST_QUESTION_BYTES ||
            crd_dist_receive(dist, from, CRD_TAG_QUESTION, dist->question, bytes, &flight) != CRD_OK) {
            break;
        }
        if (!finish(dist, &flight)) break;
        answer_one(dist, from, dist->question, dist->reply);
        if (crd_dist_send(dist, from, CRD_TAG_ANSWER, dist->reply, dist->answer_bytes, &flight) != CRD_OK) break;
        if (!finish(dist, &flight)) break;
    }
    return NULL;
}

crd_status crd_dist_open(crd_dist *dist, crd_dist_answer *answer, void *context, int64_t answer_bytes)
{
    dist->answer = answer;
    dist->context = context;
    dist->answer_bytes = answer_bytes;
    if (dist->place.size == 1) return CRD_OK;
    CRD_PASS(crd_alloc(answer_bytes, 1, "answers", &dist->reply));
    if (dist->place.rank != 0) return CRD_OK;
    atomic_store(&dist->stop, false);
    if (crd_thread_start(&dist->server, serve, dist) != 0) {
        return crd_fail(CRD_ERR_SYSTEM, "can't start a thread that shares out the work");
    }
    dist->serving = true;
    return CRD_OK;
}

crd_status crd_dist_ask(crd_dist *dist, const void *question, int64_t bytes, void *answer)
{
    crd_flight flights[2];
    CRD_PASS(crd_dist_check(dist));
    if (dist->place.rank == 0) {
        answer_one(dist, 0, question, answer);
        return CRD_OK;
    }
    if (bytes > CRD_DIST_QUESTION_BYTES) return crd_fail(CRD_ERR_INTERNAL, "a question that is too long");
    memcpy(dist->question, question, (size_t)bytes);
    CRD_PASS(crd_dist_receive(dist, 0, CRD_TAG_ANSWER, dist->reply, dist->answer_bytes, &flights[0]));
    CRD_PASS(crd_dist_send(dist, 0, CRD_TAG_QUESTION, dist->question, bytes, &flights[1]));
    CRD_PASS(crd_dist_wait(dist, flights, 2));
    memcpy(answer, dist->reply, (size_t)dist->answer_bytes);
    return CRD_OK;
}

void crd_dist_close(crd_dist *dist)
{
    if (dist->serving) {
        atomic_store(&dist->stop, true);
        pthread_join(dist->server, NULL);
        dist->serving = false;
    }
    crd_dist_release(dist, &dist->reply);
}
