/* Prediction: a model and a scan give probability, segmentation and uncertainty, voxel by voxel.
 *
 *     crd_predict_options options;
 *     crd_settings_default(&crd_predict_settings, &options);
 *     crd_settings_set(&crd_predict_settings, &options, "model", "model.h5");
 *     crd_settings_set(&crd_predict_settings, &options, "scan", "scan.tif");
 *     crd_settings_set(&crd_predict_settings, &options, "output", "run");
 *     if (crd_predict(&options, NULL, NULL) != CRD_OK) fail(crd_last_error()->message);
 *     crd_settings_clear(&crd_predict_settings, &options);
 *
 * The run folder then holds scan_prob, scan_seg and scan_unc in the scan's format, manifest.json (all that is needed to
 * repeat the run, and its sums), probe.h5, log.jsonl and, where norms are frozen, norms.h5. docs/PREDICT.md explains
 * each.
 *
 * The volumes are the same bytes for any number of threads and processes (credence/cluster.h), any memory limit, and
 * any number of interruptions. During a run, what is finished lies in run/.partial: slices, or the volumes themselves
 * where they are made of tiles. A run that was stopped, by a callback, a signal or a full disk, continues from there
 * with `resume`.
 *
 * Threads: several calls may run at once, each in a thread of its own and into a folder of its own, beside any others
 * of the library. They know nothing of each other: `threads` and `max_memory` divide the machine among them. In a job
 * of several processes (credence/cluster.h) only one prediction or training may run at a time. Options are only read,
 * and may be shared.
 */
#ifndef CREDENCE_PREDICT_H
#define CREDENCE_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/model.h"
#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every option; crd_predict_settings describes and fills it. Strings and lists are owned by the struct. */
typedef struct crd_predict_options {
    size_t size; /* of this struct: crd_settings_default fills it in */
    /* Where and how, without an effect on the volumes. */
    char *output;         /* the run folder */
    bool overwrite;       /* the folder may hold an earlier run */
    bool resume;          /* continue the run that was begun there */
    bool dry_run;         /* for programs: crd_predict itself refuses it, call crd_predict_plan_make instead */
    char *max_memory;     /* "4G"; "auto": three quarters of what is free */
    char *max_gpu_memory; /* of each GPU: "20G"; "auto": nine tenths of what is free */
    int64_t threads;      /* 0: one per core */
    char *repeats;        /* manifest of the run to repeat, or NULL; warnings say what has changed since */

    /* What is computed. */
    char *model, *scan;
    int64_t samples, first_sample;
    int64_t seed;
    char *chunk; /* "z,y,x", "auto", or NULL: the model's training chunk */
    int64_t step;
    double trim;
    char *mode;      /* "seamless" or "overlap"; NULL: by the other options and the model (docs/PREDICT.md) */
    char *norms;     /* "training", "scan", "chunk", or NULL: what goes with the mode */
    int64_t halo;    /* voxels around a tile */
    int64_t tile[3]; /* 0,0,0: by the scan and the kind of device */
    bool step_given, trim_given, aggregate_given, halo_given; /* the option was given, even with its default value */
    char *estimator;                                          /* "independent" or "mean" */
    char *draws;                                              /* "shared" or "per-chunk" */
    char *aggregate;                                          /* "chunks" or "samples" */
    bool no_calibration;
    char *norm;   /* "phases", "levels", "scan", "none", "MEAN,STD", or NULL: the model's */
    char *mask;   /* a file, "cylinder", or NULL */
    char *bbox;   /* "z0:z1,y0:y1,x0:x1", or NULL */
    bool preview; /* a quick look: 4 samples at most, step 1, one slab in the middle unless bbox says another */

    /* What is written. */
    crd_pair_list intervals;   /* of percentiles: the first is `_unc`; none: 33-67 */
    crd_real_list percentiles; /* volumes of their own */
    bool std;
    bool entropy;         /* `_entropy` of the probabilities, in bits, and its parts `_aleatoric` and `_epistemic` */
    bool unc_by_class;    /* with more than two classes: `_unc_NAME` of every one */
    crd_pair_list bounds; /* one pair of percentiles, or none: lower and upper segmentation */
    char *save_samples;   /* "none", "bits", "u8", "u16" or "f32" */
    char *format;         /* by name or suffix: "tiff", "nii.gz"; NULL: the scan's */
    char *dtype;          /* "f32", "u8" or "u16" */

    /* The machine. */
    char *device, *precision, *isa;

    /* What the scan's file doesn't say. */
    int64_t shape[3];
    char *type;
    int64_t offset;
    char *spacing;
} crd_predict_options;

