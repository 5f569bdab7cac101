#include "predict/sums/slab.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/file.h"
#include "base/memory.h"

enum { LARGEST_EDGE = 64 };
/* Where a tile is: a slot number, or one of these. */
enum { NOWHERE = -1, ON_DISK = -2 }; /* NOWHERE: it is zero */

struct crd_slab {
    crd_slab_shape shape;
    crd_slab_tiles tiles;
    int64_t slots;
    char *memory;        /* slots * tiles.bytes */
    int32_t *place;      /* of every tile */
    int64_t *tenant;     /* of every slot: a tile, or -1 */
    uint8_t *touched;    /* of every slot, since the hand passed */
    int64_t hand, fresh; /* slots from `fresh` on were never used */
    int32_t *vacant;     /* a stack of slots that were released */
    int64_t vacant_count;
    void *tables; /* one block behind these arrays, but for `memory` */
    char *path;
    int fd;
};

/* Tiles of equal size, so that little of the last ones is padding. */
static void divide_axis(int64_t voxels, int64_t *edge, int64_t *count)
{
    *count = (voxels + LARGEST_EDGE - 1) / LARGEST_EDGE;
    *edge = (voxels + *count - 1) / *count;
}

crd_status crd_slab_divide(const crd_slab_shape *shape, crd_slab_tiles *out)
{
    int64_t planes;
    divide_axis(shape->height, &out->edge[0], &out->count[0]);
    divide_axis(shape->width, &out->edge[1], &out->count[1]);
    out->bytes = out->edge[0] * out->edge[1] * (shape->wide ? 8 : 4);
    CRD_PASS(crd_product(shape->depth, shape->sums, 1, &planes));
    CRD_PASS(crd_product(planes, out->count[0], out->count[1], &out->total));
    if (out->total > INT32_MAX) {
        return crd_fail(CRD_ERR_MEMORY,
                        "the sums of a slab need %lld tiles, too many to number; use fewer samples, or "
                        "a chunk that is less deep",
                        (long long)out->total);
    }
    return CRD_OK;
}

static void lay_out(crd_arena *arena, void *owner)
{
    crd_slab *slab = owner;
    slab->place = crd_arena_take(arena, slab->tiles.total, sizeof *slab->place);
    slab->tenant = crd_arena_take(arena, slab->slots, sizeof *slab->tenant);
    slab->touched = crd_arena_take(arena, slab->slots, 1);
    slab->vacant = crd_arena_take(arena, slab->slots, sizeof *slab->vacant);
}

int64_t crd_slab_overhead(const crd_slab_tiles *tiles)
{
    crd_slab counted = {.tiles = *tiles, .slots = tiles->total};
    return (int64_t)sizeof counted + crd_arena_count(lay_out, &counted);
}

crd_status crd_slab_create(const crd_slab_shape *shape, int64_t memory, const char *scratch, crd_slab **out)
{
    crd_status status = CRD_OK;
    crd_slab *slab = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *slab, "the sums", &slab));
    slab->shape = *shape;
    slab->fd = -1;
    CRD_TRY(crd_slab_divide(shape, &slab->tiles));
    const crd_slab_tiles *tiles = &slab->tiles;
    slab->slots = memory / tiles->bytes;
    if (slab->slots < CRD_SLAB_LEAST_TILES) slab->slots = CRD_SLAB_LEAST_TILES;
    if (slab->slots > tiles->total) slab->slots = tiles->total;
    CRD_TRY(crd_arena_carve(lay_out, slab, "the table of tiles", &slab->tables));
    for (int64_t i = 0; i < tiles->total; i++) slab->place[i] = NOWHERE;
    CRD_TRY(crd_alloc(slab->slots, (size_t)tiles->bytes, "the sums of a slab", &slab->memory));
    if (slab->slots < tiles->total) {
        CRD_TRY(crd_strdup(scratch, &slab->path));
        slab->fd = crd_open(scratch, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC);
        if (slab->fd < 0) {
            status = crd_fail_errno("can't make the scratch file %s", scratch);
            goto done;
        }
    }
    *out = slab;
    slab = NULL;
