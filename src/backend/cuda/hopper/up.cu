// Nearest upsampling by two, then a 2x2x2 convolution, at low resolution (see backend/cuda/kernels/up.cu).
//
// A matrix product's 64 rows are 8 x 8 voxels of an input plane; its columns are the four parities of (y, x), 11, 10,
// 01, 00, the three output planes 2z - 1, 2z, 2z + 1 that input plane z touches, and 16 output channels. The voxel
// itself feeds all parities; its right neighbour the first three (10 with zeros), the one below the first two, the one
// across the first.
#include "backend/cuda/hopper/march.cuh"

template <typename T_, int SLABS_, int GROUPS_, int STAGES_> struct UpShape {
    typedef T_ T;
    static constexpr int SLABS = SLABS_, GROUPS = GROUPS_, STAGES = STAGES_, OUT = 16, THREADS = GROUPS * GROUP_THREADS;
    static constexpr int IN_COLUMNS = 9, IN_ROWS = 9;
    static constexpr int SLAB_BYTES = IN_COLUMNS * IN_ROWS * VOXEL_BYTES, SLAB_ROOM = ring_room(SLAB_BYTES);
    static constexpr int STAGE = SLABS * SLAB_ROOM, RING = STAGES * STAGE;
    static constexpr int SLAB_WEIGHTS = HOPPER_UP_BLOCKS * 48 * VOXEL_BYTES, WEIGHTS = SLABS * SLAB_WEIGHTS;
    static constexpr int BIASES = 8 * OUT * 4, BYTES = WEIGHTS + GROUPS * RING + BIASES + GROUPS * STAGES * 8;
};

struct UpParameters {
    CUtensorMap map;
    int sample_planes;
    const uint4 *weights;
    const float *bias, *tap_shift;
    void *y;
    float2 *partial;
    int out, slices, rows;
    Extent low;
    Tasks tasks;
};

// Bias by whether the output voxel is the last along z, y, x.
template <class S>
__device__ __forceinline__ void last_biases(float *table, const float *bias, const float *tap_shift, int channels)
{
    for (int i = threadIdx.x; i < 8 * S::OUT; i += S::THREADS) {
        const int last = i / S::OUT, channel = i % S::OUT;
        float total = bias[channel];
        for (int tap = 0; tap < 8 && tap_shift != nullptr; tap++) {
            if ((last & tap) == 0) total += tap_shift[tap * channels + channel];
        }
        table[i] = total;
    }
}

template <class S> __global__ __launch_bounds__(S::THREADS, 1) void up_kernel(const __grid_constant__ UpParameters p)
{
    typedef typename S::T T;
    extern __shared__ __align__(1024) uint8_t memory[];
    const int thread = threadIdx.x % GROUP_THREADS, lane = thread & 31, warp = thread >> 5, quad = lane & 3;
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP_THREADS, 0);
    const int sample = blockIdx.y / p.slices, slice = blockIdx.y - sample * p.slices;
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory), ring = shared + S::WEIGHTS + group * S::RING;
    float *biases = reinterpret_cast<float *>(memory + S::WEIGHTS + S::GROUPS * S::RING);
    const uint32_t barriers = shared + S::WEIGHTS + S::GROUPS * S::RING + S::BIASES + group * S::STAGES * 8;
    last_biases<S>(biases, p.bias + slice * S::OUT,
                   p.tap_shift == nullptr ? nullptr : p.tap_shift + (long)sample * 8 * p.out + slice * S::OUT, p.out);
    load_weights<S::WEIGHTS, S::THREADS>(shared, p.weights + (long)blockIdx.y * (S::WEIGHTS / 16));
    ring_begin<S::STAGES>(barriers);
    __syncthreads();
    const int task = blockIdx.x * S::GROUPS + group;
    if (task >= p.tasks.count()) return;

    const int x0 = task % p.tasks.across * 8, y0 = task / p.tasks.across % p.tasks.down * 8;
    const int first = task / (p.tasks.across * p.tasks.down) * p.tasks.planes,
              end = min(p.low.depth, first + p.tasks.planes);
    const int in_last = min(p.low.depth - 1, end);
    auto load = [&](int plane, int stage) {
        if (thread != 0 || plane > in_last) return;
        ring_expect(barriers + stage * 8, S::SLABS * S::SLAB_BYTES);
#pragma unroll
        for (int slab = 0; slab < S::SLABS; slab++) {
            ring_load(ring + stage * S::STAGE + slab * S::SLAB_ROOM, p.map, slab * SLAB, x0, y0,
                      plane + sample * p.sample_planes, barriers + stage * 8);
        }
    };

    const int x = x0 + (lane >> 2), y = y0 + 2 * warp,
              high_width = 2 * p.low.width; // this thread's voxels: (y, x), (y + 1, x)
    const bool near_end = x >= p.low.width - 1 || y + 1 >= p.low.height - 1;
    float bias[4], sum[4] = {}, square[4] = {};
