#include "validate/cubes.h"

#include <math.h>
#include <string.h>

double crd_cube_limit(double threshold, int64_t edge)
{
    return ceil(threshold * 0x1p32 * (double)(edge * edge * edge));
}

/* Sums over the edge x edge rows of the cubes, column by column. */
static void sum_columns(const crd_sweep *sweep, const crd_cube_slices *slices, int64_t y, const crd_cube_room *room)
{
    const int64_t width = slices->width;
    const double scale = sweep->inputs->unc_scale * 0x1p32;
    memset(room->sum, 0, (size_t)width * sizeof *room->sum);
    memset(room->right, 0, (size_t)width * sizeof *room->right);
    memset(room->counted, 0, (size_t)width * sizeof *room->counted);
    for (int64_t dz = 0; dz < sweep->edge; dz++) {
        for (int64_t dy = 0; dy < sweep->edge; dy++) {
            const float *unc = slices->unc[dz] + (y + dy) * width;
            const uint8_t *mark = slices->mark[dz] + (y + dy) * width;
            for (int64_t x = 0; x < width; x++) {
                room->sum[x] += crd_nearest_whole((double)unc[x] * scale);
                room->right[x] += mark[x] & 15;
                room->counted[x] += mark[x] >> 4;
            }
        }
    }
}

void crd_cubes_row(const crd_sweep *sweep, const crd_cube_slices *slices, int64_t y, const crd_cube_room *room,
                   crd_tally *tally)
{
    const int64_t edge = sweep->edge, volume = edge * edge * edge;
    const double limit = crd_cube_limit(sweep->threshold, edge);
    const double bin_width = (double)volume * (0x1p32 / (double)CRD_CUBE_BINS);
    sum_columns(sweep, slices, y, room);
    for (int64_t x = 0; x + edge <= slices->width; x += sweep->stride) {
        double sum = 0.0;
        int64_t right = 0, counted = 0;
        for (int64_t dx = 0; dx < edge; dx++) {
            sum += room->sum[x + dx];
            right += room->right[x + dx];
            counted += room->counted[x + dx];
        }
        if (counted != volume || !(sum >= 0.0 && sum <= 0x1p52)) continue; /* the latter is refused elsewhere */
        const int accurate = (right >= sweep->need) << 1;
        const int64_t bin = (int64_t)(sum / bin_width);
        tally->cubes[bin < CRD_CUBE_BINS ? bin : CRD_CUBE_BINS - 1][accurate | (sum >= limit)]++;
        for (int64_t t = 0; t < sweep->threshold_count; t++) {
            tally->thresholds[t][accurate | (sum >= crd_cube_limit(sweep->thresholds[t], edge))]++;
        }
    }
}
