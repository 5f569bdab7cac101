/* Pairs of scan and label, cut into chunks: what there is to train on and to validate on.
 *
 * Chunks are read on demand, from wherever the scans are. A dataset is used by one thread at a time; crd_dataset_reopen
 * gives another thread its own. */
#ifndef CRD_TRAIN_DATA_DATASET_H
#define CRD_TRAIN_DATA_DATASET_H

#include "chunk/label.h"
#include "chunk/plan.h"
#include "chunk/scan.h"
#include "credence/model.h"
#include "net/pieces.h"

typedef struct crd_dataset crd_dataset;

typedef enum crd_augment {
    CRD_AUGMENT_NONE = 0,
    CRD_AUGMENT_FLIPS = 1, /* flips, and turns about z */
    CRD_AUGMENT_FULL = 2   /* other grey values, too (train/grey.h) */
} crd_augment;

typedef struct crd_dataset_options {
    int64_t chunk[3];
    int64_t step;
    crd_norm_setting norm;
    const char *mask;
    crd_label_options label;
    const crd_volume_options *volume; /* raw scans; may be NULL */
    crd_augment augment;              /* drawn from seed */
    uint64_t seed;
} crd_dataset_options;

crd_status crd_dataset_create(const crd_dataset_options *options, crd_dataset **out);
/* Adds a pair; crd_dataset_settle lists its chunks, and needs `scan` until then. `held_back` in [0, 0.5]: that share of
 * the labelled part, a block at its end, is left out, and is what crd_dataset_add_rest of another dataset takes. A scan
 * too small for that is used whole, with a warning. */
crd_status crd_dataset_add(crd_dataset *dataset, const char *scan, const char *label, double held_back,
                           const crd_monitor *monitor);
/* Once, after all pairs: decides what the labels of all these datasets mean, together, and lists the chunks. The first
 * dataset's options say how. */
crd_status crd_dataset_settle(crd_dataset *const *datasets, int64_t count, const crd_monitor *monitor);
/* The blocks that `from` held back, cut into chunks that don't overlap more than they must. */
crd_status crd_dataset_add_rest(crd_dataset *dataset, const crd_dataset *from);
/* The same data for another thread; it borrows the list of chunks, so `dataset` must outlive it. */
crd_status crd_dataset_reopen(const crd_dataset *dataset, crd_dataset **out);
void crd_dataset_close(crd_dataset **dataset);

/* Chunks with at least one labelled voxel. */
int64_t crd_dataset_count(const crd_dataset *dataset);
/* Labelled voxels of each class in the scans. */
void crd_dataset_classes(const crd_dataset *dataset, int64_t counts[CRD_CLASSES_MAX]);
/* What the labels' values mean. There must be a pair. */
const crd_label_classes *crd_dataset_meaning(const crd_dataset *dataset);
/* Of all scans together, as a model keeps it. */
void crd_dataset_record(const crd_dataset *dataset, crd_training_record *record);

/* Pieces of the scans, as they are: what a model carries for its norms. None where a scan is too small for one. */
crd_status crd_dataset_pieces(const crd_dataset *dataset, int64_t step, crd_pieces *out);

/* A number that changes when the scans, labels or chunks do. */
uint64_t crd_dataset_digest(const crd_dataset *dataset);

/* Reads a chunk; `epoch` chooses the augmentation. */
crd_status crd_dataset_read(crd_dataset *dataset, int64_t number, int64_t epoch, float *input, uint8_t *label,
                            int64_t *labelled);

#endif
