// Conjugate gradients. Bytes that a cell moves in an iteration: direction z, p twice: 12; curvature p, links: 5; step
// p, c twice, r twice, links: 21. With the cycle's 45 + 22 that is 105.
#include "backend/cuda/transport/field.cuh"

template <class Cells> __global__ void transport_residual_kernel(const Cells cells, const float *c, float *r)
{
    int z, y, x;
    if (!transport_place(cells.g, cells.g.size[2], &z, &y, &x)) return;
    const TransportCell at = transport_cell(cells.g, z, y, x);
    r[at.i] = cells.first(at) - transport_apply(cells, at, c);
}

__global__ void __launch_bounds__(BLOCK)
    transport_direction_kernel(int64_t count, const TransportScalars *scalars, const float *z, float *p)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) p[i] = z[i] + scalars->beta * p[i];
}

template <class Cells>
__global__ void transport_step_kernel(const Cells cells, const TransportScalars *scalars, const float *p, float *c,
                                      float *r)
{
    int z, y, x;
    if (!transport_place(cells.g, cells.g.size[2], &z, &y, &x)) return;
    const TransportCell at = transport_cell(cells.g, z, y, x);
    const float alpha = scalars->alpha;
    c[at.i] += alpha * p[at.i];
    r[at.i] -= alpha * transport_apply(cells, at, p);
}

// Conductance x difference^2 of all faces of a block's cells to the next ones, with `value` and 0 on the two faces that
// have a value: v . A v where that is 0.
template <class Cells>
__global__ void transport_energy_kernel(const Cells cells, double value, const float *v, double *sums)
{
    int z, y, x;
    double sum = 0.0;
    if (transport_place(cells.g, cells.g.size[2], &z, &y, &x)) {
        const TransportCell at = transport_cell(cells.g, z, y, x);
        const Weights w = cells.weights(at.i);
        const double here = (double)v[at.i], fall = value - here;
        const double right = here - (double)v[at.i + 1], behind = here - (double)v[at.i + cells.g.size[2]];
        const double below = here - (double)v[at.i + cells.g.slice];
        sum = (double)w.below * below * below + (double)w.behind * behind * behind + (double)w.right * right * right +
              (double)cells.first(at) * fall * fall + (double)cells.last(at) * here * here;
    }
    sum = transport_block_sum(sum);
    if (threadIdx.x == 0 && threadIdx.y == 0) sums[transport_block()] = sum;
}

// ---- sums of sums ----

