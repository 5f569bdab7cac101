// Products of two tensors summed over voxels, for all 27 taps (see backend/cuda/train/kernel_gradient.cu).
//
// A matrix product is 16 voxels deep, two rows of eight. Its 64 rows are 16 channels of a, four times: as they are, and
// one, two and three image rows further down, which are the kernel's rows (the fourth isn't used). Its columns are 16
// or 32 channels of b, three times: one voxel further right each time, which are the kernel's columns from the last to
// the first. All of these are the same voxels in shared memory, read from other addresses. The kernel's planes have
// accumulators of their own.
//
// A warpgroup takes columns of tiles, one after the other, and walks along their depth; planes come into its rings by
// the bulk copy engine, with zeros for what lies outside.
#include "backend/cuda/hopper/kernel_gradient.cuh"

#include "backend/cuda/hopper/march.cuh"

template <typename T_, int SLABS_, int GROUPS_> struct GradientShape {
    typedef T_ T;
    static constexpr int SLABS = SLABS_, GROUPS = GROUPS_, THREADS = GROUPS * GROUP_THREADS;
    static constexpr int WIDTH = 16 * SLABS; // channels of b
    static constexpr int COLUMNS = 8, ROWS = 16, A_ROWS = ROWS + 3, B_COLUMNS = COLUMNS + 2;
    static constexpr int A_ROW = COLUMNS * VOXEL_BYTES, B_VOXEL = VOXEL_BYTES * SLABS, B_ROW = B_COLUMNS * B_VOXEL;
    static constexpr int A_PLANE = A_ROWS * A_ROW, B_PLANE = ROWS * B_ROW;
    static constexpr int A_STAGES = 4, B_STAGES = 3, STAGES = A_STAGES + B_STAGES;
    // Rows and columns of a product overlap in memory. Tools that check accesses take an operand for as long as it
    // would be if they didn't, so the last one of a plane has that room, too.
    static constexpr int A_OPERAND = 64 * VOXEL_BYTES, B_OPERAND = 3 * WIDTH * VOXEL_BYTES;
    static constexpr int A_STAGE = ring_room((ROWS - 2) * A_ROW + A_OPERAND);
    static constexpr int B_STAGE = SLABS * ring_room(((ROWS - 2) * B_ROW + B_OPERAND) / SLABS);
    static constexpr int RING = A_STAGES * A_STAGE + B_STAGES * B_STAGE, BYTES = GROUPS * (RING + STAGES * 8);
    static constexpr int SUMS = 27 * 16 * WIDTH; // of a block, in the rings' memory in the end
    static_assert(A_STAGE >= A_PLANE && B_STAGE >= B_PLANE, "a plane fits");
    static_assert(A_STAGES * A_STAGE % 512 == 0 && B_STAGE % (SLABS * 256) == 0 && RING % 512 == 0,
                  "planes begin where the swizzle does");
    static_assert(SUMS * 4 <= GROUPS * RING, "the sums fit into the rings");
};

struct GradientParameters {
    CUtensorMap a[2], b;
    int slabs0, slabs; // of a: of its first tensor, of both
    int out;           // channels of b
    int across, down, planes /* of a task */, tasks;
    float *partial;
};

// What a warpgroup asks for next of one of its rings.
struct Feed {
    int task, plane, stage;
    __device__ __forceinline__ void next(int planes, int step, int stages)
    {
        if (++stage == stages) stage = 0;
        if (++plane < planes) return;
        plane = 0;
        task += step;
    }
};

