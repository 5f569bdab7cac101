#include "run/own_mask.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "chunk/mask.h"
#include "volume/fingerprint.h"

/* Manifests of other programs may leave out what it was. */
static crd_status check(const char *folder, const crd_manifest *run, const char *path, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    char now[CRD_SHA256_TEXT];
    const char *then = run->mask.sha256;
    if (strcmp(path, "cylinder") == 0 || then == NULL || then[0] == '\0') return CRD_OK;
    const crd_volume_options reading = crd_mask_reading(path, run->scan.shape);
    CRD_TRY(crd_volume_open(path, &reading, NULL, &volume));
    CRD_TRY(crd_volume_fingerprint(volume, "looking whether the mask is still the same", monitor, now));
    if (strcmp(now, then) != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "the mask %s has changed since the run %s was made in it, which has no results outside; put it back, "
                 "or say with --mask which one counts",
                 path, folder);
    }
done:
    crd_volume_close(&volume);
    return status;
}

crd_status crd_run_own_mask(const char *folder, const crd_manifest *run, const crd_monitor *monitor, char **out)
{
    const char *path = crd_manifest_mask(run);
    *out = NULL;
    if (path == NULL) return CRD_OK;
    crd_info(monitor, "the run's mask is used: %s", path);
    CRD_PASS(check(folder, run, path, monitor));
    return crd_strdup(path, out);
}