#pragma unroll
    for (int i = 0; i < 4; i++) bias[i] = biases[4 * quad + i];
    const long plane_values = 4L * p.low.height * p.low.width * p.out;
    T *y_plane = static_cast<T *>(p.y) + (2L * ((long)sample * p.low.depth + first)) * plane_values +
                 ((long)2 * y * high_width + 2 * x) * p.out + slice * S::OUT + 4 * quad;
    float sums[96]; // [parity][plane][two pairs of channels of two voxels]
#pragma unroll
    for (int i = 0; i < 96; i++) sums[i] = 0.0f;
    auto store = [&](int slot, bool last_plane) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (x >= p.low.width || y + half >= p.low.height) continue;
#pragma unroll
            for (int block = 0; block < 4; block++) {
                const int py = (3 - block) >> 1, px = (3 - block) & 1;
                float add[4] = {bias[0], bias[1], bias[2], bias[3]}, value[4];
                if (near_end || last_plane) {
                    const int last = (last_plane ? 4 : 0) | (py == 1 && y + half == p.low.height - 1 ? 2 : 0) |
                                     (px == 1 && x == p.low.width - 1 ? 1 : 0);
#pragma unroll
                    for (int i = 0; i < 4; i++) add[i] = biases[last * S::OUT + 4 * quad + i];
                }
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    value[i] = relu(sums[(block * 3 + slot) * 8 + i / 2 * 4 + half * 2 + (i & 1)] + add[i]);
                    sum[i] += value[i];
                    square[i] = fmaf(value[i], value[i], square[i]);
                }
                *reinterpret_cast<uint2 *>(y_plane + ((2 * half + py) * high_width + px) * p.out) =
                    make_uint2(Pair<T>::pack(value[0], value[1]), Pair<T>::pack(value[2], value[3]));
            }
        }
        y_plane += plane_values;
    };

    for (int i = 0; i < S::STAGES; i++) load(first + i, i);
    const uint64_t weights = operand(shared, 8 * VOXEL_BYTES);
    int stage = 0;
    uint32_t parity = 0;
    for (int plane = first; plane <= in_last; plane++) {
        ring_wait(barriers + stage * 8, parity);
        const uint64_t voxels = operand(ring + stage * S::STAGE, S::IN_COLUMNS * VOXEL_BYTES);
        // Different shapes on the same registers: one after the other.
#define UP_PRODUCTS(COLUMNS, ROW, COLUMN, FIRST_BLOCK)                                                                 \
    wgmma_pin(sums);                                                                                                   \
    wgmma_fence();                                                                                                     \
    _Pragma("unroll") for (int slab = 0; slab < S::SLABS; slab++)                                                      \
    {                                                                                                                  \
        Wgmma<T, COLUMNS>::add(sums,                                                                                   \
                               operand_at(voxels, slab *S::SLAB_ROOM + (ROW * S::IN_COLUMNS + COLUMN) * VOXEL_BYTES),  \
                               operand_at(weights, slab *S::SLAB_WEIGHTS + FIRST_BLOCK * 48 * VOXEL_BYTES));           \
    }                                                                                                                  \
    wgmma_commit();                                                                                                    \
    wgmma_wait<0>();
        UP_PRODUCTS(192, 0, 0, 0)
        UP_PRODUCTS(144, 0, 1, 4)
        UP_PRODUCTS(96, 1, 0, 7)
        UP_PRODUCTS(48, 1, 1, 9)
        wgmma_pin(sums);
        group_sync(group);
        load(plane + S::STAGES, stage);
        if (plane > first) store(0, false);
        if (plane < end) store(1, false);
#pragma unroll
        for (int block = 0; block < 4; block++)
#pragma unroll
            for (int i = 0; i < 8; i++) {
                sums[block * 24 + i] = sums[block * 24 + 16 + i];
                sums[block * 24 + 8 + i] = sums[block * 24 + 16 + i] = 0.0f;
            }
        if (++stage == S::STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    if (end == p.low.depth) store(0, true);
#pragma unroll
    for (int step = 4; step < 32; step <<= 1)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sum[i] += __shfl_xor_sync(~0u, sum[i], step);
            square[i] += __shfl_xor_sync(~0u, square[i], step);
        }
    if (lane < 4) {
        float2 *to = p.partial + ((long)sample * p.rows + task * 4 + warp) * p.out + slice * S::OUT + 4 * quad;
#pragma unroll
        for (int i = 0; i < 4; i++) to[i] = make_float2(sum[i], square[i]);
    }
}

