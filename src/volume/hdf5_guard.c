/* What can be seen of a broken file before libhdf5 does. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "volume/hdf5_file.h"

static const unsigned char signature[8] = "\x89HDF\r\n\x1a\n";

enum { SUPERBLOCK_READ = 96, NEWEST_SUPERBLOCK = 3 };

static uint64_t little_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

/* The signature stands at 0, 512, 1024, 2048, ...: what comes before it is the user's. */
static crd_status find_superblock(int fd, const char *path, int64_t length, unsigned char block[SUPERBLOCK_READ],
                                  size_t *count)
{
    for (int64_t at = 0; at + (int64_t)sizeof signature < length; at = at == 0 ? 512 : at * 2) {
        *count = length - at < SUPERBLOCK_READ ? (size_t)(length - at) : SUPERBLOCK_READ;
        CRD_PASS(crd_read_at(fd, path, at, block, *count));
        if (memcmp(block, signature, sizeof signature) == 0) return CRD_OK;
    }
    return crd_fail(CRD_ERR_FORMAT, "%s is no HDF5 file: it has no HDF5 signature", path);
}

static crd_status check_superblock(const unsigned char *block, size_t count, const char *path, int64_t length)
{
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
    const uint64_t end = little_endian(block + addresses + 2 * offset_size, offset_size);
    if (end > (uint64_t)length) {
        return crd_fail(CRD_ERR_FORMAT, "%s is cut short: its HDF5 superblock speaks of %llu bytes, and it has %lld",
                        path, (unsigned long long)end, (long long)length);
    }
    return CRD_OK;
}

crd_status crd_hdf5_guard(const char *path)
{
    crd_status status = CRD_OK;
    unsigned char block[SUPERBLOCK_READ] = {0};
    size_t count = 0;
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0) {
        status = crd_fail_errno("%s can't be opened", path);
        goto done;
    }
    if (S_ISDIR(about.st_mode)) CRD_FAIL(CRD_ERR_ARGUMENT, "%s is a folder, not an HDF5 file", path);
    CRD_TRY(find_superblock(fd, path, about.st_size, block, &count));
    if (count < 16) CRD_FAIL(CRD_ERR_FORMAT, "%s is cut short within its HDF5 superblock", path);
    CRD_TRY(check_superblock(block, count, path, about.st_size));
done:
    if (fd >= 0) (void)close(fd);
    return status;
}
