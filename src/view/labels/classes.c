#include "view/labels/classes.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "view/http/request.h"
#include "view/labels/operation.h"

enum { NAME_BYTES = 64, MOST_BOXES = 4096 };

static const char *const roles[CRD_BOX_ROLES] = {
    [CRD_BOX_TRAIN] = "train", [CRD_BOX_CHECK] = "check", [CRD_BOX_EXAM] = "exam"};

/* ---- classes ---- */

static const char first_classes[] = "[{\"value\":0,\"name\":\"rest\",\"colour\":\"56B4E9\"},"
                                    "{\"value\":1,\"name\":\"what you look for\",\"colour\":\"E69F00\"}]";

static crd_status write_list(crd_project *project, const char *name, const char *otherwise, crd_text *out)
{
    crd_status status = CRD_OK;
    cJSON *list = NULL;
    char *words = NULL;
    CRD_TRY(crd_project_get(project, name, &list));
    if (!cJSON_IsArray(list)) {
        crd_text_add(out, otherwise);
        goto done;
    }
    CRD_TRY(crd_json_print(list, true, &words));
    for (size_t length = strlen(words); length > 0 && words[length - 1] == '\n';) words[--length] = '\0';
    crd_text_add(out, words);
done:
    cJSON_Delete(list);
    crd_free(&words);
    return status;
}

crd_status crd_classes_write(crd_project *project, crd_text *out)
{
    return write_list(project, "classes", first_classes, out);
}

static bool is_colour(const char *text)
{
    return text != NULL && strlen(text) == 6 && strspn(text, "0123456789abcdefABCDEF") == 6;
}

crd_status crd_classes_check(const cJSON *list)
{
    bool met[CRD_PAINT_CLASSES] = {false};
    if (!cJSON_IsArray(list) || list->child == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "classes must be a list of {\"value\":0,\"name\":\"rest\",\"colour\":"
                                          "\"56B4E9\"}, and not empty");
    }
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, "value");
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
        if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0.0 && value->valuedouble < CRD_PAINT_CLASSES) ||
            value->valuedouble != (double)(int)value->valuedouble || met[(int)value->valuedouble]) {
            return crd_fail(CRD_ERR_ARGUMENT, "the value of a class must be 0 to 15, and no other's");
        }
        met[(int)value->valuedouble] = true;
        if (name == NULL || name[0] == '\0' || strlen(name) >= NAME_BYTES) {
            return crd_fail(CRD_ERR_ARGUMENT, "a class needs a name of up to %d bytes", NAME_BYTES - 1);
        }
        if (!is_colour(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "colour")))) {
            return crd_fail(CRD_ERR_ARGUMENT, "a colour must be six hexadecimal digits, such as E69F00");
        }
        if (cJSON_GetArraySize(item) != 3) return crd_fail(CRD_ERR_ARGUMENT, "a class has value, name and colour");
    }
    return CRD_OK;
}

/* ---- boxes ---- */

crd_status crd_boxes_write(crd_project *project, crd_text *out)
{
    return write_list(project, "boxes", "[]", out);
}

static crd_status get_boxes(crd_project *project, cJSON **out)
{
    CRD_PASS(crd_project_get(project, "boxes", out));
    if (cJSON_IsArray(*out)) return CRD_OK;
    cJSON_Delete(*out);
    *out = cJSON_CreateArray();
    return *out != NULL ? CRD_OK : crd_fail(CRD_ERR_MEMORY, "there is no memory for the project");
}

crd_status crd_boxes_add(crd_project *project, const char *role, const crd_box *box, int64_t *number)
{
    crd_status status = CRD_OK;
    cJSON *list = NULL, *item = NULL;
    char words[160];
    int known = 0;
    while (known < CRD_BOX_ROLES && (role == NULL || strcmp(role, roles[known]) != 0)) known++;
    if (known == CRD_BOX_ROLES) return crd_fail(CRD_ERR_ARGUMENT, "the role of a box is train, check or exam");
    CRD_PASS(crd_project_claim(project)); /* which may read the list anew */
    CRD_TRY(get_boxes(project, &list));
    if (cJSON_GetArraySize(list) >= MOST_BOXES) CRD_FAIL(CRD_ERR_ARGUMENT, "there are too many boxes already");
    *number = 1;
    for (const cJSON *other = list->child; other != NULL; other = other->next) {
        const cJSON *own = cJSON_GetObjectItem(other, "number");
        if (cJSON_IsNumber(own) && own->valuedouble >= (double)*number) *number = (int64_t)own->valuedouble + 1;
    }
    snprintf(words, sizeof words, "%lld:%lld,%lld:%lld,%lld:%lld", (long long)box->origin[0],
             (long long)(box->origin[0] + box->size[0]), (long long)box->origin[1],
             (long long)(box->origin[1] + box->size[1]), (long long)box->origin[2],
             (long long)(box->origin[2] + box->size[2]));
    item = cJSON_CreateObject();
    if (cJSON_AddNumberToObject(item, "number", (double)*number) == NULL ||
        cJSON_AddStringToObject(item, "role", role) == NULL || cJSON_AddStringToObject(item, "box", words) == NULL ||
        !cJSON_AddItemToArray(list, item)) {
        CRD_FAIL(CRD_ERR_MEMORY, "there is no memory for the project");
    }
    item = NULL;
    status = crd_project_set(project, "boxes", list);
    list = NULL;
done:
    cJSON_Delete(item);
    cJSON_Delete(list);
    return status;
}

crd_status crd_boxes_remove(crd_project *project, int64_t number, bool *there)
{
    crd_status status = CRD_OK;
    cJSON *list = NULL;
    int place = 0;
    *there = false;
    CRD_PASS(crd_project_claim(project));
    CRD_TRY(get_boxes(project, &list));
    for (const cJSON *item = list->child; item != NULL && !*there; item = item->next) {
        const cJSON *own = cJSON_GetObjectItem(item, "number");
        *there = cJSON_IsNumber(own) && own->valuedouble == (double)number;
        if (!*there) place++;
    }
    if (!*there) goto done;
    cJSON_DeleteItemFromArray(list, place);
    status = crd_project_set(project, "boxes", list);
    list = NULL;
done:
    cJSON_Delete(list);
    return status;
}

crd_status crd_boxes_held_out(crd_project *project, const crd_box *box, bool *touched)
{
    static const int64_t anything[3] = {INT64_MAX / 4, INT64_MAX / 4, INT64_MAX / 4};
    cJSON *list = NULL;
    *touched = false;
    CRD_PASS(get_boxes(project, &list));
    for (const cJSON *item = list->child; item != NULL && !*touched; item = item->next) {
        const char *role = cJSON_GetStringValue(cJSON_GetObjectItem(item, "role"));
        crd_box own;
        if (role == NULL || strcmp(role, roles[CRD_BOX_TRAIN]) == 0) continue;
        if (!crd_request_box(cJSON_GetStringValue(cJSON_GetObjectItem(item, "box")), anything, &own)) continue;
        bool apart = false;
        for (int i = 0; i < 3; i++) {
            apart = apart || own.origin[i] >= box->origin[i] + box->size[i] ||
                    box->origin[i] >= own.origin[i] + own.size[i];
        }
        *touched = !apart;
    }
    cJSON_Delete(list);
    return CRD_OK;
}
