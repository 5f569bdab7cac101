#include "predict/finished/growing_volumes.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "predict/finished/volumes.h"
#include "volume/zarr/zarr.h"

/* Rows that are carried over at a time: as many as a chunk has. */
enum { ROWS = 128, DEPTH = 32 };

struct crd_growing_volumes {
    const crd_request *request;
    crd_partial *partial;
    crd_volume **volumes; /* by output */
    int64_t layer, layers;
    uint8_t *ready;   /* by slice of the box */
    uint8_t *written; /* by layer */
    void *values;     /* as they lie among the finished slices: any stored type */
    void *converted;
};

bool crd_growing_volumes_wanted(const crd_request *request)
{
    return crd_zarr_version(request->format) != 0;
}

int64_t crd_growing_volumes_bytes(const crd_request *request)
{
    /* Voxels of a row of chunks twice, and each volume's chunk and its packed form. */
    const int64_t voxels = DEPTH * ROWS * request->box.size[2], chunk = DEPTH * ROWS * ROWS * 4;
    return voxels * (int64_t)(sizeof(uint64_t) + sizeof(uint16_t)) + 4 * chunk * request->output_count;
}

static crd_status begin_volumes(crd_growing_volumes *growing, const char *folder, bool resume)
{
    crd_status status = CRD_OK;
    const crd_request *request = growing->request;
    const int version = crd_zarr_version(request->format);
    char *path = NULL;
    for (int64_t i = 0; i < request->output_count; i++) {
        crd_volume_info info;
        crd_free(&path);
        CRD_TRY(crd_join_path(folder, request->outputs[i].file, "", &path));
        crd_output_info(request, &request->outputs[i], &info);
        CRD_TRY(resume ? crd_zarr_make_room(path, version) : crd_zarr_remove(path));
        CRD_TRY(crd_zarr_grow(path, version, &info, &growing->volumes[i]));
    }
done:
    crd_free(&path);
    return status;
}

crd_status crd_growing_volumes_create(const crd_request *request, crd_partial *partial, const char *folder, bool resume,
                                      const crd_monitor *monitor, crd_growing_volumes **out)
{
    crd_status status = CRD_OK;
    crd_growing_volumes *growing = NULL;
    const int64_t depth = request->box.size[0];
    CRD_TRY(crd_alloc(1, sizeof *growing, "the growing volumes", &growing));
    growing->request = request;
    growing->partial = partial;
    CRD_TRY(crd_alloc(request->output_count, sizeof(crd_volume *), "the growing volumes", &growing->volumes));
    CRD_TRY(begin_volumes(growing, folder, resume));
    growing->layer = crd_zarr_layer(growing->volumes[0]);
    growing->layers = (depth - 1) / growing->layer + 1;
    CRD_TRY(crd_alloc(depth, 1, "the growing volumes", &growing->ready));
    CRD_TRY(crd_alloc(growing->layers, 1, "the growing volumes", &growing->written));
    memcpy(growing->ready, crd_partial_finished(partial), (size_t)depth);
    const int64_t voxels = growing->layer * ROWS * request->box.size[2];
    CRD_TRY(crd_alloc(voxels, sizeof(uint64_t), "the growing volumes", &growing->values));
    CRD_TRY(crd_alloc(voxels, sizeof(uint16_t), "the growing volumes", &growing->converted));
    CRD_TRY(crd_growing_volumes_advance(growing, monitor));
    *out = growing;
    growing = NULL;
done:
    crd_growing_volumes_free(&growing);
    return status;
}

void crd_growing_volumes_free(crd_growing_volumes **pointer)
{
    crd_growing_volumes *growing = *pointer;
    if (growing == NULL) return;
    for (int64_t i = 0; growing->volumes != NULL && i < growing->request->output_count; i++) {
        crd_volume_close(&growing->volumes[i]);
    }
    crd_free(&growing->volumes);
    crd_free(&growing->ready);
    crd_free(&growing->written);
    crd_free(&growing->values);
    crd_free(&growing->converted);
    crd_free(pointer);
}

void crd_growing_volumes_note(crd_growing_volumes *growing, int64_t z)
{
    growing->ready[z - growing->request->box.origin[0]] = 1;
}

static crd_status write_layer(crd_growing_volumes *growing, int64_t first, int64_t count, int64_t number)
{
    const crd_output *output = &growing->request->outputs[number];
    const int64_t *size = growing->request->box.size;
    const crd_type stored = growing->request->quantities[output->quantity].stored;
    const bool as_is = !output->cut && output->type == stored;
    for (int64_t y = 0; y < size[1]; y += ROWS) {
        const int64_t rows = size[1] - y < ROWS ? size[1] - y : ROWS, run = rows * size[2];
        for (int64_t i = 0; i < count; i++) {
            char *to = (char *)growing->values + (size_t)(i * run) * crd_type_size(stored);
            CRD_PASS(crd_partial_read_rows(growing->partial, output->quantity, first + i, y, rows, to));
        }
        if (!as_is) crd_output_convert(output, growing->values, count * run, growing->converted);
        const crd_box box = {{first, y, 0}, {count, rows, size[2]}};
        CRD_PASS(crd_volume_write(growing->volumes[number], &box,
                                  as_is ? (const void *)growing->values : growing->converted));
    }
    return CRD_OK;
}

crd_status crd_growing_volumes_advance(crd_growing_volumes *growing, const crd_monitor *monitor)
{
    const int64_t depth = growing->request->box.size[0];
    for (int64_t layer = 0; layer < growing->layers; layer++) {
        const int64_t first = layer * growing->layer;
        const int64_t count = depth - first < growing->layer ? depth - first : growing->layer;
        if (growing->written[layer] || memchr(growing->ready + first, 0, (size_t)count) != NULL) continue;
        for (int64_t i = 0; i < growing->request->output_count; i++) {
            CRD_PASS(crd_advance(monitor, "writing finished layers", "layers", layer, growing->layers, NULL));
            CRD_PASS(write_layer(growing, first, count, i));
        }
        growing->written[layer] = 1;
    }
    return CRD_OK;
}

crd_status crd_growing_volumes_finish(crd_growing_volumes *growing, const crd_monitor *monitor)
{
    const int64_t count = growing->request->output_count;
    memset(growing->ready, 1, (size_t)growing->request->box.size[0]);
    CRD_PASS(crd_growing_volumes_advance(growing, monitor));
    for (int64_t i = 0; i < count; i++) {
        CRD_PASS(crd_advance(monitor, "writing the volumes", "volumes", i, count, NULL));
        CRD_PASS(crd_volume_commit(growing->volumes[i]));
    }
    return crd_advance(monitor, "writing the volumes", "volumes", count, count, NULL);
}
