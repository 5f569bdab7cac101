#include "predict/finished/writer.h"

#include <pthread.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/thread.h"

struct crd_writer {
    const crd_request *request;
    crd_partial *partial;
    crd_growing_volumes *growing; /* or NULL */
    crd_slice slices[CRD_WRITER_BUFFERS];
    bool flush[CRD_WRITER_BUFFERS];
    pthread_t thread;
    bool started;
    int64_t *waiting; /* slices that are written and not yet noted, with their sums: the thread's own */
    uint64_t *sums;
    int64_t waiting_count;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    int64_t put, written; /* slices, in order */
    bool stop;
    crd_status status;
    crd_error error;
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

static crd_status write_one(crd_writer *writer, const crd_slice *slice, bool flush)
{
    const int64_t words = crd_slice_sums(writer->request);
    CRD_ASSERT(writer->waiting_count < writer->request->box.size[0]);
    CRD_PASS(crd_partial_write(writer->partial, slice));
    writer->waiting[writer->waiting_count] = slice->z;
    memcpy(writer->sums + writer->waiting_count * words, slice->sums, (size_t)words * sizeof(uint64_t));
    writer->waiting_count++;
    return flush ? note_waiting(writer) : CRD_OK;
}

static void *write_slices(void *context)
{
    crd_writer *writer = context;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (!writer->stop && writer->put == writer->written) pthread_cond_wait(&writer->changed, &writer->mutex);
        if (writer->stop || writer->status != CRD_OK) break;
        const int64_t number = writer->written % CRD_WRITER_BUFFERS;
        pthread_mutex_unlock(&writer->mutex);
        const crd_status status = write_one(writer, &writer->slices[number], writer->flush[number]);
        pthread_mutex_lock(&writer->mutex);
        if (status != CRD_OK) {
            writer->status = status;
            writer->error = *crd_last_error();
        } else {
            writer->written++;
        }
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

crd_status crd_writer_create(const crd_request *request, crd_partial *partial, crd_growing_volumes *growing,
                             crd_writer **out)
{
    crd_status status = CRD_OK;
    crd_writer *writer = NULL;
    const int64_t depth = request->box.size[0];
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *writer, "the writer", &writer));
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    writer->request = request;
    writer->partial = partial;
    writer->growing = growing;
    CRD_TRY(crd_alloc(depth, sizeof *writer->waiting, "the list of slices", &writer->waiting));
    CRD_TRY(crd_alloc(depth * crd_slice_sums(request), sizeof *writer->sums, "the list of slices", &writer->sums));
    for (int i = 0; i < CRD_WRITER_BUFFERS; i++) CRD_TRY(crd_slice_alloc(request, &writer->slices[i]));
    if (crd_thread_start(&writer->thread, write_slices, writer) != 0) {
        CRD_FAIL(CRD_ERR_SYSTEM, "can't start a thread that writes slices");
    }
    writer->started = true;
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
    pthread_mutex_lock(&writer->mutex);
    writer->stop = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    if (writer->started) pthread_join(writer->thread, NULL);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    for (int i = 0; i < CRD_WRITER_BUFFERS; i++) crd_slice_free(writer->request, &writer->slices[i]);
    crd_free(&writer->waiting);
    crd_free(&writer->sums);
    crd_free(pointer);
}

/* Waits until at most `most` slices are under way. */
static crd_status wait_until(crd_writer *writer, int64_t most)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->status == CRD_OK && writer->put - writer->written > most) {
        pthread_cond_wait(&writer->changed, &writer->mutex);
    }
    const crd_status status = writer->status != CRD_OK ? crd_error_adopt(&writer->error) : CRD_OK;
    pthread_mutex_unlock(&writer->mutex);
    return status;
}

crd_status crd_writer_slice(crd_writer *writer, crd_slice **out)
{
    CRD_PASS(wait_until(writer, CRD_WRITER_BUFFERS - 1));
    *out = &writer->slices[writer->put % CRD_WRITER_BUFFERS];
    return CRD_OK;
}

crd_status crd_writer_put(crd_writer *writer, bool flush)
{
    pthread_mutex_lock(&writer->mutex);
    CRD_ASSERT(writer->put - writer->written < CRD_WRITER_BUFFERS);
    writer->flush[writer->put % CRD_WRITER_BUFFERS] = flush;
    writer->put++;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return CRD_OK;
}

crd_status crd_writer_wait(crd_writer *writer)
{
    return wait_until(writer, 0);
}
