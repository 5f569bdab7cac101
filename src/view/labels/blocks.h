/* What was painted: a volume of classes, a byte each, in blocks of 64^3 of which those exist where something was
 * painted. It is an OME-Zarr on the disk, labels.zarr, and as much of it in memory as there is room for.
 *
 * One thread at a time changes it; any thread may read meanwhile. */
#ifndef CRD_VIEW_LABELS_BLOCKS_H
#define CRD_VIEW_LABELS_BLOCKS_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"

enum { CRD_BLOCK_EDGE = 64, CRD_BLOCK_VOXELS = CRD_BLOCK_EDGE * CRD_BLOCK_EDGE * CRD_BLOCK_EDGE, CRD_UNLABELLED = 255 };

typedef struct crd_label_blocks crd_label_blocks;

/* `folder` need not exist, and isn't made before the first block is stored. `info` is the scan's: its shape, spacing
 * and unit. Refuses a folder that holds labels of another shape. */
crd_status crd_label_blocks_open(const char *folder, const crd_volume_info *info, size_t memory,
                                 crd_label_blocks **out);
void crd_label_blocks_close(crd_label_blocks **blocks);

const int64_t *crd_label_blocks_shape(const crd_label_blocks *blocks);
const int64_t *crd_label_blocks_counts(const crd_label_blocks *blocks); /* of blocks along each axis */
/* The number of a block, and its place: numbers run along x first. */
int64_t crd_label_blocks_number(const crd_label_blocks *blocks, const int64_t index[3]);
void crd_label_blocks_index(const crd_label_blocks *blocks, int64_t number, int64_t index[3]);

/* Any box inside the shape. */
crd_status crd_label_blocks_read(crd_label_blocks *blocks, const crd_box *box, uint8_t *voxels);
/* All 64^3 of a block; what lies outside the shape is CRD_UNLABELLED. */
crd_status crd_label_blocks_get(crd_label_blocks *blocks, int64_t number, uint8_t *voxels);
/* All blocks that have a label in them, one after the other. */
crd_status crd_label_blocks_visit(crd_label_blocks *blocks,
                                  crd_status (*visit)(void *context, const int64_t index[3], const uint8_t *voxels),
                                  void *context);
/* Adds how many voxels of each class there are; of CRD_UNLABELLED, how many fewer than if none was labelled. */
crd_status crd_label_blocks_count(crd_label_blocks *blocks, int64_t counts[256]);
/* Replaces them, in memory: crd_label_blocks_store brings them onto the disk. */
crd_status crd_label_blocks_put(crd_label_blocks *blocks, int64_t number, const uint8_t *voxels);

/* All that is in memory is given up: another process may have changed the files. */
void crd_label_blocks_forget(crd_label_blocks *blocks);

/* Blocks that were changed since they were stored. */
int64_t crd_label_blocks_changed(crd_label_blocks *blocks);
/* Stores up to `most` blocks that were changed before the last crd_label_blocks_begin_store; *left: how many are left
 * of them. A chunk is replaced under its name, so that links to it keep what they have; one without a label goes. */
void crd_label_blocks_begin_store(crd_label_blocks *blocks);
crd_status crd_label_blocks_store(crd_label_blocks *blocks, int64_t most, int64_t *left);
/* After the last of them: their names are on the disk, too. */
crd_status crd_label_blocks_sync(crd_label_blocks *blocks);

/* The same blocks as an OME-Zarr at another place, by hard links where the file system has them. Everything must have
 * been stored. */
crd_status crd_label_blocks_link(crd_label_blocks *blocks, const char *folder);

#endif
