#include "volume/box.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "volume/setting_checks.h"

static crd_status read_limits(const char *name, const char *text, int64_t limits[6])
{
    const char *at = text;
    for (int i = 0; i < 6; i++) {
        const size_t length = strcspn(at, ":,");
        const char behind = i == 5 ? '\0' : i % 2 == 0 ? ':' : ',';
        if (!crd_parse_int(at, length, &limits[i]) || at[length] != behind) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s must be z0:z1,y0:y1,x0:x1, not '%s'", name, text);
        }
        at += length + (i < 5);
    }
    return CRD_OK;
}

static crd_status outside(const char *name, int axis, int64_t begin, int64_t end, int64_t whole)
{
    return crd_fail(CRD_ERR_ARGUMENT, "%s asks for %c from %lld to %lld; it must lie in 0:%lld and hold a voxel", name,
                    "zyx"[axis], (long long)begin, (long long)end, (long long)whole);
}

crd_status crd_box_check(const char *name, const crd_box *box, const int64_t shape[3])
{
    for (int axis = 0; axis < 3; axis++) {
        const int64_t begin = box->origin[axis], size = box->size[axis], whole = shape[axis];
        const int64_t end = size < 1 ? begin : begin > 0 && size > INT64_MAX - begin ? INT64_MAX : begin + size;
        if (begin < 0 || end <= begin || end > whole) return outside(name, axis, begin, end, whole);
    }
    return CRD_OK;
}

crd_status crd_box_parse(const char *name, const char *text, const int64_t *shape, crd_box *out)
{
    int64_t limits[6];
    CRD_PASS(read_limits(name, text, limits));
    for (int axis = 0; axis < 3; axis++) {
        const int64_t begin = limits[2 * axis], end = limits[2 * axis + 1];
        if (shape != NULL && (begin < 0 || end <= begin || end > shape[axis])) {
            return outside(name, axis, begin, end, shape[axis]);
        }
        if (begin < 0 || end <= begin) {
            return crd_fail(CRD_ERR_ARGUMENT, "%s asks for %c from %lld to %lld, where no voxels are", name,
                            "zyx"[axis], (long long)begin, (long long)end);
        }
        out->origin[axis] = begin;
        out->size[axis] = end - begin;
    }
    return CRD_OK;
}

crd_status crd_check_bbox(const char *name, const char *text)
{
    int64_t limits[6];
    return read_limits(name, text, limits);
}
