#include "predict/inspection.h"

#include <stdatomic.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/queue.h"
#include "chunk/mask.h"
#include "volume/fingerprint.h"

/* In this order. The last one is allowed when it is known. */
enum { STATISTICS, FINGERPRINTS, THEN, ITEMS };

struct crd_inspection {
    const crd_request *request;
    crd_scan *scan; /* the thread's own */
    bool measures;
    crd_volume_statistics statistics;
    crd_fingerprints fingerprints;
    crd_inspection_work *work;
    void *context;
    crd_queue *queue;

    crd_monitor monitor; /* of the thread */
    atomic_bool stop;
    _Atomic(const char *) stage; /* what it is at */
    atomic_llong done, total;
};

/* Of the thread's work, for those who wait. */
static bool note_progress(void *context, const crd_progress *progress)
{
    crd_inspection *i = context;
    atomic_store(&i->stage, progress->stage);
    atomic_store(&i->done, progress->done);
    atomic_store(&i->total, progress->total);
    return !atomic_load(&i->stop);
}

static crd_status hash_mask(crd_inspection *i, const char *path)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_volume_options reading = crd_mask_reading(path, i->request->scan.shape);
    CRD_TRY(crd_volume_open(path, &reading, NULL, &volume));
    CRD_TRY(crd_volume_fingerprint(volume, "taking the mask's fingerprint", &i->monitor, i->fingerprints.mask));
done:
    crd_volume_close(&volume);
    return status;
}

/* All that the pass over the scan hasn't given. */
static crd_status take_fingerprints(crd_inspection *i)
{
    crd_fingerprints *f = &i->fingerprints;
    const char *mask = crd_request_mask_file(i->request);
    if (i->request->options->model != NULL) CRD_PASS(crd_sha256_file(i->request->options->model, f->model));
    if (f->scan[0] == '\0') {
        CRD_PASS(crd_scan_fingerprint(i->scan, "taking the scan's fingerprint", &i->monitor, f->scan));
    }
    return mask != NULL ? hash_mask(i, mask) : CRD_OK;
}

static crd_status work(void *context, int64_t item, int thread)
{
    crd_inspection *i = context;
    (void)thread;
    switch (item) {
    case STATISTICS:
        return i->measures ? crd_scan_measure(i->scan, &i->monitor, &i->statistics, i->fingerprints.scan) : CRD_OK;
    case FINGERPRINTS:
        return take_fingerprints(i);
    default:
        return i->work(i->context, &i->fingerprints);
    }
}

crd_status crd_inspection_start(const crd_request *request, const crd_scan *scan, bool statistics, crd_inspection **out)
{
    crd_status status = CRD_OK;
    crd_inspection *i = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *i, "looking at the inputs", &i));
    i->request = request;
    i->measures = statistics;
    i->monitor = (crd_monitor){.context = i, .progress = note_progress};
    CRD_TRY(crd_scan_reopen(scan, &i->scan));
    const crd_queue_plan plan = {.what = "looks at the inputs", .threads = 1, .context = i, .work = work};
    CRD_TRY(crd_queue_open(&plan, &i->queue));
    crd_queue_allow(i->queue, THEN);
    *out = i;
    i = NULL;
done:
    crd_inspection_free(&i);
    return status;
}

void crd_inspection_free(crd_inspection **pointer)
{
    crd_inspection *i = *pointer;
    if (i == NULL) return;
    atomic_store(&i->stop, true);
    crd_queue_close(&i->queue);
    crd_scan_close(&i->scan);
    crd_free(pointer);
}

static crd_status show(const crd_inspection *i, const crd_monitor *monitor)
{
    const char *stage = atomic_load(&i->stage);
    if (stage == NULL) return crd_advance(monitor, "looking at the inputs", "slices", 0, 0, NULL);
    return crd_advance(monitor, stage, "slices", atomic_load(&i->done), atomic_load(&i->total), NULL);
}

/* Who finds it done sees nothing of it. */
static crd_status wait_for(const crd_inspection *i, int64_t item, const crd_monitor *monitor)
{
    bool shown = false;
    for (; !crd_queue_wait_a_while(i->queue, item + 1, 50); shown = true) CRD_PASS(show(i, monitor));
    CRD_PASS(crd_queue_wait(i->queue, item + 1));
    return shown ? show(i, monitor) : CRD_OK;
}

crd_status crd_inspection_statistics(crd_inspection *i, const crd_monitor *monitor, const crd_volume_statistics **out)
{
    CRD_PASS(wait_for(i, STATISTICS, monitor));
    *out = &i->statistics;
    return CRD_OK;
}

crd_status crd_inspection_fingerprints(crd_inspection *i, const crd_monitor *monitor, const crd_fingerprints **out)
{
    CRD_PASS(wait_for(i, FINGERPRINTS, monitor));
    *out = &i->fingerprints;
    return CRD_OK;
}

void crd_inspection_then(crd_inspection *i, crd_inspection_work *next, void *context)
{
    i->work = next;
    i->context = context;
    crd_queue_allow(i->queue, ITEMS);
}

crd_status crd_inspection_wait(crd_inspection *i, const crd_monitor *monitor)
{
    return wait_for(i, i->work != NULL ? THEN : FINGERPRINTS, monitor);
}
