/* Waiting, failing, and the collective operations, from single messages. */
#include "dist/dist.h"
#include "base/assert.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "dist/internal.h"

/* A process that waits looks often at first, because most answers are there at once, then leaves the processor to
 * others: ranks may outnumber cores, and the one that is waited for may sit on the other half of this core. Seconds. */
static const double spinning = 2e-4, hurrying = 1.0, nap = 2e-5, long_nap = 1e-3, poll_interval = 0.05;
/* After a request to stop, others get so long to come to the same point; then they count as gone. */
static const double patience = 10.0;
static const double notice_seconds = 2.0;

int crd_dist_rank(const crd_dist *dist)
{
    return dist->place.rank;
}

int crd_dist_size(const crd_dist *dist)
{
    return dist->place.size;
}

const crd_place *crd_dist_place(const crd_dist *dist)
{
    return &dist->place;
}

static void pass_message(void *context, crd_level level, const char *text)
{
    const crd_monitor *outer = ((const crd_dist *)context)->monitor;
    if (outer->message != NULL) outer->message(outer->context, level, text);
}

static bool pass_progress(void *context, const crd_progress *progress)
{
    crd_dist *dist = context;
    if (crd_dist_check(dist) != CRD_OK) return false;
    return dist->monitor->progress == NULL || dist->monitor->progress(dist->monitor->context, progress);
}

const crd_monitor *crd_dist_watch(crd_dist *dist, const crd_monitor *monitor)
{
    static const crd_monitor silent = {0};
    if (dist->place.size == 1) return monitor;
    dist->monitor = monitor != NULL ? monitor : &silent;
    dist->linked = (crd_monitor){.context = dist, .message = pass_message, .progress = pass_progress};
    return &dist->linked;
}

crd_status crd_dist_send(crd_dist *dist, int to, enum crd_dist_tag tag, const void *data, int64_t bytes,
                         crd_flight *out)
{
    out->done = false;
    pthread_mutex_lock(&dist->lock);
    const crd_status status = dist->transport->send(to, (int)tag, data, bytes, &out->message);
    if (status != CRD_OK) dist->adrift = true; /* those before it */
    pthread_mutex_unlock(&dist->lock);
    return status;
}

crd_status crd_dist_receive(crd_dist *dist, int from, enum crd_dist_tag tag, void *data, int64_t bytes, crd_flight *out)
{
    out->done = false;
    pthread_mutex_lock(&dist->lock);
    const crd_status status = dist->transport->receive(from, (int)tag, data, bytes, &out->message);
    if (status != CRD_OK) dist->adrift = true; /* those before it */
    pthread_mutex_unlock(&dist->lock);
    return status;
}

crd_status crd_dist_probe(crd_dist *dist, enum crd_dist_tag tag, bool *there, int *from, int64_t *bytes)
{
    pthread_mutex_lock(&dist->lock);
    const crd_status status = dist->transport->probe((int)tag, there, from, bytes);
    pthread_mutex_unlock(&dist->lock);
    return status;
}

crd_status crd_dist_test(crd_dist *dist, crd_flight *flights, int64_t count, bool *done)
{
    crd_status status = CRD_OK;
    *done = true;
    pthread_mutex_lock(&dist->lock);
    for (int64_t i = 0; i < count && status == CRD_OK; i++) {
        if (flights[i].done) continue;
        status = dist->transport->test(&flights[i].message, &flights[i].done);
        *done = *done && flights[i].done;
    }
    pthread_mutex_unlock(&dist->lock);
    return status;
}

static void sleep_for(double seconds)
{
    const struct timespec time = {.tv_nsec = (long)(seconds * 1e9)};
    (void)nanosleep(&time, NULL);
}

/* Has the caller asked to stop? Only a look: a progress without a total draws nothing. */
static bool asked_to_stop(const crd_dist *dist)
{
    const crd_progress nothing = {.stage = "waiting", .unit = "ranks"};
    const crd_monitor *monitor = dist->monitor;
    return monitor != NULL && monitor->progress != NULL && !monitor->progress(monitor->context, &nothing);
}

/* One look between two tests: others' failures, the caller's wish, a nap. */
typedef struct waiting {
    double begin, polled, asked; /* asked: when the caller's wish to stop was first seen, or 0 */
} waiting;

