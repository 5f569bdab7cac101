/* One block of memory, counted and then carved (base/arena.h). */
#include "base/arena.h"

#include "base/memory.h"
#include "harness.h"

typedef struct owner {
    int64_t sizes[5];
    char *pieces[5];
    int walks;
} owner;

static void walk(crd_arena *arena, void *context)
{
    owner *o = context;
    o->walks++;
    for (int i = 0; i < 5; i++) o->pieces[i] = crd_arena_take(arena, o->sizes[i], 3);
}

static void test_pieces_are_apart_aligned_and_zero(void)
{
    owner o = {.sizes = {1, 0, 64, 21, 100000}};
    char *block = NULL;
    const int64_t bytes = crd_arena_count(walk, &o);
    CHECK(o.walks == 1 && bytes % 64 == 0);
    for (int i = 0; i < 5; i++) CHECK(o.pieces[i] == NULL);
    CHECK_OK(crd_arena_carve(walk, &o, "a test", &block));
    CHECK(o.walks == 3 && o.pieces[0] == block);
    for (int i = 0; i < 5; i++) {
        const char *end = i < 4 ? o.pieces[i + 1] : block + bytes;
        CHECK((uintptr_t)o.pieces[i] % 64 == 0 && o.pieces[i] + 3 * o.sizes[i] <= end);
        for (int64_t k = 0; k < 3 * o.sizes[i]; k++) CHECK(o.pieces[i][k] == 0);
        memset(o.pieces[i], i + 1, (size_t)(3 * o.sizes[i]));
    }
    for (int i = 0; i < 5; i++) {
        for (int64_t k = 0; k < 3 * o.sizes[i]; k++) CHECK(o.pieces[i][k] == i + 1);
    }
    crd_free(&block);
}

static void test_nothing(void)
{
    owner o = {.sizes = {0}};
    char *block = NULL;
    CHECK_OK(crd_arena_carve(walk, &o, "a test", &block));
    crd_free(&block);
}

/* No size that overflows ends as a small block. */
static void test_sizes_that_no_machine_has(void)
{
    static const int64_t most[][2] = {{INT64_MAX, 1}, {INT64_MAX / 3, 1}, {INT64_MAX / 6, INT64_MAX / 6}, {-1, 1}};
    for (int i = 0; i < 4; i++) {
        owner o = {.sizes = {7, most[i][0], 9, most[i][1], 5}};
        char *block = NULL;
        CHECK(crd_arena_carve(walk, &o, "a test", &block) != CRD_OK);
        CHECK(block == NULL);
    }
}

TEST_MAIN(TEST(test_pieces_are_apart_aligned_and_zero), TEST(test_nothing), TEST(test_sizes_that_no_machine_has))
