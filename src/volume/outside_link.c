#include "volume/outside_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/monitor.h"

void crd_tell_link(const char *shown, const char *folder, const char *path, const crd_monitor *monitor)
{
    char *real_folder = realpath(folder, NULL), *real_path = realpath(path, NULL);
    const size_t length = real_folder != NULL ? strlen(real_folder) : 0;
    if (length > 0 && real_path != NULL &&
        (strncmp(real_folder, real_path, length) != 0 || (real_path[length] != '/' && length > 1))) {
        crd_warn(monitor, "%s takes its voxels from %s, a link to %s outside its folder", shown, path, real_path);
    }
    free(real_folder);
    free(real_path);
}
