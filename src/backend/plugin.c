#include "backend/plugin_load.h"

#include <dlfcn.h>
#include <string.h>

#include "backend/plugin.h"
#include "base/shared_object.h"

static crd_status fail_from_plugin(crd_status code, const char *file, int line, const char *sentence)
{
    return crd_error_set(code, file, line, "%s", sentence);
}

crd_status crd_plugin_load(const char *file, const crd_backend **out)
{
    static const crd_plugin_host host = {.mark = CRD_BACKEND_MARK, .fail = fail_from_plugin};
    *out = NULL;
    void *handle = crd_shared_object_open(file, false);
    if (handle == NULL) {
        const char *reason = dlerror();
        return crd_fail(CRD_ERR_UNSUPPORTED, "the GPU part of credence can't be loaded (%s); choose --device cpu",
                        reason != NULL ? reason : file);
    }
    crd_plugin_entry *entry;
    void *symbol = dlsym(handle, CRD_PLUGIN_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    if (entry != NULL) *out = entry(&host);
    if (*out == NULL || (*out)->version != CRD_BACKEND_VERSION) {
        *out = NULL;
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s belongs to another version of credence; install both from one build",
                        file);
    }
    return CRD_OK;
}
