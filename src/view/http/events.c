#include "view/http/events.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { KEPT = 256, EVENT_BYTES = 1024 };

struct crd_events {
    pthread_mutex_t lock;
    int64_t last; /* the first has the number 1 */
    struct {
        int64_t bytes;
        char text[EVENT_BYTES];
    } kept[KEPT];
};

crd_status crd_events_open(crd_events **out)
{
    crd_events *events = NULL;
    CRD_PASS(crd_alloc(1, sizeof *events, "the events", &events));
    if (pthread_mutex_init(&events->lock, NULL) != 0) {
        crd_free(&events);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    *out = events;
    return CRD_OK;
}

void crd_events_free(crd_events **events)
{
    if (*events != NULL) pthread_mutex_destroy(&(*events)->lock);
    crd_free(events);
}

static void keep(crd_events *events, const char *name, const char *json)
{
    pthread_mutex_lock(&events->lock);
    const int64_t number = events->last + 1;
    char *text = events->kept[number % KEPT].text;
    const int bytes =
        name != NULL ? snprintf(text, EVENT_BYTES, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)number, name, json)
                     : snprintf(text, EVENT_BYTES, ":\n\n");
    if (bytes > 0 && bytes < EVENT_BYTES) {
        events->kept[number % KEPT].bytes = bytes;
        events->last = number;
    }
    pthread_mutex_unlock(&events->lock);
}

void crd_events_add(crd_events *events, const char *name, const char *json)
{
    keep(events, name, json);
}

void crd_events_keep_alive(crd_events *events)
{
    keep(events, NULL, NULL);
}

int64_t crd_events_last(crd_events *events)
{
    pthread_mutex_lock(&events->lock);
    const int64_t last = events->last;
    pthread_mutex_unlock(&events->lock);
    return last;
}

int64_t crd_events_read(crd_events *events, int64_t *position, char *bytes, int64_t room)
{
    int64_t written = 0;
    pthread_mutex_lock(&events->lock);
    if (*position > events->last || *position < 0) *position = events->last; /* of an earlier server */
    if (*position < events->last - (KEPT - 1)) *position = events->last - (KEPT - 1);
    while (*position < events->last) {
        const int64_t next = *position + 1, count = events->kept[next % KEPT].bytes;
        if (written + count > room) break;
        memcpy(bytes + written, events->kept[next % KEPT].text, (size_t)count);
        written += count;
        *position = next;
    }
    pthread_mutex_unlock(&events->lock);
    return written;
}