done:
    crd_slab_free(&slab);
    return status;
}

void crd_slab_free(crd_slab **pointer)
{
    crd_slab *slab = *pointer;
    if (slab == NULL) return;
    if (slab->fd >= 0) {
        (void)close(slab->fd);
        (void)unlink(slab->path);
    }
    crd_free(&slab->path);
    crd_free(&slab->memory);
    crd_free(&slab->tables);
    crd_free(pointer);
}

const crd_slab_tiles *crd_slab_division(const crd_slab *slab)
{
    return &slab->tiles;
}

/* A slot whose tile, if it had one, is on disk now: the first one that wasn't touched since the hand came by last. */
static crd_status take_slot(crd_slab *slab, int64_t *out)
{
    if (slab->vacant_count > 0) {
        *out = slab->vacant[--slab->vacant_count];
        return CRD_OK;
    }
    if (slab->fresh < slab->slots) {
        *out = slab->fresh++;
        return CRD_OK;
    }
    while (slab->touched[slab->hand]) {
        slab->touched[slab->hand] = 0;
        slab->hand = (slab->hand + 1) % slab->slots;
    }
    const int64_t slot = slab->hand, tile = slab->tenant[slot];
    CRD_ASSERT(tile >= 0 && slab->place[tile] == slot); /* no slot is vacant, so each has a tile */
    CRD_PASS(crd_write_at(slab->fd, slab->path, tile * slab->tiles.bytes, slab->memory + slot * slab->tiles.bytes,
                          (size_t)slab->tiles.bytes));
    slab->place[tile] = ON_DISK;
    slab->hand = (slot + 1) % slab->slots;
    *out = slot;
    return CRD_OK;
}

crd_status crd_slab_tile(crd_slab *slab, int64_t z, int64_t sum, int64_t tile_y, int64_t tile_x, void **out)
{
    const crd_slab_tiles *tiles = &slab->tiles;
    const int64_t plane = z % slab->shape.depth * slab->shape.sums + sum;
    const int64_t tile = (plane * tiles->count[0] + tile_y) * tiles->count[1] + tile_x;
    CRD_ASSERT(z >= 0 && sum >= 0 && sum < slab->shape.sums);
    CRD_ASSERT(tile_y >= 0 && tile_y < tiles->count[0] && tile_x >= 0 && tile_x < tiles->count[1]);
    int64_t slot = slab->place[tile];
    if (slot < 0) {
        const bool on_disk = slot == ON_DISK;
        CRD_PASS(take_slot(slab, &slot));
        char *memory = slab->memory + slot * tiles->bytes;
        slab->tenant[slot] = tile;
        slab->place[tile] = (int32_t)slot;
        if (on_disk) {
            CRD_PASS(crd_read_at(slab->fd, slab->path, tile * tiles->bytes, memory, (size_t)tiles->bytes));
        } else {
            memset(memory, 0, (size_t)tiles->bytes);
        }
    }
    slab->touched[slot] = 1;
    *out = slab->memory + slot * tiles->bytes;
    return CRD_OK;
}

bool crd_slab_whole(const crd_slab *slab)
{
    return slab->slots == slab->tiles.total;
}

void crd_slab_release(crd_slab *slab, int64_t z)
{
    const int64_t per_slice = slab->shape.sums * slab->tiles.count[0] * slab->tiles.count[1];
    const int64_t first = z % slab->shape.depth * per_slice;
    for (int64_t tile = first; tile < first + per_slice; tile++) {
        const int32_t slot = slab->place[tile];
        slab->place[tile] = NOWHERE;
        if (slot < 0) continue;
        slab->tenant[slot] = NOWHERE;
        slab->touched[slot] = 0;
        CRD_ASSERT(slab->vacant_count < slab->slots);
        slab->vacant[slab->vacant_count++] = slot;
    }
}
