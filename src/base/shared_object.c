#include "base/shared_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_config.h"
#include "credence/status.h"

/* Where installations of this version put plug-ins. A library that lies elsewhere, such as the one inside a Python
 * wheel, works with those, too. */
static const char *const installed[] = {CRD_PLUGIN_FOLDER "/", "/usr/local/lib/credence/", CRD_DEBIAN_PLUGIN_FOLDER "/"};

enum { INSTALLED = sizeof installed / sizeof installed[0] };

/* NULL where there is no such file (`*there` is false), or where it can't be loaded. */
static void *open_in(const char *folder, int folder_length, const char *below, const char *file, int mode, bool *there)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%.*s%s%s", folder_length, folder, below, file);
    *there = length > 0 && length < (int)sizeof path && access(path, F_OK) == 0;
    return *there ? dlopen(path, mode) : NULL;
}

void *crd_shared_object_open(const char *file, bool global)
{
    const int mode = RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL);
    void *handle;
    bool there;
    const char *wish = getenv("CREDENCE_PLUGINS");
    if (wish != NULL && wish[0] != '\0') {
        handle = open_in(wish, (int)strnlen(wish, PATH_MAX), "/", file, mode, &there);
        if (there) return handle;
    }
    Dl_info self;
    if (dladdr((void *)(uintptr_t)&crd_version, &self) != 0 && self.dli_fname != NULL) {
        const char *slash = strrchr(self.dli_fname, '/');
        const int folder = slash != NULL ? (int)(slash - self.dli_fname) + 1 : 0;
        static const char *const beside[] = {"", "credence/"};
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
            handle = open_in(self.dli_fname, folder, beside[i], file, mode, &there);
            if (there) return handle;
        }
    }
    for (size_t i = 0; i < INSTALLED; i++) {
        handle = open_in(installed[i], (int)strlen(installed[i]), "", file, mode, &there);
        if (there) return handle;
    }
    return dlopen(file, mode);
}
