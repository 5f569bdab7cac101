#include "volume/hdf5/chunks.h"

#include <string.h>

#include "base/file.h"
#include "base/hdf5/lock.h"
#include "base/hdf5/source.h"
#include "base/memory.h"
#include "volume/hdf5/filters.h"
#include "volume/hdf5/remote.h"
#include "volume/types.h"

enum { REASON = 256 };

struct crd_hdf5_chunks {
    crd_hdf5_grid grid;
    hid_t dataset, memory_type; /* the array's, where libhdf5 is in this process */
    crd_hdf5_remote *remote;    /* else */
    const char *shown;
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

/* A file says nothing, or a number of its own type. */
static bool read_fill(hid_t creation, hid_t memory_type, unsigned char fill[8])
{
    H5D_fill_value_t defined;
    memset(fill, 0, 8);
    return H5Pfill_value_defined(creation, &defined) >= 0 &&
           (defined == H5D_FILL_VALUE_UNDEFINED || H5Pget_fill_value(creation, memory_type, fill) >= 0);
}

static bool understand(const crd_hdf5_array *array, hid_t creation, size_t cache_bytes, crd_hdf5_grid *out)
{
    unsigned options = 0;
    const hid_t type = H5Dget_type(array->dataset);
    const crd_hdf5_layout *source = crd_hdf5_source_layout(array->dataset);
    bool good = type >= 0 && source != NULL && crd_hdf5_plain_type(type, &out->stored, &out->swap);
    if (type >= 0) (void)H5Tclose(type);
    good =
        good && H5Pget_chunk_opts(creation, &options) >= 0 && options == 0 && read_pipeline(creation, &out->pipeline);
    good = good && (array->channel < 0 || array->chunk[array->channel] == 1);
    if (!good || !read_fill(creation, array->memory_type, out->fill)) return false;
    out->file_bytes = (int64_t)source->end;
    out->channel = array->channel;
    out->type = array->type;
    out->size = crd_stored_size(out->stored);
    for (int i = 0; i < 3; i++) {
        out->shape[i] = array->shape[i];
        out->chunk[i] = array->chunk[i + (array->channel == 0)];
        if (out->shape[i] < 1 || out->chunk[i] < 1) return false;
        out->counts[i] = (out->shape[i] - 1) / out->chunk[i] + 1;
    }
    return crd_hdf5_grid_is_sound(out, cache_bytes);
}

bool crd_hdf5_understand(const crd_hdf5_array *array, size_t cache_bytes, crd_hdf5_grid *out)
{
    if (array->layout != H5D_CHUNKED) return false;
    const hid_t creation = H5Dget_create_plist(array->dataset);
    memset(out, 0, sizeof *out);
    const bool good = creation >= 0 && understand(array, creation, cache_bytes, out);
    if (creation >= 0) (void)H5Pclose(creation);
    return good;
}

bool crd_hdf5_grid_is_sound(const crd_hdf5_grid *g, size_t cache_bytes)
{
    int64_t bytes;
    const crd_hdf5_pipeline *p = &g->pipeline;
    if (g->stored < 0 || g->stored >= CRD_STORED_COUNT || !crd_type_valid(g->type)) return false;
    if (g->size != crd_stored_size(g->stored) || g->size != crd_type_size(g->type) || g->channel < -1 ||
        g->channel > 3 || p->count < 0 || p->count > CRD_HDF5_FILTERS || p->value_bytes > g->size ||
        crd_stored_widened(g->stored) != g->type) {
        return false;
    }
    for (int i = 0; i < p->count; i++) {
        if (p->filters[i] != CRD_HDF5_DEFLATE && p->filters[i] != CRD_HDF5_SHUFFLE &&
            p->filters[i] != CRD_HDF5_FLETCHER32)
            return false;
    }
    for (int i = 0; i < 3; i++) {
        if (g->shape[i] < 1 || g->chunk[i] < 1 || g->counts[i] != (g->shape[i] - 1) / g->chunk[i] + 1) return false;
    }
    return crd_product(g->shape[0], g->shape[1], g->shape[2], &bytes) == CRD_OK &&
           crd_product(g->chunk[0], g->chunk[1], g->chunk[2], &bytes) == CRD_OK &&
           crd_product(bytes, (int64_t)g->size, 1, &bytes) == CRD_OK && bytes <= (int64_t)(cache_bytes / 2);
}

static crd_status new_chunks(const crd_hdf5_grid *grid, const char *shown, size_t cache_bytes, crd_block_cache **shared,
                             crd_hdf5_chunks **out)
{
    crd_status status = CRD_OK;
    crd_hdf5_chunks *chunks = NULL;
    CRD_TRY(crd_alloc(1, sizeof *chunks, "a volume", &chunks));
    chunks->grid = *grid;
    chunks->dataset = H5I_INVALID_HID;
    chunks->shown = shown;
    CRD_TRY(crd_block_cache_open(cache_bytes, shared, &chunks->cache));
    *out = chunks;
    chunks = NULL;
done:
    crd_hdf5_close_chunks(&chunks);
    return status;
}

crd_status crd_hdf5_open_chunks(const crd_hdf5_array *array, const char *shown, size_t cache_bytes,
                                crd_block_cache **shared, crd_hdf5_chunks **out)
{
    crd_hdf5_grid grid;
    *out = NULL;
    if (!crd_hdf5_understand(array, cache_bytes, &grid)) return CRD_OK;
    CRD_PASS(new_chunks(&grid, shown, cache_bytes, shared, out));
    (*out)->dataset = array->dataset;
    (*out)->memory_type = array->memory_type;
    return CRD_OK;
}

crd_status crd_hdf5_open_chunks_apart(crd_hdf5_remote *remote, const crd_hdf5_grid *grid, const char *shown,
                                      size_t cache_bytes, crd_block_cache **shared, crd_hdf5_chunks **out)
{
    CRD_PASS(new_chunks(grid, shown, cache_bytes, shared, out));
    (*out)->remote = remote;
    return CRD_OK;
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

/* A chunk that was never written. */
static void fill(const crd_hdf5_grid *grid, int64_t count, char *out)
{
    for (int64_t i = 0; i < count; i++) memcpy(out + (size_t)i * grid->size, grid->fill, grid->size);
}

/* More than packing can need. */
static bool is_too_large(const crd_hdf5_grid *g, uint64_t bytes)
{
    const int64_t chunk_bytes = g->chunk[0] * g->chunk[1] * g->chunk[2] * (int64_t)g->size;
    return bytes > 2 * (uint64_t)chunk_bytes + (1 << 16);
}

static crd_status lost_chunk(const char *shown)
{
    char reason[REASON];
    return crd_fail(CRD_ERR_FORMAT, "%s can't be read and may be damaged: %s", shown,
                    crd_hdf5_reason(reason, sizeof reason));
}

/* A voxel of a chunk that was never written is what libhdf5 fills it with, and it reads nothing for it. Where it can't
 * tell, because the index of the chunks is damaged, it fails. */
static crd_status check_never_written(hid_t dataset, const crd_hdf5_grid *grid, const hsize_t offset[4],
                                      const char *shown, crd_hdf5_voxel *voxel)
{
    static const hsize_t one[4] = {1, 1, 1, 1};
    crd_status status = CRD_OK;
    double value;
    uint64_t place, bytes;
    if (voxel->chosen < 0) voxel->chosen = H5Dget_space(dataset);
    if (voxel->alone < 0) voxel->alone = H5Screate_simple(grid->channel < 0 ? 3 : 4, one, NULL);
    crd_hdf5_source_note();
    if (voxel->chosen < 0 || voxel->alone < 0 ||
        H5Sselect_hyperslab(voxel->chosen, H5S_SELECT_SET, offset, NULL, one, NULL) < 0 ||
        H5Dread(dataset, H5T_NATIVE_DOUBLE, voxel->alone, voxel->chosen, H5P_DEFAULT, &value) < 0) {
        status = lost_chunk(shown);
    }
    if (crd_hdf5_source_noted(&place, &bytes) > 0 && status == CRD_OK) status = lost_chunk(shown);
    return status;
}

void crd_hdf5_close_voxel(crd_hdf5_voxel *voxel)
{
    if (voxel->alone >= 0) (void)H5Sclose(voxel->alone);
    if (voxel->chosen >= 0) (void)H5Sclose(voxel->chosen);
    voxel->alone = voxel->chosen = H5I_INVALID_HID;
}

crd_status crd_hdf5_find_chunk(hid_t dataset, const crd_hdf5_grid *grid, const int64_t index[3], const char *shown,
                               crd_hdf5_voxel *voxel, crd_hdf5_place *out)
{
    hsize_t offset[4] = {0}, size = 0;
    char nothing;
    *out = (crd_hdf5_place){0};
    for (int i = 0; i < 3; i++) offset[i + (grid->channel == 0)] = (hsize_t)(index[i] * grid->chunk[i]);
    /* Depending on the version, a chunk that isn't there has no bytes or is an error, as a damaged index is. */
    if (H5Dget_chunk_storage_size(dataset, offset, &size) < 0 || size == 0) {
        return check_never_written(dataset, grid, offset, shown, voxel);
    }
    if (is_too_large(grid, size)) { /* the caller refuses it */
        out->bytes = size;
        return CRD_OK;
    }
    crd_hdf5_source_note();
    const herr_t result = H5Dread_chunk(dataset, H5P_DEFAULT, offset, &out->skipped, &nothing);
    const int times = crd_hdf5_source_noted(&out->offset, &out->bytes);
    if (result < 0) return lost_chunk(shown);
    if (times == 1 && out->bytes == size) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "%s can't be read: libhdf5 looks for a chunk in %d places", shown, times);
}

/* By libhdf5 in this process. */
static crd_status find_here(const crd_hdf5_chunks *chunks, const int64_t index[3], crd_hdf5_place *out)
{
    crd_hdf5_voxel voxel = CRD_HDF5_NO_VOXEL;
    const crd_status status = crd_hdf5_find_chunk(chunks->dataset, &chunks->grid, index, chunks->shown, &voxel, out);
    crd_hdf5_close_voxel(&voxel);
    return status;
}

/* A chunk's place, checked, whoever says it. */
static crd_status find(crd_hdf5_chunks *chunks, const int64_t index[3], size_t chunk_bytes, crd_hdf5_place *out)
{
    const crd_hdf5_grid *g = &chunks->grid;
    CRD_PASS(chunks->remote != NULL ? crd_hdf5_remote_place(chunks->remote, g, index, out)
                                    : find_here(chunks, index, out));
    if (out->bytes == CRD_HDF5_LOST) {
        return crd_fail(CRD_ERR_FORMAT, "%s can't be read and may be damaged: libhdf5 can't find a chunk",
                        chunks->shown);
    }
    if (out->bytes > (uint64_t)g->file_bytes || out->offset > (uint64_t)g->file_bytes - out->bytes) {
        return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk of %llu bytes in a file of %lld", chunks->shown,
                        (unsigned long long)out->bytes, (long long)g->file_bytes);
    }
    if (is_too_large(g, out->bytes)) {
        return crd_fail(CRD_ERR_FORMAT, "%s is damaged: a chunk of %zu bytes is packed into %llu", chunks->shown,
                        chunk_bytes, (unsigned long long)out->bytes);
    }
    return CRD_OK;
}

