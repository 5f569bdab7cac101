#include "ops_bridge.h"

#include <stdio.h>

#include <vector>

#include "backend/cuda/hopper/hopper.cuh"
#include "backend/cuda/hopper/kernel_gradient.cuh"
#include "backend/cuda/kernels/softmax.cuh"

static char sentence[1024];

static crd_status fail(crd_status code, const char *file, int line, const char *text)
{
    snprintf(sentence, sizeof sentence, "%s:%d: %s", file, line, text);
    return code;
}

static const crd_plugin_host host = {CRD_BACKEND_MARK, fail};
extern "C" const crd_backend *crd_plugin_backend(const crd_plugin_host *);

// Device memory that is given back at the end of the test.
struct Room {
    std::vector<void *> blocks;
    crd_status status = CRD_OK;
    ~Room()
    {
        for (void *block : blocks) cudaFree(block);
    }
    template <typename U> U *take(size_t count)
    {
        void *block = nullptr;
        if (status == CRD_OK)
            status = crd_cuda_check(cudaMalloc(&block, count * sizeof(U) + 256), __FILE__, __LINE__, "malloc");
        if (status == CRD_OK)
            status = crd_cuda_check(cudaMemset(block, 0xff, count * sizeof(U) + 256), __FILE__, __LINE__, "memset");
        blocks.push_back(block);
        return static_cast<U *>(block);
    }
    template <typename U> U *put(const float *from, size_t count)
    {
        U *to = take<U>(count);
        std::vector<U> converted(count);
        for (size_t i = 0; i < count; i++) converted[i] = (U)from[i];
        if (status == CRD_OK) {
            status = crd_cuda_check(cudaMemcpy(to, converted.data(), count * sizeof(U), cudaMemcpyHostToDevice),
                                    __FILE__, __LINE__, "copy");
        }
        return to;
    }
};

template <typename T> static crd_status run_softmax(bridge_op &op)
{
    Room room;
    const size_t samples = (size_t)op.samples, classes = (size_t)op.out;
    const Extent size = {op.depth, op.height, op.width};
    const int in = op.in[0], rows = 27 * in;
    const size_t voxels = (size_t)size.voxels(), values = samples * classes * voxels, points = classes * (classes + 1);
    const bool hopper = op.path == 90;
    const ConvInput x = {room.put<T>(op.x[0], samples * voxels * in), (long)voxels * in, in, size, {}};
    const PadArguments pad = {room.put<float>(op.kernel, samples * rows * classes),
                              (long)(rows * classes),
                              room.put<float>(op.bias, classes),
                              rows,
                              op.out,
                              room.take<float>(samples * rows * HEAD_WIDTH),
                              room.take<float>(HEAD_WIDTH)};
    const long packed = hopper ? hopper_softmax_packed_bytes(op.out) : packed_count<T>(FOLD_CONV, in, HEAD_WIDTH);
    const FoldArguments fold = {pad.padded,
                                (long)rows * HEAD_WIDTH,
                                pad.padded_bias,
                                room.put<float>(op.scale, samples * in),
                                room.put<float>(op.shift, samples * in),
                                in,
                                room.take<float>(samples * 27 * HEAD_WIDTH),
                                room.take<float>(samples * BORDER_CLASSES * HEAD_WIDTH),
                                room.take<char>(samples * packed * 16),
                                packed,
                                in,
                                HEAD_WIDTH};
    const float *point = room.put<float>(op.point, samples * points);
    float *probability = room.take<float>(values);
    T *y = room.take<T>(samples * voxels * HEAD_WIDTH);
    const int tiles = sizeof(T) == 4 ? plain_tiles(size) : conv_tiles(size, HEAD_WIDTH);
    float2 *partial = room.take<float2>(samples * tiles * HEAD_WIDTH);
    PASS(room.status);
    PASS(head_pad_launch(pad, op.samples, 0));
    if (hopper) {
        if constexpr (sizeof(T) == 2) {
            const HopperArguments conv = {{x, {}}, fold.packed, pad.padded_bias, fold.tap_shift,
                                          nullptr, nullptr,     HEAD_WIDTH,      size};
            PASS(hopper_softmax_fold_launch<T>(fold, op.out, op.samples, 0));
            PASS(hopper_softmax_launch<T>({conv, point, (long)points, op.out, 0.8f, probability, 1}, op.samples, 0));
        }
    } else {
        PASS(fold_launch<T>(FOLD_CONV, fold, op.samples, 0));
        PASS(conv_launch<T>(
            {{x, {}}, static_cast<const uint4 *>(fold.packed), packed, fold.bias_classes, y, partial, HEAD_WIDTH, size},
            op.samples, 0));
        PASS(softmax_launch<T>({y, point, (long)points, op.out, 0.8f, probability, 1, (long)voxels}, op.samples, 0));
    }
    CUDA_PASS(cudaDeviceSynchronize());
    CUDA_PASS(cudaMemcpy(op.y, probability, values * sizeof(float), cudaMemcpyDeviceToHost));
    return CRD_OK;
}

