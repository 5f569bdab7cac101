/* HDF5: `file.h5:/dataset`, or the only volume in the file. See find.c for what is a volume. */
#include <string.h>

#include "base/hdf5/lock.h"
#include "base/hdf5/sink.h"
#include "base/hdf5/source.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/hdf5/chunks.h"
#include "volume/hdf5/file.h"
#include "volume/hdf5/remote.h"
#include "volume/types.h"

enum { REASON = 256, CHUNK_DEPTH = 16, CHUNK_EDGE = 128 };
static const char default_dataset[] = "/data";

typedef struct hdf5_state {
    hid_t file;              /* while writing it belongs to the sink */
    crd_hdf5_sink *sink;     /* NULL while reading */
    crd_hdf5_remote *remote; /* who reads for us; NULL: libhdf5 in this process */
    /* Ways past libhdf5 to the voxels; both NULL: through it. A staged volume has the first, and no sink. */
    crd_flat *flat;
    crd_hdf5_chunks *chunks;
    crd_hdf5_array array;
} hdf5_state;

static bool hdf5_sniff(const char *path, const unsigned char *head, size_t count)
{
    static const unsigned char signature[8] = "\x89HDF\r\n\x1a\n";
    (void)path;
    for (size_t at = 0; at + sizeof signature <= count; at = at == 0 ? 512 : at * 2) {
        if (memcmp(head + at, signature, sizeof signature) == 0) return true;
    }
    return false;
}

static crd_status new_state(crd_volume *volume, hdf5_state **out)
{
    CRD_PASS(crd_alloc(1, sizeof **out, "a volume", out));
    (*out)->file = H5I_INVALID_HID;
    (*out)->array.dataset = H5I_INVALID_HID;
    volume->state = *out;
    return CRD_OK;
}

/* A chunk that goes past our own cache is unpacked by libhdf5, which takes memory for all of it. No filter packs as
 * well as that: it is a lie, or nothing was ever written. */
static crd_status check_claim(const crd_hdf5_layout *source, const char *shown, int64_t chunk_bytes)
{
    enum { MOST = 1 << 16 };
    if (source != NULL && (uint64_t)chunk_bytes / MOST <= source->end) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "%s is broken: it speaks of chunks of %lld MiB, and the file has %llu bytes", shown,
                    (long long)(chunk_bytes >> 20), source != NULL ? (unsigned long long)source->end : 0);
}

static bool unpacked_whole(size_t cache_bytes, const crd_hdf5_array *array)
{
    return array->filtered && (size_t)array->chunk_bytes > cache_bytes;
}

static size_t own_cache(const crd_volume *volume)
{
    /* libhdf5's own cache, for what chunks.c doesn't understand, can't be shared. */
    return volume->again ? volume->cache_bytes / 8 : volume->cache_bytes;
}

static crd_status open_locked(crd_volume *volume, hdf5_state *state)
{
    CRD_PASS(crd_hdf5_source_open(volume->file, &state->file));
    CRD_PASS(crd_hdf5_find(state->file, volume->file, volume->dataset, own_cache(volume), &state->array));
    if (unpacked_whole(volume->cache_bytes, &state->array)) {
        CRD_PASS(check_claim(crd_hdf5_source_layout(state->file), volume->path, state->array.chunk_bytes));
    }
    crd_hdf5_read_about(state->array.dataset, &volume->info);
    CRD_PASS(crd_hdf5_open_plain(&state->array, volume->file, volume->path, &state->flat));
    if (state->flat != NULL) return CRD_OK;
    return crd_hdf5_open_chunks(&state->array, volume->path, volume->cache_bytes, &volume->cache, &state->chunks);
}

crd_status crd_hdf5_describe(hid_t file, const crd_hdf5_opening *what, crd_hdf5_description *about)
{
    crd_flat *flat = NULL;
    const size_t cache = (size_t)what->cache_bytes, own = (size_t)what->own_cache_bytes;
    about->info.scale = 1.0;
    CRD_PASS(crd_hdf5_find(file, what->file, what->dataset[0] != '\0' ? what->dataset : NULL, own, &about->array));
    if (unpacked_whole(cache, &about->array)) {
        CRD_PASS(check_claim(crd_hdf5_source_layout(file), what->shown, about->array.chunk_bytes));
    }
    crd_hdf5_read_about(about->array.dataset, &about->info);
    CRD_PASS(crd_hdf5_open_plain(&about->array, what->file, what->shown, &flat));
    about->way = flat != NULL                                              ? CRD_HDF5_PLAIN
                 : crd_hdf5_understand(&about->array, cache, &about->grid) ? CRD_HDF5_CHUNKS
                                                                           : CRD_HDF5_BOXES;
    if (flat != NULL) {
        about->offset = flat->offset;
        about->stored = flat->stored;
        about->swap = flat->swap;
        crd_flat_close(&flat);
    }
    return CRD_OK;
}