/* In the first buffer: the chunk's bytes as they are in the file; or, of a chunk that was never written, 0 bytes and
 * the finished voxels. */
static crd_status fetch(crd_hdf5_chunks *chunks, const int64_t index[3], int64_t count, crd_hdf5_place *place)
{
    const crd_hdf5_layout *source;
    const size_t chunk_bytes = (size_t)count * chunks->grid.size, decoded = chunk_bytes + 4 * CRD_HDF5_FILTERS;
    int fd = -1;
    if (chunks->remote != NULL) {
        CRD_PASS(find(chunks, index, chunk_bytes, place));
        fd = crd_hdf5_remote_file(chunks->remote);
    } else {
        crd_hdf5_lock();
        const crd_status status = find(chunks, index, chunk_bytes, place);
        source = status == CRD_OK ? crd_hdf5_source_layout(chunks->dataset) : NULL;
        if (source != NULL) fd = source->fd;
        crd_hdf5_unlock();
        CRD_PASS(status);
    }
    CRD_PASS(grow_buffers(chunks, decoded > (size_t)place->bytes ? decoded : (size_t)place->bytes));
    if (place->bytes > 0) {
        return crd_read_at(fd, chunks->shown, (int64_t)place->offset, chunks->buffers[0], (size_t)place->bytes);
    }
    fill(&chunks->grid, count, chunks->buffers[0]);
    return CRD_OK;
}

