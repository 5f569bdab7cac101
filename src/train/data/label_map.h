/* Where a volume of labels has labelled voxels: found in one pass, so that the chunks of a large, mostly unlabelled
 * scan needn't be read one by one. */
#ifndef CRD_TRAIN_DATA_LABEL_MAP_H
#define CRD_TRAIN_DATA_LABEL_MAP_H

#include "base/monitor.h"
#include "chunk/label.h"

typedef struct crd_label_map crd_label_map;

typedef enum crd_label_presence { CRD_LABELS_ABSENT, CRD_LABELS_PRESENT, CRD_LABELS_PERHAPS } crd_label_presence;

/* A byte for 8x8x8 voxels, so a billion take 2 MB. */
crd_status crd_label_map_make(crd_label *label, const crd_monitor *monitor, crd_label_map **out);
void crd_label_map_free(crd_label_map **map);

/* The smallest box around all labelled voxels; the whole volume where there are none. */
const crd_box *crd_label_map_box(const crd_label_map *map);
/* Does the box hold a labelled voxel? PERHAPS: only its border can, and looking there is left to the caller. */
crd_label_presence crd_label_map_look(const crd_label_map *map, const crd_box *box);

#endif
