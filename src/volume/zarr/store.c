/* Writing zarr arrays. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/zarr/file.h"
#include "volume/zarr/json.h"

static crd_status write_layout(crd_zarr_array *array)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *words = NULL;
    snprintf(array->path, array->path_room, "%s/%s", array->folder, crd_zarr_array_file(array->layout.version));
    crd_zarr_layout_write(&array->layout, &text);
    CRD_TRY(crd_text_finish(&text, &words));
    CRD_TRY(crd_write_file(array->path, words, strlen(words)));
done:
    crd_text_free(&text);
    crd_free(&words);
    return status;
}

/* Is the array that is there the one that would be made? */
static crd_status check_layout(crd_zarr_array *array, bool *there)
{
    crd_status status = CRD_OK;
    crd_zarr_layout found;
    crd_zarr_node node;
    char *text = NULL;
    size_t bytes = 0;
    const crd_zarr_layout *l = &array->layout;
    CRD_TRY(crd_zarr_look(array->folder, &node));
    *there = node.version != 0;
    if (!*there) goto done;
    snprintf(array->path, array->path_room, "%s/%s", array->folder, crd_zarr_array_file(node.version));
    CRD_TRY(crd_read_file(array->path, CRD_ZARR_LAYOUT_LIMIT, &text, &bytes));
    CRD_TRY(crd_zarr_layout_parse(array->folder, node.version, text, bytes, &found));
    if (memcmp(found.shape, l->shape, sizeof l->shape) != 0 || memcmp(found.chunk, l->chunk, sizeof l->chunk) != 0 ||
        found.version != l->version || found.stored != l->stored || found.codec != l->codec ||
        found.separator != l->separator || found.rank != l->rank || found.sharded || found.swap != l->swap ||
        found.turned || found.prefixed != l->prefixed || found.inner_sums + found.outer_sums != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH, "%s holds another array than the one that is to be written on", array->folder);
    }
done:
    crd_free(&text);
    return status;
}

/* Shards that a volume of so many chunks fills: no longer than it is. */
static crd_status plan_shards(crd_zarr_array *array)
{
    static const int64_t usual[3] = {8, 4, 4};
    crd_zarr_layout *l = &array->layout;
    int64_t files;
    l->sharded = true;
    l->index_sum = true;
    for (int i = 0; i < 3; i++) {
        const int64_t count = (l->shape[i] - 1) / l->chunk[i] + 1;
        l->shard[i] = count < usual[i] ? count : usual[i];
    }
    CRD_PASS(crd_zarr_measure(array));
    CRD_PASS(crd_product(array->shards[0], array->shards[1], array->shards[2], &files));
    CRD_PASS(crd_alloc(files, sizeof *array->ends, "the index of shards", &array->ends));
    CRD_PASS(crd_alloc(files * array->places, sizeof *array->index, "the index of shards", &array->index));
    memset(array->index, 0xff, (size_t)(files * array->places) * sizeof *array->index);
    return CRD_OK;
}

crd_status crd_zarr_array_create(const char *folder, const crd_volume_info *info, const crd_zarr_form *form, bool go_on,
                                 crd_zarr_array **out)
{
    static const int64_t usual[3] = {CRD_ZARR_DEPTH, CRD_ZARR_EDGE, CRD_ZARR_EDGE};
    crd_status status = CRD_OK;
    crd_zarr_array *array = NULL;
    bool there = false;
    CRD_TRY(crd_zarr_new(folder, &array));
    array->layout = (crd_zarr_layout){.version = form->version,
                                      .rank = 3,
                                      .stored = (int)info->type,
                                      .separator = '/',
                                      .prefixed = form->version == 3,
                                      .codec = form->codec,
                                      .level = form->level};
    for (int i = 0; i < 3; i++) {
        array->layout.shape[i] = info->shape[i];
        array->layout.chunk[i] = info->shape[i] < usual[i] ? info->shape[i] : usual[i];
    }
    CRD_TRY(form->shards ? plan_shards(array) : crd_zarr_measure(array));
    const int64_t bytes = array->voxels * (int64_t)array->size;
    array->packed_room = crd_zarr_packed_bound((size_t)bytes);
    CRD_TRY(crd_alloc((int64_t)array->packed_room, 1, "a packed chunk", &array->packed));
    CRD_TRY(crd_alloc(bytes, 1, "a chunk", &array->plain));
    CRD_TRY(crd_make_folders(folder));
    if (go_on) CRD_TRY(check_layout(array, &there));
    if (!there) CRD_TRY(write_layout(array));
    *out = array;
    array = NULL;
done:
    crd_zarr_array_close(&array);
    return status;
}

crd_status crd_zarr_open_to_write(const char *path, int flags, int *out)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    *out = crd_open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
    if (*out >= 0) return CRD_OK;
    if (errno == ENOENT) {
        CRD_TRY(crd_strdup(path, &folder));
        *strrchr(folder, '/') = '\0';
        CRD_TRY(crd_make_folders(folder));
        *out = crd_open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
    }
    if (*out < 0) status = crd_fail_errno("%s can't be written", path);
