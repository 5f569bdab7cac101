#include "volume/block_cache.h"

#include <pthread.h>

#include "harness.h"

static crd_status add(crd_block_cache *cache, int64_t page, int64_t number, int64_t bytes, unsigned char mark)
{
    crd_block *block = NULL;
    const crd_status status = crd_block_cache_add(cache, page, number, bytes, &block);
    if (status != CRD_OK) return status;
    memset(block->data, mark, (size_t)bytes);
    crd_block_cache_publish(cache, block);
    crd_block_cache_release(cache, &block);
    return status;
}

/* Its last byte, or -1 where there is no such block. */
static int look(crd_block_cache *cache, int64_t page, int64_t number, int64_t bytes)
{
    crd_block *block = crd_block_cache_find(cache, page, number, bytes);
    const int last = block != NULL ? ((unsigned char *)block->data)[bytes - 1] : -1;
    crd_block_cache_release(cache, &block);
    return last;
}

static void test_the_oldest_goes_first(void)
{
    crd_block_cache *cache = NULL;
    CHECK_OK(crd_block_cache_open(10000, NULL, &cache));
    for (int i = 0; i < 8; i++) CHECK_OK(add(cache, i, 0, 1000, (unsigned char)i));
    CHECK(look(cache, 0, 0, 1000) == 0);
    CHECK_OK(add(cache, 100, 7, 2000, 77)); /* pushes out 1 and what else it needs, not 0, which was just used */
    CHECK(look(cache, 0, 0, 1000) == 0);
    CHECK(look(cache, 1, 0, 1000) == -1);
    CHECK(look(cache, 7, 0, 1000) == 7);
    CHECK(look(cache, 100, 7, 2000) == 77);
    CHECK(look(cache, 7, 100, 2000) == -1);
    CHECK(look(cache, 100, 7, 2001) == -1); /* of another size: the file was replaced */
    CHECK(crd_block_cache_bytes(cache) <= 10000);
    crd_block_cache_free(&cache);
    CHECK(cache == NULL);
}

static void test_what_is_held_stays(void)
{
    crd_block_cache *cache = NULL;
    crd_block *held = NULL, *unseen = NULL;
    CHECK_OK(crd_block_cache_open(4000, NULL, &cache));
    CHECK_OK(add(cache, 0, 0, 1000, 5));
    held = crd_block_cache_find(cache, 0, 0, 1000);
    CHECK(held != NULL);
    for (int i = 1; i < 20; i++) CHECK_OK(add(cache, i, 0, 1000, 1));
    CHECK(((unsigned char *)held->data)[999] == 5 && look(cache, 0, 0, 1000) == 5);
    crd_block_cache_release(cache, &held);
    for (int i = 1; i < 20; i++) CHECK_OK(add(cache, 20 + i, 0, 1000, 1));
    CHECK(look(cache, 0, 0, 1000) == -1 && crd_block_cache_bytes(cache) <= 4000);
    /* What isn't published can't be found; of two that were made at the same time, the first is kept. */
    CHECK_OK(crd_block_cache_add(cache, 77, 0, 1000, &unseen));
    CHECK(look(cache, 77, 0, 1000) == -1);
    CHECK_OK(add(cache, 77, 0, 1000, 9));
    memset(unseen->data, 8, 1000);
    crd_block_cache_publish(cache, unseen);
    crd_block_cache_release(cache, &unseen);
    CHECK(unseen == NULL && look(cache, 77, 0, 1000) == 9);
    crd_block_cache_free(&cache);
}

