#include "chunk/mask.h"

#include <string.h>

#include "base/memory.h"
#include "volume/format.h"

struct crd_mask {
    char *text;
    int64_t shape[3];
    crd_volume *volume;         /* NULL for the cylinder */
    crd_volume_options reading; /* of it */
};

static crd_status check_shape(const crd_mask *mask)
{
    const int64_t *own = crd_volume_describe(mask->volume)->shape, *shape = mask->shape;
    if (memcmp(own, shape, sizeof mask->shape) == 0) return CRD_OK;
    return crd_fail(CRD_ERR_MISMATCH,
                    "the mask %s has shape %lld,%lld,%lld (z,y,x) and the scan %lld,%lld,%lld; they must be equal",
                    mask->text, (long long)own[0], (long long)own[1], (long long)own[2], (long long)shape[0],
                    (long long)shape[1], (long long)shape[2]);
}

crd_volume_options crd_mask_reading(const char *path, const int64_t shape[3])
{
    crd_volume_options reading = {0};
    if (crd_raw_voxel_bytes(path, shape) != 1) return reading;
    memcpy(reading.shape, shape, sizeof reading.shape);
    reading.type = "u8";
    return reading;
}

/* `other`: the mask that this one is the same as, for another thread; NULL: none. */
static crd_status open_mask(const char *text, const int64_t shape[3], const crd_mask *other, crd_mask **out)
{
    crd_status status = CRD_OK;
    crd_mask *mask = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *mask, "the mask", &mask));
    CRD_TRY(crd_strdup(text, &mask->text));
    memcpy(mask->shape, shape, sizeof mask->shape);
    if (strcmp(text, "cylinder") != 0) {
        mask->reading = other != NULL ? other->reading : crd_mask_reading(text, shape);
        CRD_TRY(other != NULL ? crd_volume_open_again(other->volume, &mask->reading, &mask->volume)
                              : crd_volume_open(text, &mask->reading, NULL, &mask->volume));
        CRD_TRY(check_shape(mask));
    }
    *out = mask;
    mask = NULL;
done:
    crd_mask_close(&mask);
    return status;
}

crd_status crd_mask_open(const char *text, const int64_t shape[3], crd_mask **out)
{
    return open_mask(text, shape, NULL, out);
}

crd_status crd_mask_reopen(const crd_mask *mask, crd_mask **out)
{
    return open_mask(mask->text, mask->shape, mask, out);
}

void crd_mask_close(crd_mask **mask)
{
    if (*mask == NULL) return;
    crd_volume_close(&(*mask)->volume);
    crd_free(&(*mask)->text);
    crd_free(mask);
}

/* A voxel counts when its centre lies in the circle of diameter min(height, width); in doubled coordinates, exactly. */
static void read_cylinder(const int64_t shape[3], const crd_box *box, uint8_t *inside)
{
    const int64_t diameter = shape[1] < shape[2] ? shape[1] : shape[2];
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            const int64_t dy = 2 * (box->origin[1] + y) + 1 - shape[1];
            for (int64_t x = 0; x < box->size[2]; x++) {
                const int64_t dx = 2 * (box->origin[2] + x) + 1 - shape[2];
                *inside++ = dy * dy + dx * dx <= diameter * diameter;
            }
        }
    }
}

crd_status crd_mask_read(crd_mask *mask, const crd_box *box, uint8_t *inside)
{
    crd_status status = CRD_OK;
    float *values = NULL;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    if (mask->volume == NULL) {
        read_cylinder(mask->shape, box, inside);
        return CRD_OK;
    }
    CRD_TRY(crd_alloc(count, sizeof *values, "a part of the mask", &values));
    CRD_TRY(crd_volume_read(mask->volume, box, CRD_F32, values));
    for (int64_t i = 0; i < count; i++) inside[i] = values[i] != 0.0f;
done:
    crd_free(&values);
    return status;
}