// Each block adds its share of `count`, one after the other.
__global__ void __launch_bounds__(BLOCK) transport_parts_kernel(const double *sums, int64_t count, double *parts)
{
    const int64_t share = (count + SUM_PARTS - 1) / SUM_PARTS, begin = share * blockIdx.x;
    const int64_t end = begin + share < count ? begin + share : count;
    double sum = 0.0;
    for (int64_t i = begin + threadIdx.x; i < end; i += BLOCK) sum += sums[i];
    sum = transport_block_sum(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

enum SumKind { SUM_RZ, SUM_CURVATURE, SUM_DISSIPATION };

__global__ void __launch_bounds__(BLOCK)
    transport_finish_kernel(const double *parts, SumKind kind, TransportScalars *scalars)
{
    const double sum = transport_block_sum(threadIdx.x < SUM_PARTS ? parts[threadIdx.x] : 0.0);
    if (threadIdx.x != 0) return;
    if (kind == SUM_RZ) {
        const double before = scalars->rz;
        scalars->rz = sum;
        scalars->beta = before > 0.0 ? (float)(sum / before) : 0.0f;
    } else if (kind == SUM_CURVATURE) {
        scalars->curvature = sum;
        scalars->alpha = scalars->rz > 0.0 && sum > 0.0 ? (float)(scalars->rz / sum) : 0.0f; // 0: no step
    } else {
        scalars->dissipation = sum;
    }
}

static crd_status add_up(const TransportSums &sums, SumKind kind, TransportScalars *scalars, cudaStream_t stream)
{
    static_assert((int)SUM_PARTS <= (int)BLOCK, "one block adds the parts");
    transport_parts_kernel<<<SUM_PARTS, BLOCK, 0, stream>>>(sums.blocks, sums.count, sums.parts);
    transport_finish_kernel<<<1, BLOCK, 0, stream>>>(sums.parts, kind, scalars);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// ---- fluxes ----

// A row along x for each row of threads.
template <class Cells> __global__ void transport_row_flux_kernel(const Cells cells, const float *c, double *fluxes)
{
    __shared__ double parts[DOWN][ACROSS];
    const TransportGrid &g = cells.g;
    const int64_t rows = (int64_t)g.size[0] * g.size[1], row = (int64_t)blockIdx.x * DOWN + threadIdx.y;
    const int64_t step = g.axis == 0 ? g.slice : g.size[2];
    double sum = 0.0;
    for (int x = (int)threadIdx.x; x < g.size[2] && row < rows; x += ACROSS) {
        const int64_t i = row * g.size[2] + x;
        const Weights w = cells.weights(i);
        sum += (double)(g.axis == 0 ? w.below : w.behind) * ((double)c[i] - (double)c[i + step]);
    }
    parts[threadIdx.y][threadIdx.x] = sum;
    for (int half = ACROSS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) parts[threadIdx.y][threadIdx.x] += parts[threadIdx.y][threadIdx.x + half];
    }
    if (threadIdx.x == 0 && row < rows) fluxes[row] = parts[threadIdx.y][0];
}

// A column along y a thread.
template <class Cells> __global__ void transport_column_flux_kernel(const Cells cells, const float *c, double *fluxes)
{
    const TransportGrid &g = cells.g;
    const int64_t columns = (int64_t)g.size[0] * g.size[2], column = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    double sum = 0.0;
    if (column >= columns) return;
    for (int y = 0; y < g.size[1]; y++) {
        const int64_t i = transport_cell(g, (int)(column / g.size[2]), y, (int)(column % g.size[2])).i;
        sum += (double)cells.weights(i).right * ((double)c[i] - (double)c[i + 1]);
    }
    fluxes[column] = sum;
}

// ---- from outside ----

static bool linked(const TransportGrid &g)
{
    return g.links != nullptr;
}

crd_status transport_begin_residual(const TransportGrid &g, const float *c, float *r, cudaStream_t stream)
{
    const dim3 blocks = transport_blocks(g, g.size[2]);
    if (linked(g)) {
        transport_residual_kernel<LinkedCells><<<blocks, transport_threads(), 0, stream>>>(LinkedCells{g}, c, r);
    } else {
        transport_residual_kernel<FloatCells><<<blocks, transport_threads(), 0, stream>>>(FloatCells{g}, c, r);
    }
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

crd_status transport_direction(const TransportGrid &g, const TransportSums &rz, TransportScalars *scalars,
                               const float *z, float *p, cudaStream_t stream)
{
    PASS(add_up(rz, SUM_RZ, scalars, stream));
    const unsigned blocks = (unsigned)((g.count + BLOCK - 1) / BLOCK);
    transport_direction_kernel<<<blocks, BLOCK, 0, stream>>>(g.count, scalars, z, p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// The energy of a field, with `value` on the first face.
static crd_status energy(const TransportGrid &g, double value, const float *v, double *sums, cudaStream_t stream)
{
    const dim3 blocks = transport_blocks(g, g.size[2]);
    if (linked(g)) {
        transport_energy_kernel<LinkedCells>
            <<<blocks, transport_threads(), 0, stream>>>(LinkedCells{g}, value, v, sums);
    } else {
        transport_energy_kernel<FloatCells><<<blocks, transport_threads(), 0, stream>>>(FloatCells{g}, value, v, sums);
    }
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

crd_status transport_step(const TransportGrid &g, const TransportSums &sums, TransportScalars *scalars, const float *p,
                          float *c, float *r, cudaStream_t stream)
{
    const dim3 blocks = transport_blocks(g, g.size[2]);
    PASS(energy(g, 0.0, p, sums.blocks, stream));
    PASS(add_up(sums, SUM_CURVATURE, scalars, stream));
    if (linked(g)) {
        transport_step_kernel<LinkedCells>
            <<<blocks, transport_threads(), 0, stream>>>(LinkedCells{g}, scalars, p, c, r);
    } else {
        transport_step_kernel<FloatCells><<<blocks, transport_threads(), 0, stream>>>(FloatCells{g}, scalars, p, c, r);
    }
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

crd_status transport_dissipation(const TransportGrid &g, const TransportSums &sums, TransportScalars *scalars,
                                 const float *c, cudaStream_t stream)
{
    PASS(energy(g, 1.0, c, sums.blocks, stream));
    return add_up(sums, SUM_DISSIPATION, scalars, stream);
}

template <class Cells>
static crd_status fluxes_of(const TransportGrid &g, const float *c, double *fluxes, cudaStream_t stream)
{
    const int64_t rows = (int64_t)g.size[0] * g.size[1], columns = (int64_t)g.size[0] * g.size[2];
    const unsigned by_rows = (unsigned)((rows + DOWN - 1) / DOWN),
                   by_columns = (unsigned)((columns + BLOCK - 1) / BLOCK);
    if (g.axis < 2) {
        transport_row_flux_kernel<Cells><<<by_rows, transport_threads(), 0, stream>>>(Cells{g}, c, fluxes);
    } else {
        transport_column_flux_kernel<Cells><<<by_columns, BLOCK, 0, stream>>>(Cells{g}, c, fluxes);
    }
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

crd_status transport_fluxes(const TransportGrid &g, const float *c, double *fluxes, cudaStream_t stream)
{
    return linked(g) ? fluxes_of<LinkedCells>(g, c, fluxes, stream) : fluxes_of<FloatCells>(g, c, fluxes, stream);
}
