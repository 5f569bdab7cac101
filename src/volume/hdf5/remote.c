/* The side of the process that wants voxels. */
#include "volume/hdf5/remote.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/types.h"

/* Chunks of a volume whose places are kept, and of an order; bytes of a box that is read at once. A header may claim
 * more chunks than a file can hold, and each that is asked for takes libhdf5 microseconds: so those nearby, and no
 * more. */
enum { MOST_CHUNKS = 1 << 30, GROUP = 512, MOST_WINDOW = 1 << 23 };

struct crd_hdf5_remote {
    const char *shown;
    crd_helper *helper;
    crd_hdf5_opening *what;
    int64_t chunks, groups;
    crd_hdf5_place **places; /* by groups of GROUP chunks; NULL: not known yet */
    int64_t edges[2];        /* of chunks along z and y that libhdf5 unpacks; 1 where there are none */
};

void crd_hdf5_remote_close(crd_hdf5_remote **pointer)
{
    crd_hdf5_remote *r = *pointer;
    if (r == NULL) return;
    crd_helper_close(&r->helper);
    for (int64_t i = 0; r->places != NULL && i < r->groups; i++) crd_free(&r->places[i]);
    crd_free(&r->places);
    crd_free(&r->what);
    crd_free(pointer);
}

int crd_hdf5_remote_file(const crd_hdf5_remote *remote)
{
    return crd_helper_file(remote->helper);
}

int64_t crd_hdf5_remote_length(const crd_hdf5_remote *remote)
{
    return crd_helper_length(remote->helper);
}

/* After a fork: what it says of the file is known. */
static crd_status start_again(crd_hdf5_remote *r)
{
    crd_hdf5_description about;
    CRD_PASS(crd_helper_start_again(r->helper));
    return crd_helper_ask(r->helper, r->what, sizeof *r->what, &about, sizeof about);
}

/* Anything else in its place may be taken for both. */
static bool is_bool(const bool *said)
{
    return *(const unsigned char *)said <= 1;
}

/* All that is used later, and isn't a matter of taste. */
static bool is_sound(const crd_hdf5_description *d, const crd_hdf5_remote *r, size_t cache_bytes)
{
    const crd_hdf5_array *a = &d->array;
    int64_t bytes;
    for (int i = 0; i < 3; i++) {
        if (a->shape[i] < 1) return false;
    }
    for (int i = 0; i < 4; i++) {
        if (a->chunk[i] < 0) return false;
    }
    if (!is_bool(&a->filtered) || !is_bool(&a->widened) || !is_bool(&d->swap) || !is_bool(&d->grid.swap)) return false;
    if (!crd_type_valid(a->type) || a->channel < -1 || a->channel > 3 || a->chunk_bytes < 0 ||
        crd_product(a->shape[0], a->shape[1], a->shape[2], &bytes) != CRD_OK ||
        crd_product(bytes, (int64_t)crd_type_size(a->type), 1, &bytes) != CRD_OK) {
        return false;
    }
    if (d->way == CRD_HDF5_PLAIN) {
        return d->stored >= 0 && d->stored < CRD_STORED_COUNT && crd_stored_widened(d->stored) == a->type &&
               d->offset >= 0 && d->offset <= crd_helper_length(r->helper);
    }
    if (d->way == CRD_HDF5_BOXES) return true;
    return d->way == CRD_HDF5_CHUNKS && crd_hdf5_grid_is_sound(&d->grid, cache_bytes) && d->grid.type == a->type &&
           memcmp(d->grid.shape, a->shape, sizeof a->shape) == 0 && d->grid.file_bytes <= crd_helper_length(r->helper);
}

static crd_status describe(crd_hdf5_remote *r, const crd_volume *volume, size_t own_cache_bytes,
                           crd_hdf5_description *about)
{
    const char *dataset = volume->dataset;
    crd_status status = CRD_OK;
    CRD_TRY(crd_alloc(1, sizeof *r->what, "a question", &r->what));
    crd_hdf5_opening *what = r->what;
    if (strlen(r->shown) >= sizeof what->shown || (dataset != NULL && strlen(dataset) >= sizeof what->dataset)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is a name of more than %d letters", r->shown, CRD_HDF5_NAME - 1);
    }
    snprintf(what->file, sizeof what->file, "%s", volume->file);
    snprintf(what->shown, sizeof what->shown, "%s", r->shown);
    snprintf(what->dataset, sizeof what->dataset, "%s", dataset != NULL ? dataset : "");
    what->length = crd_helper_length(r->helper);
    what->cache_bytes = (int64_t)volume->cache_bytes;
    what->own_cache_bytes = (int64_t)own_cache_bytes;
    what->data_limit = crd_available_memory();
    CRD_TRY(crd_helper_ask(r->helper, what, sizeof *what, about, sizeof *about));
    about->info.unit[sizeof about->info.unit - 1] = '\0';
    if (!is_sound(about, r, volume->cache_bytes))
        CRD_FAIL(CRD_ERR_FORMAT, "%s is described in a way that can't be", r->shown);
    for (int i = 0; i < 2; i++) {
        const int64_t edge = about->array.chunk[i + (about->array.channel == 0)];
        r->edges[i] = edge > 0 ? edge : 1;
    }
    if (about->way == CRD_HDF5_CHUNKS) { /* too many to keep their places: libhdf5 has it all */
        const crd_hdf5_grid *g = &about->grid;
        if (crd_product(g->counts[0], g->counts[1], g->counts[2], &r->chunks) != CRD_OK || r->chunks > MOST_CHUNKS) {
            about->way = CRD_HDF5_BOXES;
            goto done;
        }
        r->groups = (r->chunks - 1) / GROUP + 1;
        CRD_TRY(crd_alloc(r->groups, sizeof *r->places, "the places of chunks", &r->places));
    }
done:
    return status;
}

