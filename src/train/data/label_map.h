/* How many voxels of each class lie where in a volume of labels, cell by cell: found in one pass, so that the chunks of
 * a large, mostly unlabelled scan needn't be read one by one, and blocks to hold back can be chosen without reading
 * them. */
#ifndef CRD_TRAIN_DATA_LABEL_MAP_H
#define CRD_TRAIN_DATA_LABEL_MAP_H

#include "base/monitor.h"
#include "chunk/label.h"
#include "chunk/scan.h"

enum { CRD_CELL = 8 }; /* edge of a cell in voxels; those at the far ends may be smaller */

typedef struct crd_label_map crd_label_map;

typedef enum crd_label_presence { CRD_LABELS_ABSENT, CRD_LABELS_PRESENT, CRD_LABELS_PERHAPS } crd_label_presence;

/* Two bytes for each class and 8x8x8 voxels, so a billion take 8 MB. Voxels outside the scan's mask have no label;
 * `scan` may be NULL. */
crd_status crd_label_map_make(crd_label *label, crd_scan *scan, int classes, const crd_monitor *monitor,
                              crd_label_map **out);
void crd_label_map_free(crd_label_map **map);

/* Does the box hold a labelled voxel? PERHAPS: only its border can, and looking there is left to the caller. */
crd_label_presence crd_label_map_look(const crd_label_map *map, const crd_box *box);

/* Of the volume, and of its cells. */
const int64_t *crd_label_map_shape(const crd_label_map *map);
const int64_t *crd_label_map_cells(const crd_label_map *map);
int crd_label_map_classes(const crd_label_map *map);
/* Voxels of each class in a cell. */
const uint16_t *crd_label_map_counts(const crd_label_map *map, int64_t z, int64_t y, int64_t x);
/* Adds the voxels of each class in a box, which is clipped to the volume, and gives those of all classes. They are
 * exact for whole cells; of parts of cells no more is known than that they hold at most so many. */
int64_t crd_label_map_add(const crd_label_map *map, const crd_box *box, int64_t *counts);

#endif
