/* The loops behind crd_random_fill_*, compiled for every path of base/cpu.h. */
#ifndef CRD_BASE_RANDOM_RANDOM_PATHS_H
#define CRD_BASE_RANDOM_RANDOM_PATHS_H

#include <stdint.h>

#define CRD_RANDOM_BLOCK 1024 /* the most words of one call of `normals` */

typedef struct crd_random_path {
    /* The words of `blocks` counters that start at `counter` and rise in counter[0]. */
    void (*words)(const uint32_t key[2], const uint32_t counter[4], int64_t blocks, uint32_t *out);
    void (*normals)(const uint32_t *words, int64_t count, float *out);
} crd_random_path;

extern const crd_random_path crd_random_paths[]; /* [CRD_CPU_PATH_COUNT] */

const crd_random_path *crd_random_best_path(void);

#endif
