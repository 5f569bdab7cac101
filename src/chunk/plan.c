#include "chunk/plan.h"

#include <math.h>

#include "base/assert.h"
#include "base/memory.h"

static crd_status plan_axis(char letter, int64_t size, int64_t window, int64_t step, double trim, crd_axis_plan *axis)
{
    if (size < window) {
        const int64_t fits = size / 8 * 8;
        if (fits < 8) {
            return crd_fail(CRD_ERR_ARGUMENT, "the volume has %lld voxels along %c, and the smallest chunk has 8",
                            (long long)size, letter);
        }
        return crd_fail(CRD_ERR_ARGUMENT,
                        "the chunk is %lld voxels along %c and the volume only %lld; a chunk of %lld there would fit",
                        (long long)window, letter, (long long)size, (long long)fits);
    }
    *axis = (crd_axis_plan){.size = size, .window = window, .extent = size};
    axis->stride = window / step > 1 ? window / step : 1;
    const int64_t wanted = (int64_t)ceil(trim * (double)window);
    const int64_t allowed = (window - axis->stride) / 2; /* more would leave gaps between neighbours */
    axis->border = wanted < allowed ? wanted : allowed;
    const int64_t last = size - window;
    axis->count = last / axis->stride + 1 + (last % axis->stride != 0);
    return CRD_OK;
}

crd_status crd_plan_make(const int64_t shape[3], const int64_t chunk[3], int64_t step, double trim, crd_plan *out)
{
    if (step < 1) return crd_fail(CRD_ERR_ARGUMENT, "the step must be at least 1, not %lld", (long long)step);
    if (!(trim >= 0.0 && trim <= 1.0)) {
        return crd_fail(CRD_ERR_ARGUMENT, "the trim must lie between 0 and 1, not be %g", trim);
    }
    for (int axis = 0; axis < 3; axis++) {
        if (chunk[axis] < 1) return crd_fail(CRD_ERR_ARGUMENT, "a chunk edge of %lld can't be", (long long)chunk[axis]);
        CRD_PASS(plan_axis("zyx"[axis], shape[axis], chunk[axis], step, trim, &out -> axes[axis]));
    }
    return crd_product(out->axes[0].count, out->axes[1].count, out->axes[2].count, &out->count);
}

enum { CANDIDATES_MAX = 1024 };

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* All windows of an axis are equally long: as long as the longest must be. Those at the ends, which have a halo on one
 * side only, see a little more on that side. */
static void tile_axis(int64_t size, int64_t tile, int64_t halo, int64_t step, crd_axis_plan *axis)
{
    const int64_t extent = round_up(size, step), count = (extent + tile - 1) / tile;
    const int64_t inner_sides = count > 2 ? 2 : count - 1;
    *axis = (crd_axis_plan){.size = size,
                            .window = least(tile + inner_sides * halo, extent),
                            .stride = tile,
                            .border = halo,
                            .extent = extent,
                            .count = count,
                            .tiled = true};
}

crd_status crd_plan_tiles(const int64_t shape[3], const int64_t tile[3], int64_t halo, int64_t step, crd_plan *out)
{
    enum { EDGE_MAX = 1 << 20 };
    if (halo < 0 || halo > EDGE_MAX || halo % step != 0) {
        return crd_fail(CRD_ERR_ARGUMENT, "the halo must be 0 or a multiple of %lld voxels, not %lld; try --halo %lld",
                        (long long)step, (long long)halo, (long long)round_up(halo < step ? step : halo, step));
    }
    for (int axis = 0; axis < 3; axis++) {
        if (tile[axis] < step || tile[axis] > EDGE_MAX || tile[axis] % step != 0) {
            return crd_fail(CRD_ERR_ARGUMENT,
                            "a tile of %lld,%lld,%lld voxels (z,y,x) can't be: every edge must be a multiple of %lld",
                            (long long)tile[0], (long long)tile[1], (long long)tile[2], (long long)step);
        }
        if (halo > tile[axis] && tile[axis] < shape[axis]) { /* one tile alone has no use for it */
            return crd_fail(CRD_ERR_ARGUMENT,
                            "the halo of %lld voxels is larger than the tile, which has %lld along %c; a larger --tile "
                            "or a smaller --halo would do",
                            (long long)halo, (long long)tile[axis], "zyx"[axis]);
        }
        tile_axis(shape[axis], tile[axis], halo, step, &out->axes[axis]);
    }
    return crd_product(out->axes[0].count, out->axes[1].count, out->axes[2].count, &out->count);
}

/* The tiles that an axis may have, each of another size and no smaller than the halo, and what the network sees of
 * them: about twice the square root of the axis in steps. */
typedef struct candidates {
    int64_t tile[CANDIDATES_MAX], window[CANDIDATES_MAX], tiles[CANDIDATES_MAX];
    int count;
} candidates;

