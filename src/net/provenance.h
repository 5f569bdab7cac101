/* What a model, or one that it began with, learnt from: for every scan the fingerprint of its voxels and a map of the
 * cells with labels that were learnt from, so that figures over the same voxels can be told from honest ones. */
#ifndef CRD_NET_PROVENANCE_H
#define CRD_NET_PROVENANCE_H

#include <stdbool.h>

#include "base/hash/sha256.h"
#include "credence/volume.h"
#include "net/store/store.h"

enum { CRD_LEARNT_CELL = 8 }; /* edge in voxels */

typedef struct crd_learnt_block { /* held back from learning */
    crd_box box;
    int64_t margin; /* around it, held back as well */
    bool exam;      /* else checked on */
} crd_learnt_block;

typedef struct crd_learnt_scan {
    char sha256[CRD_SHA256_TEXT];
    int64_t shape[3];
    int64_t *cells; /* bit n % 64 of word n / 64: cell n was learnt from; z slowest */
    crd_learnt_block *blocks;
    int64_t block_count;
} crd_learnt_scan;

typedef struct crd_provenance {
    bool known; /* false: the model doesn't say, as older ones; true of one that learnt nothing yet */
    int64_t count;
    crd_learnt_scan *scans;
} crd_provenance;

void crd_provenance_free(crd_provenance *provenance);
/* NULL where it never learnt from that scan. */
crd_learnt_scan *crd_provenance_find(const crd_provenance *provenance, const char *sha256);
/* The scan's entry, made where there is none yet, with no cell learnt from. *out is borrowed until the next call. */
crd_status crd_provenance_add(crd_provenance *provenance, const char *sha256, const int64_t shape[3],
                              crd_learnt_scan **out);
crd_status crd_provenance_copy(const crd_provenance *from, crd_provenance *out);
/* In place of those it had; copied. */
crd_status crd_learnt_set_blocks(crd_learnt_scan *scan, const crd_learnt_block *blocks, int64_t count);

/* Words of a map, and cells along each axis, of a scan of that shape. */
crd_status crd_learnt_size(const int64_t shape[3], int64_t cells[3], int64_t *words);
/* Was any cell learnt from that the box touches? */
bool crd_learnt_in(const crd_learnt_scan *scan, const crd_box *box);
/* Does the voxel lie in one that was? */
bool crd_learnt_at(const crd_learnt_scan *scan, int64_t z, int64_t y, int64_t x);
void crd_learnt_mark(int64_t *cells, int64_t number);

crd_status crd_provenance_write(crd_store *store, const crd_provenance *provenance);
/* Empty, and not known, where the file has none. Free it also after a failure. */
crd_status crd_provenance_read(crd_store *store, crd_provenance *out);

#endif
