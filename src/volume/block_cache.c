#include "volume/block_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

typedef struct entry entry;
struct entry {
    crd_block block; /* first: a pointer to one is a pointer to the other */
    int64_t page, number, bytes;
    size_t cost;          /* of the data and of this record */
    int64_t holders;      /* it stays while there are any */
    bool published;       /* in the table and in the list */
    entry *newer, *older; /* by last use */
    entry *chained;       /* in the same bucket */
};

enum { FIRST_BUCKETS = 1024, BOOKKEEPING = sizeof(entry) + 64, LARGE = 2 << 20 };

struct crd_block_cache {
    size_t limit;
    pthread_mutex_t lock;
    /* Guarded by the lock. */
    int64_t references;
    size_t bytes, count;
    entry *newest, *oldest;
    entry **buckets;
    size_t bucket_count; /* a power of two */
};

static size_t bucket_of(size_t bucket_count, int64_t page, int64_t number)
{
    uint64_t h = (uint64_t)page * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)number;
    h = (h ^ (h >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(h ^ (h >> 32)) & (bucket_count - 1);
}

static crd_status create(size_t limit, crd_block_cache **out)
{
    crd_status status = CRD_OK;
    crd_block_cache *cache = NULL;
    CRD_TRY(crd_alloc(1, sizeof *cache, "a cache of decoded blocks", &cache));
    cache->limit = limit;
    cache->references = 1;
    cache->bucket_count = FIRST_BUCKETS;
    pthread_mutex_init(&cache->lock, NULL);
    CRD_TRY(crd_alloc(FIRST_BUCKETS, sizeof(entry *), "a cache of decoded blocks", &cache->buckets));
    *out = cache;
    cache = NULL;
done:
    crd_block_cache_free(&cache);
    return status;
}

crd_status crd_block_cache_open(size_t limit, crd_block_cache **shared, crd_block_cache **out)
{
    *out = NULL;
    if (shared != NULL && *shared != NULL) {
        *out = crd_block_cache_share(*shared);
        return CRD_OK;
    }
    CRD_PASS(create(limit, out));
    if (shared != NULL) *shared = crd_block_cache_share(*out);
    return CRD_OK;
}

crd_block_cache *crd_block_cache_share(crd_block_cache *cache)
{
    if (cache == NULL) return NULL;
    pthread_mutex_lock(&cache->lock);
    cache->references++;
    pthread_mutex_unlock(&cache->lock);
    return cache;
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

/* Takes an entry that nobody holds out of the table and the list. */
static void take_out(crd_block_cache *cache, entry *e)
{
    entry **link = &cache->buckets[bucket_of(cache->bucket_count, e->page, e->number)];
    CRD_ASSERT(e->holders == 0 && e->published && cache->count > 0 && cache->bytes >= e->cost);
    while (*link != e) link = &(*link)->chained;
    *link = e->chained;
    unlink_use(cache, e);
    cache->bytes -= e->cost;
    cache->count--;
}

static void free_chain(entry *e)
{
    while (e != NULL) {
        entry *next = e->chained;
        crd_free(&e->block.data);
        crd_free(&e);
        e = next;
    }
}

void crd_block_cache_free(crd_block_cache **pointer)
{
    crd_block_cache *cache = *pointer;
    if (cache == NULL) return;
    *pointer = NULL;
    pthread_mutex_lock(&cache->lock);
    const bool last = --cache->references == 0;
    pthread_mutex_unlock(&cache->lock);
    if (!last) return;
    while (cache->oldest != NULL) {
        entry *e = cache->oldest;
        take_out(cache, e);
        e->chained = NULL;
        free_chain(e);
    }
    pthread_mutex_destroy(&cache->lock);
    crd_free(&cache->buckets);
    crd_free(&cache);
}

static entry *look_up(const crd_block_cache *cache, int64_t page, int64_t number)
{
    entry *e = cache->buckets[bucket_of(cache->bucket_count, page, number)];
    while (e != NULL && (e->page != page || e->number != number)) e = e->chained;
    return e;
}

crd_block *crd_block_cache_find(crd_block_cache *cache, int64_t page, int64_t block, int64_t bytes)
{
    pthread_mutex_lock(&cache->lock);
    entry *e = look_up(cache, page, block);
    if (e != NULL && e->bytes != bytes) e = NULL; /* the file isn't the same any more */
    if (e != NULL) {
        e->holders++;
        unlink_use(cache, e);
        link_newest(cache, e);
    }
    pthread_mutex_unlock(&cache->lock);
    return e != NULL ? &e->block : NULL;
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
        entry **bucket = &buckets[bucket_of(count, e->page, e->number)];
        e->chained = *bucket;
        *bucket = e;
    }
    crd_free(&cache->buckets);
    cache->buckets = buckets;
    cache->bucket_count = count;
}

/* Books `cost` bytes and gives up blocks for them; those are freed when the lock is no longer held. */
static void make_room(crd_block_cache *cache, size_t cost)
{
    entry *gone = NULL;
    pthread_mutex_lock(&cache->lock);
    for (entry *e = cache->oldest; e != NULL && cache->bytes + cost > cache->limit;) {
        entry *next = e->newer;
        if (e->holders == 0) {
            take_out(cache, e);
            e->chained = gone;
            gone = e;
        }
        e = next;
    }
    cache->bytes += cost;
    pthread_mutex_unlock(&cache->lock);
    free_chain(gone);
}

static void give_back(crd_block_cache *cache, size_t cost)
{
    pthread_mutex_lock(&cache->lock);
    CRD_ASSERT(cache->bytes >= cost);
    cache->bytes -= cost;
    pthread_mutex_unlock(&cache->lock);
}

crd_status crd_block_cache_add(crd_block_cache *cache, int64_t page, int64_t block, int64_t bytes, crd_block **out)
{
    crd_status status = CRD_OK;
    entry *e = NULL;
    if (!crd_block_cache_fits(cache, bytes)) {
        return crd_fail(CRD_ERR_MEMORY, "a block of %lld bytes doesn't fit a cache of %zu bytes", (long long)bytes,
                        cache->limit);
    }
    const size_t cost = (size_t)cost_of(bytes);
    make_room(cache, cost);
    CRD_TRY(crd_alloc(1, sizeof *e, "a decoded block", &e));
    CRD_TRY(crd_alloc(bytes, 1, "a decoded block", &e->block.data));
    e->page = page;
    e->number = block;
    e->bytes = bytes;
    e->cost = cost;
    e->holders = 1;
    *out = &e->block;
    e = NULL;
done:
    if (status != CRD_OK) give_back(cache, cost);
    crd_free(&e);
    return status;
}

void crd_block_cache_publish(crd_block_cache *cache, crd_block *block)
{
    entry *e = (entry *)block;
    pthread_mutex_lock(&cache->lock);
    /* Another thread may have been faster: then this one stays the caller's own. */
    if (look_up(cache, e->page, e->number) == NULL) {
        grow(cache);
        entry **bucket = &cache->buckets[bucket_of(cache->bucket_count, e->page, e->number)];
        e->chained = *bucket;
        *bucket = e;
        link_newest(cache, e);
        cache->count++;
        e->published = true;
    }
    pthread_mutex_unlock(&cache->lock);
}

void crd_block_cache_release(crd_block_cache *cache, crd_block **block)
{
    entry *e = (entry *)*block;
    if (e == NULL) return;
    *block = NULL;
    pthread_mutex_lock(&cache->lock);
    CRD_ASSERT(e->holders > 0);
    e->holders--;
    const bool published = e->published;
    if (!published) cache->bytes -= e->cost;
    pthread_mutex_unlock(&cache->lock);
    if (!published) free_chain(e);
}

size_t crd_block_cache_bytes(crd_block_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const size_t bytes = cache->bytes;
    pthread_mutex_unlock(&cache->lock);
    return bytes;
}
