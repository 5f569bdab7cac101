#include "train/masks.h"

#include <inttypes.h>
#include <string.h>

static bool says(const char *mask, const char *word)
{
    return strcmp(mask, word) == 0;
}

static bool is_none(const char *mask)
{
    return mask == NULL || mask[0] == '\0' || says(mask, "none");
}

bool crd_mask_is_file(const char *mask)
{
    return !is_none(mask) && !says(mask, "cylinder");
}

const char *crd_train_mask(const crd_text_list *masks, int64_t scan)
{
    if (masks->count == 0) return NULL;
    const char *mask = masks->items[masks->count == 1 ? 0 : scan];
    return is_none(mask) ? NULL : mask;
}

const crd_text_list *crd_train_valid_masks(const crd_train_options *options)
{
    return options->valid_mask.count > 0 ? &options->valid_mask : &options->mask;
}

static crd_status check_count(const char *of, const crd_text_list *masks, const crd_text_list *scans)
{
    if (masks->count <= 1 || masks->count == scans->count) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT,
                    "give one --%smask for all scans, or one for each --%sscan, in their order (none: without a mask): "
                    "scans there are %" PRId64 ", masks %" PRId64,
                    of, of, scans->count, masks->count);
}

crd_status crd_train_check_masks(const crd_train_options *o)
{
    CRD_PASS(check_count("", &o->mask, &o->scan));
    CRD_PASS(check_count("valid-", &o->valid_mask, &o->valid_scan));
    if (o->valid_mask.count > 0 && o->valid_scan.count == 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "--valid-mask is that of a --valid-scan, and there is none");
    }
    if (o->valid_scan.count > 0 && o->valid_mask.count == 0 && o->mask.count > 1) {
        return crd_fail(CRD_ERR_ARGUMENT, "several masks are those of the scans to learn from; give the scans to check "
                                          "on their own, too (--valid-mask, which may be none)");
    }
    return CRD_OK;
}

static cJSON *word(const char *mask)
{
    return cJSON_CreateString(is_none(mask) ? "none" : crd_mask_is_file(mask) ? "file" : mask);
}

static cJSON *recorded(const crd_text_list *masks)
{
    if (masks->count <= 1) return crd_train_mask(masks, 0) == NULL ? cJSON_CreateNull() : word(masks->items[0]);
    cJSON *array = cJSON_CreateArray();
    for (int64_t i = 0; array != NULL && i < masks->count; i++) {
        cJSON *item = word(masks->items[i]);
        if (item != NULL && cJSON_AddItemToArray(array, item)) continue;
        cJSON_Delete(item);
        cJSON_Delete(array);
        array = NULL;
    }
    return array;
}

static bool replace(cJSON *settings, const char *name, const crd_text_list *masks)
{
    if (cJSON_GetObjectItemCaseSensitive(settings, name) == NULL) return true;
    cJSON *item = recorded(masks);
    if (item != NULL && cJSON_ReplaceItemInObjectCaseSensitive(settings, name, item)) return true;
    cJSON_Delete(item);
    return false;
}

bool crd_train_record_masks(const crd_train_options *options, cJSON *settings)
{
    return replace(settings, "mask", &options->mask) && replace(settings, "valid-mask", &options->valid_mask);
}
