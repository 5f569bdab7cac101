/* Threads that work ahead of their owner or behind it: numbered items, begun in order.
 *
 * The owner allows items and waits for them. Who reads ahead allows as many as there is room for, and more when room
 * comes free; who writes behind allows each as soon as it is filled in. What belongs to an item lies with the owner, as
 * a rule in a ring of slots: what the owner writes before it allows an item is seen by whoever works on that, and what
 * was done is seen by the owner after waiting for it. A queue belongs to one thread; only that more is
 * allowed may be said by any, one at a time. */
#ifndef CRD_BASE_QUEUE_H
#define CRD_BASE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_queue crd_queue;

typedef struct crd_queue_plan {
    const char *what; /* its threads do: "reads the scan"; for the sentence where none can be started */
    int threads;
    void *context;
    /* Once on every thread, before its first item; crd_queue_open waits for all. NULL: nothing. */
    crd_status (*begin)(void *context, int thread);
    crd_status (*work)(void *context, int64_t item, int thread);
} crd_queue_plan;

crd_status crd_queue_open(const crd_queue_plan *plan, crd_queue **out);
/* Waits for what is being worked on; nothing more is begun. */
void crd_queue_close(crd_queue **queue);

/* Items before `end` may be begun. */
void crd_queue_allow(crd_queue *queue, int64_t end);
/* Until all items before `end`, which are allowed, are done. Where one of them failed this fails as it did: of several,
 * as the first item; nothing is begun after that. */
crd_status crd_queue_wait(crd_queue *queue, int64_t end);
/* Whether crd_queue_wait would return at once; gives them so many milliseconds to get there. */
bool crd_queue_wait_a_while(crd_queue *queue, int64_t end, int milliseconds);

#endif