static crd_status wait_a_little(crd_dist *dist, waiting *w)
{
    const double now = crd_seconds();
    CRD_PASS(crd_dist_check(dist));
    if (w->begin == 0.0) w->begin = w->polled = now;
    if (now - w->polled > poll_interval) {
        w->polled = now;
        if (w->asked == 0.0 && asked_to_stop(dist)) w->asked = now;
        if (w->asked != 0.0 && now - w->asked > patience) {
            return crd_fail(CRD_ERR_CANCELLED, "stopped while waiting for the other processes, which don't answer");
        }
    }
    if (now - w->begin < spinning) {
        (void)sched_yield();
    } else {
        sleep_for(now - w->begin < hurrying ? nap : long_nap);
    }
    return CRD_OK;
}

crd_status crd_dist_wait(crd_dist *dist, crd_flight *flights, int64_t count)
{
    waiting w = {0};
    for (bool done = false;;) {
        crd_status status = crd_dist_test(dist, flights, count, &done);
        if (status == CRD_OK && done) return CRD_OK;
        if (status == CRD_OK) status = wait_a_little(dist, &w);
        if (status == CRD_OK) continue;
        pthread_mutex_lock(&dist->lock);
        dist->adrift = true;
        pthread_mutex_unlock(&dist->lock);
        return status;
    }
}

void crd_dist_release(crd_dist *dist, void *pointer_to_pointer)
{
    void *memory;
    pthread_mutex_lock(&dist->lock);
    const bool adrift = dist->adrift;
    pthread_mutex_unlock(&dist->lock);
    if (!dist->broken && !adrift) {
        crd_free_untyped(pointer_to_pointer);
        return;
    }
    memcpy(&memory, pointer_to_pointer, sizeof memory);
    if (memory != NULL && dist->kept_count < CRD_DIST_KEPT) dist->kept[dist->kept_count++] = memory;
    memory = NULL;
    memcpy(pointer_to_pointer, &memory, sizeof memory);
}

void crd_dist_forget(crd_dist *dist)
{
    while (dist->kept_count > 0) crd_free(&dist->kept[--dist->kept_count]);
    dist->broken = dist->adrift = false;
}

/* Reads the notice that `from` sent. */
static crd_status read_notice(crd_dist *dist, int from)
{
    crd_dist_notice *notice = &dist->notice;
    crd_flight flight;
    bool done = false;
    CRD_PASS(crd_dist_receive(dist, from, CRD_TAG_NOTICE, notice, (int64_t)sizeof *notice, &flight));
    while (!done) CRD_PASS(crd_dist_test(dist, &flight, 1, &done));
    notice->message[sizeof notice->message - 1] = notice->host[sizeof notice->host - 1] = '\0';
    dist->broken = true;
    (void)crd_fail((crd_status)notice->status, "rank %d (%s): %.800s", from, notice->host, notice->message);
    dist->error = *crd_last_error();
    return CRD_OK;
}

crd_status crd_dist_check(crd_dist *dist)
{
    bool there = false;
    int from = 0;
    int64_t bytes = 0;
    if (dist->place.size == 1) return CRD_OK;
    if (!dist->broken) CRD_PASS(crd_dist_probe(dist, CRD_TAG_NOTICE, &there, &from, &bytes));
    if (there) CRD_PASS(read_notice(dist, from));
    return dist->broken ? crd_error_adopt(&dist->error) : CRD_OK;
}

void crd_dist_fail(crd_dist *dist)
{
    const int size = dist->place.size;
    crd_flight *flights = NULL;
    bool done = false;
    if (size == 1) return;
    if (dist->broken) { /* whatever was said since: that is the cause */
        (void)crd_error_adopt(&dist->error);
        return;
    }
    dist->broken = true;
    dist->error = *crd_last_error();
    dist->notice = (crd_dist_notice){.status = dist->error.status};
    memcpy(dist->notice.host, dist->place.host, sizeof dist->notice.host);
    memcpy(dist->notice.message, dist->error.message, sizeof dist->notice.message);
    if (crd_alloc(size, sizeof *flights, "a notice", &flights) == CRD_OK) {
        crd_status status = CRD_OK;
        for (int to = 0; to < size; to++) {
            flights[to].done = true;
            if (to == dist->place.rank) continue;
            if (crd_dist_send(dist, to, CRD_TAG_NOTICE, &dist->notice, (int64_t)sizeof dist->notice, &flights[to]) !=
                CRD_OK) {
                flights[to].done = true; /* that one is gone */
            }
        }
        for (const double begin = crd_seconds(); !done && status == CRD_OK && crd_seconds() - begin < notice_seconds;) {
            status = crd_dist_test(dist, flights, size, &done);
            if (!done) sleep_for(nap);
        }
    }
    crd_free(&flights);
    (void)crd_error_adopt(&dist->error);
}

