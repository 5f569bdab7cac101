/* Edges by what it costs to remove them, the cheapest first. Costs that differ by less than 1/256 count as equal: edges
 * then lie in rooms by the leading bits of their costs, and neither putting one in nor taking one out compares it with
 * others. */
#ifndef CRD_SURFACE_EDGE_QUEUE_H
#define CRD_SURFACE_EDGE_QUEUE_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_queued_edge {
    uint32_t a, b;
    uint32_t stamp; /* the owner's, to tell whether the edge has changed since */
    uint32_t next;  /* in its room, or among the free ones */
} crd_queued_edge;

/* Begins as {0}. */
typedef struct crd_edge_queue {
    crd_queued_edge *edges;
    uint32_t *rooms; /* the first edge of each */
    int64_t count;   /* edges in all rooms */
    int64_t used, room;
    uint32_t free;   /* the first of those taken out */
    uint32_t lowest; /* no room before this one has an edge */
} crd_edge_queue;

/* `cost` isn't negative. */
crd_status crd_edge_queue_put(crd_edge_queue *queue, float cost, uint32_t a, uint32_t b, uint32_t stamp);
/* The queue isn't empty. */
crd_queued_edge crd_edge_queue_take(crd_edge_queue *queue);
void crd_edge_queue_free(crd_edge_queue *queue);

#endif
