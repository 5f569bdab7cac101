#include "volume/zarr/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash/crc32c.h"
#include "base/memory.h"
#include "volume/types.h"
#include "volume/zarr/file.h"
#include "volume/zarr/json.h"

enum { SUM = 4 }; /* bytes of a checksum */

/* ---- common ---- */

crd_status crd_zarr_new(const char *folder, crd_zarr_array **out)
{
    crd_status status = CRD_OK;
    crd_zarr_array *array = NULL;
    CRD_TRY(crd_alloc(1, sizeof *array, "a zarr array", &array));
    CRD_TRY(crd_strdup(folder, &array->folder));
    array->path_room = strlen(folder) + CRD_ZARR_KEY;
    CRD_TRY(crd_alloc((int64_t)array->path_room, 1, "a file name", &array->path));
    *out = array;
    array = NULL;
done:
    crd_zarr_array_close(&array);
    return status;
}

crd_status crd_zarr_measure(crd_zarr_array *array)
{
    const crd_zarr_layout *l = &array->layout;
    int64_t bytes;
    array->stored_size = crd_stored_size(l->stored);
    array->type = crd_stored_widened(l->stored);
    array->size = crd_type_size(array->type);
    for (int i = 0; i < 3; i++) {
        array->counts[i] = (l->shape[i] - 1) / l->chunk[i] + 1;
        array->shards[i] = l->sharded ? (array->counts[i] - 1) / l->shard[i] + 1 : array->counts[i];
    }
    if (l->sharded && (crd_product(l->shard[0], l->shard[1], l->shard[2], &array->places) != CRD_OK ||
                       crd_product(array->places, (int64_t)sizeof(crd_zarr_place), 1, &bytes) != CRD_OK)) {
        return crd_fail(CRD_ERR_FORMAT, "%s can't have shards of %lld x %lld x %lld chunks", array->folder,
                        (long long)l->shard[0], (long long)l->shard[1], (long long)l->shard[2]);
    }
    if (crd_product(l->shape[0], l->shape[1], l->shape[2], &bytes) != CRD_OK ||
        crd_product(bytes, (int64_t)array->size, 1, &bytes) != CRD_OK ||
        crd_product(l->chunk[0], l->chunk[1], l->chunk[2], &array->voxels) != CRD_OK ||
        crd_product(array->voxels, (int64_t)array->size, 2, &bytes) != CRD_OK) {
        return crd_fail(CRD_ERR_FORMAT, "%s can't hold a volume of shape (%lld, %lld, %lld)", array->folder,
                        (long long)l->shape[0], (long long)l->shape[1], (long long)l->shape[2]);
    }
    return CRD_OK;
}

void crd_zarr_name_chunk(crd_zarr_array *array, const int64_t index[3])
{
    const crd_zarr_layout *l = &array->layout;
    const char s = l->separator;
    long long n[3];
    for (int i = 0; i < 3; i++) n[i] = (long long)(l->sharded ? index[i] / l->shard[i] : index[i]);
    int used = snprintf(array->path, array->path_room, "%s/", array->folder);
    if (l->prefixed) used += snprintf(array->path + used, array->path_room - (size_t)used, "c%c", s);
    for (int i = 3; i < l->rank; i++) {
        used += snprintf(array->path + used, array->path_room - (size_t)used, "0%c", s);
    }
    snprintf(array->path + used, array->path_room - (size_t)used, "%lld%c%lld%c%lld", n[0], s, n[1], s, n[2]);
}

/* The last one first: chunks of a layer come in their order. */
bool crd_zarr_array_has_layer(crd_zarr_array *array, int64_t layer)
{
    for (int64_t y = array->counts[1] - 1; y >= 0; y--) {
        for (int64_t x = array->counts[2] - 1; x >= 0; x--) {
            crd_zarr_name_chunk(array, (const int64_t[]){layer, y, x});
            if (access(array->path, F_OK) != 0) return false;
        }
    }
    return true;
}

crd_status crd_zarr_array_absent(crd_zarr_array *array, int64_t *absent, int64_t *looked)
{
    enum { MOST = 4096 };
    const crd_zarr_layout *l = &array->layout;
    int64_t files, counts[3];
    for (int i = 0; i < 3; i++) counts[i] = l->sharded ? array->shards[i] : array->counts[i];
    *absent = *looked = 0;
    CRD_PASS(crd_product(counts[0], counts[1], counts[2], &files));
    for (int64_t n = 0; n < files; n += files / MOST + 1) {
        const int64_t at[3] = {n / counts[2] / counts[1], n / counts[2] % counts[1], n % counts[2]};
        int64_t index[3];
        for (int i = 0; i < 3; i++) index[i] = at[i] * (l->sharded ? l->shard[i] : 1);
        crd_zarr_name_chunk(array, index);
        *absent += access(array->path, F_OK) != 0 && errno == ENOENT;
        ++*looked;
    }
    return CRD_OK;
}

