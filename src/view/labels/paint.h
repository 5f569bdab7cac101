/* From an operation to what it changes. */
#ifndef CRD_VIEW_LABELS_PAINT_H
#define CRD_VIEW_LABELS_PAINT_H

#include "view/labels/delta.h"
#include "view/labels/operation.h"

enum { CRD_PAINT_VOXELS = 64 << 20 }; /* of one operation, at most */

/* Where an operation finds what it asks of other volumes; any but the grey values may be missing. Boxes lie in the
 * scan. */
typedef struct crd_paint_sources {
    void *context;
    crd_status (*grey)(void *context, const crd_box *box, double *values);
    crd_status (*classes)(void *context, const crd_box *box, uint8_t *classes);   /* of the segmentation; 255: none */
    crd_status (*uncertainty)(void *context, const crd_box *box, double *values); /* NaN: none */
} crd_paint_sources;

/* Changes nothing. `edges` as in view/labels/shapes.h. */
crd_status crd_paint(const crd_operation *op, const int64_t edges[3], crd_label_blocks *blocks,
                     const crd_paint_sources *sources, crd_delta *out);

/* A part of a plane: voxels of a box that is one voxel thick. */
typedef struct crd_plane_part {
    crd_box box;
    int64_t rows, columns; /* along the axes that run down and to the right */
    uint8_t *voxels;       /* row by row */
} crd_plane_part;

void crd_plane_part_free(crd_plane_part *part);
/* Labels of a plane inside a box; free with crd_plane_part_free in any case. */
crd_status crd_plane_labels(const crd_operation *op, int64_t slice, const crd_box *box, crd_label_blocks *blocks,
                            crd_plane_part *out);
/* view/labels/flood.c: all voxels of the plane that are joined to the operation's own by such of its class (and grey
 * range) become 1, others 0. */
crd_status crd_flood(const crd_operation *op, crd_label_blocks *blocks, const crd_paint_sources *sources,
                     crd_plane_part *out);

/* view/labels/between.c: what lies between two slices, as distances to the outlines in both. */
typedef struct crd_between {
    crd_box box; /* of all slices between them, with what both cover */
    int64_t first, last, rows, columns;
    double *from, *to; /* signed distances, negative inside */
} crd_between;

void crd_between_free(crd_between *between);
crd_status crd_between_make(const crd_operation *op, const int64_t edges[3], crd_label_blocks *blocks,
                            crd_between *out);
bool crd_between_inside(const crd_between *between, int64_t slice, int64_t row, int64_t column);
/* Squared distances, exactly, of each place to the nearest one where mask is `of`; with none there is, further than any
 * could be. */
crd_status crd_between_distances(const uint8_t *mask, uint8_t of, int64_t rows, int64_t columns, int64_t row_edge,
                                 int64_t column_edge, int64_t *squares);

#endif