/* By the helper, which isn't needed any more where the voxels can be found without it. */
static crd_status open_apart(crd_volume *volume, hdf5_state *state)
{
    crd_hdf5_description about;
    CRD_PASS(crd_hdf5_remote_open(volume, own_cache(volume), &state->remote, &about));
    volume->info = about.info;
    state->array = about.array;
    state->array.dataset = H5I_INVALID_HID;
    if (about.way == CRD_HDF5_CHUNKS) {
        return crd_hdf5_open_chunks_apart(state->remote, &about.grid, volume->path, volume->cache_bytes, &volume->cache,
                                          &state->chunks);
    }
    if (about.way == CRD_HDF5_BOXES) return CRD_OK;
    CRD_PASS(crd_flat_share(volume->file, crd_hdf5_remote_file(state->remote), &state->flat));
    state->flat->offset = about.offset;
    state->flat->stored = about.stored;
    state->flat->swap = about.swap;
    memcpy(state->flat->shape, about.array.shape, sizeof state->flat->shape);
    const int64_t length = crd_hdf5_remote_length(state->remote);
    crd_hdf5_remote_close(&state->remote);
    return crd_flat_check(state->flat, length, NULL);
}

void crd_trust_files(bool trust)
{
    crd_helper_trust(trust);
}

static crd_status open_here(crd_volume *volume, hdf5_state *state)
{
    crd_hdf5_lock();
    const crd_status status = open_locked(volume, state);
    crd_hdf5_unlock();
    return status;
}

static crd_status hdf5_open(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    hdf5_state *state = NULL;
    (void)options;
    CRD_PASS(new_state(volume, &state));
    CRD_PASS(crd_helper_trusted() ? open_here(volume, state) : open_apart(volume, state));
    memcpy(volume->info.shape, state->array.shape, sizeof volume->info.shape);
    volume->info.type = state->array.type;
    volume->layer = state->array.chunk[state->array.channel == 0];
    if (state->array.widened) {
        crd_info(monitor, "%s: its type has no equal here and is read as %s", volume->path,
                 crd_type_name(state->array.type));
    }
    if (unpacked_whole(volume->cache_bytes, &state->array)) {
        crd_warn(monitor, "%s is compressed in pieces of %lld MiB, and each box read must unpack and hold a whole one",
                 volume->path, (long long)(state->array.chunk_bytes >> 20));
    }
    return CRD_OK;
}

/* Moves one box: reads where `in` is given, else writes `out`. A fourth dimension takes part with its single value. */
static crd_status transfer(const crd_hdf5_array *array, const crd_hdf5_sink *sink, const crd_box *box,
                           const char *shown, void *in, const void *out)
{
    crd_status status = CRD_OK;
    hsize_t start[4] = {0}, count[4] = {1, 1, 1, 1};
    hid_t memory = H5I_INVALID_HID, file = H5I_INVALID_HID;
    char reason[REASON];
    for (int i = 0; i < 3; i++) {
        start[i + (array->channel == 0)] = (hsize_t)box->origin[i];
        count[i + (array->channel == 0)] = (hsize_t)box->size[i];
    }
    crd_hdf5_lock();
    memory = H5Screate_simple(array->channel < 0 ? 3 : 4, count, NULL);
    file = H5Dget_space(array->dataset);
    herr_t result = memory < 0 || file < 0 ? -1 : H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL);
    if (out != NULL) {
        if (result >= 0) result = H5Dwrite(array->dataset, array->memory_type, memory, file, H5P_DEFAULT, out);
        CRD_TRY(crd_hdf5_sink_check(sink, result));
        goto done;
    }
    if (result >= 0) result = H5Dread(array->dataset, array->memory_type, memory, file, H5P_DEFAULT, in);
    if (result < 0) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s can't be read and may be damaged: %s", shown,
                 crd_hdf5_reason(reason, sizeof reason));
    }
