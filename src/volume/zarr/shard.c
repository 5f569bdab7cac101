/* Shards: files of many chunks, with an index of where each lies. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash/crc32c.h"
#include "base/memory.h"
#include "volume/types.h"
#include "volume/zarr/file.h"

enum { SUM = 4, INDEXES = 1 }; /* bytes of a checksum; the page of the cache that keeps indexes: chunks have 0 */

int64_t crd_zarr_index_bytes(const crd_zarr_array *array)
{
    return array->places * (int64_t)sizeof(crd_zarr_place);
}

static int64_t shard_of(const crd_zarr_array *array, const int64_t index[3])
{
    const int64_t *s = array->layout.shard;
    return (index[0] / s[0] * array->shards[1] + index[1] / s[1]) * array->shards[2] + index[2] / s[2];
}

static int64_t place_of(const crd_zarr_array *array, const int64_t index[3])
{
    const int64_t *s = array->layout.shard;
    return (index[0] % s[0] * s[1] + index[1] % s[1]) * s[2] + index[2] % s[2];
}

/* ---- reading ---- */

static crd_status read_index(const crd_zarr_array *array, int fd, int64_t file_bytes, crd_zarr_place *out)
{
    const crd_zarr_layout *l = &array->layout;
    const int64_t bytes = crd_zarr_index_bytes(array), whole = bytes + (l->index_sum ? SUM : 0);
    unsigned char sum[SUM];
    if (file_bytes < whole) {
        return crd_fail(CRD_ERR_FORMAT, "%s is damaged: its %lld bytes are fewer than the index of a shard has",
                        array->path, (long long)file_bytes);
    }
    const int64_t start = l->index_first ? 0 : file_bytes - whole;
    CRD_PASS(crd_read_at(fd, array->path, start, out, (size_t)bytes));
    if (l->index_sum) {
        CRD_PASS(crd_read_at(fd, array->path, start + bytes, sum, SUM));
        if (crd_crc32c(0, out, (size_t)bytes) != crd_little_endian(sum, SUM)) {
            return crd_fail(CRD_ERR_FORMAT, "%s is damaged: its index has another checksum (crc32c) than it should",
                            array->path);
        }
    }
    if (l->index_swap) crd_swap_bytes(out, 2 * array->places, sizeof(uint64_t));
    return CRD_OK;
}

static crd_status find_in_file(crd_zarr_array *array, const int64_t index[3], int fd, int64_t file_bytes,
                               crd_zarr_place *out)
{
    crd_status status = CRD_OK;
    const int64_t shard = shard_of(array, index), bytes = crd_zarr_index_bytes(array);
    crd_block *block = crd_block_cache_find(array->cache, INDEXES, shard, bytes);
    if (block == NULL) {
        CRD_TRY(crd_block_cache_add(array->cache, INDEXES, shard, bytes, &block));
        CRD_TRY(read_index(array, fd, file_bytes, block->data));
        crd_block_cache_publish(array->cache, block);
    }
    *out = ((const crd_zarr_place *)block->data)[place_of(array, index)];
done:
    crd_block_cache_release(array->cache, &block);
    return status;
}

crd_status crd_zarr_find_in_shard(crd_zarr_array *array, const int64_t index[3], int fd, int64_t file_bytes,
                                  crd_zarr_place *out)
{
    if (array->index != NULL) { /* it is being written */
        *out = array->index[shard_of(array, index) * array->places + place_of(array, index)];
        return CRD_OK;
    }
    CRD_PASS(find_in_file(array, index, fd, file_bytes, out));
    const uint64_t length = (uint64_t)file_bytes;
    if ((out->offset == CRD_ZARR_EMPTY && out->bytes == CRD_ZARR_EMPTY) ||
        (out->offset <= length && out->bytes <= length - out->offset)) {
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_FORMAT, "%s is damaged: its index says that a chunk lies at %llu to %llu of %lld bytes",
                    array->path, (unsigned long long)out->offset, (unsigned long long)(out->offset + out->bytes),
                    (long long)file_bytes);
}

/* ---- writing ---- */

crd_status crd_zarr_add_to_shard(crd_zarr_array *array, const int64_t index[3], const char *data, size_t bytes)
{
    const int64_t shard = shard_of(array, index);
    crd_zarr_place *place = &array->index[shard * array->places + place_of(array, index)];
    const bool again = place->bytes == bytes; /* never empty: no chunk has so many */
    const int64_t offset = again ? (int64_t)place->offset : array->ends[shard];
    int fd = -1;
    CRD_PASS(crd_zarr_open_to_write(array->path, array->ends[shard] == 0 ? O_WRONLY | O_TRUNC : O_WRONLY, &fd));
    crd_status status = crd_write_at(fd, array->path, offset, data, bytes);
    if (crd_close(fd) != 0 && status == CRD_OK) status = crd_fail_errno("%s can't be written", array->path);
    if (status != CRD_OK || again) return status;
    *place = (crd_zarr_place){.offset = (uint64_t)offset, .bytes = bytes};
    array->ends[shard] = offset + (int64_t)bytes;
    return CRD_OK;
}

