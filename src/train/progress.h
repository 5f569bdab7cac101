/* The state of a training apart from the parameters: what a checkpoint must keep so that a resumed run gives the same
 * bytes. */
#ifndef CRD_TRAIN_PROGRESS_H
#define CRD_TRAIN_PROGRESS_H

#include <stdint.h>

typedef struct crd_train_progress {
    int64_t steps;          /* taken */
    double epoch_bce;       /* sum over the epoch's steps so far */
    int64_t epoch_steps;    /* their number; 0 when the epoch's end has been dealt with */
    double first_valid_bce; /* after the first epoch; NaN before */
    double best_valid_bce;  /* NaN before the first validation */
    int64_t best_epoch;
    double last_valid_bce, last_valid_accuracy;
    int64_t rising;  /* epochs in a row in which the validation BCE lay well above its lowest */
    int64_t dead;    /* steps in a row with a dead head */
    int64_t redrawn; /* how often a dead head got new weights, and after which step the last time; 0: never */
    int64_t redrawn_after;
    double last_bce; /* mean over the steps of the last finished epoch */
    double bce, kl;  /* of the last step, whose line in the log may be still to come */
    double lowest;   /* validation BCE of all epochs since the training was begun or resumed, and its epoch; 0: none. */
    int64_t lowest_epoch; /* Only what is said goes by it, so that no checkpoint has it. */
} crd_train_progress;

#endif
