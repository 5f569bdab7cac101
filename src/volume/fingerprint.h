/* The fingerprint of a volume: SHA-256 of a line with its shape and type ("64,128,128 u16") and of its voxels in their
 * own type, z slowest, in the machine's byte order. The same for any file format. */
#ifndef CRD_VOLUME_FINGERPRINT_H
#define CRD_VOLUME_FINGERPRINT_H

#include "base/hash/sha256.h"
#include "volume/stream.h"

/* One pass over the volume in small boxes; `stage` is what the monitor, which may be NULL, is told of it. */
crd_status crd_volume_fingerprint(crd_volume *volume, const char *stage, const crd_monitor *monitor,
                                  char text[CRD_SHA256_TEXT]);

/* The same as a part of another walk, slices first and voxels in their own type: the beginning, and what is done with
 * each box. crd_sha256_end ends it. */
typedef struct crd_fingerprint {
    crd_sha256 hash;
    size_t voxel_bytes;
} crd_fingerprint;
void crd_fingerprint_begin(const crd_volume *volume, crd_fingerprint *fingerprint);
crd_status crd_fingerprint_add(void *fingerprint, const crd_box *box, void *voxels);

#endif
