#include "surface/edge_queue.h"

#include <string.h>

#include "base/memory.h"

/* The sign is 0; 8 bits of the exponent and the 8 leading ones of the fraction are the room. */
enum { ROOMS = 1 << 16, DROPPED_BITS = 15 };
static const uint32_t none = UINT32_MAX;

static crd_status make_room(crd_edge_queue *q)
{
    crd_queued_edge *larger = NULL;
    const int64_t room = q->room > 0 ? 2 * q->room : 1 << 12;
    if (room >= UINT32_MAX) return crd_fail(CRD_ERR_MEMORY, "a few slices' surface has too many edges to decimate");
    CRD_PASS(crd_alloc(room, sizeof *larger, "the list of edges", &larger));
    if (q->used > 0) memcpy(larger, q->edges, (size_t)q->used * sizeof *larger);
    crd_free(&q->edges);
    q->edges = larger;
    q->room = room;
    return CRD_OK;
}

static crd_status begin(crd_edge_queue *q)
{
    CRD_PASS(crd_alloc(ROOMS, sizeof *q->rooms, "the list of edges", &q->rooms));
    memset(q->rooms, 0xff, ROOMS * sizeof *q->rooms);
    q->free = none;
    q->lowest = ROOMS - 1;
    return CRD_OK;
}

crd_status crd_edge_queue_put(crd_edge_queue *q, float cost, uint32_t a, uint32_t b, uint32_t stamp)
{
    uint32_t bits, at;
    if (q->rooms == NULL) CRD_PASS(begin(q));
    if (q->free != none) {
        at = q->free;
        q->free = q->edges[at].next;
    } else {
        if (q->used == q->room) CRD_PASS(make_room(q));
        at = (uint32_t)q->used++;
    }
    memcpy(&bits, &cost, sizeof bits);
    const uint32_t room = bits >> DROPPED_BITS;
    q->edges[at] = (crd_queued_edge){.a = a, .b = b, .stamp = stamp, .next = q->rooms[room]};
    q->rooms[room] = at;
    if (room < q->lowest) q->lowest = room;
    q->count++;
    return CRD_OK;
}

crd_queued_edge crd_edge_queue_take(crd_edge_queue *q)
{
    while (q->rooms[q->lowest] == none) q->lowest++;
    const uint32_t at = q->rooms[q->lowest];
    const crd_queued_edge edge = q->edges[at];
    q->rooms[q->lowest] = edge.next;
    q->edges[at].next = q->free;
    q->free = at;
    q->count--;
    return edge;
}

void crd_edge_queue_free(crd_edge_queue *q)
{
    crd_free(&q->edges);
    crd_free(&q->rooms);
    memset(q, 0, sizeof *q);
}
