#include "predict/identity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "predict/mode.h"
#include "predict/settings.h"

/* What model and scan have made of a setting stands in its place, at the end of the object. */
static bool settle(cJSON *object, const char *key, cJSON *value)
{
    cJSON_DeleteItemFromObject(object, key);
    if (value != NULL && cJSON_AddItemToObject(object, key, value)) return true;
    cJSON_Delete(value);
    return false;
}

static bool settle_text(cJSON *object, const char *key, const char *text)
{
    return settle(object, key, cJSON_CreateString(text));
}

static bool fill(const crd_request *request, const crd_fingerprints *fingerprints, const char *norms,
                 const char *device, cJSON *object)
{
    char text[256];
    bool fine = settle_text(object, "program", crd_version()) && settle_text(object, "model", fingerprints->model) &&
                settle_text(object, "scan", fingerprints->scan) && settle_text(object, "device", device) &&
                settle(object, "samples", cJSON_CreateNumber((double)request->samples));
    if (!request->seamless) {
        fine = fine && settle(object, "step", cJSON_CreateNumber((double)request->step));
    } else { /* finished tiles lie in files of the final format */
        snprintf(text, sizeof text, "%lld,%lld,%lld", (long long)request->plan.axes[0].stride,
                 (long long)request->plan.axes[1].stride, (long long)request->plan.axes[2].stride);
        fine = fine && settle_text(object, "tile", text) &&
               settle_text(object, "norms", crd_norms_name(request->norms)) &&
               settle_text(object, CRD_IDENTITY_NORMS, norms) && settle_text(object, "format", request->suffix);
    }
    if (fingerprints->mask[0] != '\0') fine = fine && settle_text(object, CRD_IDENTITY_MASK, fingerprints->mask);
    const crd_axis_plan *axes = request->plan.axes;
    snprintf(text, sizeof text, "%lld,%lld,%lld", (long long)axes[0].window, (long long)axes[1].window,
             (long long)axes[2].window);
    fine = fine && settle_text(object, "chunk", text);
    const crd_box *box = &request->box;
    snprintf(text, sizeof text, "%lld:%lld,%lld:%lld,%lld:%lld", (long long)box->origin[0],
             (long long)(box->origin[0] + box->size[0]), (long long)box->origin[1],
             (long long)(box->origin[1] + box->size[1]), (long long)box->origin[2],
             (long long)(box->origin[2] + box->size[2]));
    fine = fine && settle_text(object, "bbox", text);
    crd_norm_format(&request->norm, text, sizeof text);
    return fine && settle_text(object, "norm", text);
}

crd_status crd_identity_make(const crd_request *request, const crd_fingerprints *fingerprints, const char *norms,
                             char **out)
{
    crd_status status = CRD_OK;
    char device[256];
    cJSON *object = NULL;
    *out = NULL;
    CRD_TRY(request->backend->describe(&request->device, device, sizeof device));
    CRD_TRY(crd_predict_record(request->options, request->seamless,
                               request->seamless ? CRD_SCOPE_FINISH : CRD_SCOPE_RESULT, &object));
    if (!fill(request, fingerprints, norms, device, object)) {
        CRD_FAIL(CRD_ERR_MEMORY, "not enough memory to describe the run");
    }
    CRD_TRY(crd_json_print(object, false, out));
done:
    cJSON_Delete(object);
    return status;
}
