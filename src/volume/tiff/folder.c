/* A volume written as a folder of slices, a TIFF file for each: "out/slice_*.tif", or "out/" for names of ours.
 *
 * The folder is made under a passing name and gets its own when all slices are there; it never takes in those of
 * another volume. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/tiff/tiff.h"

enum { LEAST_DIGITS = 4 };

typedef struct slices {
    char *path; /* of the slice at hand */
    size_t room;
    char *before;       /* the name up to its number */
    const char *behind; /* and after it, in volume->path or our own */
    int digits;
    int64_t next; /* the slice that must come next */
    int level;
    bool ome;
} slices;

static crd_status name_slices(const crd_volume *volume, slices *s)
{
    const char *slash = strrchr(volume->path, '/'), *name = slash != NULL ? slash + 1 : volume->path;
    const char *star = strchr(name, '*');
    s->behind = star != NULL ? star + 1 : ".tif";
    CRD_PASS(crd_strdup(star != NULL ? name : "slice_", &s->before));
    if (star != NULL) s->before[star - name] = '\0';
    if (strpbrk(s->before, "*?[") != NULL || strpbrk(s->behind, "*?[") != NULL ||
        !crd_format_has_suffix(&crd_format_tiff, s->behind - 1)) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s: slices are written as TIFF, under a name with one * for their number, such as "
                        "out/slice_*.tif",
                        volume->path);
    }
    s->ome = crd_path_ends_in(volume->path, ".ome.tif") || crd_path_ends_in(volume->path, ".ome.tiff");
    s->digits = snprintf(NULL, 0, "%lld", (long long)(volume->info.shape[0] - 1));
    if (s->digits < LEAST_DIGITS) s->digits = LEAST_DIGITS;
    s->room = strlen(volume->write_path) + strlen(s->before) + strlen(s->behind) + 32;
    return crd_alloc((int64_t)s->room, 1, "a file name", &s->path);
}

static crd_status create(crd_volume *volume, const crd_volume_options *options)
{
    slices *s = NULL;
    CRD_PASS(crd_alloc(1, sizeof *s, "a folder of slices", &s));
    volume->state = s;
    s->level = options->compress;
    CRD_PASS(name_slices(volume, s));
    if (mkdir(volume->write_path, 0777) != 0) return crd_fail_errno("can't make the folder %s", volume->file);
    return CRD_OK;
}

static crd_status write_slice(const crd_volume *volume, slices *s, const char *voxels)
{
    crd_status status = CRD_OK;
    crd_tiff_writer *writer = NULL;
    crd_volume_info info = volume->info;
    const crd_box box = {.size = {1, info.shape[1], info.shape[2]}};
    info.shape[0] = 1;
    info.origin[0] += s->next;
    snprintf(s->path, s->room, "%s/%s%0*lld%s", volume->write_path, s->before, s->digits, (long long)s->next,
             s->behind);
    CRD_TRY(crd_tiff_writer_create(s->path, &info, s->level, s->ome, false, &writer));
    CRD_TRY(crd_tiff_writer_put(writer, &box, voxels));
    CRD_TRY(crd_tiff_writer_finish(writer, false));
done:
    crd_tiff_writer_free(&writer);
    return status;
}

static crd_status write_box(crd_volume *volume, const crd_box *box, const void *voxels)
{
    slices *s = volume->state;
    const int64_t *shape = volume->info.shape;
    const size_t slice = (size_t)(shape[1] * shape[2]) * crd_type_size(volume->info.type);
    if (box->origin[0] != s->next || box->size[1] != shape[1] || box->size[2] != shape[2]) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is written slice by slice: whole slices from z = %lld on must come next",
                        volume->path, (long long)s->next);
    }
    for (int64_t i = 0; i < box->size[0]; i++) {
        CRD_PASS(write_slice(volume, s, (const char *)voxels + (size_t)i * slice));
        s->next++;
    }
    return CRD_OK;
}

static crd_status finish(crd_volume *volume)
{
    const slices *s = volume->state;
    if (s->next != volume->info.shape[0]) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s can't be finished: %lld of its %lld slices were written", volume->path,
                        (long long)s->next, (long long)volume->info.shape[0]);
    }
    return crd_sync_tree(volume->write_path, volume->file);
}

static void close_slices(crd_volume *volume)
{
    slices *s = volume->state;
    if (s == NULL) return;
    crd_free(&s->path);
    crd_free(&s->before);
    crd_free(&volume->state);
}

const crd_format crd_format_tiff_slices = {
    .name = "tiff",
    .suffixes = "",
    .library = "libtiff",
    .folder = true,
    .create = create,
    .write = write_box,
    .finish = finish,
    .remove = crd_remove_folder,
    .close = close_slices,
};
