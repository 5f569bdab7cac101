/* One training run: what setup.c puts together and run.c drives. Its networks, one or an ensemble's, are members of it
 * (train/member.h). */
#ifndef CRD_TRAIN_RUN_H
#define CRD_TRAIN_RUN_H

#include <string.h>

#include "base/file.h"
#include "base/hash/sha256.h"
#include "credence/train.h"
#include "dist/dist.h"
#include "run/lock.h"
#include "train/data/dataset.h"
#include "train/heldout/baseline.h"
#include "train/heldout/learnt.h"
#include "train/log.h"
#include "train/member.h"

typedef struct crd_train_run {
    const crd_train_options *options; /* `fitted`, once the scans were looked at */
    crd_train_options fitted;
    const crd_monitor *monitor;
    crd_train_result *result;
    char *log_path, *lock_path;
    char *settings;             /* that must be a checkpoint's, as JSON */
    char *config;               /* for the model file */
    char *isa;                  /* of a checkpoint that is resumed, or NULL */
    char init[CRD_SHA256_TEXT]; /* of the model that it starts from; "none" for none */
    crd_dist *dist;             /* rank 0 talks and writes; all ranks hold the same state */
    int64_t threads;
    crd_lock *lock;
    bool made_folder;      /* for the model */
    crd_model *model;      /* with the members' parameters */
    crd_member *members;   /* [model->info.members] */
    crd_trainer_plan plan; /* of every member's trainer, but for its seed */
    int64_t at_once;       /* members that are trained side by side */
    crd_volume_options scan_reading, label_reading;
    char unit[16]; /* of the scans' spacing, where it is given */
    crd_dataset *training, *validation;
    /* labelled voxels of all labels, and of what is checked on */
    int64_t classes[CRD_CLASSES_MAX], check_classes[CRD_CLASSES_MAX];
    crd_baseline *baseline;
    crd_model *ancestor;       /* that this training begins with; NULL: with random weights */
    crd_scan_name *scan_names; /* of the training scans, as models know them */
    crd_train_log *log;
    int64_t batches, end_step;
    double kl_divisor;
    double begin; /* on the clock; the log counts seconds from here */
} crd_train_run;

static inline bool crd_train_first(const crd_train_run *run)
{
    return crd_dist_rank(run->dist) == 0;
}

static inline bool crd_train_keeps_best(const crd_train_options *options)
{
    return options->keep != NULL && strcmp(options->keep, "best") == 0;
}

/* An ensemble of plain networks, whose weights have no spread: its samples are its members. */
static inline bool crd_train_at_means(const crd_train_options *options)
{
    return options->members > 1 && strcmp(options->estimator, "mean") == 0;
}

/* With how many samples an epoch is checked; 0: with none. The best state is chosen by them. */
static inline int64_t crd_train_check_samples(const crd_train_options *options)
{
    enum { USUAL = 8 };
    if (options->valid_samples > 0) return options->valid_samples;
    return crd_train_keeps_best(options) && !crd_train_at_means(options) ? USUAL : 0;
}

/* What was learnt from before this training. */
static inline const crd_provenance *crd_train_earlier(const crd_train_run *run)
{
    static const crd_provenance nothing = {.known = true};
    return run->ancestor != NULL ? &run->ancestor->provenance : &nothing;
}

/* fit_chunk.c: makes the chunk fit the scans where nobody chose it. */
crd_status crd_train_fit_chunk(crd_train_run *run);

/* open_data.c: fills all from scan_reading to kl_divisor that is about data. */
crd_status crd_train_open_data(crd_train_run *run);

/* Files, data, model and device, ready for the first member. Close it also after a failure. */
crd_status crd_train_run_open(crd_train_run *run);
void crd_train_run_close(crd_train_run *run);

static inline int64_t crd_train_epoch(const crd_train_run *run, int64_t step)
{
    return step / run->batches + 1;
}

#endif
