#include "predict/growth.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "predict/volumes.h"
#include "volume/zarr/zarr.h"

/* Rows that are carried over at a time: as many as a chunk has. */
enum { ROWS = 128, DEPTH = 32 };

struct crd_growth {
    const crd_request *request;
    crd_partial *partial;
    crd_volume **volumes; /* by output */
    int64_t layer, layers;
    uint8_t *ready;   /* by slice of the box */
    uint8_t *written; /* by layer */
    float *values;    /* as they lie among the finished slices: any stored type */
    void *converted;
};

bool crd_growth_wanted(const crd_request *request)
{
    return strcmp(request->format, "zarr") == 0;
}

int64_t crd_growth_bytes(const crd_request *request)
{
    /* Voxels of a row of chunks twice, and each volume's chunk and its packed form. */
    const int64_t voxels = DEPTH * ROWS * request->box.size[2], chunk = DEPTH * ROWS * ROWS * 4;
    return voxels * (int64_t)(sizeof(float) + sizeof(uint16_t)) + 2 * chunk * request->output_count;
}

static crd_status begin_volumes(crd_growth *growth, const char *folder, bool resume)
{
    crd_status status = CRD_OK;
    const crd_request *request = growth->request;
    char *path = NULL;
    for (int64_t i = 0; i < request->output_count; i++) {
        crd_volume_info info;
        crd_free(&path);
        CRD_TRY(crd_join_path(folder, request->outputs[i].file, "", &path));
        crd_output_info(request, &request->outputs[i], &info);
        if (!resume) CRD_TRY(crd_zarr_remove(path));
        CRD_TRY(crd_zarr_grow(path, &info, &growth->volumes[i]));
    }
done:
    crd_free(&path);
    return status;
}

crd_status crd_growth_create(const crd_request *request, crd_partial *partial, const char *folder, bool resume,
                             const crd_monitor *monitor, crd_growth **out)
{
    crd_status status = CRD_OK;
    crd_growth *growth = NULL;
    const int64_t depth = request->box.size[0];
    CRD_TRY(crd_alloc(1, sizeof *growth, "the growing volumes", &growth));
    growth->request = request;
    growth->partial = partial;
    CRD_TRY(crd_alloc(request->output_count, sizeof(crd_volume *), "the growing volumes", &growth->volumes));
    CRD_TRY(begin_volumes(growth, folder, resume));
    growth->layer = crd_zarr_layer(growth->volumes[0]);
    growth->layers = (depth - 1) / growth->layer + 1;
    CRD_TRY(crd_alloc(depth, 1, "the growing volumes", &growth->ready));
    CRD_TRY(crd_alloc(growth->layers, 1, "the growing volumes", &growth->written));
    memcpy(growth->ready, crd_partial_finished(partial), (size_t)depth);
    const int64_t voxels = growth->layer * ROWS * request->box.size[2];
    CRD_TRY(crd_alloc(voxels, sizeof *growth->values, "the growing volumes", &growth->values));
    CRD_TRY(crd_alloc(voxels, sizeof(uint16_t), "the growing volumes", &growth->converted));
    CRD_TRY(crd_growth_advance(growth, monitor));
    *out = growth;
    growth = NULL;
done:
    crd_growth_free(&growth);
    return status;
}

void crd_growth_free(crd_growth **pointer)
{
    crd_growth *growth = *pointer;
    if (growth == NULL) return;
    for (int64_t i = 0; growth->volumes != NULL && i < growth->request->output_count; i++) {
        crd_volume_close(&growth->volumes[i]);
    }
    crd_free(&growth->volumes);
    crd_free(&growth->ready);
    crd_free(&growth->written);
    crd_free(&growth->values);
    crd_free(&growth->converted);
    crd_free(pointer);
}

void crd_growth_note(crd_growth *growth, int64_t z)
{
    growth->ready[z - growth->request->box.origin[0]] = 1;
}

static crd_status write_layer(crd_growth *growth, int64_t first, int64_t count, int64_t number)
{
    const crd_output *output = &growth->request->outputs[number];
    const int64_t *size = growth->request->box.size;
    const crd_type stored = growth->request->quantities[output->quantity].stored;
    const bool as_is = !crd_output_cut(output) && output->type == stored;
    for (int64_t y = 0; y < size[1]; y += ROWS) {
        const int64_t rows = size[1] - y < ROWS ? size[1] - y : ROWS, run = rows * size[2];
        for (int64_t i = 0; i < count; i++) {
            char *to = (char *)growth->values + (size_t)(i * run) * crd_type_size(stored);
            CRD_PASS(crd_partial_read_rows(growth->partial, output->quantity, first + i, y, rows, to));
        }
        if (!as_is) crd_output_convert(output, growth->values, count * run, growth->converted);
        const crd_box box = {{first, y, 0}, {count, rows, size[2]}};
        CRD_PASS(
            crd_volume_write(growth->volumes[number], &box, as_is ? (const void *)growth->values : growth->converted));
    }
    return CRD_OK;
}

crd_status crd_growth_advance(crd_growth *growth, const crd_monitor *monitor)
{
    const int64_t depth = growth->request->box.size[0];
    for (int64_t layer = 0; layer < growth->layers; layer++) {
        const int64_t first = layer * growth->layer;
        const int64_t count = depth - first < growth->layer ? depth - first : growth->layer;
        if (growth->written[layer] || memchr(growth->ready + first, 0, (size_t)count) != NULL) continue;
        for (int64_t i = 0; i < growth->request->output_count; i++) {
            CRD_PASS(crd_advance(monitor, "writing finished layers", "layers", layer, growth->layers, NULL));
            CRD_PASS(write_layer(growth, first, count, i));
        }
        growth->written[layer] = 1;
    }
    return CRD_OK;
}

crd_status crd_growth_finish(crd_growth *growth, const crd_monitor *monitor)
{
    const int64_t count = growth->request->output_count;
    memset(growth->ready, 1, (size_t)growth->request->box.size[0]);
    CRD_PASS(crd_growth_advance(growth, monitor));
    for (int64_t i = 0; i < count; i++) {
        CRD_PASS(crd_advance(monitor, "writing the volumes", "volumes", i, count, NULL));
        CRD_PASS(crd_volume_commit(growth->volumes[i]));
    }
    return crd_advance(monitor, "writing the volumes", "volumes", count, count, NULL);
}
