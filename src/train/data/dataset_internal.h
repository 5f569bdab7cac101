/* What a data set is, for the files that make it and read it. */
#ifndef CRD_TRAIN_DATA_DATASET_INTERNAL_H
#define CRD_TRAIN_DATA_DATASET_INTERNAL_H

#include "train/data/dataset.h"
#include "train/data/label_map.h"

typedef struct crd_pair {
    crd_scan *scan;
    crd_label *label;
    const char *path;   /* the scan's; borrowed, until the chunks are listed */
    crd_plan plan;      /* of the chunks */
    bool centred;       /* chunks are named by the voxel that they begin at, and not by the plan */
    int64_t end;        /* chunks of this pair and of those before it */
    crd_label_map *map; /* only while chunks are listed; NULL where all is labelled and nothing held back */
    int64_t *learnt;    /* a bit for every cell: is it learnt from? NULL in data sets that were reopened */
    int64_t source;     /* the first pair with the same scan: what is held back in one is in all */
} crd_pair;

/* A chunk that isn't one of the plan: only the labels in its core count. */
typedef struct crd_place {
    int64_t pair, block;
    crd_box window, core;
} crd_place;

struct crd_dataset {
    crd_dataset_options options; /* lists and strings are borrowed */
    crd_pair *pairs;
    int64_t pair_count;
    int64_t *numbers;  /* of the chunks that are used, in their pair's plan, pair after pair */
    crd_place *places; /* in their stead; NULL: by the plan */
    int64_t chunk_count, room;
    bool lent;              /* the list belongs to the data set this one was reopened from */
    crd_held_blocks blocks; /* whose labels don't count */
    crd_held_blocks hidden; /* the same, by source */
    int64_t classes[CRD_CLASSES_MAX];
    crd_training_record record;
    /* Some slices of a chunk as they are in the file, before turning. */
    float *input;
    uint8_t *label, *inside;
    int64_t slab_voxels; /* room for so many */
    float *grey_room;    /* for changes of grey values; NULL before the first */
};

/* dataset_read.c: where a chunk of a pair lies, and how many of its voxels have labels that aren't held back. */
crd_box crd_pair_chunk(const crd_pair *p, int64_t number);
crd_status crd_dataset_count_labelled(crd_dataset *dataset, const crd_pair *p, const crd_box *box, int64_t *labelled);
void crd_dataset_free_rooms(crd_dataset *dataset);

#endif
