#include "predict/outlet.h"

#include <ftw.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "predict/finished/volumes.h"
#include "run/paths.h"

struct crd_outlet {
    const crd_request *request;
    crd_sink sink;
    crd_sink_volume *volumes; /* by output, */
    char **names;
    void **arrays;   /* of the caller's */
    void *converted; /* a slice of an output */
};

/* A callback failed: what it said, or that it said nothing. */
static crd_status explain(crd_status status)
{
    const crd_error said = *crd_last_error();
    if (status < CRD_OK || status > CRD_ERR_INTERNAL) status = CRD_ERR_SYSTEM;
    if (said.status != CRD_OK) return crd_error_adopt(&said);
    return crd_fail(status, "what takes the results failed without saying why");
}

static void forget_error(void)
{
    const crd_error none = {0};
    (void)crd_error_adopt(&none);
}

/* "scan_unc_5-95.npy" -> "unc_5-95" */
static crd_status name_output(const crd_request *request, const char *file, char **name)
{
    const size_t before = strlen(request->name) + 1, behind = strlen(request->suffix), all = strlen(file);
    CRD_PASS(crd_strdup(all > before + behind ? file + before : file, name));
    if (all > before + behind) (*name)[all - before - behind] = '\0';
    return CRD_OK;
}

static crd_status describe(crd_outlet *outlet)
{
    const crd_request *request = outlet->request;
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        crd_sink_volume *volume = &outlet->volumes[i];
        CRD_PASS(name_output(request, output->file, &outlet->names[i]));
        volume->role = crd_output_role_name(output->role);
        volume->name = outlet->names[i];
        crd_output_info(request, output, &volume->info);
        memcpy(volume->percents, output->percents, sizeof volume->percents);
    }
    return CRD_OK;
}

crd_status crd_outlet_open(const crd_request *request, const crd_sink *sink, crd_outlet **out)
{
    crd_status status = CRD_OK;
    crd_outlet *outlet = NULL;
    const int64_t count = request->output_count, voxels = request->box.size[1] * request->box.size[2];
    *out = NULL;
    if (sink->size < offsetof(crd_sink, end) + sizeof sink->end) {
        return crd_fail(CRD_ERR_ARGUMENT, "a sink begins with its size, sizeof(crd_sink)");
    }
    CRD_TRY(crd_alloc(1, sizeof *outlet, "the results", &outlet));
    outlet->request = request;
    memcpy(&outlet->sink, sink, sink->size < sizeof *sink ? sink->size : sizeof *sink); /* an older one ends earlier */
    CRD_TRY(crd_alloc(count, sizeof *outlet->volumes, "the results", &outlet->volumes));
    CRD_TRY(crd_alloc(count, sizeof *outlet->names, "the results", &outlet->names));
    CRD_TRY(crd_alloc(count, sizeof *outlet->arrays, "the results", &outlet->arrays));
    if (!request->seamless) CRD_TRY(crd_alloc(voxels, sizeof(uint16_t), "a slice", &outlet->converted));
    CRD_TRY(describe(outlet));
    if (sink->begin != NULL) {
        forget_error();
        status = sink->begin(sink->context, outlet->volumes, count, outlet->arrays);
        if (status != CRD_OK) CRD_TRY(explain(status));
    }
    *out = outlet;
    outlet = NULL;
done:
    crd_outlet_close(&outlet);
    return status;
}

void crd_outlet_close(crd_outlet **pointer)
{
    crd_outlet *outlet = *pointer;
    if (outlet == NULL) return;
    for (int64_t i = 0; outlet->names != NULL && i < outlet->request->output_count; i++) crd_free(&outlet->names[i]);
    crd_free(&outlet->names);
    crd_free(&outlet->volumes);
    crd_free(&outlet->arrays);
    crd_free(&outlet->converted);
    crd_free(pointer);
}

static void fill_array(const crd_sink_volume *volume, const crd_box *box, const void *voxels, void *array)
{
    const size_t bytes = crd_type_size(volume->info.type), row = (size_t)box->size[2] * bytes;
    const int64_t *shape = volume->info.shape;
    const char *from = voxels;
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            memcpy((char *)array + (size_t)((z * shape[1] + y) * shape[2] + box->origin[2]) * bytes, from, row);
            from += row;
        }
    }
}

crd_status crd_outlet_put(crd_outlet *outlet, int64_t output, const crd_box *box, const void *voxels)
{
    crd_box place = *box;
    for (int axis = 0; axis < 3; axis++) place.origin[axis] -= outlet->request->box.origin[axis];
    if (outlet->arrays[output] != NULL) {
        fill_array(&outlet->volumes[output], &place, voxels, outlet->arrays[output]);
        return CRD_OK;
    }
    if (outlet->sink.box == NULL) return CRD_OK;
    forget_error();
    const crd_status status = outlet->sink.box(outlet->sink.context, output, &place, voxels);
    return status == CRD_OK ? CRD_OK : explain(status);
}

crd_status crd_outlet_put_slice(crd_outlet *outlet, const crd_slice *slice)
{
    const crd_request *request = outlet->request;
    const crd_box box = {{slice->z, request->box.origin[1], request->box.origin[2]},
                         {1, request->box.size[1], request->box.size[2]}};
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        const void *voxels = slice->voxels[output->quantity];
        if (output->cut || output->type != request->quantities[output->quantity].stored) {
            crd_output_convert(output, voxels, box.size[1] * box.size[2], outlet->converted);
            voxels = outlet->converted;
        }
        CRD_PASS(crd_outlet_put(outlet, i, &box, voxels));
    }
    return CRD_OK;
}

/* One of the folder's files, where it is there. */
static crd_status hand_out(const crd_outlet *outlet, const char *folder, crd_run_file file)
{
    crd_status status = CRD_OK;
    char *path = NULL, *content = NULL;
    size_t count;
    CRD_TRY(crd_run_path(folder, file, &path));
    if (access(path, F_OK) != 0) goto done;
    CRD_TRY(crd_read_file(path, SIZE_MAX / 4, &content, &count));
    forget_error();
    status = file == CRD_RUN_MANIFEST
                 ? outlet->sink.end(outlet->sink.context, content)
                 : outlet->sink.file(outlet->sink.context, crd_run_file_name(file), content, count);
    if (status != CRD_OK) CRD_TRY(explain(status));
done:
    crd_free(&path);
    crd_free(&content);
    return status;
}

crd_status crd_outlet_end(crd_outlet *outlet, const char *folder)
{
    static const crd_run_file beside[] = {CRD_RUN_LOG, CRD_RUN_PROBE, CRD_RUN_NORMS};
    if (outlet->sink.end != NULL) CRD_PASS(hand_out(outlet, folder, CRD_RUN_MANIFEST));
    for (size_t i = 0; outlet->sink.file != NULL && i < sizeof beside / sizeof *beside; i++) {
        CRD_PASS(hand_out(outlet, folder, beside[i]));
    }
    return CRD_OK;
}

int64_t crd_sink_memory(void)
{
    return crd_available_memory();
}

crd_status crd_outlet_make_folder(char **path)
{
    const char *below = getenv("TMPDIR");
    if (below == NULL || below[0] == '\0') below = "/tmp";
    CRD_PASS(crd_join_path(below, "credence-XXXXXX", "", path));
    if (mkdtemp(*path) != NULL) return CRD_OK;
    const crd_status status =
        crd_fail_errno("can't make a folder in %s; set TMPDIR to one that can be written to", below);
    crd_free(path);
    return status;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void crd_outlet_remove_folder(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
