#include "backend/cuda/transport/fill.cuh"

// Voxels beside the window are none.
__device__ __forceinline__ bool voxel_is(const TransportVoxels &v, int z, int y, int x)
{
    if (z < 0 || y < 0 || x < 0 || z >= v.size[0] || y >= v.size[1] || x >= v.size[2]) return false;
    return v.bits[((int64_t)z * v.size[1] + y) * v.words + x / 64] >> x % 64 & 1;
}

__device__ __forceinline__ double voxel_conducts(const TransportVoxels &v, int z, int y, int x)
{
    if (v.numbers == nullptr) return 1.0;
    return v.conductivity[v.numbers[((int64_t)z * v.size[1] + y) * v.size[2] + x]];
}

// c at the middle of a cell; one that sticks out ends where its voxels end.
__device__ __forceinline__ float evenly(int along, int cell, int length)
{
    const double middle = (double)(along * cell) + 0.5 * (double)(along * cell + cell <= length ? cell : 1);
    return (float)(1.0 - middle / (double)length);
}

// Where all voxels are cells, and conduct alike.
__global__ void transport_link_kernel(const TransportVoxels v, const TransportGrid g, float *c)
{
    int z, y, x;
    if (!transport_place(g, g.size[2], &z, &y, &x) || !voxel_is(v, z, y, x)) return;
    const TransportCell at = transport_cell(g, z, y, x);
    const int along = transport_along(g, at);
    unsigned links = 0;
    if (voxel_is(v, z - 1, y, x)) links |= LINK_ABOVE;
    if (voxel_is(v, z + 1, y, x)) links |= LINK_BELOW;
    if (voxel_is(v, z, y - 1, x)) links |= LINK_BEFORE;
    if (voxel_is(v, z, y + 1, x)) links |= LINK_BEHIND;
    if (voxel_is(v, z, y, x - 1)) links |= LINK_LEFT;
    if (voxel_is(v, z, y, x + 1)) links |= LINK_RIGHT;
    if (along == 0) links |= LINK_FIRST;
    if (along == g.length - 1) links |= LINK_LAST;
    g.links[at.i] = (uint8_t)links;
    c[at.i] = evenly(along, 1, g.length);
}

// What a face between two voxels conducts: their harmonic mean.
__device__ __forceinline__ float face_conducts(const TransportVoxels &v, const int at[3], int axis, float unit)
{
    const int next[3] = {at[0] + (axis == 0), at[1] + (axis == 1), at[2] + (axis == 2)};
    if (!voxel_is(v, next[0], next[1], next[2])) return 0.0f;
    if (v.numbers == nullptr) return unit;
    const double a = voxel_conducts(v, at[0], at[1], at[2]), b = voxel_conducts(v, next[0], next[1], next[2]);
    return (float)((double)unit * 2.0 * a * b / (a + b));
}

// Any cells: what their voxels conduct to those of the next ones, and to the faces with a value.
__global__ void transport_float_kernel(const TransportVoxels v, const TransportGrid g, float *c)
{
    int z, y, x;
    if (!transport_place(g, g.size[2], &z, &y, &x)) return;
    const TransportCell cell = transport_cell(g, z, y, x);
    const int f = v.cell;
    float to[3] = {0.0f, 0.0f, 0.0f}, ends[2] = {0.0f, 0.0f};
    bool any = false;
    for (int k = 0; k < f * f * f; k++) {
        const int at[3] = {z * f + k / f / f, y * f + k / f % f, x * f + k % f};
        if (!voxel_is(v, at[0], at[1], at[2])) continue;
        any = true;
        for (int axis = 0; axis < 3; axis++) {
            if (at[axis] % f == f - 1) to[axis] += face_conducts(v, at, axis, g.unit[axis]);
        }
        if (transport_along(g, {at[0], at[1], at[2], 0}) == 0) ends[0] += (float)voxel_conducts(v, at[0], at[1], at[2]);
        if (transport_along(g, {at[0], at[1], at[2], 0}) == v.length - 1)
            ends[1] += (float)voxel_conducts(v, at[0], at[1], at[2]);
    }
    if (!any) return;
    const int along = transport_along(g, cell);
    const int64_t end = transport_end(g, z, y, x);
    for (int axis = 0; axis < 3; axis++) g.to[axis][cell.i] = to[axis];
    if (along == 0) g.ends[0][end] = g.end * ends[0];
    if (along == g.length - 1) g.ends[1][end] = g.end * ends[1];
    c[cell.i] = evenly(along, f, v.length);
}

