/* The side of the process that wants voxels. */
#include "volume/hdf5/remote.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "volume/types.h"

/* Chunks along z, and bytes of the places of a layer, that are kept; bytes of a box that is read at once. */
enum { MOST_LAYERS = 1 << 20, MOST_PLACES = 1 << 26, MOST_WINDOW = 1 << 26 };

struct crd_hdf5_remote {
    const char *shown;
    crd_helper *helper;
    crd_hdf5_opening *what;
    int64_t layers;
    crd_hdf5_place **places; /* by layer of chunks; NULL: not known yet */
};

void crd_hdf5_remote_close(crd_hdf5_remote **pointer)
{
    crd_hdf5_remote *r = *pointer;
    if (r == NULL) return;
    crd_helper_close(&r->helper);
    for (int64_t i = 0; r->places != NULL && i < r->layers; i++) crd_free(&r->places[i]);
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
    if (about->way == CRD_HDF5_CHUNKS) { /* too many to keep their places: libhdf5 has it all */
        const crd_hdf5_grid *g = &about->grid;
        int64_t places;
        if (g->counts[0] > MOST_LAYERS ||
            crd_product(g->counts[1], g->counts[2], (int64_t)sizeof(crd_hdf5_place), &places) != CRD_OK ||
            places > MOST_PLACES) {
            about->way = CRD_HDF5_BOXES;
            goto done;
        }
        r->layers = g->counts[0];
        CRD_TRY(crd_alloc(r->layers, sizeof *r->places, "the places of chunks", &r->places));
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

static crd_status learn_layer(crd_hdf5_remote *r, const crd_hdf5_grid *grid, int64_t layer)
{
    crd_status status = CRD_OK;
    crd_hdf5_place *places = NULL;
    const int64_t count = grid->counts[1] * grid->counts[2], bytes = count * (int64_t)sizeof *places;
    const crd_hdf5_order order = {
        .window = bytes > crd_helper_window_bytes(r->helper) ? bytes : crd_helper_window_bytes(r->helper),
        .layer = layer};
    CRD_TRY(crd_alloc(count, sizeof *places, "the places of chunks", &places));
    CRD_TRY(crd_helper_widen(r->helper, order.window));
    CRD_TRY(crd_helper_ask(r->helper, &order, sizeof order, NULL, 0));
    memcpy(places, crd_helper_window(r->helper), (size_t)bytes);
    r->places[layer] = places;
    places = NULL;
done:
    crd_free(&places);
    return status;
}

crd_status crd_hdf5_remote_place(crd_hdf5_remote *r, const crd_hdf5_grid *grid, const int64_t index[3],
                                 crd_hdf5_place *out)
{
    if (r->places[index[0]] == NULL) {
        if (crd_helper_left_behind(r->helper)) CRD_PASS(start_again(r));
        CRD_PASS(learn_layer(r, grid, index[0]));
    }
    *out = r->places[index[0]][index[1] * grid->counts[2] + index[2]];
    return CRD_OK;
}

crd_status crd_hdf5_remote_read(crd_hdf5_remote *r, const crd_box *box, size_t size, void *voxels)
{
    char *to = voxels;
    const int64_t row = box->size[2] * (int64_t)size;
    if (crd_helper_left_behind(r->helper)) CRD_PASS(start_again(r));
    int64_t rows = MOST_WINDOW / row;
    if (rows < 1) rows = 1;
    const int64_t slices = rows / box->size[1] > 0 ? rows / box->size[1] : 1;
    if (rows > box->size[1]) rows = box->size[1];
    for (int64_t z = 0; z < box->size[0]; z += slices) {
        for (int64_t y = 0; y < box->size[1]; y += rows) {
            const int64_t deep = box->size[0] - z < slices ? box->size[0] - z : slices;
            const int64_t high = box->size[1] - y < rows ? box->size[1] - y : rows;
            const int64_t bytes = deep * high * row;
            const crd_hdf5_order order = {
                .window = bytes > crd_helper_window_bytes(r->helper) ? bytes : crd_helper_window_bytes(r->helper),
                .layer = -1,
                .box = {{box->origin[0] + z, box->origin[1] + y, box->origin[2]}, {deep, high, box->size[2]}}};
            CRD_PASS(crd_helper_widen(r->helper, order.window));
            CRD_PASS(crd_helper_ask(r->helper, &order, sizeof order, NULL, 0));
            memcpy(to + (z * box->size[1] + y) * row, crd_helper_window(r->helper), (size_t)bytes);
        }
    }
    return CRD_OK;
}
