/* Training: from scans and hand labels to a model.
 *
 *     crd_train_options options;
 *     crd_settings_default(&crd_train_settings, &options);
 *     crd_settings_set(&crd_train_settings, &options, "scan", "scan.tif");
 *     crd_settings_set(&crd_train_settings, &options, "label", "label.tif");
 *     crd_settings_set(&crd_train_settings, &options, "output", "model.h5");
 *     crd_train_apply_preset(&options, NULL);
 *     crd_train_result result;
 *     if (crd_train(&options, NULL, &result) != CRD_OK) fail(crd_last_error()->message);
 *     crd_settings_clear(&crd_train_settings, &options);
 *
 * Files of output model.h5: model.h5 (the state that `keep` names), model.best.h5 (the best state), model.ckpt.h5 (to
 * resume from), model.log.jsonl (one JSON object a step; the last of an epoch has the epoch's figures, too),
 * model.progress.png. All but the log are replaced atomically. The same options give the same bytes of models, for any
 * number of threads, readers and processes (credence/cluster.h) and any interruptions.
 *
 * Threads: several calls may run at once, each in a thread of its own and with an output of its own, beside any others
 * of the library; `threads` divides the machine among them. In a job of several processes (credence/cluster.h) only one
 * prediction or training may run at a time. Options are only read by crd_train, and may be shared.
 */
#ifndef CREDENCE_TRAIN_H
#define CREDENCE_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "credence/model.h"
#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every option; crd_train_settings describes and fills it. Strings and lists are owned by the struct. */
typedef struct crd_train_options {
    size_t size; /* of this struct: crd_settings_default fills it in */
    crd_text_list scan, label;
    crd_text_list valid_scan, valid_label;
    double valid_fraction; /* of the labels, held back at most where no validation pair is given */
    char *output;
    char *kind; /* "bcnn", "mcdn" */
    char *preset;
    char *init;      /* a model to start from, or NULL */
    char *estimator; /* "flipout", "independent", "mean" */
    int64_t filters, groups;
    int64_t members; /* networks of an ensemble, 1 .. CRD_MEMBERS_MAX */
    char *prior;     /* "normal", "mixture", "spike-slab" */
    double prior_std, prior_narrow, prior_share;
    char *norm; /* "phases", "levels", "scan", "none", "MEAN,STD" */
    int64_t chunk[3], step, batch, epochs, max_steps;
    bool chunk_given; /* the option was given; else it is made smaller where a scan is */
    double lr;
    int64_t lr_decay_start; /* -1: constant */
    double kl_initial, kl_step, kl_temperature;
    int64_t kl_start, kl_batches;
    bool no_shuffle;
    char *augment;         /* "none", "flips", "full" */
    bool no_pieces;        /* of the scans, in the model */
    bool no_intervals;     /* no made-up shifts at the end: intervals of predictions are those of the samples */
    crd_real_list classes; /* label values, in the order of the classes; none: all that occur */
    char *class_names;     /* "pore,ysz,nickel", or NULL */
    crd_real_list foreground, ignore;
    crd_text_list mask;       /* files, "cylinder" or "none": one for all scans, or one for each */
    crd_text_list valid_mask; /* likewise of valid_scan; none: the one mask of `mask` */
    int64_t valid_samples;
    char *keep;       /* "best", "last" */
    int64_t shape[3]; /* raw files */
    char *type, *label_type;
    int64_t offset, label_offset; /* bytes to skip at the start of raw files */
    char *spacing;                /* "z,y,x,unit": of all scans, in place of the files'; NULL: as they say */
    char *log;                    /* another place for the log */
    int64_t checkpoint_every;
    bool resume;
    int64_t seed, threads;
    int64_t readers; /* threads that read ahead; 0: by the device */
    int64_t at_once; /* members trained side by side; 0: by the device */
    char *device, *precision, *isa;
} crd_train_options;

CRD_API extern const crd_settings crd_train_settings;

/* Applies the preset that options->preset names, except to what was given by hand: `given`, as crd_settings_from_json
 * leaves it, has a mark for every row of crd_train_settings that must stay; NULL: none. */
CRD_API crd_status crd_train_apply_preset(crd_train_options *options, bool *given);

/* Whether the options go together: as many labels as scans, and the like. crd_train looks at it, too. */
CRD_API crd_status crd_train_check(const crd_train_options *options);

/* Of an ensemble, figures of single networks are means over its members, and epochs those of the earliest. */
typedef struct crd_train_result {
    int classes; /* that the model tells apart */
    int members;
    int64_t steps, epochs; /* of each member */
    double bce;            /* of the last epoch's mini-batches, mean */
    double valid_bce;      /* of the last epoch; NaN without validation data */
    double valid_accuracy;
    double best_valid_bce; /* with samples where `keep` is "best", else with all weights at their means */
    int64_t best_epoch;
    int64_t kept_epoch;     /* whose state the model is */
    crd_heldout heldout;    /* how good it is where it didn't learn; blocks 0: nothing was held back */
    double mean_sigma;      /* of the weights' posteriors; NaN for an mcdn */
    double certain_share;   /* of weights with |mean| > sigma; NaN for an mcdn */
    double calibration;     /* the number stored in the model */
    double seconds;         /* of this call */
    double waited_seconds;  /* of them, waiting for chunks to be read */
    double reading_seconds; /* processor time of the threads that read ahead */
} crd_train_result;

/* Trains. `monitor` and `out` may be NULL; after a failure `out` holds what is known by then. Cancelling through the
 * monitor leaves a checkpoint, and CRD_ERR_CANCELLED. */
CRD_API crd_status crd_train(const crd_train_options *options, const crd_monitor *monitor, crd_train_result *out);

#ifdef __cplusplus
}
#endif
#endif
