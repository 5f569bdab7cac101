#include "view/labels/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/labels/image.h"

typedef struct block {
    uint8_t *voxels;
    int64_t number;
    bool changed, wanted; /* since it was stored; and before the last begin_store */
    struct block *older, *newer;
} block;

struct crd_label_blocks {
    char *folder;
    crd_volume_info info;
    int64_t counts[3], total;
    pthread_mutex_t lock; /* of all below; not held while a file is read */
    block **table;        /* by number; NULL: not in memory */
    uint8_t *missing;     /* by number: known to have no file */
    block *newest, *oldest;
    int64_t kept, limit, changed, stores; /* blocks in memory, and at most; `stores` rises with every file's change */
    bool made;                            /* the image's own files are there */
    uint8_t *stored;                      /* the storing thread's copy */
};

crd_status crd_label_blocks_open(const char *folder, const crd_volume_info *info, size_t memory, crd_label_blocks **out)
{
    crd_status status = CRD_OK;
    crd_label_blocks *b = NULL;
    CRD_TRY(crd_alloc(1, sizeof *b, "the labels", &b));
    if (pthread_mutex_init(&b->lock, NULL) != 0) {
        crd_free(&b);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    b->info = *info;
    for (int i = 0; i < 3; i++) b->counts[i] = (info->shape[i] + CRD_BLOCK_EDGE - 1) / CRD_BLOCK_EDGE;
    b->limit = (int64_t)(memory / CRD_BLOCK_VOXELS);
    if (b->limit < 4) b->limit = 4;
    CRD_TRY(crd_product(b->counts[0], b->counts[1], b->counts[2], &b->total));
    CRD_TRY(crd_strdup(folder, &b->folder));
    CRD_TRY(crd_alloc(b->total, sizeof *b->table, "the list of labels", &b->table));
    CRD_TRY(crd_alloc(b->total, 1, "the list of labels", &b->missing));
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &b->stored));
    CRD_TRY(crd_image_check(folder, info, &b->made));
    *out = b;
    b = NULL;
done:
    crd_label_blocks_close(&b);
    return status;
}

void crd_label_blocks_close(crd_label_blocks **blocks)
{
    crd_label_blocks *b = *blocks;
    if (b == NULL) return;
    if (b->table != NULL && b->missing != NULL) crd_label_blocks_forget(b);
    crd_free(&b->table);
    crd_free(&b->missing);
    crd_free(&b->stored);
    crd_free(&b->folder);
    pthread_mutex_destroy(&b->lock);
    crd_free(blocks);
}

const int64_t *crd_label_blocks_shape(const crd_label_blocks *blocks)
{
    return blocks->info.shape;
}

const int64_t *crd_label_blocks_counts(const crd_label_blocks *blocks)
{
    return blocks->counts;
}

int64_t crd_label_blocks_number(const crd_label_blocks *blocks, const int64_t index[3])
{
    return (index[0] * blocks->counts[1] + index[1]) * blocks->counts[2] + index[2];
}

void crd_label_blocks_index(const crd_label_blocks *blocks, int64_t number, int64_t index[3])
{
    index[2] = number % blocks->counts[2];
    index[1] = number / blocks->counts[2] % blocks->counts[1];
    index[0] = number / blocks->counts[2] / blocks->counts[1];
}

/* ---- memory; all under the lock ---- */

static void take_out(crd_label_blocks *b, block *it)
{
    if (it->older != NULL) it->older->newer = it->newer;
    if (it->older == NULL) b->oldest = it->newer;
    if (it->newer != NULL) it->newer->older = it->older;
    if (it->newer == NULL) b->newest = it->older;
    it->older = it->newer = NULL;
}

static void make_newest(crd_label_blocks *b, block *it)
{
    it->older = b->newest;
    it->newer = NULL;
    if (b->newest != NULL) b->newest->newer = it;
    if (b->newest == NULL) b->oldest = it;
    b->newest = it;
}

/* Changed ones stay until they are stored. */
static void make_room(crd_label_blocks *b)
{
    for (block *it = b->oldest; it != NULL && b->kept >= b->limit;) {
        block *next = it->newer;
        if (!it->changed) {
            take_out(b, it);
            b->table[it->number] = NULL;
            b->kept--;
            crd_free(&it->voxels);
            crd_free(&it);
        }
        it = next;
    }
}

static crd_status insert(crd_label_blocks *b, int64_t number, const uint8_t *voxels, block **out)
{
    crd_status status = CRD_OK;
    block *it = NULL;
    make_room(b);
    CRD_TRY(crd_alloc(1, sizeof *it, "labels", &it));
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &it->voxels));
    memcpy(it->voxels, voxels, CRD_BLOCK_VOXELS);
    it->number = number;
    b->table[number] = it;
    b->kept++;
    make_newest(b, it);
    *out = it;
    it = NULL;
done:
    crd_free(&it);
    return status;
}

/* ---- reading ---- */

