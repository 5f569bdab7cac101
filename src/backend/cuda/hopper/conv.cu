// 3x3x3 convolution over one or two inputs.
//
// A matrix product's 64 rows are 8 neighbouring voxels of each of 8 groups of ROWS image rows, read straight from the
// input plane in shared memory: a tap is another start address. Its columns are the output rows that an input row
// touches, the three output planes that an input plane touches, and the output channels. So one reading of the input
// serves up to six taps, and no product is wasted. Accumulators of the three planes under way move up by one each step.
#include "backend/cuda/hopper/march.cuh"

// What leaves beside the result of a convolution, and what the result is.
enum ConvUse {
    FOR_PREDICTION, // ReLU, and the sums of y and y^2 over a thread's channels
    FOR_TRAINING,   // ReLU, and those sums of every channel
    FOR_GRADIENT    // no bias, no ReLU, and the sums of y and y * values of every channel
};

// SLABS: input channels / 16, FIRST of them in the first input; OUT: output channels of a block; ROWS: image rows of a
// group, 1 or 2; GROUPS: warpgroups of a block; PARTS: a plane comes into a warpgroup's ring in so many parts, slabs by
// slabs; STAGES: such parts in the ring; LATE: a finished plane is stored while the products of the next run.
template <typename T_, int SLABS_, int FIRST_, int OUT_, int ROWS_, int GROUPS_, int PARTS_, int STAGES_, bool LATE_>
struct Shape {
    typedef T_ T;
    static constexpr int SLABS = SLABS_, FIRST = FIRST_, OUT = OUT_, ROWS = ROWS_, GROUPS = GROUPS_;
    static constexpr int PARTS = PARTS_, STAGES = STAGES_, PART_SLABS = SLABS / PARTS;
    static constexpr bool LATE = LATE_;
    static constexpr bool OWN_LOWER = ROWS == 2 && GROUPS <= 2; // registers suffice for a third set of accumulators
    static constexpr int THREADS = GROUPS * GROUP_THREADS, PIECE = OUT / 4; // a thread's output channels
    static constexpr int IN_COLUMNS = 10, IN_ROWS = 8 * ROWS + 2;
    static constexpr int SLAB_BYTES = IN_COLUMNS * IN_ROWS * VOXEL_BYTES, SLAB_ROOM = ring_room(SLAB_BYTES);
    static constexpr int STAGE = PART_SLABS * SLAB_ROOM, RING = STAGES * STAGE;
    static constexpr int TAP_ROW = 3 * OUT * VOXEL_BYTES; // weights of three taps along the depth
    static constexpr int WEIGHTS = 9 * SLABS * TAP_ROW, BIASES = 27 * OUT * 4;
    static constexpr int BYTES = WEIGHTS + GROUPS * RING + BIASES + GROUPS * STAGES * 8;
    static_assert(ROWS == 1 || ROWS == 2, "the upper row's own accumulators are for two rows");
    static_assert(WEIGHTS % RING_ALIGN == 0, "the rings follow the weights");
    static_assert(SLABS % PARTS == 0 && (PARTS == 1 || ROWS == 1 || OWN_LOWER),
                  "a part is used up when its products end");
};

struct ConvParameters {
    CUtensorMap map[2];
    int sample_planes[2]; // of a sample in that map; 0: shared
    const uint4 *weights;
    const float *bias, *tap_shift;
    const void *values; // FOR_GRADIENT: of what y is the gradient of
    void *y;
    float2 *partial;
    int out, slices, parts /* samples x slices */, blocks /* of a part */, rows /* of partial */;
    bool parts_first; // blocks of different samples follow each other: they share the first input
    Place at[2];      // of the output's first voxel in the inputs
    Extent size;
    Open open;
    Planes planes;
    Tasks tasks;
};

