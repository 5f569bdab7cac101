#include "volume/hdf5/filters.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

enum { CHECKSUM_BYTES = 4 };

/* Fletcher's checksum over 16-bit words, high byte first. 360 words fit 32 bits without a carry. */
static uint32_t fletcher32(const unsigned char *data, size_t bytes)
{
    uint32_t low = 0, high = 0;
    size_t words = bytes / 2;
    while (words > 0) {
        const size_t n = words < 360 ? words : 360;
        for (size_t i = 0; i < n; i++, data += 2) {
            low += (uint32_t)data[0] << 8 | data[1];
            high += low;
        }
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
        words -= n;
    }
    if (bytes % 2 != 0) {
        low += (uint32_t)data[0] << 8;
        high += low;
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
    }
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
    return high << 16 | low;
}

static bool checksum_holds(const char *data, size_t bytes)
{
    const unsigned char *end = (const unsigned char *)data + bytes;
    const uint32_t wanted = fletcher32((const unsigned char *)data, bytes);
    const uint32_t there = (uint32_t)end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    /* Old writers on little-endian machines swapped the bytes of both halves. */
    const uint32_t swapped = (there & 0x00ff00ffu) << 8 | (there & 0xff00ff00u) >> 8;
    return wanted == there || wanted == swapped;
}

static bool inflate_all(const char *data, size_t bytes, char *out, size_t room, size_t *made)
{
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (bytes > UINT32_MAX || room > UINT32_MAX || inflateInit(&stream) != Z_OK) return false;
    stream.next_in = (z_const Bytef *)data;
    stream.avail_in = (uInt)bytes;
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)room;
    const int result = inflate(&stream, Z_FINISH);
    *made = room - stream.avail_out;
    (void)inflateEnd(&stream);
    return result == Z_STREAM_END;
}

/* All first bytes, then all second bytes, ...; what doesn't make up a whole value follows unchanged. */
static void unshuffle(const char *data, size_t bytes, size_t value, char *out)
{
    const size_t count = bytes / value;
    for (size_t i = 0; i < value; i++) {
        const char *plane = data + i * count;
        for (size_t k = 0; k < count; k++) out[k * value + i] = plane[k];
    }
    memcpy(out + count * value, data + count * value, bytes - count * value);
}

crd_status crd_hdf5_decode(const crd_hdf5_pipeline *pipeline, unsigned skipped, const char *shown, char *data,
                           size_t bytes, char *out, size_t chunk_bytes, char **decoded)
{
    const size_t room = chunk_bytes + CHECKSUM_BYTES * (size_t)pipeline->count;
    char *from = data, *to = out;
    for (int i = pipeline->count - 1; i >= 0; i--) {
        if (skipped >> i & 1) continue;
        if (pipeline->filters[i] == CRD_HDF5_FLETCHER32) {
            if (bytes < CHECKSUM_BYTES || !checksum_holds(from, bytes - CHECKSUM_BYTES)) {
                return crd_fail(CRD_ERR_FORMAT, "%s is damaged: the checksum of a chunk is wrong", shown);
            }
            bytes -= CHECKSUM_BYTES;
            continue;
        }
        if (pipeline->filters[i] == CRD_HDF5_DEFLATE) {
            if (!inflate_all(from, bytes, to, room, &bytes)) {
                return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk can't be unpacked", shown);
            }
        } else {
            if (bytes > room) return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk has a wrong size", shown);
            if (pipeline->value_bytes < 2) continue;
            unshuffle(from, bytes, pipeline->value_bytes, to);
        }
        char *const other = from;
        from = to;
        to = other;
    }
    if (bytes != chunk_bytes) {
        return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk unpacks to %zu bytes instead of %zu", shown, bytes,
                        chunk_bytes);
    }
    *decoded = from;
    return CRD_OK;
}
