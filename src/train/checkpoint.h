/* Checkpoints: a model file with Adam's moments, the place in the data, and the settings that shaped it. */
#ifndef CRD_TRAIN_CHECKPOINT_H
#define CRD_TRAIN_CHECKPOINT_H

#include "net/model.h"
#include "train/progress.h"
#include "train/trainer.h"

/* Everything that shapes the result, as text: a checkpoint fits if these are equal. */
typedef struct crd_train_identity {
    const char *settings; /* JSON object of the settings that matter */
    const char *isa;      /* instruction path: a resumed run keeps to it */
    int64_t batches;      /* of an epoch */
    uint64_t data;        /* digest of the scans' and labels' statistics */
    const char *init;     /* SHA-256 of the model file that it starts from; "none" for none */
} crd_train_identity;

crd_status crd_checkpoint_save(const char *path, const crd_model *model, const crd_trainer_state *state,
                               const crd_train_progress *progress, const crd_train_identity *identity);

/* Fills the state and the progress; refuses by name what differs from `identity`. */
crd_status crd_checkpoint_load(const char *path, const crd_train_identity *identity, const crd_model *model,
                               crd_trainer_state *state, crd_train_progress *progress);

/* How far a checkpoint is, and its instruction path ("avx512"), freed with crd_free. */
crd_status crd_checkpoint_place(const char *path, int64_t *steps, char **isa);

#endif
