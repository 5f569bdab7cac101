/* One network of a training: its steps, epochs, checkpoints and best state. A training of one has one member, an
 * ensemble several, which differ in their seed and share the data and what is held back. */
#ifndef CRD_TRAIN_MEMBER_H
#define CRD_TRAIN_MEMBER_H

#include <stdatomic.h>

#include "net/model.h"
#include "train/checkpoint.h"
#include "train/data/feeder.h"
#include "train/history.h"
#include "train/saver.h"
#include "train/shared_step.h"
#include "train/validation.h"

typedef struct crd_train_run crd_train_run;

typedef struct crd_member {
    crd_train_run *run;
    int64_t number;
    uint64_t seed;
    crd_monitor monitor; /* the run's; of several members it says which one speaks */
    const crd_monitor *outer;
    _Atomic int64_t done; /* steps, for the progress of all */
    char *best_path, *checkpoint_path, *picture_path;
    bool go_on;         /* from the checkpoint */
    int64_t resumed_at; /* its step */

    crd_dataset *validation; /* the run's, for this member alone */
    crd_trainer *trainer;
    crd_shared_step *shared; /* NULL for a process alone */
    double *rank_speeds;     /* examples a second, by rank; NULL for a process alone */
    crd_feeder *feeder;
    crd_batch batch;     /* the one that the trainer has, but for the arrays of one that is `ahead` */
    crd_loss *losses[2]; /* of its examples; and of those added ahead of their step */
    bool ahead;          /* the next batch was added while a device computed */
    crd_checker checker;
    crd_history *history;
    crd_train_progress progress;
    crd_train_identity identity;
    crd_model own;    /* the run's model as this member's: but for the parameters, what is saved */
    crd_saver *saver; /* NULL where another process saves */

    bool kept_best; /* the best state was kept, not the last */
    double mean_sigma, certain_share;
    double waited_seconds, reading_seconds;
    double begin, saved_at; /* on the clock: its first step here, the last checkpoint */
} crd_member;

/* Of a member whose run, number and paths are set: trainer and reader, new or as its checkpoint says. Close it also
 * after a failure, and again at the end: some of it stays. */
crd_status crd_member_open(crd_member *member);
void crd_member_close(crd_member *member);

/* All steps that are left, then the state to keep, whose parameters go into the run's model. Collective. */
crd_status crd_member_train(crd_member *member);

/* The best state so far becomes the trainer's, as rank 0 reads it, and the model's. */
crd_status crd_member_load_best(crd_member *member);
/* The epoch of the state that was kept. */
int64_t crd_member_kept_epoch(const crd_member *member);

/* This member's network as a model of its own. Borrows all: not to be freed. */
crd_model crd_member_model(const crd_member *member);

#endif
