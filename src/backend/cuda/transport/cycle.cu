// The cycle: on every grid one red-black sweep from zero, the rest summed over aggregates of 2x2x2 cells, the coarser
// grid's answer (asked twice, but on the finest grid), and one sweep back. Bytes that a cell of the finest grid moves
// (r, z: 4 each; links: 1): begin r, links, z: 9; restrict 9.5; corrected sweep r, links, z twice, coarse: 13.5; last
// sweep with r . z 13: 45 in all. A cell of the others (to: 12, inverse, x, b: 4 each): begin 24, restrict 20.5,
// correct 8.5, restrict 20.5, two sweeps 28.5 + 28: 130, an eighth of them, twice a quarter of that, and so on: 22 for
// each of the finest.
#include "backend/cuda/transport/cycle.cuh"

template <class Cells> __global__ void transport_begin_kernel(const Cells cells, const float *b, float *x)
{
    int z, y, pair;
    if (!transport_place(cells.g, (cells.g.size[2] + 1) / 2, &z, &y, &pair)) return;
    transport_begin(cells, z, y, pair, b, x);
}

// One coarse cell a thread.
template <class Cells>
__global__ void transport_restrict_kernel(const Cells cells, const TransportGrid coarse, const float *b, const float *x)
{
    int z, y, at;
    if (!transport_place(coarse, coarse.size[2], &z, &y, &at)) return;
    coarse.b[transport_cell(coarse, z, y, at).i] = transport_left(cells, z, y, at, b, x);
}

// What isn't a cell gets something, too: no conductance leads there, so nobody looks at it.
__global__ void transport_correct_kernel(const TransportGrid g, const TransportGrid coarse, float *x)
{
    int z, y, at;
    if (!transport_place(g, g.size[2], &z, &y, &at)) return;
    x[transport_cell(g, z, y, at).i] += transport_said(coarse, z, y, at);
}

// The black cells, after the correction.
template <class Cells>
__global__ void transport_corrected_kernel(const Cells cells, const TransportGrid coarse, const float *b, float *x)
{
    int z, y, pair;
    if (!transport_place(cells.g, (cells.g.size[2] + 1) / 2, &z, &y, &pair)) return;
    const int at = 2 * pair + 1 - ((z + y) & 1);
    if (at >= cells.g.size[2]) return;
    const TransportCell c = transport_cell(cells.g, z, y, at);
    x[c.i] = transport_corrected(cells, coarse, c, b, x);
}

// The red cells, and with `sums` the block's share of b . x.
template <class Cells> __global__ void transport_last_kernel(const Cells cells, const float *b, float *x, double *sums)
{
    int z, y, pair;
    double sum = 0.0;
    if (transport_place(cells.g, (cells.g.size[2] + 1) / 2, &z, &y, &pair)) {
        const int red = 2 * pair + ((z + y) & 1), black = 2 * pair + 1 - ((z + y) & 1);
        if (red < cells.g.size[2]) {
            const int64_t i = transport_cell(cells.g, z, y, red).i;
            const float value = transport_settled(cells, i, b, x);
            x[i] = value;
            sum = (double)b[i] * (double)value;
        }
        if (black < cells.g.size[2]) {
            const int64_t i = transport_cell(cells.g, z, y, black).i;
            sum += (double)b[i] * (double)x[i];
        }
    }
    if (sums == nullptr) return;
    sum = transport_block_sum(sum);
    if (threadIdx.x == 0 && threadIdx.y == 0) sums[transport_block()] = sum;
}

// ---- the small grids, in one block ----

// Sweeps of both orders on the coarsest grid, a cell a thread.
__device__ void transport_coarsest(const FloatCells &cells)
{
    __shared__ float values[TAIL_THREADS];
    const int i = (int)threadIdx.x, row = cells.g.size[2], slice = (int)cells.g.slice, count = (int)cells.g.count;
    const bool mine = i < count;
    Weights w = {};
    float inverse = 0.0f, b = 0.0f;
    if (mine) {
        w = cells.weights(i);
        inverse = cells.inverse(i);
        b = cells.g.b[i];
    }
    // a neighbour, or where there is none the cell itself: others may be written meanwhile
    const int z = i / slice, y = i % slice / row, x = i % row, colour = (z + y + x) & 1;
    const int right = x + 1 < row ? i + 1 : i, left = x > 0 ? i - 1 : i;
    const int behind = y + 1 < cells.g.size[1] ? i + row : i, before = y > 0 ? i - row : i;
    const int below = z + 1 < cells.g.size[0] ? i + slice : i, above = z > 0 ? i - slice : i;
    values[i] = 0.0f;
    for (int half = 0; half < 4 * CRD_CONDUCTION_SWEEPS; half++) {
        const int turn = half < 2 * CRD_CONDUCTION_SWEEPS ? half & 1 : 1 - (half & 1);
        __syncthreads();
        if (!mine || colour != turn) continue;
        values[i] = (b + w.right * values[right] + w.left * values[left] + w.behind * values[behind] +
                     w.before * values[before] + w.below * values[below] + w.above * values[above]) *
                    inverse;
    }
    if (mine) cells.g.x[i] = values[i];
    __syncthreads();
}

