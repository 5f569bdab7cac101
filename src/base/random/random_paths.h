/* The loops behind crd_random_fill_*, one source compiled for several instruction sets. All give the same bits, so
 * which one runs is nobody's choice but the machine's; the tests run them all. */
#ifndef CRD_BASE_RANDOM_RANDOM_PATHS_H
#define CRD_BASE_RANDOM_RANDOM_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#define CRD_RANDOM_BLOCK 1024 /* the most words of one call of `normals` */

typedef struct crd_random_path {
    const char *name;
    bool (*supported)(void);
    /* The words of `blocks` counters that start at `counter` and rise in counter[0]. */
    void (*words)(const uint32_t key[2], const uint32_t counter[4], int64_t blocks, uint32_t *out);
    void (*normals)(const uint32_t *words, int64_t count, float *out);
} crd_random_path;

extern const crd_random_path crd_random_paths[];
extern const int crd_random_path_count; /* the first one runs everywhere, later ones are faster */

const crd_random_path *crd_random_best_path(void);

#endif
