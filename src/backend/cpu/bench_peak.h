/* What the machine can do at best, measured next to what a program does. */
#ifndef CRD_BACKEND_CPU_BENCH_PEAK_H
#define CRD_BACKEND_CPU_BENCH_PEAK_H

#include <sys/resource.h>

#include "ops/ops.h"

/* Multiply-adds in registers on all threads of the pool, GFLOP/s: the best of as many tries as fit into `seconds`. */
double crd_bench_peak(const crd_ops *ops, crd_pool *pool, double seconds);
/* Gigabytes a second, read and written, that the pool copies within a memory larger than the caches. */
crd_status crd_bench_copy(crd_pool *pool, double seconds, double *gigabytes);

/* The most memory that the process has had so far. */
static inline int64_t crd_bench_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

#endif
