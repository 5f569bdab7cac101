#include "predict/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/report.h"

enum { BATCH_VOXELS = 4 << 20 };

typedef struct batch {
    int64_t slices;  /* at most */
    float *values;   /* as they lie among the finished slices: any stored type */
    void *converted; /* as they are written, where that is another type */
} batch;

crd_status crd_output_name(const crd_request *request, const crd_output *output, char **out)
{
    const size_t bytes = strlen(request->name) + strlen(output->suffix) + strlen(request->suffix) + 1;
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a name", out));
    strcat(strcat(strcpy(*out, request->name), output->suffix), request->suffix);
    return CRD_OK;
}

void crd_output_convert(const crd_output *output, const float *values, int64_t count, void *to)
{
    if (output->above_half) {
        for (int64_t i = 0; i < count; i++) ((uint8_t *)to)[i] = values[i] > 0.5f;
    } else if (output->type == CRD_U8) {
        for (int64_t i = 0; i < count; i++) ((uint8_t *)to)[i] = (uint8_t)lrint((double)values[i] * 255.0);
    } else {
        for (int64_t i = 0; i < count; i++) ((uint16_t *)to)[i] = (uint16_t)lrint((double)values[i] * 65535.0);
    }
}

/* Marks the coordinates of the box before which a window's kept part begins or ends. */
static crd_status mark_seams(const crd_request *request, uint8_t *seams[3])
{
    for (int axis = 0; axis < 3; axis++) {
        const crd_axis_plan *plan = &request->plan.axes[axis];
        const int64_t origin = request->box.origin[axis], size = request->box.size[axis];
        CRD_PASS(crd_alloc(size, 1, "the seams", &seams[axis]));
        for (int64_t i = 0; i < plan->count; i++) {
            int64_t edge[2];
            crd_axis_keep(plan, i, &edge[0], &edge[1]);
            for (int k = 0; k < 2; k++) {
                const int64_t at = edge[k] - origin;
                if (at > 0 && at < size) seams[axis][at] = 1;
            }
        }
    }
    return CRD_OK;
}

static int64_t fixed_point(float value)
{
    return (int64_t)lrintf(value * 0x1p24f);
}

/* Steps from one line of voxels to its neighbour, `count` of them, of which all cross a seam or none. */
static void add_steps(const float *a, const float *b, int64_t count, bool seam, crd_seams *sums)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (uint64_t)llabs(fixed_point(a[i]) - fixed_point(b[i]));
    *(seam ? &sums->seam_sum : &sums->other_sum) += sum;
    *(seam ? &sums->seam_count : &sums->other_count) += (uint64_t)count;
}

static void measure_slice(const crd_request *request, uint8_t *const seams[3], const float *slice, crd_seams *sums)
{
    const int64_t height = request->box.size[1], width = request->box.size[2];
    for (int64_t y = 0; y < height; y++) {
        const float *line = slice + y * width;
        int64_t next;
        for (int64_t x = 1; x < width; x = next) {
            for (next = x + 1; next < width && seams[2][next] == seams[2][x];) next++;
            add_steps(line + x, line + x - 1, next - x, seams[2][x], sums);
        }
        if (y > 0) add_steps(line, line - width, width, seams[1][y], sums);
    }
}

/* Measures the batch; `before` is the slice before it and becomes its last. */
static void measure_batch(const crd_request *request, uint8_t *const seams[3], const float *values, int64_t first,
                          int64_t count, float *before, crd_seams *sums)
{
    const int64_t voxels = request->box.size[1] * request->box.size[2];
    for (int64_t i = 0; i < count; i++) {
        const float *slice = values + i * voxels;
        measure_slice(request, seams, slice, sums);
        if (first + i > 0) add_steps(slice, i > 0 ? slice - voxels : before, voxels, seams[0][first + i], sums);
    }
    memcpy(before, values + (count - 1) * voxels, (size_t)voxels * sizeof *before);
}

void crd_output_info(const crd_request *request, const crd_output *output, crd_volume_info *info)
{
    *info = request->scan;
    for (int axis = 0; axis < 3; axis++) {
        info->shape[axis] = request->box.size[axis];
        info->origin[axis] += request->box.origin[axis];
    }
    info->type = output->type;
    info->scale = output->scale;
}

