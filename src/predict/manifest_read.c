/* What a complete run found, from its manifest. */
#include <cjson/cJSON.h>
#include <math.h>

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

crd_status crd_manifest_read(const char *path, crd_predict_result *result)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    cJSON *root = NULL;
    CRD_TRY(crd_read_file(path, MANIFEST_LIMIT, &text, NULL));
    root = cJSON_Parse(text);
    if (!cJSON_IsObject(root)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s can't be read; do the run again with --overwrite", path);
    }
    const cJSON *fraction = cJSON_GetObjectItemCaseSensitive(root, "volume_fraction");
    const cJSON *intervals = cJSON_GetObjectItemCaseSensitive(fraction, "intervals");
    const cJSON *first = intervals != NULL ? intervals->child : NULL;
    result->chunks = count_at(root, "plan", "chunks");
    result->samples = count_at(root, "plan", "samples");
    result->volume_fraction = number_at(root, "volume_fraction", "segmentation");
    result->fraction_low = number_of(cJSON_GetArrayItem(first, 0));
    result->fraction_high = number_of(cJSON_GetArrayItem(first, 1));
    result->mean_uncertainty = number_at(root, "uncertainty", "mean");
done:
    cJSON_Delete(root);
    crd_free(&text);
    return status;
}