static void list_candidates(int64_t size, int64_t halo, int64_t step, candidates *out)
{
    const int64_t steps = round_up(size, step) / step;
    out->count = 0;
    for (int64_t tiles = 1; tiles <= steps && out->count < CANDIDATES_MAX;) {
        crd_axis_plan axis;
        const int64_t edge = (steps + tiles - 1) / tiles;
        if (edge * step < halo && out->count > 0) return;
        tile_axis(size, edge * step, halo, step, &axis);
        out->tile[out->count] = edge * step;
        out->window[out->count] = axis.window;
        out->tiles[out->count++] = axis.count;
        if (edge == 1) return;
        tiles = (steps + edge - 2) / (edge - 1); /* the fewest that are smaller */
    }
}

void crd_plan_best_tile(const int64_t shape[3], int64_t halo, int64_t step, int64_t most, int64_t tile[3])
{
    candidates axes[3];
    double best_seen = HUGE_VAL, best_work = HUGE_VAL;
    for (int axis = 0; axis < 3; axis++) list_candidates(shape[axis], halo, step, &axes[axis]);
    for (int z = 0; z < axes[0].count; z++) {
        for (int y = 0; y < axes[1].count; y++) {
            for (int x = 0; x < axes[2].count; x++) {
                const double seen = (double)axes[0].window[z] * (double)axes[1].window[y] * (double)axes[2].window[x];
                const double tiles = (double)axes[0].tiles[z] * (double)axes[1].tiles[y] * (double)axes[2].tiles[x];
                const bool fits = seen <= (double)most, others_fit = best_seen <= (double)most;
                if (fits != others_fit ? !fits : fits ? seen * tiles >= best_work : seen >= best_seen) continue;
                best_seen = seen;
                best_work = seen * tiles;
                tile[0] = axes[0].tile[z];
                tile[1] = axes[1].tile[y];
                tile[2] = axes[2].tile[x];
            }
        }
    }
}

int64_t crd_axis_position(const crd_axis_plan *axis, int64_t index)
{
    CRD_ASSERT(index >= 0 && index < axis->count);
    const int64_t wanted = index * axis->stride - (axis->tiled ? axis->border : 0);
    return least(wanted > 0 ? wanted : 0, axis->extent - axis->window);
}

void crd_axis_keep(const crd_axis_plan *axis, int64_t index, int64_t *begin, int64_t *end)
{
    const int64_t position = crd_axis_position(axis, index);
    if (axis->tiled) {
        *begin = index * axis->stride;
        *end = least(*begin + axis->stride, axis->size);
    } else {
        *begin = position == 0 ? 0 : position + axis->border;
        *end = position + axis->window == axis->size ? axis->size : position + axis->window - axis->border;
    }
    CRD_ASSERT(*begin >= position && *begin < *end && *end <= position + axis->window && *end <= axis->size);
}

int64_t crd_axis_coverage(const crd_axis_plan *axis, int64_t coordinate)
{
    /* Windows that can hold the coordinate begin in (coordinate - window, coordinate]; the last window is off the
     * regular grid, so it is looked at apart. */
    int64_t covered = 0;
    if (axis->tiled) return 1;
    int64_t first = (coordinate - axis->window) / axis->stride;
    if (first < 0) first = 0;
    for (int64_t index = first; index < axis->count && crd_axis_position(axis, index) <= coordinate; index++) {
        int64_t begin, end;
        crd_axis_keep(axis, index, &begin, &end);
        covered += coordinate >= begin && coordinate < end;
    }
    return covered;
}

void crd_plan_chunk(const crd_plan *plan, int64_t number, crd_box *window, crd_box *keep)
{
    CRD_ASSERT(number >= 0 && number < plan->count);
    for (int axis = 2; axis >= 0; axis--) {
        const crd_axis_plan *row = &plan->axes[axis];
        const int64_t index = number % row->count;
        int64_t begin, end;
        number /= row->count;
        crd_axis_keep(row, index, &begin, &end);
        window->origin[axis] = crd_axis_position(row, index);
        window->size[axis] = row->window;
        keep->origin[axis] = begin;
        keep->size[axis] = end - begin;
    }
}

void crd_plan_coverage(const crd_plan *plan, int64_t *least, int64_t *most)
{
    *least = *most = 1;
    for (int axis = 0; axis < 3; axis++) {
        int64_t low = INT64_MAX, high = 0;
        for (int64_t i = 0; i < plan->axes[axis].size; i++) {
            const int64_t covered = crd_axis_coverage(&plan->axes[axis], i);
            if (covered < low) low = covered;
            if (covered > high) high = covered;
        }
        *least *= low;
        *most *= high;
    }
}