static crd_status write_volume(const crd_request *request, crd_partial *partial, const crd_output *output,
                               const char *path, const batch *b, uint8_t *const seams[3], float *before,
                               crd_seams *sums)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    const crd_box *box = &request->box;
    const crd_quantity *quantity = &request->quantities[output->quantity];
    const bool as_is = !output->above_half && output->type == quantity->stored;
    crd_volume_info info;
    crd_output_info(request, output, &info);
    const crd_volume_options options = {.format = request->format};
    CRD_TRY(crd_volume_create(path, &info, &options, &volume));
    for (int64_t z = 0; z < box->size[0]; z += b->slices) {
        const int64_t count = box->size[0] - z < b->slices ? box->size[0] - z : b->slices;
        const crd_box target = {{z, 0, 0}, {count, box->size[1], box->size[2]}};
        CRD_TRY(crd_partial_read(partial, output->quantity, z, count, b->values));
        if (before != NULL) measure_batch(request, seams, b->values, z, count, before, sums);
        if (!as_is) crd_output_convert(output, b->values, count * box->size[1] * box->size[2], b->converted);
        CRD_TRY(crd_volume_write(volume, &target, as_is ? (const void *)b->values : b->converted));
    }
    CRD_TRY(crd_volume_commit(volume));
done:
    crd_volume_close(&volume);
    return status;
}

crd_status crd_outputs_write(const crd_request *request, crd_partial *partial, const char *folder,
                             const crd_monitor *monitor, crd_seams *sums)
{
    crd_status status = CRD_OK;
    const int64_t slice = request->box.size[1] * request->box.size[2];
    uint8_t *seams[3] = {NULL, NULL, NULL};
    float *before = NULL;
    char *name = NULL, *path = NULL;
    batch b = {.slices = BATCH_VOXELS / slice > 0 ? BATCH_VOXELS / slice : 1};
    if (b.slices > request->box.size[0]) b.slices = request->box.size[0];
    memset(sums, 0, sizeof *sums);
    CRD_TRY(mark_seams(request, seams));
    CRD_TRY(crd_alloc(slice, sizeof *before, "a slice", &before));
    CRD_TRY(crd_alloc(b.slices * slice, sizeof *b.values, "slices of a volume", &b.values));
    CRD_TRY(crd_alloc(b.slices * slice, sizeof(uint16_t), "slices of a volume", &b.converted));
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        CRD_TRY(crd_output_name(request, output, &name));
        CRD_TRY(crd_advance(monitor, "writing the volumes", "volumes", i, request->output_count, name));
        CRD_TRY(crd_join_path(folder, name, "", &path));
        CRD_TRY(write_volume(request, partial, output, path, &b, seams, i == 0 ? before : NULL, sums));
        crd_free(&name);
        crd_free(&path);
    }
    CRD_TRY(crd_advance(monitor, "writing the volumes", "volumes", request->output_count, request->output_count, NULL));
done:
    for (int axis = 0; axis < 3; axis++) crd_free(&seams[axis]);
    crd_free(&before);
    crd_free(&b.values);
    crd_free(&b.converted);
    crd_free(&name);
    crd_free(&path);
    return status;
}

crd_status crd_outputs_measure(const crd_request *request, crd_partial *partial, crd_seams *sums)
{
    crd_status status = CRD_OK;
    const int64_t slice = request->box.size[1] * request->box.size[2];
    uint8_t *seams[3] = {NULL, NULL, NULL};
    float *before = NULL, *values = NULL;
    memset(sums, 0, sizeof *sums);
    CRD_TRY(mark_seams(request, seams));
    CRD_TRY(crd_alloc(slice, sizeof *before, "a slice", &before));
    CRD_TRY(crd_alloc(slice, sizeof *values, "a slice", &values));
    for (int64_t z = 0; z < request->box.size[0]; z++) {
        CRD_TRY(crd_partial_read(partial, request->outputs[0].quantity, z, 1, values));
        measure_batch(request, seams, values, z, 1, before, sums);
    }
done:
    for (int axis = 0; axis < 3; axis++) crd_free(&seams[axis]);
    crd_free(&before);
    crd_free(&values);
    return status;
}
