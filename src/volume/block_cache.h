/* Decoded pieces of a compressed file, kept while there is room; the one not asked for longest goes first. */
#ifndef CRD_VOLUME_BLOCK_CACHE_H
#define CRD_VOLUME_BLOCK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct crd_block_cache crd_block_cache;

/* `limit` bounds the bytes of all blocks together, with what keeping them costs. */
crd_status crd_block_cache_create(size_t limit, crd_block_cache **out);
void crd_block_cache_free(crd_block_cache **cache);

/* The block of that key, or NULL. Valid until the next add. */
void *crd_block_cache_find(crd_block_cache *cache, int64_t page, int64_t block);

/* Makes room and gives memory for a block that isn't there yet, for the caller to fill. More than `limit` is refused:
 * ask crd_block_cache_fits first. */
crd_status crd_block_cache_add(crd_block_cache *cache, int64_t page, int64_t block, int64_t bytes, void **out);
bool crd_block_cache_fits(const crd_block_cache *cache, int64_t bytes);

/* Takes the block added last out again: it couldn't be filled. */
void crd_block_cache_drop_newest(crd_block_cache *cache);

/* Bytes held now. */
size_t crd_block_cache_bytes(const crd_block_cache *cache);

#endif
