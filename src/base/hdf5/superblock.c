#include "base/hdf5/superblock.h"

#include <string.h>

#include "base/bytes.h"
#include "base/file.h"

static const unsigned char signature[8] = "\x89HDF\r\n\x1a\n";

enum { SUPERBLOCK_READ = 96, NEWEST_SUPERBLOCK = 3, DRIVER_HEAD = 16 };

typedef struct superblock {
    int64_t at; /* in the file */
    unsigned char bytes[SUPERBLOCK_READ];
    size_t count; /* of them that the file has */
} superblock;

/* The signature stands at 0, 512, 1024, 2048, ...: what comes before it is the user's. */
static crd_status find_superblock(int fd, const char *path, int64_t length, superblock *out)
{
    for (int64_t at = 0; at + (int64_t)sizeof signature < length; at = at == 0 ? 512 : at * 2) {
        out->at = at;
        out->count = length - at < SUPERBLOCK_READ ? (size_t)(length - at) : SUPERBLOCK_READ;
        CRD_PASS(crd_read_at(fd, path, at, out->bytes, out->count));
        if (memcmp(out->bytes, signature, sizeof signature) == 0) return CRD_OK;
    }
    return crd_fail(CRD_ERR_FORMAT, "%s is no HDF5 file: it has no HDF5 signature", path);
}

/* A block for libhdf5's file driver, at `address` from the superblock on, says how long it is, and libhdf5 takes the
 * memory before it reads it. */
static crd_status check_driver(int fd, const char *path, const superblock *from, uint64_t address, int64_t length)
{
    unsigned char head[DRIVER_HEAD];
    const uint64_t rest = (uint64_t)(length - from->at);
    if (address < rest && rest - address >= DRIVER_HEAD) {
        CRD_PASS(crd_read_at(fd, path, from->at + (int64_t)address, head, sizeof head));
        if (crd_little_endian(head + 4, 4) <= rest - address - DRIVER_HEAD) return CRD_OK;
    }
    return crd_fail(CRD_ERR_FORMAT, "%s is broken: its HDF5 driver information lies beyond its end", path);
}

static crd_status check_superblock(int fd, const char *path, const superblock *from, int64_t length,
                                   crd_hdf5_layout *out)
{
    const unsigned char *block = from->bytes;
    const size_t count = from->count;
    const int version = block[8];
    if (version > NEWEST_SUPERBLOCK) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has an HDF5 superblock of version %d; versions 0 to %d are known",
                        path, version, NEWEST_SUPERBLOCK);
    }
    const size_t offset_size = block[version < 2 ? 13 : 9], length_size = block[version < 2 ? 14 : 10];
    const size_t addresses = version == 0 ? 24 : version == 1 ? 28 : 12;
    if ((offset_size != 2 && offset_size != 4 && offset_size != 8) ||
        (length_size != 2 && length_size != 4 && length_size != 8) || addresses + 3 * offset_size > count) {
        return crd_fail(CRD_ERR_FORMAT, "%s is broken: its HDF5 superblock makes no sense", path);
    }
    const uint64_t end = crd_little_endian(block + addresses + 2 * offset_size, offset_size);
    if (end > (uint64_t)length) {
        return crd_fail(CRD_ERR_FORMAT, "%s is cut short: its HDF5 superblock speaks of %llu bytes, and it has %lld",
                        path, (unsigned long long)end, (long long)length);
    }
    *out = (crd_hdf5_layout){.fd = fd,
                             .base = (uint64_t)from->at,
                             .end = (uint64_t)length,
                             .offset_size = offset_size,
                             .length_size = length_size};
    if (version > 1) return CRD_OK;
    if (addresses + 4 * offset_size > count) {
        return crd_fail(CRD_ERR_FORMAT, "%s is cut short within its HDF5 superblock", path);
    }
    const uint64_t none = UINT64_MAX >> (64 - 8 * offset_size);
    const uint64_t driver = crd_little_endian(block + addresses + 3 * offset_size, offset_size);
    return driver == none ? CRD_OK : check_driver(fd, path, from, driver, length);
}

crd_status crd_hdf5_superblock_read(int fd, const char *path, int64_t length, crd_hdf5_layout *out)
{
    superblock found = {0};
    CRD_PASS(find_superblock(fd, path, length, &found));
    if (found.count < 16) return crd_fail(CRD_ERR_FORMAT, "%s is cut short within its HDF5 superblock", path);
    return check_superblock(fd, path, &found, length, out);
}