__global__ void transport_invert_kernel(const TransportGrid g)
{
    int z, y, x;
    if (!transport_place(g, g.size[2], &z, &y, &x)) return;
    const FloatCells cells = {g};
    const TransportCell c = transport_cell(g, z, y, x);
    const Weights w = cells.weights(c.i);
    const float sum = cells.first(c) + cells.last(c) + w.below + w.above + w.behind + w.before + w.right + w.left;
    g.inverse[c.i] = sum > 0.0f ? 1.0f / sum : 0.0f;
}

template <class Cells> __global__ void transport_coarsen_kernel(const Cells fine, const TransportGrid coarse)
{
    int z, y, x;
    if (!transport_place(coarse, coarse.size[2], &z, &y, &x)) return;
    float to[3] = {0.0f, 0.0f, 0.0f}, ends[2] = {0.0f, 0.0f};
    for (int k = 0; k < 8; k++) {
        const int at[3] = {2 * z + (k >> 2), 2 * y + (k >> 1 & 1), 2 * x + (k & 1)};
        if (at[0] >= fine.g.size[0] || at[1] >= fine.g.size[1] || at[2] >= fine.g.size[2]) continue;
        const TransportCell c = transport_cell(fine.g, at[0], at[1], at[2]);
        const Weights w = fine.weights(c.i);
        if (at[0] % 2 == 1) to[0] += w.below;
        if (at[1] % 2 == 1) to[1] += w.behind;
        if (at[2] % 2 == 1) to[2] += w.right;
        ends[0] += fine.first(c);
        ends[1] += fine.last(c);
    }
    const TransportCell c = transport_cell(coarse, z, y, x);
    const int along = transport_along(coarse, c);
    for (int axis = 0; axis < 3; axis++) coarse.to[axis][c.i] = to[axis];
    if (along == 0) coarse.ends[0][transport_end(coarse, z, y, x)] = ends[0];
    if (along == coarse.length - 1) coarse.ends[1][transport_end(coarse, z, y, x)] = ends[1];
}

// ---- from outside ----

static crd_status invert(const TransportGrid &g, cudaStream_t stream)
{
    transport_invert_kernel<<<transport_blocks(g, g.size[2]), transport_threads(), 0, stream>>>(g);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

crd_status transport_fill(const TransportVoxels &voxels, const TransportGrid &g, float *c, cudaStream_t stream)
{
    const dim3 blocks = transport_blocks(g, g.size[2]);
    if (g.links != nullptr) {
        transport_link_kernel<<<blocks, transport_threads(), 0, stream>>>(voxels, g, c);
        CUDA_PASS(cudaGetLastError());
        return CRD_OK;
    }
    transport_float_kernel<<<blocks, transport_threads(), 0, stream>>>(voxels, g, c);
    CUDA_PASS(cudaGetLastError());
    return invert(g, stream);
}

crd_status transport_coarsen(const TransportGrid &fine, const TransportGrid &coarse, cudaStream_t stream)
{
    const dim3 blocks = transport_blocks(coarse, coarse.size[2]);
    if (fine.links != nullptr) {
        transport_coarsen_kernel<LinkedCells><<<blocks, transport_threads(), 0, stream>>>(LinkedCells{fine}, coarse);
    } else {
        transport_coarsen_kernel<FloatCells><<<blocks, transport_threads(), 0, stream>>>(FloatCells{fine}, coarse);
    }
    CUDA_PASS(cudaGetLastError());
    return invert(coarse, stream);
}

void transport_table(const float unit[3], float end, float table[256])
{
    for (int links = 0; links < 256; links++) {
        const float ends = end * (float)((links >> 6 & 1) + (links >> 7 & 1));
        const float sum = ends + unit[0] * (float)(links & 1) + unit[1] * (float)(links >> 2 & 1) +
                          unit[0] * (float)(links >> 1 & 1) + unit[1] * (float)(links >> 3 & 1) +
                          unit[2] * (float)(links >> 5 & 1) + unit[2] * (float)(links >> 4 & 1);
        table[links] = sum > 0.0f ? 1.0f / sum : 0.0f;
    }
}
