#include "volume/hdf5/chunks.h"

#include <string.h>

#include "base/hdf5/lock.h"
#include "base/hdf5/source.h"
#include "base/memory.h"
#include "volume/hdf5/filters.h"
#include "volume/types.h"

enum { REASON = 256 };

struct crd_hdf5_chunks {
    hid_t dataset, memory_type; /* the array's */
    const char *shown;
    int channel;
    int64_t shape[3], chunk[3], counts[3]; /* of the volume, of a chunk, of chunks */
    int64_t file_bytes;
    crd_type type;
    int stored;
    bool swap;
    size_t size; /* of a voxel, stored or widened: the same here */
    crd_hdf5_pipeline pipeline;
    crd_block_cache *cache;
    char *buffers[2];
    size_t room; /* of each buffer */
};

static bool read_pipeline(hid_t creation, crd_hdf5_pipeline *out)
{
    out->count = H5Pget_nfilters(creation);
    if (out->count < 0 || out->count > CRD_HDF5_FILTERS) return false;
    for (int i = 0; i < out->count; i++) {
        unsigned flags = 0, config = 0, value = 0;
        size_t values = 1;
        const H5Z_filter_t filter = H5Pget_filter2(creation, (unsigned)i, &flags, &values, &value, 0, NULL, &config);
        if (filter == H5Z_FILTER_SHUFFLE && values > 0) out->value_bytes = value;
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
            return false;
        out->filters[i] = (crd_hdf5_filter)filter;
    }
    return true;
}

/* Everything that our own way needs; false leaves the dataset to libhdf5. */
static bool understand(const crd_hdf5_array *array, hid_t creation, size_t cache_bytes, crd_hdf5_chunks *out)
{
    unsigned options = 0;
    const hid_t type = H5Dget_type(array->dataset);
    bool good = type >= 0 && crd_hdf5_plain_type(type, &out->stored, &out->swap);
    if (type >= 0) (void)H5Tclose(type);
    good =
        good && H5Pget_chunk_opts(creation, &options) >= 0 && options == 0 && read_pipeline(creation, &out->pipeline);
    good = good && (array->channel < 0 || array->chunk[array->channel] == 1);
    if (!good) return false;
    out->dataset = array->dataset;
    out->memory_type = array->memory_type;
    out->channel = array->channel;
    out->type = array->type;
    out->size = crd_stored_size(out->stored);
    if (out->pipeline.value_bytes > out->size) return false;
    for (int i = 0; i < 3; i++) {
        out->shape[i] = array->shape[i];
        out->chunk[i] = array->chunk[i + (array->channel == 0)];
        out->counts[i] = (out->shape[i] - 1) / out->chunk[i] + 1;
    }
    return crd_type_size(out->type) == out->size && array->chunk_bytes <= (int64_t)cache_bytes / 2;
}

crd_status crd_hdf5_open_chunks(const crd_hdf5_array *array, const char *shown, size_t cache_bytes,
                                crd_block_cache **shared, crd_hdf5_chunks **out)
{
    crd_status status = CRD_OK;
    crd_hdf5_chunks *chunks = NULL;
    hid_t creation = H5I_INVALID_HID;
    *out = NULL;
    if (array->layout != H5D_CHUNKED || array->shape[0] < 1 || array->shape[1] < 1 || array->shape[2] < 1) goto done;
    CRD_TRY(crd_alloc(1, sizeof *chunks, "a volume", &chunks));
    creation = H5Dget_create_plist(array->dataset);
    if (creation < 0 || !understand(array, creation, cache_bytes, chunks)) goto done;
    const crd_hdf5_layout *source = crd_hdf5_source_layout(array->dataset);
    if (source == NULL) CRD_FAIL(CRD_ERR_FORMAT, "%s can't be read", shown);
    chunks->file_bytes = (int64_t)source->end;
    chunks->shown = shown;
    CRD_TRY(crd_block_cache_open(cache_bytes, shared, &chunks->cache));
    *out = chunks;
    chunks = NULL;
done:
    if (creation >= 0) (void)H5Pclose(creation);
    crd_hdf5_close_chunks(&chunks);
    return status;
}

