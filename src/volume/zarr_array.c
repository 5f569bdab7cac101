#include "volume/zarr_array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "volume/types.h"
#include "volume/zarr_json.h"

enum { LAYOUT_LIMIT = 1 << 20, KEY_BYTES = 160 };

struct crd_zarr_array {
    char *folder;
    crd_zarr_layout layout;
    crd_type type;             /* of the voxels that are handed out */
    size_t stored_size, size;  /* of a voxel in the file, and of one handed out */
    int64_t counts[3], voxels; /* chunks along each axis; voxels of a chunk */
    crd_block_cache *cache;    /* NULL: chunks don't fit, and are read row by row */
    char *packed, *plain;      /* a chunk as in its file, and unpacked */
    size_t packed_room;
    char *path; /* of the chunk at hand */
    size_t path_room;
};

/* ---- common ---- */

static crd_status array_new(const char *folder, crd_zarr_array **out)
{
    crd_status status = CRD_OK;
    crd_zarr_array *array = NULL;
    CRD_TRY(crd_alloc(1, sizeof *array, "a zarr array", &array));
    CRD_TRY(crd_strdup(folder, &array->folder));
    array->path_room = strlen(folder) + KEY_BYTES;
    CRD_TRY(crd_alloc((int64_t)array->path_room, 1, "a file name", &array->path));
    *out = array;
    array = NULL;
done:
    crd_zarr_array_close(&array);
    return status;
}

/* Sizes that follow from the layout. */
static crd_status measure(crd_zarr_array *array)
{
    const crd_zarr_layout *l = &array->layout;
    int64_t bytes;
    array->stored_size = crd_stored_size(l->stored);
    array->type = crd_stored_widened(l->stored);
    array->size = crd_type_size(array->type);
    for (int i = 0; i < 3; i++) array->counts[i] = (l->shape[i] - 1) / l->chunk[i] + 1;
    if (crd_product(l->shape[0], l->shape[1], l->shape[2], &bytes) != CRD_OK ||
        crd_product(bytes, (int64_t)array->size, 1, &bytes) != CRD_OK ||
        crd_product(l->chunk[0], l->chunk[1], l->chunk[2], &array->voxels) != CRD_OK ||
        crd_product(array->voxels, (int64_t)array->size, 2, &bytes) != CRD_OK) {
        return crd_fail(CRD_ERR_FORMAT, "%s can't hold a volume of shape (%lld, %lld, %lld)", array->folder,
                        (long long)l->shape[0], (long long)l->shape[1], (long long)l->shape[2]);
    }
    return CRD_OK;
}

static void name_chunk(crd_zarr_array *array, const int64_t index[3])
{
    const char s = array->layout.separator;
    int used = snprintf(array->path, array->path_room, "%s/", array->folder);
    for (int i = 3; i < array->layout.rank; i++) {
        used += snprintf(array->path + used, array->path_room - (size_t)used, "0%c", s);
    }
    snprintf(array->path + used, array->path_room - (size_t)used, "%lld%c%lld%c%lld", (long long)index[0], s,
             (long long)index[1], s, (long long)index[2]);
}

void crd_zarr_array_close(crd_zarr_array **array)
{
    if (*array == NULL) return;
    crd_block_cache_free(&(*array)->cache);
    crd_free(&(*array)->packed);
    crd_free(&(*array)->plain);
    crd_free(&(*array)->path);
    crd_free(&(*array)->folder);
    crd_free(array);
}

const crd_zarr_layout *crd_zarr_array_layout(const crd_zarr_array *array)
{
    return &array->layout;
}

/* The part of a box that lies in a chunk, in voxels of the volume. */
typedef struct part {
    int64_t start[3], first[3], end[3]; /* start: the chunk's first voxel */
    bool whole;                         /* all that the chunk has of the volume */
} part;

