#include "predict/identity.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "chunk/mask.h"
#include "predict/manifest.h"
#include "predict/settings.h"

/* Beside "mask", which is a path: runs of earlier versions have only that. */
static const char mask_key[] = "mask_sha256";

/* Of shape, type and voxels, whatever the format. */
static crd_status hash_volume(const char *path, const crd_volume_options *options, const char *stage,
                              const crd_monitor *monitor, char text[CRD_SHA256_TEXT])
{
    enum { PIECE = 16 << 20 };
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    void *voxels = NULL;
    crd_sha256 hash;
    char lead[128];
    CRD_TRY(crd_volume_open(path, options, NULL, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    const int64_t *shape = info->shape;
    const size_t size = crd_type_size(info->type);
    const int length = snprintf(lead, sizeof lead, "%lld,%lld,%lld %s\n", (long long)shape[0], (long long)shape[1],
                                (long long)shape[2], crd_type_name(info->type));
    int64_t slices = PIECE / (int64_t)size / (shape[1] * shape[2]);
    if (slices < 1) slices = 1;
    if (slices > shape[0]) slices = shape[0];
    CRD_TRY(crd_alloc(slices * shape[1] * shape[2], size, "slices to take the fingerprint of", &voxels));
    crd_sha256_begin(&hash);
    crd_sha256_add(&hash, lead, (size_t)length);
    for (int64_t z = 0; z < shape[0]; z += slices) {
        const int64_t count = shape[0] - z < slices ? shape[0] - z : slices;
        const crd_box box = {{z, 0, 0}, {count, shape[1], shape[2]}};
        CRD_TRY(crd_advance(monitor, stage, "slices", z, shape[0], NULL));
        CRD_TRY(crd_volume_read(volume, &box, info->type, voxels));
        crd_sha256_add(&hash, voxels, (size_t)(count * shape[1] * shape[2]) * size);
    }
    CRD_TRY(crd_advance(monitor, stage, "slices", shape[0], shape[0], NULL));
    crd_sha256_end(&hash, text);
done:
    crd_volume_close(&volume);
    crd_free(&voxels);
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

static crd_status out_of_memory(void)
{
    return crd_fail(CRD_ERR_MEMORY, "not enough memory to describe the run");
}

/* Settings without those that say where things are or how they are written at the end, and in place of those that are
 * settled by model and scan what was settled. */
static bool fill(const crd_request *request, const crd_fingerprints *fingerprints, const char *device, cJSON *object)
{
    static const char *const dropped[] = {"model", "scan", "format",  "device", "precision", "isa",
                                          "chunk", "step", "samples", "bbox",   "norm",      "spacing"};
    char text[256];
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++) cJSON_DeleteItemFromObject(object, dropped[i]);
    bool fine = cJSON_AddStringToObject(object, "program", crd_version()) != NULL &&
                cJSON_AddStringToObject(object, "model", fingerprints->model) != NULL &&
                cJSON_AddStringToObject(object, "scan", fingerprints->scan) != NULL &&
                cJSON_AddStringToObject(object, "device", device) != NULL &&
                cJSON_AddNumberToObject(object, "samples", (double)request->samples) != NULL &&
                cJSON_AddNumberToObject(object, "step", (double)request->step) != NULL;
    if (fingerprints->mask[0] != '\0') {
        fine = fine && cJSON_AddStringToObject(object, mask_key, fingerprints->mask) != NULL;
    }
    const crd_axis_plan *axes = request->plan.axes;
    snprintf(text, sizeof text, "%lld,%lld,%lld", (long long)axes[0].window, (long long)axes[1].window,
             (long long)axes[2].window);
    fine = fine && cJSON_AddStringToObject(object, "chunk", text) != NULL;
    const crd_box *box = &request->box;
    snprintf(text, sizeof text, "%lld:%lld,%lld:%lld,%lld:%lld", (long long)box->origin[0],
             (long long)(box->origin[0] + box->size[0]), (long long)box->origin[1],
             (long long)(box->origin[1] + box->size[1]), (long long)box->origin[2],
             (long long)(box->origin[2] + box->size[2]));
    fine = fine && cJSON_AddStringToObject(object, "bbox", text) != NULL;
    crd_norm_format(&request->norm, text, sizeof text);
    return fine && cJSON_AddStringToObject(object, "norm", text) != NULL;
}

crd_status crd_identity_make(const crd_request *request, const crd_fingerprints *fingerprints, char **out)
{
    crd_status status = CRD_OK;
    char *settings = NULL, device[256];
    cJSON *object = NULL;
    *out = NULL;
    CRD_TRY(crd_settings_to_json(&crd_predict_recorded, request->options, &settings));
    CRD_TRY(request->backend->describe(&request->device, device, sizeof device));
    object = cJSON_Parse(settings);
    if (object == NULL || !fill(request, fingerprints, device, object)) {
        status = out_of_memory();
        goto done;
    }
    CRD_TRY(crd_json_print(object, false, out));
done:
    cJSON_Delete(object);
    crd_settings_free_text(&settings);
    return status;
}

static void value_text(const cJSON *item, char *out, size_t size)
{
    char *text = NULL;
    const bool told = item != NULL && crd_json_print(item, true, &text) == CRD_OK;
    snprintf(out, size, "%s", told ? text : "none");
    crd_free(&text);
}

/* The first key of `a` whose value in `b` is another one, or NULL. */
static const char *first_difference(const cJSON *a, const cJSON *b)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, a)
    {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(b, item->string);
        if (other == NULL || !cJSON_Compare(item, other, true)) return item->string;
    }
    return NULL;
}

