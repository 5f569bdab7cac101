/* Snapshots of labels, cut: what lies in held-out boxes, or what is left without them. A snapshot's chunks may be links
 * to those of the labels; they are replaced, never changed. */
#ifndef CRD_VIEW_LOOP_HELD_H
#define CRD_VIEW_LOOP_HELD_H

#include "view/loop/loop.h"

/* Writes an image at `to` with what the snapshot `from` has inside the boxes of that role; without any label there is
 * none. *labelled: voxels. */
crd_status crd_held_take(const char *from, const crd_volume_info *info, const crd_kept_box *boxes, int64_t count,
                         crd_box_role role, const char *to, int64_t *labelled);
/* Takes out of the snapshot what lies in a cell that is held out or beside one, and marks what is left as learnt from;
 * counts it, and the boxes to train on that have a label. */
crd_status crd_held_leave_out(const char *folder, crd_cells *cells, const crd_kept_box *boxes, int64_t count,
                              crd_learnable *out);
/* Has the image a label in the box? */
crd_status crd_held_labelled(const char *folder, const crd_box *box, bool *any);
void crd_held_remove(const char *folder);

#endif