template <typename T> static crd_status run_kernel_gradient(bridge_op &op)
{
    Room room;
    const Extent size = {op.depth, op.height, op.width};
    const int in = op.in[0] + op.in[1];
    const long voxels = size.voxels(), values = 27L * in * op.out;
    const bool hopper = op.path == 90;
    KernelArguments arguments = {};
    for (int i = 0; i < 2; i++) {
        if (op.in[i] == 0) continue;
        arguments.a[i] = {room.put<T>(op.x[i], op.samples * voxels * op.in[i]), voxels * op.in[i], op.in[i], size, {}};
    }
    arguments.b = {room.put<T>(op.values, op.samples * voxels * op.out), voxels * op.out, op.out, size, {}};
    const int slots = hopper ? hopper_kernel_slots(size, in, op.out) : kernel_slots<T, 1>(size, in, op.out);
    const size_t count = (size_t)(op.samples * slots * values);
    arguments.partial = room.take<float>(count);
    arguments.size = size;
    PASS(room.status);
    if constexpr (sizeof(T) == 2) {
        if (hopper) PASS(hopper_kernel_gradient_launch<T>(arguments, op.samples, 0));
    }
    if (!hopper) PASS((kernel_gradient_launch<T, 1>(arguments, op.samples, 0)));
    CUDA_PASS(cudaDeviceSynchronize());
    std::vector<float> parts(count);
    CUDA_PASS(cudaMemcpy(parts.data(), arguments.partial, count * sizeof(float), cudaMemcpyDeviceToHost));
    for (long i = 0; i < op.samples * values; i++) {
        double total = 0;
        for (int slot = 0; slot < slots; slot++) total += parts[(i / values * slots + slot) * values + i % values];
        op.y[i] = (float)total;
    }
    return CRD_OK;
}

static FoldKind kind_of(const bridge_op &op)
{
    return op.operation == BRIDGE_UP ? FOLD_UP : op.operation == BRIDGE_HEAD ? FOLD_HEAD : FOLD_CONV;
}

