#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "predict/manifest.h"

enum { MANIFEST_LIMIT = 256 << 20 };

/* NaN where there is none, or null, which is how NaN is written. */
static double number_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static double number_at(const cJSON *root, const char *outer, const char *key)
{
    return number_of(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, outer), key));
}

static int64_t count_at(const cJSON *root, const char *outer, const char *key)
{
    const double number = number_at(root, outer, key);
    return number >= 0.0 && number <= 0x1p53 ? (int64_t)number : 0;
}

crd_status crd_manifest_parse(const char *path, cJSON **out)
{
    char *text = NULL;
    CRD_PASS(crd_read_file(path, MANIFEST_LIMIT, &text, NULL));
    *out = cJSON_Parse(text);
    crd_free(&text);
    const char *format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(*out, "format"));
    if (format != NULL && strcmp(format, "credence-run") == 0) return CRD_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return crd_fail(CRD_ERR_FORMAT, "%s isn't the manifest of a run of credence", path);
}

crd_status crd_manifest_read(const char *path, crd_predict_result *result)
{
    cJSON *root = NULL;
    CRD_PASS(crd_manifest_parse(path, &root));
    const cJSON *fraction = cJSON_GetObjectItemCaseSensitive(root, "volume_fraction");
    const cJSON *intervals = cJSON_GetObjectItemCaseSensitive(fraction, "intervals");
    const cJSON *first = intervals != NULL ? intervals->child : NULL;
    result->chunks = count_at(root, "plan", "chunks");
    result->samples = count_at(root, "plan", "samples");
    result->volume_fraction = number_at(root, "volume_fraction", "segmentation");
    result->fraction_low = number_of(cJSON_GetArrayItem(first, 0));
    result->fraction_high = number_of(cJSON_GetArrayItem(first, 1));
    result->mean_uncertainty = number_at(root, "uncertainty", "mean");
    cJSON_Delete(root);
    return CRD_OK;
}
