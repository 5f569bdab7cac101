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
static const char *const installed[] = {CRD_PLUGIN_FOLDER "/", "/usr/local/lib/credence/",
                                        CRD_DEBIAN_PLUGIN_FOLDER "/"};

enum { INSTALLED = sizeof installed / sizeof installed[0] };

static bool is_in(const char *folder, int folder_length, const char *below, const char *file, char path[PATH_MAX])
{
    const int length = snprintf(path, PATH_MAX, "%.*s%s%s", folder_length, folder, below, file);
    return length > 0 && length < PATH_MAX && access(path, F_OK) == 0;
}

bool crd_shared_object_find(const char *file, char path[PATH_MAX])
{
    const char *wish = getenv("CREDENCE_PLUGINS");
    if (wish != NULL && wish[0] != '\0' && is_in(wish, (int)strnlen(wish, PATH_MAX), "/", file, path)) return true;
    Dl_info self;
    if (dladdr((void *)(uintptr_t)&crd_version, &self) != 0 && self.dli_fname != NULL) {
        const char *slash = strrchr(self.dli_fname, '/');
        const int folder = slash != NULL ? (int)(slash - self.dli_fname) + 1 : 0;
        static const char *const beside[] = {"", "credence/", "../"}; /* the last: a program in its build folder */
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
            if (is_in(self.dli_fname, folder, beside[i], file, path)) return true;
        }
    }
    for (size_t i = 0; i < INSTALLED; i++) {
        if (is_in(installed[i], (int)strlen(installed[i]), "", file, path)) return true;
    }
    return false;
}

void *crd_shared_object_open(const char *file, bool global)
{
    char path[PATH_MAX];
    return dlopen(crd_shared_object_find(file, path) ? path : file, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
}
