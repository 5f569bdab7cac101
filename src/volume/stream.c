#include "volume/stream.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/queue.h"
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

/* Box number n of the volume lies in buffer n modulo BUFFERS. */
typedef struct boxes {
    const crd_walk *walk;
    int64_t size[3], count[3]; /* of all but the last along each axis; how many there are */
    void *buffers[BUFFERS];
} boxes;

static crd_box box_of(const boxes *b, int64_t number)
{
    const int64_t *shape = crd_volume_describe(b->walk->in)->shape;
    const int order[3] = {2, b->walk->rows_first ? 0 : 1, b->walk->rows_first ? 1 : 0}; /* fastest first */
    crd_box box;
    for (int i = 0; i < 3; i++) {
        const int axis = order[i];
        box.origin[axis] = number % b->count[axis] * b->size[axis];
        number /= b->count[axis];
        const int64_t left = shape[axis] - box.origin[axis];
        box.size[axis] = left < b->size[axis] ? left : b->size[axis];
    }
    return box;
}

static crd_status read_box(void *context, int64_t number, int thread)
{
    const boxes *b = context;
    const crd_box box = box_of(b, number);
    (void)thread;
    return crd_volume_read(b->walk->in, &box, b->walk->as, b->buffers[number % BUFFERS]);
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

static crd_status look_beside(void *context, int64_t number, int thread)
{
    const boxes *b = context;
    const crd_box box = box_of(b, number);
    (void)thread;
    return b->walk->beside(b->walk->beside_context, &box, b->buffers[number % BUFFERS]);
}

/* `beside` may be NULL. A box's buffer is free again when both are done with it. */
static crd_status consume(const boxes *b, crd_queue *reading, crd_queue *beside, crd_walk_work *work, void *context)
{
    const int64_t count = b->count[0] * b->count[1] * b->count[2];
    for (int64_t n = 0; n < count; n++) {
        const crd_box box = box_of(b, n);
        crd_queue_allow(reading, n + BUFFERS < count ? n + BUFFERS : count);
        CRD_PASS(crd_queue_wait(reading, n + 1));
        if (beside != NULL) crd_queue_allow(beside, n + 1);
        CRD_PASS(work(context, &box, b->buffers[n % BUFFERS]));
        if (beside != NULL) CRD_PASS(crd_queue_wait(beside, n + 1));
        CRD_PASS(report(b->walk, &box));
    }
    return CRD_OK;
}

crd_status crd_walk_run(const crd_walk *walk, crd_walk_work *work, void *context)
{
    crd_status status = CRD_OK;
    crd_queue *reading = NULL, *beside = NULL;
    boxes b = {.walk = walk};
    const crd_queue_plan to_read = {.what = "reads a volume", .threads = 1, .context = &b, .work = read_box};
    const crd_queue_plan to_look = {.what = "looks at a volume", .threads = 1, .context = &b, .work = look_beside};
    const int64_t *shape = crd_volume_describe(walk->in)->shape;
    CRD_TRY(crd_walk_check(walk));
    crd_walk_box(walk, b.size);
    for (int i = 0; i < 3; i++) b.count[i] = (shape[i] + b.size[i] - 1) / b.size[i];
    const int64_t voxels = b.size[0] * b.size[1] * b.size[2];
    for (int i = 0; i < BUFFERS; i++) {
        CRD_TRY(crd_alloc(voxels, crd_type_size(walk->as), "reading a volume", &b.buffers[i]));
    }
    walk->in->read_once = true;
    CRD_TRY(crd_queue_open(&to_read, &reading));
    if (walk->beside != NULL) CRD_TRY(crd_queue_open(&to_look, &beside));
    CRD_TRY(consume(&b, reading, beside, work, context));
done:
    crd_queue_close(&beside);
    crd_queue_close(&reading);
    walk->in->read_once = false;
    for (int i = 0; i < BUFFERS; i++) crd_free(&b.buffers[i]);
    return status;
}
