#include "view/labels/seed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "volume/zarr/zarr.h"

static const char *const colours[] = {"56B4E9", "E69F00", "009E73", "F0E442", "0072B2", "D55E00", "CC79A7", "999999"};

static bool is_unfinished(const cJSON *label)
{
    return cJSON_IsTrue(cJSON_GetObjectItem(label, "unfinished"));
}

crd_status crd_label_seed_wanted(crd_project *project, const crd_label_seed *seed, const char *folder, bool *wanted)
{
    crd_status status = CRD_OK;
    cJSON *label = NULL;
    CRD_TRY(crd_project_get(project, "label", &label));
    if (is_unfinished(label)) CRD_TRY(crd_zarr_remove(folder));
    *wanted = seed != NULL && access(folder, F_OK) != 0;
done:
    cJSON_Delete(label);
    return status;
}

crd_status crd_label_seed_begin(crd_project *project)
{
    cJSON *label = cJSON_CreateObject();
    if (cJSON_AddTrueToObject(label, "unfinished") == NULL) {
        cJSON_Delete(label);
        return crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
    }
    return crd_project_set(project, "label", label);
}

/* The part of a block that lies in the scan, spread over all of it. */
static crd_status read_block(const crd_label_seed *seed, const int64_t index[3], const int64_t shape[3], uint8_t *part,
                             uint8_t *voxels)
{
    crd_box box;
    for (int i = 0; i < 3; i++) {
        const int64_t left = shape[i] - index[i] * CRD_BLOCK_EDGE;
        box.origin[i] = index[i] * CRD_BLOCK_EDGE;
        box.size[i] = left < CRD_BLOCK_EDGE ? left : CRD_BLOCK_EDGE;
    }
    CRD_PASS(seed->read(seed->context, &box, part));
    memset(voxels, CRD_UNLABELLED, CRD_BLOCK_VOXELS);
    for (int64_t z = 0; z < box.size[0]; z++) {
        for (int64_t y = 0; y < box.size[1]; y++) {
            memcpy(voxels + (z * CRD_BLOCK_EDGE + y) * CRD_BLOCK_EDGE, part + (z * box.size[1] + y) * box.size[2],
                   (size_t)box.size[2]);
        }
    }
    return CRD_OK;
}

crd_status crd_label_seed_take(const crd_label_seed *seed, crd_label_blocks *blocks, int64_t counts[256])
{
    crd_status status = CRD_OK;
    const int64_t *shape = crd_label_blocks_shape(blocks), *all = crd_label_blocks_counts(blocks);
    uint8_t *part = NULL, *voxels = NULL;
    int64_t index[3], left;
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &part));
    CRD_TRY(crd_alloc(CRD_BLOCK_VOXELS, 1, "labels", &voxels));
    for (int64_t number = 0; number < all[0] * all[1] * all[2]; number++) {
        bool any = false;
        crd_label_blocks_index(blocks, number, index);
        CRD_TRY(read_block(seed, index, shape, part, voxels));
        for (int64_t i = 0; i < CRD_BLOCK_VOXELS; i++) {
            if (voxels[i] == CRD_UNLABELLED) continue;
            counts[voxels[i]]++;
            any = true;
        }
        if (!any) continue;
        CRD_TRY(crd_label_blocks_put(blocks, number, voxels));
        crd_label_blocks_begin_store(blocks);
        CRD_TRY(crd_label_blocks_store(blocks, INT64_MAX, &left));
    }
    status = crd_label_blocks_sync(blocks);
done:
    crd_free(&part);
    crd_free(&voxels);
    return status;
}

/* More than two classes have a row each, named after their values. */
static crd_status name_classes(crd_project *project, const crd_label_seed *seed)
{
    crd_status status = CRD_OK;
    cJSON *before = NULL, *list = NULL;
    CRD_TRY(crd_project_get(project, "classes", &before));
    if (seed->count <= 2 || before != NULL) goto done;
    list = cJSON_CreateArray();
    for (int k = 0; k < seed->count; k++) {
        char name[48];
        cJSON *item = cJSON_CreateObject();
        snprintf(name, sizeof name, "value %g", seed->values[k]);
        if (cJSON_AddNumberToObject(item, "value", k) == NULL || cJSON_AddStringToObject(item, "name", name) == NULL ||
            cJSON_AddStringToObject(item, "colour", colours[k % 8]) == NULL || !cJSON_AddItemToArray(list, item)) {
            cJSON_Delete(item);
            CRD_FAIL(CRD_ERR_MEMORY, "there is no memory for the project");
        }
    }
    status = crd_project_set(project, "classes", list);
    list = NULL;
done:
    cJSON_Delete(before);
    cJSON_Delete(list);
    return status;
}

crd_status crd_label_seed_end(crd_project *project, const crd_label_seed *seed)
{
    CRD_PASS(name_classes(project, seed));
    cJSON *label = cJSON_CreateObject(), *values = cJSON_AddArrayToObject(label, "values");
    bool fine = values != NULL && cJSON_AddStringToObject(label, "file", seed->file) != NULL;
    for (int k = 0; k < seed->count; k++) {
        fine = fine && cJSON_AddItemToArray(values, cJSON_CreateNumber(seed->values[k]));
    }
    if (!fine) {
        cJSON_Delete(label);
        return crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
    }
    return crd_project_set(project, "label", label);
}

bool crd_label_seed_values(crd_project *project, double values[], int *count)
{
    cJSON *label = NULL;
    bool other = false;
    *count = 0;
    if (crd_project_get(project, "label", &label) != CRD_OK) return false;
    for (const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItem(label, "values"), 0);
         item != NULL && *count < CRD_PAINT_CLASSES; item = item->next) {
        if (!cJSON_IsNumber(item)) break;
        other = other || item->valuedouble != (double)*count;
        values[(*count)++] = item->valuedouble;
    }
    cJSON_Delete(label);
    return other;
}
