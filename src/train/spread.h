/* A mini-batch over the processes of a job: each computes the gradients of its own examples. On CPUs each then takes
 * the step for a part of the parameters, adding the examples in the order of the batch, and all tell each other the
 * result; on devices each adds up a part of the gradient, and all take the whole step. Alone, a process never gets
 * here.
 */
#ifndef CRD_TRAIN_SPREAD_H
#define CRD_TRAIN_SPREAD_H

#include "dist/dist.h"
#include "train/feeder.h"
#include "train/trainer.h"

typedef struct crd_spread crd_spread;

/* NULL for a process alone. */
crd_status crd_spread_create(crd_dist *dist, int64_t batch, crd_trainer *trainer, crd_spread **out);
void crd_spread_free(crd_spread **spread);

/* Turns the labelled voxels of this process's examples into those of the whole batch. */
crd_status crd_spread_begin(crd_spread *spread, crd_batch *batch);
/* Gradient and loss of example `i` of the batch, one of this process's. */
crd_status crd_spread_add(crd_spread *spread, int64_t i, const float *input, const uint8_t *label, float scale);
/* The trainer's gradient becomes that of the whole batch (on CPUs: in the own part of the parameters); losses[] gets
 * those of all its examples. */
crd_status crd_spread_finish(crd_spread *spread, const crd_batch *batch, crd_loss *losses);
/* After crd_trainer_start: everybody has the new parameters, as far as the next step needs them. */
crd_status crd_spread_join(crd_spread *spread);
/* Everybody has all of the trainer's state: Adam's moments only where `moments` is set. */
crd_status crd_spread_collect(crd_spread *spread, bool moments);

/* Losses of all `count` items, of which this process has filled in its crd_dist_part. */
crd_status crd_spread_losses(crd_dist *dist, int64_t count, crd_loss *losses);

/* Examples a second of every process since the last call, at rank 0: computing only, not waiting for others. */
crd_status crd_spread_speeds(crd_spread *spread, double *speeds);

#endif
