// The head: 3x3x3 convolution to one channel, ReLU, the 1x1x1 convolution, and the sigmoid or, in training, the loss,
// in one pass.
//
// With one output channel, output rows fill the columns: 8 rows for each of three planes. An input row touches three of
// them, so most weights of a product are zero; what counts is that every voxel is read from shared memory only 30 times
// for eight rows of outputs.
#include "backend/cuda/hopper/march.cuh"
#include "backend/cuda/train/loss.cuh"

template <typename T_, int GROUPS_, int STAGES_> struct HeadShape {
    typedef T_ T;
    static constexpr int GROUPS = GROUPS_, STAGES = STAGES_, THREADS = GROUPS * GROUP_THREADS, ROWS = 8;
    static constexpr int IN_COLUMNS = 10, IN_ROWS = 8 * ROWS + 2;
    static constexpr int STAGE_BYTES = IN_COLUMNS * IN_ROWS * VOXEL_BYTES, STAGE = ring_room(STAGE_BYTES),
                         RING = STAGES * STAGE;
    static constexpr int PRODUCT = 24 * VOXEL_BYTES, WEIGHTS = HOPPER_HEAD_PRODUCTS * PRODUCT, BIASES = 27 * 4 + 4;
    static constexpr int BYTES = WEIGHTS + GROUPS * RING + BIASES + GROUPS * STAGES * 8;
};

struct HeadParameters {
    CUtensorMap map;
    int sample_planes;
    const uint4 *weights;
    const float *bias, *tap_shift, *point;
    long point_stride;
    float inverse_temperature;
    float *probability;
    int apart;
    const uint8_t *label; // in training
    const float *scale;
    float *gradient;
    double *partial;
    Place at; // of the output's first voxel in the input
    Extent size;
    Open open;
    Planes planes;
    Tasks tasks;
};

template <class S, bool TRAINED>
__global__ __launch_bounds__(S::THREADS, 1) void head_kernel(const __grid_constant__ HeadParameters p)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    const int thread = threadIdx.x % GROUP_THREADS, lane = thread & 31, warp = thread >> 5, sample = blockIdx.y;
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP_THREADS, 0);
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory), ring = shared + S::WEIGHTS + group * S::RING;
    float *biases = reinterpret_cast<float *>(memory + S::WEIGHTS + S::GROUPS * S::RING);
    const uint32_t barriers = shared + S::WEIGHTS + S::GROUPS * S::RING + S::BIASES + group * S::STAGES * 8;
    border_biases<1, S::THREADS>(biases, p.bias, p.tap_shift == nullptr ? nullptr : p.tap_shift + (long)sample * 27, 1,
                                 p.open);
    load_weights<S::WEIGHTS, S::THREADS>(shared, p.weights + (long)sample * (S::WEIGHTS / 16));
    ring_begin<S::STAGES>(barriers);
    __syncthreads();
    const int task = blockIdx.x * S::GROUPS + group;
    if (task >= p.tasks.count()) return;

    const int x0 = task % p.tasks.across * 8, y0 = task / p.tasks.across % p.tasks.down * (8 * S::ROWS);
    const int first = task / (p.tasks.across * p.tasks.down) * p.tasks.planes,
              end = min(p.size.depth, first + p.tasks.planes);
    const int in_first = max(p.planes.lowest, first - 1), in_last = min(p.planes.highest, end);
    auto load = [&](int plane, int stage) {
        if (thread != 0 || plane > in_last) return;
        ring_expect(barriers + stage * 8, S::STAGE_BYTES);
        ring_load(ring + stage * S::STAGE, p.map, 0, x0 - 1 + p.at.x, y0 - 1 + p.at.y,
                  plane + p.at.z + sample * p.sample_planes, barriers + stage * 8);
    };

    const int x = x0 + (lane >> 2), y = y0 + 16 * warp + 2 * (lane & 3); // outputs: rows y, y + 1, y + 8, y + 9
    const float weight = p.point[sample * p.point_stride] * p.inverse_temperature;
    const float offset = p.point[sample * p.point_stride + 1] * p.inverse_temperature, inner_bias = biases[13];
    const bool border = x == 0 || x >= p.size.width - 1 || y == 0 || y + 9 >= p.size.height - 1;
    float sums[12]; // [plane][group of rows][row]
