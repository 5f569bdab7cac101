/* Decoded pieces of a compressed file, kept while there is room; the least recently used one goes first.
 *
 * Several volumes of one file, each used by a thread of its own, may share one. A block is held while somebody uses it,
 * and the lock only while one is looked for: decoding and copying go on side by side. */
#ifndef CRD_VOLUME_BLOCK_CACHE_H
#define CRD_VOLUME_BLOCK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_block_cache crd_block_cache;
typedef struct crd_block {
    void *data;
} crd_block;

/* `limit` bounds the bytes of all blocks together, with what keeping them costs; blocks that are held aren't given up,
 * so that every thread may add one to it. `shared`, where not NULL: the cache there is used, and a new one put there
 * where it is NULL; the limit is then that of the first. Both references are freed. */
crd_status crd_block_cache_open(size_t limit, crd_block_cache **shared, crd_block_cache **out);
crd_block_cache *crd_block_cache_share(crd_block_cache *cache); /* another reference; NULL gives NULL */
void crd_block_cache_free(crd_block_cache **cache);

/* The block of that key and size, held until it is released; or NULL. */
crd_block *crd_block_cache_find(crd_block_cache *cache, int64_t page, int64_t block, int64_t bytes);

/* Makes room and gives memory for a block that isn't there, for the caller to fill and to publish, held until it is
 * released. More than `limit` is refused: ask crd_block_cache_fits first. */
crd_status crd_block_cache_add(crd_block_cache *cache, int64_t page, int64_t block, int64_t bytes, crd_block **out);
bool crd_block_cache_fits(const crd_block_cache *cache, int64_t bytes);

/* It is filled and won't be changed: from now on it can be found. */
void crd_block_cache_publish(crd_block_cache *cache, crd_block *block);
/* The caller is done with it, and *block NULL. One that wasn't published is gone. NULL is fine. */
void crd_block_cache_release(crd_block_cache *cache, crd_block **block);

/* Bytes taken now. */
size_t crd_block_cache_bytes(crd_block_cache *cache);

#endif
