/* Walks over a whole volume box by box; a thread of its own reads the next box while this one is worked on. */
#ifndef CRD_VOLUME_STREAM_H
#define CRD_VOLUME_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "credence/volume.h"

/* Called for box after box: z slowest, unless rows_first. Consecutive boxes are consecutive voxels of the volume then.
 */
typedef crd_status crd_walk_work(void *context, const crd_box *box, void *voxels);

typedef struct crd_walk {
    crd_volume *in;
    crd_type as;        /* what the boxes are read as */
    size_t voxel_bytes; /* of the widest form a voxel takes on its way: the boxes' size follows from it */
    int64_t layer;      /* slices that a box should hold a multiple of; 0: any number */
    bool whole_slices;  /* a slice is never divided, however large */
    bool rows_first;    /* y is the outermost axis: slabs of rows, for files with z fastest */
    const crd_monitor *monitor;
    const char *stage;     /* for the progress, which counts slices (or rows) */
    int64_t done, total;   /* of earlier walks of the same stage, and of all of them; total 0: this walk alone */
    crd_walk_work *beside; /* sees every box, too, on a thread of its own; NULL: nothing does */
    void *beside_context;
} crd_walk;

/* `work` is called on the caller's thread. Where nothing looks on beside it, the voxels are its to change. */
crd_status crd_walk_run(const crd_walk *walk, crd_walk_work *work, void *context);

/* The size of the boxes, all but the last along each axis. */
void crd_walk_box(const crd_walk *walk, int64_t size[3]);
/* Fails where slices that must not be divided are larger than this machine's memory can bear. */
crd_status crd_walk_check(const crd_walk *walk);

#endif