done:
    crd_free(&folder);
    return status;
}

crd_status crd_zarr_passing_name(const char *path, char **out)
{
    const size_t room = strlen(path) + sizeof "..tmp";
    const int start = (int)(strrchr(path, '/') + 1 - path);
    CRD_PASS(crd_alloc((int64_t)room, 1, "a file name", out));
    snprintf(*out, room, "%.*s.%s.tmp", start, path, path + start);
    return CRD_OK;
}

/* A whole chunk, under a passing name first: a reader never sees half of one. */
static crd_status store_chunk(crd_zarr_array *array, const int64_t index[3])
{
    crd_status status = CRD_OK;
    const crd_zarr_layout *l = &array->layout;
    size_t bytes = (size_t)array->voxels * array->size;
    const char *data = array->plain;
    char *temporary = NULL;
    int fd = -1;
    if (l->codec != CRD_ZARR_RAW) {
        CRD_TRY(crd_zarr_pack(l->codec, array->path, l->level, array->size, array->plain, bytes, array->packed,
                              array->packed_room, &bytes));
        data = array->packed;
    }
    if (l->sharded) return crd_zarr_add_to_shard(array, index, data, bytes);
    CRD_TRY(crd_zarr_passing_name(array->path, &temporary));
    CRD_TRY(crd_zarr_open_to_write(temporary, O_WRONLY | O_TRUNC, &fd));
    status = crd_write_at(fd, array->path, 0, data, bytes);
    if (crd_close(fd) != 0 && status == CRD_OK) status = crd_fail_errno("%s can't be written", array->path);
    if (status == CRD_OK && rename(temporary, array->path) != 0) {
        status = crd_fail_errno("can't rename %s to %s", temporary, array->path);
    }
    if (status != CRD_OK) (void)unlink(temporary);
done:
    crd_free(&temporary);
    return status;
}

static void gather(const crd_zarr_array *array, const crd_box *box, const crd_zarr_part *p, const char *voxels,
                   char *chunk)
{
    const size_t row = (size_t)(p->end[2] - p->first[2]) * array->size;
    for (int64_t z = p->first[0]; z < p->end[0]; z++) {
        for (int64_t y = p->first[1]; y < p->end[1]; y++) {
            memcpy(chunk + (size_t)crd_zarr_in_chunk(array, p, z, y) * array->size,
                   voxels + (size_t)crd_zarr_in_box(box, p, z, y) * array->size, row);
        }
    }
}

/* A part of a chunk that isn't packed goes straight to its place. */
static crd_status store_rows(crd_zarr_array *array, const crd_box *box, const crd_zarr_part *p, const char *voxels)
{
    crd_status status = CRD_OK;
    const size_t row = (size_t)(p->end[2] - p->first[2]) * array->size;
    int fd = -1;
    CRD_TRY(crd_zarr_open_to_write(array->path, O_RDWR, &fd));
    if (crd_resize(fd, array->voxels * (int64_t)array->size) != 0) {
        status = crd_fail_errno("%s can't be written", array->path);
        goto done;
    }
    for (int64_t z = p->first[0]; z < p->end[0]; z++) {
        for (int64_t y = p->first[1]; y < p->end[1]; y++) {
            CRD_TRY(crd_write_at(fd, array->path, crd_zarr_in_chunk(array, p, z, y) * (int64_t)array->size,
                                 voxels + (size_t)crd_zarr_in_box(box, p, z, y) * array->size, row));
        }
    }
done:
    if (fd >= 0 && crd_close(fd) != 0 && status == CRD_OK) status = crd_fail_errno("%s can't be written", array->path);
    return status;
}

static crd_status write_part(crd_zarr_array *array, const crd_box *box, const int64_t index[3], bool once, char *voxels)
{
    const crd_zarr_part p = crd_zarr_part_of(array, box, index);
    (void)once;
    crd_zarr_name_chunk(array, index);
    if (!p.whole && array->layout.codec == CRD_ZARR_RAW && !array->layout.sharded)
        return store_rows(array, box, &p, voxels);
    if (p.whole) {
        memset(array->plain, 0, (size_t)array->voxels * array->size);
    } else {
        CRD_PASS(crd_zarr_load_chunk(array, index, array->plain));
    }
    gather(array, box, &p, voxels, array->plain);
    return store_chunk(array, index);
}

crd_status crd_zarr_array_write(crd_zarr_array *array, const crd_box *box, const void *voxels)
{
    return crd_zarr_for_chunks(array, box, false, (char *)(uintptr_t)voxels, write_part);
}

crd_status crd_zarr_array_finish(crd_zarr_array *array)
{
    return array->layout.sharded ? crd_zarr_finish_shards(array) : CRD_OK;
}
