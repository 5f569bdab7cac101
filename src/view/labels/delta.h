/* What an operation changed: for every voxel its class before and after, run-length coded. It takes an operation back
 * and does it again without knowing what it was.
 *
 * Bytes: for each block its number and its number of runs, then for each run the voxels passed over since the run
 * before, its length, and a byte for the class before and after. Numbers are coded in 7 bits a byte, low ones first. */
#ifndef CRD_VIEW_LABELS_DELTA_H
#define CRD_VIEW_LABELS_DELTA_H

#include "view/labels/blocks.h"

enum { CRD_DELTA_BYTES = 64 << 20 }; /* at most */

/* Begins as {0}. */
typedef struct crd_delta {
    uint8_t *bytes;
    int64_t count, room;
} crd_delta;

void crd_delta_free(crd_delta *delta);
/* Adds what differs between two states of a block; nothing where they are the same. */
crd_status crd_delta_add(crd_delta *delta, int64_t number, const uint8_t *before, const uint8_t *after);

typedef enum crd_direction { CRD_BACK, CRD_FORTH } crd_direction;

/* What a delta says of itself. */
typedef struct crd_delta_facts {
    int64_t voxels, blocks;
    int64_t counts[256];     /* voxels that get a class, less those that lose it, going forth */
    int64_t low[3], high[3]; /* of the changed voxels */
    int64_t (*places)[3];    /* of the blocks, where they were wanted; free with crd_free */
} crd_delta_facts;

/* Looks at every byte: CRD_ERR_FORMAT where it isn't a delta of these blocks. */
crd_status crd_delta_read(const uint8_t *bytes, int64_t count, const crd_label_blocks *blocks, bool places,
                          crd_delta_facts *out);
/* Changes the blocks; of a delta that crd_delta_read has seen. Doing it twice is doing it once. */
crd_status crd_delta_apply(const uint8_t *bytes, int64_t count, crd_label_blocks *blocks, crd_direction direction);

#endif
