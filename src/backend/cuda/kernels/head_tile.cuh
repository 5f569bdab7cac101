// The head's 3x3x3 convolution to one channel and its ReLU, for prediction (kernels/head.cu) and training
// (train/head.cu).
//
// The matrix product has eight columns and the head one output, so the three planes of the kernel take a column each:
// an input plane gives its share of three output planes at once, and those meet in registers.
#ifndef CRD_CUDA_KERNELS_HEAD_TILE_CUH
#define CRD_CUDA_KERNELS_HEAD_TILE_CUH

#include "backend/cuda/kernels/conv.cuh"
#include "backend/cuda/kernels/tile.cuh"

struct HeadTile {
    enum { PLANES = 8, WARPS = 8, ROWS = 2 * WARPS, COLUMNS = 8, THREADS = WARPS * 32 };
    enum {
        IN_PLANES = PLANES + 2,
        IN_ROWS = ROWS + 2,
        IN_COLUMNS = COLUMNS + 2,
        BYTES = IN_PLANES * IN_ROWS * IN_COLUMNS * 32 // of shared memory
    };
    // Blocks that make up a volume.
    static int count(const Extent &e)
    {
        return (e.width + COLUMNS - 1) / COLUMNS * ((e.height + ROWS - 1) / ROWS) * ((e.depth + PLANES - 1) / PLANES);
    }
};

// Where tile blockIdx.x begins.
struct HeadOrigin {
    int z, y, x;
    __device__ __forceinline__ explicit HeadOrigin(const Extent &e)
    {
        const int across = (e.width + HeadTile::COLUMNS - 1) / HeadTile::COLUMNS;
        const int down = (e.height + HeadTile::ROWS - 1) / HeadTile::ROWS;
        x = blockIdx.x % across * HeadTile::COLUMNS;
        y = blockIdx.x / across % down * HeadTile::ROWS;
        z = blockIdx.x / (across * down) * HeadTile::PLANES;
    }
};

// What this thread has of a tile: columns 2q and 2q + 1 of two rows, where q = 0 has planes 0 and 1 of the kernel and
// q = 1 plane 2.
typedef float HeadShare[HeadTile::IN_PLANES][4];

// Of tile blockIdx.x of sample blockIdx.z.
template <typename T>
__device__ __forceinline__ void head_multiply(const HeadArguments &p, const HeadOrigin &origin, HeadShare &share)
{
    using H = HeadTile;
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sample = blockIdx.z, slabs = p.x.channels / SLAB;
#pragma unroll
    for (int z = 0; z < H::IN_PLANES; z++)
#pragma unroll
        for (int i = 0; i < 4; i++) share[z][i] = 0.0f;
    const int own_voxel = (2 * warp + (lane >> 3 & 1)) * H::IN_COLUMNS + (lane & 7), piece = lane >> 4;
    const uint2 *weights = p.weights + sample * p.weights_stride + lane;
    for (int slab = 0; slab < slabs; slab++) {
        const T *from = static_cast<const T *>(p.x.data) + sample * p.x.stride + slab * SLAB;
        __syncthreads();
        load_tile<H::IN_PLANES, H::IN_ROWS, H::IN_COLUMNS, H::THREADS>(shared, from, p.x.channels, p.x.whole,
                                                                       origin.z - 1 + p.x.at.z, origin.y - 1 + p.x.at.y,
                                                                       origin.x - 1 + p.x.at.x);
        copies_done();
        __syncthreads();
#pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            const uint2 b = __ldg(weights + (slab * 9 + tap) * 32);
#pragma unroll
            for (int z = 0; z < H::IN_PLANES; z++) {
                uint32_t a[4];
                const int voxel = own_voxel + (z * H::IN_ROWS + tap / 3) * H::IN_COLUMNS + tap % 3;
                load_matrix(a, voxel_address(shared, voxel, piece));
                Pair<T>::multiply(share[z], a, b.x, b.y);
            }
        }
    }
}

// Calls use(voxel, value) for the voxels that fall to this thread; `voxel` counts on over the samples.
template <typename Use>
__device__ __forceinline__ void head_finish(const HeadArguments &p, const HeadOrigin &origin, const HeadShare &share,
                                            const Use &use)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sample = blockIdx.z;
    const int x = origin.x + (lane >> 2);
#pragma unroll
    for (int d = 0; d < HeadTile::PLANES; d++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float last = __shfl_down_sync(~0u, share[d + 2][half * 2], 1); // plane 2, from the neighbour
            const int z = origin.z + d, y = origin.y + 2 * warp + half;
            if ((lane & 3) != 0 || x >= p.size.width || y >= p.size.height || z >= p.size.depth) continue;
            const float bias = __ldg(p.bias + sample * BORDER_CLASSES + border_class(p.size, z, y, x));
            use(sample * p.size.voxels() + ((long)z * p.size.height + y) * p.size.width + x,
                relu(share[d][half * 2] + share[d + 1][half * 2 + 1] + last + bias));
        }
}

#endif
