// The order of things on the GPU. The encoder runs once per chunk; the decoder runs for `together` samples in one launch
// of each kernel. Two chunks can be in the queue: while one computes, the results of the one before leave for the host.
#include "backend/cuda/predictor.cuh"

#include <string.h>

#include <new>
#include <vector>

#include "backend/cuda/arena.cuh"
#include "backend/cuda/conv.cuh"
#include "backend/cuda/layers.cuh"
#include "base/philox.h"
#include "base/philox_inline.h"

enum { QUEUE = 3 /* two in flight, one in the caller's hands */, LEVELS = 4, ROWS_FIXED = 2 /* mean and deviation */ };

// A convolution's output for some samples, its sums, and scale and shift of its norm.
template <typename T> struct Node {
    T *y;
    double *sums;
    float *scale, *shift, *plain_scale, *plain_shift;
};

template <typename T> struct Network : Predictor {
    crd_predictor_plan plan;
    const crd_net *net;
    int64_t together, decoder, voxels;
    Extent size[LEVELS + 1];

    cudaStream_t compute = nullptr, copy = nullptr;
    cudaEvent_t computed[QUEUE] = {}, copied[QUEUE] = {};
    char *memory = nullptr;

    // Device.
    float *weights, *draws, *masks, *input[QUEUE], *samples, *merge_scale, *merge_shift, *tap_shift, *bias_classes;
    void *packed;
    float2 *partial;
    double *percentiles;
    Node<T> nodes[CRD_CONV_COUNT];
    T *pooled[LEVELS + 1];
    uint32_t *rows[QUEUE];
    uint64_t *above[QUEUE];
    int64_t *probe_at = nullptr;
    float *probe_values = nullptr;
    int64_t probe_room = 0;

    // Host, pinned.
    float *host_input[QUEUE] = {}, *host_samples[QUEUE] = {}, *host_probe[QUEUE] = {};
    uint32_t *host_rows[QUEUE] = {};
    uint64_t *host_above[QUEUE] = {};
    int64_t host_probe_room[QUEUE] = {}, probe_count[QUEUE] = {}, chunk_number[QUEUE] = {};
    std::vector<const uint32_t *> percentile_rows;
    int64_t submitted = 0, collected = 0;

    Network(const crd_predictor_plan &p, int64_t samples_at_once) : plan(p), net(p.net), together(samples_at_once)
    {
        decoder = crd_decoder_offset(net);
        for (int level = 1; level <= LEVELS; level++) {
            size[level] = {(int)(plan.chunk[0] >> (level - 1)), (int)(plan.chunk[1] >> (level - 1)),
                           (int)(plan.chunk[2] >> (level - 1))};
        }
        voxels = size[1].voxels();
        percentile_rows.resize((size_t)plan.percentile_count);
    }

    ~Network() override
    {
        if (compute != nullptr) cudaStreamSynchronize(compute);
        if (copy != nullptr) cudaStreamSynchronize(copy);
        for (int i = 0; i < QUEUE; i++) {
            cudaFreeHost(host_input[i]);
            cudaFreeHost(host_samples[i]);
            cudaFreeHost(host_probe[i]);
            cudaFreeHost(host_rows[i]);
            cudaFreeHost(host_above[i]);
            if (computed[i] != nullptr) cudaEventDestroy(computed[i]);
            if (copied[i] != nullptr) cudaEventDestroy(copied[i]);
        }
        cudaFree(probe_at);
        cudaFree(probe_values);
        cudaFree(memory);
        if (compute != nullptr) cudaStreamDestroy(compute);
        if (copy != nullptr) cudaStreamDestroy(copy);
    }

    bool stochastic() const { return plan.estimator != CRD_MEAN; }
    int64_t decoder_count() const { return net->point.total - decoder; }
    bool drawn() const { return stochastic() && net->kind == CRD_BCNN; }
    int64_t row_count() const { return ROWS_FIXED + plan.percentile_count; }
    int64_t words() const { return (plan.samples + 63) / 64; }

    static constexpr bool PLAIN = sizeof(T) == 4;
    int tiles(int layer) const
    {
        const crd_conv_layer &row = net->layers[layer];
        const Extent &e = size[row.level];
        if (layer == CRD_E1A) return first_tiles(e);
        if (PLAIN) return plain_tiles(e);
        return row.kernel == 2 ? up_tiles(size[row.level + 1]) : conv_tiles(e, row.channels_out);
    }
    static FoldKind fold_kind(const crd_conv_layer &row)
    {
        return row.kernel == 2 ? FOLD_UP : row.channels_out == 1 ? FOLD_HEAD : FOLD_CONV;
    }

    void take_node(Arena &arena, int layer, int64_t count, T *shared)
    {
        const crd_conv_layer &row = net->layers[layer];
        Node<T> &node = nodes[layer];
        node.y = shared != nullptr ? shared : arena.take<T>(count * size[row.level].voxels() * row.channels_out);
        node.sums = arena.take<double>(count * 2 * row.channels_out);
        node.scale = arena.take<float>(count * row.channels_out);
        node.shift = arena.take<float>(count * row.channels_out);
        node.plain_scale = arena.take<float>(count * row.channels_out);
        node.plain_shift = arena.take<float>(count * row.channels_out);
    }

    int64_t lay_out(char *base)
    {
        Arena arena = {base, 0};
        weights = arena.take<float>(net->model.total + net->point.total); // model layout, then point layout of the means
        draws = arena.take<float>(drawn() ? (plan.draws_per_chunk ? together : plan.samples) * decoder_count() : 0);
        masks = arena.take<float>(plan.samples * net->mask_total);
        samples = arena.take<float>(plan.samples * voxels);
        percentiles = arena.take<double>(plan.percentile_count);
        for (int level = 1; level <= LEVELS; level++) {
            const int a = CRD_E1A + (level - 1) * 2;
            take_node(arena, a, 1, nullptr);
            take_node(arena, a + 1, 1, nullptr);
            if (level < LEVELS) pooled[level + 1] = arena.take<T>(size[level + 1].voxels() * net->layers[a].channels_out);
        }
        // The latent's scale and shift carry a mask per sample.
        nodes[CRD_E4B].scale = arena.take<float>(together * net->layers[CRD_E4B].channels_out);
        nodes[CRD_E4B].shift = arena.take<float>(together * net->layers[CRD_E4B].channels_out);
        for (int up = CRD_D3UP; up <= CRD_D1UP; up += 3) {
            take_node(arena, up, together, nullptr);
            take_node(arena, up + 1, together, nullptr);
            take_node(arena, up + 2, together, nodes[up].y); // up's output is used up when b is made
        }
        int64_t most_packed = 0, most_partial = 0, most_bias = 0, most_shift = 0, most_merge = 0;
        for (int layer = CRD_E1A; layer <= CRD_SPATIAL; layer++) {
            const crd_conv_layer &row = net->layers[layer];
            const int64_t count = layer < CRD_D3UP ? 1 : together;
            const int64_t unit = PLAIN ? 4 : fold_kind(row) == FOLD_HEAD ? 8 : 16;
            const int64_t bytes = layer == CRD_E1A ? 0 : count * unit * packed_count<T>(fold_kind(row), row.channels_in, row.channels_out);
            if (bytes > most_packed) most_packed = bytes;
            if (layer != CRD_SPATIAL && count * tiles(layer) * row.channels_out > most_partial) {
                most_partial = count * tiles(layer) * row.channels_out;
            }
            if (count * BORDER_CLASSES * row.channels_out > most_bias) most_bias = count * BORDER_CLASSES * row.channels_out;
            if (count * 27 * row.channels_out > most_shift) most_shift = count * 27 * row.channels_out;
            if (count * row.channels_in > most_merge) most_merge = count * row.channels_in;
        }
        packed = arena.take<char>(most_packed);
        partial = arena.take<float2>(most_partial);
        bias_classes = arena.take<float>(most_bias);
        tap_shift = arena.take<float>(most_shift);
        merge_scale = arena.take<float>(most_merge);
        merge_shift = arena.take<float>(most_merge);
        for (int i = 0; i < QUEUE; i++) {
            input[i] = arena.take<float>(voxels);
            rows[i] = arena.take<uint32_t>(row_count() * voxels);
            above[i] = arena.take<uint64_t>(words() * voxels);
        }
        return arena.used;
    }

    int64_t host_bytes() const
    {
        return QUEUE * voxels * (int64_t)(4 + 4 * row_count() + 8 * words() + (plan.keep_samples ? 4 * plan.samples : 0));
    }

    const float *parameter(int64_t model_offset) const { return weights + model_offset; }
    const float *point(int64_t point_offset) const { return weights + net->model.total + point_offset; }

    // Kernels of the decoder for samples first .. first + count - 1 of the plan.
    crd_status draw(int64_t first, int64_t count, uint32_t example, float *to)
    {
        for (int layer = CRD_D3UP; layer <= CRD_POINT; layer++) {
            const crd_conv_layer &row = net->layers[layer];
            const long values = (long)row.kernel * row.kernel * row.kernel * row.channels_in * row.channels_out;
            PASS(draw_launch({parameter(net->model.kernel[layer]), parameter(net->model.rho[layer]),
                              to + (net->point.kernel[layer] - decoder), (long)decoder_count(), values, plan.seed,
                              (uint32_t)layer, (uint32_t)(plan.first_sample + first), example},
                             (int)count, compute));
        }
        return CRD_OK;
    }

    // The host's half of crd_dropout_draw: a few hundred numbers a sample.
    void draw_masks(uint32_t example, std::vector<float> &out) const
    {
        for (int64_t s = 0; s < plan.samples; s++)
            for (int site = 0; site < CRD_MASK_COUNT; site++)
                for (int c = 0; c < net->mask_channels[site]; c++) {
                    uint32_t words[4] = {(uint32_t)c / 4, (uint32_t)(CRD_CONV_COUNT + site) << 16 | CRD_PURPOSE_DROPOUT,
                                         (uint32_t)(plan.first_sample + s), example};
                    crd_philox_inline((uint32_t)plan.seed, (uint32_t)(plan.seed >> 32), words);
                    out[(size_t)(s * net->mask_total + net->mask_offset[site] + c)] = words[c % 4] >> 31 ? 2.0f : 0.0f;
                }
    }
    crd_status upload_masks(uint32_t example)
    {
        if (net->kind != CRD_MCDN || !stochastic()) return CRD_OK;
        std::vector<float> host((size_t)(plan.samples * net->mask_total));
        draw_masks(example, host);
        CUDA_PASS(cudaMemcpyAsync(masks, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, compute));
        CUDA_PASS(cudaStreamSynchronize(compute));
        return CRD_OK;
    }

    crd_status upload_parameters()
    {
        std::vector<float> means((size_t)net->point.total);
        for (int i = 0; i < net->point.count; i++) { // the means, and all that is a point in both layouts
            const crd_parameter &to = net->point.parameters[i];
            for (int k = 0; k < net->model.count; k++) {
                const crd_parameter &from = net->model.parameters[k];
                const bool kernels = to.role == CRD_ROLE_KERNEL && (from.role == CRD_ROLE_KERNEL || from.role == CRD_ROLE_LOC);
                if (from.layer == to.layer && (kernels || from.role == to.role)) {
                    memcpy(means.data() + to.offset, plan.parameters + from.offset, (size_t)to.count * sizeof(float));
                }
            }
        }
        CUDA_PASS(cudaMemcpy(weights, plan.parameters, (size_t)net->model.total * sizeof(float), cudaMemcpyHostToDevice));
        CUDA_PASS(cudaMemcpy(weights + net->model.total, means.data(), means.size() * sizeof(float), cudaMemcpyHostToDevice));
        if (plan.percentile_count > 0) {
            CUDA_PASS(cudaMemcpy(percentiles, plan.percentiles, (size_t)plan.percentile_count * sizeof(double),
                                 cudaMemcpyHostToDevice));
        }
        return CRD_OK;
    }

    crd_status open() override
    {
        const int64_t bytes = lay_out(nullptr);
        CUDA_PASS(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
        CUDA_PASS(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
        if (cudaMalloc(&memory, (size_t)bytes) != cudaSuccess) {
            cudaGetLastError();
            return CUDA_FAIL(CRD_ERR_MEMORY, "the GPU has no %.1f GiB free for this chunk; choose a smaller --chunk",
                             (double)bytes / 1073741824.0);
        }
        lay_out(memory);
        for (int i = 0; i < QUEUE; i++) {
            CUDA_PASS(cudaEventCreateWithFlags(&computed[i], cudaEventDisableTiming));
            CUDA_PASS(cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming));
            CUDA_PASS(cudaMallocHost(&host_input[i], (size_t)voxels * sizeof(float)));
            CUDA_PASS(cudaMallocHost(&host_rows[i], (size_t)(row_count() * voxels) * sizeof(uint32_t)));
            CUDA_PASS(cudaMallocHost(&host_above[i], (size_t)(words() * voxels) * sizeof(uint64_t)));
            if (plan.keep_samples) CUDA_PASS(cudaMallocHost(&host_samples[i], (size_t)(plan.samples * voxels) * sizeof(float)));
        }
        PASS(upload_parameters());
        if (!plan.draws_per_chunk) PASS(upload_masks(0));
        if (drawn() && !plan.draws_per_chunk) {
            // gammas, betas and biases are read from the means; only kernels differ between samples
            PASS(draw(0, plan.samples, 0, draws));
        }
        CUDA_PASS(cudaStreamSynchronize(compute));
        return CRD_OK;
    }

    struct Source { // kernels of the samples at work
        const float *kernels; // point layout from `offset` on
        long stride;
        int64_t offset;
    };

    crd_status fold(int layer, const Source &source, const float *scale, const float *shift, long affine_stride, int count)
    {
        const crd_conv_layer &row = net->layers[layer];
        const FoldKind kind = fold_kind(row);
        return fold_launch<T>(kind,
                              {source.kernels + (net->point.kernel[layer] - source.offset), source.stride,
                               point(net->point.bias[layer]), scale, shift, affine_stride, tap_shift, bias_classes, packed,
                               packed_count<T>(kind, row.channels_in, row.channels_out), row.channels_in,
                               row.channels_out, size[row.level]},
                              count, compute);
    }

    crd_status normalise(int layer, const float *mask, int count)
    {
        const crd_conv_layer &row = net->layers[layer];
        Node<T> &node = nodes[layer];
        return norm_launch({partial, tiles(layer), row.channels_out, net->groups, (double)size[row.level].voxels(),
                            point(net->point.gamma[layer]), point(net->point.beta[layer]), mask, (long)net->mask_total,
                            node.sums, node.scale, node.shift, node.plain_scale, node.plain_shift},
                           count, compute);
    }

    crd_status convolve(int layer, const Source &source, ConvInput x0, ConvInput x1, const float *scale,
                        const float *shift, long affine_stride, const float *mask, int count)
    {
        const crd_conv_layer &row = net->layers[layer];
        const long packed_stride = packed_count<T>(fold_kind(row), row.channels_in, row.channels_out);
        PASS(fold(layer, source, scale, shift, affine_stride, count));
        if (row.kernel == 2) {
            PASS(up_launch<T>({x0, (const uint4 *)packed, packed_stride, bias_classes, nodes[layer].y, partial,
                               row.channels_out, size[row.level + 1]},
                              count, compute));
        } else {
            PASS(conv_launch<T>({{x0, x1}, (const uint4 *)packed, packed_stride, bias_classes, nodes[layer].y, partial,
                                 row.channels_out, size[row.level]},
                                count, compute));
        }
        return normalise(layer, mask, count);
    }

    crd_status encode(const float *chunk)
    {
        const Source source = {point(0), 0, 0};
        const ConvInput none = {nullptr, 0, 0};
        for (int level = 1; level <= LEVELS; level++) {
            const int a = CRD_E1A + (level - 1) * 2, channels = net->layers[a].channels_out;
            if (level == 1) {
                PASS(first_launch<T>(chunk, point(net->point.kernel[a]), point(net->point.bias[a]), nodes[a].y, partial,
                                     channels, size[1], compute));
                PASS(normalise(a, nullptr, 1));
            } else {
                PASS(convolve(a, source, {pooled[level], 0, channels / 2}, none, nullptr, nullptr, 0, nullptr, 1));
            }
            PASS(convolve(a + 1, source, {nodes[a].y, 0, channels}, none, nodes[a].scale, nodes[a].shift, 0, nullptr, 1));
            if (level == LEVELS) break;
            PASS(pool_launch<T>(nodes[a + 1].y, nodes[a + 1].scale, nodes[a + 1].shift, pooled[level + 1], channels,
                                size[level + 1], compute));
        }
        return CRD_OK;
    }

    const float *mask_of(int site, int64_t first) const
    {
        return net->kind == CRD_MCDN && stochastic() ? masks + first * net->mask_total + net->mask_offset[site] : nullptr;
    }

    crd_status merge(int up, int count)
    {
        const int stage = (up - CRD_D3UP) / 3, half = net->layers[up].channels_out, skip = CRD_E3B - 2 * stage;
        return merge_launch({nodes[skip].sums, nodes[up].sums, nodes[skip].plain_scale, nodes[skip].plain_shift,
                             nodes[up].plain_scale, nodes[up].plain_shift, point(net->point.gamma[CRD_CONV_COUNT + stage]),
                             point(net->point.beta[CRD_CONV_COUNT + stage]), merge_scale, merge_shift, half, net->groups,
                             (double)size[net->layers[up].level].voxels()},
                            count, compute);
    }

    // Samples first .. first + count - 1 of the plan.
    crd_status decode(int64_t first, int count)
    {
        const bool own = drawn();
        const float *kernels = !own ? point(decoder) : plan.draws_per_chunk ? draws : draws + first * decoder_count();
        const Source source = {kernels, own ? (long)decoder_count() : 0, decoder};
        const ConvInput none = {nullptr, 0, 0};
        // The latent is shared; its scale and shift only where no mask makes them a sample's own.
        int below = CRD_E4B;
        const float *latent_mask = mask_of(CRD_MASK_LATENT, first);
        long affine = 0;
        if (latent_mask != nullptr) {
            PASS(mask_latent(latent_mask, count));
            affine = net->layers[CRD_E4B].channels_out;
        }
        long below_stride = 0;
        for (int up = CRD_D3UP; up <= CRD_D1UP; up += 3) {
            const int stage = (up - CRD_D3UP) / 3, channels = net->layers[up].channels_out, skip = CRD_E3B - 2 * stage;
            const long values = size[net->layers[up].level].voxels() * channels;
            PASS(convolve(up, source, {nodes[below].y, below_stride, net->layers[up].channels_in}, none, nodes[below].scale,
                          nodes[below].shift, affine, nullptr, count));
            PASS(merge(up, count));
            PASS(convolve(up + 1, source, {nodes[skip].y, 0, channels}, {nodes[up].y, values, channels}, merge_scale,
                          merge_shift, 2 * channels, nullptr, count));
            PASS(convolve(up + 2, source, {nodes[up + 1].y, values, channels}, none, nodes[up + 1].scale,
                          nodes[up + 1].shift, channels, mask_of(CRD_MASK_D3 + stage, first), count));
            below = up + 2;
            below_stride = values;
            affine = channels;
        }
        const int channels = net->layers[CRD_D1B].channels_out;
        PASS(fold(CRD_SPATIAL, source, nodes[below].scale, nodes[below].shift, channels, count));
        // The 1x1x1 kernel is drawn, too; its bias is not.
        PASS(gather_point(source, count));
        return head_launch<T>({{nodes[below].y, below_stride, channels}, (const uint2 *)packed,
                               packed_count<T>(FOLD_HEAD, channels, 1), bias_classes, merge_scale, 2,
                               plan.inverse_temperature, samples + first * voxels, size[1]},
                              count, compute);
    }

    crd_status mask_latent(const float *mask, int count);
    crd_status gather_point(const Source &source, int count);

    crd_status download(int slot)
    {
        CUDA_PASS(cudaEventRecord(computed[slot], compute));
        CUDA_PASS(cudaStreamWaitEvent(copy, computed[slot], 0));
        CUDA_PASS(cudaMemcpyAsync(host_rows[slot], rows[slot], (size_t)(row_count() * voxels) * sizeof(uint32_t),
                                  cudaMemcpyDeviceToHost, copy));
        CUDA_PASS(cudaMemcpyAsync(host_above[slot], above[slot], (size_t)(words() * voxels) * sizeof(uint64_t),
                                  cudaMemcpyDeviceToHost, copy));
        CUDA_PASS(cudaEventRecord(copied[slot], copy));
        return CRD_OK;
    }

    crd_status gather_probe(int slot, const int64_t *probe, int64_t count)
    {
        probe_count[slot] = count;
        if (count == 0) return CRD_OK;
        if (count > probe_room) {
            CUDA_PASS(cudaStreamSynchronize(compute));
            cudaFree(probe_at);
            cudaFree(probe_values);
            probe_at = nullptr;
            probe_values = nullptr;
            probe_room = 2 * count;
            CUDA_PASS(cudaMalloc(&probe_at, (size_t)probe_room * sizeof(int64_t)));
            CUDA_PASS(cudaMalloc(&probe_values, (size_t)(probe_room * plan.samples) * sizeof(float)));
        }
        if (count > host_probe_room[slot]) {
            cudaFreeHost(host_probe[slot]);
            host_probe[slot] = nullptr;
            host_probe_room[slot] = 2 * count;
            CUDA_PASS(cudaMallocHost(&host_probe[slot], (size_t)(2 * count * plan.samples) * sizeof(float)));
        }
        CUDA_PASS(cudaMemcpyAsync(probe_at, probe, (size_t)count * sizeof(int64_t), cudaMemcpyHostToDevice, compute));
        PASS(probe_launch(samples, (int)plan.samples, voxels, probe_at, count, probe_values, compute));
        CUDA_PASS(cudaMemcpyAsync(host_probe[slot], probe_values, (size_t)(count * plan.samples) * sizeof(float),
                                  cudaMemcpyDeviceToHost, compute));
        return CRD_OK;
    }

    int depth() const override { return QUEUE - 1; }

    crd_status submit(int64_t number, const float *chunk, const int64_t *probe, int64_t count) override
    {
        const int slot = (int)(submitted % QUEUE);
        chunk_number[slot] = number;
        memcpy(host_input[slot], chunk, (size_t)voxels * sizeof(float));
        CUDA_PASS(cudaMemcpyAsync(input[slot], host_input[slot], (size_t)voxels * sizeof(float), cudaMemcpyHostToDevice, compute));
        if (plan.draws_per_chunk) PASS(upload_masks((uint32_t)number));
        PASS(encode(input[slot]));
        for (int64_t first = 0; first < plan.samples; first += together) {
            const int64_t now = first + together < plan.samples ? together : plan.samples - first;
            if (drawn() && plan.draws_per_chunk) PASS(draw(first, now, (uint32_t)number, draws));
            PASS(decode(first, (int)now));
        }
        PASS(summary_launch({samples, (int)plan.samples, voxels, percentiles, (int)plan.percentile_count, rows[slot], above[slot]},
                            compute));
        PASS(gather_probe(slot, probe, count));
        if (plan.keep_samples) {
            CUDA_PASS(cudaMemcpyAsync(host_samples[slot], samples, (size_t)(plan.samples * voxels) * sizeof(float),
                                      cudaMemcpyDeviceToHost, compute));
        }
        PASS(download(slot));
        submitted++;
        return CRD_OK;
    }

    crd_status collect(crd_chunk_result *result) override
    {
        const int slot = (int)(collected % QUEUE);
        if (collected >= submitted) return CUDA_FAIL(CRD_ERR_INTERNAL, "a chunk was collected that was not submitted");
        CUDA_PASS(cudaEventSynchronize(copied[slot]));
        for (int64_t i = 0; i < plan.percentile_count; i++) {
            percentile_rows[(size_t)i] = host_rows[slot] + (ROWS_FIXED + i) * voxels;
        }
        memset(result, 0, sizeof *result);
        result->chunk_number = chunk_number[slot];
        result->mean = host_rows[slot];
        result->deviation = plan.standard_deviation ? host_rows[slot] + voxels : nullptr;
        result->percentiles = percentile_rows.data();
        result->above = host_above[slot];
        result->samples = plan.keep_samples ? host_samples[slot] : nullptr;
        result->probe = host_probe[slot];
        result->probe_count = probe_count[slot];
        collected++;
        return CRD_OK;
    }
};

__global__ void mask_latent_kernel(const float *plain_scale, const float *plain_shift, const float *mask, long mask_stride,
                                   float *scale, float *shift)
{
    const int channel = threadIdx.x, sample = blockIdx.x, channels = blockDim.x;
    scale[sample * channels + channel] = plain_scale[channel] * mask[sample * mask_stride + channel];
    shift[sample * channels + channel] = plain_shift[channel] * mask[sample * mask_stride + channel];
}

template <typename T> crd_status Network<T>::mask_latent(const float *mask, int count)
{
    const Node<T> &node = nodes[CRD_E4B];
    mask_latent_kernel<<<count, net->layers[CRD_E4B].channels_out, 0, compute>>>(
        node.plain_scale, node.plain_shift, mask, (long)net->mask_total, node.scale, node.shift);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

__global__ void gather_point_kernel(const float *kernel, long stride, const float *bias, float *out)
{
    const int sample = blockIdx.x;
    out[2 * sample] = kernel[sample * stride];
    out[2 * sample + 1] = bias[0];
}

template <typename T> crd_status Network<T>::gather_point(const Source &source, int count)
{
    gather_point_kernel<<<count, 1, 0, compute>>>(source.kernels + (net->point.kernel[CRD_POINT] - source.offset),
                                                  source.stride, point(net->point.bias[CRD_POINT]), merge_scale);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

Predictor *predictor_new(const crd_predictor_plan &plan, crd_precision precision, int64_t together)
{
    if (precision == CRD_PRECISION_F32) return new (std::nothrow) Network<float>(plan, together);
    if (precision == CRD_PRECISION_BF16) return new (std::nothrow) Network<__nv_bfloat16>(plan, together);
    return new (std::nothrow) Network<__half>(plan, together);
}

template <typename T>
static void sizes_of(const crd_predictor_plan &plan, int64_t together, int64_t *device, int64_t *host)
{
    Network<T> network(plan, together);
    *device = network.lay_out(nullptr);
    *host = network.host_bytes();
}

void predictor_sizes(const crd_predictor_plan &plan, crd_precision precision, int64_t together, int64_t *device,
                     int64_t *host)
{
    if (precision == CRD_PRECISION_F32) sizes_of<float>(plan, together, device, host);
    else if (precision == CRD_PRECISION_BF16) sizes_of<__nv_bfloat16>(plan, together, device, host);
    else sizes_of<__half>(plan, together, device, host);
}

int64_t samples_together(const crd_predictor_plan &plan, crd_precision precision, int64_t available)
{
    const int64_t MOST = 16; // beyond this a launch fills the GPU many times over anyway
    for (int64_t count = plan.samples < MOST ? plan.samples : MOST; count > 0; count--) {
        int64_t device, host;
        predictor_sizes(plan, precision, count, &device, &host);
        if (device <= available) return count;
    }
    return 0;
}
