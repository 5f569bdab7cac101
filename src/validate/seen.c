#include "validate/seen.h"

#include <string.h>
#include <unistd.h>

#include "base/hash/sha256.h"
#include "base/monitor.h"
#include "run/read.h"
#include "validate/figures.h"

static bool has(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* The model, if it is still the one that made the run. */
static crd_status open_model(const crd_manifest *run, const crd_monitor *monitor, crd_model **out)
{
    char sha256[CRD_SHA256_TEXT];
    if (!has(run->model.path) || !has(run->model.sha256) || !has(run->scan.sha256)) return CRD_OK;
    if (access(run->model.path, R_OK) != 0 || crd_sha256_file(run->model.path, sha256) != CRD_OK ||
        strcmp(sha256, run->model.sha256) != 0) {
        crd_info(monitor,
                 "the run's model %s is gone or another one now: whether it learnt from these voxels isn't known",
                 run->model.path);
        return CRD_OK;
    }
    return crd_model_load(run->model.path, out);
}

crd_status crd_seen_find(const crd_validate_options *options, const crd_monitor *monitor, crd_inputs *inputs,
                         crd_model **model, const crd_learnt_scan **out, bool *known)
{
    crd_status status = CRD_OK;
    crd_manifest run;
    *out = NULL;
    *known = false;
    if (options->run == NULL) return CRD_OK;
    CRD_PASS(crd_run_read(options->run, &run));
    CRD_TRY(open_model(&run, monitor, model));
    if (*model == NULL || !(*model)->provenance.known) goto done;
    *known = true;
    *out = crd_provenance_find(&(*model)->provenance, run.scan.sha256);
    memcpy(inputs->learnt_origin, run.plan.origin, sizeof inputs->learnt_origin);
done:
    crd_manifest_free(&run);
    return status;
}

void crd_seen_hide(const crd_inputs *inputs, const crd_box *box, uint8_t *classes)
{
    const int64_t *origin = inputs->learnt_origin;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++, classes += box->size[2]) {
            bool learnt = false;
            for (int64_t x = 0; x < box->size[2]; x++) {
                const int64_t there = box->origin[2] + x + origin[2];
                if (x == 0 || there % CRD_LEARNT_CELL == 0) {
                    learnt = crd_learnt_at(inputs->learnt, z + origin[0], y + origin[1], there);
                }
                if (learnt) classes[x] = CRD_LABEL_NONE;
            }
        }
    }
}

static void take_figures(const crd_validation *from, crd_validation *v)
{
    v->unseen.voxels = from->voxels;
    v->unseen.accuracy = from->accuracy;
    v->unseen.dice = from->dice;
    v->unseen.iou = from->iou;
    v->unseen.ece = from->calibration.ece;
    v->unseen.nll = from->calibration.nll;
    v->unseen.p_accurate_given_certain = from->pavpu.p_accurate_given_certain;
    v->unseen.p_uncertain_given_inaccurate = from->pavpu.p_uncertain_given_inaccurate;
}

/* The essential figures over what wasn't learnt from, with the threshold of all voxels. */
static crd_status measure_unseen(const crd_sweep *all, const crd_inputs *inputs, crd_validation *v)
{
    crd_status status = CRD_OK;
    crd_tally *tally = NULL;
    crd_validation *rest = NULL;
    crd_sweep sweep = *all;
    sweep.inputs = inputs;
    sweep.core = true;
    sweep.threshold_count = 0;
    CRD_TRY(crd_tally_create(inputs->shape[0], 0, inputs->class_count, &tally));
    CRD_TRY(crd_sweep_run(&sweep, tally));
    if (tally->counts.voxels == 0) goto done;
    CRD_TRY(crd_validation_create(&rest));
    rest->pavpu = (crd_pavpu){
        .edge = v->pavpu.edge, .stride = v->pavpu.stride, .accuracy_threshold = v->pavpu.accuracy_threshold};
    CRD_TRY(crd_figures_make(&sweep, tally, rest));
    take_figures(rest, v);
done:
    crd_validation_free(&rest);
    crd_tally_free(&tally);
    return status;
}

crd_status crd_seen_measure(const crd_validate_options *options, const crd_sweep *sweep, crd_validation *v)
{
    crd_status status = CRD_OK;
    crd_model *model = NULL;
    const crd_learnt_scan *learnt;
    crd_inputs inputs = *sweep->inputs; /* borrows all */
    bool known;
    CRD_TRY(crd_seen_find(options, sweep->monitor, &inputs, &model, &learnt, &known));
    if (!known) goto done;
    v->seen_in_training = 0;
    if (learnt == NULL) goto done;
    inputs.learnt = learnt;
    inputs.all_count = false;
    inputs.map_count = 0;
    CRD_TRY(measure_unseen(sweep, &inputs, v));
    if (v->unseen.voxels == v->voxels) goto done;
    v->seen_in_training = 1;
    crd_warn(sweep->monitor,
             "the model learnt from %lld of the %lld voxels that it is validated on: figures over all of them flatter",
             (long long)(v->voxels - v->unseen.voxels), (long long)v->voxels);
done:
    crd_model_free(&model);
    return status;
}