/* A chunk's voxels in their final form: from the cache, or from the file; into the cache if they are to be kept. Where
 * they lie there, *held is to be released. */
static crd_status get_chunk(crd_hdf5_chunks *chunks, const int64_t index[3], bool keep, crd_block **held, char **out)
{
    crd_status status = CRD_OK;
    const crd_hdf5_grid *g = &chunks->grid;
    const int64_t key = (index[0] * g->counts[1] + index[1]) * g->counts[2] + index[2];
    const int64_t count = g->chunk[0] * g->chunk[1] * g->chunk[2];
    const size_t chunk_bytes = (size_t)count * g->size;
    crd_hdf5_place place;
    *held = crd_block_cache_find(chunks->cache, 0, key, (int64_t)chunk_bytes);
    if (*held != NULL) {
        *out = (*held)->data;
        return CRD_OK;
    }
    CRD_TRY(fetch(chunks, index, count, &place));
    *out = chunks->buffers[0];
    if (place.bytes > 0) {
        CRD_TRY(crd_hdf5_decode(&g->pipeline, place.skipped, chunks->shown, chunks->buffers[0], (size_t)place.bytes,
                                chunks->buffers[1], chunk_bytes, out));
        if (g->swap) crd_swap_bytes(*out, count, g->size);
        crd_shared_step(g->stored, count, g->type, *out);
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
        start[i] = index[i] * chunks->grid.chunk[i];
        const int64_t box_end = box->origin[i] + box->size[i], chunk_end = start[i] + chunks->grid.chunk[i];
        first[i] = box->origin[i] > start[i] ? box->origin[i] : start[i];
        end[i] = box_end < chunk_end ? box_end : chunk_end;
        whole = whole && first[i] == start[i] && (end[i] == chunk_end || end[i] == chunks->grid.shape[i]);
    }
    CRD_PASS(get_chunk(chunks, index, !(once && whole), &held, &chunk));
    const size_t row = (size_t)(end[2] - first[2]) * chunks->grid.size;
    for (int64_t z = first[0]; z < end[0]; z++) {
        for (int64_t y = first[1]; y < end[1]; y++) {
            const int64_t from =
                ((z - start[0]) * chunks->grid.chunk[1] + y - start[1]) * chunks->grid.chunk[2] + first[2] - start[2];
            const int64_t to =
                ((z - box->origin[0]) * box->size[1] + y - box->origin[1]) * box->size[2] + first[2] - box->origin[2];
            memcpy(voxels + (size_t)to * chunks->grid.size, chunk + (size_t)from * chunks->grid.size, row);
        }
    }
    crd_block_cache_release(chunks->cache, &held);
    return CRD_OK;
}

crd_status crd_hdf5_read_chunks(crd_hdf5_chunks *chunks, const crd_box *box, bool once, void *voxels)
{
    int64_t low[3], high[3], index[3];
    for (int i = 0; i < 3; i++) {
        low[i] = box->origin[i] / chunks->grid.chunk[i];
        high[i] = (box->origin[i] + box->size[i] - 1) / chunks->grid.chunk[i];
    }
    for (index[0] = low[0]; index[0] <= high[0]; index[0]++) {
        for (index[1] = low[1]; index[1] <= high[1]; index[1]++) {
            for (index[2] = low[2]; index[2] <= high[2]; index[2]++)
                CRD_PASS(copy_part(chunks, box, index, once, voxels));
        }
    }
    return CRD_OK;
}
