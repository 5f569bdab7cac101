#include "volume/shape.h"

bool crd_shape_of(const int64_t *dims, int count, int64_t shape[3], int *channel)
{
    *channel = -1;
    if (count == 4) *channel = dims[3] == 1 ? 3 : 0;
    if (count < 3 || count > 4 || (count == 4 && dims[*channel] != 1)) return false;
    for (int i = 0; i < 3; i++) shape[i] = dims[i + (*channel == 0)];
    return true;
}
