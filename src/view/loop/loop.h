/* The loop: which places of a scan are held out, what trainings may learn from, and what they have learnt from.
 *
 * A held-out box is marked in the map of cells once a training has left it out (or a model was judged on it). A cell
 * that was learnt from never becomes held out, and the other way round, until the loop begins anew. Whatever lies in a
 * held-out box, or in a cell beside it (so within 8 voxels at least), is left out of what a training gets. Any thread
 * may call. */
#ifndef CRD_VIEW_LOOP_LOOP_H
#define CRD_VIEW_LOOP_LOOP_H

#include "view/labels/labels.h"
#include "view/loop/boxes.h"
#include "view/loop/cells.h"

typedef struct crd_loop crd_loop;

enum { CRD_LOOP_APART = 32 /* voxels between a box that is proposed and one that is held out */ };

typedef struct crd_loop_facts {
    int64_t number, seed, drawn; /* loops so far; places that were drawn in this one */
    int64_t size[3];             /* of held-out and proposed boxes */
    int64_t exam, check;         /* boxes of these roles, */
    crd_box_role next;           /* and that of the next one */
} crd_loop_facts;

/* `info` is the scan's; `mask` NULL, "cylinder" or a file. */
crd_status crd_loop_open(crd_project *project, const crd_volume_info *info, const char *mask, crd_loop **out);
void crd_loop_close(crd_loop **loop);
crd_status crd_loop_describe(crd_loop *loop, crd_loop_facts *out);

/* A held-out box at a random place, of the role whose turn it is. */
crd_status crd_loop_place(crd_loop *loop, crd_kept_box *out);
/* A box that the user chose. */
crd_status crd_loop_add(crd_loop *loop, crd_box_role role, const crd_box *box, int64_t *number);
/* *there: was there one of that number? */
crd_status crd_loop_remove(crd_loop *loop, int64_t number, bool *there);
/* As long as no box is held out. */
crd_status crd_loop_resize(crd_loop *loop, const int64_t size[3]);
/* Held-out boxes are given up, and what was learnt from is forgotten. */
crd_status crd_loop_anew(crd_loop *loop);

/* What a training gets: label.zarr in `folder`, without what is left out, and check.zarr where there are labels in
 * boxes to check on. From here on all of it counts as learnt from, and held-out boxes as used. */
typedef struct crd_learnable {
    int64_t voxels, boxes; /* learnt from; boxes of the role train with a label in them */
    bool check;
} crd_learnable;
crd_status crd_loop_take(crd_loop *loop, crd_labels *labels, const char *folder, crd_learnable *out);
/* What a model is judged by: exam.zarr in `folder`; boxes without a label are left out. They count as used from here
 * on. *out is freed with crd_free. */
crd_status crd_loop_examine(crd_loop *loop, crd_labels *labels, const char *folder, crd_kept_box **out, int64_t *count);

/* For proposals: does the box lie at nine tenths in the mask at least? */
crd_status crd_loop_inside(crd_loop *loop, const crd_box *box, bool *inside);
/* All that is held out, and was learnt from; free with crd_cells_free. */
crd_status crd_loop_cells(crd_loop *loop, crd_cells *out);

#endif