static part part_of(const crd_zarr_array *array, const crd_box *box, const int64_t index[3])
{
    part p = {.whole = true};
    for (int i = 0; i < 3; i++) {
        p.start[i] = index[i] * array->layout.chunk[i];
        const int64_t box_end = box->origin[i] + box->size[i], chunk_end = p.start[i] + array->layout.chunk[i];
        p.first[i] = box->origin[i] > p.start[i] ? box->origin[i] : p.start[i];
        p.end[i] = box_end < chunk_end ? box_end : chunk_end;
        p.whole = p.whole && p.first[i] == p.start[i] && (p.end[i] == chunk_end || p.end[i] == array->layout.shape[i]);
    }
    return p;
}

static int64_t in_chunk(const crd_zarr_array *array, const part *p, int64_t z, int64_t y)
{
    const int64_t *chunk = array->layout.chunk;
    return ((z - p->start[0]) * chunk[1] + y - p->start[1]) * chunk[2] + p->first[2] - p->start[2];
}

static int64_t in_box(const crd_box *box, const part *p, int64_t z, int64_t y)
{
    return ((z - box->origin[0]) * box->size[1] + y - box->origin[1]) * box->size[2] + p->first[2] - box->origin[2];
}

/* Calls work for every chunk that the box touches. */
typedef crd_status chunk_work(crd_zarr_array *array, const crd_box *box, const int64_t index[3], bool once,
                              char *voxels);

static crd_status for_chunks(crd_zarr_array *array, const crd_box *box, bool once, char *voxels, chunk_work *work)
{
    int64_t low[3], high[3], index[3];
    for (int i = 0; i < 3; i++) {
        low[i] = box->origin[i] / array->layout.chunk[i];
        high[i] = (box->origin[i] + box->size[i] - 1) / array->layout.chunk[i];
    }
    for (index[0] = low[0]; index[0] <= high[0]; index[0]++) {
        for (index[1] = low[1]; index[1] <= high[1]; index[1]++) {
            for (index[2] = low[2]; index[2] <= high[2]; index[2]++) CRD_PASS(work(array, box, index, once, voxels));
        }
    }
    return CRD_OK;
}

/* ---- reading ---- */

/* Names without a separator in .zarray: flat ones, unless there are folders. */
static char guess_separator(const crd_zarr_array *array)
{
    struct stat about;
    snprintf(array->path, array->path_room, "%s/0", array->folder);
    return stat(array->path, &about) == 0 && S_ISDIR(about.st_mode) ? '/' : '.';
}

static crd_status prepare_buffers(crd_zarr_array *array, size_t cache_bytes)
{
    const int64_t bytes = array->voxels * (int64_t)array->size;
    if (bytes > (int64_t)cache_bytes / 2) {
        if (array->layout.codec == CRD_ZARR_RAW && !array->layout.fortran) return CRD_OK; /* row by row */
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s has packed chunks of %.0f MiB, which need more than the %.0f MiB for decoded data; rechunk it",
            array->folder, (double)bytes / 0x1p20, (double)cache_bytes / 0x1p20);
    }
    array->packed_room = crd_zarr_packed_bound((size_t)bytes);
    CRD_PASS(crd_alloc((int64_t)array->packed_room, 1, "a packed chunk", &array->packed));
    CRD_PASS(crd_alloc(bytes, 1, "a chunk", &array->plain));
    return crd_block_cache_create(cache_bytes - (size_t)bytes, &array->cache);
}

crd_status crd_zarr_array_open(const char *folder, size_t cache_bytes, crd_zarr_array **out)
{
    crd_status status = CRD_OK;
    crd_zarr_array *array = NULL;
    char *text = NULL;
    size_t bytes = 0;
    CRD_TRY(array_new(folder, &array));
    snprintf(array->path, array->path_room, "%s/.zarray", folder);
    CRD_TRY(crd_read_file(array->path, LAYOUT_LIMIT, &text, &bytes));
    CRD_TRY(crd_zarr_layout_parse(folder, text, bytes, &array->layout));
    CRD_TRY(measure(array));
    if (array->layout.separator == 0) array->layout.separator = guess_separator(array);
    CRD_TRY(prepare_buffers(array, cache_bytes));
    *out = array;
    array = NULL;
done:
    crd_zarr_array_close(&array);
    crd_free(&text);
    return status;
}