done:
    if (memory >= 0) (void)H5Sclose(memory);
    if (file >= 0) (void)H5Sclose(file);
    crd_hdf5_unlock();
    return status;
}

crd_status crd_hdf5_read_box(const crd_hdf5_array *array, const crd_box *box, const char *shown, void *voxels)
{
    return transfer(array, NULL, box, shown, voxels, NULL);
}

static crd_status hdf5_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    const hdf5_state *state = volume->state;
    if (state->flat != NULL) return crd_flat_read(state->flat, box, voxels);
    if (state->chunks != NULL) return crd_hdf5_read_chunks(state->chunks, box, volume->read_once, voxels);
    if (state->remote != NULL) {
        return crd_hdf5_remote_read(state->remote, box, crd_type_size(state->array.type), voxels);
    }
    return crd_hdf5_read_box(&state->array, box, volume->path, voxels);
}

static crd_status hdf5_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    const hdf5_state *state = volume->state;
    if (state->flat != NULL) return crd_flat_write(state->flat, box, voxels);
    return transfer(&state->array, state->sink, box, volume->path, NULL, voxels);
}

/* Chunks suit boxes and slabs alike. One layer of them fits the cache, so that slices written one by one meet each
 * chunk while it is still there. */
static void choose_chunk(const crd_volume *volume, hsize_t chunk[3])
{
    const int64_t *shape = volume->info.shape;
    const double slice = (double)shape[1] * (double)shape[2] * (double)crd_type_size(volume->info.type);
    int64_t depth = CHUNK_DEPTH;
    while (depth > 1 && (double)depth * slice > (double)volume->cache_bytes) depth /= 2;
    chunk[0] = (hsize_t)(shape[0] < depth ? shape[0] : depth);
    chunk[1] = (hsize_t)(shape[1] < CHUNK_EDGE ? shape[1] : CHUNK_EDGE);
    chunk[2] = (hsize_t)(shape[2] < CHUNK_EDGE ? shape[2] : CHUNK_EDGE);
}

/* Times are left out, so that equal volumes are equal bytes; what is never written reads as 0. */
static hid_t creation_properties(const crd_volume *volume, const hsize_t chunk[3], int compress)
{
    const uint64_t zero = 0;
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), type = crd_hdf5_memory_type(volume->info.type);
    bool good = creation >= 0 && H5Pset_obj_track_times(creation, false) >= 0 &&
                H5Pset_chunk(creation, 3, chunk) >= 0 && H5Pset_fill_value(creation, type, &zero) >= 0;
    if (good && compress > 0) {
        if (crd_type_size(volume->info.type) > 1) good = H5Pset_shuffle(creation) >= 0;
        good = good && H5Pset_deflate(creation, (unsigned)(compress > 9 ? 9 : compress)) >= 0;
    }
    if (good) return creation;
    if (creation >= 0) (void)H5Pclose(creation);
    return H5I_INVALID_HID;
}

static crd_status create_locked(crd_volume *volume, hdf5_state *state, int compress)
{
    crd_status status = CRD_OK;
    hsize_t dims[3], chunk[3];
    for (int i = 0; i < 3; i++) dims[i] = (hsize_t)volume->info.shape[i];
    choose_chunk(volume, chunk);
    volume->layer = (int64_t)chunk[0];
    const char *name = volume->dataset != NULL ? volume->dataset : default_dataset;
    const hid_t links = H5Pcreate(H5P_LINK_CREATE), creation = creation_properties(volume, chunk, compress);
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS), space = H5Screate_simple(3, dims, NULL);
    const hid_t type = crd_hdf5_memory_type(volume->info.type);
    state->array.memory_type = type;
    state->array.channel = -1;
    CRD_TRY(crd_hdf5_sink_create(volume->write_path, volume->file, false, &state->sink, &state->file));
    if (links < 0 || creation < 0 || access < 0 || space < 0 || H5Pset_create_intermediate_group(links, 1) < 0 ||
        !crd_hdf5_size_cache(access, creation, crd_type_size(volume->info.type), volume->cache_bytes) ||
        (state->array.dataset = H5Dcreate2(state->file, name, type, space, links, creation, access)) < 0 ||
        !crd_hdf5_write_about(state->array.dataset, &volume->info)) {
        status = crd_hdf5_sink_check(state->sink, -1);
    }
