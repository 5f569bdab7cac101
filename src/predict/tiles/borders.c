#include "predict/tiles/borders.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/memory.h"
#include "run/paths.h"

struct crd_tile_borders {
    const crd_request *request;
    char *path;
    int file;
};

/* Planes across an axis run over the other two, in their order. */
static void plane_axes(int axis, int *slow, int *fast)
{
    *slow = axis == 0 ? 1 : 0;
    *fast = axis == 2 ? 1 : 2;
}

static int64_t plane_values(const crd_request *request, int axis)
{
    int slow, fast;
    plane_axes(axis, &slow, &fast);
    return request->box.size[slow] * request->box.size[fast];
}

/* Where the plane before the border behind tile `index` of the axis (0: the run's first) begins, or the one behind it.
 */
static int64_t plane_at(const crd_request *request, int axis, int64_t index, bool behind)
{
    int64_t at = 0;
    for (int i = 0; i < axis; i++) at += 2 * (request->count[i] - 1) * plane_values(request, i);
    return at + (2 * index + behind) * plane_values(request, axis);
}

int64_t crd_tile_borders_bytes(const crd_request *request)
{
    return plane_at(request, 2, request->count[2] - 1, false) * (int64_t)sizeof(float);
}

crd_status crd_tile_borders_open(const crd_request *request, const char *folder, crd_tile_borders **out)
{
    crd_status status = CRD_OK;
    crd_tile_borders *borders = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *borders, "the borders", &borders));
    borders->request = request;
    borders->file = -1;
    CRD_TRY(crd_run_partial_path(folder, "borders", &borders->path));
    borders->file = crd_open(borders->path, O_RDWR | O_CREAT | O_CLOEXEC);
    if (borders->file < 0) {
        status = crd_fail_errno("can't open %s", borders->path);
        goto done;
    }
    *out = borders;
    borders = NULL;
done:
    crd_tile_borders_close(&borders);
    return status;
}

void crd_tile_borders_close(crd_tile_borders **pointer)
{
    crd_tile_borders *borders = *pointer;
    if (borders == NULL) return;
    if (borders->file >= 0) (void)close(borders->file);
    crd_free(&borders->path);
    crd_free(pointer);
}

/* Slice `at` of the box across the axis, to its part of the plane that begins at value `plane` of the file. */
static crd_status write_face(const crd_tile_borders *borders, const crd_tile_box *box, int axis, int64_t at,
                             int64_t plane)
{
    enum { PIECE = 1024 };
    const crd_request *request = borders->request;
    const int64_t strides[3] = {box->box.size[1] * box->box.size[2], box->box.size[2], 1};
    const float *voxels = (const float *)box->voxels[0] + at * strides[axis];
    int slow, fast;
    plane_axes(axis, &slow, &fast);
    for (int64_t i = 0; i < box->box.size[slow]; i++) {
        const int64_t row = box->box.origin[slow] + i - request->box.origin[slow];
        const int64_t first = plane + row * request->box.size[fast] + box->box.origin[fast] - request->box.origin[fast];
        for (int64_t k = 0; k < box->box.size[fast]; k += PIECE) {
            const int64_t count = box->box.size[fast] - k < PIECE ? box->box.size[fast] - k : PIECE;
            float piece[PIECE];
            for (int64_t n = 0; n < count; n++) piece[n] = voxels[i * strides[slow] + (k + n) * strides[fast]];
            CRD_PASS(crd_write_at(borders->file, borders->path, (first + k) * (int64_t)sizeof(float), piece,
                                  (size_t)count * sizeof(float)));
        }
    }
    return CRD_OK;
}

crd_status crd_tile_borders_write(crd_tile_borders *borders, const crd_tile_box *box)
{
    const crd_request *request = borders->request;
    const int64_t *count = request->count;
    const int64_t index[3] = {box->tile / count[2] / count[1], box->tile / count[2] % count[1], box->tile % count[2]};
    for (int axis = 0; axis < 3; axis++) {
        if (index[axis] > 0) {
            CRD_PASS(write_face(borders, box, axis, 0, plane_at(request, axis, index[axis] - 1, true)));
        }
        if (index[axis] + 1 < count[axis]) {
            CRD_PASS(
                write_face(borders, box, axis, box->box.size[axis] - 1, plane_at(request, axis, index[axis], false)));
        }
    }
    return CRD_OK;
}

crd_status crd_tile_borders_sync(crd_tile_borders *borders)
{
    if (crd_sync_data(borders->file) != 0) return crd_fail_errno("can't bring %s onto the disk", borders->path);
    return CRD_OK;
}

static crd_status read_values(const crd_tile_borders *borders, int64_t first, int64_t count, float *values)
{
    return crd_read_at(borders->file, borders->path, first * (int64_t)sizeof(float), values,
                       (size_t)count * sizeof(float));
}

crd_status crd_tile_borders_measure(crd_tile_borders *borders, crd_seams *sums)
{
    enum { PIECE = 1 << 16 };
    crd_status status = CRD_OK;
    const crd_request *request = borders->request;
    float *before = NULL, *behind = NULL;
    CRD_TRY(crd_alloc(PIECE, sizeof *before, "the borders", &before));
    CRD_TRY(crd_alloc(PIECE, sizeof *behind, "the borders", &behind));
    for (int axis = 0; axis < 3; axis++) {
        const int64_t values = plane_values(request, axis);
        for (int64_t border = 0; border + 1 < request->count[axis]; border++) {
            for (int64_t first = 0; first < values; first += PIECE) {
                const int64_t count = values - first < PIECE ? values - first : PIECE;
                CRD_TRY(read_values(borders, plane_at(request, axis, border, false) + first, count, before));
                CRD_TRY(read_values(borders, plane_at(request, axis, border, true) + first, count, behind));
                crd_seams_add(behind, before, count, true, sums);
            }
        }
    }
done:
    crd_free(&before);
    crd_free(&behind);
    return status;
}