/* Opens the chunk in array->path; -1 where there is none. */
static crd_status open_chunk(crd_zarr_array *array, int *out, size_t *bytes)
{
    struct stat about;
    *out = open(array->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*out < 0 && errno == ENOENT) return CRD_OK;
    if (*out >= 0 && fstat(*out, &about) == 0 && S_ISREG(about.st_mode)) {
        *bytes = (size_t)about.st_size;
        return CRD_OK;
    }
    const crd_status status = *out < 0 ? crd_fail_errno("%s can't be opened", array->path)
                                       : crd_fail(CRD_ERR_FORMAT, "%s is no plain file", array->path);
    if (*out >= 0) (void)close(*out);
    *out = -1;
    return status;
}

static void fill_chunk(const crd_zarr_array *array, char *out, int64_t count)
{
    double fill = array->layout.fill;
    if (fill == 0.0) {
        memset(out, 0, (size_t)count * array->size);
        return;
    }
    (void)crd_convert(CRD_F64, &fill, 1.0, 1, array->type, out);
    for (int64_t i = 1; i < count; i++) memcpy(out + (size_t)i * array->size, out, array->size);
}

/* out[z][y][x] = in[x][y][z], each `size` bytes. */
static void turn(const char *in, char *out, const int64_t chunk[3], size_t size)
{
    for (int64_t z = 0; z < chunk[0]; z++) {
        for (int64_t y = 0; y < chunk[1]; y++) {
            for (int64_t x = 0; x < chunk[2]; x++, out += size) {
                memcpy(out, in + (size_t)((x * chunk[1] + y) * chunk[0] + z) * size, size);
            }
        }
    }
}

/* The chunk at array->path in its final form. Uses array->packed, and for arrays in Fortran order array->plain. */
static crd_status load_chunk(crd_zarr_array *array, char *out)
{
    crd_status status = CRD_OK;
    const size_t stored = (size_t)array->voxels * array->stored_size;
    char *end = out + (size_t)array->voxels * (array->size - array->stored_size);
    size_t bytes = 0;
    int fd = -1;
    CRD_TRY(open_chunk(array, &fd, &bytes));
    if (fd < 0) {
        fill_chunk(array, out, array->voxels);
        goto done;
    }
    if (bytes > array->packed_room) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is damaged: %zu bytes can't be a chunk of %zu", array->path, bytes, stored);
    }
    CRD_TRY(crd_read_at(fd, array->path, 0, array->packed, bytes));
    CRD_TRY(crd_zarr_unpack(array->layout.codec, array->path, array->packed, bytes, end, stored));
    if (array->layout.fortran) {
        memcpy(array->packed, end, stored);
        turn(array->packed, end, array->layout.chunk, array->stored_size);
    }
    if (array->layout.swap) crd_swap_bytes(end, array->voxels, array->stored_size);
    crd_spread(array->layout.stored, array->voxels, array->type, out);
done:
    if (fd >= 0) (void)close(fd);
    return status;
}

static crd_status get_chunk(crd_zarr_array *array, const int64_t index[3], bool keep, char **out)
{
    crd_status status = CRD_OK;
    const int64_t key = (index[0] * array->counts[1] + index[1]) * array->counts[2] + index[2];
    const int64_t bytes = array->voxels * (int64_t)array->size;
    void *kept = crd_block_cache_find(array->cache, 0, key);
    *out = kept;
    if (kept != NULL) return CRD_OK;
    name_chunk(array, index);
    *out = array->plain;
    if (!keep || !crd_block_cache_fits(array->cache, bytes)) return load_chunk(array, array->plain);
    CRD_TRY(crd_block_cache_add(array->cache, 0, key, bytes, &kept));
    *out = kept;
    status = load_chunk(array, kept);
    if (status != CRD_OK) crd_block_cache_drop_newest(array->cache);
done:
    return status;
}

