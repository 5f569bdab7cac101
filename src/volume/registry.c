/* The formats this version knows. One that was left out of the build keeps a row that recognises its files. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "build_config.h"
#include "volume/format.h"
#include "volume/optional.h"
#include "volume/setting_checks.h"

#if !CRD_HAVE_TIFF
static bool looks_like_tiff(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return count >= 4 && (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 ||
                          memcmp(head, "II+\0", 4) == 0 || memcmp(head, "MM\0+", 4) == 0);
}

const crd_format crd_format_tiff = {.name = "tiff",
                                    .suffixes = CRD_TIFF_SUFFIXES,
                                    .kinds = CRD_TIFF_KINDS,
                                    .library = "libtiff",
                                    .sniff = looks_like_tiff};
const crd_format crd_format_tiff_slices = {.name = "tiff", .suffixes = "", .library = "libtiff", .folder = true};
#endif

#if !CRD_HAVE_NIFTI
static bool looks_like_nifti(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return (count > 347 && (memcmp(head + 344, "n+1", 4) == 0 || memcmp(head + 344, "ni1", 4) == 0)) ||
           (count > 539 && (memcmp(head + 4, "n+2", 4) == 0 || memcmp(head + 4, "ni2", 4) == 0));
}

const crd_format crd_format_nifti = {.name = "nifti",
                                     .suffixes = CRD_NIFTI_SUFFIXES,
                                     .kinds = CRD_NIFTI_KINDS,
                                     .only_read = CRD_NIFTI_ONLY_READ,
                                     .library = "libnifti",
                                     .sniff = looks_like_nifti};
#endif

#if !CRD_HAVE_PNG
static bool looks_like_png(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return count >= 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0;
}

const crd_format crd_format_png = {.name = "png",
                                   .suffixes = CRD_PNG_SUFFIXES,
                                   .only_read = CRD_PNG_SUFFIXES,
                                   .library = "libpng",
                                   .sniff = looks_like_png};
#endif

#if !CRD_HAVE_JPEG
static bool looks_like_jpeg(const char *path, const unsigned char *head, size_t count)
{
    (void)path;
    return count >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0;
}

const crd_format crd_format_jpeg = {.name = "jpeg",
                                    .suffixes = CRD_JPEG_SUFFIXES,
                                    .only_read = CRD_JPEG_SUFFIXES,
                                    .library = "libjpeg",
                                    .sniff = looks_like_jpeg};
#endif

/* Raw comes first: it claims only a file whose own description lies beside it, whatever its first bytes look like. */
const crd_format *const crd_formats[] = {
    &crd_format_raw,  &crd_format_zarr,      &crd_format_zarr3, &crd_format_tiff, &crd_format_hdf5, &crd_format_npy,
    &crd_format_nrrd, &crd_format_metaimage, &crd_format_nifti, &crd_format_png,  &crd_format_jpeg, NULL,
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

/* Takes the first word off a list with blanks between; false at its end. */
static bool next_suffix(const char **list, char suffix[CRD_SUFFIX_BYTES])
{
    if (*list == NULL || **list == '\0') return false;
    const size_t length = strcspn(*list, " ");
    memcpy(suffix, *list, length);
    suffix[length] = '\0';
    *list += length + ((*list)[length] == ' ');
    return true;
}

static bool lists(const char *list, const char *suffix)
{
    char one[CRD_SUFFIX_BYTES];
    while (next_suffix(&list, one)) {
        if (strcmp(one, suffix) == 0) return true;
    }
    return false;
}

/* "NII.GZ" -> ".nii.gz", "ome-zarr" -> ".ome.zarr"; false where it is longer than any suffix. */
static bool as_suffix(const char *text, char suffix[CRD_SUFFIX_BYTES])
{
    size_t length = 0;
    if (*text != '.') suffix[length++] = '.';
    for (; *text != '\0'; text++) {
        if (length == CRD_SUFFIX_BYTES - 1) return false;
        suffix[length++] = *text == '-' ? '.' : (char)tolower((unsigned char)*text);
    }
    suffix[length] = '\0';
    return true;
}

const crd_format *crd_format_meant(const char *text, char suffix[CRD_SUFFIX_BYTES])
{
    for (size_t i = 0; crd_formats[i] != NULL; i++) {
        if (strcasecmp(crd_formats[i]->name, text) != 0) continue;
        crd_format_suffix(crd_formats[i], suffix);
        return crd_formats[i];
    }
    if (!as_suffix(text, suffix)) return NULL;
    for (size_t i = 0; crd_formats[i] != NULL; i++) {
        if (lists(crd_formats[i]->suffixes, suffix) || crd_format_is_kind(crd_formats[i], suffix)) {
            return crd_formats[i];
        }
    }
    return NULL;
}

crd_status crd_format_to_write(const char *text, const crd_format **out, char suffix[CRD_SUFFIX_BYTES])
{
    CRD_PASS(crd_check_format("format", text));
    const crd_format *format = crd_format_meant(text, suffix);
    if (format->create == NULL) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "this build can't write %s%s%s; choose another --format", format->name,
                        format->library != NULL ? ": it lacks " : "", format->library != NULL ? format->library : "");
    }
    *out = format;
    return CRD_OK;
}

/* None of its files is ever written. */
static bool only_read(const crd_format *format)
{
    char first[CRD_SUFFIX_BYTES];
    crd_format_suffix(format, first);
    return lists(format->only_read, first);
}

crd_status crd_check_format(const char *name, const char *text)
{
    char suffix[CRD_SUFFIX_BYTES], first[CRD_SUFFIX_BYTES], known[256] = "";
    const crd_format *format = crd_format_meant(text, suffix);
    if (format != NULL) {
        if (!lists(format->only_read, suffix)) return CRD_OK;
        crd_format_suffix(only_read(format) ? &crd_format_tiff : format, first);
        return crd_fail(CRD_ERR_ARGUMENT, "%s can't be %s: credence reads %s files and doesn't write them; choose %s",
                        name, suffix, suffix, first);
    }
    for (size_t i = 0; crd_formats[i] != NULL; i++) {
        const size_t used = strlen(known);
        if (only_read(crd_formats[i])) continue;
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", crd_formats[i]->name);
    }
    return crd_fail(CRD_ERR_ARGUMENT,
                    "%s must be a format (%s) or the suffix of its files, such as .nii.gz, not '%.40s'", name, known,
                    text);
}

void crd_format_suffix(const crd_format *format, char suffix[CRD_SUFFIX_BYTES])
{
    const char *list = format->suffixes;
    (void)next_suffix(&list, suffix);
}

bool crd_format_is_kind(const crd_format *format, const char *suffix)
{
    return lists(format->kinds, suffix);
}

void crd_format_kind(const crd_format *format, const char *path, char suffix[CRD_SUFFIX_BYTES])
{
    const char *list = format->kinds;
    while (next_suffix(&list, suffix)) {
        if (crd_path_ends_in(path, suffix)) return;
    }
    crd_format_suffix(format, suffix);
}

void crd_formats_written(char *out, size_t room)
{
    char suffix[CRD_SUFFIX_BYTES];
    out[0] = '\0';
    for (size_t i = 0; crd_formats[i] != NULL; i++) {
        const char *kinds = crd_formats[i]->kinds;
        if (crd_formats[i]->create == NULL) continue;
        crd_format_suffix(crd_formats[i], suffix);
        do {
            const size_t used = strlen(out);
            if (lists(out, suffix)) continue; /* two versions of a format share one */
            snprintf(out + used, room - used, "%s%s", used > 0 ? " " : "", suffix);
        } while (next_suffix(&kinds, suffix));
    }
}
