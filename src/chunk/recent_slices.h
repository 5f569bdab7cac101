/* The slices of a volume that were read last, kept as the file has them: overlapping boxes that move along z then read
 * every slice from disk once. */
#ifndef CRD_CHUNK_RECENT_SLICES_H
#define CRD_CHUNK_RECENT_SLICES_H

#include <stdbool.h>

#include "chunk/normalise.h"
#include "credence/volume.h"

typedef struct crd_recent_slices crd_recent_slices;

/* Keeps `depth` slices of the volume, of each the part that `region` covers in y and x. The volume is borrowed. */
crd_status crd_recent_slices_create(crd_volume *volume, const crd_box *region, int64_t depth, crd_recent_slices **out);
void crd_recent_slices_free(crd_recent_slices **recent);
int64_t crd_recent_slices_bytes(const crd_volume_info *info, const crd_box *region, int64_t depth);

/* Whether the box lies in the region and is no deeper than what is kept. */
bool crd_recent_slices_covers(const crd_recent_slices *recent, const crd_box *box);
/* A covered box, normalised. */
crd_status crd_recent_slices_read(crd_recent_slices *recent, const crd_normaliser *n, const crd_box *box,
                                  float *voxels);

#endif
