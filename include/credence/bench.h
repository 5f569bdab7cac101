/* How fast this machine runs the network's operations, each alone.
 *
 * The floating-point peak and the memory bandwidth are measured in the same run, so that the figures mean something on
 * a machine that others use, too. */
#ifndef CREDENCE_BENCH_H
#define CREDENCE_BENCH_H

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct crd_bench_ops_settings {
    const char *isa;  /* "auto" or NULL, "avx512", "avx2", "portable" */
    int threads;      /* 0: one per available core */
    double seconds;   /* spent on each operation; 0 means 0.2 */
    const char *only; /* operations whose name contains this; NULL: all */
} crd_bench_ops_settings;

typedef struct crd_bench_machine {
    const char *isa;
    int threads;
    double peak_gflops;    /* float32 multiply-adds, two operations each, with these instructions and threads */
    double copy_gigabytes; /* per second, read and written, by a copy larger than the caches */
} crd_bench_machine;

typedef struct crd_bench_row {
    const char *operation; /* "conv", "conv kernel gradient", "up", ... */
    char size[64];         /* "48x88x88 16+16->16" */
    double milliseconds;   /* the fastest of the repetitions */
    double gflops;         /* counted as a plain convolution would do it; 0 where that means nothing */
    double peak_share;     /* gflops / peak_gflops: above 1 where fewer operations do */
    double gigabytes;      /* per second: inputs read once, outputs written once */
} crd_bench_row;

/* Calls `machine` once, then `row` for each operation, on the calling thread. Either may be NULL. */
CRD_API crd_status crd_bench_ops(const crd_bench_ops_settings *settings,
                                 void (*machine)(void *context, const crd_bench_machine *machine),
                                 void (*row)(void *context, const crd_bench_row *row), void *context);

#ifdef __cplusplus
}
#endif
#endif
