/* Writes a member's states while its training goes on: the best one so far, and checkpoints. A thread of its own does
 * it; the caller only copies the state. A state that is still waiting when the next of its kind comes is left out: what
 * counts is the newest.
 *
 * The best state is written before a checkpoint that may speak of it, so that whatever a kill leaves behind can be
 * resumed: the best state on the disk is as new as the checkpoint or newer, and a newer one comes again. */
#ifndef CRD_TRAIN_SAVER_H
#define CRD_TRAIN_SAVER_H

#include "train/checkpoint.h"
#include "train/log.h"

typedef struct crd_saver crd_saver;

/* All borrowed. */
typedef struct crd_saver_plan {
    const crd_model *model; /* of one member; its parameters are left alone, what else it holds stays as it is */
    const char *best_path, *checkpoint_path;
    const crd_train_identity *identity;
    crd_train_log *log; /* is brought to the disk before a checkpoint */
} crd_saver_plan;

crd_status crd_saver_open(const crd_saver_plan *plan, crd_saver **out);
/* Writes what still waits. That something can't be written is no longer told. */
void crd_saver_close(crd_saver **saver);

/* Each fails as an earlier write did, if one has failed by now: after that nothing is written. */
crd_status crd_saver_best(crd_saver *saver, const float *parameters);
crd_status crd_saver_checkpoint(crd_saver *saver, const crd_trainer_state *state, const crd_train_progress *progress);
crd_status crd_saver_look(crd_saver *saver);
/* Until everything is on the disk. */
crd_status crd_saver_wait(crd_saver *saver);

#endif