/* Chunks too large for memory, which aren't packed. */
static crd_status read_rows(crd_zarr_array *array, const crd_box *box, const part *p, const int64_t index[3],
                            char *voxels)
{
    crd_status status = CRD_OK;
    const int64_t count = p->end[2] - p->first[2];
    size_t bytes = 0;
    int fd = -1;
    name_chunk(array, index);
    CRD_TRY(open_chunk(array, &fd, &bytes));
    if (fd >= 0 && bytes != (size_t)array->voxels * array->stored_size) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is damaged: it has %zu bytes instead of %zu", array->path, bytes,
                 (size_t)array->voxels * array->stored_size);
    }
    for (int64_t z = p->first[0]; z < p->end[0]; z++) {
        for (int64_t y = p->first[1]; y < p->end[1]; y++) {
            char *row = voxels + (size_t)in_box(box, p, z, y) * array->size;
            char *end = row + (size_t)count * (array->size - array->stored_size);
            if (fd < 0) {
                fill_chunk(array, row, count);
                continue;
            }
            CRD_TRY(crd_read_at(fd, array->path, in_chunk(array, p, z, y) * (int64_t)array->stored_size, end,
                                (size_t)count * array->stored_size));
            if (array->layout.swap) crd_swap_bytes(end, count, array->stored_size);
            crd_spread(array->layout.stored, count, array->type, row);
        }
    }
done:
    if (fd >= 0) (void)close(fd);
    return status;
}

static crd_status read_part(crd_zarr_array *array, const crd_box *box, const int64_t index[3], bool once, char *voxels)
{
    const part p = part_of(array, box, index);
    char *chunk = NULL;
    if (array->cache == NULL) return read_rows(array, box, &p, index, voxels);
    CRD_PASS(get_chunk(array, index, !(once && p.whole), &chunk));
    const size_t row = (size_t)(p.end[2] - p.first[2]) * array->size;
    for (int64_t z = p.first[0]; z < p.end[0]; z++) {
        for (int64_t y = p.first[1]; y < p.end[1]; y++) {
            memcpy(voxels + (size_t)in_box(box, &p, z, y) * array->size,
                   chunk + (size_t)in_chunk(array, &p, z, y) * array->size, row);
        }
    }
    return CRD_OK;
}

crd_status crd_zarr_array_read(crd_zarr_array *array, const crd_box *box, bool once, void *voxels)
{
    return for_chunks(array, box, once, voxels, read_part);
}

/* ---- writing ---- */

static crd_status write_layout(crd_zarr_array *array)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *words = NULL;
    snprintf(array->path, array->path_room, "%s/.zarray", array->folder);
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
    char *text = NULL;
    size_t bytes = 0;
    snprintf(array->path, array->path_room, "%s/.zarray", array->folder);
    *there = access(array->path, F_OK) == 0;
    if (!*there) return CRD_OK;
    CRD_TRY(crd_read_file(array->path, LAYOUT_LIMIT, &text, &bytes));
    CRD_TRY(crd_zarr_layout_parse(array->folder, text, bytes, &found));
    const crd_zarr_layout *l = &array->layout;
    if (memcmp(found.shape, l->shape, sizeof l->shape) != 0 || memcmp(found.chunk, l->chunk, sizeof l->chunk) != 0 ||
        found.stored != l->stored || found.codec != l->codec || found.separator != l->separator ||
        found.rank != l->rank) {
        CRD_FAIL(CRD_ERR_MISMATCH, "%s holds another array than the one that is to be written on", array->folder);
    }
done:
    crd_free(&text);
    return status;
}

crd_status crd_zarr_array_create(const char *folder, const crd_volume_info *info, int level, bool go_on,
                                 crd_zarr_array **out)
{
    static const int64_t usual[3] = {CRD_ZARR_DEPTH, CRD_ZARR_EDGE, CRD_ZARR_EDGE};
    crd_status status = CRD_OK;
    crd_zarr_array *array = NULL;
    bool there = false;
    CRD_TRY(array_new(folder, &array));
    array->layout = (crd_zarr_layout){.rank = 3,
                                      .stored = (int)info->type,
                                      .separator = '/',
                                      .codec = level > 0 ? crd_zarr_codec_preferred() : CRD_ZARR_RAW,
                                      .level = level};
    for (int i = 0; i < 3; i++) {
        array->layout.shape[i] = info->shape[i];
        array->layout.chunk[i] = info->shape[i] < usual[i] ? info->shape[i] : usual[i];
    }
    CRD_TRY(measure(array));
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

/* Opens a file, making the folders above it if need be. */
static crd_status open_to_write(const char *path, int flags, int *out)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    *out = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*out >= 0) return CRD_OK;
    if (errno == ENOENT) {
        CRD_TRY(crd_strdup(path, &folder));
        *strrchr(folder, '/') = '\0';
        CRD_TRY(crd_make_folders(folder));
        *out = open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    }
    if (*out < 0) status = crd_fail_errno("%s can't be written", path);
