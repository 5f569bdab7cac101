#include "base/shared_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "credence/status.h"

void *crd_shared_object_open(const char *file, bool global)
{
    const int mode = RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL);
    char path[PATH_MAX];
    Dl_info self;
    if (dladdr((void *)(uintptr_t)&crd_version, &self) != 0 && self.dli_fname != NULL) {
        const char *slash = strrchr(self.dli_fname, '/');
        const int folder = slash != NULL ? (int)(slash - self.dli_fname) + 1 : 0;
        static const char *const places[] = {"", "credence/"};
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            const int length = snprintf(path, sizeof path, "%.*s%s%s", folder, self.dli_fname, places[i], file);
            void *handle = length < (int)sizeof path ? dlopen(path, mode) : NULL;
            if (handle != NULL) return handle;
        }
    }
    return dlopen(file, mode);
}