template <class S> struct Accumulators {
    static constexpr int PLANE = S::OUT / 2;   // registers of one image row and output plane
    float main[S::ROWS * 3 * PLANE];           // [row][plane below, this, above][channel pairs of two voxels]
    float upper[S::ROWS == 2 ? 3 * PLANE : 1]; // second row: what the last input row adds
    float lower[S::OWN_LOWER ? 3 * PLANE : 1]; // first row: what the first input row adds
    float done[S::ROWS * PLANE];               // a finished plane

    __device__ __forceinline__ float &at(int row, int slot, int channel, int half)
    {
        return main[(row * 3 + slot) * PLANE + channel / 2 * 4 + half * 2 + (channel & 1)];
    }
    __device__ __forceinline__ void pin()
    {
        wgmma_pin(main);
        wgmma_pin(upper);
        wgmma_pin(lower);
    }
    __device__ __forceinline__ void finish()
    {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++)
#pragma unroll
            for (int i = 0; i < PLANE; i++) {
                done[row * PLANE + i] = main[row * 3 * PLANE + i];
                if (S::ROWS == 2 && row == 1) done[row * PLANE + i] += upper[i];
                if (S::OWN_LOWER && row == 0) done[row * PLANE + i] += lower[i];
            }
    }
    __device__ __forceinline__ static void move_up(float (&rows)[3 * PLANE])
    {
#pragma unroll
        for (int i = 0; i < 2 * PLANE; i++) rows[i] = rows[PLANE + i];
#pragma unroll
        for (int i = 2 * PLANE; i < 3 * PLANE; i++) rows[i] = 0.0f;
    }
    // The slot of the plane above becomes free; its accumulators in `main` await the bias.
    __device__ __forceinline__ void move_up()
    {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++)
#pragma unroll
            for (int i = 0; i < 2 * PLANE; i++) main[row * 3 * PLANE + i] = main[row * 3 * PLANE + PLANE + i];
        if constexpr (S::ROWS == 2) move_up(upper);
        if constexpr (S::OWN_LOWER) move_up(lower);
    }
};

// Products of one row of a part of an input plane: `plane` is its operand, `weights` that of the part's weights.
template <class S>
__device__ __forceinline__ void multiply_row(float *to, uint64_t plane, uint64_t weights, int row, int tap_row)
{
    constexpr int COLUMNS = S::ROWS * 3 * S::OUT;
#pragma unroll
    for (int column = 0; column < 3; column++)
#pragma unroll
        for (int slab = 0; slab < S::PART_SLABS; slab++) {
            const uint64_t a = operand_at(plane, slab * S::SLAB_ROOM + (row * S::IN_COLUMNS + column) * VOXEL_BYTES);
            const uint64_t b = operand_at(weights, ((column * S::SLABS + slab) * 3 + 2 - tap_row) * S::TAP_ROW);
            if (S::ROWS == 2 && (row == 0 || row == 3))
                Wgmma<typename S::T, 3 * S::OUT>::add(to, a, b);
            else
                Wgmma<typename S::T, COLUMNS>::add(to, a, b);
        }
}

// All products of a part, which are left under way; `later` is called while they run.
template <class S, typename LATER>
__device__ __forceinline__ void multiply_part(Accumulators<S> &sums, uint64_t plane, uint64_t weights, LATER later)
{
    wgmma_fence();
    if constexpr (S::ROWS == 1) {
#pragma unroll
        for (int row = 0; row < 3; row++) multiply_row<S>(sums.main, plane, weights, row, row);
        wgmma_commit();
        later();
    } else if constexpr (S::OWN_LOWER) {
        multiply_row<S>(sums.main, plane, weights, 1, 1);
        multiply_row<S>(sums.main, plane, weights, 2, 2);
        multiply_row<S>(sums.upper, plane, weights, 3, 2);
        multiply_row<S>(sums.lower, plane, weights, 0, 0);
        wgmma_commit();
        later();
    } else {
        // Rows 1 and 2 touch both output rows: kernel rows `row` and `row` - 1. Row 3 touches the second only, and adds
        // to registers of its own: products on a part of wider accumulators that doesn't begin at the first are
        // serialised.
        multiply_row<S>(sums.main, plane, weights, 1, 1);
        multiply_row<S>(sums.main, plane, weights, 2, 2);
        wgmma_commit();
        multiply_row<S>(sums.upper, plane, weights, 3, 2);
        wgmma_commit();
        later();
        wgmma_wait<1>(); // another shape on the same registers: the wide ones must have ended
        wgmma_pin(sums.main);
        wgmma_fence();
        multiply_row<S>(sums.main, plane, weights, 0, 0);
        wgmma_commit();
    }
}

