#include "base/json.h"

#include "base/memory.h"
#include "credence/number.h"

/* Numbers become the texts they are to be printed as. */
static bool make_exact(cJSON *item)
{
    for (cJSON *child = item->child; child != NULL; child = child->next) {
        if (!make_exact(child)) return false;
    }
    if (!cJSON_IsNumber(item)) return true;
    char text[CRD_NUMBER_BYTES];
    cJSON *raw = cJSON_CreateRaw(crd_format_real(item->valuedouble, text));
    if (raw == NULL) return false;
    item->type = cJSON_Raw;
    item->valuestring = raw->valuestring;
    raw->valuestring = NULL;
    cJSON_Delete(raw);
    return true;
}

crd_status crd_json_print(const cJSON *root, bool one_line, char **out)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    *out = NULL;
    cJSON *copy = root != NULL ? cJSON_Duplicate(root, true) : NULL;
    if (copy != NULL && make_exact(copy)) text = one_line ? cJSON_PrintUnformatted(copy) : cJSON_Print(copy);
    if (text == NULL) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for a JSON text");
    CRD_TRY(crd_strdup(text, out));
done:
    cJSON_free(text);
    cJSON_Delete(copy);
    return status;
}
