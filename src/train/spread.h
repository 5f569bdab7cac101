/* A mini-batch over the processes of a job: each computes the gradients of its own examples, and all add them up in the
 * order of the batch. Alone, a process never gets here. */
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
/* After crd_trainer_add of example `i` of the batch: keeps its gradient and its loss, and clears the trainer's sum. */
void crd_spread_keep(crd_spread *spread, const crd_batch *batch, int64_t i, const crd_loss *loss);
/* The trainer's gradient becomes that of the whole batch; losses[] gets those of all its examples. */
crd_status crd_spread_finish(crd_spread *spread, const crd_batch *batch, crd_loss *losses);

/* Losses of all `count` items, of which this process has filled in its crd_dist_part. */
crd_status crd_spread_losses(crd_dist *dist, int64_t count, crd_loss *losses);

/* Examples a second of every process since the last call, at rank 0: computing only, not waiting for others. */
crd_status crd_spread_speeds(crd_spread *spread, double *speeds);

#endif
