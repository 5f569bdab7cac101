// One multigrid cycle: what launches its parts.
#ifndef CRD_CUDA_TRANSPORT_CYCLE_CUH
#define CRD_CUDA_TRANSPORT_CYCLE_CUH

#include "backend/cuda/transport/grid.cuh"

// Blocks of 32 x 8 threads; each takes a cell, or two side by side along x.
enum { ACROSS = 32, DOWN = 8, BLOCK = ACROSS * DOWN };

inline dim3 transport_threads()
{
    return dim3(ACROSS, DOWN);
}

// Blocks for a grid, whose rows take `width` threads. (A division in every thread would take longer than its cell.)
inline dim3 transport_blocks(const TransportGrid &g, int width)
{
    return dim3((unsigned)(width + ACROSS - 1) / ACROSS, (unsigned)(g.size[1] + DOWN - 1) / DOWN, (unsigned)g.size[0]);
}

inline int64_t transport_block_count(const dim3 &blocks)
{
    return (int64_t)blocks.x * blocks.y * blocks.z;
}

// The thread's place among them; false: it has none.
__device__ __forceinline__ bool transport_place(const TransportGrid &g, int width, int *z, int *y, int *x)
{
    *x = (int)(blockIdx.x * ACROSS + threadIdx.x);
    *y = (int)(blockIdx.y * DOWN + threadIdx.y);
    *z = (int)blockIdx.z;
    return *x < width && *y < g.size[1];
}

// The block's number.
__device__ __forceinline__ int64_t transport_block()
{
    return ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

// The sum over the threads of a block of BLOCK, in a fixed order: right in the first; all of them must call it.
__device__ __forceinline__ double transport_block_sum(double own)
{
    __shared__ double parts[BLOCK];
    const int thread = (int)(threadIdx.y * blockDim.x + threadIdx.x);
    parts[thread] = own;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) parts[thread] += parts[thread + half];
    }
    return parts[thread];
}

// The grids from `tail` on are so small that one block takes them all.
struct TransportLevels {
    TransportGrid grids[CRD_CONDUCTION_LEVELS];
    int count, tail;
    const TransportGrid *on_device; // the same
};

enum { TAIL_CELLS = 4096 /* of the largest grid that one block takes */, TAIL_THREADS = CRD_CONDUCTION_COARSEST };

// z = the cycle's answer to r; and, block by block, r . z (`sums`, one for each block of the finest grid's pairs).
crd_status transport_cycle(const TransportLevels &levels, const float *r, float *z, double *sums, cudaStream_t stream);

#endif