CRD_API extern const crd_settings crd_predict_settings;

/* What came of one class, of more than two. */
typedef struct crd_class_result {
    char name[CRD_CLASS_NAME_TEXT];
    double volume_fraction; /* share of voxels that are of it in the segmentation */
    double fraction_low;    /* this and the rest as in crd_predict_result */
    double fraction_high;
    double fraction_mean, fraction_interval90[2], fraction_systematic;
} crd_class_result;

/* What came of a run. */
typedef struct crd_predict_result {
    int64_t chunks;         /* that the run consists of */
    int64_t computed;       /* of these, in this call: less after an interruption, 0 where the run was complete */
    int64_t samples;        /* S */
    double volume_fraction; /* share of voxels with probability above one half; NaN with more than two classes */
    double fraction_low;    /* the first interval of the S realisations' volume fractions; NaN without shared draws */
    double fraction_high;
    double fraction_mean;          /* of the realisations' volume fractions; NaN without shared draws */
    double fraction_interval90[2]; /* around it, of 90 %; it holds the truth so often only where the next is known */
    double fraction_systematic;    /* what the interval adds for errors of whole scans; NaN: the model knows of none */
    double mean_uncertainty;       /* of the first interval */
    double seconds;                /* of this call */
    int class_count;               /* 0 where there are two */
    crd_class_result classes[CRD_CLASSES_MAX];
} crd_predict_result;

/* Whether the options go together, whatever model and scan are: crd_predict and crd_predict_plan_make look, too. */
CRD_API crd_status crd_predict_check(const crd_predict_options *options);

/* Runs. `monitor` and `out` may be NULL. Cancelling leaves a folder that `resume` can continue. With `resume`, a run
 * that is complete is left as it is, and `out` holds what its manifest says. */
CRD_API crd_status crd_predict(const crd_predict_options *options, const crd_monitor *monitor, crd_predict_result *out);

/* What a run would do and need. Looks at the model and at the header of the scan, and times the network on a small
 * chunk; writes nothing. */
typedef struct crd_predict_plan crd_predict_plan;

typedef struct crd_predict_needs {
    int64_t shape[3];  /* of the scan */
    int64_t origin[3]; /* of the box that is written, */
    int64_t size[3];   /* and its shape */
    bool seamless;     /* tiles; else chunks that overlap */
    int64_t tile[3];   /* 0,0,0 where there are none */
    int64_t halo;      /* around them */
    int64_t chunk[3];  /* what the network sees at a time: of a tile, with its halo */
    int64_t step;      /* of chunks that overlap */
    double trim;
    int64_t samples;
    int64_t chunks;
    int64_t min_coverage, max_coverage; /* how many chunks keep a voxel */
    int64_t memory_bytes;               /* of this process, at most */
    int64_t disk_bytes;                 /* below the run folder, at most, while it runs */
    int64_t result_bytes;               /* what stays */
    int64_t scratch_bytes;              /* part of disk_bytes: sums that the memory limit has no room for */
    double eta_seconds;
} crd_predict_needs;

/* `monitor` may be NULL. Free the plan with crd_predict_plan_free. */
CRD_API crd_status crd_predict_plan_make(const crd_predict_options *options, const crd_monitor *monitor,
                                         crd_predict_plan **out);
/* Borrowed from the plan. */
CRD_API const crd_predict_needs *crd_predict_plan_needs(const crd_predict_plan *plan);
/* Chunk number `index` of the run: where it begins, and the box [begin, end) of it that is kept, both in the scan's
 * coordinates. Kept is what trimming leaves, or the tile without its halo. */
CRD_API void crd_predict_plan_chunk(const crd_predict_plan *plan, int64_t index, int64_t origin[3],
                                    int64_t keep_begin[3], int64_t keep_end[3]);
CRD_API void crd_predict_plan_free(crd_predict_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
