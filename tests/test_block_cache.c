#include "volume/block_cache.h"

#include "harness.h"

static crd_status add(crd_block_cache *cache, int64_t page, int64_t block, int64_t bytes, unsigned char mark)
{
    void *data = NULL;
    const crd_status status = crd_block_cache_add(cache, page, block, bytes, &data);
    if (status == CRD_OK) memset(data, mark, (size_t)bytes);
    return status;
}

static void test_the_oldest_goes_first(void)
{
    crd_block_cache *cache = NULL;
    CHECK_OK(crd_block_cache_create(10000, &cache));
    for (int i = 0; i < 8; i++) CHECK_OK(add(cache, i, 0, 1000, (unsigned char)i));
    const unsigned char *first = crd_block_cache_find(cache, 0, 0);
    CHECK(first != NULL && first[999] == 0);
    CHECK_OK(add(cache, 100, 7, 2000, 77)); /* pushes out 1 and what else it needs, not 0, which was just used */
    CHECK(crd_block_cache_find(cache, 0, 0) != NULL);
    CHECK(crd_block_cache_find(cache, 1, 0) == NULL);
    CHECK(crd_block_cache_find(cache, 7, 0) != NULL);
    const unsigned char *added = crd_block_cache_find(cache, 100, 7);
    CHECK(added != NULL && added[0] == 77 && added[1999] == 77);
    CHECK(crd_block_cache_find(cache, 7, 100) == NULL);
    CHECK(crd_block_cache_bytes(cache) <= 10000);
    crd_block_cache_free(&cache);
    CHECK(cache == NULL);
}

static void test_what_never_fits_is_refused(void)
{
    crd_block_cache *cache = NULL;
    CHECK_OK(crd_block_cache_create(1000, &cache));
    CHECK(!crd_block_cache_fits(cache, 1000) && crd_block_cache_fits(cache, 500) && !crd_block_cache_fits(cache, -1));
    CHECK_FAILS(add(cache, 0, 0, 1000, 0), CRD_ERR_MEMORY, "doesn't fit");
    CHECK_OK(add(cache, 0, 0, 500, 0));
    crd_block_cache_drop_newest(cache);
    CHECK(crd_block_cache_find(cache, 0, 0) == NULL && crd_block_cache_bytes(cache) == 0);
    crd_block_cache_drop_newest(cache);
    crd_block_cache_free(&cache);
    CHECK_OK(crd_block_cache_create((size_t)9 << 20, &cache)); /* large blocks are rounded up to 2 MiB each */
    for (int i = 0; i < 8; i++) CHECK_OK(add(cache, i, 0, (2 << 20) + 1, 1));
    CHECK(crd_block_cache_find(cache, 6, 0) != NULL && crd_block_cache_find(cache, 5, 0) == NULL);
    crd_block_cache_free(&cache);
}

static void test_many_small_blocks(void)
{
    crd_block_cache *cache = NULL;
    CHECK_OK(crd_block_cache_create((size_t)64 << 20, &cache));
    for (int64_t i = 0; i < 100000; i++) CHECK_OK(add(cache, i / 300, i % 300, 16, (unsigned char)i));
    for (int64_t i = 0; i < 100000; i++) {
        const unsigned char *data = crd_block_cache_find(cache, i / 300, i % 300);
        CHECK(data != NULL && data[15] == (unsigned char)i);
    }
    crd_block_cache_free(&cache);
}

TEST_MAIN(TEST(test_the_oldest_goes_first), TEST(test_what_never_fits_is_refused), TEST(test_many_small_blocks))
