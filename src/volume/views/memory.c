#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "volume/types.h"
#include "volume/views/lent.h"
#include "volume/views/view.h"

typedef struct memory {
    const char *voxels;
    int64_t strides[3];
    bool swapped; /* the other byte order */
} memory;

static crd_status memory_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    crd_status status = CRD_OK;
    const memory *m = volume->state;
    const int64_t *stride = m->strides, *count = box->size;
    const size_t size = crd_type_size(volume->info.type), row_bytes = (size_t)count[2] * size;
    const bool plain = stride[2] == (int64_t)size;
    int64_t *places = NULL;
    char *out = voxels;
    if (!plain) {
        CRD_TRY(crd_alloc(count[2], sizeof *places, "reading an array", &places));
        for (int64_t x = 0; x < count[2]; x++) places[x] = x * stride[2];
    }
    for (int64_t z = box->origin[0]; z < box->origin[0] + count[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + count[1]; y++) {
            const char *row = m->voxels + z * stride[0] + y * stride[1] + box->origin[2] * stride[2];
            if (plain) {
                memcpy(out, row, row_bytes);
            } else {
                crd_gather(size, row, places, count[2], out);
            }
            if (m->swapped) crd_swap_bytes(out, count[2], size);
            out += row_bytes;
        }
    }
done:
    crd_free(&places);
    return status;
}

static crd_status memory_open_again(const crd_volume *volume, crd_volume **out)
{
    const memory *m = volume->state;
    CRD_PASS(crd_view_memory(m->voxels, &volume->info, m->strides, volume->path, out));
    ((memory *)(*out)->state)->swapped = m->swapped;
    return CRD_OK;
}

static void memory_reverse_axes(crd_volume *volume)
{
    memory *m = volume->state;
    int64_t *shape = volume->info.shape;
    const int64_t length = shape[0], stride = m->strides[0];
    shape[0] = shape[2], m->strides[0] = m->strides[2];
    shape[2] = length, m->strides[2] = stride;
}

static void memory_close(crd_volume *volume)
{
    crd_free(&volume->state);
}

static const crd_format memory_view = {.name = "memory",
                                       .read = memory_read,
                                       .open_again = memory_open_again,
                                       .reverse_axes = memory_reverse_axes,
                                       .close = memory_close};

crd_status crd_view_memory(const void *voxels, const crd_volume_info *info, const int64_t *strides, const char *name,
                           crd_volume **out)
{
    const int64_t size = (int64_t)crd_type_size(info->type);
    CRD_PASS(crd_volume_create_view(name != NULL ? name : "the array", NULL, info, &memory_view, sizeof(memory), out));
    memory *m = (*out)->state;
    const int64_t packed[3] = {info->shape[1] * info->shape[2] * size, info->shape[2] * size, size};
    m->voxels = voxels;
    memcpy(m->strides, strides != NULL ? strides : packed, sizeof m->strides);
    (*out)->z_fastest = llabs(m->strides[0]) < llabs(m->strides[2]);
    return CRD_OK;
}

/* Whether all voxels lie within what a pointer can reach. */
static crd_status check_strides(const crd_volume_info *info, const int64_t *strides)
{
    int64_t reach = 0;
    for (int axis = 0; axis < 3; axis++) {
        int64_t along;
        if (strides[axis] == INT64_MIN || info->shape[axis] < 1 ||
            crd_product(llabs(strides[axis]), info->shape[axis], 1, &along) != CRD_OK || along > INT64_MAX - reach) {
            return crd_fail(CRD_ERR_ARGUMENT, "an array of that shape can't have a stride of %lld bytes along %c",
                            (long long)strides[axis], "zyx"[axis]);
        }
        reach += along;
    }
    return CRD_OK;
}

crd_status crd_volume_from_memory(const void *voxels, const crd_volume_info *info, const int64_t *strides,
                                  bool big_endian, const char *name, crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    char *path = NULL;
    *out = NULL;
    if (strides != NULL) CRD_PASS(check_strides(info, strides));
    CRD_TRY(crd_lent_path(name, &path));
    CRD_TRY(crd_view_memory(voxels, info, strides, path, &volume));
    ((memory *)volume->state)->swapped = big_endian != (bool)CRD_BIG_ENDIAN;
    CRD_TRY(crd_lend(volume));
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    crd_free(&path);
    return status;
}
