#include "ops/sorting_network.h"

#include <stdbool.h>
#include <string.h>

double crd_percentile_place(double percentile, int64_t rows, int64_t *below, int64_t *above)
{
    const double last = (double)(rows - 1), position = percentile / 100 * last;
    *below = position < last ? (int64_t)position : rows - 1;
    const double part = position - (double)*below;
    *above = part > 0 ? *below + 1 : *below;
    return part;
}

void crd_network_make(int64_t rows, const double *percentiles, int64_t percentile_count, crd_network *out)
{
    bool needed[CRD_NETWORK_ROWS] = {false};
    for (int64_t p = 0; p < percentile_count; p++) {
        int64_t below, above;
        crd_percentile_place(percentiles[p], rows, &below, &above);
        needed[below] = needed[above] = true;
    }
    int count = 0;
    CRD_FOR_EACH_EXCHANGE(rows, i, j)
    {
        out->pair[count][0] = (uint8_t)i;
        out->pair[count++][1] = (uint8_t)j;
    }
    /* From the end: an exchange stays if one of its results is needed, and then needs both rows. */
    int first = count;
    for (int e = count - 1; e >= 0; e--) {
        const uint8_t i = out->pair[e][0], j = out->pair[e][1];
        if (!needed[i] && !needed[j]) continue;
        needed[i] = needed[j] = true;
        first--;
        out->pair[first][0] = i;
        out->pair[first][1] = j;
    }
    out->count = count - first;
    memmove(out->pair, out->pair + first, (size_t)out->count * sizeof out->pair[0]);
}
