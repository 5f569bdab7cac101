#include "net/model.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random/philox.h"
#include "net/class_names.h"
#include "net/init.h"

static const char *const kind_names[] = {[CRD_BCNN] = "bcnn", [CRD_MCDN] = "mcdn"};
enum { DEFAULT_FILTERS = 16, DEFAULT_GROUPS = 4 };

const char *crd_kind_name(crd_kind kind)
{
    return kind == CRD_BCNN || kind == CRD_MCDN ? kind_names[kind] : "unknown";
}

static crd_status check_classes(const crd_model_info *info)
{
    if (info->class_names[0] != '\0') {
        CRD_PASS(crd_check_class_names("the list of class names", info->class_names));
        if (crd_class_names_count(info->class_names) != info->classes)
            return crd_fail(CRD_ERR_ARGUMENT, "there are %d classes and %d names for them (%s)", info->classes,
                            crd_class_names_count(info->class_names), info->class_names);
    }
    for (int i = 0; i < info->classes; i++) {
        if (!isfinite(info->class_values[i]))
            return crd_fail(CRD_ERR_ARGUMENT, "the value of a class must be a finite number");
        for (int k = 0; k < i; k++)
            if (info->class_values[i] == info->class_values[k])
                return crd_fail(CRD_ERR_ARGUMENT, "the classes %d and %d have the same value in the label, %g", k, i,
                                info->class_values[i]);
    }
    return CRD_OK;
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
    if (model->info.members == 0) model->info.members = 1;
    if (model->info.members < 1 || model->info.members > CRD_MEMBERS_MAX)
        CRD_FAIL(CRD_ERR_ARGUMENT, "a model has 1 to %d members, not %d", (int)CRD_MEMBERS_MAX, model->info.members);
    if (model->info.classes == 0) model->info.classes = 2;
    if (model->info.classes == 2 && model->info.class_values[0] == model->info.class_values[1])
        model->info.class_values[1] = model->info.class_values[0] + 1;
    if (model->info.calibration == 0) model->info.calibration = 1;
    if (model->info.norm[0] == '\0') snprintf(model->info.norm, sizeof model->info.norm, "scan");
    CRD_TRY(crd_net_describe_classes(info->kind, model->info.filters, model->info.groups, model->info.classes,
                                     &model->net));
    CRD_TRY(check_classes(&model->info));
    CRD_TRY(crd_model_set_calibration(model, model->info.calibration));
    if (crd_model_chunk_known(info)) CRD_TRY(crd_net_check_chunk(&model->net, info->chunk));
    model->info.parameters = model->net.model.total;
    CRD_TRY(crd_model_set_config(model, info->config));
    CRD_TRY(crd_alloc(model->info.members * model->net.model.total, sizeof(float), "the model's parameters",
                      &model->parameters));
    *out = model;
    model = NULL;
done:
    crd_model_free(&model);
    return status;
}

crd_status crd_model_create(const crd_model_info *info, uint64_t seed, crd_model **out)
{
    CRD_PASS(crd_model_make_empty(info, out));
    for (int m = 0; m < (*out)->info.members; m++)
        crd_net_init(&(*out)->net, crd_member_seed(seed, m), crd_model_member(*out, m));
    return CRD_OK;
}

bool crd_model_at_means(const crd_model *model)
{
    if (model->info.members < 2 || model->config == NULL) return false;
    cJSON *config = cJSON_Parse(model->config);
    const char *estimator = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, "estimator"));
    const bool means = estimator != NULL && strcmp(estimator, "mean") == 0;
    cJSON_Delete(config);
    return means;
}

/* Drawn, so that ensembles of neighbouring seeds share no member. */
uint64_t crd_member_seed(uint64_t seed, int64_t member)
{
    const crd_stream stream = {.seed = seed, .purpose = CRD_PURPOSE_MEMBER};
    if (member == 0) return seed;
    return (uint64_t)crd_random_below(&stream, (uint64_t)member, INT64_C(1) << 53);
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

const crd_heldout *crd_model_heldout(const crd_model *model)
{
    return &model->info.heldout;
}

void crd_model_summary(const crd_model *model, char *text, size_t size)
{
    const crd_model_info *info = &model->info;
    char chunk[80] = "", classes[32] = "", members[32] = "";
    if (info->classes > 2) snprintf(classes, sizeof classes, ", %d classes", info->classes);
    if (crd_model_chunk_known(info))
        snprintf(chunk, sizeof chunk, ", chunk %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x)", info->chunk[0],
                 info->chunk[1], info->chunk[2]);
    if (info->members > 1) snprintf(members, sizeof members, "%d members, each a ", info->members);
    snprintf(text, size, "%s%s, %d filters, %d groups%s, %" PRId64 " parameters%s", members, crd_kind_name(info->kind),
             info->filters, info->groups, classes, info->parameters, chunk);
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