// What it waits for next.
template <int STAGES> struct Line {
    int stage = 0;
    uint32_t parity = 0;
    __device__ __forceinline__ void wait(uint32_t barriers)
    {
        ring_wait(barriers + stage * 8, parity);
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

template <class S>
__global__ __launch_bounds__(S::THREADS, 1) void kernel_gradient_kernel(const __grid_constant__ GradientParameters p)
{
    typedef typename S::T T;
    constexpr int PRODUCT = 3 * S::WIDTH, VALUES = PRODUCT / 2;
    extern __shared__ __align__(1024) uint8_t memory[];
    const int thread = threadIdx.x % GROUP_THREADS, lane = thread & 31, warp = thread >> 5, quad = lane & 3;
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP_THREADS, 0), example = blockIdx.z;
    const int slab = blockIdx.y % p.slabs, b_first = blockIdx.y / p.slabs * S::WIDTH, second = slab >= p.slabs0;
    const int a_first = (slab - second * p.slabs0) * SLAB;
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory), a_ring = shared + group * S::RING,
                   b_ring = a_ring + S::A_STAGES * S::A_STAGE;
    const uint32_t a_barriers = shared + S::GROUPS * S::RING + group * S::STAGES * 8,
                   b_barriers = a_barriers + S::A_STAGES * 8;
    ring_begin<S::STAGES>(a_barriers);
    __syncthreads();

    const int first = blockIdx.x * S::GROUPS + group, step = gridDim.x * S::GROUPS, tiles = p.across * p.down;
    Feed a_feed = {first, 0, 0}, b_feed = {first, 0, 0};
    auto load_a = [&]() {
        if (thread != 0 || a_feed.task >= p.tasks) return;
        const int tile = a_feed.task % tiles, plane = a_feed.task / tiles * p.planes - 1 + a_feed.plane;
        ring_expect(a_barriers + a_feed.stage * 8, S::A_PLANE);
        ring_load(a_ring + a_feed.stage * S::A_STAGE, p.a[second], a_first, tile % p.across * S::COLUMNS,
                  tile / p.across * S::ROWS - 1, plane, example, a_barriers + a_feed.stage * 8);
        a_feed.next(p.planes + 2, step, S::A_STAGES);
    };
    auto load_b = [&]() {
        if (thread != 0 || b_feed.task >= p.tasks) return;
        const int tile = b_feed.task % tiles, plane = b_feed.task / tiles * p.planes + b_feed.plane;
        ring_expect(b_barriers + b_feed.stage * 8, S::B_PLANE);
        ring_load(b_ring + b_feed.stage * S::B_STAGE, p.b, b_first, tile % p.across * S::COLUMNS - 1,
                  tile / p.across * S::ROWS, plane, example, b_barriers + b_feed.stage * 8);
        b_feed.next(p.planes, step, S::B_STAGES);
    };

    float sums[3][VALUES]; // by plane of the kernel
#pragma unroll
    for (int plane = 0; plane < 3; plane++)
#pragma unroll
        for (int i = 0; i < VALUES; i++) sums[plane][i] = 0.0f;
    for (int i = 0; i < S::A_STAGES; i++) load_a();
    for (int i = 0; i < S::B_STAGES; i++) load_b();
    Line<S::A_STAGES> a_line;
    Line<S::B_STAGES> b_line;
    int oldest = 0; // stage of the first of the three planes of a at work
    for (int task = first; task < p.tasks; task += step) {
        a_line.wait(a_barriers);
        a_line.wait(a_barriers);
        for (int plane = 0; plane < p.planes; plane++) {
            const uint64_t b =
                transposed<S::SLABS>(b_ring + b_line.stage * S::B_STAGE, S::B_VOXEL /* a column further */, S::B_ROW);
            a_line.wait(a_barriers);
            b_line.wait(b_barriers);
#pragma unroll
            for (int k = 0; k < 3; k++) wgmma_pin(sums[k]);
            wgmma_fence();
#pragma unroll
            for (int k = 0; k < 3; k++) {
                const int stage = oldest + k < S::A_STAGES ? oldest + k : oldest + k - S::A_STAGES;
                const uint64_t a = transposed<1>(a_ring + stage * S::A_STAGE, S::A_ROW /* a row further */, S::A_ROW);
#pragma unroll
                for (int row = 0; row < S::ROWS; row += 2) {
                    Wgmma<T, PRODUCT>::add_transposed(sums[k], operand_at(a, row * S::A_ROW),
                                                      operand_at(b, row * S::B_ROW));
                }
            }
            wgmma_commit();
            wgmma_wait<0>();
#pragma unroll
            for (int k = 0; k < 3; k++) wgmma_pin(sums[k]);
            group_sync(group); // all four warps are done with what is replaced
            load_b();
            const int used = plane + 1 < p.planes ? 1 : 3;
            for (int i = 0; i < used; i++) load_a();
            oldest = (oldest + used) % S::A_STAGES;
        }
    }

    // The warpgroups' sums are added in order.
    float *total = reinterpret_cast<float *>(memory);
    for (int turn = 0; turn < S::GROUPS; turn++) {
        __syncthreads();
        if (group != turn || warp == 3) continue;
#pragma unroll
        for (int k = 0; k < 3; k++)
#pragma unroll
            for (int i = 0; i < VALUES; i += 2) {
                const int column = i / 4 * 8 + 2 * quad, tap = k * 9 + warp * 3 + 2 - column / S::WIDTH;
                const int in = (lane >> 2) + (i / 2 & 1) * 8;
                float2 *at = reinterpret_cast<float2 *>(total + (tap * 16 + in) * S::WIDTH + column % S::WIDTH);
                const float2 before = turn == 0 ? make_float2(0.0f, 0.0f) : *at;
                *at = make_float2(before.x + sums[k][i], before.y + sums[k][i + 1]);
            }
    }
    __syncthreads();
    const int in = p.slabs * SLAB;
    float *to = p.partial + ((long)example * gridDim.x + blockIdx.x) * 27 * in * p.out + b_first;
    for (int i = threadIdx.x; i < S::SUMS; i += S::THREADS) {
        const int row = i / S::WIDTH, tap = row / 16, channel = slab * SLAB + row % 16;
        to[((long)tap * in + channel) * p.out + i % S::WIDTH] = total[i];
    }
}