#pragma unroll
    for (int i = 0; i < 12; i++) sums[i] = 0.0f;
    long at =
        ((long)sample * p.apart * p.size.depth + first) * p.size.height * p.size.width + (long)y * p.size.width + x;
    int out_plane = first;
    float losses[TRAINED ? LOSS_SUMS : 1] = {};
    const float scale = TRAINED && p.gradient != nullptr ? *p.scale : 0.0f;
    auto store = [&]() {
        const bool edge = border || out_plane == 0 || out_plane == p.size.depth - 1;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = (i >> 1) * 8 + (i & 1);
            if (x >= p.size.width || y + row >= p.size.height) continue;
            const float bias = !edge ? inner_bias
                                     : biases[border_third(out_plane, p.size.depth) * 9 +
                                              border_third(y + row, p.size.height) * 3 + border_third(x, p.size.width)];
            const float value = relu(sums[i] + bias);
            const long voxel = at + row * p.size.width;
            if constexpr (TRAINED)
                loss_voxel(p.label, p.gradient, voxel, value, weight, offset, scale, losses);
            else
                p.probability[voxel] = sigmoid(fmaf(weight, value, offset));
        }
        at += (long)p.size.height * p.size.width;
        out_plane++;
    };

    for (int i = 0; i < S::STAGES; i++) load(in_first + i, i);
    const uint64_t weights = operand(shared, 8 * VOXEL_BYTES);
    int stage = 0;
    uint32_t parity = 0;
    for (int plane = in_first; plane <= in_last; plane++) {
        ring_wait(barriers + stage * 8, parity);
        const uint64_t voxels = operand(ring + stage * S::STAGE, S::ROWS * S::IN_COLUMNS * VOXEL_BYTES);
        wgmma_pin(sums);
        wgmma_fence();
#pragma unroll
        for (int row = 0; row < S::ROWS + 2; row++)
#pragma unroll
            for (int column = 0; column < 3; column++) {
                Wgmma<typename S::T, 24>::add(sums, operand_at(voxels, (row * S::IN_COLUMNS + column) * VOXEL_BYTES),
                                              operand_at(weights, (row * 3 + column) * S::PRODUCT));
            }
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_pin(sums);
        group_sync(group);
        load(plane + S::STAGES, stage);
        if (plane - 1 >= first) store();
#pragma unroll
        for (int i = 0; i < 8; i++) sums[i] = sums[i + 4];
#pragma unroll
        for (int i = 8; i < 12; i++) sums[i] = 0.0f;
        if (++stage == S::STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    if (in_last < end) store();
    if constexpr (TRAINED) {
        double *to = p.partial + (((long)sample * p.tasks.count() + task) * 4 + warp) * LOSS_SUMS;
#pragma unroll
        for (int k = 0; k < LOSS_SUMS; k++) {
            double total = losses[k];
            for (int step = 16; step > 0; step >>= 1) total += __shfl_xor_sync(~0u, total, step);
            if (lane == 0) to[k] = total;
        }
    }
}

template <class S, bool TRAINED>
static crd_status launch(const HopperArguments &a, HeadParameters &p, int samples, cudaStream_t stream)
{
    PASS(tensor_map_make(a.x[0], samples, S::IN_COLUMNS, S::IN_ROWS, &p.map));
    p.sample_planes = a.x[0].stride == 0 ? 0 : a.x[0].whole.depth;
    p.at = a.x[0].at;
    p.weights = static_cast<const uint4 *>(a.weights);
    p.bias = a.bias;
    p.tap_shift = a.tap_shift;
    p.size = a.size;
    p.open = a.open;
    p.planes = planes_of(a.size, a.open);
    p.tasks = TRAINED ? training_tasks_of(a.size, 8 * S::ROWS, 1) : tasks_of(a.size, 8 * S::ROWS);
    const auto kernel = head_kernel<S, TRAINED>;
    CUDA_PASS(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    kernel<<<dim3((unsigned)((p.tasks.count() + S::GROUPS - 1) / S::GROUPS), (unsigned)samples), S::THREADS, S::BYTES,
             stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T> using Head = HeadShape<T, 3, 3>;

template <typename T> crd_status hopper_head_launch(const HopperHeadArguments &a, int samples, cudaStream_t stream)
{
    HeadParameters p = {};
    p.point = a.point;
    p.point_stride = a.point_stride;
    p.inverse_temperature = a.inverse_temperature;
    p.probability = a.probability;
    p.apart = a.apart;
    return launch<Head<T>, false>(a.conv, p, samples, stream);
}

int hopper_loss_rows(const Extent &size)
{
    return 4 * training_tasks_of(size, 8 * Head<__half>::ROWS, 1).count();
}

template <typename T> crd_status hopper_loss_launch(const HopperLossArguments &a, int examples, cudaStream_t stream)
{
    HeadParameters p = {};
    p.point = a.point;
    p.point_stride = a.point_stride;
    p.inverse_temperature = 1.0f;
    p.label = a.label;
    p.scale = a.scale;
    p.gradient = a.gradient;
    p.partial = a.partial;
    p.apart = 1;
    return launch<Head<T>, true>(a.conv, p, examples, stream);
}

template crd_status hopper_head_launch<__half>(const HopperHeadArguments &, int, cudaStream_t);
template crd_status hopper_head_launch<__nv_bfloat16>(const HopperHeadArguments &, int, cudaStream_t);
template crd_status hopper_loss_launch<__half>(const HopperLossArguments &, int, cudaStream_t);
template crd_status hopper_loss_launch<__nv_bfloat16>(const HopperLossArguments &, int, cudaStream_t);
