#include "predict/tiles/files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "predict/finished/volumes.h"
#include "predict/outlet.h"
#include "run/paths.h"
#include "volume/array/flat.h"
#include "volume/zarr/array.h"
#include "volume/zarr/zarr.h"

/* A volume that grows in its own format, or its voxels until the end. */
typedef struct target {
    crd_volume *volume;
    crd_flat *spool;
} target;

struct crd_tile_files {
    const crd_request *request;
    char *folder;
    target *targets; /* by output */
};

/* HDF5 grows unpacked, and planes of bits are worth packing: they shrink to a fraction. */
static bool staged(const crd_request *request)
{
    const bool hdf5 = strcmp(request->format, crd_format_hdf5.name) == 0;
    for (int64_t i = 0; hdf5 && i < request->output_count; i++) {
        if (request->outputs[i].role == CRD_OUTPUT_SAMPLE_BITS) return false;
    }
    return crd_format_stages(request->format, request->suffix);
}

/* Of one output: its final name, and the one that it has until the end. */
static crd_status name_output(const crd_request *request, const char *folder, int64_t output, char **path,
                              char **partial)
{
    crd_status status = CRD_OK;
    const char *file = request->outputs[output].file;
    char *name = NULL;
    crd_free(path);
    crd_free(partial);
    CRD_TRY(crd_alloc((int64_t)strlen(file) + 8, 1, "a file name", &name));
    snprintf(name, strlen(file) + 8, "%s%s", file, staged(request) ? "" : ".voxels");
    CRD_TRY(crd_join_path(folder, file, "", path));
    CRD_TRY(crd_run_partial_path(folder, name, partial));
done:
    crd_free(&name);
    return status;
}

crd_status crd_tile_files_restage(const crd_request *request, const char *folder)
{
    crd_status status = CRD_OK;
    char *path = NULL, *partial = NULL;
    for (int64_t i = 0; i < request->output_count; i++) {
        bool there = true;
        CRD_TRY(name_output(request, folder, i, &path, &partial));
        if (staged(request)) {
            CRD_TRY(crd_volume_restage(path, partial, request->format, &there));
        } else {
            there = access(partial, F_OK) == 0;
        }
        if (there) continue;
        CRD_FAIL(CRD_ERR_FORMAT, "%s is gone, and with it a part of the finished tiles; begin anew with --overwrite",
                 partial);
    }
done:
    crd_free(&path);
    crd_free(&partial);
    return status;
}

static crd_status open_targets(crd_tile_files *files)
{
    crd_status status = CRD_OK;
    const crd_request *request = files->request;
    char *path = NULL, *partial = NULL;
    if (request->outlet != NULL) return CRD_OK;
    for (int64_t i = 0; i < request->output_count; i++) {
        crd_volume_info info;
        CRD_TRY(name_output(request, files->folder, i, &path, &partial));
        crd_output_info(request, &request->outputs[i], &info);
        if (staged(request)) {
            CRD_TRY(crd_volume_stage(path, partial, &info, request->format, &files->targets[i].volume));
        } else {
            CRD_TRY(crd_flat_create_at(partial, partial, &info, 0, false, true, &files->targets[i].spool));
        }
    }
done:
    crd_free(&path);
    crd_free(&partial);
    return status;
}

crd_status crd_tile_files_open(const crd_request *request, const char *folder, crd_tile_files **out)
{
    crd_status status = CRD_OK;
    crd_tile_files *files = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *files, "the volumes", &files));
    files->request = request;
    CRD_TRY(crd_strdup(folder, &files->folder));
    CRD_TRY(crd_alloc(request->output_count, sizeof *files->targets, "the volumes", &files->targets));
    CRD_TRY(open_targets(files));
    *out = files;
    files = NULL;
done:
    crd_tile_files_close(&files);
    return status;
}

void crd_tile_files_close(crd_tile_files **pointer)
{
    crd_tile_files *files = *pointer;
    if (files == NULL) return;
    for (int64_t i = 0; files->targets != NULL && i < files->request->output_count; i++) {
        crd_volume_close(&files->targets[i].volume);
        crd_flat_close(&files->targets[i].spool);
    }
    crd_free(&files->targets);
    crd_free(&files->folder);
    crd_free(pointer);
}

/* Of 8 bytes a voxel. */
static int64_t wide_outputs(const crd_request *request)
{
    int64_t count = 0;
    for (int64_t i = 0; i < request->output_count; i++) count += crd_type_size(request->outputs[i].type) == 8;
    return count;
}

int64_t crd_tile_files_bytes(const crd_request *request)
{
    if (crd_zarr_version(request->format) == 0) return 0;
    return (request->output_count + wide_outputs(request)) * 2 * CRD_ZARR_DEPTH * CRD_ZARR_EDGE * CRD_ZARR_EDGE *
           (int64_t)sizeof(float);
}

int64_t crd_tile_files_spooled_bytes(const crd_request *request)
{
    const int64_t voxels = request->box.size[0] * request->box.size[1] * request->box.size[2];
    int64_t bytes = 0;
    for (int64_t i = 0; i < request->output_count && !staged(request); i++) {
        bytes += voxels * (int64_t)crd_type_size(request->outputs[i].type);
    }
    return bytes;
}

crd_status crd_tile_files_write(crd_tile_files *files, int64_t output, const crd_box *box, const void *voxels)
{
    const target *t = &files->targets[output];
    crd_box place = *box;
    if (files->request->outlet != NULL) return crd_outlet_put(files->request->outlet, output, box, voxels);
    for (int axis = 0; axis < 3; axis++) place.origin[axis] -= files->request->box.origin[axis];
    return t->volume != NULL ? crd_volume_write(t->volume, &place, voxels) : crd_flat_write(t->spool, &place, voxels);
}

crd_status crd_tile_files_sync(crd_tile_files *files)
{
    for (int64_t i = 0; i < files->request->output_count && files->request->outlet == NULL; i++) {
        const target *t = &files->targets[i];
        CRD_PASS(t->volume != NULL ? crd_volume_sync(t->volume) : crd_flat_sync(t->spool));
    }
    return CRD_OK;
}

/* Slices of an output as they will be written; several threads, each of another output. */
static crd_status read_spooled(void *context, int64_t output, int64_t first, int64_t count, void *voxels)
{
    const crd_tile_files *files = context;
    const int64_t *size = files->request->box.size;
    const crd_box box = {{first, 0, 0}, {count, size[1], size[2]}};
    return crd_flat_read(files->targets[output].spool, &box, voxels);
}

crd_status crd_tile_files_commit(crd_tile_files *files, const double *ranges, const crd_monitor *monitor)
{
    const int64_t count = files->request->output_count;
    const crd_slices_source source = {.context = files, .read = read_spooled};
    if (files->request->outlet != NULL) return CRD_OK;
    if (!staged(files->request)) {
        return crd_volumes_copy(files->request, &source, files->folder, monitor);
    }
    for (int64_t i = 0; i < count; i++) {
        CRD_PASS(crd_advance(monitor, "finishing the volumes", "volumes", i, count, NULL));
        crd_volume_set_range(files->targets[i].volume, ranges[2 * i], ranges[2 * i + 1]);
        CRD_PASS(crd_volume_commit(files->targets[i].volume));
    }
    return crd_advance(monitor, "finishing the volumes", "volumes", count, count, NULL);
}
