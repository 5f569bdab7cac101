#include "chunk/kept.h"

#include "base/error.h"
#include "base/memory.h"

struct crd_kept {
    crd_volume *volume;
    crd_type type;
    crd_box region; /* y and x count */
    int64_t depth, slice_bytes;
    int64_t *held; /* [depth]: the slice that lies there, -1 for none; slice z lies at z % depth */
    char *slices;
};

int64_t crd_kept_bytes(const crd_volume_info *info, const crd_box *region, int64_t depth)
{
    return depth * region->size[1] * region->size[2] * (int64_t)crd_type_size(info->type);
}

crd_status crd_kept_create(crd_volume *volume, const crd_box *region, int64_t depth, crd_kept **out)
{
    crd_status status = CRD_OK;
    crd_kept *kept = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *kept, "slices of the scan", &kept));
    kept->volume = volume;
    kept->type = crd_volume_describe(volume)->type;
    kept->region = *region;
    kept->depth = depth;
    kept->slice_bytes = crd_kept_bytes(crd_volume_describe(volume), region, 1);
    CRD_TRY(crd_alloc(depth, sizeof *kept->held, "slices of the scan", &kept->held));
    CRD_TRY(crd_alloc(depth, (size_t)kept->slice_bytes, "slices of the scan", &kept->slices));
    for (int64_t i = 0; i < depth; i++) kept->held[i] = -1;
    *out = kept;
    kept = NULL;
done:
    crd_kept_free(&kept);
    return status;
}

void crd_kept_free(crd_kept **pointer)
{
    crd_kept *kept = *pointer;
    if (kept == NULL) return;
    crd_free(&kept->held);
    crd_free(&kept->slices);
    crd_free(pointer);
}

/* Reads slices [begin, end) that aren't there, as many at a time as lie side by side: files in blocks like that. */
static crd_status fetch(crd_kept *kept, int64_t begin, int64_t end)
{
    for (int64_t z = begin; z < end;) {
        const int64_t place = z % kept->depth;
        int64_t count = 0;
        while (z + count < end && place + count < kept->depth && kept->held[place + count] != z + count) count++;
        if (count == 0) {
            z++;
            continue;
        }
        const crd_box slices = {{z, kept->region.origin[1], kept->region.origin[2]},
                                {count, kept->region.size[1], kept->region.size[2]}};
        for (int64_t i = 0; i < count; i++) kept->held[place + i] = -1; /* reading may fail half-way */
        CRD_PASS(crd_volume_read(kept->volume, &slices, kept->type, kept->slices + place * kept->slice_bytes));
        for (int64_t i = 0; i < count; i++) kept->held[place + i] = z + i;
        z += count;
    }
    return CRD_OK;
}

bool crd_kept_covers(const crd_kept *kept, const crd_box *box)
{
    for (int axis = 1; axis < 3; axis++) {
        const int64_t begin = box->origin[axis] - kept->region.origin[axis];
        if (begin < 0 || begin + box->size[axis] > kept->region.size[axis]) return false;
    }
    return box->size[0] <= kept->depth;
}

crd_status crd_kept_read(crd_kept *kept, const crd_normaliser *n, const crd_box *box, float *voxels)
{
    const int64_t width = kept->region.size[2], bytes = (int64_t)crd_type_size(kept->type);
    CRD_PASS(fetch(kept, box->origin[0], box->origin[0] + box->size[0]));
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        const char *slice = kept->slices + z % kept->depth * kept->slice_bytes;
        for (int64_t y = 0; y < box->size[1]; y++) {
            const int64_t row = box->origin[1] - kept->region.origin[1] + y;
            const int64_t at = row * width + box->origin[2] - kept->region.origin[2];
            crd_normalise(n, kept->type, slice + at * bytes, box->size[2], voxels);
            voxels += box->size[2];
        }
    }
    return CRD_OK;
}
