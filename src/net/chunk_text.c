/* The size of a chunk as text. */
#include <string.h>

#include "base/number.h"
#include "net/net.h"

crd_status crd_parse_chunk(const char *name, const char *text, int64_t chunk[3])
{
    const char *at = text;
    for (int axis = 0; axis < 3; axis++) {
        const size_t length = strcspn(at, ",");
        if (!crd_parse_int(at, length, &chunk[axis]) || at[length] != (axis < 2 ? ',' : '\0')) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s must be z,y,x or auto, not '%s'", name, text);
        }
        at += length + (axis < 2);
    }
    return CRD_OK;
}

crd_status crd_check_chunk(const char *name, const char *text)
{
    int64_t chunk[3];
    if (strcmp(text, "auto") == 0) return CRD_OK;
    CRD_PASS(crd_parse_chunk(name, text, chunk));
    if (crd_net_check_chunk(NULL, chunk) == CRD_OK) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s: %s", name, crd_last_error()->message);
}
