#include "volume/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>

#include "volume/format.h"

void crd_fingerprint_begin(const crd_volume *volume, crd_fingerprint *f)
{
    const crd_volume_info *info = &volume->info;
    char lead[128];
    const int length = snprintf(lead, sizeof lead, "%" PRId64 ",%" PRId64 ",%" PRId64 " %s\n", info->shape[0],
                                info->shape[1], info->shape[2], crd_type_name(info->type));
    f->voxel_bytes = crd_type_size(info->type);
    crd_sha256_begin(&f->hash);
    crd_sha256_add(&f->hash, lead, (size_t)length);
}

crd_status crd_fingerprint_add(void *fingerprint, const crd_box *box, void *voxels)
{
    crd_fingerprint *f = fingerprint;
    crd_sha256_add(&f->hash, voxels, (size_t)(box->size[0] * box->size[1] * box->size[2]) * f->voxel_bytes);
    return CRD_OK;
}

crd_status crd_volume_fingerprint(crd_volume *volume, const char *stage, const crd_monitor *monitor,
                                  char text[CRD_SHA256_TEXT])
{
    crd_fingerprint f;
    const crd_walk walk = {.in = volume,
                           .as = volume->info.type,
                           .voxel_bytes = crd_type_size(volume->info.type),
                           .monitor = monitor,
                           .stage = stage};
    crd_fingerprint_begin(volume, &f);
    CRD_PASS(crd_walk_run(&walk, crd_fingerprint_add, &f));
    crd_sha256_end(&f.hash, text);
    return CRD_OK;
}
