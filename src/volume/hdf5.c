#include <string.h>

#include "volume/format.h"

static bool hdf5_sniff(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return count >= 8 && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
}

const crd_format crd_format_hdf5 = {
    .name = "hdf5", .suffixes = ".h5 .hdf5 .hdf", .library = "libhdf5", .any_order = true, .sniff = hdf5_sniff};
