/* Benchmarks: how fast this machine runs the network, in whole chunks, whole training steps, and operation by
 * operation.
 *
 * The floating-point peak is measured in the same run, so that the figures still mean something on a machine that
 * others use at the same time. Times are those of the fastest repetition.
 *
 *     crd_bench_network_settings settings = {.samples = 48};
 *     crd_bench_result result;
 *     if (crd_bench_predict(&settings, NULL, &result) != CRD_OK) fail(crd_last_error()->message);
 *     printf("%.0f ms a chunk\n", result.milliseconds);
 *
 * Settings that are 0 or NULL get the values named beside them. Names in results are static; nothing has to be freed. A
 * monitor may be NULL, and stops a measurement as it stops anything else.
 *
 * Threads: several calls may run at once, but they slow each other down, and the figures show it.
 */
#ifndef CREDENCE_BENCH_H
#define CREDENCE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/model.h"
#include "credence/monitor.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct crd_bench_ops_settings {
    const char *isa;       /* "auto" or NULL, "avx512", "avx2", "portable" */
    const char *precision; /* "bf16", or anything else for f32 */
    int threads;           /* 0: one per available core */
    double seconds;        /* spent on each operation; 0 means 0.2 */
    const char *only;      /* operations whose name contains this; NULL: all */
    bool layers;           /* the network's layers one after the other, in place of each kind of operation once */
    int64_t chunk[3];      /* for layers; 0, 0, 0: 48,88,88 */
    int filters;           /* for layers; 0: 16 */
    int classes;           /* for layers; 0: 2 */
} crd_bench_ops_settings;

typedef struct crd_bench_machine {
    const char *isa;
    int threads;
    double peak_gflops;    /* float32 multiply-adds, two operations each, with these instructions and threads */
    double copy_gigabytes; /* per second, read and written, by a copy larger than the caches */
} crd_bench_machine;

typedef struct crd_bench_row {
    const char *layer;     /* "decoder/1/a" where layers are asked for, else NULL */
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

typedef struct crd_bench_network_settings {
    const char *device;    /* "auto" or NULL, "cpu", "cuda", "cuda:1" */
    const char *precision; /* "auto" or NULL, "f32", ... */
    const char *isa;       /* as above */
    int threads;
    double seconds; /* to measure for, at least two repetitions; 0: 5 */
    crd_kind kind;
    int filters;                /* 0: 16 */
    int classes;                /* 0: 2 */
    int64_t chunk[3];           /* 0, 0, 0: 48,88,88 to predict (on a GPU 88,176,176), 32,64,64 to train */
    int64_t halo;               /* predict: norms are frozen, and of the chunk only what lies that far inside is asked
                                   for, as of a tile; a multiple of 8, or 0: all of it, with its own norms */
    int64_t samples;            /* predict; 0: 48 */
    int64_t batch;              /* train; 0: 2 */
    const char *estimator;      /* train: "flipout" (NULL), "independent", "mean" */
    const char *max_gpu_memory; /* predict: "20G", or NULL: what is free */
    bool layers;                /* predict on a GPU: the time of every layer, too */
} crd_bench_network_settings;

/* A layer with all samples of one chunk. */
typedef struct crd_bench_layer {
    const char *path; /* "decoder/1/a", or "summary": mean and percentiles over the samples */
    double milliseconds;
    double gflops; /* per second; 0 for the summary */
} crd_bench_layer;
enum { CRD_BENCH_LAYERS = 24 };

typedef struct crd_bench_result {
    char device[128];      /* the processor and the instruction path */
    const char *precision; /* "f32" */
    int64_t chunk[3];      /* as measured, as the next four */
    int64_t halo;
    int64_t samples, batch;
    const char *estimator;
    int64_t repetitions;
    double milliseconds; /* of a chunk with all its samples, or of a step with all its examples; predicting on a GPU:
                            the whole time, copies included, over the number of chunks */
    double gflops;       /* per second, counted as in docs/TRAINING.md */
    double peak_gflops;  /* what the same threads reach with multiply-adds alone, a GPU with products of matrices */
    int64_t peak_memory_bytes; /* of the process, when the network has run */
    /* Of a GPU, else 0. */
    double copy_gigabytes;       /* per second, read and written, by a copy within its memory */
    int64_t device_memory_bytes; /* that the network takes */
    double megahertz, watts;     /* while it works, at the end; 0: not known */
    int layer_count;
    crd_bench_layer layers[CRD_BENCH_LAYERS];
} crd_bench_result;

/* One chunk: the encoder, all samples of the decoder, and their percentiles. */
CRD_API crd_status crd_bench_predict(const crd_bench_network_settings *settings, const crd_monitor *monitor,
                                     crd_bench_result *result);
/* One step on one mini-batch that is in memory already. */
CRD_API crd_status crd_bench_train(const crd_bench_network_settings *settings, const crd_monitor *monitor,
                                   crd_bench_result *result);

/* How fast mini-batches come from the files, with no network to wait for. */
typedef struct crd_bench_feed_settings {
    const char *scan, *label; /* files; the label is not optional */
    int64_t chunk[3];         /* 0, 0, 0: 48,96,96 */
    int64_t batch;            /* 0: 4 */
    int64_t readers;          /* threads that read; 0: 1 */
    bool unturned;            /* pieces as they are in the file, neither mirrored nor turned */
    double seconds;           /* to measure for; 0: 5 */
} crd_bench_feed_settings;

typedef struct crd_bench_feed_result {
    int64_t chunk[3], batch, readers; /* as measured */
    int64_t examples;                 /* chunks that were read */
    double seconds;                   /* that they took */
    double megavoxels;                /* a second */
    double reading_seconds;           /* processor time of all readers */
    double copy_gigabytes;            /* per second, read and written, by as many threads' copy beyond the caches */
} crd_bench_feed_result;

/* Mini-batches as a training would take them, one after the other, from files that are read as often as it takes. */
CRD_API crd_status crd_bench_feed(const crd_bench_feed_settings *settings, const crd_monitor *monitor,
                                  crd_bench_feed_result *result);

#ifdef __cplusplus
}
#endif
#endif
