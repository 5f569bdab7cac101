// A grid of conductances on the device, and what is computed in one cell of it.
//
// Cells lie densely, z slowest. Before and behind each array lies a slice of zeros, and no cell conducts past the end
// of its row: a neighbour's place can always be read, and what has no business there is multiplied by 0.
#ifndef CRD_CUDA_TRANSPORT_GRID_CUH
#define CRD_CUDA_TRANSPORT_GRID_CUH

#include "backend/conduction.h"
#include "backend/cuda/common.cuh"

struct TransportGrid {
    int size[3];      // z, y, x
    int axis, length; // cells along it; `size` with an index that isn't known would put the grid on a thread's stack
    int64_t slice, count;
    float unit[3], end; // conductance of a voxel face; to a face with a value

    // Where one phase conducts, the finest grid has a byte for each cell: which neighbours it has (LINK_...), and
    // whether it lies at a face with a value. `table`: 1 / the sum of all conductances of such a cell.
    uint8_t *links;
    const float *table;

    // The others:
    float *to[3];   // conductance to the next cell along z, y, x
    float *ends[2]; // to the first and the last face normal to `axis`: [y][x], [z][x] or [z][y] of the cells there
    float *inverse; // of the sum of all conductances of a cell; 0: it isn't one
    float *x, *b;   // correction, right side
};

enum {
    LINK_ABOVE = 1,
    LINK_BELOW = 2,
    LINK_BEFORE = 4,
    LINK_BEHIND = 8,
    LINK_LEFT = 16,
    LINK_RIGHT = 32,
    LINK_FIRST = 64,
    LINK_LAST = 128
};

// A cell's place.
struct TransportCell {
    int z, y, x;
    int64_t i;
};

__device__ __forceinline__ TransportCell transport_cell(const TransportGrid &g, int z, int y, int x)
{
    return {z, y, x, z * g.slice + (int64_t)y * g.size[2] + x};
}

__device__ __forceinline__ int64_t transport_end(const TransportGrid &g, int z, int y, int x)
{
    return g.axis == 0   ? (int64_t)y * g.size[2] + x
           : g.axis == 1 ? (int64_t)z * g.size[2] + x
                         : (int64_t)z * g.size[1] + y;
}

__device__ __forceinline__ int transport_along(const TransportGrid &g, const TransportCell &c)
{
    return g.axis == 0 ? c.z : g.axis == 1 ? c.y : c.x;
}

// To the six neighbours.
struct Weights {
    float above, below, before, behind, left, right;
};

// The two kinds of grids, for the templates below.
struct LinkedCells {
    TransportGrid g;

    __device__ __forceinline__ float inverse(int64_t i) const
    {
        return __ldg(g.table + g.links[i]);
    }
    __device__ __forceinline__ Weights weights(int64_t i) const
    {
        const unsigned bits = g.links[i];
        return {bits & LINK_ABOVE ? g.unit[0] : 0.0f,  bits & LINK_BELOW ? g.unit[0] : 0.0f,
                bits & LINK_BEFORE ? g.unit[1] : 0.0f, bits & LINK_BEHIND ? g.unit[1] : 0.0f,
                bits & LINK_LEFT ? g.unit[2] : 0.0f,   bits & LINK_RIGHT ? g.unit[2] : 0.0f};
    }
    __device__ __forceinline__ float first(const TransportCell &c) const
    {
        return g.links[c.i] & LINK_FIRST ? g.end : 0.0f;
    }
    __device__ __forceinline__ float last(const TransportCell &c) const
    {
        return g.links[c.i] & LINK_LAST ? g.end : 0.0f;
    }
};

struct FloatCells {
    TransportGrid g;

    __device__ __forceinline__ float inverse(int64_t i) const
    {
        return g.inverse[i];
    }
    __device__ __forceinline__ Weights weights(int64_t i) const
    {
        return {g.to[0][i - g.slice], g.to[0][i], g.to[1][i - g.size[2]], g.to[1][i], g.to[2][i - 1], g.to[2][i]};
    }
    __device__ __forceinline__ float first(const TransportCell &c) const
    {
        return transport_along(g, c) == 0 ? g.ends[0][transport_end(g, c.z, c.y, c.x)] : 0.0f;
    }
    __device__ __forceinline__ float last(const TransportCell &c) const
    {
        return transport_along(g, c) == g.length - 1 ? g.ends[1][transport_end(g, c.z, c.y, c.x)] : 0.0f;
    }
};

