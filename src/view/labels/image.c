#include "view/labels/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/labels/blocks.h"
#include "volume/zarr/json.h"

enum { NAME = 96 };

static crd_status path_of(const char *folder, const char *name, char **out)
{
    return crd_join_path(folder, name, "", out);
}

static void name_chunk(const int64_t index[3], const char *end, char name[NAME])
{
    snprintf(name, NAME, "0/%lld.%lld.%lld%s", (long long)index[0], (long long)index[1], (long long)index[2], end);
}

crd_status crd_image_check(const char *folder, const crd_volume_info *info, bool *there)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    size_t bytes = 0;
    crd_zarr_layout layout;
    CRD_TRY(path_of(folder, "0/.zarray", &path));
    *there = access(path, F_OK) == 0;
    if (!*there) goto done;
    CRD_TRY(crd_read_file(path, 1 << 16, &text, &bytes));
    CRD_TRY(crd_zarr_layout_parse(folder, 2, text, bytes, &layout));
    bool ours = layout.rank == 3 && layout.stored == (int)CRD_U8 && layout.codec == CRD_ZARR_RAW &&
                layout.separator == '.' && layout.fill == (double)CRD_UNLABELLED;
    for (int i = 0; i < 3; i++) ours = ours && layout.chunk[i] == CRD_BLOCK_EDGE;
    if (!ours) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s isn't what credence view keeps there; move it away, or choose --project DIR",
                 folder);
    }
    if (memcmp(layout.shape, info->shape, sizeof layout.shape) != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "%s has labels of %lld x %lld x %lld voxels (z, y, x) and the scan has %lld x %lld x %lld; choose "
                 "another --project DIR",
                 folder, (long long)layout.shape[0], (long long)layout.shape[1], (long long)layout.shape[2],
                 (long long)info->shape[0], (long long)info->shape[1], (long long)info->shape[2]);
    }
done:
    crd_free(&path);
    crd_free(&text);
    return status;
}

static crd_status write_text(const char *folder, const char *name, crd_text *text)
{
    crd_status status = CRD_OK;
    char *words = NULL, *path = NULL;
    CRD_TRY(crd_text_finish(text, &words));
    CRD_TRY(path_of(folder, name, &path));
    CRD_TRY(crd_write_file(path, words, strlen(words)));
done:
    crd_text_free(text);
    crd_free(&words);
    crd_free(&path);
    return status;
}

/* .zarray comes last: what has one is complete. */
crd_status crd_image_make(const char *folder, const crd_volume_info *info)
{
    static const int64_t one[1][3] = {{1, 1, 1}};
    crd_status status = CRD_OK;
    crd_text group = {0}, attributes = {0}, array = {0};
    char *chunks = NULL;
    crd_volume_info labels = *info;
    crd_zarr_layout layout = {.version = 2, .rank = 3, .stored = CRD_U8, .separator = '.', .fill = CRD_UNLABELLED};
    labels.type = CRD_U8;
    labels.scale = 1.0;
    for (int i = 0; i < 3; i++) {
        layout.shape[i] = info->shape[i];
        layout.chunk[i] = CRD_BLOCK_EDGE;
    }
    CRD_TRY(path_of(folder, "0", &chunks));
    CRD_TRY(crd_make_lasting_folders(chunks));
    crd_text_add(&group, "{\n    \"zarr_format\": 2\n}\n");
    CRD_TRY(write_text(folder, ".zgroup", &group));
    crd_zarr_attributes_write(2, &labels, "labels", 1, one, true, &attributes);
    CRD_TRY(write_text(folder, ".zattrs", &attributes));
    crd_zarr_layout_write(&layout, &array);
    CRD_TRY(write_text(chunks, ".zarray", &array));
done:
    crd_text_free(&group);
    crd_text_free(&attributes);
    crd_text_free(&array);
    crd_free(&chunks);
    return status;
}

crd_status crd_image_read_chunk(const char *folder, const int64_t index[3], uint8_t *voxels, bool *there)
{
    crd_status status = CRD_OK;
    char name[NAME], *path = NULL;
    name_chunk(index, "", name);
    CRD_TRY(path_of(folder, name, &path));
    const int fd = crd_open(path, O_RDONLY | O_CLOEXEC);
    *there = fd >= 0;
    if (fd < 0 && errno != ENOENT) status = crd_fail_errno("can't open %s", path);
    if (fd >= 0) {
        status = crd_read_at(fd, path, 0, voxels, CRD_BLOCK_VOXELS);
        (void)close(fd);
    }
done:
    crd_free(&path);
    return status;
}

