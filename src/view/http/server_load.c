#include <dlfcn.h>
#include <string.h>

#include "base/shared_object.h"
#include "view/http/server.h"

static const char plugin[] = "libcredence_http.so";

static crd_status fail_from_plugin(crd_status code, const char *file, int line, const char *sentence)
{
    return crd_error_set(code, file, line, "%s", sentence);
}

crd_status crd_http_load(const crd_http **out)
{
    static const crd_http_host host = {
        .mark = CRD_HTTP_MARK, .fail = fail_from_plugin, .free_response = crd_response_free};
    crd_http_entry *entry;
    *out = NULL;
    void *handle = crd_shared_object_open(plugin, false);
    if (handle == NULL) {
        const char *reason = dlerror();
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "the page needs the web server part of credence, which can't be loaded (%s); it is built where "
                        "libmicrohttpd is installed (Debian: libmicrohttpd-dev)",
                        reason != NULL ? reason : plugin);
    }
    void *symbol = dlsym(handle, CRD_HTTP_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    if (entry != NULL) *out = entry(&host);
    if (*out != NULL && (*out)->version == CRD_HTTP_VERSION) return CRD_OK;
    *out = NULL;
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s belongs to another version of credence; install both from one build",
                    plugin);
}
