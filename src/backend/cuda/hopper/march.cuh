// What the Hopper kernels have in common. A warpgroup owns a column of output tiles and walks along the depth, the
// march: every input plane comes into a ring of shared memory once, by the bulk copy engine, and gives its share of all
// output planes that it touches in one go, because the planes of the kernel lie side by side in the matrix product's
// columns.
#ifndef CRD_CUDA_HOPPER_MARCH_CUH
#define CRD_CUDA_HOPPER_MARCH_CUH

#include "backend/cuda/hopper/hopper.cuh"
#include "backend/cuda/hopper/tensor_map.cuh"
#include "backend/cuda/hopper/wgmma.cuh"

enum { VOXEL_BYTES = SLAB * 2, RING_ALIGN = 256 /* the swizzle repeats after so many bytes */, GROUP_THREADS = 128 };

constexpr int ring_room(int bytes)
{
    return (bytes + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;
}

// The tiles of a volume and the segments that the depth is divided into; a task is a column of tiles through a segment.
struct Tasks {
    int across, down, segments, planes; // planes of a segment
    __host__ __device__ int count() const
    {
        return across * down * segments;
    }
};

static inline Tasks tasks_of(const Extent &size, int rows, int columns = 8)
{
    const int segments = size.depth >= 64 ? 2 : 1; // by size alone: how sums are grouped must not depend on the launch
    return {(size.width + columns - 1) / columns, (size.height + rows - 1) / rows, segments,
            (size.depth + segments - 1) / segments};
}

// Training has few examples at a time: a small volume is divided further, so that it fills the GPU. By size alone, too.
enum { TASKS_THAT_FILL = 264 };

static inline Tasks training_tasks_of(const Extent &size, int rows, int slices, int columns = 8)
{
    Tasks tasks = tasks_of(size, rows, columns);
    const int wanted = TASKS_THAT_FILL / (tasks.across * tasks.down * slices), most = size.depth / 2;
    const int segments = wanted < most ? wanted : most;
    if (segments <= tasks.segments) return tasks;
    tasks.planes = (size.depth + segments - 1) / segments;
    tasks.segments = (size.depth + tasks.planes - 1) / tasks.planes;
    return tasks;
}

// The planes of its inputs that an output reads: from `lowest` to `highest`, in planes of the output. One that isn't
// there must not be read: there another sample's would be found.
struct Planes {
    int lowest, highest;
};

static inline Planes planes_of(const Extent &size, const Open &open)
{
    return {(open.z & 1) != 0 ? -1 : 0, (open.z & 2) != 0 ? size.depth : size.depth - 1};
}

// Packed weights to shared memory, 16 bytes at a time.
template <int BYTES, int THREADS> __device__ __forceinline__ void load_weights(uint32_t shared, const uint4 *from)
{
    for (int i = threadIdx.x; i < BYTES / 16; i += THREADS) copy_async(shared + i * 16, from + i, true);
    copies_done();
}

// The barriers of a ring are made by one thread of its warpgroup; the block must synchronise afterwards, and what
// ordinary stores wrote becomes visible to matrix products and bulk copies.
template <int STAGES> __device__ __forceinline__ void ring_begin(uint32_t barriers)
{
    if (threadIdx.x % GROUP_THREADS == 0) {
        for (int i = 0; i < STAGES; i++) {
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + i * 8) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void ring_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void ring_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(
            barrier),
        "r"(parity)
        : "memory");
}
// A box of the tensor, from (channel, x, y, plane) on; what lies outside is zero.
__device__ __forceinline__ void ring_load(uint32_t to, const CUtensorMap &map, int channel, int x, int y, int plane,
                                          uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
                 "%5}], [%6];" ::"r"(to),
                 "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(plane), "r"(barrier)
                 : "memory");
}
// The same where examples are an axis of their own: planes outside of the example are zero, too.
__device__ __forceinline__ void ring_load(uint32_t to, const CUtensorMap &map, int channel, int x, int y, int plane,
                                          int example, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
                 "%5, %6}], [%7];" ::"r"(to),
                 "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(plane), "r"(example), "r"(barrier)
                 : "memory");
}
// All threads of one warpgroup.
__device__ __forceinline__ void group_sync(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

// First, inside or last along an axis: one of three classes of the bias.
__device__ __forceinline__ int border_third(int i, int n)
{
    return i == 0 ? 0 : i >= n - 1 ? 2 : 1;
}

// Does a tap, 0 to 2, of an output in that third of an axis read outside the volume?
__device__ __forceinline__ bool tap_outside(int third, int tap, int open)
{
    return (third == 0 && tap == 0 && (open & 1) == 0) || (third == 2 && tap == 2 && (open & 2) == 0);
}

// Bias of each of the 27 border classes and COUNT output channels: that of the layer and what each tap adds where it
// reads inside the volume.
template <int COUNT, int THREADS>
__device__ __forceinline__ void border_biases(float *table, const float *bias, const float *tap_shift, int channels,
                                              const Open &open)
{
    for (int i = threadIdx.x; i < 27 * COUNT; i += THREADS) {
        const int border = i / COUNT, channel = i % COUNT, z = border / 9, y = border / 3 % 3, x = border % 3;
        float total = bias[channel];
        for (int tap = 0; tap < 27 && tap_shift != nullptr; tap++) {
            const bool outside = tap_outside(z, tap / 9, open.z) || tap_outside(y, tap / 3 % 3, open.y) ||
                                 tap_outside(x, tap % 3, open.x);
            if (!outside) total += tap_shift[tap * channels + channel];
        }
        table[i] = total;
    }
}

#endif