crd_status crd_image_write_chunk(const char *folder, const int64_t index[3], const uint8_t *voxels)
{
    crd_status status = CRD_OK;
    char name[NAME], *path = NULL, *temporary = NULL;
    int fd = -1;
    name_chunk(index, "", name);
    CRD_TRY(path_of(folder, name, &path));
    if (voxels == NULL) {
        if (unlink(path) != 0 && errno != ENOENT) status = crd_fail_errno("can't remove %s", path);
        goto done;
    }
    name_chunk(index, ".tmp", name);
    CRD_TRY(path_of(folder, name, &temporary));
    fd = crd_open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        status = crd_fail_errno("%s can't be written", temporary);
        goto done;
    }
    status = crd_write_at(fd, path, 0, voxels, CRD_BLOCK_VOXELS);
    const crd_status synced = crd_sync_and_close(fd, path);
    if (status == CRD_OK) status = synced;
    if (status == CRD_OK && rename(temporary, path) != 0) status = crd_fail_errno("can't rename %s", temporary);
    if (status != CRD_OK) (void)unlink(temporary);
done:
    crd_free(&path);
    crd_free(&temporary);
    return status;
}

crd_status crd_image_sync(const char *folder)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(path_of(folder, "0", &path));
    const int fd = crd_open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    status = fd >= 0 ? crd_sync_and_close(fd, path) : crd_fail_errno("can't open %s", path);
done:
    crd_free(&path);
    return status;
}

/* ---- another image of the same chunks ---- */

static crd_status copy_file(const char *from, const char *to)
{
    crd_status status = CRD_OK;
    char *bytes = NULL;
    size_t count = 0;
    CRD_TRY(crd_read_file(from, CRD_BLOCK_VOXELS, &bytes, &count));
    CRD_TRY(crd_write_file(to, bytes, count));
done:
    crd_free(&bytes);
    return status;
}

static crd_status link_file(const char *from, const char *to)
{
    if (link(from, to) == 0) return CRD_OK;
    if (errno == EXDEV || errno == EPERM || errno == EMLINK || errno == ENOTSUP || errno == ENOSYS) {
        return copy_file(from, to);
    }
    return crd_fail_errno("can't link %s to %s", from, to);
}

/* "z.y.x" and nothing else. */
static bool read_name(const char *name, int64_t index[3])
{
    for (int i = 0; i < 3; i++) {
        const size_t digits = strspn(name, "0123456789");
        if (digits == 0 || digits > 12 || name[digits] != (i < 2 ? '.' : '\0')) return false;
        index[i] = strtoll(name, NULL, 10);
        name += digits + (i < 2);
    }
    return true;
}

crd_status crd_image_chunks(const char *folder, int64_t (**out)[3], int64_t *count)
{
    crd_status status = CRD_OK;
    char *source = NULL;
    DIR *opened = NULL;
    int64_t room = 0, (*list)[3] = NULL, index[3];
    *out = NULL;
    *count = 0;
    CRD_TRY(path_of(folder, "0", &source));
    opened = crd_open_folder(source);
    if (opened == NULL) {
        status = crd_fail_errno("can't open %s", source);
        goto done;
    }
    for (const struct dirent *entry; (entry = crd_next_entry(opened, source, &status)) != NULL;) {
        if (!read_name(entry->d_name, index)) continue;
        if (*count == room) {
            int64_t(*larger)[3] = NULL;
            room = 2 * room + 64;
            CRD_TRY(crd_alloc(room, sizeof *larger, "the list of labels", &larger));
            if (list != NULL) memcpy(larger, list, (size_t)*count * sizeof *list);
            crd_free(&list);
            list = larger;
        }
        memcpy(list[(*count)++], index, sizeof index);
    }
    CRD_TRY(status);
    *out = list;
    list = NULL;
done:
    if (opened != NULL) (void)closedir(opened);
    crd_free(&source);
    crd_free(&list);
    return status;
}

crd_status crd_image_link_chunks(const char *from, const char *to)
{
    crd_status status = CRD_OK;
    char *one = NULL, *other = NULL;
    int64_t(*places)[3] = NULL, count = 0;
    CRD_TRY(crd_image_chunks(from, &places, &count));
    for (int64_t i = 0; i < count; i++) {
        char name[NAME];
        name_chunk(places[i], "", name);
        crd_free(&one);
        crd_free(&other);
        CRD_TRY(path_of(from, name, &one));
        CRD_TRY(path_of(to, name, &other));
        CRD_TRY(link_file(one, other));
    }
done:
    crd_free(&places);
    crd_free(&one);
    crd_free(&other);
    return status;
}