void crd_hdf5_close_chunks(crd_hdf5_chunks **chunks)
{
    if (*chunks == NULL) return;
    crd_block_cache_free(&(*chunks)->cache);
    for (int i = 0; i < 2; i++) crd_free(&(*chunks)->buffers[i]);
    crd_free(chunks);
}

static crd_status grow_buffers(crd_hdf5_chunks *chunks, size_t room)
{
    if (room <= chunks->room) return CRD_OK;
    chunks->room = 0;
    for (int i = 0; i < 2; i++) {
        crd_free(&chunks->buffers[i]);
        CRD_PASS(crd_alloc((int64_t)room, 1, "unpacking a chunk", &chunks->buffers[i]));
    }
    chunks->room = room;
    return CRD_OK;
}

/* A chunk that was never written, by libhdf5, which knows what to fill it with. */
static crd_status fill(const crd_hdf5_chunks *chunks, const hsize_t offset[4], char *out)
{
    crd_status status = CRD_OK;
    const int rank = chunks->channel < 0 ? 3 : 4, shift = chunks->channel == 0;
    hsize_t whole[4] = {1, 1, 1, 1}, part[4] = {1, 1, 1, 1}, zero[4] = {0};
    char reason[REASON];
    for (int i = 0; i < 3; i++) {
        const int64_t left = chunks->shape[i] - (int64_t)offset[i + shift];
        whole[i + shift] = (hsize_t)chunks->chunk[i];
        part[i + shift] = (hsize_t)(left < chunks->chunk[i] ? left : chunks->chunk[i]);
    }
    const hid_t memory = H5Screate_simple(rank, whole, NULL), file = H5Dget_space(chunks->dataset);
    if (memory < 0 || file < 0 || H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, part, NULL) < 0 ||
        H5Sselect_hyperslab(file, H5S_SELECT_SET, offset, NULL, part, NULL) < 0 ||
        H5Dread(chunks->dataset, chunks->memory_type, memory, file, H5P_DEFAULT, out) < 0) {
        status = crd_fail(CRD_ERR_FORMAT, "%s can't be read and may be damaged: %s", chunks->shown,
                          crd_hdf5_reason(reason, sizeof reason));
    }
    if (memory >= 0) (void)H5Sclose(memory);
    if (file >= 0) (void)H5Sclose(file);
    return status;
}

/* In the first buffer: the chunk's bytes as they are in the file; or, of a chunk that was never written, 0 bytes and
 * the finished voxels. */
static crd_status fetch(crd_hdf5_chunks *chunks, const int64_t index[3], size_t chunk_bytes, size_t *bytes,
                        unsigned *skipped)
{
    crd_status status = CRD_OK;
    hsize_t offset[4] = {0}, size = 0;
    uint32_t mask = 0;
    char reason[REASON];
    for (int i = 0; i < 3; i++) offset[i + (chunks->channel == 0)] = (hsize_t)(index[i] * chunks->chunk[i]);
    *bytes = 0;
    crd_hdf5_lock();
    /* Depending on the version, a chunk that isn't there has no bytes or is an error; of a real one fill() will tell.
     */
    if (H5Dget_chunk_storage_size(chunks->dataset, offset, &size) < 0 || size == 0) {
        CRD_TRY(fill(chunks, offset, chunks->buffers[0]));
        goto done;
    }
    if (size > (hsize_t)chunks->file_bytes) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is damaged: a chunk of %llu bytes in a file of %lld", chunks->shown,
                 (unsigned long long)size, (long long)chunks->file_bytes);
    }
    if (size > 2 * (hsize_t)chunk_bytes + (1 << 16)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is damaged: a chunk of %zu bytes is packed into %llu", chunks->shown, chunk_bytes,
                 (unsigned long long)size);
    }
    const size_t decoded = chunk_bytes + 4 * CRD_HDF5_FILTERS;
    CRD_TRY(grow_buffers(chunks, decoded > (size_t)size ? decoded : (size_t)size));
    if (H5Dread_chunk(chunks->dataset, H5P_DEFAULT, offset, &mask, chunks->buffers[0]) < 0) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s can't be read and may be damaged: %s", chunks->shown,
                 crd_hdf5_reason(reason, sizeof reason));
    }
    *bytes = (size_t)size;
    *skipped = mask;
done:
    crd_hdf5_unlock();
    return status;
}