template <typename T> static crd_status run(bridge_op &op)
{
    if (op.operation == BRIDGE_SOFTMAX) return run_softmax<T>(op);
    if (op.operation == BRIDGE_KERNEL_GRADIENT) return run_kernel_gradient<T>(op);
    Room room;
    const FoldKind kind = kind_of(op);
    const int in = op.in[0] + op.in[1], taps = kind == FOLD_UP ? 8 : 27;
    const size_t samples = (size_t)op.samples, out = (size_t)op.out;
    const Extent size = {op.depth, op.height, op.width}, low = {op.depth / 2, op.height / 2, op.width / 2};
    const Extent input = kind == FOLD_UP ? low : size;
    const size_t voxels = (size_t)size.voxels(), kernel_values = (size_t)taps * in * out;
    const bool shared = op.in[1] > 0, hopper = op.path == 90, gradient = op.operation == BRIDGE_GRADIENT;
    const ConvInput x0 = {room.put<T>(op.x[0], (shared ? 1 : samples) * input.voxels() * op.in[0]),
                          shared ? 0 : input.voxels() * op.in[0],
                          op.in[0],
                          input,
                          {}};
    ConvInput x1 = {};
    if (shared) {
        x1 = {
            room.put<T>(op.x[1], samples * input.voxels() * op.in[1]), input.voxels() * op.in[1], op.in[1], input, {}};
    }
    HopperSums sums = hopper              ? hopper_sums(kind, op.in[0], op.in[1], op.out, size)
                      : sizeof(T) == 4    ? HopperSums{plain_tiles(size), 1}
                      : kind == FOLD_CONV ? HopperSums{conv_tiles(size, op.out), 1}
                                          : HopperSums{up_tiles(low), 1};
    if (gradient || op.operation == BRIDGE_CONV_TRAINED)
        sums = {hopper ? conv_training_rows(size, op.in[0], op.in[1], op.out) : sums.rows, 1};
    const size_t columns = kind == FOLD_HEAD ? 0 : out / sums.piece;
    const long packed = hopper ? hopper_packed_bytes(kind, in, op.out) : packed_count<T>(kind, in, op.out);
    FoldArguments fold = {room.put<float>(op.kernel, samples * kernel_values),
                          (long)kernel_values,
                          gradient ? nullptr : room.put<float>(op.bias, out),
                          gradient ? nullptr : room.put<float>(op.scale, samples * in),
                          gradient ? nullptr : room.put<float>(op.shift, samples * in),
                          in,
                          room.take<float>(samples * 27 * out),
                          room.take<float>(samples * BORDER_CLASSES * out),
                          room.take<char>(samples * packed * 16),
                          packed,
                          in,
                          op.out};
    T *y = room.take<T>(samples * voxels * out);
    float *probability = room.take<float>(samples * voxels),
          *point = kind == FOLD_HEAD ? room.put<float>(op.point, samples * 2) : nullptr;
    float2 *partial = room.take<float2>(samples * sums.rows * (columns + 1));
    const T *values = gradient ? room.put<T>(op.values, samples * voxels * out) : nullptr;
    op.piece = sums.piece;
    PASS(room.status);
    if (hopper) {
        if constexpr (sizeof(T) == 2) {
            PASS(hopper_fold_launch<T>(kind, fold, hopper_slice(op.in[0], op.in[1], op.out), op.samples, 0));
            HopperArguments arguments = {{x0, x1}, fold.packed, fold.bias, fold.tap_shift, y, partial, op.out, size};
            arguments.sums_by_channel = op.operation == BRIDGE_CONV_TRAINED;
            arguments.values = values;
            if (kind == FOLD_CONV) PASS(hopper_conv_launch<T>(arguments, op.samples, 0));
            if (kind == FOLD_UP) PASS(hopper_up_launch<T>(arguments, op.samples, 0));
            if (kind == FOLD_HEAD)
                PASS(hopper_head_launch<T>({arguments, point, 2, 0.8f, probability, 1}, op.samples, 0));
        }
    } else {
        PASS(fold_launch<T>(kind, fold, op.samples, 0));
        const uint4 *weights = static_cast<const uint4 *>(fold.packed);
        if (kind == FOLD_CONV) {
            PASS(conv_launch<T>({{x0, x1}, weights, packed, fold.bias_classes, y, partial, op.out, size, values},
                                op.samples, 0));
        }
        if (kind == FOLD_UP)
            PASS(up_launch<T>({x0, weights, packed, fold.bias_classes, y, partial, op.out, low}, op.samples, 0));
        if (kind == FOLD_HEAD) {
            PASS(head_launch<T>({x0, static_cast<const uint2 *>(fold.packed), packed, fold.bias_classes, point, 2, 0.8f,
                                 probability, 1, size},
                                op.samples, 0));
        }
    }
    CUDA_PASS(cudaDeviceSynchronize());
    if (kind == FOLD_HEAD) {
        CUDA_PASS(cudaMemcpy(op.y, probability, samples * voxels * sizeof(float), cudaMemcpyDeviceToHost));
        return CRD_OK;
    }
    std::vector<T> result(samples * voxels * out);
    CUDA_PASS(cudaMemcpy(result.data(), y, result.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < result.size(); i++) op.y[i] = (float)result[i];
    std::vector<float2> parts(samples * sums.rows * columns);
    CUDA_PASS(cudaMemcpy(parts.data(), partial, parts.size() * sizeof(float2), cudaMemcpyDeviceToHost));
    for (size_t s = 0; s < samples; s++)
        for (size_t c = 0; c < columns; c++) {
            double total = 0, square = 0;
            for (size_t row = 0; row < (size_t)sums.rows; row++) {
                total += parts[(s * sums.rows + row) * columns + c].x;
                square += parts[(s * sums.rows + row) * columns + c].y;
            }
            op.sums[s * 2 * columns + c] = total;
            op.sums[(s * 2 + 1) * columns + c] = square;
        }
    return CRD_OK;
}

bool bridge_has_gpu(void)
{
    int count = 0;
    crd_plugin_backend(&host);
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

bool bridge_has(const bridge_op *op)
{
    const bool head = op->operation == BRIDGE_HEAD || op->operation == BRIDGE_SOFTMAX;
    const bool wide = op->in[0] % SLAB == 0 && op->in[1] % SLAB == 0 && (head || op->out % SLAB == 0);
    if (op->precision == CRD_PRECISION_F32) return op->path == 80 && op->operation != BRIDGE_GRADIENT;
    if (op->path == 80) return wide && (op->operation != BRIDGE_GRADIENT || op->in[1] == 0);
    cudaDeviceProp properties;
    const bool able = cudaGetDeviceProperties(&properties, 0) == cudaSuccess && properties.major == 9;
    if (op->operation == BRIDGE_KERNEL_GRADIENT) return able && wide;
    if (op->operation == BRIDGE_SOFTMAX) return able && hopper_softmax_has(op->in[0], op->out);
    if (op->operation == BRIDGE_GRADIENT && op->in[1] > 0) return false;
    return able && wide && hopper_has(kind_of(*op), op->in[0], op->in[1], op->out, 4);
}

const char *bridge_run(bridge_op *op)
{
    const crd_status status = op->precision == CRD_PRECISION_F32    ? run<float>(*op)
                              : op->precision == CRD_PRECISION_BF16 ? run<__nv_bfloat16>(*op)
                                                                    : run<__half>(*op);
    return status == CRD_OK ? nullptr : sentence;
}
