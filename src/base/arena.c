#include "base/arena.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/sanitizers.h"

/* A sanitizer sees what is written beyond a piece, as it would with pieces of their own. */
#ifdef __SANITIZE_ADDRESS__
enum { ALIGNMENT = 64, GAP = 64 };
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
enum { ALIGNMENT = 64, GAP = 0 };
#endif

void *crd_arena_take(crd_arena *arena, int64_t count, size_t size)
{
    const int64_t begin = arena->used;
    int64_t bytes, end;
    if (__builtin_mul_overflow(count, (int64_t)size, &bytes) || bytes < 0 ||
        __builtin_add_overflow(begin, bytes, &end) || end > INT64_MAX - GAP - ALIGNMENT) {
        arena->used = INT64_MAX - GAP - ALIGNMENT;
        return NULL;
    }
    arena->used = (end + GAP + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (arena->base == NULL) return NULL;
    ASAN_POISON_MEMORY_REGION(arena->base + end, (size_t)(arena->used - end));
    return arena->base + begin;
}

int64_t crd_arena_count(crd_arena_walk *walk, void *owner)
{
    crd_arena arena = {0};
    walk(&arena, owner);
    return arena.used;
}

crd_status crd_arena_carve(crd_arena_walk *walk, void *owner, const char *what, void *block)
{
    crd_arena arena = {0};
    const int64_t bytes = crd_arena_count(walk, owner);
    CRD_PASS(crd_alloc(bytes, 1, what, &arena.base));
    walk(&arena, owner);
    CRD_ASSERT(arena.used == bytes);
    memcpy(block, &arena.base, sizeof arena.base);
    return CRD_OK;
}
