/* The formats this version knows. One that was left out of the build keeps a row that recognises its files. */
#include <string.h>
#include <strings.h>

#include "build_config.h"
#include "volume/format.h"

#if !CRD_HAVE_TIFF
static bool looks_like_tiff(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return count >= 4 && (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 ||
                          memcmp(head, "II+\0", 4) == 0 || memcmp(head, "MM\0+", 4) == 0);
}

const crd_format crd_format_tiff = {
    .name = "tiff", .suffixes = ".tif .tiff", .library = "libtiff", .sniff = looks_like_tiff};
#endif

/* Raw comes first: it claims only a file whose own description lies beside it, whatever its first bytes look like. */
const crd_format *const crd_formats[] = {&crd_format_raw, &crd_format_tiff, &crd_format_hdf5, &crd_format_npy, NULL};

bool crd_format_has_suffix(const crd_format *format, const char *path)
{
    const size_t path_length = strlen(path);
    for (const char *suffix = format->suffixes; *suffix != '\0';) {
        const size_t length = strcspn(suffix, " ");
        if (path_length > length && strncasecmp(path + path_length - length, suffix, length) == 0) return true;
        suffix += length + (suffix[length] == ' ');
    }
    return false;
}
