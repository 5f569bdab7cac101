#include "view/labels/classes.h"

#include <string.h>

#include "view/labels/operation.h"

enum { NAME_BYTES = 64 };

static const char first_classes[] = "[{\"value\":0,\"name\":\"rest\",\"colour\":\"56B4E9\"},"
                                    "{\"value\":1,\"name\":\"what you look for\",\"colour\":\"E69F00\"}]";

crd_status crd_classes_write(crd_project *project, crd_text *out)
{
    return crd_project_write(project, "classes", first_classes, out);
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