/* A chunk's voxels in their final form: from the cache, or from the file; into the cache if they are to be kept. Where
 * they lie there, *held is to be released. */
static crd_status get_chunk(crd_hdf5_chunks *chunks, const int64_t index[3], bool keep, crd_block **held, char **out)
{
    crd_status status = CRD_OK;
    const int64_t key = (index[0] * chunks->counts[1] + index[1]) * chunks->counts[2] + index[2];
    const int64_t count = chunks->chunk[0] * chunks->chunk[1] * chunks->chunk[2];
    const size_t chunk_bytes = (size_t)count * chunks->size;
    size_t bytes = 0;
    unsigned skipped = 0;
    *held = crd_block_cache_find(chunks->cache, 0, key, (int64_t)chunk_bytes);
    if (*held != NULL) {
        *out = (*held)->data;
        return CRD_OK;
    }
    CRD_TRY(grow_buffers(chunks, chunk_bytes + 4 * CRD_HDF5_FILTERS));
    CRD_TRY(fetch(chunks, index, chunk_bytes, &bytes, &skipped));
    *out = chunks->buffers[0];
    if (bytes > 0) {
        CRD_TRY(crd_hdf5_decode(&chunks->pipeline, skipped, chunks->shown, chunks->buffers[0], bytes,
                                chunks->buffers[1], chunk_bytes, out));
        if (chunks->swap) crd_swap_bytes(*out, count, chunks->size);
        crd_shared_step(chunks->stored, count, chunks->type, *out);
    }
    if (!keep) goto done;
    CRD_TRY(crd_block_cache_add(chunks->cache, 0, key, (int64_t)chunk_bytes, held));
    memcpy((*held)->data, *out, chunk_bytes);
    *out = (*held)->data;
    crd_block_cache_publish(chunks->cache, *held);
done:
    return status;
}

/* The part of `box` that lies in the chunk at `index`, to its place among the box's voxels. */
static crd_status copy_part(crd_hdf5_chunks *chunks, const crd_box *box, const int64_t index[3], bool once,
                            char *voxels)
{
    int64_t start[3], first[3], end[3];
    bool whole = true;
    char *chunk = NULL;
    crd_block *held = NULL;
    for (int i = 0; i < 3; i++) {
        start[i] = index[i] * chunks->chunk[i];
        const int64_t box_end = box->origin[i] + box->size[i], chunk_end = start[i] + chunks->chunk[i];
        first[i] = box->origin[i] > start[i] ? box->origin[i] : start[i];
        end[i] = box_end < chunk_end ? box_end : chunk_end;
        whole = whole && first[i] == start[i] && (end[i] == chunk_end || end[i] == chunks->shape[i]);
    }
    CRD_PASS(get_chunk(chunks, index, !(once && whole), &held, &chunk));
    const size_t row = (size_t)(end[2] - first[2]) * chunks->size;
    for (int64_t z = first[0]; z < end[0]; z++) {
        for (int64_t y = first[1]; y < end[1]; y++) {
            const int64_t from =
                ((z - start[0]) * chunks->chunk[1] + y - start[1]) * chunks->chunk[2] + first[2] - start[2];
            const int64_t to =
                ((z - box->origin[0]) * box->size[1] + y - box->origin[1]) * box->size[2] + first[2] - box->origin[2];
            memcpy(voxels + (size_t)to * chunks->size, chunk + (size_t)from * chunks->size, row);
        }
    }
    crd_block_cache_release(chunks->cache, &held);
    return CRD_OK;
}

crd_status crd_hdf5_read_chunks(crd_hdf5_chunks *chunks, const crd_box *box, bool once, void *voxels)
{
    int64_t low[3], high[3], index[3];
    for (int i = 0; i < 3; i++) {
        low[i] = box->origin[i] / chunks->chunk[i];
        high[i] = (box->origin[i] + box->size[i] - 1) / chunks->chunk[i];
    }
    for (index[0] = low[0]; index[0] <= high[0]; index[0]++) {
        for (index[1] = low[1]; index[1] <= high[1]; index[1]++) {
            for (index[2] = low[2]; index[2] <= high[2]; index[2]++)
                CRD_PASS(copy_part(chunks, box, index, once, voxels));
        }
    }
    return CRD_OK;
}
