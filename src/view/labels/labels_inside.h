/* What the files about labels share. */
#ifndef CRD_VIEW_LABELS_INSIDE_H
#define CRD_VIEW_LABELS_INSIDE_H

#include <pthread.h>

#include "view/labels/labels.h"
#include "view/labels/steps.h"

struct crd_labels {
    pthread_mutex_t lock; /* of all but the blocks, which have their own */
    crd_project *project;
    crd_volume_info info;
    int64_t edges[3];
    char *folder, *file; /* labels.zarr, labels.journal */
    crd_label_blocks *blocks;
    crd_label_journal *journal;
    crd_steps steps;
    bool ours; /* the project's lock is held, and what is here is what lies there */
    bool kept; /* there are labels of which no journal tells */
    int64_t revision, marked, kept_bytes;
    int64_t counts[256];
    bool storing; /* a round of it has begun, at that revision and with those counts */
    int64_t storing_revision, storing_counts[256];
    const crd_label_seed *seed; /* what is taken in before the first change; NULL: nothing */
};

#endif