done:
    if (links >= 0) (void)H5Pclose(links);
    if (creation >= 0) (void)H5Pclose(creation);
    if (access >= 0) (void)H5Pclose(access);
    if (space >= 0) (void)H5Sclose(space);
    return status;
}

static crd_status finish_locked(hdf5_state *state)
{
    const herr_t closed = H5Dclose(state->array.dataset);
    state->array.dataset = H5I_INVALID_HID;
    CRD_PASS(crd_hdf5_sink_check(state->sink, closed));
    return crd_hdf5_sink_finish(state->sink);
}

/* Boxes in any order, by several processes and over interruptions, are no matter for libhdf5: it makes a file with room
 * for one plain array, the same bytes each time, and the voxels go there past it. */
static crd_status stage_locked(crd_volume *volume, hdf5_state *state, haddr_t *offset)
{
    crd_status status = CRD_OK;
    hsize_t dims[3];
    for (int i = 0; i < 3; i++) dims[i] = (hsize_t)volume->info.shape[i];
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, dims, NULL);
    const hid_t type = crd_hdf5_memory_type(volume->info.type);
    CRD_TRY(crd_hdf5_sink_over(volume->write_path, volume->file, &state->sink, &state->file));
    if (creation < 0 || space < 0 || H5Pset_obj_track_times(creation, false) < 0 ||
        H5Pset_layout(creation, H5D_CONTIGUOUS) < 0 || H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) < 0 ||
        H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) < 0 ||
        (state->array.dataset =
             H5Dcreate2(state->file, default_dataset, type, space, H5P_DEFAULT, creation, H5P_DEFAULT)) < 0 ||
        !crd_hdf5_write_about(state->array.dataset, &volume->info) ||
        (*offset = H5Dget_offset(state->array.dataset)) == HADDR_UNDEF) {
        status = crd_hdf5_sink_check(state->sink, -1);
        goto done;
    }
    CRD_TRY(finish_locked(state));
    crd_hdf5_sink_close(&state->sink);
done:
    if (creation >= 0) (void)H5Pclose(creation);
    if (space >= 0) (void)H5Sclose(space);
    return status;
}

static crd_status hdf5_create(crd_volume *volume, const crd_volume_options *options)
{
    hdf5_state *state = NULL;
    haddr_t offset = 0;
    CRD_PASS(new_state(volume, &state));
    crd_hdf5_lock();
    const crd_status status =
        volume->staged ? stage_locked(volume, state, &offset) : create_locked(volume, state, options->compress);
    crd_hdf5_unlock();
    if (status != CRD_OK || !volume->staged) return status;
    return crd_flat_create_at(volume->write_path, volume->file, &volume->info, (int64_t)offset, false, true,
                              &state->flat);
}

static crd_status hdf5_sync(crd_volume *volume)
{
    const hdf5_state *state = volume->state;
    return crd_flat_sync(state->flat);
}

static crd_status hdf5_finish(crd_volume *volume)
{
    hdf5_state *state = volume->state;
    if (state->flat != NULL) return crd_flat_finish(state->flat);
    crd_hdf5_lock();
    const crd_status status = finish_locked(state);
    crd_hdf5_unlock();
    return status;
}

static void hdf5_close(crd_volume *volume)
{
    hdf5_state *state = volume->state;
    if (state == NULL) return;
    const bool here = state->sink != NULL || state->file >= 0; /* else libhdf5 isn't even begun */
    if (here) crd_hdf5_lock();
    if (state->sink != NULL) crd_hdf5_sink_drop(state->sink);
    if (state->array.dataset >= 0) (void)H5Dclose(state->array.dataset);
    if (state->sink == NULL && state->file >= 0) (void)H5Fclose(state->file);
    crd_hdf5_sink_close(&state->sink);
    if (here) crd_hdf5_unlock();
    crd_flat_close(&state->flat);
    crd_hdf5_close_chunks(&state->chunks);
    crd_hdf5_remote_close(&state->remote);
    crd_free(&volume->state);
}

const crd_format crd_format_hdf5 = {
    .name = "hdf5",
    .suffixes = ".h5 .hdf5 .hdf .nxs",
    .any_order = true,
    .sniff = hdf5_sniff,
    .open = hdf5_open,
    .read = hdf5_read,
    .create = hdf5_create,
    .write = hdf5_write,
    .sync = hdf5_sync,
    .finish = hdf5_finish,
    .close = hdf5_close,
};
