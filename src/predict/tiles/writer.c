#include "predict/tiles/writer.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/queue.h"
#include "predict/finished/volumes.h"
#include "volume/range.h"

enum {
    BOXES = 2,              /* one is filled while the other is written */
    BEHIND = 64,            /* tiles that may be written and not yet in the journal */
    MOST_THREADS = 8,       /* that write */
    PIECE_VOXELS = 1 << 20, /* that are converted at a time, or a slice of a tile where that has more */
};

struct crd_tile_writer {
    const crd_request *request;
    crd_partial *partial;
    crd_tile_files *files;
    crd_tile_borders *borders;
    crd_tile_box boxes[BOXES];
    int64_t put;   /* boxes so far; number i is in place i modulo their number */
    int64_t parts; /* of a box: its volumes, then its borders; items of the queue are numbered by box and part */
    int threads;
    void **converted; /* by thread: a piece of a volume */
    crd_queue *queue;
    crd_queue *notes; /* whose thread waits for the disk: an item for every box that is written */

    pthread_mutex_t *volumes; /* by output: one box at a time */
    int64_t made;             /* of them */
    pthread_mutex_t lock;     /* for all below */
    bool locks;               /* it is there */
    int64_t left[BOXES];      /* parts that aren't written yet */
    int64_t *waiting;         /* tiles that are written and not yet noted, with their sums */
    uint64_t *sums;
    int64_t waiting_count;
    int64_t written; /* boxes */

    int64_t *noted; /* the same for those that are being noted: the notes' own */
    uint64_t *noted_sums;
};

static int64_t piece_voxels(const crd_request *request)
{
    const int64_t *size = request->box.size;
    const int64_t height = request->plan.axes[1].stride < size[1] ? request->plan.axes[1].stride : size[1];
    const int64_t width = request->plan.axes[2].stride < size[2] ? request->plan.axes[2].stride : size[2];
    return height * width > PIECE_VOXELS ? height * width : PIECE_VOXELS;
}

static int thread_count(const crd_request *request)
{
    return request->output_count + 1 < MOST_THREADS ? (int)request->output_count + 1 : MOST_THREADS;
}

int64_t crd_tile_writer_bytes(const crd_request *request)
{
    return BOXES * crd_tile_box_bytes(request) +
           thread_count(request) * piece_voxels(request) * (int64_t)sizeof(uint16_t) +
           2 * (BEHIND + BOXES) * (crd_tile_sums(request) + 1) * (int64_t)sizeof(uint64_t);
}

static void put_range(uint64_t *words, double low, double high)
{
    memcpy(words, &low, sizeof low);
    memcpy(words + 1, &high, sizeof high);
}

/* One volume's part of a box, piece by piece where it has to be converted. */
static crd_status write_volume(crd_tile_writer *writer, crd_tile_box *box, int64_t number, void *converted)
{
    const crd_request *request = writer->request;
    const crd_output *output = &request->outputs[number];
    const crd_type stored = request->quantities[output->quantity].stored;
    const bool as_is = !output->cut && output->type == stored;
    const int64_t slice = box->box.size[1] * box->box.size[2];
    const int64_t at_once = as_is ? box->box.size[0] : piece_voxels(request) / slice;
    double low = INFINITY, high = -INFINITY;
    for (int64_t z = 0; z < box->box.size[0]; z += at_once) {
        const int64_t count = box->box.size[0] - z < at_once ? box->box.size[0] - z : at_once;
        const void *voxels = (const char *)box->voxels[output->quantity] + (size_t)(z * slice) * crd_type_size(stored);
        crd_box piece = box->box;
        piece.origin[0] += z;
        piece.size[0] = count;
        if (!as_is) {
            crd_output_convert(output, voxels, count * slice, converted);
            voxels = converted;
        }
        crd_voxel_range(output->type, voxels, count * slice, &low, &high);
        CRD_PASS(crd_tile_files_write(writer->files, number, &piece, voxels));
    }
    put_range(box->sums + crd_tile_first_range(request) + 2 * number, low, high);
    return CRD_OK;
}

static crd_status write_part(crd_tile_writer *writer, crd_tile_box *box, int64_t part, int thread)
{
    if (part == writer->request->output_count) return crd_tile_borders_write(writer->borders, box);
    (void)pthread_mutex_lock(&writer->volumes[part]);
    const crd_status status = write_volume(writer, box, part, writer->converted[thread]);
    (void)pthread_mutex_unlock(&writer->volumes[part]);
    return status;
}

/* All that waits: onto the disk first, then into the journal. Who comes later, and finds nothing, was served as well.
 */
static crd_status note_waiting(void *context, int64_t item, int thread)
{
    crd_tile_writer *writer = context;
    const int64_t words = crd_tile_sums(writer->request);
    (void)item;
    (void)thread;
    (void)pthread_mutex_lock(&writer->lock);
    const int64_t count = writer->waiting_count;
    memcpy(writer->noted, writer->waiting, (size_t)count * sizeof *writer->noted);
    memcpy(writer->noted_sums, writer->sums, (size_t)(count * words) * sizeof *writer->sums);
    writer->waiting_count = 0;
    (void)pthread_mutex_unlock(&writer->lock);
    if (count == 0) return CRD_OK;
    CRD_PASS(crd_tile_files_sync(writer->files));
    CRD_PASS(crd_tile_borders_sync(writer->borders));
    CRD_PASS(crd_partial_sync(writer->partial));
    for (int64_t i = 0; i < count; i++) {
        CRD_PASS(crd_partial_note(writer->partial, writer->noted[i], writer->noted_sums + i * words));
    }
    return crd_partial_flush(writer->partial);
}

