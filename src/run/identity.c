#include "run/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "run/paths.h"

enum { IDENTITY_LIMIT = 1 << 20 };

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
    const bool both = cJSON_HasObjectItem(before, CRD_IDENTITY_MASK) && cJSON_HasObjectItem(after, CRD_IDENTITY_MASK);
    const char *passed_over = both ? "mask" : CRD_IDENTITY_MASK;
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
    const bool of_mask = strcmp(key, CRD_IDENTITY_MASK) == 0;
    if (strcmp(key, "scan") == 0 || strcmp(key, "model") == 0 || of_mask) { /* fingerprints tell nobody anything */
        snprintf(what, sizeof what, "the %s is another one, or its content has changed", of_mask ? "mask" : key);
    } else if (strcmp(key, CRD_IDENTITY_NORMS) == 0) {
        snprintf(what, sizeof what, "%s is another one, or its content has changed", crd_run_file_name(CRD_RUN_NORMS));
    } else {
        snprintf(what, sizeof what, "%s was %s and is %s now", key, was, is);
    }
    return crd_fail(CRD_ERR_MISMATCH,
                    "this run can't go on with what %s describes: %s; use the same, or begin anew with --overwrite",
                    path, what);
}

crd_status crd_identity_write(const char *folder, const char *identity)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_run_path(folder, CRD_RUN_IDENTITY, &path));
    CRD_TRY(crd_write_file(path, identity, strlen(identity)));
done:
    crd_free(&path);
    return status;
}

static crd_status out_of_memory(void)
{
    return crd_fail(CRD_ERR_MEMORY, "not enough memory to compare the runs");
}

crd_status crd_identity_check_interrupted(const char *folder, const char *now)
{
    crd_status status = CRD_OK;
    char *path = NULL, *earlier = NULL;
    cJSON *before = NULL, *after = cJSON_Parse(now);
    CRD_TRY(crd_run_path(folder, CRD_RUN_IDENTITY, &path));
    CRD_TRY(crd_read_file(path, IDENTITY_LIMIT, &earlier, NULL));
    before = cJSON_Parse(earlier);
    if (!cJSON_IsObject(before)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s can't be read, so that the run can't go on; begin it anew with --overwrite", path);
    }
    CRD_TRY(after != NULL ? compare(path, before, after) : out_of_memory());
done:
    cJSON_Delete(before);
    cJSON_Delete(after);
    crd_free(&path);
    crd_free(&earlier);
    return status;
}

crd_status crd_identity_check_complete(const crd_manifest *manifest, const char *path, const char *now)
{
    static const char *const harmless[] = {"program", "device"}; /* nothing will be computed */
    crd_status status = CRD_OK;
    cJSON *before = NULL, *after = NULL;
    if (manifest->identity == NULL) return CRD_OK;
    before = cJSON_Duplicate(manifest->identity, true);
    after = cJSON_Parse(now);
    if (before == NULL || after == NULL) {
        status = out_of_memory();
        goto done;
    }
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        cJSON_DeleteItemFromObject(before, harmless[i]);
        cJSON_DeleteItemFromObject(after, harmless[i]);
    }
    status = compare(path, before, after);
done:
    cJSON_Delete(before);
    cJSON_Delete(after);
    return status;
}

static bool differs(const char *earlier, const char *now)
{
    return earlier != NULL && strcmp(earlier, now) != 0;
}

crd_status crd_identity_check_repeated(const char *path, const crd_fingerprints *now, const char *device,
                                       const crd_monitor *monitor)
{
    crd_manifest m;
    CRD_PASS(crd_manifest_read(path, &m));
    if (differs(m.model.sha256, now->model)) {
        crd_warn(monitor, "the model is not the one that %s was made with", path);
    }
    if (differs(m.scan.sha256, now->scan)) {
        crd_warn(monitor, "the scan's voxels are not those that %s was made with", path);
    }
    if (now->mask[0] != '\0' && differs(m.mask.sha256, now->mask)) {
        crd_warn(monitor, "the mask's voxels are not those that %s was made with", path);
    }
    if (differs(m.program, crd_version())) {
        crd_warn(monitor, "%s was made by credence %s and this is %s", path, m.program, crd_version());
    }
    if (differs(m.device, device)) {
        crd_warn(monitor, "%s was made on %s and this is %s: the last digits may differ", path, m.device, device);
    }
    crd_manifest_free(&m);
    return CRD_OK;
}
