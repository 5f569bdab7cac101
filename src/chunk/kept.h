/* The slices of a volume that were read last, kept as the file has them: overlapping boxes that move along z then read
 * every slice from disk once. */
#ifndef CRD_CHUNK_KEPT_H
#define CRD_CHUNK_KEPT_H

#include <stdbool.h>

#include "chunk/normalise.h"
#include "credence/volume.h"

typedef struct crd_kept crd_kept;

/* Keeps `depth` slices of the volume, of each the part that `region` covers in y and x. The volume is borrowed. */
crd_status crd_kept_create(crd_volume *volume, const crd_box *region, int64_t depth, crd_kept **out);
void crd_kept_free(crd_kept **kept);
int64_t crd_kept_bytes(const crd_volume_info *info, const crd_box *region, int64_t depth);

/* Whether the box lies in the region and is no deeper than what is kept. */
bool crd_kept_covers(const crd_kept *kept, const crd_box *box);
/* A covered box, normalised. */
crd_status crd_kept_read(crd_kept *kept, const crd_normaliser *n, const crd_box *box, float *voxels);

#endif
