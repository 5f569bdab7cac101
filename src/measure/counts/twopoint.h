/* Two-point probabilities along the axes, and what the mean intercept is made of: counts of pairs of voxels, for up to
 * 64 realisations at once. */
#ifndef CRD_MEASURE_TWOPOINT_H
#define CRD_MEASURE_TWOPOINT_H

#include "base/parallel.h"
#include "measure/field.h"

enum { CRD_LAGS_MAX = 1024 };

typedef struct crd_twopoint {
    const crd_field *field;
    const int64_t *lags; /* rising from 0; borrowed */
    int64_t lag_count;
    int64_t *pairs;              /* [axis][lag]: both voxels in the window */
    int64_t (*both)[64];         /* [axis * lag_count + lag]: both of the phase */
    int64_t (*ends)[64];         /* [axis]: ends in the phase of all pairs of neighbours */
    struct crd_pair_room *rooms; /* one a thread */
    int threads;
} crd_twopoint;

int64_t crd_twopoint_bytes(int64_t lag_count, int64_t width, int threads);
crd_status crd_twopoint_begin(crd_twopoint *t, const crd_field *field, const int64_t *lags, int64_t lag_count,
                              int threads);
void crd_twopoint_end(crd_twopoint *t);
/* Slices from `first` to before `end` are new in the ring, which still has those within the largest lag before them. */
void crd_twopoint_slices(crd_twopoint *t, crd_pool *pool, int64_t first, int64_t end);

/* counts[k] += voxels of all pairs of rows in which both words have bit k, in all instruction sets. */
typedef struct crd_pair_rows {
    const uint64_t *const *a, *const *b;
    int count;
    int64_t length;
} crd_pair_rows;
typedef void crd_pairs_loop(const crd_pair_rows *rows, int64_t counts[64]);
extern crd_pairs_loop *const crd_pairs_loops[];

#endif