// (A x) of a cell. Differences come first: a diagonal rounded in float would be a sink in every cell.
template <class Cells>
__device__ __forceinline__ float transport_apply(const Cells &cells, const TransportCell &c, const float *x)
{
    const Weights w = cells.weights(c.i);
    const int64_t i = c.i, row = cells.g.size[2], slice = cells.g.slice;
    const float here = x[i];
    return (cells.first(c) + cells.last(c)) * here + w.right * (here - x[i + 1]) + w.left * (here - x[i - 1]) +
           w.behind * (here - x[i + row]) + w.before * (here - x[i - row]) + w.below * (here - x[i + slice]) +
           w.above * (here - x[i - slice]);
}

// Red cells are those whose coordinates add up to an even number. A sweep takes the cells of one colour, which look at
// those of the other alone: their order doesn't count.

// The value that its neighbours and the right side give a cell.
template <class Cells>
__device__ __forceinline__ float transport_settled(const Cells &cells, int64_t i, const float *b, const float *x)
{
    const Weights w = cells.weights(i);
    const int64_t row = cells.g.size[2], slice = cells.g.slice;
    const float sum = b[i] + w.right * x[i + 1] + w.left * x[i - 1] + w.behind * x[i + row] + w.before * x[i - row] +
                      w.below * x[i + slice] + w.above * x[i - slice];
    return sum * cells.inverse(i);
}

// A sweep of both colours, red first, where all is 0 before: what a black cell sees of a red one is the right side
// there alone. Two cells side by side along x, from 2 * pair on.
template <class Cells>
__device__ __forceinline__ void transport_begin(const Cells &cells, int z, int y, int pair, const float *b, float *x)
{
    const int64_t row = cells.g.size[2], slice = cells.g.slice, first = transport_cell(cells.g, z, y, 2 * pair).i;
    const int odd = (z + y) & 1, width = cells.g.size[2];
    if (2 * pair + odd < width) x[first + odd] = cells.inverse(first + odd) * b[first + odd];
    if (2 * pair + 1 - odd >= width) return;
    const int64_t i = first + 1 - odd;
    const Weights w = cells.weights(i);
    const float sum =
        b[i] + w.right * (cells.inverse(i + 1) * b[i + 1]) + w.left * (cells.inverse(i - 1) * b[i - 1]) +
        w.behind * (cells.inverse(i + row) * b[i + row]) + w.before * (cells.inverse(i - row) * b[i - row]) +
        w.below * (cells.inverse(i + slice) * b[i + slice]) + w.above * (cells.inverse(i - slice) * b[i - slice]);
    x[i] = sum * cells.inverse(i);
}

// What is left of the right side in the cells of an aggregate: 2x2x2, fewer at the ends.
template <class Cells>
__device__ __forceinline__ float transport_left(const Cells &cells, int z, int y, int x, const float *b,
                                                const float *values)
{
    float sum = 0.0f;
    for (int k = 0; k < 8; k++) {
        const int at[3] = {2 * z + (k >> 2), 2 * y + (k >> 1 & 1), 2 * x + (k & 1)};
        if (at[0] >= cells.g.size[0] || at[1] >= cells.g.size[1] || at[2] >= cells.g.size[2]) continue;
        const TransportCell c = transport_cell(cells.g, at[0], at[1], at[2]);
        sum += b[c.i] - transport_apply(cells, c, values);
    }
    return sum;
}

// What the aggregate of a cell, which may lie one beside the grid, says.
__device__ __forceinline__ float transport_said(const TransportGrid &coarse, int z, int y, int x)
{
    return CRD_CONDUCTION_OVERCORRECTION * coarse.x[transport_cell(coarse, z >> 1, y >> 1, x >> 1).i];
}

// transport_settled where the neighbours are still to be corrected. They are of the colour that is settled next anew,
// so nobody else asks for them.
template <class Cells>
__device__ __forceinline__ float transport_corrected(const Cells &cells, const TransportGrid &coarse,
                                                     const TransportCell &c, const float *b, const float *x)
{
    const Weights w = cells.weights(c.i);
    const int64_t i = c.i, row = cells.g.size[2], slice = cells.g.slice;
    const float sum = b[i] + w.right * (x[i + 1] + transport_said(coarse, c.z, c.y, c.x + 1)) +
                      w.left * (x[i - 1] + transport_said(coarse, c.z, c.y, c.x - 1)) +
                      w.behind * (x[i + row] + transport_said(coarse, c.z, c.y + 1, c.x)) +
                      w.before * (x[i - row] + transport_said(coarse, c.z, c.y - 1, c.x)) +
                      w.below * (x[i + slice] + transport_said(coarse, c.z + 1, c.y, c.x)) +
                      w.above * (x[i - slice] + transport_said(coarse, c.z - 1, c.y, c.x));
    return sum * cells.inverse(i);
}

#endif
