/* The most uncertain regions: from the highest block outwards, as long as blocks are at least half as high. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/regions.h"

enum { REACH = 8 }; /* blocks from the highest one, at most */

typedef struct search {
    const float *means;
    const int64_t *cells, *shape;
    int64_t block;
    uint8_t *taken;
    int64_t *queue;
} search;

static int64_t highest(const search *s, int64_t count)
{
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++) {
        if (!s->taken[i] && s->means[i] > 0.0f && (best < 0 || s->means[i] > s->means[best])) best = i;
    }
    return best;
}

static void split(const search *s, int64_t cell, int64_t at[3])
{
    at[2] = cell % s->cells[2];
    at[1] = cell / s->cells[2] % s->cells[1];
    at[0] = cell / s->cells[2] / s->cells[1];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds one block to the region; `weights` sum up the centre. */
static void absorb(const search *s, const int64_t at[3], double mean, crd_region *region, double weights[4])
{
    int64_t voxels = 1;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t low = at[axis] * s->block, high = least(low + s->block, s->shape[axis]);
        region->low[axis] = least(region->low[axis], low);
        region->high[axis] = high > region->high[axis] ? high : region->high[axis];
        voxels *= high - low;
    }
    for (int axis = 0; axis < 3; axis++) {
        const int64_t low = at[axis] * s->block, high = least(low + s->block, s->shape[axis]);
        weights[axis] += mean * (double)voxels * 0.5 * (double)(low + high - 1);
    }
    weights[3] += mean * (double)voxels;
    region->voxels += voxels;
}

static void grow(const search *s, int64_t seed, crd_region *region)
{
    const float limit = 0.5f * s->means[seed];
    int64_t first[3], begin = 0, end = 0;
    double weights[4] = {0};
    split(s, seed, first);
    *region = (crd_region){.low = {INT64_MAX, INT64_MAX, INT64_MAX}, .peak = (double)s->means[seed]};
    s->queue[end++] = seed;
    s->taken[seed] = 1;
    while (begin < end) {
        int64_t at[3];
        const int64_t cell = s->queue[begin++];
        split(s, cell, at);
        absorb(s, at, (double)s->means[cell], region, weights);
        const int64_t steps[3] = {s->cells[1] * s->cells[2], s->cells[2], 1};
        for (int way = 0; way < 6; way++) {
            const int axis = way / 2;
            const int64_t next = at[axis] + (way % 2 == 0 ? 1 : -1);
            if (next < 0 || next >= s->cells[axis] || llabs(next - first[axis]) > REACH) continue;
            const int64_t other = cell + (way % 2 == 0 ? steps[axis] : -steps[axis]);
            if (s->taken[other] || s->means[other] < limit) continue;
            s->taken[other] = 1;
            s->queue[end++] = other;
        }
    }
    for (int axis = 0; axis < 3; axis++) region->centre[axis] = (int64_t)rint(weights[axis] / weights[3]);
    region->mean = weights[3] / (double)region->voxels;
}

crd_status crd_regions_find(const float *means, const int64_t cells[3], int64_t block, const int64_t shape[3], int most,
                            crd_region *regions, int *found)
{
    crd_status status = CRD_OK;
    const int64_t count = cells[0] * cells[1] * cells[2];
    search s = {.means = means, .cells = cells, .shape = shape, .block = block};
    CRD_TRY(crd_alloc(count, 1, "the regions", &s.taken));
    CRD_TRY(crd_alloc(count, sizeof *s.queue, "the regions", &s.queue));
    for (*found = 0; *found < most; ++*found) {
        const int64_t seed = highest(&s, count);
        if (seed < 0) break;
        grow(&s, seed, &regions[*found]);
    }
done:
    crd_free(&s.taken);
    crd_free(&s.queue);
    return status;
}
