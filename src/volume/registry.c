/* The formats this version knows. One that was left out of the build keeps a row that recognises its files. */
#include <stdio.h>
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

#if !CRD_HAVE_NIFTI
static bool looks_like_nifti(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return (count > 347 && (memcmp(head + 344, "n+1", 4) == 0 || memcmp(head + 344, "ni1", 4) == 0)) ||
           (count > 539 && (memcmp(head + 4, "n+2", 4) == 0 || memcmp(head + 4, "ni2", 4) == 0));
}

const crd_format crd_format_nifti = {
    .name = "nifti", .suffixes = ".nii .nii.gz .hdr .img", .library = "libnifti", .sniff = looks_like_nifti};
#endif

/* Raw comes first: it claims only a file whose own description lies beside it, whatever its first bytes look like. */
const crd_format *const crd_formats[] = {
    &crd_format_raw,       &crd_format_zarr,  &crd_format_tiff,
    &crd_format_hdf5,      &crd_format_npy,   &crd_format_nrrd,
    &crd_format_metaimage, &crd_format_nifti, NULL,
};

bool crd_path_ends_in(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcasecmp(path + length - end, suffix) == 0;
}

bool crd_format_has_suffix(const crd_format *format, const char *path)
{
    size_t path_length = strlen(path);
    while (path_length > 1 && path[path_length - 1] == '/') path_length--;
    for (const char *suffix = format->suffixes; *suffix != '\0';) {
        const size_t length = strcspn(suffix, " ");
        if (path_length > length && strncasecmp(path + path_length - length, suffix, length) == 0) return true;
        suffix += length + (suffix[length] == ' ');
    }
    return false;
}

crd_status crd_format_to_write(const char *name, const crd_format **out)
{
    char known[256] = "";
    for (int i = 0; crd_formats[i] != NULL; i++) {
        const crd_format *format = crd_formats[i];
        if (strcmp(format->name, name) == 0) {
            if (format->create == NULL) {
                return crd_fail(CRD_ERR_UNSUPPORTED, "this build can't write %s%s%s; choose another --format", name,
                                format->library != NULL ? ": it lacks " : "",
                                format->library != NULL ? format->library : "");
            }
            *out = format;
            return CRD_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", format->name);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no format '%s'; choose one of %s", name, known);
}

void crd_format_suffix(const crd_format *format, char suffix[16])
{
    snprintf(suffix, 16, "%.*s", (int)strcspn(format->suffixes, " "), format->suffixes);
}