/* What a part of a block is asked for: first[3] to end[3] inside it, into an array of its own strides. */
typedef struct part {
    int64_t number, first[3], end[3];
    uint8_t *to; /* where the voxel first[] goes */
    int64_t row, slice;
} part;

static void copy_part(const part *p, const uint8_t *voxels)
{
    const size_t width = (size_t)(p->end[2] - p->first[2]);
    for (int64_t z = p->first[0]; z < p->end[0]; z++) {
        for (int64_t y = p->first[1]; y < p->end[1]; y++) {
            uint8_t *to = p->to + (z - p->first[0]) * p->slice + (y - p->first[1]) * p->row;
            if (voxels == NULL) {
                memset(to, CRD_UNLABELLED, width);
            } else {
                memcpy(to, voxels + (z * CRD_BLOCK_EDGE + y) * CRD_BLOCK_EDGE + p->first[2], width);
            }
        }
    }
}

/* From memory, or known to be nowhere. */
static bool copy_known(crd_label_blocks *b, const part *p)
{
    block *it = b->table[p->number];
    if (it == NULL && !b->missing[p->number]) return false;
    if (it != NULL) {
        take_out(b, it);
        make_newest(b, it);
    }
    copy_part(p, it != NULL ? it->voxels : NULL);
    return true;
}

/* A block's file is read without the lock. Where files changed meanwhile, what was read may be old: again then. */
static crd_status read_part(crd_label_blocks *b, const part *p, uint8_t **room)
{
    for (;;) {
        int64_t index[3];
        bool there = false;
        pthread_mutex_lock(&b->lock);
        const bool done = copy_known(b, p);
        const int64_t stores = b->stores;
        pthread_mutex_unlock(&b->lock);
        if (done) return CRD_OK;
        if (*room == NULL) CRD_PASS(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", room));
        crd_label_blocks_index(b, p->number, index);
        CRD_PASS(crd_image_read_chunk(b->folder, index, *room, &there));
        pthread_mutex_lock(&b->lock);
        crd_status status = CRD_OK;
        block *it = NULL;
        if (b->stores == stores && b->table[p->number] == NULL) {
            if (there) {
                status = insert(b, p->number, *room, &it);
            } else {
                b->missing[p->number] = 1;
            }
        }
        pthread_mutex_unlock(&b->lock);
        CRD_PASS(status);
    }
}

crd_status crd_label_blocks_read(crd_label_blocks *b, const crd_box *box, uint8_t *voxels)
{
    crd_status status = CRD_OK;
    uint8_t *room = NULL;
    int64_t low[3], high[3], index[3];
    for (int i = 0; i < 3; i++) {
        low[i] = box->origin[i] / CRD_BLOCK_EDGE;
        high[i] = (box->origin[i] + box->size[i] - 1) / CRD_BLOCK_EDGE;
    }
    part p = {.row = box->size[2], .slice = box->size[1] * box->size[2]};
    for (index[0] = low[0]; index[0] <= high[0]; index[0]++) {
        for (index[1] = low[1]; index[1] <= high[1]; index[1]++) {
            for (index[2] = low[2]; index[2] <= high[2]; index[2]++) {
                int64_t offset = 0;
                for (int i = 0; i < 3; i++) {
                    const int64_t start = index[i] * CRD_BLOCK_EDGE, end = box->origin[i] + box->size[i] - start;
                    p.first[i] = box->origin[i] > start ? box->origin[i] - start : 0;
                    p.end[i] = end < CRD_BLOCK_EDGE ? end : CRD_BLOCK_EDGE;
                    offset = offset * box->size[i] + start + p.first[i] - box->origin[i];
                }
                p.number = crd_label_blocks_number(b, index);
                p.to = voxels + offset;
                CRD_TRY(read_part(b, &p, &room));
            }
        }
    }
done:
    crd_free(&room);
    return status;
}

crd_status crd_label_blocks_get(crd_label_blocks *b, int64_t number, uint8_t *voxels)
{
    uint8_t *room = NULL;
    const part p = {.number = number,
                    .end = {CRD_BLOCK_EDGE, CRD_BLOCK_EDGE, CRD_BLOCK_EDGE},
                    .to = voxels,
                    .row = CRD_BLOCK_EDGE,
                    .slice = CRD_BLOCK_EDGE * CRD_BLOCK_EDGE};
    const crd_status status = read_part(b, &p, &room);
    crd_free(&room);
    return status;
}

static bool is_unlabelled(const uint8_t *voxels)
{
    return voxels[0] == CRD_UNLABELLED && memcmp(voxels, voxels + 1, CRD_BLOCK_VOXELS - 1) == 0;
}

crd_status crd_label_blocks_visit(crd_label_blocks *b,
                                  crd_status (*visit)(void *context, const int64_t index[3], const uint8_t *voxels),
                                  void *context)
{
    crd_status status = CRD_OK;
    uint8_t *voxels = NULL;
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &voxels));
    for (int64_t number = 0; number < b->total; number++) {
        int64_t index[3];
        pthread_mutex_lock(&b->lock);
        const bool missing = b->table[number] == NULL && b->missing[number];
        pthread_mutex_unlock(&b->lock);
        if (missing) continue;
        CRD_TRY(crd_label_blocks_get(b, number, voxels));
        crd_label_blocks_index(b, number, index);
        if (!is_unlabelled(voxels)) CRD_TRY(visit(context, index, voxels));
    }