static void finish_part(crd_tile_writer *writer, int64_t place)
{
    const crd_tile_box *box = &writer->boxes[place];
    const int64_t words = crd_tile_sums(writer->request);
    (void)pthread_mutex_lock(&writer->lock);
    if (--writer->left[place] == 0) {
        CRD_ASSERT(writer->waiting_count < BEHIND + BOXES);
        memcpy(writer->sums + writer->waiting_count * words, box->sums, (size_t)words * sizeof *box->sums);
        writer->waiting[writer->waiting_count++] = box->tile;
        crd_queue_allow(writer->notes, ++writer->written);
    }
    (void)pthread_mutex_unlock(&writer->lock);
}

static crd_status work(void *context, int64_t item, int thread)
{
    crd_tile_writer *writer = context;
    const int64_t place = item / writer->parts % BOXES;
    CRD_PASS(write_part(writer, &writer->boxes[place], item % writer->parts, thread));
    finish_part(writer, place);
    return CRD_OK;
}

static crd_status prepare(crd_tile_writer *writer)
{
    const crd_request *request = writer->request;
    const int64_t words = crd_tile_sums(request), most = BEHIND + BOXES;
    for (int i = 0; i < BOXES; i++) CRD_PASS(crd_tile_box_alloc(request, &writer->boxes[i]));
    CRD_PASS(crd_alloc(writer->threads, sizeof *writer->converted, "the writer", &writer->converted));
    for (int i = 0; i < writer->threads; i++) {
        CRD_PASS(crd_alloc(piece_voxels(request), sizeof(uint16_t), "a piece of a volume", &writer->converted[i]));
    }
    CRD_PASS(crd_alloc(most, sizeof *writer->waiting, "the list of tiles", &writer->waiting));
    CRD_PASS(crd_alloc(most, sizeof *writer->noted, "the list of tiles", &writer->noted));
    CRD_PASS(crd_alloc(most * words, sizeof *writer->sums, "the list of tiles", &writer->sums));
    CRD_PASS(crd_alloc(most * words, sizeof *writer->noted_sums, "the list of tiles", &writer->noted_sums));
    CRD_PASS(crd_alloc(request->output_count, sizeof *writer->volumes, "the writer", &writer->volumes));
    for (; writer->made < request->output_count; writer->made++) {
        if (pthread_mutex_init(&writer->volumes[writer->made], NULL) != 0) {
            return crd_fail(CRD_ERR_SYSTEM, "can't make a lock");
        }
    }
    writer->locks = pthread_mutex_init(&writer->lock, NULL) == 0;
    return writer->locks ? CRD_OK : crd_fail(CRD_ERR_SYSTEM, "can't make a lock");
}

crd_status crd_tile_writer_create(const crd_request *request, crd_partial *partial, crd_tile_files *files,
                                  crd_tile_borders *borders, crd_tile_writer **out)
{
    crd_status status = CRD_OK;
    crd_tile_writer *writer = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *writer, "the writer", &writer));
    writer->request = request;
    writer->partial = partial;
    writer->files = files;
    writer->borders = borders;
    writer->parts = request->output_count + 1;
    writer->threads = thread_count(request);
    CRD_TRY(prepare(writer));
    const crd_queue_plan notes = {.what = "notes tiles", .threads = 1, .context = writer, .work = note_waiting};
    const crd_queue_plan queue = {.what = "writes tiles", .threads = writer->threads, .context = writer, .work = work};
    CRD_TRY(crd_queue_open(&notes, &writer->notes));
    CRD_TRY(crd_queue_open(&queue, &writer->queue));
    *out = writer;
    writer = NULL;
done:
    crd_tile_writer_free(&writer);
    return status;
}

void crd_tile_writer_free(crd_tile_writer **pointer)
{
    crd_tile_writer *writer = *pointer;
    if (writer == NULL) return;
    crd_queue_close(&writer->queue);
    crd_queue_close(&writer->notes);
    for (int i = 0; i < BOXES; i++) crd_tile_box_free(&writer->boxes[i]);
    for (int i = 0; writer->converted != NULL && i < writer->threads; i++) crd_free(&writer->converted[i]);
    for (int64_t i = 0; i < writer->made; i++) (void)pthread_mutex_destroy(&writer->volumes[i]);
    if (writer->locks) (void)pthread_mutex_destroy(&writer->lock);
    crd_free(&writer->converted);
    crd_free(&writer->volumes);
    crd_free(&writer->waiting);
    crd_free(&writer->noted);
    crd_free(&writer->sums);
    crd_free(&writer->noted_sums);
    crd_free(pointer);
}

crd_status crd_tile_writer_box(crd_tile_writer *writer, crd_tile_box **out)
{
    if (writer->put >= BOXES) CRD_PASS(crd_queue_wait(writer->queue, (writer->put - BOXES + 1) * writer->parts));
    if (writer->put >= BEHIND) CRD_PASS(crd_queue_wait(writer->notes, writer->put - BEHIND + 1));
    *out = &writer->boxes[writer->put % BOXES];
    return CRD_OK;
}

void crd_tile_writer_put(crd_tile_writer *writer)
{
    writer->left[writer->put % BOXES] = writer->parts; /* nobody works on this place now */
    crd_queue_allow(writer->queue, ++writer->put * writer->parts);
}

crd_status crd_tile_writer_wait(crd_tile_writer *writer)
{
    const crd_status status = crd_queue_wait(writer->queue, writer->put * writer->parts);
    (void)pthread_mutex_lock(&writer->lock);
    const int64_t written = writer->written; /* all, unless it failed: these are kept nevertheless */
    (void)pthread_mutex_unlock(&writer->lock);
    const crd_status noted = crd_queue_wait(writer->notes, written);
    return status != CRD_OK ? status : noted;
}
