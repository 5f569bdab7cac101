// The head of more than two classes: 3x3x3 convolution to as many channels, ReLU, the 1x1x1 convolution and the
// softmax or, in training, the loss, in one pass.
//
// As in head.cu, output rows fill the columns of the matrix product, here with a column for each class: a thread ends
// up with one of the four rows of a group, in three planes, and with all classes of its voxels, which the softmax wants
// together. Four rows and not eight, because the more rows, the more weights of a product are zero; a tile is two
// products wide instead, so that fewer voxels are read twice.
#include "backend/cuda/hopper/march.cuh"
#include "backend/cuda/train/softmax_loss.cuh"

// CLASSES: those of the network, or more, without weights; ACROSS: products side by side.
template <typename T_, int CLASSES_, int ACROSS_, int GROUPS_, int STAGES_> struct SoftmaxShape {
    typedef T_ T;
    static constexpr int CLASSES = CLASSES_, ACROSS = ACROSS_, GROUPS = GROUPS_, STAGES = STAGES_, ROWS = 4;
    static constexpr int THREADS = GROUPS * GROUP_THREADS, IN_COLUMNS = 8 * ACROSS + 2, IN_ROWS = 8 * ROWS + 2;
    static constexpr int STAGE_BYTES = IN_COLUMNS * IN_ROWS * VOXEL_BYTES, STAGE = ring_room(STAGE_BYTES),
                         RING = STAGES * STAGE;
    static constexpr int COLUMNS = softmax_columns(CLASSES), PRODUCT = COLUMNS * VOXEL_BYTES,
                         WEIGHTS = HOPPER_SOFTMAX_PRODUCTS * PRODUCT;
    static constexpr int BIASES = (27 * CLASSES * 4 + 7) / 8 * 8;
    // In shared memory: weights, rings, biases, barriers, the 1x1x1 convolution.
    static constexpr int BARRIERS = WEIGHTS + GROUPS * RING + BIASES, POINT = BARRIERS + GROUPS * STAGES * 8,
                         BYTES = POINT + (int)sizeof(SharedPoint<CLASSES>);
    static constexpr bool EXACT = CLASSES <= 4; // there is a shape for this very number
    static_assert((ROWS + 2) * 3 == HOPPER_SOFTMAX_PRODUCTS, "packed so");
    static_assert(WEIGHTS % RING_ALIGN == 0, "the rings follow the weights");
};

struct SoftmaxParameters {
    CUtensorMap map;
    int sample_planes;
    const uint4 *weights;
    const float *bias, *tap_shift, *point;
    long point_stride;
    int classes;
    float inverse_temperature;
    float *probability;
    int apart;
    const uint8_t *label; // in training
    const float *scale;
    void *gradient;
    double *partial;
    Place at; // of the output's first voxel in the input
    Extent size;
    Open open;
    Planes planes;
    Tasks tasks;
};

template <class S, bool TRAINED>
__global__ __launch_bounds__(S::THREADS, 1) void softmax_head_kernel(const __grid_constant__ SoftmaxParameters p)
{
    constexpr int CLASSES = S::CLASSES;
    extern __shared__ __align__(1024) uint8_t memory[];
    SharedPoint<CLASSES> &shared_point = *reinterpret_cast<SharedPoint<CLASSES> *>(memory + S::POINT);
    const int thread = threadIdx.x % GROUP_THREADS, lane = thread & 31, warp = thread >> 5, sample = blockIdx.y;
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP_THREADS, 0), classes = S::EXACT ? CLASSES : p.classes;
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory), ring = shared + S::WEIGHTS + group * S::RING;
    float *biases = reinterpret_cast<float *>(memory + S::WEIGHTS + S::GROUPS * S::RING);
    const uint32_t barriers = shared + S::BARRIERS + group * S::STAGES * 8;
    border_biases<CLASSES, S::THREADS>(biases, p.bias,
                                       p.tap_shift == nullptr ? nullptr : p.tap_shift + (long)sample * 27 * HEAD_WIDTH,
                                       HEAD_WIDTH, p.open);
    load_weights<S::WEIGHTS, S::THREADS>(shared, p.weights + (long)sample * (S::WEIGHTS / 16));
    shared_point.load(p.point + sample * p.point_stride, classes);
    ring_begin<S::STAGES>(barriers);
    __syncthreads();
    const int task = blockIdx.x * S::GROUPS + group;
    if (task >= p.tasks.count()) return;

    const int x0 = task % p.tasks.across * (8 * S::ACROSS);
    const int y0 = task / p.tasks.across % p.tasks.down * (8 * S::ROWS);
    const int first = task / (p.tasks.across * p.tasks.down) * p.tasks.planes,
              end = min(p.size.depth, first + p.tasks.planes);
    const int in_first = max(p.planes.lowest, first - 1), in_last = min(p.planes.highest, end);
    auto load = [&](int plane, int stage) {
        if (thread != 0 || plane > in_last) return;
        ring_expect(barriers + stage * 8, S::STAGE_BYTES);
        ring_load(ring + stage * S::STAGE, p.map, 0, x0 - 1 + p.at.x, y0 - 1 + p.at.y,
                  plane + p.at.z + sample * p.sample_planes, barriers + stage * 8);
    };

    // Outputs: columns x and, in further products, x + 8 ...; rows y and y + ROWS.
    const int x = x0 + (lane >> 2), y = y0 + 2 * S::ROWS * warp + (lane & 3);
    const bool border = x0 == 0 || y0 == 0 || x0 + 8 * S::ACROSS >= p.size.width || y0 + 8 * S::ROWS >= p.size.height;
    const SharedPoint<CLASSES> own_point = shared_point; // a few classes' weights stay in registers
    const SharedPoint<CLASSES> &point = S::EXACT ? own_point : shared_point;
    float sums[S::ACROSS][S::COLUMNS / 2];