// A thread's neighbouring channels of a voxel: 8 or 16 bytes.
__device__ __forceinline__ void load_piece(uint32_t (&to)[2], const void *from)
{
    const uint2 bits = *static_cast<const uint2 *>(from);
    to[0] = bits.x;
    to[1] = bits.y;
}
__device__ __forceinline__ void load_piece(uint32_t (&to)[4], const void *from)
{
    const uint4 bits = *static_cast<const uint4 *>(from);
    to[0] = bits.x;
    to[1] = bits.y;
    to[2] = bits.z;
    to[3] = bits.w;
}
__device__ __forceinline__ void store_piece(void *to, const uint32_t (&from)[2])
{
    *static_cast<uint2 *>(to) = make_uint2(from[0], from[1]);
}
__device__ __forceinline__ void store_piece(void *to, const uint32_t (&from)[4])
{
    *static_cast<uint4 *>(to) = make_uint4(from[0], from[1], from[2], from[3]);
}

template <class S, ConvUse USE>
__global__ __launch_bounds__(S::THREADS, 1) void conv_kernel(const __grid_constant__ ConvParameters p)
{
    typedef typename S::T T;
    constexpr bool GRADIENT = USE == FOR_GRADIENT, LATE = S::LATE && !GRADIENT;
    constexpr int SUMS = USE == FOR_PREDICTION ? 1 : S::PIECE;
    extern __shared__ __align__(1024) uint8_t memory[];
    const int thread = threadIdx.x % GROUP_THREADS, lane = thread & 31, warp = thread >> 5, quad = lane & 3;
    const int group = __shfl_sync(~0u, threadIdx.x / GROUP_THREADS, 0);
    const int part = p.parts_first ? blockIdx.x % p.parts : blockIdx.x / p.blocks;
    const int block = p.parts_first ? blockIdx.x / p.parts : blockIdx.x % p.blocks;
    const int sample = part / p.slices, slice = part - sample * p.slices;
    const uint32_t shared = (uint32_t)__cvta_generic_to_shared(memory), ring = shared + S::WEIGHTS + group * S::RING;
    float *biases = reinterpret_cast<float *>(memory + S::WEIGHTS + S::GROUPS * S::RING);
    const uint32_t barriers = shared + S::WEIGHTS + S::GROUPS * S::RING + S::BIASES + group * S::STAGES * 8;

    if (!GRADIENT) {
        border_biases<S::OUT, S::THREADS>(
            biases, p.bias + slice * S::OUT,
            p.tap_shift == nullptr ? nullptr : p.tap_shift + (long)sample * 27 * p.out + slice * S::OUT, p.out, p.open);
    }
    load_weights<S::WEIGHTS, S::THREADS>(shared, p.weights + (long)part * (S::WEIGHTS / 16));
    ring_begin<S::STAGES>(barriers);
    __syncthreads();
    const int task = block * S::GROUPS + group;
    if (task >= p.tasks.count()) return;

    const int x0 = task % p.tasks.across * 8, y0 = task / p.tasks.across % p.tasks.down * (8 * S::ROWS);
    const int first = task / (p.tasks.across * p.tasks.down) * p.tasks.planes,
              end = min(p.size.depth, first + p.tasks.planes);
    const int in_first = max(p.planes.lowest, first - 1), in_last = min(p.planes.highest, end);
    auto load = [&](int item, int stage) { // parts of planes, one after the other
        const int plane = in_first + item / S::PARTS;
        if (thread != 0 || plane > in_last) return;
        ring_expect(barriers + stage * 8, S::PART_SLABS * S::SLAB_BYTES);
#pragma unroll
        for (int i = 0; i < S::PART_SLABS; i++) {
            const int slab = item % S::PARTS * S::PART_SLABS + i, second = slab >= S::FIRST;
            const Place &at = p.at[second];
            ring_load(ring + stage * S::STAGE + i * S::SLAB_ROOM, p.map[second], (slab - second * S::FIRST) * SLAB,
                      x0 - 1 + at.x, y0 - 1 + at.y, plane + at.z + sample * p.sample_planes[second],
                      barriers + stage * 8);
        }
    };

    // This thread's outputs: channels PIECE * quad ..., column x, rows y .. y + own_rows - 1. Row k = half * ROWS +
    // row.
    const int x = x0 + (lane >> 2), y = y0 + 2 * S::ROWS * warp;
    const int own_rows = x < p.size.width ? min(2 * S::ROWS, p.size.height - y) : 0;
    const bool inside = x0 > 0 && y0 > 0 && x0 + 8 < p.size.width && y0 + 8 * S::ROWS < p.size.height;
    float bias[S::PIECE]; // away from the border
#pragma unroll
    for (int i = 0; i < S::PIECE; i++) bias[i] = GRADIENT ? 0.0f : biases[13 * S::OUT + S::PIECE * quad + i];

    Accumulators<S> sums;
    auto begin_plane = [&](int slot, int plane) {
        if (GRADIENT || (inside && plane > 0 && plane < p.size.depth - 1)) {
#pragma unroll
            for (int k = 0; k < 2 * S::ROWS; k++)
#pragma unroll
                for (int i = 0; i < S::PIECE; i++) sums.at(k % S::ROWS, slot, i, k / S::ROWS) = bias[i];
        } else {
            const float *row =
                biases + (border_third(max(plane, 0), p.size.depth) * 9 + border_third(x, p.size.width)) * S::OUT +
                S::PIECE * quad;
#pragma unroll
            for (int k = 0; k < 2 * S::ROWS; k++)
#pragma unroll
                for (int i = 0; i < S::PIECE; i++) {
                    sums.at(k % S::ROWS, slot, i, k / S::ROWS) =
                        row[border_third(y + k, p.size.height) * 3 * S::OUT + i];
                }
        }
    };
    begin_plane(0, in_first - 1);
    begin_plane(1, in_first);
    begin_plane(2, in_first + 1);
#pragma unroll
    for (float &value : sums.upper) value = 0.0f;
#pragma unroll
    for (float &value : sums.lower) value = 0.0f;

    float sum[SUMS] = {}, other[SUMS] = {}; // of squares, or of products with `values`
    const long plane_values = (long)p.size.height * p.size.width * p.out;
    const int row_values = p.size.width * p.out;
    long at_plane = ((long)sample * p.size.depth + first) * plane_values; // of the plane that is stored next
    const int offset = (y * p.size.width + x) * p.out + slice * S::OUT + S::PIECE * quad;
    uint32_t held[GRADIENT ? 2 * S::ROWS : 1][S::PIECE / 2] = {}; // of `values`
    auto hold = [&]() {
        const T *from = static_cast<const T *>(p.values) + at_plane + offset;
#pragma unroll
        for (int k = 0; k < (GRADIENT ? 2 * S::ROWS : 0); k++) {
            if (k < own_rows) load_piece(held[k], from + k * row_values);
        }
    };
    auto store_done = [&]() {
#pragma unroll
        for (int row = 0; row < S::ROWS; row++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int k = half * S::ROWS + row;
                uint32_t values[S::PIECE / 2];
#pragma unroll
                for (int i = 0; i < S::PIECE; i += 2) {
                    float a = sums.done[row * Accumulators<S>::PLANE + i / 2 * 4 + half * 2];
                    float b = sums.done[row * Accumulators<S>::PLANE + i / 2 * 4 + half * 2 + 1];
                    float2 with = GRADIENT ? Pair<T>::unpack(held[GRADIENT ? k : 0][i / 2]) : float2{};
                    if (!GRADIENT) {
                        a = relu(a);
                        b = relu(b);
                        with = make_float2(a, b);
                    }
                    if (k < own_rows && SUMS == 1) {
                        sum[0] += a + b;
                        other[0] = fmaf(a, a, fmaf(b, b, other[0]));
                    } else if (k < own_rows) {
                        sum[i % SUMS] += a;
                        sum[(i + 1) % SUMS] += b;
                        other[i % SUMS] = fmaf(a, with.x, other[i % SUMS]);
                        other[(i + 1) % SUMS] = fmaf(b, with.y, other[(i + 1) % SUMS]);
                    }
                    values[i / 2] = Pair<T>::pack(a, b);
                }
                if (k < own_rows) store_piece(static_cast<T *>(p.y) + at_plane + (offset + k * row_values), values);
            }
        at_plane += plane_values;
    };

    for (int i = 0; i < S::STAGES; i++) load(i, i);
    const uint64_t weights = operand(shared, 8 * VOXEL_BYTES);
    int stage = 0, item = 0;
    uint32_t parity = 0;
    for (int plane = in_first; plane <= in_last; plane++) {
        int used = stage; // the stage whose products end next
        if (GRADIENT && plane - 1 >= first) hold();
        sums.pin();
#pragma unroll
        for (int part = 0; part < S::PARTS; part++, item++) {
            ring_wait(barriers + stage * 8, parity);
            multiply_part<S>(sums, operand(ring + stage * S::STAGE, S::ROWS * S::IN_COLUMNS * VOXEL_BYTES),
                             operand_at(weights, part * S::PART_SLABS * 3 * S::TAP_ROW), [&]() {
                                 if (LATE && part == 0 && plane - 2 >= first) store_done();
                             });
            if (part > 0) {
                wgmma_wait<1>();
                group_sync(group); // all four warps are done with that stage
                load(item - 1 + S::STAGES, used);
                used = stage;
            }
            if (++stage == S::STAGES) {
                stage = 0;
                parity ^= 1;
            }
        }
        wgmma_wait<0>();
        sums.pin();
        group_sync(group);
        load(item - 1 + S::STAGES, used);
        sums.finish();
        if (!LATE && plane - 1 >= first) store_done();
        sums.move_up();
        begin_plane(2, plane + 2);
    }
    if (LATE && in_last - 1 >= first) store_done();
    if (in_last < end) {
        if (GRADIENT) hold();
        sums.finish();
        store_done();
    }
#pragma unroll
    for (int step = 4; step < 32; step <<= 1)
#pragma unroll
        for (int i = 0; i < SUMS; i++) {
            sum[i] += __shfl_xor_sync(~0u, sum[i], step);
            other[i] += __shfl_xor_sync(~0u, other[i], step);
        }
    if (USE == FOR_PREDICTION) {
        if (lane < 4) {
            p.partial[((long)sample * p.rows + task * 4 + warp) * (p.out / S::PIECE) + slice * 4 + quad] =
                make_float2(sum[0], other[0]);
        }
        return;
    }
    // Of the four warps together, in order, through the ring, whose planes are used up.
    float2 *shares = reinterpret_cast<float2 *>(memory + S::WEIGHTS + group * S::RING);
    if (lane < 4) {
#pragma unroll
        for (int i = 0; i < SUMS; i++) shares[warp * S::OUT + quad * SUMS + i] = make_float2(sum[i], other[i]);
    }
    group_sync(group);
    if (thread >= S::OUT) return;
    float2 total = shares[thread];
    for (int i = 1; i < 4; i++) {
        total.x += shares[i * S::OUT + thread].x;
        total.y += shares[i * S::OUT + thread].y;
    }
    p.partial[((long)sample * p.rows + task) * p.out + slice * S::OUT + thread] = total;
}

