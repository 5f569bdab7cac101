#include "predict/expected_error.h"

#include <inttypes.h>
#include <math.h>

#include "base/monitor.h"
#include "predict/run.h"

/* Few samples tell it to some percent. */
enum { SAMPLES = 4 };
/* From so many times the training's on a scan is pointed out, and from so much more. Chosen on phantoms of two families
 * with other noise, contrast, blur, fraction and size: docs/INTERPRET.md has the rates. */
static const double much_harder = 1.5, not_by_chance = 0.005;

/* 1 less the probability of the most probable class, as a multiple of 2^-24. */
static uint32_t doubt_at(const uint32_t *mean, int planes, int64_t voxels)
{
    const uint32_t one = UINT32_C(1) << 24;
    uint32_t most = mean[0];
    if (planes == 1) return most < one / 2 ? most : one - most;
    for (int k = 1; k < planes; k++) most = mean[k * voxels] > most ? mean[k * voxels] : most;
    return most < one ? one - most : 0;
}

/* The sum of that over the inner part of a piece: the outer eighths see its border. */
static void add_doubt(const crd_pieces *pieces, const uint32_t *mean, int planes, uint64_t *sum, int64_t *count)
{
    const int64_t *size = pieces->size, margin[3] = {size[0] / 8, size[1] / 8, size[2] / 8};
    for (int64_t z = margin[0]; z < size[0] - margin[0]; z++) {
        for (int64_t y = margin[1]; y < size[1] - margin[1]; y++) {
            const uint32_t *row = mean + (z * size[1] + y) * size[2];
            for (int64_t x = margin[2]; x < size[2] - margin[2]; x++) {
                *sum += doubt_at(row + x, planes, size[0] * size[1] * size[2]);
            }
        }
    }
    *count += (size[0] - 2 * margin[0]) * (size[1] - 2 * margin[1]) * (size[2] - 2 * margin[2]);
}

static crd_status ask_all(crd_predict_run *r, crd_predictor *predictor, crd_training_match *out)
{
    const crd_backend *backend = r->request.backend;
    const crd_pieces *pieces = &r->request.model->pieces;
    uint64_t sum = 0;
    int64_t voxels = 0;
    for (int64_t i = 0; i < pieces->count; i++) {
        crd_chunk_result result;
        CRD_PASS(crd_advance(&r->log.monitor, "looking at the training", "pieces", i, pieces->count, NULL));
        CRD_PASS(backend->predictor_submit(predictor, i, pieces->voxels + i * crd_piece_voxels(pieces), NULL, 0));
        CRD_PASS(backend->predictor_collect(predictor, &result));
        if (result.nonfinite > 0) return CRD_OK; /* then the run will say so */
        add_doubt(pieces, result.mean, r->request.planes, &sum, &voxels);
    }
    out->training_expected_error = (double)sum / 0x1p24 / (double)voxels;
    return CRD_OK;
}

crd_status crd_expected_error_of_training(crd_predict_run *r, crd_training_match *out)
{
    crd_status status = CRD_OK;
    crd_predictor_plan plan;
    crd_predictor *predictor = NULL;
    const crd_request *request = &r->request;
    out->training_expected_error = (double)NAN;
    if (request->norms != CRD_NORMS_TRAINING) return CRD_OK;
    crd_request_predictor(request, &plan);
    for (int axis = 0; axis < 3; axis++) {
        plan.chunk[axis] = request->model->pieces.size[axis];
        plan.keep[axis] = 0;
    }
    if (plan.samples > SAMPLES) plan.samples = SAMPLES;
    plan.keep_samples = false;
    plan.entropy = false;
    plan.any_order = 0;
    plan.moments = r->moments;
    plan.memory_saving = CRD_MEMORY_SAVING_MOST;
    CRD_TRY(request->backend->predictor_create(&request->device, &plan, &predictor));
    CRD_TRY(ask_all(r, predictor, out));
done:
    if (predictor != NULL) request->backend->predictor_free(&predictor);
    return status;
}

void crd_expected_error_check(double doubt, int64_t voxels, const crd_monitor *monitor, crd_training_match *match)
{
    match->expected_error = doubt / 0x1p32 / (double)voxels;
    const double here = match->expected_error, there = match->training_expected_error;
    if (!(here > much_harder * there && here > there + not_by_chance)) return;
    crd_warn(
        monitor,
        "the network finds this scan much harder than those it learnt from: it expects to be wrong in %.1f %% of the "
        "voxels, and in %.1f %% of those of its training scans; look at the result before you rely on it, and train "
        "on a sample of this material and setup",
        100.0 * here, 100.0 * there);
}