done:
    crd_free(&voxels);
    return status;
}

static crd_status count_block(void *context, const int64_t index[3], const uint8_t *voxels)
{
    int64_t *counts = context;
    (void)index;
    for (int i = 0; i < CRD_BLOCK_VOXELS; i++) {
        if (voxels[i] == CRD_UNLABELLED) continue;
        counts[voxels[i]]++;
        counts[CRD_UNLABELLED]--;
    }
    return CRD_OK;
}

crd_status crd_label_blocks_count(crd_label_blocks *b, int64_t counts[256])
{
    return crd_label_blocks_visit(b, count_block, counts);
}

/* ---- changing ---- */

crd_status crd_label_blocks_put(crd_label_blocks *b, int64_t number, const uint8_t *voxels)
{
    crd_status status = CRD_OK;
    pthread_mutex_lock(&b->lock);
    block *it = b->table[number];
    if (it == NULL) {
        status = insert(b, number, voxels, &it);
    } else {
        memcpy(it->voxels, voxels, CRD_BLOCK_VOXELS);
    }
    if (status == CRD_OK) {
        b->changed += !it->changed;
        it->changed = true;
        b->missing[number] = 0;
    }
    pthread_mutex_unlock(&b->lock);
    return status;
}

void crd_label_blocks_forget(crd_label_blocks *b)
{
    pthread_mutex_lock(&b->lock);
    for (block *it = b->oldest; it != NULL;) {
        block *next = it->newer;
        b->table[it->number] = NULL;
        crd_free(&it->voxels);
        crd_free(&it);
        it = next;
    }
    b->oldest = b->newest = NULL;
    b->kept = b->changed = 0;
    bool made;
    if (crd_image_check(b->folder, &b->info, &made) == CRD_OK) b->made = made;
    memset(b->missing, 0, (size_t)b->total);
    b->stores++;
    pthread_mutex_unlock(&b->lock);
}

int64_t crd_label_blocks_changed(crd_label_blocks *b)
{
    pthread_mutex_lock(&b->lock);
    const int64_t changed = b->changed;
    pthread_mutex_unlock(&b->lock);
    return changed;
}

/* ---- storing ---- */

void crd_label_blocks_begin_store(crd_label_blocks *b)
{
    pthread_mutex_lock(&b->lock);
    for (block *it = b->oldest; it != NULL; it = it->newer) it->wanted = it->changed;
    pthread_mutex_unlock(&b->lock);
}

/* A block's voxels as they are now; false: none is wanted. */
static bool next_wanted(crd_label_blocks *b, int64_t *number, int64_t *left)
{
    block *found = NULL;
    *left = 0;
    pthread_mutex_lock(&b->lock);
    for (block *it = b->oldest; it != NULL; it = it->newer) {
        if (!it->wanted) continue;
        if (found == NULL) found = it;
        ++*left;
    }
    if (found != NULL) {
        memcpy(b->stored, found->voxels, CRD_BLOCK_VOXELS);
        *number = found->number;
    }
    pthread_mutex_unlock(&b->lock);
    return found != NULL;
}

crd_status crd_label_blocks_store(crd_label_blocks *b, int64_t most, int64_t *left)
{
    int64_t number;
    while (next_wanted(b, &number, left) && most-- > 0) {
        int64_t index[3];
        if (!b->made) CRD_PASS(crd_image_make(b->folder, &b->info));
        b->made = true;
        crd_label_blocks_index(b, number, index);
        const crd_status status = crd_image_write_chunk(b->folder, index, is_unlabelled(b->stored) ? NULL : b->stored);
        pthread_mutex_lock(&b->lock);
        b->stores++;
        block *it = b->table[number]; /* only the thread that stores also changes: it is as it was */
        if (status == CRD_OK) {
            it->wanted = it->changed = false;
            b->changed--;
            --*left;
        }
        pthread_mutex_unlock(&b->lock);
        CRD_PASS(status);
    }
    return CRD_OK;
}

crd_status crd_label_blocks_sync(crd_label_blocks *b)
{
    return b->made ? crd_image_sync(b->folder) : CRD_OK;
}

crd_status crd_label_blocks_link(crd_label_blocks *b, const char *folder)
{
    CRD_PASS(crd_image_make(folder, &b->info));
    if (b->made) CRD_PASS(crd_image_link_chunks(b->folder, folder));
    return crd_image_sync(folder);
}