done:
    crd_free(&folder);
    return status;
}

/* A whole chunk, under a passing name first: a reader never sees half of one. */
static crd_status store_chunk(crd_zarr_array *array)
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
    CRD_TRY(crd_alloc((int64_t)strlen(array->path) + 8, 1, "a file name", &temporary));
    const int start = (int)(strrchr(array->path, '/') + 1 - array->path);
    snprintf(temporary, strlen(array->path) + 8, "%.*s.%s.tmp", start, array->path, array->path + start);
    CRD_TRY(open_to_write(temporary, O_WRONLY | O_TRUNC, &fd));
    status = crd_write_at(fd, array->path, 0, data, bytes);
    if (close(fd) != 0 && status == CRD_OK) status = crd_fail_errno("%s can't be written", array->path);
    if (status == CRD_OK && rename(temporary, array->path) != 0) {
        status = crd_fail_errno("can't rename %s to %s", temporary, array->path);
    }
    if (status != CRD_OK) (void)unlink(temporary);
done:
    crd_free(&temporary);
    return status;
}

static void gather(const crd_zarr_array *array, const crd_box *box, const part *p, const char *voxels, char *chunk)
{
    const size_t row = (size_t)(p->end[2] - p->first[2]) * array->size;
    for (int64_t z = p->first[0]; z < p->end[0]; z++) {
        for (int64_t y = p->first[1]; y < p->end[1]; y++) {
            memcpy(chunk + (size_t)in_chunk(array, p, z, y) * array->size,
                   voxels + (size_t)in_box(box, p, z, y) * array->size, row);
        }
    }
}

/* A part of a chunk that isn't packed goes straight to its place. */
static crd_status store_rows(crd_zarr_array *array, const crd_box *box, const part *p, const char *voxels)
{
    crd_status status = CRD_OK;
    const size_t row = (size_t)(p->end[2] - p->first[2]) * array->size;
    int fd = -1;
    CRD_TRY(open_to_write(array->path, O_RDWR, &fd));
    if (ftruncate(fd, (off_t)(array->voxels * (int64_t)array->size)) != 0) {
        status = crd_fail_errno("%s can't be written", array->path);
        goto done;
    }
    for (int64_t z = p->first[0]; z < p->end[0]; z++) {
        for (int64_t y = p->first[1]; y < p->end[1]; y++) {
            CRD_TRY(crd_write_at(fd, array->path, in_chunk(array, p, z, y) * (int64_t)array->size,
                                 voxels + (size_t)in_box(box, p, z, y) * array->size, row));
        }
    }
done:
    if (fd >= 0 && close(fd) != 0 && status == CRD_OK) status = crd_fail_errno("%s can't be written", array->path);
    return status;
}

static crd_status write_part(crd_zarr_array *array, const crd_box *box, const int64_t index[3], bool once, char *voxels)
{
    const part p = part_of(array, box, index);
    (void)once;
    name_chunk(array, index);
    if (!p.whole && array->layout.codec == CRD_ZARR_RAW) return store_rows(array, box, &p, voxels);
    if (p.whole) {
        memset(array->plain, 0, (size_t)array->voxels * array->size);
    } else {
        CRD_PASS(load_chunk(array, array->plain));
    }
    gather(array, box, &p, voxels, array->plain);
    return store_chunk(array);
}

crd_status crd_zarr_array_write(crd_zarr_array *array, const crd_box *box, const void *voxels)
{
    return for_chunks(array, box, false, (char *)(uintptr_t)voxels, write_part);
}
