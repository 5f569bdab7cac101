/* Removing a volume with all that credence writes beside it. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "volume/format.h"
#include "volume/sidecar.h"
#include "volume/zarr/zarr.h"

static crd_status remove_file(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) return crd_fail_errno("can't remove %s", path);
    return CRD_OK;
}

static crd_status remove_voxels(const char *header)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_volume_voxels_file(header, &path));
    CRD_TRY(remove_file(path));
done:
    crd_free(&path);
    return status;
}

crd_status crd_volume_remove(const char *path)
{
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) return crd_zarr_remove(path);
    /* What lies beside it first: a kill in between leaves what the next call finds, and so does one while it was
     * written, which may have left the one without the other. */
    if (crd_path_ends_in(path, ".mhd") || crd_path_ends_in(path, ".nhdr")) CRD_PASS(remove_voxels(path));
    if (crd_format_has_suffix(&crd_format_npy, path) || crd_format_has_suffix(&crd_format_raw, path)) {
        CRD_PASS(crd_sidecar_remove(path));
    }
    return remove_file(path);
}
