/* Which voxels a shape covers, in whole numbers: the page draws the same ones before the server has answered
 * (web/paint/raster.js), and tests compare the two.
 *
 * Voxel i of an axis spans 8 i to 8 i + 8, and its middle is 8 i + 4. Lengths along different axes are made comparable
 * by `edges`, in 1/64 of the smallest one. */
#ifndef CRD_VIEW_LABELS_SHAPES_H
#define CRD_VIEW_LABELS_SHAPES_H

#include "view/labels/operation.h"

enum { CRD_EDGE_UNIT = 64, CRD_EDGE_MOST = 1 << 16 };

/* From the scan's spacing; all 64 where it isn't known. */
void crd_shape_edges(const double spacing[3], int64_t edges[3]);
/* What a stroke or a polygon can cover, cut to the shape of the volume; false: nothing. */
bool crd_shape_bounds(const crd_operation *op, const int64_t edges[3], const int64_t shape[3], crd_box *out);
/* Sets mask[64^3] to 1 where a stroke or a polygon covers the block whose first voxel is `start`. The mask is 0. */
void crd_shape_mask(const crd_operation *op, const int64_t edges[3], const int64_t start[3], uint8_t *mask);

#endif