// The fastest of those tried on an H200 at the network's sizes. CASE(channels of the inputs, output channels of a
// block, ...)
#define SHAPES(CASE)                                                                                                   \
    CASE(16, 0, 16, 2, 4, 1, 4, false)                                                                                 \
    CASE(16, 16, 16, 2, 4, 1, 3, false)                                                                                \
    CASE(32, 0, 32, 1, 4, 1, 3, true)                                                                                  \
    CASE(32, 32, 32, 1, 4, 1, 2, true)                                                                                 \
    CASE(64, 0, 32, 1, 4, 1, 2, true)                                                                                  \
    CASE(64, 64, 16, 2, 2, 2, 2, true)                                                                                 \
    CASE(128, 0, 16, 2, 2, 2, 2, true)

static int rows_of_group(int in0, int in1)
{
#define ROWS_CASE(A, B, OUT, ROWS, ...)                                                                                \
    if (in0 == A && in1 == B) return ROWS;
    SHAPES(ROWS_CASE)
#undef ROWS_CASE
    return 1;
}

int hopper_slice(int in0, int in1, int out)
{
#define SLICE_CASE(A, B, OUT, ...)                                                                                     \
    if (in0 == A && in1 == B) return out % OUT == 0 ? OUT : 0;
    SHAPES(SLICE_CASE)
#undef SLICE_CASE
    return 0;
}