enum { BLOCKS = 132 /* of an example, together: with three of them a large GPU has work for three rounds */ };

// Planes that a column of tiles is walked along at a time: so many that few lie beyond the end.
static int planes_of_task(int depth)
{
    int best = depth < 12 ? depth : 12;
    for (int planes = best; planes >= 6; planes--) {
        if ((depth + planes - 1) / planes * planes < (depth + best - 1) / best * best) best = planes;
    }
    return best;
}

template <class S> static GradientParameters divide(const Extent &size)
{
    GradientParameters p = {};
    p.across = (size.width + S::COLUMNS - 1) / S::COLUMNS;
    p.down = (size.height + S::ROWS - 1) / S::ROWS;
    p.planes = planes_of_task(size.depth);
    p.tasks = p.across * p.down * ((size.depth + p.planes - 1) / p.planes);
    return p;
}

// Blocks that share the tasks of one pair of channel blocks.
template <class S> static int parts_of(const Extent &size, int a, int b)
{
    const int pairs = a / SLAB * (b / S::WIDTH), parts = (BLOCKS + pairs - 1) / pairs;
    const int most = (divide<S>(size).tasks + S::GROUPS - 1) / S::GROUPS;
    return parts < most ? parts : most;
}

template <class S> static crd_status launch(const KernelArguments &arguments, int examples, cudaStream_t stream)
{
    GradientParameters p = divide<S>(arguments.size);
    const int in = arguments.a[0].channels + arguments.a[1].channels, out = arguments.b.channels;
    for (int i = 0; i < 2; i++)
        PASS(tensor_map_by_example(arguments.a[i], examples, SLAB, S::COLUMNS, S::A_ROWS, &p.a[i]));
    PASS(tensor_map_by_example(arguments.b, examples, S::WIDTH, S::B_COLUMNS, S::ROWS, &p.b));
    p.slabs0 = arguments.a[0].channels / SLAB;
    p.slabs = in / SLAB;
    p.out = out;
    p.partial = arguments.partial;
    const dim3 grid(parts_of<S>(arguments.size, in, out), p.slabs * (out / S::WIDTH), examples);
    CUDA_PASS(cudaFuncSetAttribute(kernel_gradient_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    kernel_gradient_kernel<S><<<grid, S::THREADS, S::BYTES, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T> using Narrow = GradientShape<T, 1, 4>;
template <typename T> using Wide = GradientShape<T, 2, 2>; // three would not have registers enough

int hopper_kernel_slots(const Extent &size, int a, int b)
{
    return b % 32 == 0 ? parts_of<Wide<__half>>(size, a, b) : parts_of<Narrow<__half>>(size, a, b);
}

template <typename T>
crd_status hopper_kernel_gradient_launch(const KernelArguments &arguments, int examples, cudaStream_t stream)
{
    return arguments.b.channels % 32 == 0 ? launch<Wide<T>>(arguments, examples, stream)
                                          : launch<Narrow<T>>(arguments, examples, stream);
}

template crd_status hopper_kernel_gradient_launch<__half>(const KernelArguments &, int, cudaStream_t);
template crd_status hopper_kernel_gradient_launch<__nv_bfloat16>(const KernelArguments &, int, cudaStream_t);