/* Do the chunks lie one behind the other, in the order of the index? Then a shard has the same bytes whatever order it
 * was written in. */
static bool in_order(const crd_zarr_array *array, const crd_zarr_place *places, int64_t end)
{
    uint64_t at = 0;
    for (int64_t i = 0; i < array->places; i++) {
        if (places[i].bytes == CRD_ZARR_EMPTY) continue;
        if (places[i].offset != at) return false;
        at += places[i].bytes;
    }
    return at == (uint64_t)end;
}

/* Copies the chunks of the shard at array->path to another file, in order. */
static crd_status copy_in_order(crd_zarr_array *array, crd_zarr_place *places, const char *target, int64_t *end)
{
    crd_status status = CRD_OK;
    int from = -1, to = -1;
    int64_t bytes = 0;
    *end = 0;
    CRD_TRY(crd_zarr_open_file(array, &from, &bytes));
    if (from < 0) CRD_FAIL(CRD_ERR_SYSTEM, "%s is gone while it is written", array->path);
    CRD_TRY(crd_zarr_open_to_write(target, O_WRONLY | O_TRUNC, &to));
    for (int64_t i = 0; i < array->places; i++) {
        if (places[i].bytes == CRD_ZARR_EMPTY) continue;
        const size_t count = (size_t)places[i].bytes;
        CRD_TRY(crd_read_at(from, array->path, (int64_t)places[i].offset, array->packed, count));
        CRD_TRY(crd_write_at(to, array->path, *end, array->packed, count));
        places[i].offset = (uint64_t)*end;
        *end += (int64_t)count;
    }
done:
    if (from >= 0) (void)close(from);
    if (to >= 0 && crd_close(to) != 0 && status == CRD_OK) status = crd_fail_errno("%s can't be written", array->path);
    return status;
}

static crd_status sort_shard(crd_zarr_array *array, crd_zarr_place *places, int64_t *end)
{
    crd_status status = CRD_OK;
    char *temporary = NULL;
    if (in_order(array, places, *end)) return CRD_OK;
    CRD_TRY(crd_zarr_passing_name(array->path, &temporary));
    status = copy_in_order(array, places, temporary, end);
    if (status == CRD_OK && rename(temporary, array->path) != 0) {
        status = crd_fail_errno("can't rename %s to %s", temporary, array->path);
    }
    if (status != CRD_OK) (void)unlink(temporary);
done:
    crd_free(&temporary);
    return status;
}

static crd_status finish_shard(crd_zarr_array *array, const int64_t shard[3])
{
    crd_status status = CRD_OK;
    const crd_zarr_layout *l = &array->layout;
    const int64_t number = (shard[0] * array->shards[1] + shard[1]) * array->shards[2] + shard[2];
    const int64_t index[3] = {shard[0] * l->shard[0], shard[1] * l->shard[1], shard[2] * l->shard[2]};
    const size_t bytes = (size_t)crd_zarr_index_bytes(array);
    crd_zarr_place *places = array->index + number * array->places;
    int64_t end = array->ends[number];
    unsigned char sum[SUM];
    int fd = -1;
    if (end == 0) return CRD_OK; /* nothing was written there */
    crd_zarr_name_chunk(array, index);
    CRD_TRY(sort_shard(array, places, &end));
    const uint32_t crc = crd_crc32c(0, places, bytes);
    for (int i = 0; i < SUM; i++) sum[i] = (unsigned char)(crc >> 8 * i);
    CRD_TRY(crd_zarr_open_to_write(array->path, O_WRONLY, &fd));
    CRD_TRY(crd_write_at(fd, array->path, end, places, bytes));
    CRD_TRY(crd_write_at(fd, array->path, end + (int64_t)bytes, sum, SUM));
done:
    if (fd >= 0 && crd_close(fd) != 0 && status == CRD_OK) status = crd_fail_errno("%s can't be written", array->path);
    return status;
}

crd_status crd_zarr_finish_shards(crd_zarr_array *array)
{
    int64_t shard[3];
    for (shard[0] = 0; shard[0] < array->shards[0]; shard[0]++) {
        for (shard[1] = 0; shard[1] < array->shards[1]; shard[1]++) {
            for (shard[2] = 0; shard[2] < array->shards[2]; shard[2]++) CRD_PASS(finish_shard(array, shard));
        }
    }
    return CRD_OK;
}