static Extent low_of(const Extent &size)
{
    return {size.depth / 2, size.height / 2, size.width / 2};
}

int up_sum_rows(const Extent &size)
{
    return 4 * tasks_of(low_of(size), 8).count();
}

int up_training_rows(const Extent &size, int out)
{
    return 4 * training_tasks_of(low_of(size), 8, out / 16).count();
}

template <class S> static crd_status launch(const HopperArguments &a, int samples, cudaStream_t stream)
{
    UpParameters p = {};
    p.low = a.x[0].whole;
    PASS(tensor_map_make(a.x[0], samples, S::IN_COLUMNS, S::IN_ROWS, &p.map));
    p.sample_planes = a.x[0].stride == 0 ? 0 : p.low.depth;
    p.weights = static_cast<const uint4 *>(a.weights);
    p.bias = a.bias;
    p.tap_shift = a.tap_shift;
    p.y = a.y;
    p.partial = a.partial;
    p.out = a.out;
    p.slices = a.out / S::OUT;
    p.tasks = a.sums_by_channel ? training_tasks_of(p.low, 8, p.slices) : tasks_of(p.low, 8);
    p.rows = 4 * p.tasks.count();
    CUDA_PASS(cudaFuncSetAttribute(up_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    const dim3 grid((unsigned)((p.tasks.count() + S::GROUPS - 1) / S::GROUPS), (unsigned)(samples * p.slices));
    up_kernel<S><<<grid, S::THREADS, S::BYTES, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T> crd_status hopper_up_launch(const HopperArguments &a, int samples, cudaStream_t stream)
{
    if (a.x[0].channels == 32) return launch<UpShape<T, 2, 3, 3>>(a, samples, stream);
    if (a.x[0].channels == 64) return launch<UpShape<T, 4, 3, 3>>(a, samples, stream);
    if (a.x[0].channels == 128) return launch<UpShape<T, 8, 2, 2>>(a, samples, stream);
    return CUDA_FAIL(CRD_ERR_INTERNAL, "no upsampling of %d channels", a.x[0].channels);
}

template crd_status hopper_up_launch<__half>(const HopperArguments &, int, cudaStream_t);
template crd_status hopper_up_launch<__nv_bfloat16>(const HopperArguments &, int, cudaStream_t);
