#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "view/tiles/tile.h"
#include "volume/block_cache.h"

struct crd_tile_cache {
    crd_block_cache *blocks;
};

crd_status crd_tile_cache_open(size_t limit, crd_tile_cache **out)
{
    crd_status status = CRD_OK;
    crd_tile_cache *cache = NULL;
    CRD_TRY(crd_alloc(1, sizeof *cache, "the tiles", &cache));
    CRD_TRY(crd_block_cache_open(limit, NULL, &cache->blocks));
    *out = cache;
    cache = NULL;
done:
    crd_tile_cache_free(&cache);
    return status;
}

void crd_tile_cache_free(crd_tile_cache **cache)
{
    if (*cache != NULL) crd_block_cache_free(&(*cache)->blocks);
    crd_free(cache);
}

/* 128 bits of hash stand for the place: that two tiles ever share them is less likely than a fault of the memory. */
static void key_of(const crd_tile_place *place, int64_t revision, int64_t key[2])
{
    const int64_t numbers[] = {place->layer, place->axis,   place->level, place->slice,
                               place->row,   place->column, revision};
    const double range[] = {place->low + 0.0, place->high + 0.0};
    for (int i = 0; i < 2; i++) {
        uint64_t hash = CRD_FNV1A_OF_NONE;
        hash = crd_fnv1a(hash, &i, sizeof i);
        hash = crd_fnv1a(hash, numbers, sizeof numbers);
        hash = crd_fnv1a(hash, range, sizeof range);
        key[i] = (int64_t)(hash >> 1);
    }
}

bool crd_tile_cache_get(crd_tile_cache *cache, const crd_tile_place *place, int64_t revision, int64_t count,
                        uint8_t *pixels)
{
    int64_t key[2];
    key_of(place, revision, key);
    crd_block *block = crd_block_cache_find(cache->blocks, key[0], key[1], count);
    if (block == NULL) return false;
    memcpy(pixels, block->data, (size_t)count);
    crd_block_cache_release(cache->blocks, &block);
    return true;
}

void crd_tile_cache_put(crd_tile_cache *cache, const crd_tile_place *place, int64_t revision, int64_t count,
                        const uint8_t *pixels)
{
    crd_block *block = NULL;
    int64_t key[2];
    key_of(place, revision, key);
    if (!crd_block_cache_fits(cache->blocks, count)) return;
    if (crd_block_cache_add(cache->blocks, key[0], key[1], count, &block) != CRD_OK) return;
    memcpy(block->data, pixels, (size_t)count);
    crd_block_cache_publish(cache->blocks, block);
    crd_block_cache_release(cache->blocks, &block);
}
