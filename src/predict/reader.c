#include "predict/reader.h"

#include "base/memory.h"
#include "base/queue.h"
#include "chunk/recent_slices.h"

struct crd_chunk_reader {
    const crd_request *request;
    crd_scan *scan;
    const int64_t *units;
    int64_t total, taken;               /* chunks */
    float *buffers[CRD_READER_BUFFERS]; /* chunk i is in buffer i modulo their number */
    crd_queue *queue;
};

static int64_t number_of(const crd_chunk_reader *reader, int64_t index)
{
    const crd_request *request = reader->request;
    const int64_t per_unit = crd_request_unit(request);
    return crd_request_chunk(request, reader->units[index / per_unit] * per_unit + index % per_unit);
}

static crd_status read_chunk(void *context, int64_t index, int thread)
{
    const crd_chunk_reader *reader = context;
    crd_box window, keep;
    (void)thread;
    crd_plan_chunk(&reader->request->plan, number_of(reader, index), &window, &keep);
    return crd_scan_read(reader->scan, &window, reader->buffers[index % CRD_READER_BUFFERS]);
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

int64_t crd_chunk_reader_kept_bytes(const crd_request *request)
{
    crd_box region;
    row_region(request, &region);
    return crd_recent_slices_bytes(&request->scan, &region, region.size[0]);
}

/* As many as there are buffers, but for those that are done with. */
static void allow(crd_chunk_reader *reader)
{
    const int64_t end = reader->taken + CRD_READER_BUFFERS;
    crd_queue_allow(reader->queue, end < reader->total ? end : reader->total);
}

crd_status crd_chunk_reader_create(const crd_request *request, const crd_scan *scan, const int64_t *units,
                                   int64_t unit_count, bool keep, crd_chunk_reader **out)
{
    crd_status status = CRD_OK;
    crd_chunk_reader *reader = NULL;
    int64_t voxels = 1;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *reader, "the reader", &reader));
    reader->request = request;
    reader->units = units;
    reader->total = unit_count * crd_request_unit(request);
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
    const crd_queue_plan queue = {.what = "reads the scan", .threads = 1, .context = reader, .work = read_chunk};
    CRD_TRY(crd_queue_open(&queue, &reader->queue));
    allow(reader);
    *out = reader;
    reader = NULL;
done:
    crd_chunk_reader_free(&reader);
    return status;
}

void crd_chunk_reader_free(crd_chunk_reader **pointer)
{
    crd_chunk_reader *reader = *pointer;
    if (reader == NULL) return;
    crd_queue_close(&reader->queue);
    for (int i = 0; i < CRD_READER_BUFFERS; i++) crd_free(&reader->buffers[i]);
    crd_scan_close(&reader->scan);
    crd_free(pointer);
}

crd_status crd_chunk_reader_next(crd_chunk_reader *reader, int64_t *number, const float **voxels)
{
    const int64_t index = reader->taken;
    allow(reader);
    CRD_PASS(crd_queue_wait(reader->queue, index + 1));
    reader->taken++;
    *number = number_of(reader, index);
    *voxels = reader->buffers[index % CRD_READER_BUFFERS];
    return CRD_OK;
}
