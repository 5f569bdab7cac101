#include "volume/fingerprint.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/monitor.h"

crd_status crd_volume_fingerprint(crd_volume *volume, const char *stage, const crd_monitor *monitor,
                                  char text[CRD_SHA256_TEXT])
{
    enum { PIECE = 16 << 20 };
    crd_status status = CRD_OK;
    void *voxels = NULL;
    crd_sha256 hash;
    char lead[128];
    const crd_volume_info *info = crd_volume_describe(volume);
    const int64_t *shape = info->shape;
    const size_t size = crd_type_size(info->type);
    const int length = snprintf(lead, sizeof lead, "%lld,%lld,%lld %s\n", (long long)shape[0], (long long)shape[1],
                                (long long)shape[2], crd_type_name(info->type));
    int64_t slices = PIECE / (int64_t)size / (shape[1] * shape[2]);
    if (slices < 1) slices = 1;
    if (slices > shape[0]) slices = shape[0];
    CRD_TRY(crd_alloc(slices * shape[1] * shape[2], size, "slices to take the fingerprint of", &voxels));
    crd_sha256_begin(&hash);
    crd_sha256_add(&hash, lead, (size_t)length);
    for (int64_t z = 0; z < shape[0]; z += slices) {
        const int64_t count = shape[0] - z < slices ? shape[0] - z : slices;
        const crd_box box = {{z, 0, 0}, {count, shape[1], shape[2]}};
        CRD_TRY(crd_advance(monitor, stage, "slices", z, shape[0], NULL));
        CRD_TRY(crd_volume_read(volume, &box, info->type, voxels));
        crd_sha256_add(&hash, voxels, (size_t)(count * shape[1] * shape[2]) * size);
    }
    CRD_TRY(crd_advance(monitor, stage, "slices", shape[0], shape[0], NULL));
    crd_sha256_end(&hash, text);
done:
    crd_free(&voxels);
    return status;
}
