#include "view/loop/boxes.h"

#include <string.h>

#include "base/memory.h"
#include "view/http/request.h"

enum { MOST_BOXES = 4096 };

const char *const crd_box_roles[CRD_BOX_ROLES] = {
    [CRD_BOX_TRAIN] = "train", [CRD_BOX_CHECK] = "check", [CRD_BOX_EXAM] = "exam"};

crd_box_role crd_box_role_of(const char *word)
{
    int role = 0;
    while (role < CRD_BOX_ROLES && (word == NULL || strcmp(word, crd_box_roles[role]) != 0)) role++;
    return (crd_box_role)role;
}

bool crd_boxes_touch(const crd_box *a, const crd_box *b)
{
    for (int i = 0; i < 3; i++) {
        if (a->origin[i] >= b->origin[i] + b->size[i] || b->origin[i] >= a->origin[i] + a->size[i]) return false;
    }
    return true;
}

crd_status crd_boxes_write(crd_project *project, crd_text *out)
{
    return crd_project_write(project, "boxes", "[]", out);
}

/* What another program made of the list is passed over. */
static bool read_box(const cJSON *item, crd_kept_box *out)
{
    static const int64_t anything[3] = {INT64_MAX / 4, INT64_MAX / 4, INT64_MAX / 4};
    const cJSON *number = cJSON_GetObjectItem(item, "number");
    if (!cJSON_IsNumber(number) || !(number->valuedouble >= 1.0 && number->valuedouble < 0x1p53)) return false;
    out->number = (int64_t)number->valuedouble;
    out->role = crd_box_role_of(cJSON_GetStringValue(cJSON_GetObjectItem(item, "role")));
    out->used = cJSON_IsTrue(cJSON_GetObjectItem(item, "used"));
    return out->role < CRD_BOX_ROLES &&
           crd_request_box(cJSON_GetStringValue(cJSON_GetObjectItem(item, "box")), anything, &out->box);
}

crd_status crd_boxes_read(crd_project *project, crd_kept_box **out, int64_t *count)
{
    crd_status status = CRD_OK;
    cJSON *list = NULL;
    *out = NULL;
    *count = 0;
    CRD_TRY(crd_project_get(project, "boxes", &list));
    CRD_TRY(crd_alloc(cJSON_GetArraySize(list) + 1, sizeof **out, "the boxes", out));
    for (const cJSON *item = cJSON_GetArrayItem(list, 0); item != NULL; item = item->next) {
        if (read_box(item, &(*out)[*count])) ++*count;
    }
done:
    cJSON_Delete(list);
    return status;
}

crd_status crd_boxes_keep(crd_project *project, const crd_kept_box *boxes, int64_t count)
{
    cJSON *list = cJSON_CreateArray();
    for (int64_t i = 0; i < count; i++) {
        char words[CRD_BOX_WORDS];
        crd_box_words(&boxes[i].box, words);
        cJSON *item = cJSON_CreateObject();
        const bool fine = cJSON_AddNumberToObject(item, "number", (double)boxes[i].number) != NULL &&
                          cJSON_AddStringToObject(item, "role", crd_box_roles[boxes[i].role]) != NULL &&
                          cJSON_AddStringToObject(item, "box", words) != NULL &&
                          (!boxes[i].used || cJSON_AddTrueToObject(item, "used") != NULL) &&
                          cJSON_AddItemToArray(list, item);
        if (fine) continue;
        cJSON_Delete(item);
        cJSON_Delete(list);
        return crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
    }
    return crd_project_set(project, "boxes", list);
}

crd_status crd_boxes_add(crd_project *project, crd_box_role role, const crd_box *box, int64_t *number)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count;
    CRD_PASS(crd_project_claim(project)); /* which may read the list anew */
    CRD_TRY(crd_boxes_read(project, &boxes, &count));
    if (count >= MOST_BOXES) CRD_FAIL(CRD_ERR_ARGUMENT, "there are too many boxes already");
    *number = 1;
    for (int64_t i = 0; i < count; i++) {
        if (boxes[i].number >= *number) *number = boxes[i].number + 1;
    }
    boxes[count++] = (crd_kept_box){.number = *number, .role = role, .box = *box}; /* there is room for one more */
    status = crd_boxes_keep(project, boxes, count);
done:
    crd_free(&boxes);
    return status;
}

crd_status crd_boxes_held_out(crd_project *project, const crd_box *box, bool *touched)
{
    crd_status status = CRD_OK;
    crd_kept_box *boxes = NULL;
    int64_t count;
    *touched = false;
    CRD_TRY(crd_boxes_read(project, &boxes, &count));
    for (int64_t i = 0; i < count; i++) {
        *touched = *touched || (boxes[i].role != CRD_BOX_TRAIN && crd_boxes_touch(&boxes[i].box, box));
    }
done:
    crd_free(&boxes);
    return status;
}
