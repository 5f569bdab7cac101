/* Volumes that are no files: another look at a volume, or an array in memory. They are read, measured, converted and
 * closed like any other; nothing of them is written.
 *
 * A view borrows the volumes that it looks at. They must stay open as long as the view, and belong to the view's
 * thread. crd_view_box is public (credence/volume.h). crd_volume_open_again opens them again for another thread, and
 * the view that it returns closes its own. */
#ifndef CRD_VOLUME_VIEWS_VIEW_H
#define CRD_VOLUME_VIEWS_VIEW_H

#include "volume/format.h"

/* The volume's values as f64 where the mask, a volume of the same shape, isn't 0; NaN elsewhere. Measuring it takes the
 * slices in rising z, also of a volume with z fastest: the mask may be kept in another order. */
crd_status crd_view_masked(crd_volume *of, crd_volume *mask, crd_volume **out);

/* A volume of a shape that is no smaller along any axis. Behind the last voxel n - 1 of an axis follow n - 2, n - 3 and
 * so on; behind the first one follow 1, 2, ... again, as often as needed ("reflect" in numpy.pad). Where there is one
 * voxel only, it is repeated. */
crd_status crd_view_mirrored(crd_volume *of, const int64_t shape[3], crd_volume **out);

/* An array in memory. `strides` are the bytes from a voxel to the next along z, y and x, of any sign and alignment;
 * NULL: x fastest, without gaps. `info` says the rest. `name` stands for it in sentences; NULL: "the array". The array
 * is the caller's, and must stay as it is while the view is open. */
crd_status crd_view_memory(const void *voxels, const crd_volume_info *info, const int64_t *strides, const char *name,
                           crd_volume **out);

#endif
