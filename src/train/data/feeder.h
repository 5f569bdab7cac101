/* Reads mini-batches ahead of their use, on threads of its own, in the order that the epochs' shuffles fix.
 *
 * Several readers prepare different examples of the batches to come. Batches are handed out in order whoever read them,
 * so nothing but time depends on the number of readers. */
#ifndef CRD_TRAIN_DATA_FEEDER_H
#define CRD_TRAIN_DATA_FEEDER_H

#include "train/data/dataset.h"

typedef struct crd_feeder crd_feeder;

typedef struct crd_feeder_plan {
    const crd_dataset *dataset; /* reopened for every reader */
    int64_t readers;            /* threads */
    int64_t batch;
    int64_t chunk_voxels;
    uint64_t seed; /* of the order and of the augmentation */
    bool shuffle;
    int64_t first_step, end_step; /* steps are counted over all epochs, from 0 */
    int rank, size;               /* this process reads its crd_dist_part of every batch; size 0: all of it */
} crd_feeder_plan;

typedef struct crd_batch {
    int64_t step, count;
    int64_t first, end;  /* the examples of the batch that are here */
    const float *inputs; /* [end - first][chunk_voxels] */
    const uint8_t *labels;
    int64_t labelled; /* voxels of those examples */
} crd_batch;

/* Mini-batches of one epoch. */
int64_t crd_feeder_batches(int64_t chunks, int64_t batch);

crd_status crd_feeder_start(const crd_feeder_plan *plan, crd_feeder **out);
/* The next batch, valid until the next call. A reader's error comes out here, in place of the batch that it spoilt: of
 * several, that of the first example. `waited`, where not NULL, gets the seconds spent waiting for the readers. */
crd_status crd_feeder_next(crd_feeder *feeder, crd_batch *batch, double *waited);
/* Processor time of all readers so far. */
double crd_feeder_seconds(crd_feeder *feeder);
void crd_feeder_stop(crd_feeder **feeder);

#endif