// For each cell of a small grid (`step` 1), or each pair of cells side by side (2), of the block's threads one.
template <class Work> __device__ void transport_each(const TransportGrid &g, int step, const Work &work)
{
    const int width = (g.size[2] + step - 1) / step, all = g.size[0] * g.size[1] * width;
    for (int i = (int)threadIdx.x; i < all; i += (int)blockDim.x)
        work(i / width / g.size[1], i / width % g.size[1], i % width);
    __syncthreads();
}

__device__ void transport_small_begin(const FloatCells &cells)
{
    transport_each(cells.g, 2,
                   [&](int z, int y, int pair) { transport_begin(cells, z, y, pair, cells.g.b, cells.g.x); });
}

__device__ void transport_small_down(const FloatCells &cells, const TransportGrid &coarse)
{
    transport_each(coarse, 1, [&](int z, int y, int x) {
        coarse.b[transport_cell(coarse, z, y, x).i] = transport_left(cells, z, y, x, cells.g.b, cells.g.x);
    });
}

__device__ void transport_small_correct(const TransportGrid &g, const TransportGrid &coarse)
{
    transport_each(g, 1,
                   [&](int z, int y, int x) { g.x[transport_cell(g, z, y, x).i] += transport_said(coarse, z, y, x); });
}

__device__ void transport_small_back(const FloatCells &cells, const TransportGrid &coarse)
{
    transport_each(cells.g, 2, [&](int z, int y, int pair) {
        const int x = 2 * pair + 1 - ((z + y) & 1);
        if (x >= cells.g.size[2]) return;
        const TransportCell c = transport_cell(cells.g, z, y, x);
        cells.g.x[c.i] = transport_corrected(cells, coarse, c, cells.g.b, cells.g.x);
    });
    transport_each(cells.g, 2, [&](int z, int y, int pair) {
        const int x = 2 * pair + ((z + y) & 1);
        if (x >= cells.g.size[2]) return;
        const int64_t i = transport_cell(cells.g, z, y, x).i;
        cells.g.x[i] = transport_settled(cells, i, cells.g.b, cells.g.x);
    });
}

// The cycle from grid `first` on: down to the coarsest, and from each grid back to the one that asked.
__global__ void __launch_bounds__(TAIL_THREADS) transport_small_kernel(const TransportGrid *grids, int first, int count)
{
    unsigned asked = 0; // bit `level`: the next coarser grid was asked once
    int level = first;
    for (;;) {
        const FloatCells cells = {grids[level]};
        if (level + 1 < count) {
            transport_small_begin(cells);
            transport_small_down(cells, grids[level + 1]);
            asked &= ~(1u << level);
            level++;
            continue;
        }
        transport_coarsest(cells);
        for (;;) {
            if (level == first) return;
            level--;
            const FloatCells own = {grids[level]};
            if ((asked >> level & 1) == 0) {
                asked |= 1u << level;
                transport_small_correct(own.g, grids[level + 1]);
                transport_small_down(own, grids[level + 1]);
                level++;
                break;
            }
            transport_small_back(own, grids[level + 1]);
        }
    }
}

// ---- the large ones, kernel by kernel ----

static crd_status cycle_from(const TransportLevels &levels, int level, cudaStream_t stream);

template <class Cells>
static crd_status cycle_at(const TransportLevels &levels, int level, const float *b, float *x, double *sums,
                           cudaStream_t stream)
{
    const Cells cells = {levels.grids[level]};
    const TransportGrid &g = cells.g, &coarse = levels.grids[level + 1];
    const dim3 pairs = transport_blocks(g, (g.size[2] + 1) / 2), all = transport_blocks(g, g.size[2]);
    const dim3 aggregates = transport_blocks(coarse, coarse.size[2]);
    transport_begin_kernel<Cells><<<pairs, transport_threads(), 0, stream>>>(cells, b, x);
    for (int visit = 0; visit < (level == 0 ? 1 : 2); visit++) {
        if (visit > 0) transport_correct_kernel<<<all, transport_threads(), 0, stream>>>(g, coarse, x);
        transport_restrict_kernel<Cells><<<aggregates, transport_threads(), 0, stream>>>(cells, coarse, b, x);
        PASS(cycle_from(levels, level + 1, stream));
    }
    transport_corrected_kernel<Cells><<<pairs, transport_threads(), 0, stream>>>(cells, coarse, b, x);
    transport_last_kernel<Cells><<<pairs, transport_threads(), 0, stream>>>(cells, b, x, sums);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

static crd_status cycle_from(const TransportLevels &levels, int level, cudaStream_t stream)
{
    const TransportGrid &g = levels.grids[level];
    if (level < levels.tail) return cycle_at<FloatCells>(levels, level, g.b, g.x, nullptr, stream);
    transport_small_kernel<<<1, TAIL_THREADS, 0, stream>>>(levels.on_device, level, levels.count);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

crd_status transport_cycle(const TransportLevels &levels, const float *r, float *z, double *sums, cudaStream_t stream)
{
    if (levels.grids[0].links != nullptr) return cycle_at<LinkedCells>(levels, 0, r, z, sums, stream);
    return cycle_at<FloatCells>(levels, 0, r, z, sums, stream);
}