/* Where both know the mask's voxels, these count, wherever the file lies; else its path has to do. */
static void settle_mask(cJSON *before, cJSON *after)
{
    const bool both = cJSON_HasObjectItem(before, mask_key) && cJSON_HasObjectItem(after, mask_key);
    const char *passed_over = both ? "mask" : mask_key;
    cJSON_DeleteItemFromObject(before, passed_over);
    cJSON_DeleteItemFromObject(after, passed_over);
}

static crd_status compare(const char *path, cJSON *before, cJSON *after)
{
    char was[200], is[200], what[480];
    settle_mask(before, after);
    const char *key = first_difference(before, after);
    if (key == NULL) key = first_difference(after, before);
    if (key == NULL) return CRD_OK;
    value_text(cJSON_GetObjectItemCaseSensitive(before, key), was, sizeof was);
    value_text(cJSON_GetObjectItemCaseSensitive(after, key), is, sizeof is);
    const bool of_mask = strcmp(key, mask_key) == 0;
    if (strcmp(key, "scan") == 0 || strcmp(key, "model") == 0 || of_mask) { /* fingerprints tell nobody anything */
        snprintf(what, sizeof what, "the %s is another one, or its content has changed", of_mask ? "mask" : key);
    } else {
        snprintf(what, sizeof what, "%s was %s and is %s now", key, was, is);
    }
    return crd_fail(CRD_ERR_MISMATCH,
                    "this run can't go on with what %s describes: %s; use the same, or begin anew with --overwrite",
                    path, what);
}

crd_status crd_identity_compare(const char *earlier, const char *now, const char *path)
{
    crd_status status = CRD_OK;
    cJSON *before = cJSON_Parse(earlier), *after = cJSON_Parse(now);
    if (!cJSON_IsObject(before)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s can't be read, so that the run can't go on; begin it anew with --overwrite", path);
    }
    if (after == NULL) {
        status = out_of_memory();
        goto done;
    }
    status = compare(path, before, after);
done:
    cJSON_Delete(before);
    cJSON_Delete(after);
    return status;
}

crd_status crd_identity_finished(const char *path, const char *now)
{
    static const char *const harmless[] = {"program", "device"}; /* nothing will be computed */
    crd_status status = CRD_OK;
    cJSON *manifest = NULL, *after = cJSON_Parse(now);
    CRD_TRY(crd_manifest_parse(path, &manifest));
    cJSON *before = cJSON_GetObjectItemCaseSensitive(manifest, "identity");
    if (before == NULL || after == NULL) goto done;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        cJSON_DeleteItemFromObject(before, harmless[i]);
        cJSON_DeleteItemFromObject(after, harmless[i]);
    }
    status = compare(path, before, after);
done:
    cJSON_Delete(manifest);
    cJSON_Delete(after);
    return status;
}

static const char *text_at(const cJSON *object, const char *key, const char *inner)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (inner != NULL) item = cJSON_GetObjectItemCaseSensitive(item, inner);
    return cJSON_GetStringValue(item);
}

crd_status crd_identity_repeats(const crd_request *request, const char *path, const crd_fingerprints *fingerprints,
                                const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    char own[256];
    cJSON *manifest = NULL;
    CRD_TRY(crd_manifest_parse(path, &manifest));
    const char *model = text_at(manifest, "model", "sha256"), *scan = text_at(manifest, "scan", "sha256");
    const char *mask = text_at(manifest, "mask", "sha256"), *program = text_at(manifest, "program", NULL);
    const char *device = text_at(manifest, "device", NULL);
    if (model != NULL && strcmp(model, fingerprints->model) != 0) {
        crd_warn(monitor, "the model is not the one that %s was made with", path);
    }
    if (scan != NULL && strcmp(scan, fingerprints->scan) != 0) {
        crd_warn(monitor, "the scan's voxels are not those that %s was made with", path);
    }
    if (mask != NULL && fingerprints->mask[0] != '\0' && strcmp(mask, fingerprints->mask) != 0) {
        crd_warn(monitor, "the mask's voxels are not those that %s was made with", path);
    }
    if (program != NULL && strcmp(program, crd_version()) != 0) {
        crd_warn(monitor, "%s was made by credence %s and this is %s", path, program, crd_version());
    }
    CRD_TRY(request->backend->describe(&request->device, own, sizeof own));
    if (device != NULL && strcmp(device, own) != 0) {
        crd_warn(monitor, "%s was made on %s and this is %s: the last digits may differ", path, device, own);
    }
done:
    cJSON_Delete(manifest);
    return status;
}
