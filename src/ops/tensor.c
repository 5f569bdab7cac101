#include "ops/ops.h"

#include "base/assert.h"
#include "ops/blocks.h"

int64_t crd_tensor_floats(int64_t depth, int64_t height, int64_t width, int64_t channels)
{
    return (depth + 2) * (height + 2) * (width + 2) * channels + 2 * CRD_TENSOR_SLACK;
}

crd_tensor crd_tensor_in(float *storage, int64_t depth, int64_t height, int64_t width, int64_t channels)
{
    crd_tensor tensor = {.depth = depth, .height = height, .width = width, .channels = channels};
    CRD_ASSERT(storage != NULL && depth > 0 && height > 0 && width > 0 && channels > 0);
    tensor.row = (width + 2) * channels;
    tensor.plane = (height + 2) * tensor.row;
    tensor.data = storage + CRD_TENSOR_SLACK + tensor.plane + tensor.row + channels;
    return tensor;
}

crd_tensor crd_tensor_part(const crd_tensor *tensor, const int64_t origin[3], const int64_t size[3])
{
    crd_tensor part = *tensor;
    CRD_ASSERT(origin[0] >= 0 && origin[1] >= 0 && origin[2] >= 0 && origin[0] + size[0] <= tensor->depth &&
               origin[1] + size[1] <= tensor->height && origin[2] + size[2] <= tensor->width);
    part.data += origin[0] * tensor->plane + origin[1] * tensor->row + origin[2] * tensor->channels;
    part.depth = size[0];
    part.height = size[1];
    part.width = size[2];
    return part;
}

int crd_border_runs(int64_t n, crd_border_run runs[3])
{
    int count = 0;
    runs[count++] = (crd_border_run){0, 1, crd_border_axis(0, n)};
    if (n > 2) runs[count++] = (crd_border_run){1, n - 1, 0};
    if (n > 1) runs[count++] = (crd_border_run){n - 1, n, crd_border_axis(n - 1, n)};
    return count;
}
