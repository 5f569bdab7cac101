/* Which labels are held back: blocks that nothing is learnt from, half of them to check on during a training, half for
 * an exam at its end. One rule for all who train or label.
 *
 * 8 to 24 blocks of whole cells (train/data/label_map.h), spread over all labelled regions of all scans by the seed, so
 * that the two halves have the shares of the classes that the label has, while single blocks differ in them; 4 or 6
 * where there aren't labels enough for 8. Edges are 8 to 32 voxels. What is beside a block is much like it, so the
 * labels in a margin of 4 or 8 voxels around it aren't learnt from, either. */
#ifndef CRD_TRAIN_HELDOUT_BLOCKS_H
#define CRD_TRAIN_HELDOUT_BLOCKS_H

#include "credence/model.h"
#include "train/data/label_map.h"

enum { CRD_BLOCKS_LEAST = 4, CRD_BLOCKS_MOST = 24 };
#define CRD_BLOCKS_TAKE_MOST 0.3 /* blocks and margins together, of the labels */

typedef struct crd_held_block {
    int64_t scan; /* number in the list of scans */
    crd_box box;
    int64_t margin;                  /* on each side */
    bool exam;                       /* else to check on */
    int64_t counts[CRD_CLASSES_MAX]; /* labelled voxels of each class */
} crd_held_block;

typedef struct crd_held_blocks {
    int64_t count; /* 0: nothing is held back */
    crd_held_block blocks[CRD_BLOCKS_MOST];
} crd_held_blocks;

/* `maps` are those of the scans' labels, all with the same classes; sources[i] is the first with the scan of map i:
 * what is held back in one label of a scan is in all, so that no voxel is checked on by one and examined by another.
 * `share` of the labelled voxels is held back at most. Blocks that are there already stay, and their scans get no more
 * of them; none are chosen where the labels are too few or lie too close together. */
crd_status crd_blocks_choose(const crd_label_map *const *maps, const int64_t *sources, int64_t scans, double share,
                             uint64_t seed, crd_held_blocks *blocks);

/* Labelled voxels of each class in the blocks for checking, or in those for the exam. Gives their sum. */
int64_t crd_blocks_counts(const crd_held_blocks *blocks, bool exam, int64_t counts[CRD_CLASSES_MAX]);

/* Takes the labels away that blocks and margins of this scan have in a box. */
void crd_blocks_hide(const crd_held_blocks *blocks, int64_t scan, const crd_box *box, uint8_t *classes);
/* Would that take any away? */
bool crd_blocks_touch(const crd_held_blocks *blocks, int64_t scan, const crd_box *box);

/* Does a block of this scan hold all of the box, with its margin? */
bool crd_blocks_cover(const crd_held_blocks *blocks, int64_t scan, const crd_box *box);

/* The part of two boxes that they share; false where there is none. */
bool crd_box_meet(const crd_box *a, const crd_box *b, crd_box *out);

#endif
