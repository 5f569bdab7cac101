#include "volume/stream.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/thread.h"
#include "volume/format.h"

/* A box is small, for the caches' sake and to report often, but holds a whole layer where that is possible: two boxes
 * of reading and one of the caller's own stay below 1 GiB. */
static const int64_t box_usual = INT64_C(16) << 20, box_limit = INT64_C(256) << 20;
enum { BUFFERS = 2 };

void crd_walk_box(const crd_walk *walk, int64_t size[3])
{
    const int64_t *shape = crd_volume_describe(walk->in)->shape;
    const int outer = walk->rows_first ? 1 : 0, middle = 1 - outer;
    const int64_t bytes = (int64_t)walk->voxel_bytes, row = shape[2] * bytes;
    memcpy(size, shape, 3 * sizeof *size);
    if (row > box_limit && !walk->whole_slices) {
        size[0] = size[1] = 1;
        size[2] = box_limit / bytes;
        return;
    }
    const int64_t rows = row < box_limit ? box_limit / row : 1;
    if (shape[middle] > rows && !walk->whole_slices) {
        size[outer] = 1;
        size[middle] = rows;
        return;
    }
    const int64_t most = rows / shape[middle], layer = walk->layer > 1 ? walk->layer : 1;
    int64_t slices = box_usual / (row * shape[middle]) / layer * layer;
    if (slices < layer) slices = layer < most ? layer : most;
    if (slices < 1) slices = 1;
    size[outer] = slices < shape[outer] ? slices : shape[outer];
}

crd_status crd_walk_check(const crd_walk *walk)
{
    int64_t size[3], bytes;
    if (!walk->whole_slices) return CRD_OK;
    crd_walk_box(walk, size);
    CRD_PASS(crd_product(size[0], size[1], size[2], &bytes));
    CRD_PASS(crd_product(bytes, (int64_t)walk->voxel_bytes, 1 + BUFFERS, &bytes));
    if (bytes <= crd_available_memory() / 4 * 3) return CRD_OK;
    return crd_fail(
        CRD_ERR_MEMORY,
        "slices of %s need %.1f GiB at once, more than three quarters of what is free; choose a format that "
        "can be written in parts of slices, such as .h5, .zarr, .npy or .raw",
        crd_volume_path(walk->in), (double)bytes / 0x1p30);
}

/* The box after `box`; false at the end. An origin that is all -1 starts. */
static bool next_box(const crd_walk *walk, const int64_t size[3], crd_box *box)
{
    const int64_t *shape = crd_volume_describe(walk->in)->shape;
    const int order[3] = {2, walk->rows_first ? 0 : 1, walk->rows_first ? 1 : 0}; /* fastest first */
    if (box->origin[0] < 0) {
        memset(box->origin, 0, sizeof box->origin);
    } else {
        int i = 0;
        for (; i < 3; i++) {
            box->origin[order[i]] += size[order[i]];
            if (box->origin[order[i]] < shape[order[i]]) break;
            box->origin[order[i]] = 0;
        }
        if (i == 3) return false;
    }
    for (int i = 0; i < 3; i++) {
        const int64_t left = shape[i] - box->origin[i];
        box->size[i] = left < size[i] ? left : size[i];
    }
    return true;
}

/* What the reader and the caller share. Slot n of the ring holds box n modulo BUFFERS. */
typedef struct ring {
    const crd_walk *walk;
    int64_t size[3];
    void *buffers[BUFFERS];
    crd_box boxes[BUFFERS];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t filled, emptied; /* boxes so far */
    bool ended, stop;        /* the reader has no more; the caller wants no more */
    crd_error error;         /* why it ended */
} ring;

static void *read_ahead(void *argument)
{
    ring *r = argument;
    crd_box box = {.origin = {-1, -1, -1}};
    crd_status status = CRD_OK;
    for (int64_t n = 0; next_box(r->walk, r->size, &box); n++) {
        pthread_mutex_lock(&r->lock);
        while (n - r->emptied >= BUFFERS && !r->stop) pthread_cond_wait(&r->changed, &r->lock);
        const bool stop = r->stop;
        pthread_mutex_unlock(&r->lock);
        if (stop) break;
        r->boxes[n % BUFFERS] = box;
        status = crd_volume_read(r->walk->in, &box, r->walk->as, r->buffers[n % BUFFERS]);
        if (status != CRD_OK) break;
        pthread_mutex_lock(&r->lock);
        r->filled = n + 1;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    pthread_mutex_lock(&r->lock);
    r->ended = true;
    if (status != CRD_OK) r->error = *crd_last_error();
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static crd_status report(const crd_walk *walk, const crd_box *box)
{
    const int outer = walk->rows_first ? 1 : 0;
    const int64_t *shape = crd_volume_describe(walk->in)->shape;
    const bool last =
        box->origin[1 - outer] + box->size[1 - outer] == shape[1 - outer] && box->origin[2] + box->size[2] == shape[2];
    return crd_advance(walk->monitor, walk->stage, walk->rows_first ? "rows" : "slices",
                       walk->done + box->origin[outer] + (last ? box->size[outer] : 0),
                       walk->total > 0 ? walk->total : shape[outer], NULL);
}

static crd_status consume(ring *r, crd_walk_work *work, void *context)
{
    for (int64_t n = 0;; n++) {
        pthread_mutex_lock(&r->lock);
        while (r->filled <= n && !r->ended) pthread_cond_wait(&r->changed, &r->lock);
        const bool have = r->filled > n;
        pthread_mutex_unlock(&r->lock);
        if (!have) return r->error.status == CRD_OK ? CRD_OK : crd_error_adopt(&r->error);
        const crd_box box = r->boxes[n % BUFFERS];
        CRD_PASS(work(context, &box, r->buffers[n % BUFFERS]));
        CRD_PASS(report(r->walk, &box));
        pthread_mutex_lock(&r->lock);
        r->emptied = n + 1;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
}

crd_status crd_walk_run(const crd_walk *walk, crd_walk_work *work, void *context)
{
    crd_status status = CRD_OK;
    pthread_t reader;
    ring r = {.walk = walk, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    CRD_TRY(crd_walk_check(walk));
    crd_walk_box(walk, r.size);
    const int64_t voxels = r.size[0] * r.size[1] * r.size[2];
    for (int i = 0; i < BUFFERS; i++) {
        CRD_TRY(crd_alloc(voxels, crd_type_size(walk->as), "reading a volume", &r.buffers[i]));
    }
    walk->in->read_once = true;
    if (crd_thread_start(&reader, read_ahead, &r) != 0) {
        CRD_FAIL(CRD_ERR_SYSTEM, "no thread could be started to read %s", crd_volume_path(walk->in));
    }
    status = consume(&r, work, context);
    pthread_mutex_lock(&r.lock);
    r.stop = true;
    pthread_cond_broadcast(&r.changed);
    pthread_mutex_unlock(&r.lock);
    (void)pthread_join(reader, NULL);
done:
    walk->in->read_once = false;
    for (int i = 0; i < BUFFERS; i++) crd_free(&r.buffers[i]);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    return status;
}
