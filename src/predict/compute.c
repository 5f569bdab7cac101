/* Chunks through the network, and slices out of the sums. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/monitor.h"
#include "predict/run.h"
#include "predict/sums/shared_slices.h"

enum { DEEPEST = 64, WAITING_MICROSECONDS = 50000 };

/* Calls something and adds the seconds it took. */
#define TIMED(SECONDS, CALL)                                                                                           \
    do {                                                                                                               \
        const double timed_start = crd_run_log_seconds(&r->log);                                                       \
        const crd_status timed_status = (CALL);                                                                        \
        (SECONDS) += crd_run_log_seconds(&r->log) - timed_start;                                                       \
        if (timed_status != CRD_OK) return timed_status;                                                               \
    } while (0)

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
    const int64_t origin = r->request.box.origin[0], row = r->rows[number];
    const uint8_t *finished = crd_partial_finished(r->partial);
    int64_t begin, end, next, beyond, last;
    char fields[128];
    crd_request_row(&r->request, row, &begin, &end);
    if (number + 1 < r->band.end) {
        crd_request_row(&r->request, r->rows[number + 1], &next, &beyond);
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

/* The slices of the band that others have touched, too, and that nobody will touch any more: all parts are added up. */
static crd_status finish_edges(crd_predict_run *r)
{
    const int64_t origin = r->request.box.origin[0];
    const uint8_t *finished = crd_partial_finished(r->partial);
    int64_t begin, end, other, bands[CRD_SHARING_BANDS], last = -1;
    if (r->band.first == r->band.end) return CRD_OK;
    crd_request_row(&r->request, r->rows[r->band.first], &begin, &other);
    crd_request_row(&r->request, r->rows[r->band.end - 1], &other, &end);
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

static crd_status advance(crd_predict_run *r, bool *over)
{
    const int64_t before = r->request.chunks - r->row_count * crd_predict_per_row(r);
    CRD_PASS(crd_sharing_tell(r->sharing, r->done, &r->all, over));
    return crd_advance(&r->log.monitor, "predicting", "chunks", before + r->all, r->request.chunks, NULL);
}

/* A probability that isn't a number would end as certain background. */
static crd_status check_values(const crd_request *request, const crd_chunk_result *result, const crd_box *asked)
{
    if (result->nonfinite == 0) return CRD_OK;
    return crd_fail(CRD_ERR_NUMERIC,
                    "%" PRId64 " values of chunk %" PRId64 " (at z, y, x = %" PRId64 ", %" PRId64 ", %" PRId64
                    ") aren't finite numbers, first in sample %" PRId64
                    ": the network's numbers grew beyond what its arithmetic holds, as they do with grey values that "
                    "aren't normalised in half precision, or with a broken model; try without --norm, or with --norm "
                    "scan, then --precision f32, then another model",
                    result->nonfinite, result->chunk_number, asked->origin[0], asked->origin[1], asked->origin[2],
                    request->first_sample + result->nonfinite_sample);
}

static crd_status collect(crd_predict_run *r)
{
    crd_chunk_result result;
    crd_box asked;
    bool over;
    TIMED(r->times.network, r->request.backend->predictor_collect(r->predictor, &result));
    r->times.network -= result.summary_seconds;
    r->times.summarising += result.summary_seconds;
    crd_request_asked(&r->request, result.chunk_number, &asked);
    CRD_PASS(check_values(&r->request, &result, &asked));
    if (r->inside != NULL) CRD_PASS(crd_scan_read_mask(r->scan, &asked, r->inside));
    TIMED(r->times.adding, crd_accumulator_add(r->accumulator, &result, r->inside, crd_partial_finished(r->partial)));
    TIMED(r->times.adding, crd_probes_keep(r->probes, &result, r->partial));
    r->done++;
    r->in_band++;
    if (r->in_band % crd_predict_per_row(r) == 0) {
        TIMED(r->times.finishing, finish_row(r, r->band.first + r->in_band / crd_predict_per_row(r) - 1));
    }
    return advance(r, &over);
}

/* A tile is asked for what it keeps; its halo is only seen. */
static crd_status submit(crd_predict_run *r, int64_t number, const float *voxels)
{
    const crd_backend *backend = r->request.backend;
    const int64_t *probe;
    int64_t probe_count;
    crd_probes_of_chunk(r->probes, number, &probe, &probe_count);
    if (r->request.seamless) {
        crd_box window, keep;
        crd_plan_chunk(&r->request.plan, number, &window, &keep);
        for (int axis = 0; axis < 3; axis++) keep.origin[axis] -= window.origin[axis];
        backend->predictor_keep(r->predictor, &keep);
    }
    return backend->predictor_submit(r->predictor, number, voxels, probe, probe_count);
}

static crd_status compute_band(crd_predict_run *r)
{
    const int64_t total = (r->band.end - r->band.first) * crd_predict_per_row(r);
    int64_t depth = r->request.backend->predictor_depth(r->predictor);
    if (depth > DEEPEST) depth = DEEPEST;
    r->in_band = 0;
    CRD_PASS(crd_reader_create(&r->request, r->scan, r->rows + r->band.first, r->band.end - r->band.first,
                               r->memory.kept_bytes > 0, &r->reader));
    for (int64_t i = 0; i < total; i++) {
        int64_t number;
        const float *voxels;
        TIMED(r->times.waiting, crd_reader_next(r->reader, &number, &voxels));
        TIMED(r->times.network, submit(r, number, voxels));
        if (i + 1 - r->in_band >= depth) CRD_PASS(collect(r));
    }
    while (r->in_band < total) CRD_PASS(collect(r));
    crd_reader_free(&r->reader);
    r->bands++;
    /* Slices that others finish have probe values from here. */
    return crd_dist_size(r->dist) > 1 ? crd_partial_sync_probes(r->partial) : CRD_OK;
}

crd_status crd_predict_compute(crd_predict_run *r)
{
    bool over = false;
    CRD_PASS(advance(r, &over));
    for (crd_band next;; r->band = next) {
        if (r->band.first < r->band.end) CRD_PASS(compute_band(r));
        CRD_PASS(crd_sharing_next(r->sharing, r->band, r->done, &next));
        TIMED(r->times.finishing, finish_edges(r));
        if (next.first == next.end) break;
    }
    TIMED(r->times.finishing, crd_writer_wait(r->writer));
    r->finished = crd_run_log_seconds(&r->log);
    while (crd_predict_first(r) && !over) { /* others may be at work, and people want to see it */
        CRD_PASS(advance(r, &over));
        if (!over) (void)usleep(WAITING_MICROSECONDS);
    }
    return crd_dist_barrier(r->dist);
}
