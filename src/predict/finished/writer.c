#include "predict/finished/writer.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/queue.h"
#include "predict/outlet.h"

struct crd_writer {
    const crd_request *request;
    crd_partial *partial;
    crd_growing_volumes *growing; /* or NULL */
    crd_slice slices[CRD_WRITER_BUFFERS];
    bool flush[CRD_WRITER_BUFFERS];
    int64_t put; /* slices so far; number i is in buffer i modulo their number */
    crd_queue *queue;
    int64_t *waiting; /* slices that are written and not yet noted, with their sums: the queue's own */
    uint64_t *sums;
    int64_t waiting_count;
};

static crd_status note_waiting(crd_writer *writer)
{
    const int64_t words = crd_slice_sums(writer->request);
    CRD_PASS(crd_partial_sync(writer->partial));
    for (int64_t i = 0; i < writer->waiting_count; i++) {
        CRD_PASS(crd_partial_note(writer->partial, writer->waiting[i], writer->sums + i * words));
        if (writer->growing != NULL) crd_growing_volumes_note(writer->growing, writer->waiting[i]);
    }
    writer->waiting_count = 0;
    CRD_PASS(crd_partial_flush(writer->partial));
    return writer->growing != NULL ? crd_growing_volumes_advance(writer->growing, NULL) : CRD_OK;
}

static crd_status write_slice(void *context, int64_t number, int thread)
{
    crd_writer *writer = context;
    const crd_slice *slice = &writer->slices[number % CRD_WRITER_BUFFERS];
    const int64_t words = crd_slice_sums(writer->request);
    (void)thread;
    CRD_ASSERT(writer->waiting_count < writer->request->box.size[0]);
    CRD_PASS(crd_partial_write(writer->partial, slice));
    if (writer->request->outlet != NULL) CRD_PASS(crd_outlet_put_slice(writer->request->outlet, slice));
    writer->waiting[writer->waiting_count] = slice->z;
    memcpy(writer->sums + writer->waiting_count * words, slice->sums, (size_t)words * sizeof(uint64_t));
    writer->waiting_count++;
    return writer->flush[number % CRD_WRITER_BUFFERS] ? note_waiting(writer) : CRD_OK;
}

crd_status crd_writer_create(const crd_request *request, crd_partial *partial, crd_growing_volumes *growing,
                             crd_writer **out)
{
    crd_status status = CRD_OK;
    crd_writer *writer = NULL;
    const int64_t depth = request->box.size[0];
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *writer, "the writer", &writer));
    writer->request = request;
    writer->partial = partial;
    writer->growing = growing;
    CRD_TRY(crd_alloc(depth, sizeof *writer->waiting, "the list of slices", &writer->waiting));
    CRD_TRY(crd_alloc(depth * crd_slice_sums(request), sizeof *writer->sums, "the list of slices", &writer->sums));
    for (int i = 0; i < CRD_WRITER_BUFFERS; i++) CRD_TRY(crd_slice_alloc(request, &writer->slices[i]));
    const crd_queue_plan queue = {.what = "writes slices", .threads = 1, .context = writer, .work = write_slice};
    CRD_TRY(crd_queue_open(&queue, &writer->queue));
    *out = writer;
    writer = NULL;
done:
    crd_writer_free(&writer);
    return status;
}

void crd_writer_free(crd_writer **pointer)
{
    crd_writer *writer = *pointer;
    if (writer == NULL) return;
    crd_queue_close(&writer->queue);
    for (int i = 0; i < CRD_WRITER_BUFFERS; i++) crd_slice_free(&writer->slices[i]);
    crd_free(&writer->waiting);
    crd_free(&writer->sums);
    crd_free(pointer);
}

crd_status crd_writer_slice(crd_writer *writer, crd_slice **out)
{
    const int64_t number = writer->put;
    if (number >= CRD_WRITER_BUFFERS) CRD_PASS(crd_queue_wait(writer->queue, number - CRD_WRITER_BUFFERS + 1));
    *out = &writer->slices[number % CRD_WRITER_BUFFERS];
    return CRD_OK;
}

void crd_writer_put(crd_writer *writer, bool flush)
{
    writer->flush[writer->put % CRD_WRITER_BUFFERS] = flush;
    crd_queue_allow(writer->queue, ++writer->put);
}

crd_status crd_writer_wait(crd_writer *writer)
{
    return crd_queue_wait(writer->queue, writer->put);
}
