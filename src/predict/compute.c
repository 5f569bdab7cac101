/* Chunks through the network, and on to the finisher. */
#include <inttypes.h>
#include <unistd.h>

#include "base/monitor.h"
#include "predict/run.h"

enum { DEEPEST = 64, WAITING_MICROSECONDS = 50000 };

static crd_status advance(crd_predict_run *r, bool *over)
{
    const int64_t before = r->request.chunks - r->unit_count * crd_predict_per_unit(r);
    CRD_PASS(crd_sharing_tell(r->sharing, r->done, &r->all, over));
    return crd_advance(&r->log.monitor, "predicting", crd_predict_pieces(r), before + r->all, r->request.chunks, NULL);
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
    CRD_PASS(r->finisher->take(r, &result));
    r->done++;
    r->in_band++;
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
    const int64_t total = (r->band.end - r->band.first) * crd_predict_per_unit(r);
    int64_t depth = r->request.backend->predictor_depth(r->predictor);
    if (depth > DEEPEST) depth = DEEPEST;
    r->in_band = 0;
    CRD_PASS(crd_chunk_reader_create(&r->request, r->scan, r->units + r->band.first, r->band.end - r->band.first,
                                     r->memory.kept_bytes > 0, &r->reader));
    for (int64_t i = 0; i < total; i++) {
        int64_t number;
        const float *voxels;
        TIMED(r->times.waiting, crd_chunk_reader_next(r->reader, &number, &voxels));
        TIMED(r->times.network, submit(r, number, voxels));
        if (i + 1 - r->in_band >= depth) CRD_PASS(collect(r));
    }
    while (r->in_band < total) CRD_PASS(collect(r));
    crd_chunk_reader_free(&r->reader);
    r->bands++;
    return r->finisher->end_band != NULL ? r->finisher->end_band(r) : CRD_OK;
}

crd_status crd_predict_compute(crd_predict_run *r)
{
    bool over = false;
    CRD_PASS(advance(r, &over));
    for (crd_band next;; r->band = next) {
        if (r->band.first < r->band.end) CRD_PASS(compute_band(r));
        CRD_PASS(crd_sharing_next(r->sharing, r->band, r->done, &next));
        if (r->finisher->shared_band != NULL) CRD_PASS(r->finisher->shared_band(r));
        if (next.first == next.end) break;
    }
    TIMED(r->times.finishing, r->finisher->wait(r));
    r->finished = crd_run_log_seconds(&r->log);
    while (crd_predict_first(r) && !over) { /* others may be at work, and people want to see it */
        CRD_PASS(advance(r, &over));
        if (!over) (void)usleep(WAITING_MICROSECONDS);
    }
    return crd_dist_barrier(r->dist);
}
