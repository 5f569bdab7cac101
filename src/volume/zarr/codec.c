#include "volume/zarr/codec.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "build_config.h"
#if CRD_HAVE_BLOSC
#include <blosc.h>
#endif
#if CRD_HAVE_ZSTD
#include <zstd.h>
#endif

static crd_status damaged(const char *shown)
{
    return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk can't be unpacked to its size", shown);
}

crd_status crd_zarr_codec_find(const char *shown, const char *id, crd_zarr_codec *out)
{
    const char *lacks = NULL;
    if (strcmp(id, "zlib") == 0) {
        *out = CRD_ZARR_ZLIB;
    } else if (strcmp(id, "gzip") == 0) {
        *out = CRD_ZARR_GZIP;
    } else if (strcmp(id, "blosc") == 0) {
        *out = CRD_ZARR_BLOSC;
        if (!CRD_HAVE_BLOSC) lacks = "c-blosc";
    } else if (strcmp(id, "zstd") == 0) {
        *out = CRD_ZARR_ZSTD;
        if (!CRD_HAVE_ZSTD) lacks = "libzstd";
    } else {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s is packed with '%.40s'; credence reads zarr arrays that are raw, zlib, gzip, blosc or zstd",
                        shown, id);
    }
    if (lacks == NULL) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s is packed with '%s', but this credence was built without %s", shown, id,
                    lacks);
}

crd_zarr_codec crd_zarr_codec_preferred(int version)
{
    if (CRD_HAVE_BLOSC) return CRD_ZARR_BLOSC;
    if (version == 2) return CRD_ZARR_ZLIB;
    return CRD_HAVE_ZSTD ? CRD_ZARR_ZSTD : CRD_ZARR_GZIP;
}

static bool inflate_exactly(const void *packed, size_t packed_bytes, void *out, size_t bytes)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    if (packed_bytes > UINT32_MAX || bytes > UINT32_MAX || inflateInit2(&z, 15 + 32) != Z_OK) return false;
    z.next_in = (z_const Bytef *)packed;
    z.avail_in = (uInt)packed_bytes;
    z.next_out = out;
    z.avail_out = (uInt)bytes;
    const int result = inflate(&z, Z_FINISH);
    const bool good = result == Z_STREAM_END && z.avail_out == 0;
    (void)inflateEnd(&z);
    return good;
}

#if CRD_HAVE_BLOSC
static bool blosc_exactly(const void *packed, size_t packed_bytes, void *out, size_t bytes)
{
    size_t claimed = 0;
    if (packed_bytes < BLOSC_MIN_HEADER_LENGTH || bytes > BLOSC_MAX_BUFFERSIZE) return false;
    if (blosc_cbuffer_validate(packed, packed_bytes, &claimed) != 0 || claimed != bytes) return false;
    return blosc_decompress_ctx(packed, out, bytes, 1) == (int)bytes;
}
#endif

crd_status crd_zarr_unpack(crd_zarr_codec codec, const char *shown, const void *packed, size_t packed_bytes, void *out,
                           size_t bytes)
{
    bool good = false;
    switch (codec) {
    case CRD_ZARR_RAW:
        good = packed_bytes == bytes;
        if (good) memcpy(out, packed, bytes);
        break;
    case CRD_ZARR_ZLIB:
    case CRD_ZARR_GZIP:
        good = inflate_exactly(packed, packed_bytes, out, bytes);
        break;
    case CRD_ZARR_BLOSC:
#if CRD_HAVE_BLOSC
        good = blosc_exactly(packed, packed_bytes, out, bytes);
#endif
        break;
    case CRD_ZARR_ZSTD:
#if CRD_HAVE_ZSTD
        good = ZSTD_decompress(out, bytes, packed, packed_bytes) == bytes;
#endif
        break;
    }
    return good ? CRD_OK : damaged(shown);
}

size_t crd_zarr_packed_bound(size_t bytes)
{
    return bytes + bytes / 64 + 4096; /* more than any of the libraries' own bounds */
}

/* As zlib's stream, or as a gzip file without name and time. */
static size_t deflate_all(bool gzip, int level, const void *data, size_t bytes, void *out, size_t room)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    if (bytes > UINT32_MAX || room > UINT32_MAX ||
        deflateInit2(&z, level, Z_DEFLATED, gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return 0;
    }
    z.next_in = (z_const Bytef *)data;
    z.avail_in = (uInt)bytes;
    z.next_out = out;
    z.avail_out = (uInt)room;
    const size_t made = deflate(&z, Z_FINISH) == Z_STREAM_END ? z.total_out : 0;
    (void)deflateEnd(&z);
    return made;
}

#if CRD_HAVE_ZSTD
static size_t zstd_all(int level, const void *data, size_t bytes, void *out, size_t room)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t made = 0;
    if (context != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1))) {
        made = ZSTD_compress2(context, out, room, data, bytes);
    }
    ZSTD_freeCCtx(context);
    return ZSTD_isError(made) ? 0 : made;
}
#endif

crd_status crd_zarr_pack(crd_zarr_codec codec, const char *shown, int level, size_t value_bytes, const void *data,
                         size_t bytes, void *out, size_t room, size_t *packed_bytes)
{
    *packed_bytes = 0;
#if CRD_HAVE_BLOSC
    if (codec == CRD_ZARR_BLOSC) {
        const int made = blosc_compress_ctx(level, BLOSC_SHUFFLE, value_bytes, bytes, data, out, room, "zstd", 0, 1);
        if (made > 0) *packed_bytes = (size_t)made;
    }
#endif
#if CRD_HAVE_ZSTD
    if (codec == CRD_ZARR_ZSTD) *packed_bytes = zstd_all(level, data, bytes, out, room);
#endif
    if (codec == CRD_ZARR_ZLIB || codec == CRD_ZARR_GZIP) {
        *packed_bytes = deflate_all(codec == CRD_ZARR_GZIP, level, data, bytes, out, room);
    }
    (void)value_bytes;
    return *packed_bytes > 0 ? CRD_OK : crd_fail(CRD_ERR_INTERNAL, "%s: a chunk can't be packed", shown);
}
