/* The slices of a volume that were read last, kept as the file has them: overlapping boxes that move along z then read
 * every slice from disk once. */
#ifndef CRD_CHUNK_KEPT_H
#define CRD_CHUNK_KEPT_H

#include "credence/volume.h"

typedef struct crd_kept crd_kept;

/* Keeps `depth` slices of the volume, of each the part that `region` covers in y and x. The volume is borrowed. */
crd_status crd_kept_create(crd_volume *volume, const crd_box *region, int64_t depth, crd_kept **out);
void crd_kept_free(crd_kept **kept);
int64_t crd_kept_bytes(const crd_volume_info *info, const crd_box *region, int64_t depth);

/* The box as crd_volume_read gives it as f32. A box that is deeper than what is kept, or leaves the region, is read
 * from the volume directly. */
crd_status crd_kept_read(crd_kept *kept, const crd_box *box, float *voxels);

#endif