void crd_zarr_array_close(crd_zarr_array **array)
{
    if (*array == NULL) return;
    crd_block_cache_free(&(*array)->cache);
    crd_free(&(*array)->packed);
    crd_free(&(*array)->plain);
    crd_free(&(*array)->unsummed);
    crd_free(&(*array)->index);
    crd_free(&(*array)->ends);
    crd_free(&(*array)->path);
    crd_free(&(*array)->folder);
    crd_free(array);
}

const crd_zarr_layout *crd_zarr_array_layout(const crd_zarr_array *array)
{
    return &array->layout;
}

crd_zarr_part crd_zarr_part_of(const crd_zarr_array *array, const crd_box *box, const int64_t index[3])
{
    crd_zarr_part p = {.whole = true};
    for (int i = 0; i < 3; i++) {
        p.start[i] = index[i] * array->layout.chunk[i];
        const int64_t box_end = box->origin[i] + box->size[i], chunk_end = p.start[i] + array->layout.chunk[i];
        p.first[i] = box->origin[i] > p.start[i] ? box->origin[i] : p.start[i];
        p.end[i] = box_end < chunk_end ? box_end : chunk_end;
        p.whole = p.whole && p.first[i] == p.start[i] && (p.end[i] == chunk_end || p.end[i] == array->layout.shape[i]);
    }
    return p;
}

int64_t crd_zarr_in_chunk(const crd_zarr_array *array, const crd_zarr_part *p, int64_t z, int64_t y)
{
    const int64_t *chunk = array->layout.chunk;
    return ((z - p->start[0]) * chunk[1] + y - p->start[1]) * chunk[2] + p->first[2] - p->start[2];
}

int64_t crd_zarr_in_box(const crd_box *box, const crd_zarr_part *p, int64_t z, int64_t y)
{
    return ((z - box->origin[0]) * box->size[1] + y - box->origin[1]) * box->size[2] + p->first[2] - box->origin[2];
}

crd_status crd_zarr_for_chunks(crd_zarr_array *array, const crd_box *box, bool once, char *voxels, crd_zarr_work *work)
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

/* A chunk as it is in its file, one unpacked, and with the rest of the limit those that are kept. */
static crd_status prepare_buffers(crd_zarr_array *array, size_t cache_bytes, crd_block_cache **shared)
{
    const crd_zarr_layout *l = &array->layout;
    const size_t bytes = (size_t)array->voxels * array->size, inner = SUM * (size_t)l->inner_sums;
    const size_t packed = crd_zarr_packed_bound(bytes + inner) + SUM * (size_t)l->outer_sums;
    const size_t unsummed = inner > 0 ? bytes + inner : 0;
    if (bytes > cache_bytes || bytes + packed + unsummed > cache_bytes) {
        if (l->codec == CRD_ZARR_RAW && !l->turned && !l->sharded && l->outer_sums == 0) return CRD_OK; /* row by row */
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s has packed chunks of %.0f MiB, and the %.0f MiB for decoded data must hold two; rechunk it, or "
            "allow more memory",
            array->folder, (double)bytes / 0x1p20, (double)cache_bytes / 0x1p20);
    }
    array->packed_room = packed;
    CRD_PASS(crd_alloc((int64_t)packed, 1, "a packed chunk", &array->packed));
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a chunk", &array->plain));
    if (unsummed > 0) CRD_PASS(crd_alloc((int64_t)unsummed, 1, "a chunk", &array->unsummed));
    CRD_PASS(crd_block_cache_open(cache_bytes - bytes - packed - unsummed, shared, &array->cache));
    if (!l->sharded || crd_block_cache_fits(array->cache, crd_zarr_index_bytes(array))) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "%s has shards of %lld chunks, whose index doesn't fit the %.0f MiB for decoded data; rechunk it, "
                    "or allow more memory",
                    array->folder, (long long)array->places, (double)cache_bytes / 0x1p20);
}

