/* How work is divided when sums are left behind: into CRD_BLOCKS parts, whatever the number of threads. */
#ifndef CRD_OPS_BLOCKS_H
#define CRD_OPS_BLOCKS_H

#include <stdint.h>

enum { CRD_BLOCKS = 64 };

/* Block b of n items is [first(n, b), first(n, b + 1)). */
static inline int64_t crd_block_first(int64_t n, int64_t block)
{
    return n * block / CRD_BLOCKS;
}

/* Neighbours along an axis that share a border class (crd_border_axis). */
typedef struct crd_border_run {
    int64_t begin, end;
    int axis;
} crd_border_run;

/* The runs of an axis of n voxels, in order; returns their number, 1 to 3. */
int crd_border_runs(int64_t n, crd_border_run runs[3]);

#endif
