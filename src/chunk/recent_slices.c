#include "chunk/recent_slices.h"

#include "base/error.h"
#include "base/memory.h"

struct crd_recent_slices {
    crd_volume *volume;
    crd_type type;
    crd_box region; /* y and x count */
    int64_t depth, slice_bytes;
    int64_t *held; /* [depth]: the slice that lies there, -1 for none; slice z lies at z % depth */
    char *voxels;
};

int64_t crd_recent_slices_bytes(const crd_volume_info *info, const crd_box *region, int64_t depth)
{
    return depth * region->size[1] * region->size[2] * (int64_t)crd_type_size(info->type);
}

crd_status crd_recent_slices_create(crd_volume *volume, const crd_box *region, int64_t depth, crd_recent_slices **out)
{
    crd_status status = CRD_OK;
    crd_recent_slices *recent = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *recent, "slices of the scan", &recent));
    recent->volume = volume;
    recent->type = crd_volume_describe(volume)->type;
    recent->region = *region;
    recent->depth = depth;
    recent->slice_bytes = crd_recent_slices_bytes(crd_volume_describe(volume), region, 1);
    CRD_TRY(crd_alloc(depth, sizeof *recent->held, "slices of the scan", &recent->held));
    CRD_TRY(crd_alloc(depth, (size_t)recent->slice_bytes, "slices of the scan", &recent->voxels));
    for (int64_t i = 0; i < depth; i++) recent->held[i] = -1;
    *out = recent;
    recent = NULL;
done:
    crd_recent_slices_free(&recent);
    return status;
}

void crd_recent_slices_free(crd_recent_slices **pointer)
{
    crd_recent_slices *recent = *pointer;
    if (recent == NULL) return;
    crd_free(&recent->held);
    crd_free(&recent->voxels);
    crd_free(pointer);
}

/* Reads slices [begin, end) that aren't there, as many at a time as lie side by side: files in blocks like that. */
static crd_status fetch(crd_recent_slices *recent, int64_t begin, int64_t end)
{
    for (int64_t z = begin; z < end;) {
        const int64_t place = z % recent->depth;
        int64_t count = 0;
        while (z + count < end && place + count < recent->depth && recent->held[place + count] != z + count) count++;
        if (count == 0) {
            z++;
            continue;
        }
        const crd_box slices = {{z, recent->region.origin[1], recent->region.origin[2]},
                                {count, recent->region.size[1], recent->region.size[2]}};
        for (int64_t i = 0; i < count; i++) recent->held[place + i] = -1; /* reading may fail half-way */
        CRD_PASS(crd_volume_read(recent->volume, &slices, recent->type, recent->voxels + place * recent->slice_bytes));
        for (int64_t i = 0; i < count; i++) recent->held[place + i] = z + i;
        z += count;
    }
    return CRD_OK;
}

bool crd_recent_slices_covers(const crd_recent_slices *recent, const crd_box *box)
{
    for (int axis = 1; axis < 3; axis++) {
        const int64_t begin = box->origin[axis] - recent->region.origin[axis];
        if (begin < 0 || begin + box->size[axis] > recent->region.size[axis]) return false;
    }
    return box->size[0] <= recent->depth;
}

crd_status crd_recent_slices_read(crd_recent_slices *recent, const crd_normaliser *n, const crd_box *box, float *voxels)
{
    const int64_t width = recent->region.size[2], bytes = (int64_t)crd_type_size(recent->type);
    CRD_PASS(fetch(recent, box->origin[0], box->origin[0] + box->size[0]));
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        const char *slice = recent->voxels + z % recent->depth * recent->slice_bytes;
        for (int64_t y = 0; y < box->size[1]; y++) {
            const int64_t row = box->origin[1] - recent->region.origin[1] + y;
            const int64_t at = row * width + box->origin[2] - recent->region.origin[2];
            crd_normalise(n, recent->type, slice + at * bytes, box->size[2], voxels);
            voxels += box->size[2];
        }
    }
    return CRD_OK;
}