crd_status crd_zarr_array_open(const char *folder, size_t cache_bytes, crd_block_cache **shared, crd_zarr_array **out)
{
    crd_status status = CRD_OK;
    crd_zarr_array *array = NULL;
    char *text = NULL;
    size_t bytes = 0;
    CRD_TRY(crd_zarr_new(folder, &array));
    snprintf(array->path, array->path_room, "%s/.zarray", folder);
    const int version = access(array->path, F_OK) == 0 ? 2 : 3;
    snprintf(array->path, array->path_room, "%s/%s", folder, crd_zarr_array_file(version));
    CRD_TRY(crd_read_file(array->path, CRD_ZARR_LAYOUT_LIMIT, &text, &bytes));
    CRD_TRY(crd_zarr_layout_parse(folder, version, text, bytes, &array->layout));
    CRD_TRY(crd_zarr_measure(array));
    if (array->layout.separator == 0) array->layout.separator = guess_separator(array);
    CRD_TRY(prepare_buffers(array, cache_bytes, shared));
    *out = array;
    array = NULL;
done:
    crd_zarr_array_close(&array);
    crd_free(&text);
    return status;
}

crd_status crd_zarr_open_file(crd_zarr_array *array, int *out, int64_t *bytes)
{
    struct stat about;
    *out = crd_open(array->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*out < 0 && errno == ENOENT) return CRD_OK;
    if (*out >= 0 && fstat(*out, &about) == 0 && S_ISREG(about.st_mode)) {
        *bytes = (int64_t)about.st_size;
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

/* From the order of axes that the file has to z, y, x. */
static void turn(const char *in, char *out, const crd_zarr_layout *l, size_t size)
{
    int64_t step[3]; /* in the file, along each of our axes */
    step[l->order[2]] = 1;
    step[l->order[1]] = l->chunk[l->order[2]];
    step[l->order[0]] = l->chunk[l->order[1]] * l->chunk[l->order[2]];
    for (int64_t z = 0; z < l->chunk[0]; z++) {
        for (int64_t y = 0; y < l->chunk[1]; y++) {
            const char *from = in + (size_t)(z * step[0] + y * step[1]) * size;
            for (int64_t x = 0; x < l->chunk[2]; x++, out += size) {
                memcpy(out, from + (size_t)(x * step[2]) * size, size);
            }
        }
    }
}

crd_status crd_zarr_fetch(crd_zarr_array *array, const int64_t index[3], bool *there, size_t *bytes)
{
    crd_status status = CRD_OK;
    crd_zarr_place place = {0};
    int64_t length = 0;
    int fd = -1;
    *there = false;
    CRD_TRY(crd_zarr_open_file(array, &fd, &length));
    if (fd < 0) goto done;
    place.bytes = (uint64_t)length;
    if (array->layout.sharded) CRD_TRY(crd_zarr_find_in_shard(array, index, fd, length, &place));
    if (place.bytes == CRD_ZARR_EMPTY) goto done;
    if (place.bytes > array->packed_room) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is damaged: %llu bytes can't be a chunk of %zu", array->path,
                 (unsigned long long)place.bytes, (size_t)array->voxels * array->stored_size);
    }
    *there = true;
    *bytes = (size_t)place.bytes;
    CRD_TRY(crd_read_at(fd, array->path, (int64_t)place.offset, array->packed, *bytes));
done:
    if (fd >= 0) (void)close(fd);
    return status;
}

/* Takes `count` checksums off the end of `data`: each is that of all before it. */
static crd_status check_sums(const crd_zarr_array *array, const char *data, int count, size_t *bytes)
{
    for (; count > 0; count--) {
        if (*bytes < SUM) return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk lacks its checksum", array->path);
        *bytes -= SUM;
        if (crd_crc32c(0, data, *bytes) != crd_little_endian((const unsigned char *)data + *bytes, SUM)) {
            return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk has another checksum (crc32c) than it should",
                            array->path);
        }
    }
    return CRD_OK;
}

crd_status crd_zarr_load_chunk(crd_zarr_array *array, const int64_t index[3], char *out)
{
    const crd_zarr_layout *l = &array->layout;
    const size_t stored = (size_t)array->voxels * array->stored_size;
    char *end = out + (size_t)array->voxels * (array->size - array->stored_size);
    size_t bytes = 0, unpacked = stored + SUM * (size_t)l->inner_sums;
    bool there;
    CRD_PASS(crd_zarr_fetch(array, index, &there, &bytes));
    if (!there) {
        fill_chunk(array, out, array->voxels);
        return CRD_OK;
    }
    CRD_PASS(check_sums(array, array->packed, l->outer_sums, &bytes));
    char *target = l->inner_sums > 0 ? array->unsummed : end;
    CRD_PASS(crd_zarr_unpack(l->codec, array->path, array->packed, bytes, target, unpacked));
    CRD_PASS(check_sums(array, target, l->inner_sums, &unpacked));
    if (l->turned) {
        if (target == end) target = memcpy(array->packed, end, stored);
        turn(target, end, l, array->stored_size);
    } else if (target != end) {
        memcpy(end, target, stored);
    }
    if (l->swap) crd_swap_bytes(end, array->voxels, array->stored_size);
    crd_shared_step(l->stored, array->voxels, array->type, out);
    return CRD_OK;
}

