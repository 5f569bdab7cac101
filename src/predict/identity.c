#include "predict/identity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "chunk/mask.h"
#include "predict/mode.h"
#include "predict/settings.h"
#include "volume/fingerprint.h"

static crd_status hash_volume(const char *path, const crd_volume_options *options, const char *stage,
                              const crd_monitor *monitor, char text[CRD_SHA256_TEXT])
{
    crd_volume *volume = NULL;
    CRD_PASS(crd_volume_open(path, options, NULL, &volume));
    const crd_status status = crd_volume_fingerprint(volume, stage, monitor, text);
    crd_volume_close(&volume);
    return status;
}

crd_status crd_fingerprints_take(const crd_request *request, const crd_monitor *monitor, crd_fingerprints *out)
{
    const char *mask = crd_request_mask_file(request);
    CRD_PASS(crd_sha256_file(request->options->model, out->model));
    CRD_PASS(
        hash_volume(request->options->scan, &request->reading, "taking the scan's fingerprint", monitor, out->scan));
    out->mask[0] = '\0';
    if (mask == NULL) return CRD_OK;
    const crd_volume_options reading = crd_mask_reading(mask, request->scan.shape);
    return hash_volume(mask, &reading, "taking the mask's fingerprint", monitor, out->mask);
}

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

static bool fill(const crd_request *request, const crd_fingerprints *fingerprints, const char *device, cJSON *object)
{
    char text[256];
    bool fine = settle_text(object, "program", crd_version()) && settle_text(object, "model", fingerprints->model) &&
                settle_text(object, "scan", fingerprints->scan) && settle_text(object, "device", device) &&
                settle(object, "samples", cJSON_CreateNumber((double)request->samples)) &&
                settle(object, "step", cJSON_CreateNumber((double)request->step));
    if (request->seamless) {
        snprintf(text, sizeof text, "%lld,%lld,%lld", (long long)request->plan.axes[0].stride,
                 (long long)request->plan.axes[1].stride, (long long)request->plan.axes[2].stride);
        fine =
            fine && settle_text(object, "tile", text) && settle_text(object, "norms", crd_norms_name(request->norms));
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

crd_status crd_identity_make(const crd_request *request, const crd_fingerprints *fingerprints, char **out)
{
    crd_status status = CRD_OK;
    char device[256];
    cJSON *object = NULL;
    *out = NULL;
    CRD_TRY(request->backend->describe(&request->device, device, sizeof device));
    CRD_TRY(crd_predict_record(request->options, CRD_SCOPE_RESULT, &object));
    if (!fill(request, fingerprints, device, object)) {
        CRD_FAIL(CRD_ERR_MEMORY, "not enough memory to describe the run");
    }
    CRD_TRY(crd_json_print(object, false, out));
done:
    cJSON_Delete(object);
    return status;
}