/* A binomial tree: in round k the ranks below 2^k send to those 2^k further on. */
crd_status crd_dist_broadcast(crd_dist *dist, void *data, int64_t bytes)
{
    crd_status status = CRD_OK;
    const int rank = dist->place.rank, size = dist->place.size;
    crd_flight flights[32];
    int64_t count = 0;
    char *buffer = NULL;
    int reach = 1;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_dist_check(dist));
    CRD_TRY(crd_alloc(bytes, 1, "a message", &buffer));
    if (rank == 0) {
        memcpy(buffer, data, (size_t)bytes);
    } else {
        while (2 * reach <= rank) reach *= 2;
        CRD_TRY(crd_dist_receive(dist, rank - reach, CRD_TAG_BROADCAST, buffer, bytes, &flights[0]));
        CRD_TRY(crd_dist_wait(dist, flights, 1));
        memcpy(data, buffer, (size_t)bytes);
        reach *= 2;
    }
    for (; rank + reach < size; reach *= 2) {
        CRD_TRY(crd_dist_send(dist, rank + reach, CRD_TAG_BROADCAST, buffer, bytes, &flights[count++]));
    }
    CRD_TRY(crd_dist_wait(dist, flights, count));
done:
    crd_dist_release(dist, &buffer);
    return status;
}

static crd_status receive_all(crd_dist *dist, int64_t bytes, char *buffer, crd_flight *flights)
{
    const int size = dist->place.size;
    for (int from = 0; from < size; from++) {
        flights[from].done = true;
        if (from == dist->place.rank) continue;
        CRD_PASS(crd_dist_receive(dist, from, CRD_TAG_GATHER, buffer + from * bytes, bytes, &flights[from]));
    }
    return crd_dist_wait(dist, flights, size);
}

crd_status crd_dist_gather(crd_dist *dist, const void *own, int64_t bytes, void *all)
{
    crd_status status = CRD_OK;
    const int rank = dist->place.rank, size = dist->place.size;
    crd_flight flight, *flights = NULL;
    char *buffer = NULL;
    if (size == 1) {
        memcpy(all, own, (size_t)bytes);
        return CRD_OK;
    }
    CRD_TRY(crd_dist_check(dist));
    CRD_TRY(crd_alloc(rank == 0 ? bytes * size : bytes, 1, "a message", &buffer));
    memcpy(buffer, own, (size_t)bytes);
    if (rank == 0) {
        CRD_TRY(crd_alloc(size, sizeof *flights, "messages", &flights));
        CRD_TRY(receive_all(dist, bytes, buffer, flights));
        memcpy(all, buffer, (size_t)(bytes * size));
    } else {
        CRD_TRY(crd_dist_send(dist, 0, CRD_TAG_GATHER, buffer, bytes, &flight));
        CRD_TRY(crd_dist_wait(dist, &flight, 1));
    }
done:
    crd_dist_release(dist, &buffer);
    crd_free(&flights);
    return status;
}

crd_status crd_dist_share(crd_dist *dist, const void *own, int64_t bytes, void *all)
{
    CRD_PASS(crd_dist_gather(dist, own, bytes, all));
    return crd_dist_broadcast(dist, all, bytes * dist->place.size);
}

crd_status crd_dist_barrier(crd_dist *dist)
{
    bool any;
    return crd_dist_any(dist, false, &any);
}

crd_status crd_dist_any(crd_dist *dist, bool own, bool *any)
{
    crd_status status = CRD_OK;
    const int size = dist->place.size;
    uint8_t *all = NULL, result = own;
    *any = own;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(size, 1, "a message", &all));
    CRD_TRY(crd_dist_gather(dist, &result, 1, all));
    for (int i = 0; i < size; i++) result = result || all[i]; /* zeros but at rank 0 */
    CRD_TRY(crd_dist_broadcast(dist, &result, 1));
    *any = result != 0;
done:
    crd_free(&all);
    return status;
}

void crd_dist_part(int64_t count, int size, int rank, int64_t *begin, int64_t *end)
{
    CRD_ASSERT(count >= 0 && size > 0 && rank >= 0 && rank < size);
    const int64_t each = count / size, more = count % size;
    *begin = rank * each + (rank < more ? rank : more);
    *end = *begin + each + (rank < more);
}
