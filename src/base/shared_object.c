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
        if (snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, file) < (int)sizeof path) {
            void *handle = dlopen(path, mode);
            if (handle != NULL) return handle;
        }
    }
    return dlopen(file, mode);
}
