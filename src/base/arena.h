/* One block of memory for many things: counted, then carved.
 *
 * A walk takes what its owner needs and notes where that lies. It runs twice: over an arena without memory it only
 * counts, and over one of just that size it carves. So what something says it needs is what it takes. */
#ifndef CRD_BASE_ARENA_H
#define CRD_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_arena {
    char *base; /* NULL while counting */
    int64_t used;
} crd_arena;

/* Room for `count` things, zeroed and aligned to 64 bytes; NULL while counting. A size that no machine has makes
 * crd_arena_carve fail. */
void *crd_arena_take(crd_arena *arena, int64_t count, size_t size);

typedef void crd_arena_walk(crd_arena *arena, void *owner);

int64_t crd_arena_count(crd_arena_walk *walk, void *owner);
/* *block: what the walk carved, for crd_free. `what` names it in the error sentence. */
crd_status crd_arena_carve(crd_arena_walk *walk, void *owner, const char *what, void *block);

#endif
