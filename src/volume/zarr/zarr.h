/* What predict needs of OME-Zarr beyond the table of formats: a volume that can be read while it grows. */
#ifndef CRD_VOLUME_ZARR_H
#define CRD_VOLUME_ZARR_H

#include "volume/format.h"

/* The version of zarr that a format of that name is written in, 2 or 3; 0: it is another one. */
int crd_zarr_version(const char *format);

/* Creates `path` under its own name, with the attribute `complete` false and one level, or continues one that was
 * begun for the same shape, type and version. Boxes of whole chunks appear at once. crd_volume_commit makes it
 * complete; crd_volume_close without that leaves it as it is. */
crd_status crd_zarr_grow(const char *path, int version, const crd_volume_info *info, crd_volume **out);
/* The same, where it isn't known what was begun: a volume of the other version makes room. */
crd_status crd_zarr_make_room(const char *path, int version);
/* Slices of a layer of chunks: boxes that begin at a multiple of it and hold as many are cheapest. */
int64_t crd_zarr_layer(const crd_volume *volume);
/* Is a layer of chunks there as a whole? Of a volume that somebody else is writing, by looking at the disk. */
bool crd_zarr_has_layer(crd_volume *volume, int64_t layer);

/* Fails with a sentence where `path`, which isn't there, would be a level of an image that has others. */
crd_status crd_zarr_missing_level(const char *path);

/* Removes a zarr array or group: what such folders hold, and nothing else. Nothing there is fine. */
crd_status crd_zarr_remove(const char *path);
/* Removes what writers that were killed have left beside the descriptions of a group and its levels. */
crd_status crd_zarr_sweep(const char *path);

#endif