int conv_sum_rows(const Extent &size, int in0, int in1)
{
    return 4 * tasks_of(size, 8 * rows_of_group(in0, in1)).count();
}

int conv_training_rows(const Extent &size, int in0, int in1, int out)
{
    return training_tasks_of(size, 8 * rows_of_group(in0, in1), out / hopper_slice(in0, in1, out)).count();
}

template <class S, ConvUse USE> static crd_status launch(const HopperArguments &a, int samples, cudaStream_t stream)
{
    ConvParameters p = {};
    for (int i = 0; i < 2; i++) {
        PASS(tensor_map_make(a.x[i], samples, S::IN_COLUMNS, S::IN_ROWS, &p.map[i]));
        p.sample_planes[i] = a.x[i].stride == 0 ? 0 : a.x[i].whole.depth;
        p.at[i] = a.x[i].at;
    }
    p.weights = static_cast<const uint4 *>(a.weights);
    p.bias = a.bias;
    p.tap_shift = a.tap_shift;
    p.values = a.values;
    p.y = a.y;
    p.partial = a.partial;
    p.out = a.out;
    p.slices = a.out / S::OUT;
    p.parts = samples * p.slices;
    p.parts_first = a.x[1].channels > 0;
    p.size = a.size;
    p.open = a.open;
    p.planes = planes_of(a.size, a.open);
    p.tasks = USE == FOR_PREDICTION ? tasks_of(a.size, 8 * S::ROWS) : training_tasks_of(a.size, 8 * S::ROWS, p.slices);
    p.blocks = (p.tasks.count() + S::GROUPS - 1) / S::GROUPS;
    p.rows = (USE == FOR_PREDICTION ? 4 : 1) * p.tasks.count();
    const auto kernel = conv_kernel<S, USE>;
    CUDA_PASS(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES));
    kernel<<<(unsigned)(p.blocks * p.parts), S::THREADS, S::BYTES, stream>>>(p);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

