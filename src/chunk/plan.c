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

/* The tiles that an axis may have, each of another size and no smaller than the halo: about twice the square root of
 * the axis in steps. */
typedef struct candidate {
    crd_axis_plan axis;
    double lengths[CRD_WORK_TERMS_MAX]; /* of the work's terms */
} candidate;

static int list_candidates(int64_t size, int64_t halo, int64_t step, const crd_tile_work *work, candidate *out)
{
    const int64_t steps = round_up(size, step) / step;
    int count = 0;
    for (int64_t tiles = 1; tiles <= steps && count < CANDIDATES_MAX;) {
        const int64_t edge = (steps + tiles - 1) / tiles;
        if (edge * step < halo && count > 0) break;
        tile_axis(size, edge * step, halo, step, &out[count].axis);
        work->lengths(work->context, &out[count].axis, out[count].lengths);
        count++;
        if (edge == 1) break;
        tiles = (steps + edge - 2) / (edge - 1); /* the fewest that are smaller */
    }
    return count;
}

static double add_terms(const crd_tile_work *work, const double *z, const double *y, const double *x)
{
    double all = 0.0;
    for (int i = 0; i < work->terms; i++) all += work->weights[i] * z[i] * y[i] * x[i];
    return all;
}

double crd_plan_work(const crd_plan *plan, const crd_tile_work *work)
{
    double lengths[3][CRD_WORK_TERMS_MAX];
    for (int axis = 0; axis < 3; axis++) work->lengths(work->context, &plan->axes[axis], lengths[axis]);
    return add_terms(work, lengths[0], lengths[1], lengths[2]);
}

typedef struct choice {
    double seen, work; /* voxels of a window; what there is to do in all tiles */
} choice;

static bool better(const choice *a, const choice *b, double most)
{
    const bool fits = a->seen <= most, other_fits = b->seen <= most;
    if (fits != other_fits) return fits;
    return fits ? a->work < b->work : a->seen < b->seen;
}

crd_status crd_plan_best_tile(const int64_t shape[3], int64_t halo, int64_t step, int64_t most,
                              const crd_tile_work *work, int64_t tile[3])
{
    crd_status status = CRD_OK;
    candidate *axes[3] = {NULL};
    int count[3];
    choice best = {HUGE_VAL, HUGE_VAL};
    for (int axis = 0; axis < 3; axis++) {
        CRD_TRY(crd_alloc(CANDIDATES_MAX, sizeof *axes[axis], "the tiles to choose from", &axes[axis]));
        count[axis] = list_candidates(shape[axis], halo, step, work, axes[axis]);
    }
    for (int i = 0; i < count[0] * count[1] * count[2]; i++) {
        const candidate *z = &axes[0][i / count[2] / count[1]], *y = &axes[1][i / count[2] % count[1]];
        const candidate *x = &axes[2][i % count[2]];
        const choice this = {(double)z->axis.window * (double)y->axis.window * (double)x->axis.window,
                             add_terms(work, z->lengths, y->lengths, x->lengths)};
        if (!better(&this, &best, (double)most)) continue;
        best = this;
        tile[0] = z->axis.stride;
        tile[1] = y->axis.stride;
        tile[2] = x->axis.stride;
    }
done:
    for (int axis = 0; axis < 3; axis++) crd_free(&axes[axis]);
    return status;
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
