#include "predict/norms.h"

#include <math.h>
#include <unistd.h>

#include "base/hash/sha256.h"
#include "base/memory.h"
#include "chunk/pieces.h"
#include "net/store/store.h"
#include "run/paths.h"

static const char dataset[] = "moments", expected_error[] = "training_expected_error";

/* [samples][norms][groups][mean, mean of squares] */
static void shape_of(const crd_request *request, int64_t shape[4])
{
    const crd_net *net = &request->model->net;
    shape[0] = request->samples;
    shape[1] = crd_net_moments(net) / net->groups;
    shape[2] = net->groups;
    shape[3] = 2;
}

static crd_status read_pieces(crd_predict_run *r, crd_pieces *pieces)
{
    const crd_request *request = &r->request;
    (void)crd_piece_size(request->scan.shape, crd_net_step(&request->model->net),
                         pieces->size); /* mode.c: it is large enough */
    pieces->count = CRD_PIECES_WANTED;
    CRD_PASS(crd_alloc(pieces->count * crd_piece_voxels(pieces), sizeof(float), "pieces of the scan", &pieces->voxels));
    return crd_pieces_read(&r->scan, 1, request->seed, pieces->size, pieces->voxels);
}

static crd_status measure(crd_predict_run *r, const crd_pieces *pieces)
{
    const crd_request *request = &r->request;
    crd_predictor_plan plan;
    crd_request_predictor(request, &plan);
    return request->backend->measure_norms(&request->device, &plan, pieces, &r->log.monitor, r->moments);
}

static crd_status write_file(const crd_predict_run *r, const char *path)
{
    crd_status status = CRD_OK;
    crd_store *store = NULL;
    int64_t shape[4];
    shape_of(&r->request, shape);
    CRD_TRY(crd_store_create(path, &store));
    CRD_TRY(crd_store_put_doubles(store, dataset, 4, shape, &r->moments->mean));
    CRD_TRY(crd_store_put_reals(store, "", expected_error, 1, &r->match.training_expected_error));
    CRD_TRY(crd_store_commit(store));
done:
    crd_store_close(&store);
    return status;
}

static crd_status read_file(crd_predict_run *r, const char *path)
{
    crd_status status = CRD_OK;
    crd_store *store = NULL;
    int64_t shape[4];
    shape_of(&r->request, shape);
    CRD_TRY(crd_store_open(path, &store));
    CRD_TRY(crd_store_get_doubles(store, dataset, 4, shape, "this run", &r->moments->mean));
    if (crd_store_has_attribute(store, "", expected_error)) { /* earlier versions didn't know it */
        CRD_TRY(crd_store_get_reals(store, "", expected_error, 1, &r->match.training_expected_error));
    }
    CRD_TRY(crd_store_check(store));
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        if (isfinite(r->moments[i].mean) && isfinite(r->moments[i].square)) continue;
        CRD_FAIL(CRD_ERR_FORMAT,
                 "%s holds what isn't a finite number: the file is damaged; begin anew with --overwrite", path);
    }
done:
    crd_store_close(&store);
    return status;
}

/* Of what the file holds. */
static void take_fingerprint(crd_predict_run *r)
{
    int64_t shape[4];
    crd_sha256 hash;
    shape_of(&r->request, shape);
    crd_sha256_begin(&hash);
    crd_sha256_add(&hash, shape, sizeof shape);
    crd_sha256_add(&hash, r->moments, (size_t)(shape[0] * shape[1] * shape[2]) * sizeof *r->moments);
    crd_sha256_end(&hash, r->norms_sha256);
}

/* From the run folder, where they are there; `*there` says so. */
static crd_status load(crd_predict_run *r, bool *there)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_run_path(r->path, CRD_RUN_NORMS, &path));
    *there = access(path, F_OK) == 0;
    if (*there) CRD_TRY(read_file(r, path));
done:
    crd_free(&path);
    return status;
}

static crd_status make(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    crd_pieces own = {0};
    const bool training = r->request.norms == CRD_NORMS_TRAINING;
    bool there = false;
    if (r->folder.resume) CRD_TRY(load(r, &there));
    if (there) goto done;
    if (!training) CRD_TRY(read_pieces(r, &own));
    CRD_TRY(measure(r, training ? &r->request.model->pieces : &own));
    r->norms_new = true;
done:
    crd_free(&own.voxels);
    return status;
}

static crd_status take_room(crd_predict_run *r)
{
    _Static_assert(sizeof(crd_moments) == 2 * sizeof(double),
                   "moments are pairs of doubles, in memory and in the file");
    return crd_alloc(r->request.samples * crd_net_moments(&r->request.model->net), sizeof *r->moments,
                     "the norms' statistics", &r->moments);
}

crd_status crd_norms_prepare(crd_predict_run *r)
{
    const int64_t count = r->request.samples * crd_net_moments(&r->request.model->net);
    if (r->request.norms == CRD_NORMS_CHUNK) return CRD_OK;
    CRD_PASS(take_room(r));
    if (crd_predict_first(r)) CRD_PASS(make(r));
    CRD_PASS(crd_dist_broadcast(r->dist, r->moments, count * (int64_t)sizeof *r->moments));
    take_fingerprint(r);
    return r->norms_new ? crd_expected_error_of_training(r, &r->match) : CRD_OK;
}

crd_status crd_norms_keep(crd_predict_run *r)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    if (!r->norms_new) return CRD_OK;
    CRD_TRY(crd_run_path(r->path, CRD_RUN_NORMS, &path));
    CRD_TRY(write_file(r, path));
done:
    crd_free(&path);
    return status;
}

crd_status crd_norms_of_complete(crd_predict_run *r)
{
    bool there;
    if (r->request.norms == CRD_NORMS_CHUNK) return CRD_OK;
    CRD_PASS(take_room(r));
    CRD_PASS(load(r, &there));
    if (there) take_fingerprint(r);
    return CRD_OK;
}
