/* Rows of bits, one a voxel: their runs, and where those of two rows touch. Positions are 16 bits wide, so that rows
 * have at most 65535 voxels; behind the last word nothing is looked at, and bits behind the last voxel are 0. */
#ifndef CRD_MEASURE_RUNS_H
#define CRD_MEASURE_RUNS_H

#include <stdint.h>

/* Entries that lists need beyond those that they hold in the end: vectors are stored whole. */
enum { CRD_RUNS_SPARE = 64 };

typedef struct crd_runs_path {
    /* Where runs begin and end, by turns: edges[2 i] to before edges[2 i + 1]. Gives how many there are. A row of n
     * voxels has up to (n + 1) / 2 runs. */
    int64_t (*find)(const uint64_t *bits, int64_t words, uint16_t *edges);

    /* Adds to two lists of the same length which run of row `a` meets which run of row `b`, by their numbers: once for
     * every stretch of bits that both rows have, and where corners join also once for every corner. Gives how many
     * these are: up to one and a half for each voxel, and one more. */
    int64_t (*touch)(const uint64_t *a, const uint64_t *b, int64_t words, int corners, uint16_t *of_a, uint16_t *of_b);
} crd_runs_path;

/* In all instruction sets, of which the first is the textbook's; one for processors that have
 * crd_cpu_has_bit_matrices(); and the one that is the fastest here. All give the same lists. */
extern const crd_runs_path crd_runs_paths[], crd_runs_vectors;
const crd_runs_path *crd_runs_fastest(void);

#endif
