/* A pool of threads of our own. Work is a count of independent items; which thread runs which item is left open, so
 * results must not depend on it: reduce over items, never over threads. */
#ifndef CRD_BASE_PARALLEL_H
#define CRD_BASE_PARALLEL_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_pool crd_pool;

/* Cores that this process may use by its affinity mask, at least 1. */
int crd_available_cores(void);

/* `threads` >= 1 includes the calling thread; 0 means one per available core (the affinity mask counts). */
crd_status crd_pool_create(int threads, crd_pool **out);
void crd_pool_free(crd_pool **pool);
int crd_pool_threads(const crd_pool *pool);

/* Calls work(context, item, worker) once for every item in [0, count); returns when all are done. `worker` lies in
 * [0, threads), the calling thread's is 0. Items are handed out in rising order. Several threads may call it on the
 * same pool: they take turns. Not re-entrant: work() must not call it on the same pool. */
typedef void crd_work(void *context, int64_t item, int worker);
void crd_pool_run(crd_pool *pool, int64_t count, crd_work *work, void *context);

#endif
