/* Scribbles and small boxes of labels: chunks that have them in their middle. Chunks of a plan begin at fixed places,
 * and would have a lonely label at their border as often as not, where zero padding is most of what the network sees.
 */
#ifndef CRD_TRAIN_DATA_CENTRED_H
#define CRD_TRAIN_DATA_CENTRED_H

#include "chunk/plan.h"
#include "train/data/label_map.h"

/* Are there fewer labelled voxels than two chunks have, or, in the cells that hold any, less than a quarter? */
bool crd_labels_are_sparse(const crd_label_map *map, const int64_t chunk[3]);

/* Where such chunks begin, rising and each once: voxel numbers, z slowest; freed with crd_free. Eight around each
 * labelled cell, which lies an eighth of the chunk to either side of its middle along each axis, as far as the scan
 * allows; so a place is seen in several surroundings. */
crd_status crd_centred_origins(const crd_label_map *map, const int64_t chunk[3], int64_t **origins, int64_t *count);

/* The chunk that begins there; its size is the windows' of `axes`. */
void crd_origin_box(const int64_t shape[3], const crd_axis_plan axes[3], int64_t origin, crd_box *out);

#endif
