/* Validation from the options to the figures. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/settings/whole.h"
#include "run/paths.h"
#include "run/read.h"
#include "validate/figures.h"
#include "validate/seen.h"

static crd_status find_threshold(const crd_validate_options *options, crd_sweep *sweep, bool *from_manifest)
{
    int64_t voxels;
    crd_wide sum;
    *from_manifest = false;
    CRD_PASS(crd_parse_threshold("threshold", options->threshold, &sweep->threshold));
    if (!isnan(sweep->threshold) || sweep->inputs->unc == NULL) return CRD_OK;
    if (isfinite(sweep->inputs->mean)) {
        sweep->threshold = sweep->inputs->mean;
        *from_manifest = true;
        return CRD_OK;
    }
    CRD_PASS(crd_sweep_mean(sweep, &voxels, &sum));
    sweep->threshold = crd_wide_mean(sum, voxels, CRD_UNIT);
    return CRD_OK;
}

/* Right voxels that make a cube accurate; a share such as 7/8 is taken as meant, not as its double is rounded. */
static int needed(double share, int64_t edge)
{
    return (int)ceil(share * (double)(edge * edge * edge) - 1e-9);
}

static crd_status measure(const crd_validate_options *options, crd_sweep *sweep, crd_validation *v)
{
    crd_status status = CRD_OK;
    crd_tally *tally = NULL;
    bool from_manifest;
    CRD_TRY(find_threshold(options, sweep, &from_manifest));
    CRD_TRY(crd_tally_create(sweep->inputs->shape[0], sweep->threshold_count, sweep->inputs->class_count, &tally));
    CRD_TRY(crd_sweep_run(sweep, tally));
    if (tally->counts.voxels == 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "no voxel of %s is labelled and inside the mask: there is nothing to validate",
                 options->label);
    }
    if (!sweep->core) CRD_TRY(crd_sweep_distance(sweep, tally));
    CRD_TRY(crd_figures_make(sweep, tally, v));
    if (from_manifest && fabs(v->uncertainty.mean - sweep->threshold) > 1e-9) {
        crd_warn(
            sweep->monitor,
            "the manifest says that the mean uncertainty is %.9g, the map's is %.9g: its file was changed after the "
            "run; the manifest's is the threshold",
            sweep->threshold, v->uncertainty.mean);
    }
done:
    crd_tally_free(&tally);
    return status;
}

static crd_status write_to(const char *path, const crd_validation *v)
{
    crd_status status = CRD_OK;
    char *json = NULL;
    CRD_TRY(crd_validation_to_json(v, NULL, &json));
    CRD_TRY(crd_write_file(path, json, strlen(json)));
done:
    crd_free(&json);
    return status;
}

/* Where the figures go. They are worth having also where the run lies on a disk that is only read. */
static crd_status keep(const crd_validate_options *options, const crd_validation *v, bool wanted,
                       const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    if (options->output != NULL) return write_to(options->output, v);
    if (options->run == NULL) return CRD_OK;
    if (wanted && access(options->run, W_OK) != 0) {
        crd_warn(monitor,
                 "%s can't be written to, so the figures aren't kept there; --output FILE keeps them elsewhere",
                 options->run);
        return CRD_OK;
    }
    CRD_TRY(crd_run_path(options->run, CRD_RUN_VALIDATION, &path));
    CRD_TRY(write_to(path, v));
done:
    crd_free(&path);
    return status;
}

crd_status crd_validation_load(const char *run, crd_validation **out)
{
    crd_status status = CRD_OK;
    char *json = NULL, *path = NULL;
    *out = NULL;
    CRD_TRY(crd_run_text(run, CRD_RUN_VALIDATION, &json));
    if (json == NULL) goto done;
    CRD_TRY(crd_run_path(run, CRD_RUN_VALIDATION, &path));
    CRD_TRY(crd_validation_from_json(json, path, out));
done:
    crd_free(&json);
    crd_free(&path);
    return status;
}

static crd_status validate(const crd_validate_options *options, const crd_monitor *monitor, crd_validation **out)
{
    crd_status status = CRD_OK;
    crd_validation *v = NULL;
    crd_inputs inputs = {0};
    crd_sweep sweep = {.inputs = &inputs,
                       .rows = crd_rows_best(),
                       .monitor = monitor,
                       .edge = options->edge,
                       .stride = options->stride,
                       .thresholds = options->thresholds.items,
                       .threshold_count = options->thresholds.count,
                       .core = options->core};
    if (out != NULL) *out = NULL;
    if (options->edge < 1 || options->edge > 32 || options->stride < 1) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "edge must lie in 1 .. 32 and stride be at least 1");
    }
    if (options->output != NULL) { /* before the work */
        CRD_TRY(crd_check_target(options->output));
        if (crd_file_is_other(options->output, "{")) {
            CRD_FAIL(CRD_ERR_ARGUMENT, "%s is there already and holds no figures; give --output another name",
                     options->output);
        }
    }
    sweep.need = needed(options->accuracy_threshold, options->edge);
    CRD_TRY(crd_pool_create((int)options->threads, &sweep.pool));
    CRD_TRY(crd_inputs_open(options, monitor, &inputs));
    sweep.last = inputs.shape[0];
    CRD_TRY(crd_validation_create(&v));
    v->pavpu.edge = options->edge;
    v->pavpu.stride = options->stride;
    v->pavpu.accuracy_threshold = options->accuracy_threshold;
    snprintf(v->measure, sizeof v->measure, "%s", options->measure != NULL ? options->measure : "width");
    CRD_TRY(measure(options, &sweep, v));
    CRD_TRY(crd_seen_measure(options, &sweep, v));
    CRD_TRY(keep(options, v, out != NULL, monitor));
    if (out != NULL) {
        *out = v;
        v = NULL;
    }
done:
    crd_validation_free(&v);
    crd_inputs_close(&inputs);
    crd_pool_free(&sweep.pool);
    return status;
}

crd_status crd_validate(const crd_validate_options *options, const crd_monitor *monitor, crd_validation **out)
{
    crd_validate_options whole;
    CRD_PASS(crd_settings_whole(&crd_validate_settings, options, &whole));
    const crd_status status = validate(&whole, monitor, out);
    crd_settings_whole_free(&crd_validate_settings, options, &whole);
    return status;
}

crd_status crd_run_kind(const char *run, char kind[16])
{
    crd_manifest manifest;
    kind[0] = '\0';
    CRD_PASS(crd_run_read_manifest(run, &manifest));
    snprintf(kind, 16, "%s", manifest.model.kind);
    crd_manifest_free(&manifest);
    return CRD_OK;
}
