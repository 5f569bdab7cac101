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
#include "train/heldout/blocks.h"

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
    crd_label_options label;
    const crd_volume_options *volume; /* raw scans; may be NULL */
    crd_augment augment;              /* drawn from seed */
    uint64_t seed;
    bool centre;      /* chunks around labelled places where labels are few, in place of those of a plan */
    double held_back; /* in [0, 0.5]: share of the labels that is held back at most, in blocks by the seed */
} crd_dataset_options;

crd_status crd_dataset_create(const crd_dataset_options *options, crd_dataset **out);
/* Adds a pair; crd_dataset_settle lists its chunks, and needs `scan` until then. `mask` is as in crd_scan_options. */
crd_status crd_dataset_add(crd_dataset *dataset, const char *scan, const char *label, const char *mask,
                           const crd_monitor *monitor);
/* Before all is settled: two pairs have the same scan, of which `source` is the first. What is held back in one is in
 * the other. */
void crd_dataset_same_scan(crd_dataset *dataset, int64_t number, int64_t source);
/* Likewise before: blocks that were held back from these scans before, and must be again. Their scans get no
 * others. */
void crd_dataset_keep_blocks(crd_dataset *dataset, const crd_held_blocks *blocks);
/* Once, after all pairs: decides what the labels of all these datasets mean, together, chooses what is held back, with
 * a warning where that can't be, and lists the chunks (train/data/centred.h: where labels are few). The first dataset's
 * options say what labels mean. */
crd_status crd_dataset_settle(crd_dataset *const *datasets, int64_t count, const crd_monitor *monitor);
/* Chunks around the blocks that `from` holds back to check on; the labels in these blocks are all that count. */
crd_status crd_dataset_add_checks(crd_dataset *dataset, const crd_dataset *from);
/* The same data for another thread; it borrows the list of chunks, so `dataset` must outlive it. */
crd_status crd_dataset_reopen(const crd_dataset *dataset, crd_dataset **out);
/* Draws the augmentation from another seed from here on; what is held back stays as it is. */
void crd_dataset_augment_by(crd_dataset *dataset, uint64_t seed);
void crd_dataset_close(crd_dataset **dataset);

/* What is held back. */
const crd_held_blocks *crd_dataset_blocks(const crd_dataset *dataset);
/* How many pairs there are. Of one, by its number: a map of the cells that are learnt from (net/provenance.h). */
int64_t crd_dataset_scans(const crd_dataset *dataset);
const int64_t *crd_dataset_learnt(const crd_dataset *dataset, int64_t number);
/* The scan and the label of a pair, by its number. Borrowed, and used by one thread at a time. */
crd_scan *crd_dataset_scan(const crd_dataset *dataset, int64_t number);
crd_label *crd_dataset_label(const crd_dataset *dataset, int64_t number);

/* Chunks with at least one labelled voxel. */
int64_t crd_dataset_count(const crd_dataset *dataset);
/* Labelled voxels of each class in the scans, or in the blocks to check on. */
void crd_dataset_classes(const crd_dataset *dataset, int64_t counts[CRD_CLASSES_MAX]);
/* What the labels' values mean. There must be a pair. */
const crd_label_classes *crd_dataset_meaning(const crd_dataset *dataset);
/* Of all scans together, as a model keeps it. */
void crd_dataset_record(const crd_dataset *dataset, crd_training_record *record);

/* Pieces of the scans, as they are: what a model carries for its norms. None where a scan is too small for one. */
crd_status crd_dataset_pieces(const crd_dataset *dataset, int64_t step, crd_pieces *out);

/* The number of the pair that a chunk is of, and where it lies there; `box` may be NULL. */
int64_t crd_dataset_scan_of(const crd_dataset *dataset, int64_t number, crd_box *box);
/* Takes the labels away that are held back in a box of a pair, by its number. */
void crd_dataset_hide(const crd_dataset *dataset, int64_t number, const crd_box *box, uint8_t *label);

/* The block that a chunk looks at, where it looks at one; else a number of its own. */
int64_t crd_dataset_block_of(const crd_dataset *dataset, int64_t number);

/* A number that changes when the scans, labels or chunks do. */
uint64_t crd_dataset_digest(const crd_dataset *dataset);

/* Reads a chunk; `epoch` chooses the augmentation. */
crd_status crd_dataset_read(crd_dataset *dataset, int64_t number, int64_t epoch, float *input, uint8_t *label,
                            int64_t *labelled);
/* The same, not augmented. */
crd_status crd_dataset_read_plain(crd_dataset *dataset, int64_t number, float *input, uint8_t *label,
                                  int64_t *labelled);

#endif
