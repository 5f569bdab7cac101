#include "net/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "net/init.h"

static const char *const kind_names[] = {[CRD_BCNN] = "bcnn", [CRD_MCDN] = "mcdn"};
enum { DEFAULT_FILTERS = 16, DEFAULT_GROUPS = 4 };

const char *crd_kind_name(crd_kind kind)
{
    return kind == CRD_BCNN || kind == CRD_MCDN ? kind_names[kind] : "unknown";
}

crd_status crd_model_make_empty(const crd_model_info *info, crd_model **out)
{
    crd_status status = CRD_OK;
    crd_model *model = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *model, "a model", &model));
    model->info = *info;
    model->info.config = NULL;
    if (model->info.filters == 0) model->info.filters = DEFAULT_FILTERS;
    if (model->info.groups == 0) model->info.groups = DEFAULT_GROUPS;
    if (model->info.calibration == 0) model->info.calibration = 1;
    if (model->info.norm[0] == '\0') snprintf(model->info.norm, sizeof model->info.norm, "scan");
    CRD_TRY(crd_net_describe(info->kind, model->info.filters, model->info.groups, &model->net));
    CRD_TRY(crd_model_set_calibration(model, model->info.calibration));
    if (crd_model_chunk_known(info)) CRD_TRY(crd_net_check_chunk(&model->net, info->chunk));
    model->info.parameters = model->net.model.total;
    CRD_TRY(crd_model_set_config(model, info->config));
    CRD_TRY(crd_alloc(model->net.model.total, sizeof(float), "the model's parameters", &model->parameters));
    *out = model;
    model = NULL;
done:
    crd_model_free(&model);
    return status;
}

crd_status crd_model_create(const crd_model_info *info, uint64_t seed, crd_model **out)
{
    CRD_PASS(crd_model_make_empty(info, out));
    crd_net_init(&(*out)->net, seed, (*out)->parameters);
    return CRD_OK;
}

void crd_model_free(crd_model **model)
{
    if (*model == NULL) return;
    crd_free(&(*model)->config);
    crd_free(&(*model)->parameters);
    crd_free(&(*model)->pieces.voxels);
    crd_provenance_free(&(*model)->provenance);
    crd_free(model);
}

const crd_model_info *crd_model_describe(const crd_model *model)
{
    return &model->info;
}

void crd_model_summary(const crd_model *model, char *text, size_t size)
{
    const crd_model_info *info = &model->info;
    char chunk[80] = "";
    if (crd_model_chunk_known(info))
        snprintf(chunk, sizeof chunk, ", chunk %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x)", info->chunk[0],
                 info->chunk[1], info->chunk[2]);
    snprintf(text, size, "%s, %d filters, %d groups, %" PRId64 " parameters%s", crd_kind_name(info->kind),
             info->filters, info->groups, info->parameters, chunk);
}

crd_status crd_model_set_calibration(crd_model *model, double calibration)
{
    if (!(calibration > 0) || !isfinite(calibration))
        return crd_fail(CRD_ERR_ARGUMENT, "a calibration must be a number above 0, not %g", calibration);
    model->info.calibration = calibration;
    return CRD_OK;
}

void crd_model_take_pieces(crd_model *model, crd_pieces *pieces)
{
    crd_free(&model->pieces.voxels);
    model->pieces = *pieces;
    *pieces = (crd_pieces){0};
    model->info.pieces = model->pieces.count;
    memcpy(model->info.piece, model->pieces.size, sizeof model->info.piece);
}

crd_status crd_model_set_config(crd_model *model, const char *json)
{
    char *copy = NULL;
    CRD_PASS(crd_strdup(json, &copy));
    crd_free(&model->config);
    model->config = copy;
    model->info.config = copy;
    return CRD_OK;
}
