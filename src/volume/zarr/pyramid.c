#include "volume/zarr/pyramid.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "volume/types.h"

int crd_zarr_pyramid_plan(const int64_t shape[3], int wanted, int64_t shapes[][3], int64_t factors[][3])
{
    static const int64_t chunk[3] = {CRD_ZARR_DEPTH, CRD_ZARR_EDGE, CRD_ZARR_EDGE};
    int levels = 1;
    for (int i = 0; i < 3; i++) {
        shapes[0][i] = shape[i];
        factors[0][i] = 1;
    }
    for (; levels < CRD_ZARR_LEVELS; levels++) {
        const int64_t *last = shapes[levels - 1];
        bool one_chunk = true, smallest = true;
        for (int i = 0; i < 3; i++) {
            one_chunk = one_chunk && last[i] <= chunk[i];
            smallest = smallest && last[i] == 1;
        }
        if (smallest || (wanted > 0 ? levels >= wanted : one_chunk)) break;
        for (int i = 0; i < 3; i++) {
            shapes[levels][i] = (last[i] + 1) / 2;
            factors[levels][i] = factors[levels - 1][i] * (last[i] > 1 ? 2 : 1);
        }
    }
    return levels;
}

/* Means of up to 2 x 2 x 2 voxels: fewer at an end that is odd. */
static void join(const double *in, const int64_t size[3], const int64_t out_size[3], double *out)
{
    for (int64_t z = 0; z < out_size[0]; z++) {
        for (int64_t y = 0; y < out_size[1]; y++) {
            for (int64_t x = 0; x < out_size[2]; x++) {
                double sum = 0.0;
                int count = 0;
                for (int64_t i = 2 * z; i < 2 * z + 2 && i < size[0]; i++) {
                    for (int64_t k = 2 * y; k < 2 * y + 2 && k < size[1]; k++) {
                        for (int64_t l = 2 * x; l < 2 * x + 2 && l < size[2]; l++) {
                            sum += in[(i * size[1] + k) * size[2] + l];
                            count++;
                        }
                    }
                }
                out[(z * out_size[1] + y) * out_size[2] + x] = sum / count;
            }
        }
    }
}

typedef struct joining {
    crd_zarr_array *from, *to;
    crd_type type;
    void *voxels;     /* as they are */
    double *in, *out; /* a chunk of the new level and the voxels it is made of */
} joining;

static crd_status join_chunk(joining *j, const crd_box *box, const int64_t from_shape[3])
{
    crd_box source;
    for (int i = 0; i < 3; i++) {
        source.origin[i] = 2 * box->origin[i];
        source.size[i] =
            2 * box->size[i] < from_shape[i] - source.origin[i] ? 2 * box->size[i] : from_shape[i] - source.origin[i];
    }
    CRD_PASS(crd_zarr_array_read(j->from, &source, true, j->voxels));
    (void)crd_convert(j->type, j->voxels, 1.0, source.size[0] * source.size[1] * source.size[2], CRD_F64, j->in);
    join(j->in, source.size, box->size, j->out);
    (void)crd_convert(CRD_F64, j->out, 1.0, box->size[0] * box->size[1] * box->size[2], j->type, j->voxels);
    return crd_zarr_array_write(j->to, box, j->voxels);
}

static crd_status join_level(const char *group, const crd_volume_info *info, const crd_zarr_form *form, int level,
                             const int64_t from_shape[3])
{
    crd_status status = CRD_OK;
    joining j = {.type = info->type};
    char *folder = NULL;
    const size_t room = strlen(group) + 16;
    crd_box box;
    CRD_TRY(crd_alloc((int64_t)room, 1, "a file name", &folder));
    snprintf(folder, room, "%s/%d", group, level - 1);
    CRD_TRY(crd_zarr_array_open(folder, (size_t)64 << 20, NULL, &j.from));
    snprintf(folder, room, "%s/%d", group, level);
    CRD_TRY(crd_zarr_array_create(folder, info, form, false, &j.to));
    const int64_t *chunk = crd_zarr_array_layout(j.to)->chunk, *shape = info->shape;
    const int64_t voxels = chunk[0] * chunk[1] * chunk[2];
    CRD_TRY(crd_alloc(8 * voxels, crd_type_size(info->type), "a level of a pyramid", &j.voxels));
    CRD_TRY(crd_alloc(8 * voxels, sizeof *j.in, "a level of a pyramid", &j.in));
    CRD_TRY(crd_alloc(voxels, sizeof *j.out, "a level of a pyramid", &j.out));
    for (box.origin[0] = 0; box.origin[0] < shape[0]; box.origin[0] += chunk[0]) {
        for (box.origin[1] = 0; box.origin[1] < shape[1]; box.origin[1] += chunk[1]) {
            for (box.origin[2] = 0; box.origin[2] < shape[2]; box.origin[2] += chunk[2]) {
                for (int i = 0; i < 3; i++) {
                    const int64_t left = shape[i] - box.origin[i];
                    box.size[i] = left < chunk[i] ? left : chunk[i];
                }
                CRD_TRY(join_chunk(&j, &box, from_shape));
            }
        }
    }
    CRD_TRY(crd_zarr_array_finish(j.to));
done:
    crd_zarr_array_close(&j.from);
    crd_zarr_array_close(&j.to);
    crd_free(&j.voxels);
    crd_free(&j.in);
    crd_free(&j.out);
    crd_free(&folder);
    return status;
}

crd_status crd_zarr_pyramid_build(const char *group, const crd_volume_info *info, const crd_zarr_form *form, int levels,
                                  const int64_t shapes[][3])
{
    crd_volume_info smaller = *info;
    for (int level = 1; level < levels; level++) {
        memcpy(smaller.shape, shapes[level], sizeof smaller.shape);
        CRD_PASS(join_level(group, &smaller, form, level, shapes[level - 1]));
    }
    return CRD_OK;
}
