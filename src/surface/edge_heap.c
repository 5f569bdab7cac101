#include "surface/edge_heap.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

static bool before(const crd_heap_edge *a, const crd_heap_edge *b)
{
    if (a->cost != b->cost) return a->cost < b->cost;
    return a->a != b->a ? a->a < b->a : a->b < b->b;
}

static crd_status make_room(crd_edge_heap *heap)
{
    crd_heap_edge *larger = NULL;
    const int64_t room = heap->room > 0 ? 2 * heap->room : 1 << 12;
    CRD_PASS(crd_alloc(room, sizeof *larger, "the list of edges", &larger));
    if (heap->count > 0) memcpy(larger, heap->edges, (size_t)heap->count * sizeof *larger);
    crd_free(&heap->edges);
    heap->edges = larger;
    heap->room = room;
    return CRD_OK;
}

crd_status crd_edge_heap_push(crd_edge_heap *heap, crd_heap_edge edge)
{
    if (heap->count == heap->room) CRD_PASS(make_room(heap));
    int64_t at = heap->count++;
    while (at > 0 && before(&edge, &heap->edges[(at - 1) / 2])) {
        heap->edges[at] = heap->edges[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->edges[at] = edge;
    return CRD_OK;
}

crd_heap_edge crd_edge_heap_pop(crd_edge_heap *heap)
{
    const crd_heap_edge first = heap->edges[0], last = heap->edges[--heap->count];
    int64_t at = 0;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && before(&heap->edges[child + 1], &heap->edges[child])) child++;
        if (!before(&heap->edges[child], &last)) break;
        heap->edges[at] = heap->edges[child];
        at = child;
    }
    if (heap->count > 0) heap->edges[at] = last;
    return first;
}

void crd_edge_heap_free(crd_edge_heap *heap)
{
    crd_free(&heap->edges);
    memset(heap, 0, sizeof *heap);
}