/* A chunk's voxels; where they lie in the cache, *held is to be released. */
static crd_status get_chunk(crd_zarr_array *array, const int64_t index[3], bool keep, crd_block **held, char **out)
{
    crd_status status = CRD_OK;
    crd_block *block = NULL;
    const int64_t key = (index[0] * array->counts[1] + index[1]) * array->counts[2] + index[2];
    const int64_t bytes = array->voxels * (int64_t)array->size;
    *held = crd_block_cache_find(array->cache, 0, key, bytes);
    if (*held != NULL) {
        *out = (*held)->data;
        return CRD_OK;
    }
    crd_zarr_name_chunk(array, index);
    *out = array->plain;
    if (!keep || !crd_block_cache_fits(array->cache, bytes)) return crd_zarr_load_chunk(array, index, array->plain);
    CRD_TRY(crd_block_cache_add(array->cache, 0, key, bytes, &block));
    CRD_TRY(crd_zarr_load_chunk(array, index, block->data));
    crd_block_cache_publish(array->cache, block);
    *out = block->data;
    *held = block;
    block = NULL;
done:
    crd_block_cache_release(array->cache, &block);
    return status;
}

/* Chunks too large for memory, which aren't packed. */
static crd_status read_rows(crd_zarr_array *array, const crd_box *box, const crd_zarr_part *p, const int64_t index[3],
                            char *voxels)
{
    crd_status status = CRD_OK;
    const int64_t count = p->end[2] - p->first[2];
    int64_t bytes = 0;
    int fd = -1;
    crd_zarr_name_chunk(array, index);
    CRD_TRY(crd_zarr_open_file(array, &fd, &bytes));
    if (fd >= 0 && bytes != array->voxels * (int64_t)array->stored_size) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is damaged: it has %lld bytes instead of %zu", array->path, (long long)bytes,
                 (size_t)array->voxels * array->stored_size);
    }
    for (int64_t z = p->first[0]; z < p->end[0]; z++) {
        for (int64_t y = p->first[1]; y < p->end[1]; y++) {
            char *row = voxels + (size_t)crd_zarr_in_box(box, p, z, y) * array->size;
            char *end = row + (size_t)count * (array->size - array->stored_size);
            if (fd < 0) {
                fill_chunk(array, row, count);
                continue;
            }
            CRD_TRY(crd_read_at(fd, array->path, crd_zarr_in_chunk(array, p, z, y) * (int64_t)array->stored_size, end,
                                (size_t)count * array->stored_size));
            if (array->layout.swap) crd_swap_bytes(end, count, array->stored_size);
            crd_shared_step(array->layout.stored, count, array->type, row);
        }
    }
done:
    if (fd >= 0) (void)close(fd);
    return status;
}

static crd_status read_part(crd_zarr_array *array, const crd_box *box, const int64_t index[3], bool once, char *voxels)
{
    const crd_zarr_part p = crd_zarr_part_of(array, box, index);
    char *chunk = NULL;
    crd_block *held = NULL;
    if (array->cache == NULL) return read_rows(array, box, &p, index, voxels);
    CRD_PASS(get_chunk(array, index, !(once && p.whole), &held, &chunk));
    const size_t row = (size_t)(p.end[2] - p.first[2]) * array->size;
    for (int64_t z = p.first[0]; z < p.end[0]; z++) {
        for (int64_t y = p.first[1]; y < p.end[1]; y++) {
            memcpy(voxels + (size_t)crd_zarr_in_box(box, &p, z, y) * array->size,
                   chunk + (size_t)crd_zarr_in_chunk(array, &p, z, y) * array->size, row);
        }
    }
    crd_block_cache_release(array->cache, &held);
    return CRD_OK;
}

crd_status crd_zarr_array_read(crd_zarr_array *array, const crd_box *box, bool once, void *voxels)
{
    return crd_zarr_for_chunks(array, box, once, voxels, read_part);
}
