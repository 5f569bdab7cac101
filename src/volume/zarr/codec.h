/* How the chunks of a zarr array are packed. */
#ifndef CRD_VOLUME_ZARR_CODEC_H
#define CRD_VOLUME_ZARR_CODEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef enum crd_zarr_codec {
    CRD_ZARR_RAW = 0,
    CRD_ZARR_ZLIB,
    CRD_ZARR_GZIP,
    CRD_ZARR_BLOSC,
    CRD_ZARR_ZSTD,
} crd_zarr_codec;

/* The codec that .zarray or zarr.json calls `id`, if this build has it; `shown` is the array's name for sentences. */
crd_status crd_zarr_codec_find(const char *shown, const char *id, crd_zarr_codec *out);
/* What we pack arrays of that version of zarr with: Blosc where it was built in, else what the version has. */
crd_zarr_codec crd_zarr_codec_preferred(int version);

/* Exactly `bytes` bytes to `out`, or an error that names `shown`. */
crd_status crd_zarr_unpack(crd_zarr_codec codec, const char *shown, const void *packed, size_t packed_bytes, void *out,
                           size_t bytes);
/* Room that packing `bytes` bytes may need, and that a packed chunk may have at most. */
size_t crd_zarr_packed_bound(size_t bytes);
/* `level` 1..9; `value_bytes` is the size of a voxel. Not CRD_ZARR_RAW. */
crd_status crd_zarr_pack(crd_zarr_codec codec, const char *shown, int level, size_t value_bytes, const void *data,
                         size_t bytes, void *out, size_t room, size_t *packed_bytes);

#endif
