#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "volume/format.h"
#include "volume/stream.h"
#include "volume/types.h"

typedef struct conversion {
    crd_volume *out;
    crd_type from;
    double factor;   /* between the two scales */
    void *converted; /* one box in the new type; NULL where voxels stay as they are */
    int64_t changed; /* voxels that the new type can't hold */
} conversion;

static crd_status convert_box(void *context, const crd_box *box, void *voxels)
{
    conversion *c = context;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    if (c->converted == NULL) return crd_volume_write(c->out, box, voxels);
    c->changed += crd_convert(c->from, voxels, c->factor, count, crd_volume_describe(c->out)->type, c->converted);
    return crd_volume_write(c->out, box, c->converted);
}

crd_status crd_volume_convert(crd_volume *in, const char *path, const crd_volume_info *info,
                              const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    const crd_volume_info *from = crd_volume_describe(in);
    conversion c = {.from = from->type};
    int64_t size[3];

    if (info == NULL) info = from;
    if (memcmp(info->shape, from->shape, sizeof info->shape) != 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s can't be converted to another shape", in->path);
    }
    CRD_TRY(crd_volume_create(path, info, options, &c.out));
    if (crd_volumes_share_file(in, c.out)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s would replace %s, which it is made from; give it another name", path, in->path);
    }
    const crd_volume_info *to = crd_volume_describe(c.out);
    const size_t from_size = crd_type_size(from->type), to_size = crd_type_size(to->type);
    const bool any_order = c.out->format->any_order && !c.out->in_order;
    const crd_walk walk = {
        .in = in,
        .as = from->type,
        .voxel_bytes = from_size > to_size ? from_size : to_size,
        .layer = in->layer > c.out->layer ? in->layer : c.out->layer,
        .whole_slices = !any_order,
        .rows_first = in->z_fastest && any_order,
        .monitor = monitor,
        .stage = "converting",
    };
    c.factor = from->scale == to->scale ? 1.0 : from->scale / to->scale;
    if (from->type != to->type || c.factor != 1.0) {
        CRD_TRY(crd_walk_check(&walk));
        crd_walk_box(&walk, size);
        CRD_TRY(crd_alloc(size[0] * size[1] * size[2], to_size, "converting a volume", &c.converted));
    }
    CRD_TRY(crd_walk_run(&walk, convert_box, &c));
    CRD_TRY(crd_volume_commit(c.out));
    if (c.changed > 0) {
        crd_warn(monitor,
                 "%lld voxels of %s are out of the range of %s, or no numbers, and were set to the nearest it has",
                 (long long)c.changed, in->path, crd_type_name(to->type));
    }
done:
    crd_volume_close(&c.out);
    crd_free(&c.converted);
    return status;
}