static void test_what_never_fits_is_refused(void)
{
    crd_block_cache *cache = NULL;
    crd_block *block = NULL;
    CHECK_OK(crd_block_cache_open(1000, NULL, &cache));
    CHECK(!crd_block_cache_fits(cache, 1000) && crd_block_cache_fits(cache, 500) && !crd_block_cache_fits(cache, -1));
    CHECK_FAILS(add(cache, 0, 0, 1000, 0), CRD_ERR_MEMORY, "doesn't fit");
    CHECK_OK(crd_block_cache_add(cache, 0, 0, 500, &block));
    CHECK(crd_block_cache_bytes(cache) >= 500);
    crd_block_cache_release(cache, &block); /* it couldn't be filled */
    CHECK(look(cache, 0, 0, 500) == -1 && crd_block_cache_bytes(cache) == 0);
    crd_block_cache_free(&cache);
    CHECK_OK(crd_block_cache_open((size_t)9 << 20, NULL, &cache)); /* large blocks are rounded up to 2 MiB each */
    for (int i = 0; i < 8; i++) CHECK_OK(add(cache, i, 0, (2 << 20) + 1, 1));
    CHECK(look(cache, 6, 0, (2 << 20) + 1) == 1 && look(cache, 5, 0, (2 << 20) + 1) == -1);
    crd_block_cache_free(&cache);
}

static void test_many_small_blocks(void)
{
    crd_block_cache *cache = NULL;
    CHECK_OK(crd_block_cache_open((size_t)64 << 20, NULL, &cache));
    for (int64_t i = 0; i < 100000; i++) CHECK_OK(add(cache, i / 300, i % 300, 16, (unsigned char)i));
    for (int64_t i = 0; i < 100000; i++) CHECK(look(cache, i / 300, i % 300, 16) == (unsigned char)i);
    crd_block_cache_free(&cache);
}

/* Threads that look for, make and give up the same blocks; the limit holds a quarter of them. */
enum { THREADS = 6, KEYS = 200, ROUNDS = 20000, BLOCK = 512 };
static crd_block_cache *common;
static int64_t hits[THREADS];

static bool holds(const crd_block *block, int64_t key)
{
    const int64_t *values = block->data;
    for (int i = 0; i < BLOCK / 8; i++) {
        if (values[i] != key + i) return false;
    }
    return true;
}

static void *use_common(void *context)
{
    const intptr_t self = (intptr_t)context; /* from 1 on: NULL says that something was wrong */
    uint64_t random = (uint64_t)self;
    crd_block_cache *cache = NULL;
    if (crd_block_cache_open(1, &common, &cache) != CRD_OK) return NULL;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const int64_t key = (int64_t)((random >> 33) % KEYS);
        crd_block *block = crd_block_cache_find(cache, key, 0, BLOCK);
        hits[self - 1] += block != NULL;
        if (block == NULL) {
            if (crd_block_cache_add(cache, key, 0, BLOCK, &block) != CRD_OK) return NULL;
            for (int k = 0; k < BLOCK / 8; k++) ((int64_t *)block->data)[k] = key + k;
            if (i % 7 != 0) crd_block_cache_publish(cache, block);
        }
        if (!holds(block, key)) return NULL;
        crd_block_cache_release(cache, &block);
    }
    crd_block_cache_free(&cache);
    return context;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    const size_t limit = (size_t)KEYS / 4 * (BLOCK + 200);
    crd_block_cache *first = NULL;
    CHECK_OK(crd_block_cache_open(limit, &common, &first));
    CHECK(common == first);
    for (intptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, use_common, (void *)(i + 1)) == 0);
    for (intptr_t i = 0; i < THREADS; i++) {
        void *result = NULL;
        CHECK(pthread_join(threads[i], &result) == 0 && result == (void *)(i + 1));
        CHECK(hits[i] > ROUNDS / 10 && hits[i] < ROUNDS / 2);
    }
    CHECK(crd_block_cache_bytes(first) <= limit);
    crd_block_cache_free(&first);
    CHECK(look(common, 0, 0, BLOCK) >= -1); /* still there: the other reference holds it */
    crd_block_cache_free(&common);
}

TEST_MAIN(TEST(test_the_oldest_goes_first), TEST(test_what_is_held_stays), TEST(test_what_never_fits_is_refused),
          TEST(test_many_small_blocks), TEST(test_threads))
