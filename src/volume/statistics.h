/* What the library itself may ask for beside crd_volume_measure. */
#ifndef CRD_VOLUME_STATISTICS_H
#define CRD_VOLUME_STATISTICS_H

#include "base/hash/sha256.h"
#include "credence/volume.h"

typedef struct crd_measure_wish {
    bool levels;       /* also of types of more than 16 bits */
    bool phases;       /* the levels are those of two phases (volume/levels.h) in place of Otsu's */
    bool small_boxes;  /* are read at a time, however thick the layers of the file: memory is dear */
    char *fingerprint; /* [CRD_SHA256_TEXT], NULL: not wanted. Of the volume (volume/fingerprint.h), taken in the same
                          pass on another thread; "" where the file's order of voxels is another one */
} crd_measure_wish;

crd_status crd_volume_measure_also(crd_volume *volume, const crd_measure_wish *wish, const crd_monitor *monitor,
                                   crd_volume_statistics *out);

#endif
