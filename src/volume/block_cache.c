#include "volume/block_cache.h"

#include <stdlib.h>

#include "base/memory.h"

typedef struct entry entry;
struct entry {
    int64_t page, block;
    size_t bytes;         /* of the data and of this record */
    entry *newer, *older; /* by last use */
    entry *chained;       /* in the same bucket */
    void *data;
};

enum { FIRST_BUCKETS = 1024, BOOKKEEPING = sizeof(entry) + 64, LARGE = 2 << 20 };

struct crd_block_cache {
    size_t limit, bytes, count;
    entry *newest, *oldest;
    entry **buckets;
    size_t bucket_count; /* a power of two */
};

static size_t bucket_of(size_t bucket_count, int64_t page, int64_t block)
{
    uint64_t h = (uint64_t)page * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)block;
    h = (h ^ (h >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(h ^ (h >> 32)) & (bucket_count - 1);
}

crd_status crd_block_cache_create(size_t limit, crd_block_cache **out)
{
    crd_status status = CRD_OK;
    crd_block_cache *cache = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *cache, "a cache of decoded blocks", &cache));
    cache->limit = limit;
    cache->bucket_count = FIRST_BUCKETS;
    CRD_TRY(crd_alloc(FIRST_BUCKETS, sizeof(entry *), "a cache of decoded blocks", &cache->buckets));
    *out = cache;
    cache = NULL;
done:
    crd_block_cache_free(&cache);
    return status;
}

static void unlink_use(crd_block_cache *cache, entry *e)
{
    *(e->newer != NULL ? &e->newer->older : &cache->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &cache->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void link_newest(crd_block_cache *cache, entry *e)
{
    e->older = cache->newest;
    e->newer = NULL;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

static void discard(crd_block_cache *cache, entry *e)
{
    entry **link = &cache->buckets[bucket_of(cache->bucket_count, e->page, e->block)];
    while (*link != e) link = &(*link)->chained;
    *link = e->chained;
    unlink_use(cache, e);
    cache->bytes -= e->bytes;
    cache->count--;
    crd_free(&e->data);
    crd_free(&e);
}

void crd_block_cache_free(crd_block_cache **cache)
{
    if (*cache == NULL) return;
    while ((*cache)->oldest != NULL) discard(*cache, (*cache)->oldest);
    crd_free(&(*cache)->buckets);
    crd_free(cache);
}

void *crd_block_cache_find(crd_block_cache *cache, int64_t page, int64_t block)
{
    entry *e = cache->buckets[bucket_of(cache->bucket_count, page, block)];
    while (e != NULL && (e->page != page || e->block != block)) e = e->chained;
    if (e == NULL) return NULL;
    unlink_use(cache, e);
    link_newest(cache, e);
    return e->data;
}

/* What crd_alloc really takes: blocks of more than 2 MiB are rounded up to whole huge pages. */
static uint64_t cost_of(int64_t bytes)
{
    const uint64_t exact = (uint64_t)bytes;
    return (exact < LARGE ? exact : (exact + LARGE - 1) / LARGE * LARGE) + BOOKKEEPING;
}

bool crd_block_cache_fits(const crd_block_cache *cache, int64_t bytes)
{
    return bytes >= 0 && cost_of(bytes) <= cache->limit;
}

/* Chains stay short; without memory for a larger table they just get longer. */
static void grow(crd_block_cache *cache)
{
    entry **buckets = NULL;
    const size_t count = cache->bucket_count * 4;
    if (cache->count < cache->bucket_count * 2) return;
    if (crd_alloc((int64_t)count, sizeof(entry *), "a cache of decoded blocks", &buckets) != CRD_OK) return;
    for (entry *e = cache->newest; e != NULL; e = e->older) {
        entry **bucket = &buckets[bucket_of(count, e->page, e->block)];
        e->chained = *bucket;
        *bucket = e;
    }
    crd_free(&cache->buckets);
    cache->buckets = buckets;
    cache->bucket_count = count;
}

crd_status crd_block_cache_add(crd_block_cache *cache, int64_t page, int64_t block, int64_t bytes, void **out)
{
    crd_status status = CRD_OK;
    entry *e = NULL;
    if (!crd_block_cache_fits(cache, bytes)) {
        return crd_fail(CRD_ERR_MEMORY, "a block of %lld bytes doesn't fit a cache of %zu bytes", (long long)bytes,
                        cache->limit);
    }
    const size_t cost = (size_t)cost_of(bytes);
    while (cache->oldest != NULL && cache->bytes + cost > cache->limit) discard(cache, cache->oldest);
    CRD_TRY(crd_alloc(1, sizeof *e, "a decoded block", &e));
    CRD_TRY(crd_alloc(bytes, 1, "a decoded block", &e->data));
    grow(cache);
    entry **bucket = &cache->buckets[bucket_of(cache->bucket_count, page, block)];
    e->page = page;
    e->block = block;
    e->bytes = cost;
    e->chained = *bucket;
    *bucket = e;
    link_newest(cache, e);
    cache->bytes += cost;
    cache->count++;
    *out = e->data;
    e = NULL;
done:
    crd_free(&e);
    return status;
}

void crd_block_cache_drop_newest(crd_block_cache *cache)
{
    if (cache->newest != NULL) discard(cache, cache->newest);
}

size_t crd_block_cache_bytes(const crd_block_cache *cache)
{
    return cache->bytes;
}
