#include "volume/sidecar.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

enum { SIDECAR_LIMIT = 1 << 20 };

static crd_status sidecar_name(const char *file, char **out)
{
    const size_t bytes = strlen(file) + sizeof ".json";
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a file name", out));
    snprintf(*out, bytes, "%s.json", file);
    return CRD_OK;
}

/* Three numbers under `key`, each in [low, high]; false if there is no such key. */
static crd_status read_three(const cJSON *root, const char *name, const char *key, double low, double high,
                             double out[3], bool *found)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(root, key);
    *found = array != NULL;
    if (array == NULL) return CRD_OK;
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != 3) {
        return crd_fail(CRD_ERR_FORMAT, "%s: \"%s\" must be three numbers, [z, y, x]", name, key);
    }
    for (int i = 0; i < 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(array, i);
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high)) {
            return crd_fail(CRD_ERR_FORMAT, "%s: number %d of \"%s\" is missing or out of range", name, i + 1, key);
        }
        out[i] = item->valuedouble;
    }
    return CRD_OK;
}

static crd_status read_whole(const cJSON *root, const char *name, const char *key, double low, int64_t out[3])
{
    double values[3];
    bool found;
    CRD_PASS(read_three(root, name, key, low, 0x1p53, values, &found));
    for (int i = 0; i < 3 && found; i++) {
        if (values[i] != floor(values[i])) {
            return crd_fail(CRD_ERR_FORMAT, "%s: \"%s\" must be whole numbers", name, key);
        }
        out[i] = (int64_t)values[i];
    }
    return CRD_OK;
}

static crd_status read_text(const cJSON *root, const char *name, const char *key, char *out, size_t bytes)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    if (item == NULL) return CRD_OK;
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= bytes) {
        return crd_fail(CRD_ERR_FORMAT, "%s: \"%s\" must be a text of less than %zu bytes", name, key, bytes);
    }
    memcpy(out, item->valuestring, strlen(item->valuestring) + 1);
    return CRD_OK;
}

static crd_status read_fields(const cJSON *root, const char *name, crd_sidecar *out)
{
    bool found;
    CRD_PASS(read_whole(root, name, "shape", 1.0, out->shape));
    CRD_PASS(read_whole(root, name, "origin", -0x1p53, out->origin));
    CRD_PASS(read_three(root, name, "spacing", 1e-300, 1e300, out->spacing, &found));
    CRD_PASS(read_text(root, name, "type", out->type, sizeof out->type));
    CRD_PASS(read_text(root, name, "unit", out->unit, sizeof out->unit));
    const cJSON *scale = cJSON_GetObjectItemCaseSensitive(root, "scale");
    if (scale == NULL) return CRD_OK;
    if (!cJSON_IsNumber(scale) || !isfinite(scale->valuedouble) || scale->valuedouble == 0.0) {
        return crd_fail(CRD_ERR_FORMAT, "%s: \"scale\" must be a number other than 0", name);
    }
    out->scale = scale->valuedouble;
    return CRD_OK;
}

crd_status crd_sidecar_read(const char *file, crd_sidecar *out)
{
    crd_status status = CRD_OK;
    char *name = NULL, *text = NULL;
    size_t bytes = 0;
    cJSON *root = NULL;

    *out = (crd_sidecar){.scale = 1.0};
    CRD_TRY(sidecar_name(file, &name));
    if (access(name, F_OK) != 0 && errno == ENOENT) goto done;
    CRD_TRY(crd_read_file(name, SIDECAR_LIMIT, &text, &bytes));
    root = cJSON_ParseWithLength(text, bytes);
    if (!cJSON_IsObject(root)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s, which describes %s, is no JSON object; repair or remove it", name, file);
    }
    CRD_TRY(read_fields(root, name, out));
    out->found = true;
done:
    cJSON_Delete(root);
    crd_free(&text);
    crd_free(&name);
    return status;
}

bool crd_sidecar_names_type(const char *file)
{
    crd_sidecar sidecar;
    return crd_sidecar_read(file, &sidecar) == CRD_OK && sidecar.type[0] != '\0';
}

void crd_sidecar_apply(const crd_sidecar *sidecar, crd_volume_info *info)
{
    memcpy(info->spacing, sidecar->spacing, sizeof info->spacing);
    memcpy(info->origin, sidecar->origin, sizeof info->origin);
    memcpy(info->unit, sidecar->unit, sizeof info->unit);
    info->scale = sidecar->scale;
}

static bool add_three(cJSON *root, const char *key, const double values[3])
{
    cJSON *array = cJSON_CreateDoubleArray(values, 3);
    if (array == NULL) return false;
    if (cJSON_AddItemToObject(root, key, array)) return true;
    cJSON_Delete(array);
    return false;
}

static bool add_fields(cJSON *root, const crd_volume_info *info, const char *type)
{
    double shape[3], origin[3];
    for (int i = 0; i < 3; i++) {
        shape[i] = (double)info->shape[i];
        origin[i] = (double)info->origin[i];
    }
    bool good = true;
    if (type != NULL) {
        good = good && add_three(root, "shape", shape);
        good = good && cJSON_AddStringToObject(root, "type", type) != NULL;
    }
    if (info->spacing[0] > 0.0) good = good && add_three(root, "spacing", info->spacing);
    if (info->unit[0] != '\0') good = good && cJSON_AddStringToObject(root, "unit", info->unit) != NULL;
    if (origin[0] != 0.0 || origin[1] != 0.0 || origin[2] != 0.0) good = good && add_three(root, "origin", origin);
    if (info->scale != 1.0) good = good && cJSON_AddNumberToObject(root, "scale", info->scale) != NULL;
    return good;
}

crd_status crd_sidecar_remove(const char *file)
{
    crd_status status = CRD_OK;
    char *name = NULL;
    CRD_TRY(sidecar_name(file, &name));
    if (unlink(name) != 0 && errno != ENOENT) {
        status = crd_fail_errno("%s describes an earlier %s and can't be removed", name, file);
    }
done:
    crd_free(&name);
    return status;
}

crd_status crd_sidecar_write(const char *file, const crd_volume_info *info, const char *type)
{
    crd_status status = CRD_OK;
    char *name = NULL, *text = NULL;
    cJSON *root = cJSON_CreateObject();

    CRD_TRY(sidecar_name(file, &name));
    if (root == NULL || !add_fields(root, info, type)) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory to write %s", name);
    if (root->child == NULL) goto done; /* there is nothing to say */
    CRD_TRY(crd_json_print(root, false, &text));
    CRD_TRY(crd_write_file(name, text, strlen(text)));
done:
    crd_free(&text);
    cJSON_Delete(root);
    crd_free(&name);
    return status;
}