crd_status crd_hdf5_remote_open(const crd_volume *volume, size_t own_cache_bytes, crd_hdf5_remote **out,
                                crd_hdf5_description *about)
{
    crd_status status = CRD_OK;
    crd_hdf5_remote *r = NULL;
    char mark[CRD_HELPER_MARK];
    CRD_TRY(crd_alloc(1, sizeof *r, "a volume", &r));
    r->shown = volume->path;
    crd_hdf5_mark(mark);
    CRD_TRY(crd_helper_start(volume->file, volume->path, mark, &r->helper));
    CRD_TRY(describe(r, volume, own_cache_bytes, about));
    *out = r;
    r = NULL;
done:
    crd_hdf5_remote_close(&r);
    return status;
}

static crd_status learn_group(crd_hdf5_remote *r, int64_t group)
{
    crd_status status = CRD_OK;
    crd_hdf5_place *places = NULL;
    const int64_t first = group * GROUP, count = r->chunks - first < GROUP ? r->chunks - first : GROUP;
    const int64_t bytes = count * (int64_t)sizeof *places;
    const crd_hdf5_order order = {
        .window = bytes > crd_helper_window_bytes(r->helper) ? bytes : crd_helper_window_bytes(r->helper),
        .first = first,
        .count = count};
    CRD_TRY(crd_alloc(count, sizeof *places, "the places of chunks", &places));
    CRD_TRY(crd_helper_widen(r->helper, order.window));
    CRD_TRY(crd_helper_ask(r->helper, &order, sizeof order, NULL, 0));
    memcpy(places, crd_helper_window(r->helper), (size_t)bytes);
    r->places[group] = places;
    places = NULL;
done:
    crd_free(&places);
    return status;
}

crd_status crd_hdf5_remote_place(crd_hdf5_remote *r, const crd_hdf5_grid *grid, const int64_t index[3],
                                 crd_hdf5_place *out)
{
    const int64_t chunk = (index[0] * grid->counts[1] + index[1]) * grid->counts[2] + index[2];
    if (r->places[chunk / GROUP] == NULL) {
        if (crd_helper_left_behind(r->helper)) CRD_PASS(start_again(r));
        CRD_PASS(learn_group(r, chunk / GROUP));
    }
    *out = r->places[chunk / GROUP][chunk % GROUP];
    return CRD_OK;
}

/* What one order takes of an axis: so many voxels from `at` as `most` allows, but up to the border of a chunk where one
 * is in reach, since libhdf5 unpacks a chunk again for each order that cuts it and that its cache doesn't outlast. */
static int64_t step(int64_t at, int64_t end, int64_t edge, int64_t most)
{
    if (most < 1) most = 1;
    if (end - at <= most) return end - at;
    const int64_t border = (at + most) / edge * edge;
    return border > at ? border - at : most;
}

static crd_status read_part(crd_hdf5_remote *r, const crd_box *part, const crd_box *box, size_t size, char *voxels)
{
    const int64_t row = box->size[2] * (int64_t)size, some = part->size[1] * row, bytes = part->size[0] * some;
    const int64_t held = crd_helper_window_bytes(r->helper);
    const crd_hdf5_order order = {.window = bytes > held ? bytes : held, .box = *part};
    CRD_PASS(crd_helper_widen(r->helper, order.window));
    CRD_PASS(crd_helper_ask(r->helper, &order, sizeof order, NULL, 0));
    const int64_t first = (part->origin[0] - box->origin[0]) * box->size[1] + part->origin[1] - box->origin[1];
    for (int64_t z = 0; z < part->size[0]; z++) {
        memcpy(voxels + (first + z * box->size[1]) * row, crd_helper_window(r->helper) + z * some, (size_t)some);
    }
    return CRD_OK;
}

crd_status crd_hdf5_remote_read(crd_hdf5_remote *r, const crd_box *box, size_t size, void *voxels)
{
    const int64_t row = box->size[2] * (int64_t)size, rows = MOST_WINDOW / row > 0 ? MOST_WINDOW / row : 1;
    const int64_t end[2] = {box->origin[0] + box->size[0], box->origin[1] + box->size[1]};
    crd_box part = *box;
    if (crd_helper_left_behind(r->helper)) CRD_PASS(start_again(r));
    while (part.origin[0] < end[0]) {
        /* Whole slices; or, where the shared memory holds no layer of chunks, a part of each of its slices. */
        const int64_t layer = step(part.origin[0], end[0], r->edges[0], r->edges[0]);
        part.size[0] = step(part.origin[0], end[0], r->edges[0], rows / box->size[1]);
        if (part.size[0] < layer && rows / layer >= r->edges[1]) part.size[0] = layer;
        for (part.origin[1] = box->origin[1]; part.origin[1] < end[1]; part.origin[1] += part.size[1]) {
            part.size[1] = step(part.origin[1], end[1], r->edges[1], rows / part.size[0]);
            CRD_PASS(read_part(r, &part, box, size, voxels));
        }
        part.origin[0] += part.size[0];
    }
    return CRD_OK;
}
