/* Volumes that lie under another name until they are complete: what volume.c doesn't need for it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "volume/format.h"

bool crd_format_stages(const char *format, const char *suffix)
{
    char meant[CRD_SUFFIX_BYTES];
    const crd_format *f = crd_format_meant(format, meant);
    return f != NULL && f->sync != NULL && !crd_path_ends_in(suffix, ".gz");
}

crd_status crd_volume_sync(crd_volume *volume)
{
    return volume->format->sync(volume);
}

void crd_volume_set_range(crd_volume *volume, double low, double high)
{
    if (volume->format->set_range != NULL) volume->format->set_range(volume, low, high);
}

crd_status crd_volume_voxels_file(const char *path, char **out)
{
    const bool apart = crd_path_ends_in(path, ".mhd") || crd_path_ends_in(path, ".nhdr");
    const size_t bytes = strlen(path) + sizeof ".raw";
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a file name", out));
    snprintf(*out, bytes, "%.*s%s", apart ? (int)(strrchr(path, '.') - path) : (int)strlen(path), path,
             apart ? ".raw" : "");
    return CRD_OK;
}

crd_status crd_volume_restage(const char *path, const char *staged, const char *format, bool *there)
{
    crd_status status = CRD_OK;
    char suffix[CRD_SUFFIX_BYTES], *from = NULL, *to = NULL;
    const crd_format *f = crd_format_meant(format, suffix);
    CRD_TRY(crd_volume_voxels_file(path, &from));
    CRD_TRY(crd_volume_voxels_file(staged, &to));
    *there = access(f != NULL && f->folder ? path : to, F_OK) == 0;
    if (*there || (f != NULL && f->folder)) goto done;
    *there = rename(from, to) == 0;
    if (!*there && errno != ENOENT) status = crd_fail_errno("can't rename %s to %s", from, to);
done:
    crd_free(&from);
    crd_free(&to);
    return status;
}
