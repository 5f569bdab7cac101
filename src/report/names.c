#include "report/names.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

crd_status crd_name_of(const char *path, char **out)
{
    size_t end = path != NULL ? strlen(path) : 0;
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    CRD_PASS(crd_alloc((int64_t)(end - begin) + 1, 1, "a name", out));
    if (end > begin) memcpy(*out, path + begin, end - begin);
    return CRD_OK;
}

/* May a path begin behind this sign? A slash behind others ("and/or", "1/N", "</b>") is no path's. */
static bool opens(char sign)
{
    return sign == '\0' || strchr(" \t\n\"'(,", sign) != NULL;
}

static bool ends(char sign)
{
    return sign == '\0' || strchr(" \t\n\"'(),;", sign) != NULL;
}

crd_status crd_names_in(const char *words, char **out)
{
    size_t length = 0;
    CRD_PASS(crd_alloc((int64_t)strlen(words) + 1, 1, "a name", out));
    for (const char *at = words; *at != '\0';) {
        const bool path = *at == '/' && opens(at > words ? at[-1] : '\0');
        if (!path) {
            (*out)[length++] = *at++;
            continue;
        }
        const char *name = at, *end = at;
        for (; !ends(*end); end++) {
            if (*end == '/' && !ends(end[1])) name = end + 1;
        }
        memcpy(*out + length, name, (size_t)(end - name));
        length += (size_t)(end - name);
        at = end;
    }
    return CRD_OK;
}

/* A text that is a path as a whole, in which spaces don't end it. */
static crd_status shorten(cJSON *item)
{
    crd_status status = CRD_OK;
    const char *words = cJSON_GetStringValue(item);
    char *named = NULL;
    if (words == NULL) return CRD_OK;
    CRD_TRY(words[0] == '/' ? crd_name_of(words, &named) : crd_names_in(words, &named));
    if (strcmp(words, named) != 0 && cJSON_SetValuestring(item, named) == NULL) {
        CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the manifest");
    }
done:
    crd_free(&named);
    return status;
}

crd_status crd_names_in_json(cJSON *root)
{
    cJSON *item;
    CRD_PASS(shorten(root));
    cJSON_ArrayForEach(item, root) CRD_PASS(crd_names_in_json(item));
    return CRD_OK;
}

static void add(crd_text *text, crd_status status, char *named)
{
    if (status == CRD_OK)
        crd_text_html(text, named);
    else if (text->status == CRD_OK)
        text->status = status;
    crd_free(&named);
}

void crd_text_name(crd_text *text, const char *path)
{
    char *named = NULL;
    const crd_status status = crd_name_of(path, &named);
    add(text, status, named);
}

void crd_text_names(crd_text *text, const char *words)
{
    char *named = NULL;
    const crd_status status = crd_names_in(words, &named);
    add(text, status, named);
}
