/* One training step that the processes of a job take together: each computes the gradients of its own examples. Where
 * the backend divides steps, each process then takes the step for a part of the parameters, adding the examples in the
 * order of the batch, and sends the result to the others; elsewhere each adds up a part of the gradient, and all take
 * the whole step. A process alone doesn't use this. */
#ifndef CRD_TRAIN_SHARED_STEP_H
#define CRD_TRAIN_SHARED_STEP_H

#include "dist/dist.h"
#include "train/data/feeder.h"
#include "train/trainer.h"

typedef struct crd_shared_step crd_shared_step;

/* NULL for a process alone. */
crd_status crd_shared_step_create(crd_dist *dist, int64_t batch, crd_trainer *trainer, crd_shared_step **out);
void crd_shared_step_free(crd_shared_step **shared);

/* Turns the labelled voxels of this process's examples into those of the whole batch. */
crd_status crd_shared_step_begin(crd_shared_step *shared, crd_batch *batch);
/* Gradient and loss of example `i` of the batch, one of this process's. */
crd_status crd_shared_step_add(crd_shared_step *shared, int64_t i, const float *input, const uint8_t *label,
                               float scale);
/* Everybody has its part of all gradients; losses[] gets those of all examples. */
crd_status crd_shared_step_finish(crd_shared_step *shared, const crd_batch *batch, crd_loss *losses);
/* In place of crd_trainer_start: the step of the whole batch. Everybody has the new parameters, as far as the next step
 * needs them. */
crd_status crd_shared_step_start(crd_shared_step *shared, double kl_scale, double rate);
/* Everybody's learner has all of the state: Adam's moments only where `moments` is set. */
crd_status crd_shared_step_collect(crd_shared_step *shared, bool moments);

/* Losses of all `count` items, of which this process has filled in its crd_dist_part. */
crd_status crd_shared_step_losses(crd_dist *dist, int64_t count, crd_loss *losses);

/* Examples a second of every process since the last call, at rank 0: computing only, not waiting for others. */
crd_status crd_shared_step_speeds(crd_shared_step *shared, double *speeds);

#endif
