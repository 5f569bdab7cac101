#include "view/loop/cells.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"

crd_status crd_cells_make(const int64_t shape[3], crd_cells *out)
{
    int64_t count;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++) {
        out->shape[i] = shape[i];
        out->counts[i] = (shape[i] + CRD_CELL_EDGE - 1) / CRD_CELL_EDGE;
    }
    CRD_PASS(crd_product(out->counts[0], out->counts[1], out->counts[2], &count));
    return crd_alloc(count, 1, "the map of what was learnt from", &out->marks);
}

void crd_cells_free(crd_cells *cells)
{
    crd_free(&cells->marks);
}

crd_status crd_cells_copy(const crd_cells *from, crd_cells *out)
{
    CRD_PASS(crd_cells_make(from->shape, out));
    memcpy(out->marks, from->marks, (size_t)(from->counts[0] * from->counts[1] * from->counts[2]));
    return CRD_OK;
}

crd_status crd_cells_load(const char *path, crd_cells *cells)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_box all = {.size = {cells->counts[0], cells->counts[1], cells->counts[2]}};
    memset(cells->marks, 0, (size_t)(all.size[0] * all.size[1] * all.size[2]));
    if (access(path, F_OK) != 0) return CRD_OK;
    CRD_TRY(crd_volume_open(path, NULL, NULL, &volume));
    const crd_volume_info *info = crd_volume_describe(volume);
    if (info->type != CRD_U8 || memcmp(info->shape, cells->counts, sizeof info->shape) != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH, "%s belongs to a scan of another shape; choose another --project DIR", path);
    }
    CRD_TRY(crd_volume_read(volume, &all, CRD_U8, cells->marks));
done:
    crd_volume_close(&volume);
    return status;
}

crd_status crd_cells_store(const char *path, const crd_cells *cells)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_box all = {.size = {cells->counts[0], cells->counts[1], cells->counts[2]}};
    crd_volume_info info = {.type = CRD_U8, .scale = 1.0};
    memcpy(info.shape, cells->counts, sizeof info.shape);
    CRD_TRY(crd_volume_create(path, &info, NULL, &volume));
    CRD_TRY(crd_volume_write(volume, &all, cells->marks));
    status = crd_volume_commit(volume);
done:
    crd_volume_close(&volume);
    return status;
}

static void range_of(const crd_cells *cells, const crd_box *box, int64_t margin, int64_t low[3], int64_t high[3])
{
    for (int i = 0; i < 3; i++) {
        low[i] = box->origin[i] / CRD_CELL_EDGE - margin;
        high[i] = (box->origin[i] + box->size[i] - 1) / CRD_CELL_EDGE + margin;
        if (low[i] < 0) low[i] = 0;
        if (high[i] >= cells->counts[i]) high[i] = cells->counts[i] - 1;
    }
}

void crd_cells_mark(crd_cells *cells, const crd_box *box, int mark)
{
    int64_t low[3], high[3];
    range_of(cells, box, 0, low, high);
    for (int64_t z = low[0]; z <= high[0]; z++) {
        for (int64_t y = low[1]; y <= high[1]; y++) {
            uint8_t *row = cells->marks + (z * cells->counts[1] + y) * cells->counts[2];
            for (int64_t x = low[2]; x <= high[2]; x++) row[x] = (uint8_t)(row[x] | mark);
        }
    }
}

bool crd_cells_near(const crd_cells *cells, const crd_box *box, int64_t margin, int marks)
{
    int64_t low[3], high[3];
    range_of(cells, box, margin, low, high);
    for (int64_t z = low[0]; z <= high[0]; z++) {
        for (int64_t y = low[1]; y <= high[1]; y++) {
            const uint8_t *row = cells->marks + (z * cells->counts[1] + y) * cells->counts[2];
            for (int64_t x = low[2]; x <= high[2]; x++) {
                if ((row[x] & marks) != 0) return true;
            }
        }
    }
    return false;
}
