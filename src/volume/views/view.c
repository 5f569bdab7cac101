#include "volume/views/view.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "volume/types.h"

typedef struct view {
    crd_volume *of, *mask; /* the mask: NULL unless masked */
    int64_t origin[3];     /* of a box */
    bool owned;            /* both are closed with the view */
} view;

static crd_status create(const crd_format *format, const view *looked, const crd_volume_info *info, crd_volume **out)
{
    crd_volume *of = looked->of;
    CRD_PASS(crd_volume_create_view(of->path, of->file, info, format, sizeof *looked, out));
    memcpy((*out)->state, looked, sizeof *looked);
    (*out)->layer = of->layer;
    (*out)->z_fastest = of->z_fastest && format->reverse_axes != NULL;
    return CRD_OK;
}

static crd_status view_open_again(const crd_volume *volume, crd_volume **out)
{
    crd_status status = CRD_OK;
    view copy = *(const view *)volume->state;
    const crd_volume *of = copy.of, *mask = copy.mask;
    *out = copy.of = copy.mask = NULL;
    copy.owned = true;
    CRD_TRY(crd_volume_open_again(of, &copy.of));
    if (mask != NULL) CRD_TRY(crd_volume_open_again(mask, &copy.mask));
    CRD_TRY(create(volume->format, &copy, &volume->info, out));
    return CRD_OK;
done:
    crd_volume_close(&copy.of);
    crd_volume_close(&copy.mask);
    return status;
}

static void view_close(crd_volume *volume)
{
    view *v = volume->state;
    if (v == NULL) return;
    if (v->owned) {
        crd_volume_close(&v->of);
        crd_volume_close(&v->mask);
    }
    crd_free(&volume->state);
}

static const char *view_other_file(const crd_volume *volume, int64_t index)
{
    const crd_volume *of = ((const view *)volume->state)->of;
    return of->format->other_file != NULL ? of->format->other_file(of, index) : NULL;
}

static void swap_ends(int64_t axes[3])
{
    const int64_t first = axes[0];
    axes[0] = axes[2];
    axes[2] = first;
}

static void view_reverse_axes(crd_volume *volume)
{
    view *v = volume->state;
    v->of->format->reverse_axes(v->of);
    swap_ends(volume->info.shape);
    swap_ends(v->origin);
}

/* ---- a box ---- */

static crd_status read_box(crd_volume *volume, const crd_box *box, void *voxels)
{
    const view *v = volume->state;
    crd_box there = *box;
    for (int axis = 0; axis < 3; axis++) there.origin[axis] += v->origin[axis];
    return crd_volume_read(v->of, &there, volume->info.type, voxels);
}

static const crd_format box_view = {.name = "box",
                                    .read = read_box,
                                    .open_again = view_open_again,
                                    .reverse_axes = view_reverse_axes,
                                    .other_file = view_other_file,
                                    .close = view_close};

crd_status crd_view_box(crd_volume *of, const crd_box *box, crd_volume **out)
{
    view v = {.of = of};
    crd_volume_info info = of->info;
    *out = NULL;
    CRD_PASS(crd_volume_check_box(of, box));
    for (int axis = 0; axis < 3; axis++) {
        info.shape[axis] = box->size[axis];
        info.origin[axis] += box->origin[axis];
        v.origin[axis] = box->origin[axis];
    }
    return create(&box_view, &v, &info, out);
}

/* ---- what a mask leaves ---- */

static crd_status read_masked(crd_volume *volume, const crd_box *box, void *voxels)
{
    crd_status status = CRD_OK;
    const view *v = volume->state;
    double *values = voxels;
    uint8_t *inside = NULL;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    CRD_TRY(crd_alloc(count, 1, "a part of the mask", &inside));
    CRD_TRY(crd_volume_read(v->of, box, CRD_F64, values));
    CRD_TRY(crd_volume_read(v->mask, box, CRD_U8, inside));
    for (int64_t i = 0; i < count; i++) values[i] = inside[i] != 0 ? values[i] : (double)NAN;
done:
    crd_free(&inside);
    return status;
}

static const crd_format masked_view = {.name = "masked",
                                       .read = read_masked,
                                       .open_again = view_open_again,
                                       .other_file = view_other_file,
                                       .close = view_close};

