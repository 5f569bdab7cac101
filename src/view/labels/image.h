/* The files of an OME-Zarr of classes in chunks of 64^3 that aren't packed: NAME/.zgroup, NAME/.zattrs, NAME/0/.zarray
 * and a file NAME/0/z.y.x for each chunk in which there is a label. */
#ifndef CRD_VIEW_LABELS_IMAGE_H
#define CRD_VIEW_LABELS_IMAGE_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"

/* Is there an image, and one of this shape? Another is refused. */
crd_status crd_image_check(const char *folder, const crd_volume_info *info, bool *there);
/* An image without a label, with the folders above it. */
crd_status crd_image_make(const char *folder, const crd_volume_info *info);

crd_status crd_image_read_chunk(const char *folder, const int64_t index[3], uint8_t *voxels, bool *there);
/* The file is replaced, and on the disk but for its name; NULL: there is none from here on. */
crd_status crd_image_write_chunk(const char *folder, const int64_t index[3], const uint8_t *voxels);
/* The names, too. */
crd_status crd_image_sync(const char *folder);
/* Which chunks there are: *out is freed with crd_free. */
crd_status crd_image_chunks(const char *folder, int64_t (**out)[3], int64_t *count);
/* All chunks of one in another one, which has none: links, or copies where links can't be. */
crd_status crd_image_link_chunks(const char *from, const char *to);

#endif
