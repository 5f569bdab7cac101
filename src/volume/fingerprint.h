/* The fingerprint of a volume: SHA-256 of a line with its shape and type ("64,128,128 u16") and of its voxels in their
 * own type, z slowest, in the machine's byte order. The same for any file format. */
#ifndef CRD_VOLUME_FINGERPRINT_H
#define CRD_VOLUME_FINGERPRINT_H

#include "base/sha256.h"
#include "credence/volume.h"

/* One pass over the volume; `stage` is what the monitor, which may be NULL, is told of it. */
crd_status crd_volume_fingerprint(crd_volume *volume, const char *stage, const crd_monitor *monitor,
                                  char text[CRD_SHA256_TEXT]);

#endif
