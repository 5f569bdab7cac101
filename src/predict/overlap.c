/* Chunks that overlap: sums in memory or on disk, slices out of them, volumes from the slices at the end. */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "predict/run.h"
#include "predict/sums/shared_slices.h"
#include "run/paths.h"

static crd_status open_growing(crd_predict_run *r)
{
    if (!crd_growing_volumes_wanted(&r->request) || !crd_predict_first(r)) return CRD_OK;
    return crd_growing_volumes_create(&r->request, r->partial, r->path, r->folder.resume, &r->log.monitor, &r->growing);
}

/* Has the row no unfinished slice in its kept part? */
static bool row_done(const crd_predict_run *r, int64_t row)
{
    const uint8_t *finished = crd_partial_finished(r->partial);
    int64_t begin, end;
    crd_request_row(&r->request, row, &begin, &end);
    for (int64_t z = begin; z < end; z++) {
        if (!finished[z - r->request.box.origin[0]]) return false;
    }
    return true;
}

static crd_status start(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    char *scratch = NULL, name[48];
    snprintf(name, sizeof name, "scratch.%d", crd_dist_rank(r->dist));
    CRD_TRY(crd_run_partial_path(r->path, name, &scratch));
    CRD_TRY(crd_accumulator_create(&r->request, r->memory.slab_bytes, scratch, &r->accumulator));
    CRD_TRY(crd_writer_create(&r->request, r->partial, r->growing, &r->writer));
done:
    crd_free(&scratch);
    return status;
}

static void stop(crd_predict_run *r)
{
    crd_writer_free(&r->writer);
    crd_accumulator_free(&r->accumulator);
}

/* Divides slice z by its coverage and hands it over; after the last of several they are made safe. */
static crd_status finish_slice(crd_predict_run *r, int64_t z, bool last)
{
    const crd_box *box = &r->request.box;
    const crd_box whole = {{z, box->origin[1], box->origin[2]}, {1, box->size[1], box->size[2]}};
    crd_slice *slice;
    if (r->inside != NULL) CRD_PASS(crd_scan_read_mask(r->scan, &whole, r->inside));
    CRD_PASS(crd_writer_slice(r->writer, &slice));
    CRD_PASS(crd_accumulator_finish(r->accumulator, z, r->inside, slice));
    crd_writer_put(r->writer, last);
    return CRD_OK;
}

/* After the last chunk of rows[number]: the slices that no later row of the band touches leave, for the disk or, where
 * rows of other bands touch them, for whoever will add them up. */
static crd_status finish_row(crd_predict_run *r, int64_t number)
{
    const int64_t origin = r->request.box.origin[0], row = r->units[number];
    const uint8_t *finished = crd_partial_finished(r->partial);
    int64_t begin, end, next, beyond, last;
    char fields[128];
    crd_request_row(&r->request, row, &begin, &end);
    if (number + 1 < r->band.end) {
        crd_request_row(&r->request, r->units[number + 1], &next, &beyond);
        if (next < end) end = next;
    }
    last = begin - 1; /* none */
    for (int64_t z = begin; z < end; z++) {
        if (!finished[z - origin] && !crd_sharing_at_edge(r->sharing, r->band, z)) last = z;
    }
    for (int64_t z = begin; z < end; z++) {
        if (finished[z - origin]) continue;
        if (crd_sharing_at_edge(r->sharing, r->band, z)) {
            CRD_PASS(crd_shared_slice_leave(r->accumulator, r->path, z, r->band.first));
        } else {
            CRD_PASS(finish_slice(r, z, z == last));
        }
    }
    snprintf(fields, sizeof fields, "\"row\": %" PRId64 ", \"slices\": [%" PRId64 ", %" PRId64 "]", row, begin,
             last + 1);
    crd_run_log_event(&r->log, "row", fields, "");
    return CRD_OK;
}

static crd_status take(crd_predict_run *r, const crd_chunk_result *result)
{
    crd_box window, keep;
    crd_plan_chunk(&r->request.plan, result->chunk_number, &window, &keep);
    if (r->inside != NULL) CRD_PASS(crd_scan_read_mask(r->scan, &window, r->inside));
    TIMED(r->times.adding, crd_accumulator_add(r->accumulator, result, r->inside, crd_partial_finished(r->partial)));
    TIMED(r->times.adding, crd_probes_keep(r->probes, result, r->partial));
    if ((r->in_band + 1) % crd_predict_per_unit(r) == 0) {
        TIMED(r->times.finishing, finish_row(r, r->band.first + (r->in_band + 1) / crd_predict_per_unit(r) - 1));
    }
    return CRD_OK;
}

/* Slices that others finish have probe values from here. */
static crd_status end_band(crd_predict_run *r)
{
    return crd_dist_size(r->dist) > 1 ? crd_partial_sync_probes(r->partial) : CRD_OK;
}

/* The slices of the band that others have touched, too, and that nobody will touch any more: all parts are added up. */
static crd_status finish_edges(crd_predict_run *r)
{
    const int64_t origin = r->request.box.origin[0];
    const uint8_t *finished = crd_partial_finished(r->partial);
    int64_t begin, end, other, bands[CRD_SHARING_BANDS], last = -1;
    if (r->band.first == r->band.end) return CRD_OK;
    crd_request_row(&r->request, r->units[r->band.first], &begin, &other);
    crd_request_row(&r->request, r->units[r->band.end - 1], &other, &end);
    for (int pass = 0; pass < 2; pass++) { /* the first finds the last */
        for (int64_t z = begin; z < end; z++) {
            if (finished[z - origin] || !crd_sharing_at_edge(r->sharing, r->band, z)) continue;
            const int64_t count = crd_sharing_bands_of(r->sharing, z, bands);
            if (count == 0) continue;
            if (pass == 0) {
                last = z;
                continue;
            }
            for (int64_t i = 0; i < count; i++) {
                CRD_PASS(crd_shared_slice_take(r->accumulator, r->path, z, bands[i]));
            }
            CRD_PASS(finish_slice(r, z, z == last));
        }
    }
    return CRD_OK;
}

static crd_status shared_band(crd_predict_run *r)
{
    TIMED(r->times.finishing, finish_edges(r));
    return CRD_OK;
}

static crd_status wait(crd_predict_run *r)
{
    return r->writer != NULL ? crd_writer_wait(r->writer) : CRD_OK;
}

static crd_status gather(crd_predict_run *r)
{
    if (!crd_growing_volumes_wanted(&r->request)) return CRD_OK;
    return crd_growing_volumes_create(&r->request, r->partial, r->path, true, &r->log.monitor, &r->growing);
}

static crd_status commit(crd_predict_run *r)
{
    if (r->request.outlet != NULL) {
        return crd_volumes_measure(&r->request, r->partial, &r->log.monitor, &r->seams);
    }
    if (r->growing == NULL) {
        return crd_volumes_write(&r->request, r->partial, r->path, &r->log.monitor, &r->seams);
    }
    CRD_PASS(crd_growing_volumes_finish(r->growing, &r->log.monitor));
    return crd_volumes_measure(&r->request, r->partial, &r->log.monitor, &r->seams);
}

static void close_growing(crd_predict_run *r)
{
    crd_growing_volumes_free(&r->growing);
}

const crd_finisher crd_finish_slices = {
    .items = "slices",
    .open = open_growing,
    .done = row_done,
    .start = start,
    .stop = stop,
    .take = take,
    .end_band = end_band,
    .shared_band = shared_band,
    .wait = wait,
    .gather = gather,
    .commit = commit,
    .close = close_growing,
};
