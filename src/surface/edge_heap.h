/* Edges by what it costs to remove them, the cheapest first; equal ones in the order of their vertices. */
#ifndef CRD_SURFACE_EDGE_HEAP_H
#define CRD_SURFACE_EDGE_HEAP_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_heap_edge {
    float cost;
    uint32_t a, b;
    uint32_t stamp; /* the owner's, to tell whether the edge has changed since */
} crd_heap_edge;

typedef struct crd_edge_heap {
    crd_heap_edge *edges;
    int64_t count, room;
} crd_edge_heap;

crd_status crd_edge_heap_push(crd_edge_heap *heap, crd_heap_edge edge);
/* The heap isn't empty. */
crd_heap_edge crd_edge_heap_pop(crd_edge_heap *heap);
void crd_edge_heap_free(crd_edge_heap *heap);

#endif
