#include "volume/choose.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/zarr/zarr.h"

enum { HEAD_BYTES = 4096 };

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* Where the name of the file begins. */
static size_t name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash + 1 - path) : 0;
}

/* "out/slice_*.tif": a file for each slice. */
static bool is_slices_pattern(const char *path)
{
    return strchr(path + name_of(path), '*') != NULL;
}

crd_status crd_split_dataset(const char *path, bool writing, char **file, const char **dataset)
{
    *dataset = NULL;
    CRD_PASS(crd_strdup(path, file));
    if (!writing && access(path, F_OK) == 0) return CRD_OK;
    if (writing && is_slices_pattern(path)) { /* what is written is the folder */
        (*file)[name_of(path)] = '\0';
        return CRD_OK;
    }
    for (int pass = 0; pass < 2; pass++) { /* a file that is there first, else a name that looks like HDF5 */
        for (size_t i = strlen(path); i-- > 1;) {
            if (path[i] != ':' || path[i + 1] != '/') continue;
            (*file)[i] = '\0';
            if (pass == 0 ? !writing && is_file(*file) : crd_format_has_suffix(&crd_format_hdf5, *file)) {
                *dataset = path + i + 1;
                return CRD_OK;
            }
            (*file)[i] = ':';
        }
    }
    return CRD_OK;
}

static crd_status check_built(const crd_format *format, const char *path)
{
    char name[16] = "";
    if (format->open != NULL) return CRD_OK;
    for (size_t i = 0; i < sizeof name - 1 && format->name[i] != '\0'; i++) name[i] = (char)toupper(format->name[i]);
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s is %s, but this credence was built without %s", path, name,
                    format->library);
}

static crd_status find_by_name(const char *path, const char *name, const crd_format **out,
                               char suffix[CRD_SUFFIX_BYTES])
{
    *out = crd_format_meant(name, suffix);
    if (*out != NULL) return check_built(*out, path);
    return crd_fail(CRD_ERR_ARGUMENT, "%s: '%.40s' is no format that credence knows", path, name);
}

static const crd_format *find_by_suffix(const char *path)
{
    for (size_t i = 0; crd_formats[i] != NULL; i++) {
        if (crd_format_has_suffix(crd_formats[i], path)) return crd_formats[i];
    }
    return NULL;
}

/* The first bytes of a file; none of a folder or a pattern. Opening a pipe would wait for ever, so it is looked at
 * first. */
static crd_status read_head(const char *path, unsigned char head[HEAD_BYTES], size_t *count, bool *is_pattern)
{
    struct stat about;
    *count = 0;
    *is_pattern = false;
    if (stat(path, &about) != 0) {
        if (errno == ENOENT && strpbrk(path, "*?[") != NULL) {
            *is_pattern = true;
            return CRD_OK;
        }
        const crd_status status = crd_fail_errno("%s can't be opened", path);
        CRD_PASS(crd_zarr_missing_level(path));
        return status;
    }
    if (S_ISDIR(about.st_mode)) return CRD_OK;
    if (!S_ISREG(about.st_mode)) return crd_fail(CRD_ERR_ARGUMENT, "%s is neither a file nor a folder", path);
    if (about.st_size == 0) return crd_fail(CRD_ERR_FORMAT, "%s is empty", path);
    const int fd = crd_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return crd_fail_errno("%s can't be opened", path);
    const int64_t got = crd_read_some(fd, 0, head, HEAD_BYTES);
    const crd_status status = got < 0 ? crd_fail_errno("%s can't be read", path) : CRD_OK;
    (void)close(fd);
    if (got > 0) *count = (size_t)got;
    return status;
}

crd_status crd_choose_reader(const crd_volume *volume, const crd_volume_options *options, const crd_format **out)
{
    unsigned char head[HEAD_BYTES];
    char suffix[CRD_SUFFIX_BYTES];
    size_t count;
    bool is_pattern;
    const char *path = volume->file;
    const crd_format *format = NULL;

    CRD_PASS(read_head(path, head, &count, &is_pattern));
    if (options->format != NULL) return find_by_name(path, options->format, out, suffix);
    if (options->type != NULL && crd_format_has_suffix(&crd_format_raw, path)) format = &crd_format_raw;
    for (size_t i = 0; format == NULL && crd_formats[i] != NULL; i++) {
        if (crd_formats[i]->sniff != NULL && crd_formats[i]->sniff(path, head, count)) format = crd_formats[i];
    }
    if (format == NULL && count > 0) format = find_by_suffix(path);
    if (format == NULL && count > 0 && (options->type != NULL || options->shape[0] > 0)) format = &crd_format_raw;
    if (format != NULL) {
        *out = format;
        return check_built(format, path);
    }
    if (is_pattern) return crd_fail(CRD_ERR_ARGUMENT, "no file matches %s", path);
    if (count == 0)
        return crd_fail(CRD_ERR_FORMAT, "%s is a folder without slices of a format that credence reads", path);
    return crd_fail(
        CRD_ERR_FORMAT,
        "%s is in no format that credence knows by content or suffix; for raw voxels give --shape z,y,x and "
        "--type u16le",
        path);
}

/* Of "out/slice_*.tif", or of "out/" where no suffix or format says something else. */
static crd_status choose_slices(const crd_volume *volume, const crd_volume_options *options, const crd_format **out)
{
    char suffix[CRD_SUFFIX_BYTES];
    *out = NULL;
    const size_t name = name_of(volume->path);
    if (is_slices_pattern(volume->path)) {
        if (name == 0) {
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s names no folder for the slices; give one that isn't there, such as "
                            "out/%s",
                            volume->path, volume->path);
        }
    } else {
        const crd_format *asked = options->format != NULL ? crd_format_meant(options->format, suffix) : NULL;
        if (volume->path[name] != '\0' ||
            (asked == NULL ? find_by_suffix(volume->path) != NULL : asked != &crd_format_tiff)) {
            return CRD_OK;
        }
    }
    *out = &crd_format_tiff_slices;
    return (*out)->create != NULL
               ? CRD_OK
               : crd_fail(CRD_ERR_UNSUPPORTED, "%s: this credence was built without libtiff and can't write slices",
                          volume->path);
}

crd_status crd_choose_writer(const crd_volume *volume, const crd_volume_options *options, const crd_format **out)
{
    const char *path = volume->file;
    struct stat about;
    CRD_PASS(choose_slices(volume, options, out));
    if (*out != NULL) return CRD_OK;
    if (options->format != NULL) {
        char suffix[CRD_SUFFIX_BYTES];
        CRD_PASS(find_by_name(path, options->format, out, suffix));
        if (crd_format_is_kind(*out, suffix) && !crd_path_ends_in(path, suffix)) { /* the name decides on the kind */
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s: a file of the kind %s must be called so; choose a name that ends in %s", path, suffix,
                            suffix);
        }
    } else {
        *out = find_by_suffix(path);
        if (*out == NULL) {
            char known[128];
            crd_formats_written(known, sizeof known);
            return crd_fail(
                CRD_ERR_ARGUMENT,
                "%s: the suffix names no format that credence writes; use one of %s, or a name that ends in / for "
                "a folder of slices",
                path, known);
        }
        CRD_PASS(check_built(*out, path));
    }
    if ((*out)->create == NULL) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s: credence reads %s files and doesn't write them", path, (*out)->name);
    }
    if (volume->dataset != NULL && stat(path, &about) == 0) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s is there already and %s would replace the whole file; remove it or choose another name",
                        path, volume->path);
    }
    return CRD_OK;
}