crd_status crd_view_masked(crd_volume *of, crd_volume *mask, crd_volume **out)
{
    const view v = {.of = of, .mask = mask};
    crd_volume_info info = of->info;
    *out = NULL;
    if (mask->info.type != CRD_U8 || memcmp(mask->info.shape, info.shape, sizeof info.shape) != 0) {
        return crd_fail(CRD_ERR_MISMATCH, "%s can't mask %s: a mask has u8 voxels and the same shape", mask->path,
                        of->path);
    }
    info.type = CRD_F64;
    return create(&masked_view, &v, &info, out);
}

/* ---- mirrored ends ---- */

static int64_t mirror(int64_t index, int64_t n)
{
    const int64_t period = n > 1 ? 2 * (n - 1) : 1;
    const int64_t at = index % period;
    return at < n ? at : period - at;
}

/* Where the voxels [begin, begin + count) of an axis of n lie: in [*first, *first + *extent), voxel i at
 * *first + places[i]. They are neighbours, so that this is no longer than what is asked for. */
static void find_places(int64_t begin, int64_t count, int64_t n, int64_t *places, int64_t *first, int64_t *extent)
{
    int64_t low = n - 1, high = 0;
    for (int64_t i = 0; i < count; i++) {
        places[i] = mirror(begin + i, n);
        low = places[i] < low ? places[i] : low;
        high = places[i] > high ? places[i] : high;
    }
    for (int64_t i = 0; i < count; i++) places[i] -= low;
    *first = low;
    *extent = high - low + 1;
}

static crd_status read_mirrored(crd_volume *volume, const crd_box *box, void *voxels)
{
    crd_status status = CRD_OK;
    crd_volume *of = ((const view *)volume->state)->of;
    const crd_type type = volume->info.type;
    const int64_t size = (int64_t)crd_type_size(type), *shape = of->info.shape, *count = box->size;
    int64_t *places = NULL;
    char *near = NULL, *out = voxels;
    crd_box part;
    bool inside = true;
    for (int axis = 0; axis < 3; axis++) inside &= box->origin[axis] + count[axis] <= shape[axis];
    if (inside) return crd_volume_read(of, box, type, voxels);
    CRD_TRY(crd_alloc(count[0] + count[1] + count[2], sizeof *places, "mirroring a volume", &places));
    int64_t *const z_places = places, *const y_places = z_places + count[0], *const x_places = y_places + count[1];
    int64_t *const along[3] = {z_places, y_places, x_places};
    for (int axis = 0; axis < 3; axis++) {
        find_places(box->origin[axis], count[axis], shape[axis], along[axis], &part.origin[axis], &part.size[axis]);
    }
    for (int64_t x = 0; x < count[2]; x++) x_places[x] *= size;
    CRD_TRY(crd_alloc(part.size[0] * part.size[1] * part.size[2], (size_t)size, "mirroring a volume", &near));
    CRD_TRY(crd_volume_read(of, &part, type, near));
    for (int64_t z = 0; z < count[0]; z++) {
        for (int64_t y = 0; y < count[1]; y++) {
            const char *row = near + (z_places[z] * part.size[1] + y_places[y]) * part.size[2] * size;
            crd_gather((size_t)size, row, x_places, count[2], out);
            out += count[2] * size;
        }
    }
done:
    crd_free(&places);
    crd_free(&near);
    return status;
}

static const crd_format mirrored_view = {.name = "mirrored",
                                         .read = read_mirrored,
                                         .open_again = view_open_again,
                                         .reverse_axes = view_reverse_axes,
                                         .other_file = view_other_file,
                                         .close = view_close};

crd_status crd_view_mirrored(crd_volume *of, const int64_t shape[3], crd_volume **out)
{
    const view v = {.of = of};
    crd_volume_info info = of->info;
    *out = NULL;
    for (int axis = 0; axis < 3; axis++) {
        if (shape[axis] < info.shape[axis]) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s can't be mirrored to fewer voxels than it has", of->path);
        }
        info.shape[axis] = shape[axis];
    }
    return create(&mirrored_view, &v, &info, out);
}
