#include "train/intervals/windows.h"

#include <string.h>

#include "base/memory.h"

/* Voxels of all windows together, whatever could be paid for: they are held in memory. Near the inner borders of a
 * window of tiles labels don't count. */
enum { VOXELS_MOST = 1 << 23, WINDOWS_MOST = 256, WINDOWS_WANTED = 4, MARGIN_MOST = 16 };

static int64_t voxels_of(const int64_t size[3])
{
    return size[0] * size[1] * size[2];
}

/* Of tiles: all that the smallest scan has, if that can be paid for, or a part of it that can be paid for several
 * times, but no less than a chunk. */
static void choose_size(const crd_dataset *data, const crd_request *request, double voxels, int64_t size[3])
{
    const int64_t step = crd_net_step(&request->model->net);
    const int64_t *chunk = crd_model_describe(request->model)->chunk;
    const double most = (double)request->backend->auto_tile_voxels;
    for (int axis = 0; axis < 3; axis++) size[axis] = request->plan.axes[axis].window;
    if (!request->seamless) return;
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t i = 0; i < crd_dataset_scans(data); i++) {
            const int64_t shape = crd_scan_info(crd_dataset_scan(data, i))->shape[axis] / step * step;
            if (i == 0 || shape < size[axis]) size[axis] = shape;
        }
    }
    const bool whole = (double)(voxels_of(size) * crd_dataset_scans(data)) <= voxels;
    double room = whole ? voxels : voxels / WINDOWS_WANTED;
    room = room < most ? room : most;
    while ((double)voxels_of(size) > room) {
        int longest = -1;
        for (int axis = 0; axis < 3; axis++) {
            if (size[axis] - step < chunk[axis]) continue;
            if (longest < 0 || size[axis] * chunk[longest] > size[longest] * chunk[axis]) longest = axis;
        }
        if (longest < 0) return;
        size[longest] -= step;
    }
}

/* The window around a chunk; no two are the same. */
static void add_window(const crd_dataset *data, int64_t number, crd_try_windows *w)
{
    crd_try_window added;
    crd_box chunk;
    added.scan = crd_dataset_scan_of(data, number, &chunk);
    for (int axis = 0; axis < 3; axis++) {
        const int64_t last = crd_scan_info(crd_dataset_scan(data, added.scan))->shape[axis] - w->size[axis];
        const int64_t wanted = chunk.origin[axis] + (chunk.size[axis] - w->size[axis]) / 2;
        added.box.size[axis] = w->size[axis];
        added.box.origin[axis] = wanted < 0 ? 0 : wanted > last ? last : wanted;
    }
    for (int64_t i = 0; i < w->count; i++) {
        if (w->windows[i].scan == added.scan && memcmp(&w->windows[i].box, &added.box, sizeof added.box) == 0) return;
    }
    w->windows[w->count++] = added;
}

/* Takes the labels away beside those faces of the window that aren't the scan's. */
static void hide_border(const crd_box *box, const int64_t shape[3], uint8_t *label)
{
    int64_t low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        const int64_t size = box->size[axis], margin = size / 4 < MARGIN_MOST ? size / 4 : MARGIN_MOST;
        low[axis] = box->origin[axis] > 0 ? margin : 0;
        high[axis] = box->origin[axis] + size < shape[axis] ? size - margin : size;
    }
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            uint8_t *row = label + (z * box->size[1] + y) * box->size[2];
            const bool inner = z >= low[0] && z < high[0] && y >= low[1] && y < high[1];
            for (int64_t x = 0; x < box->size[2]; x++) {
                if (!inner || x < low[2] || x >= high[2]) row[x] = CRD_LABEL_NONE;
            }
        }
    }
}

static crd_status read_window(const crd_dataset *data, bool tiles, crd_try_windows *w, int64_t number)
{
    const crd_try_window *window = &w->windows[number];
    crd_scan *scan = crd_dataset_scan(data, window->scan);
    const int64_t voxels = crd_try_window_voxels(w);
    uint8_t *label = w->labels + number * voxels, *inside = w->inside + number * voxels;
    CRD_PASS(crd_scan_read(scan, &window->box, w->voxels + number * voxels));
    CRD_PASS(crd_scan_read_mask(scan, &window->box, inside));
    CRD_PASS(crd_label_read(crd_dataset_label(data, window->scan), &window->box, label));
    crd_dataset_hide(data, window->scan, &window->box, label);
    if (tiles) hide_border(&window->box, crd_scan_info(scan)->shape, label);
    for (int64_t v = 0; v < voxels; v++) label[v] = inside[v] ? label[v] : CRD_LABEL_NONE;
    w->labelled += crd_label_count(label, voxels);
    return CRD_OK;
}

crd_status crd_try_windows_read(const crd_dataset *data, const crd_request *request, double voxels, crd_try_windows *w)
{
    crd_status status = CRD_OK;
    const int64_t chunks = crd_dataset_count(data);
    memset(w, 0, sizeof *w);
    voxels = voxels < VOXELS_MOST ? voxels : VOXELS_MOST;
    choose_size(data, request, voxels, w->size);
    const double paid = voxels / (double)voxels_of(w->size);
    int64_t wanted = paid < WINDOWS_MOST ? (int64_t)paid : WINDOWS_MOST, total;
    wanted = wanted < chunks ? wanted : chunks;
    if (wanted < 1) return CRD_OK;
    CRD_TRY(crd_alloc(wanted, sizeof *w->windows, "windows to try", &w->windows));
    for (int64_t i = 0; i < wanted; i++) add_window(data, i * chunks / wanted, w);
    CRD_TRY(crd_product(w->count, crd_try_window_voxels(w), 1, &total));
    CRD_TRY(crd_alloc(total, sizeof *w->voxels, "windows to try", &w->voxels));
    CRD_TRY(crd_alloc(total, 1, "windows to try", &w->inside));
    CRD_TRY(crd_alloc(total, 1, "windows to try", &w->labels));
    for (int64_t i = 0; i < w->count; i++) CRD_TRY(read_window(data, request->seamless, w, i));
done:
    return status;
}

void crd_try_window_keep_outside(const crd_try_windows *w, int64_t number, float *changed)
{
    const int64_t voxels = crd_try_window_voxels(w);
    const float *before = w->voxels + number * voxels;
    const uint8_t *inside = w->inside + number * voxels;
    for (int64_t v = 0; v < voxels; v++) changed[v] = inside[v] ? changed[v] : before[v];
}

void crd_try_windows_free(crd_try_windows *w)
{
    crd_free(&w->windows);
    crd_free(&w->voxels);
    crd_free(&w->inside);
    crd_free(&w->labels);
}
