#include "backend/plugin_load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "backend/plugin.h"

static crd_status fail_from_plugin(crd_status code, const char *file, int line, const char *sentence)
{
    return crd_error_set(code, file, line, "%s", sentence);
}

/* Beside this library first, wherever that was installed; then where the system looks. */
static void *open_plugin(const char *file)
{
    char path[PATH_MAX];
    Dl_info self;
    if (dladdr((void *)(uintptr_t)&crd_version, &self) != 0 && self.dli_fname != NULL) {
        const char *slash = strrchr(self.dli_fname, '/');
        const int folder = slash != NULL ? (int)(slash - self.dli_fname) + 1 : 0;
        if (snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, file) < (int)sizeof path) {
            void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (handle != NULL) return handle;
        }
    }
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/* A plug-in stays loaded until the program ends: GPU runtimes don't like to be unloaded. */
crd_status crd_plugin_load(const char *file, const crd_backend **out)
{
    static const crd_plugin_host host = {.version = CRD_BACKEND_VERSION, .fail = fail_from_plugin};
    *out = NULL;
    void *handle = open_plugin(file);
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
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s belongs to another version of credence; install both from one build", file);
    }
    return CRD_OK;
}
