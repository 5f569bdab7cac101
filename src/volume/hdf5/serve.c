/* The side of the helper: one file, one dataset, until nobody asks any more. */
#include <string.h>

#include "base/hdf5/lock.h"
#include "base/hdf5/sandbox.h"
#include "base/hdf5/serving.h"
#include "base/hdf5/source.h"
#include "base/memory.h"
#include "volume/hdf5/remote.h"

void crd_hdf5_mark(char mark[CRD_HELPER_MARK])
{
    crd_helper_mark("volume",
                    (const size_t[]){sizeof(crd_hdf5_opening), sizeof(crd_hdf5_order), sizeof(crd_hdf5_description)},
                    mark);
}

typedef struct serving {
    crd_hdf5_opening what;
    crd_hdf5_description about;
    crd_hdf5_voxel voxel;
} serving;

static crd_status open_file(serving *s)
{
    hid_t file = H5I_INVALID_HID;
    crd_hdf5_lock();
    crd_status status = crd_hdf5_source_take(CRD_HELPER_FILE, s->what.length, s->what.file, &file);
    if (status == CRD_OK) status = crd_hdf5_describe(file, &s->what, &s->about);
    crd_hdf5_unlock();
    return status;
}

static void tell_places(serving *s, int64_t first, int64_t count, char *window)
{
    const crd_hdf5_grid *g = &s->about.grid;
    crd_hdf5_place *to = (crd_hdf5_place *)(void *)window;
    crd_hdf5_lock();
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = (first + i) / g->counts[2];
        const int64_t index[3] = {row / g->counts[1], row % g->counts[1], (first + i) % g->counts[2]};
        if (crd_hdf5_find_chunk(s->about.array.dataset, g, index, s->what.shown, &s->voxel, &to[i]) != CRD_OK) {
            to[i].bytes = CRD_HDF5_LOST; /* the others can be read all the same */
        }
    }
    crd_hdf5_unlock();
}

static crd_status obey(serving *s, const crd_hdf5_order *order)
{
    char *window = NULL;
    CRD_PASS(crd_serving_map(order->window, &window));
    if (order->count > 0) {
        tell_places(s, order->first, order->count, window);
        return CRD_OK;
    }
    return crd_hdf5_read_box(&s->about.array, &order->box, s->what.shown, window);
}

int crd_hdf5_serve_volume(void)
{
    static serving s = {.voxel = CRD_HDF5_NO_VOXEL}; /* for as long as the helper lives */
    crd_hdf5_order order;
    if (!crd_serving_take(&s.what, sizeof s.what)) return 2;
    crd_sandbox_enter(s.what.data_limit);
    const crd_status status = open_file(&s);
    if (!crd_serving_answer(status) || status != CRD_OK) return 0;
    if (!crd_serving_send(&s.about, sizeof s.about)) return 0;
    while (crd_serving_take(&order, sizeof order)) {
        if (!crd_serving_answer(obey(&s, &order))) return 0;
    }
    return 0;
}
