#include "chunk/mask.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "volume/format.h"

/* ---- the cylinder ---- */

/* A voxel counts when its centre lies in the circle of diameter min(height, width); in doubled coordinates, exactly. */
static crd_status cylinder_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    const int64_t *shape = volume->info.shape, diameter = shape[1] < shape[2] ? shape[1] : shape[2];
    uint8_t *inside = voxels;
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            const int64_t dy = 2 * (box->origin[1] + y) + 1 - shape[1];
            for (int64_t x = 0; x < box->size[2]; x++) {
                const int64_t dx = 2 * (box->origin[2] + x) + 1 - shape[2];
                *inside++ = dy * dy + dx * dx <= diameter * diameter;
            }
        }
    }
    return CRD_OK;
}

static crd_status cylinder_open_again(const crd_volume *volume, crd_volume **out)
{
    return crd_volume_create_view(volume->path, NULL, &volume->info, volume->format, 0, out);
}

static const crd_format cylinder = {.name = "cylinder", .read = cylinder_read, .open_again = cylinder_open_again};

/* ---- a file, whose volume is the state ---- */

static crd_status marks_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    crd_status status = CRD_OK;
    float *values = NULL;
    uint8_t *inside = voxels;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    CRD_TRY(crd_alloc(count, sizeof *values, "a part of the mask", &values));
    CRD_TRY(crd_volume_read(volume->state, box, CRD_F32, values));
    for (int64_t i = 0; i < count; i++) inside[i] = values[i] != 0.0f && !isnan(values[i]); /* NaN: nothing is there */
done:
    crd_free(&values);
    return status;
}

static crd_status marks_open_again(const crd_volume *volume, crd_volume **out)
{
    CRD_PASS(crd_volume_create_view(volume->path, volume->file, &volume->info, volume->format, 0, out));
    crd_volume *file = NULL;
    const crd_status status = crd_volume_open_again(volume->state, &file);
    (*out)->state = file;
    if (status != CRD_OK) crd_volume_close(out);
    return status;
}

static void marks_close(crd_volume *volume)
{
    crd_volume *file = volume->state;
    crd_volume_close(&file);
    volume->state = NULL;
}

static const crd_format marks = {
    .name = "marks", .read = marks_read, .open_again = marks_open_again, .close = marks_close};

crd_volume_options crd_mask_reading(const char *path, const int64_t shape[3])
{
    crd_volume_options reading = {0};
    if (crd_raw_voxel_bytes(path, shape) != 1) return reading;
    memcpy(reading.shape, shape, sizeof reading.shape);
    reading.type = "u8";
    return reading;
}

static crd_status check_shape(const char *text, const int64_t own[3], const int64_t shape[3])
{
    if (memcmp(own, shape, 3 * sizeof *own) == 0) return CRD_OK;
    return crd_fail(CRD_ERR_MISMATCH,
                    "the mask %s has shape %lld,%lld,%lld (z,y,x) and the scan %lld,%lld,%lld; they must be equal",
                    text, (long long)own[0], (long long)own[1], (long long)own[2], (long long)shape[0],
                    (long long)shape[1], (long long)shape[2]);
}

crd_status crd_mask_open(const char *text, const int64_t shape[3], crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *file = NULL;
    crd_volume_info info = {.type = CRD_U8, .scale = 1.0};
    memcpy(info.shape, shape, sizeof info.shape);
    *out = NULL;
    if (strcmp(text, "cylinder") == 0) return crd_volume_create_view(text, NULL, &info, &cylinder, 0, out);
    const crd_volume_options reading = crd_mask_reading(text, shape);
    CRD_TRY(crd_volume_open(text, &reading, NULL, &file));
    CRD_TRY(check_shape(text, crd_volume_describe(file)->shape, shape));
    CRD_TRY(crd_volume_create_view(text, file->file, &info, &marks, 0, out));
    (*out)->state = file;
    file = NULL;
done:
    crd_volume_close(&file);
    return status;
}
