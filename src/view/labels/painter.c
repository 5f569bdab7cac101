#include "view/labels/painter.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "view/view.h"

enum { WAITING = 256, TOGETHER = 16, STORE_SECONDS = 5 };

struct crd_painter {
    crd_view *view;
    crd_reader reader;
    pthread_mutex_t lock; /* of the ring */
    pthread_cond_t arrived;
    crd_waiting ring[WAITING];
    int64_t head, tail;
    bool stopping, runs;
    pthread_t thread;
    double store_at; /* when what was painted goes into the chunks; 0: nothing was */
    bool storing;
    /* What is answered together. */
    crd_exchange *exchanges[TOGETHER];
    crd_response responses[TOGETHER];
};

bool crd_painter_wants(const crd_request *request)
{
    static const char *const words[] = {"labels", "classes", "boxes", "loop", "jobs"};
    if (request->method == CRD_GET || request->part_count < 3 || strcmp(request->parts[0], "api") != 0) return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(request->parts[2], words[i]) == 0) return true;
    }
    return false;
}

bool crd_painter_take(crd_painter *p, crd_exchange *exchange, const crd_request *request)
{
    pthread_mutex_lock(&p->lock);
    const bool room = !p->stopping && p->tail - p->head < WAITING;
    if (room) {
        crd_waiting *slot = &p->ring[p->tail++ % WAITING];
        slot->exchange = exchange;
        crd_request_copy(request, &slot->request);
        pthread_cond_signal(&p->arrived);
    }
    pthread_mutex_unlock(&p->lock);
    return room;
}

/* Those that wait now, answered but not yet sent. */
static int answer_waiting(crd_painter *p)
{
    int count = 0;
    while (count < TOGETHER) {
        crd_request request;
        pthread_mutex_lock(&p->lock);
        const bool any = p->head < p->tail;
        if (any) {
            const crd_waiting *slot = &p->ring[p->head++ % WAITING];
            p->exchanges[count] = slot->exchange;
            crd_request_copy(&slot->request, &request);
        }
        pthread_mutex_unlock(&p->lock);
        if (!any) break;
        p->responses[count] = (crd_response){0};
        crd_view_answer(p->view, &p->reader, &request, &p->responses[count]);
        count++;
    }
    return count;
}

/* What can't be brought onto the disk isn't confirmed: whoever asked asks again. */
static void refuse_all(crd_painter *p, int count)
{
    for (int i = 0; i < count; i++) {
        if (p->responses[i].status >= 300) continue;
        crd_response_error(&p->responses[i], 503, "disk", "%s", crd_last_error()->message);
        p->responses[i].retry_after = 1;
    }
    atomic_fetch_add(&p->view->label_base, 1 << 20); /* tiles of what is taken back are never shown */
}

static void confirm(crd_painter *p, int count)
{
    const int64_t before = p->view->label_told;
    if (crd_labels_sync(p->view->labels) != CRD_OK) refuse_all(p, count);
    crd_view_tell_labels(p->view);
    if (p->view->label_told != before && p->store_at == 0.0) p->store_at = crd_seconds() + STORE_SECONDS;
    for (int i = 0; i < count; i++) p->view->http->answer(p->exchanges[i], &p->responses[i]);
}

/* A chunk at a time, so that who paints doesn't wait for all of them. */
static void store(crd_painter *p)
{
    bool unfinished = false;
    p->store_at = 0.0;
    if (crd_labels_store(p->view->labels, 1, &unfinished) != CRD_OK) {
        crd_view_complain(p->view);
        unfinished = false;
        p->store_at = crd_seconds() + STORE_SECONDS;
    }
    p->storing = unfinished;
}

/* Until something comes, or there is something to store; false: all is done and the end has come. */
static bool wait_for_work(crd_painter *p)
{
    bool more = true;
    pthread_mutex_lock(&p->lock);
    while (p->head == p->tail && !p->stopping && !p->storing) {
        if (p->store_at == 0.0) {
            pthread_cond_wait(&p->arrived, &p->lock);
            continue;
        }
        const double left = p->store_at - crd_seconds();
        struct timespec until;
        if (left <= 0.0) break;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)left + 1;
        (void)pthread_cond_timedwait(&p->arrived, &p->lock, &until);
    }
    if (p->stopping && p->head == p->tail) more = false;
    pthread_mutex_unlock(&p->lock);
    return more;
}

static void *body(void *context)
{
    crd_painter *p = context;
    while (wait_for_work(p)) {
        const int count = answer_waiting(p);
        if (count > 0) confirm(p, count);
        if (count == 0 && (p->storing || p->store_at != 0.0)) store(p);
    }
    return NULL;
}

crd_status crd_painter_start(crd_view *view, crd_painter **out)
{
    crd_status status = CRD_OK;
    crd_painter *p = NULL;
    CRD_TRY(crd_alloc(1, sizeof *p, "the painter", &p));
    if (pthread_mutex_init(&p->lock, NULL) != 0 || pthread_cond_init(&p->arrived, NULL) != 0) {
        crd_free(&p);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    p->view = view;
    p->reader.layers = &view->layers;
    const int cause = crd_thread_start(&p->thread, body, p);
    if (cause != 0) CRD_FAIL(CRD_ERR_SYSTEM, "can't start a thread: %s", strerror(cause));
    p->runs = true;
    *out = p;
    p = NULL;
done:
    crd_painter_stop(&p);
    return status;
}

void crd_painter_stop(crd_painter **painter)
{
    crd_painter *p = *painter;
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->arrived);
    pthread_mutex_unlock(&p->lock);
    if (p->runs) (void)pthread_join(p->thread, NULL);
    crd_reader_close(&p->reader);
    pthread_cond_destroy(&p->arrived);
    pthread_mutex_destroy(&p->lock);
    crd_free(painter);
}
