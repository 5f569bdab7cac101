#include "net/heldout_file.h"

#include <stddef.h>

#include "base/json.h"

static const char group[] = "heldout";

typedef struct field {
    const char *name;
    size_t offset;
    int64_t count;
} field;

#define AT(MEMBER) offsetof(crd_heldout, MEMBER)
static const field numbers[] = {{"blocks", AT(blocks), 1},
                                {"voxels", AT(voxels), 1},
                                {"exam_blocks", AT(exam_blocks), 1},
                                {"exam_voxels", AT(exam_voxels), 1},
                                {"samples", AT(samples), 1}};
static const field reals[] = {{"accuracy", AT(accuracy), 1},
                              {"dice", AT(dice), 1},
                              {"nll", AT(nll), 1},
                              {"accuracy_interval", AT(accuracy_interval), 2},
                              {"dice_interval", AT(dice_interval), 2},
                              {"nll_interval", AT(nll_interval), 2},
                              {"foreground_share", AT(foreground_share), 1},
                              {"majority_accuracy", AT(majority_accuracy), 1},
                              {"threshold_accuracy", AT(threshold_accuracy), 1},
                              {"threshold_dice", AT(threshold_dice), 1}};
enum { NUMBERS = sizeof numbers / sizeof numbers[0], REALS = sizeof reals / sizeof reals[0] };

crd_status crd_heldout_write(crd_store *store, const crd_heldout *heldout)
{
    const char *base = (const char *)heldout;
    const int64_t unseen = heldout->unseen;
    if (heldout->blocks == 0) return CRD_OK;
    for (int i = 0; i < NUMBERS; i++) {
        CRD_PASS(crd_store_put_numbers(store, group, numbers[i].name, 1, (const int64_t *)(base + numbers[i].offset)));
    }
    for (int i = 0; i < REALS; i++) {
        const double *values = (const double *)(base + reals[i].offset);
        CRD_PASS(crd_store_put_reals(store, group, reals[i].name, reals[i].count, values));
    }
    return crd_store_put_numbers(store, group, "unseen", 1, &unseen);
}

static bool add_values(cJSON *json, const field *of, const double *values)
{
    cJSON *item = of->count == 1 ? cJSON_CreateNumber(values[0]) : cJSON_CreateDoubleArray(values, (int)of->count);
    if (item != NULL && cJSON_AddItemToObject(json, of->name, item)) return true;
    cJSON_Delete(item);
    return false;
}

crd_status crd_heldout_to_json(const crd_heldout *heldout, char **json)
{
    crd_status status = CRD_OK;
    const char *base = (const char *)heldout;
    cJSON *root = heldout->blocks > 0 ? cJSON_CreateObject() : cJSON_CreateNull();
    bool good = root != NULL;
    *json = NULL;
    for (int i = 0; good && heldout->blocks > 0 && i < NUMBERS; i++) {
        good = add_values(root, &numbers[i], &(double){(double)*(const int64_t *)(base + numbers[i].offset)});
    }
    for (int i = 0; good && heldout->blocks > 0 && i < REALS; i++) {
        good = add_values(root, &reals[i], (const double *)(base + reals[i].offset));
    }
    if (good && heldout->blocks > 0) good = cJSON_AddBoolToObject(root, "unseen", heldout->unseen) != NULL;
    if (!good) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the figures of what was held back");
    CRD_TRY(crd_json_print(root, true, json));
done:
    cJSON_Delete(root);
    return status;
}

crd_status crd_heldout_read(crd_store *store, crd_heldout *out)
{
    char *base = (char *)out;
    int64_t unseen;
    *out = (crd_heldout){0};
    if (!crd_store_has(store, group)) return CRD_OK;
    for (int i = 0; i < NUMBERS; i++) {
        CRD_PASS(crd_store_get_numbers(store, group, numbers[i].name, 1, (int64_t *)(base + numbers[i].offset)));
    }
    for (int i = 0; i < REALS; i++) {
        double *values = (double *)(base + reals[i].offset);
        CRD_PASS(crd_store_get_reals(store, group, reals[i].name, reals[i].count, values));
    }
    CRD_PASS(crd_store_get_numbers(store, group, "unseen", 1, &unseen));
    out->unseen = unseen != 0;
    return CRD_OK;
}