#pragma unroll
    for (int a = 0; a < S::ACROSS; a++)
#pragma unroll
        for (int i = 0; i < S::COLUMNS / 2; i++) sums[a][i] = 0.0f;
    // Of plane 0, 1 or 2 of those under way.
    auto sum_of = [&](int a, int plane, int channel, int half) -> float & {
        const int column = plane * CLASSES + channel; // of this thread's own
        return sums[a][column / 2 * 4 + half * 2 + (column & 1)];
    };
    const long plane_voxels = (long)p.size.height * p.size.width, class_voxels = p.size.depth * plane_voxels;
    float *out = p.probability + ((long)sample * p.apart * classes * p.size.depth + first) * plane_voxels +
                 (long)y * p.size.width + x;
    int out_plane = first;
    const float scale = TRAINED && p.gradient != nullptr ? *p.scale : 0.0f;
    long voxel = ((long)sample * p.size.depth + first) * plane_voxels + (long)y * p.size.width + x; // in training
    float singles[SINGLES] = {};
    OwnSums<TRAINED ? CLASSES : 1> totals;
    auto store = [&]() {
        const bool edge = border || out_plane == 0 || out_plane == p.size.depth - 1;
#pragma unroll
        for (int a = 0; a < S::ACROSS; a++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int column = x + 8 * a, row = y + half * S::ROWS;
                if (column >= p.size.width || row >= p.size.height) continue;
                const int third = !edge ? 13
                                        : border_third(out_plane, p.size.depth) * 9 +
                                              border_third(row, p.size.height) * 3 + border_third(column, p.size.width);
                float values[CLASSES];
#pragma unroll
                for (int c = 0; c < CLASSES; c++) values[c] = relu(sum_of(a, 0, c, half) + biases[third * CLASSES + c]);
                const long apart = half * S::ROWS * p.size.width + 8 * a;
                if constexpr (TRAINED) {
                    float slope[CLASSES], gradient[CLASSES];
                    softmax_voxel<CLASSES>(point, classes, p.label[voxel + apart], scale, values, slope, gradient,
                                           singles);
                    if (p.gradient != nullptr)
                        store_head<typename S::T, CLASSES>(gradient, static_cast<typename S::T *>(p.gradient) +
                                                                         (voxel + apart) * HEAD_WIDTH);
                    totals.add(values, slope, gradient);
                } else {
                    const Softmax<CLASSES> s(point, values, classes, p.inverse_temperature);
                    const float share = 1.0f / s.sum;
#pragma unroll
                    for (int c = 0; c < CLASSES; c++)
                        if (c < classes) out[apart + c * class_voxels] = fmaf(s.power[c], share, s.unsound);
                }
            }
        out += plane_voxels;
        voxel += plane_voxels;
        out_plane++;
    };

    for (int i = 0; i < S::STAGES; i++) load(in_first + i, i);
    const uint64_t weights = operand(shared, 8 * VOXEL_BYTES);
    int stage = 0;
    uint32_t parity = 0;
    for (int plane = in_first; plane <= in_last; plane++) {
        ring_wait(barriers + stage * 8, parity);
        const uint64_t voxels = operand(ring + stage * S::STAGE, S::ROWS * S::IN_COLUMNS * VOXEL_BYTES);
#pragma unroll
        for (int a = 0; a < S::ACROSS; a++) wgmma_pin(sums[a]);
        wgmma_fence();
#pragma unroll
        for (int row = 0; row < S::ROWS + 2; row++)
#pragma unroll
            for (int column = 0; column < 3; column++)
#pragma unroll
                for (int a = 0; a < S::ACROSS; a++) {
                    Wgmma<typename S::T, S::COLUMNS>::add(
                        sums[a], operand_at(voxels, (row * S::IN_COLUMNS + column + 8 * a) * VOXEL_BYTES),
                        operand_at(weights, (row * 3 + column) * S::PRODUCT));
                }
        wgmma_commit();
        wgmma_wait<0>();
#pragma unroll
        for (int a = 0; a < S::ACROSS; a++) wgmma_pin(sums[a]);
        group_sync(group);
        load(plane + S::STAGES, stage);
        if (plane - 1 >= first) store();
#pragma unroll
        for (int a = 0; a < S::ACROSS; a++)
#pragma unroll
            for (int half = 0; half < 2; half++)
#pragma unroll
                for (int c = 0; c < CLASSES; c++) {
                    sum_of(a, 0, c, half) = sum_of(a, 1, c, half);
                    sum_of(a, 1, c, half) = sum_of(a, 2, c, half);
                    sum_of(a, 2, c, half) = 0.0f;
                }
        if (++stage == S::STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    if (in_last < end) store();
    if constexpr (TRAINED) {
        double *to = p.partial + (((long)sample * p.tasks.count() + task) * 4 + warp) * softmax_sums(classes);
#pragma unroll
        for (int k = 0; k < SINGLES; k++) store_warp_sum(singles[k], to + k);
        totals.store(classes, to + SINGLES);
    }
}

template <class S> static Tasks tasks_of_loss(const Extent &size)
{
    return training_tasks_of(size, 8 * S::ROWS, 1, 8 * S::ACROSS);
}

template <class S, bool TRAINED>
static crd_status launch(const HopperArguments &a, SoftmaxParameters &p, int samples, cudaStream_t stream)
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
    p.tasks = TRAINED ? tasks_of_loss<S>(a.size) : tasks_of(a.size, 8 * S::ROWS, 8 * S::ACROSS);
    const auto kernel = softmax_head_kernel<S, TRAINED>;
    CUDA_PASS(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    kernel<<<dim3((unsigned)((p.tasks.count() + S::GROUPS - 1) / S::GROUPS), (unsigned)samples), S::THREADS, S::BYTES,
             stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T> using Three = SoftmaxShape<T, 3, 2, 3, 3>;
template <typename T> using Four = SoftmaxShape<T, 4, 2, 3, 3>;

template <typename T>
crd_status hopper_softmax_launch(const HopperSoftmaxArguments &a, int samples, cudaStream_t stream)
{
    SoftmaxParameters p = {};
    p.point = a.point;
    p.point_stride = a.point_stride;
    p.classes = a.classes;
    p.inverse_temperature = a.inverse_temperature;
    p.probability = a.probability;
    p.apart = a.apart;
    switch (hopper_softmax_width(a.classes)) {
    case 3:
        return launch<Three<T>, false>(a.conv, p, samples, stream);
    case 4:
        return launch<Four<T>, false>(a.conv, p, samples, stream);
    case 8:
        return launch<SoftmaxShape<T, 8, 1, 3, 3>, false>(a.conv, p, samples, stream);
    default:
        return launch<SoftmaxShape<T, 16, 1, 2, 3>, false>(a.conv, p, samples, stream);
    }
}

bool hopper_softmax_loss_has(int in, int classes)
{
    return hopper_softmax_has(in, classes) && classes <= 4;
}

int hopper_softmax_loss_rows(const Extent &size)
{
    return 4 * tasks_of_loss<Three<__half>>(size).count(); // that of four classes divides a volume in the same way
}

template <typename T>
crd_status hopper_softmax_loss_launch(const HopperSoftmaxLossArguments &a, int examples, cudaStream_t stream)
{
    SoftmaxParameters p = {};
    p.point = a.point;
    p.point_stride = a.point_stride;
    p.classes = a.classes;
    p.inverse_temperature = 1.0f;
    p.label = a.label;
    p.scale = a.scale;
    p.gradient = a.gradient;
    p.partial = a.partial;
    p.apart = 1;
    return a.classes == 3 ? launch<Three<T>, true>(a.conv, p, examples, stream)
                          : launch<Four<T>, true>(a.conv, p, examples, stream);
}

#define FOR_TYPE(T)                                                                                                    \
    template crd_status hopper_softmax_launch<T>(const HopperSoftmaxArguments &, int, cudaStream_t);                   \
    template crd_status hopper_softmax_loss_launch<T>(const HopperSoftmaxLossArguments &, int, cudaStream_t);
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