template <typename T, ConvUse USE>
static crd_status launch_shape(const HopperArguments &a, int samples, cudaStream_t stream)
{
#define LAUNCH_CASE(A, B, OUT, ROWS, GROUPS, PARTS, STAGES, LATE)                                                      \
    if constexpr (USE != FOR_GRADIENT || B == 0) {                                                                     \
        typedef Shape<T, (A + B) / 16, A / 16, OUT, ROWS, GROUPS, PARTS, STAGES, LATE> S;                              \
        if (a.x[0].channels == A && a.x[1].channels == B) return launch<S, USE>(a, samples, stream);                   \
    }
    SHAPES(LAUNCH_CASE)
#undef LAUNCH_CASE
    return CUDA_FAIL(CRD_ERR_INTERNAL, "no convolution over %d + %d channels", a.x[0].channels, a.x[1].channels);
}

template <typename T> crd_status hopper_conv_launch(const HopperArguments &a, int samples, cudaStream_t stream)
{
    if (a.values != nullptr) return launch_shape<T, FOR_GRADIENT>(a, samples, stream);
    if (a.sums_by_channel) return launch_shape<T, FOR_TRAINING>(a, samples, stream);
    return launch_shape<T, FOR_PREDICTION>(a, samples, stream);
}

template crd_status hopper_conv_launch<__half>(const HopperArguments &, int, cudaStream_t);
template crd_status hopper_conv_launch<__nv_bfloat16>(const HopperArguments &, int, cudaStream_t);
