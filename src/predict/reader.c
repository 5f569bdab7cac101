#include "predict/reader.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/thread.h"
#include "chunk/recent_slices.h"

struct crd_reader {
    const crd_request *request;
    crd_scan *scan;
    const int64_t *rows;
    int64_t total; /* chunks to read */
    float *buffers[CRD_READER_BUFFERS];
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    int64_t read, taken, released; /* chunks, in order: released <= taken <= read <= released + buffers */
    bool stop;
    crd_status status;
    crd_error error;
};

static int64_t number_of(const crd_reader *reader, int64_t index)
{
    const crd_request *request = reader->request;
    const int64_t per_row = request->count[1] * request->count[2];
    return crd_request_chunk(request, reader->rows[index / per_row] * per_row + index % per_row);
}

static bool wait_for_room(crd_reader *reader)
{
    pthread_mutex_lock(&reader->mutex);
    CRD_ASSERT(reader->released <= reader->taken && reader->taken <= reader->read);
    CRD_ASSERT(reader->read - reader->released <= CRD_READER_BUFFERS);
    while (!reader->stop && reader->read - reader->released == CRD_READER_BUFFERS) {
        pthread_cond_wait(&reader->changed, &reader->mutex);
    }
    const bool go_on = !reader->stop;
    pthread_mutex_unlock(&reader->mutex);
    return go_on;
}

static void *read_chunks(void *context)
{
    crd_reader *reader = context;
    for (int64_t i = 0; i < reader->total && wait_for_room(reader); i++) {
        crd_box window, keep;
        crd_plan_chunk(&reader->request->plan, number_of(reader, i), &window, &keep);
        const crd_status status = crd_scan_read(reader->scan, &window, reader->buffers[i % CRD_READER_BUFFERS]);
        pthread_mutex_lock(&reader->mutex);
        if (status == CRD_OK) {
            reader->read++;
        } else {
            reader->status = status;
            reader->error = *crd_last_error();
        }
        pthread_cond_broadcast(&reader->changed);
        pthread_mutex_unlock(&reader->mutex);
        if (status != CRD_OK) break;
    }
    return NULL;
}

/* The part of every slice that the chunks of a row see. */
static void row_region(const crd_request *request, crd_box *out)
{
    crd_box last, keep;
    const int64_t per_row = request->count[1] * request->count[2];
    crd_plan_chunk(&request->plan, crd_request_chunk(request, 0), out, &keep);
    crd_plan_chunk(&request->plan, crd_request_chunk(request, per_row - 1), &last, &keep);
    for (int axis = 1; axis < 3; axis++) out->size[axis] = last.origin[axis] + last.size[axis] - out->origin[axis];
}

int64_t crd_reader_kept_bytes(const crd_request *request)
{
    crd_box region;
    row_region(request, &region);
    return crd_recent_slices_bytes(&request->scan, &region, region.size[0]);
}

crd_status crd_reader_create(const crd_request *request, const crd_scan *scan, const int64_t *rows, int64_t row_count,
                             bool keep, crd_reader **out)
{
    crd_status status = CRD_OK;
    crd_reader *reader = NULL;
    int64_t voxels = 1;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *reader, "the reader", &reader));
    pthread_mutex_init(&reader->mutex, NULL);
    pthread_cond_init(&reader->changed, NULL);
    reader->request = request;
    reader->rows = rows;
    reader->total = row_count * request->count[1] * request->count[2];
    CRD_TRY(crd_scan_reopen(scan, &reader->scan));
    if (keep) {
        crd_box region;
        row_region(request, &region);
        CRD_TRY(crd_scan_keep(reader->scan, &region, region.size[0]));
    }
    for (int axis = 0; axis < 3; axis++) voxels *= request->plan.axes[axis].window;
    for (int i = 0; i < CRD_READER_BUFFERS; i++) {
        CRD_TRY(crd_alloc(voxels, sizeof(float), "a chunk of the scan", &reader->buffers[i]));
    }
    if (crd_thread_start(&reader->thread, read_chunks, reader) != 0) {
        CRD_FAIL(CRD_ERR_SYSTEM, "can't start a thread that reads the scan");
    }
    reader->started = true;
    *out = reader;
    reader = NULL;
done:
    crd_reader_free(&reader);
    return status;
}

void crd_reader_free(crd_reader **pointer)
{
    crd_reader *reader = *pointer;
    if (reader == NULL) return;
    pthread_mutex_lock(&reader->mutex);
    reader->stop = true;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->mutex);
    if (reader->started) pthread_join(reader->thread, NULL);
    pthread_cond_destroy(&reader->changed);
    pthread_mutex_destroy(&reader->mutex);
    for (int i = 0; i < CRD_READER_BUFFERS; i++) crd_free(&reader->buffers[i]);
    crd_scan_close(&reader->scan);
    crd_free(pointer);
}

crd_status crd_reader_next(crd_reader *reader, int64_t *number, const float **voxels)
{
    crd_status status;
    pthread_mutex_lock(&reader->mutex);
    reader->released = reader->taken;
    pthread_cond_broadcast(&reader->changed);
    while (reader->status == CRD_OK && reader->read == reader->taken) {
        pthread_cond_wait(&reader->changed, &reader->mutex);
    }
    status = reader->read == reader->taken ? crd_error_adopt(&reader->error) : CRD_OK;
    const int64_t index = reader->taken;
    if (status == CRD_OK) reader->taken++;
    pthread_mutex_unlock(&reader->mutex);
    if (status != CRD_OK) return status;
    *number = number_of(reader, index);
    *voxels = reader->buffers[index % CRD_READER_BUFFERS];
    return CRD_OK;
}
