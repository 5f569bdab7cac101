// The queue of chunks. Four can be in it, of large ones two: while one computes, the next comes in and the results of
// the one before leave, and the host may be busy with something else for a while. After the first chunk the kernels of
// a chunk are launched as one graph.
#include "backend/cuda/predict/predictor.cuh"

#include <string.h>

#include <new>

#include "backend/cuda/predict/network.cuh"

enum {
    SLOTS = 5,       // four in flight, one in the caller's hands
    LARGE_SLOTS = 3, // of chunks that compute for long and whose results take much of the host's memory
    LARGE = 1 << 22, // voxels that such a chunk keeps
    ROWS_FIXED = 2   // mean and deviation
};

// What belongs to one chunk in flight.
struct Slot {
    float *input, *probe_values;
    int64_t *probe_at;
    uint32_t *rows, *entropies; // these where they are asked for
    uint64_t *above;
    unsigned long long *nonfinite, *host_nonfinite; // [2], as SummaryArguments has them
    float *host_input, *host_samples, *host_probe;
    int64_t *host_probe_at;
    uint32_t *host_rows, *host_entropies;
    uint64_t *host_above;
    int64_t probe_room, probe_count, chunk_number;
    crd_box kept;
    cudaEvent_t uploaded, computed, copied;
    cudaGraphExec_t graph;
};

template <typename T> struct Queue : Predictor {
    Network<T> network;
    const crd_predictor_plan &plan = network.plan;
    cudaStream_t upload = nullptr, compute = nullptr, copy = nullptr;
    char *memory = nullptr;
    double *percentiles = nullptr;
    const int slot_count;
    Slot slots[SLOTS] = {};
    std::unique_ptr<const uint32_t *[], HostFree> percentile_rows;
    int64_t submitted = 0, collected = 0;

    Queue(const crd_predictor_plan &p, int64_t together, bool hopper)
        : network(p, together, hopper), slot_count(network.kept_voxels() >= LARGE ? LARGE_SLOTS : SLOTS)
    {
    }

    ~Queue() override
    {
        for (cudaStream_t stream : {upload, compute, copy}) {
            if (stream != nullptr) cudaStreamSynchronize(stream);
        }
        for (Slot &slot : slots) {
            if (slot.graph != nullptr) cudaGraphExecDestroy(slot.graph);
            void *const pinned[] = {slot.host_input, slot.host_samples,   slot.host_probe, slot.host_probe_at,
                                    slot.host_rows,  slot.host_entropies, slot.host_above, slot.host_nonfinite};
            for (void *pointer : pinned) cudaFreeHost(pointer);
            cudaFree(slot.probe_at);
            cudaFree(slot.probe_values);
            for (cudaEvent_t event : {slot.uploaded, slot.computed, slot.copied}) {
                if (event != nullptr) cudaEventDestroy(event);
            }
        }
        cudaFree(memory);
        for (cudaStream_t stream : {upload, compute, copy}) {
            if (stream != nullptr) cudaStreamDestroy(stream);
        }
    }

    int64_t row_count() const
    {
        return ROWS_FIXED + plan.percentile_count;
    }
    int64_t planes() const
    {
        return crd_net_planes(network.net);
    }
    int64_t kept_values() const
    {
        return planes() * network.kept_voxels();
    }
    int64_t words() const
    {
        return (plan.samples + 63) / 64;
    }

    int64_t lay_out(char *base)
    {
        const int64_t values = kept_values();
        Arena arena = {base, 0};
        network.lay_out(arena);
        percentiles = arena.take<double>(plan.percentile_count);
        for (int i = 0; i < slot_count; i++) {
            Slot &slot = slots[i];
            slot.input = arena.take<float>(network.chunk_voxels());
            slot.rows = arena.take<uint32_t>(row_count() * values);
            slot.entropies = arena.take<uint32_t>(plan.entropy ? network.kept_voxels() : 0);
            slot.above = arena.take<uint64_t>(words() * values);
            slot.nonfinite = arena.take<unsigned long long>(2);
        }
        return arena.used;
    }

    int64_t host_bytes() const
    {
        const int64_t each = 4 * row_count() + 8 * words() + (plan.keep_samples ? 4 * plan.samples : 0);
        const int64_t entropies = plan.entropy ? 4 * network.kept_voxels() : 0;
        return slot_count * (4 * network.chunk_voxels() + each * kept_values() + entropies);
    }

    crd_status open_slot(Slot &slot)
    {
        const int64_t values = kept_values();
        for (cudaEvent_t *event : {&slot.uploaded, &slot.computed, &slot.copied}) {
            CUDA_PASS(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
        }
        CUDA_PASS(cudaMallocHost(&slot.host_input, (size_t)network.chunk_voxels() * sizeof(float)));
        CUDA_PASS(cudaMallocHost(&slot.host_rows, (size_t)(row_count() * values) * sizeof(uint32_t)));
        CUDA_PASS(cudaMallocHost(&slot.host_above, (size_t)(words() * values) * sizeof(uint64_t)));
        CUDA_PASS(cudaMallocHost(&slot.host_nonfinite, 2 * sizeof *slot.host_nonfinite));
        if (plan.entropy) {
            CUDA_PASS(cudaMallocHost(&slot.host_entropies, (size_t)network.kept_voxels() * sizeof(uint32_t)));
        }
        if (plan.keep_samples) {
            CUDA_PASS(cudaMallocHost(&slot.host_samples, (size_t)(plan.samples * values) * sizeof(float)));
        }
        return CRD_OK;
    }

    crd_status open() override
    {
        const int64_t bytes = lay_out(nullptr);
        percentile_rows = host_array<const uint32_t *>(plan.percentile_count);
        CUDA_NEED(percentile_rows);
        for (cudaStream_t *stream : {&upload, &compute, &copy}) {
            CUDA_PASS(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
        }
        network.stream = compute;
        if (cudaMalloc(&memory, (size_t)bytes) != cudaSuccess) {
            cudaGetLastError();
            return CUDA_FAIL(CRD_ERR_MEMORY, "the GPU has no %.1f GiB free for this chunk; choose a smaller --chunk",
                             (double)bytes / 1073741824.0);
        }
        lay_out(memory);
        for (int i = 0; i < slot_count; i++) PASS(open_slot(slots[i]));
        const int64_t *size = network.crop.keep.size;
        keep({{0, 0, 0}, {size[0], size[1], size[2]}});
        if (plan.percentile_count > 0) {
            CUDA_PASS(cudaMemcpyAsync(percentiles, plan.percentiles, (size_t)plan.percentile_count * sizeof(double),
                                      cudaMemcpyHostToDevice, compute));
        }
        return renew();
    }

    crd_status renew() override
    {
        PASS(network.upload_parameters());
        if (!plan.draws_per_chunk) {
            // gammas, betas and biases are read from the means; only kernels differ between samples
            PASS(network.upload_masks(0));
            if (network.drawn()) PASS(network.draw_all());
        }
        CUDA_PASS(cudaStreamSynchronize(compute));
        return CRD_OK;
    }

    // All samples of the network whose turn it is.
    crd_status launch_turn(const Slot &slot)
    {
        const int64_t count = network.own_samples();
        PASS(network.encode(slot.input));
        for (int64_t done = 0; done < count; done += network.together) {
            const int64_t left = count - done, now = left < network.together ? left : network.together;
            const int64_t first = network.turn + done * network.apart();
            if (network.drawn() && plan.draws_per_chunk) {
                PASS(network.draw(first, now, (uint32_t)slot.chunk_number, network.draws, network.decoder_count()));
            }
            PASS(network.decode(first, (int)now));
        }
        return CRD_OK;
    }

    crd_status launch_chunk(const Slot &slot)
    {
        for (network.turn = 0; network.turn < network.turns(); network.turn++) PASS(launch_turn(slot));
        CUDA_PASS(cudaMemsetAsync(slot.nonfinite, 0, 2 * sizeof *slot.nonfinite, compute));
        PASS(summary_launch({network.samples, (int)plan.samples, (int)planes(), (long)network.kept_voxels(),
                             percentiles, (int)plan.percentile_count, slot.rows, slot.above, slot.nonfinite},
                            compute));
        if (!plan.entropy) return CRD_OK;
        return entropy_launch(network.samples, (int)plan.samples, (int)planes(), network.kept_voxels(), slot.entropies,
                              compute);
    }

    crd_status make_graph(Slot &slot)
    {
        cudaGraph_t graph = nullptr;
        CUDA_PASS(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal));
        const crd_status status = launch_chunk(slot);
        const cudaError_t ended = cudaStreamEndCapture(compute, &graph);
        PASS(status);
        CUDA_PASS(ended);
        const cudaError_t made = cudaGraphInstantiate(&slot.graph, graph, 0);
        cudaGraphDestroy(graph);
        CUDA_PASS(made);
        return CRD_OK;
    }

    // The first chunk is launched kernel by kernel, which also loads them; draws of a chunk's own can't be in a graph,
    // whose arguments are fixed, nor can sizes that differ from chunk to chunk.
    crd_status compute_chunk(Slot &slot)
    {
        if (submitted == 0 || plan.draws_per_chunk || plan.keep[0] > 0) return launch_chunk(slot);
        if (slot.graph == nullptr) PASS(make_graph(slot));
        CUDA_PASS(cudaGraphLaunch(slot.graph, compute));
        return CRD_OK;
    }

    crd_status download(Slot &slot)
    {
        const int64_t values = kept_values();
        CUDA_PASS(cudaEventRecord(slot.computed, compute));
        CUDA_PASS(cudaStreamWaitEvent(copy, slot.computed, 0));
        CUDA_PASS(cudaMemcpyAsync(slot.host_rows, slot.rows, (size_t)(row_count() * values) * sizeof(uint32_t),
                                  cudaMemcpyDeviceToHost, copy));
        if (plan.entropy) {
            CUDA_PASS(cudaMemcpyAsync(slot.host_entropies, slot.entropies,
                                      (size_t)network.kept_voxels() * sizeof(uint32_t), cudaMemcpyDeviceToHost, copy));
        }
        CUDA_PASS(cudaMemcpyAsync(slot.host_above, slot.above, (size_t)(words() * values) * sizeof(uint64_t),
                                  cudaMemcpyDeviceToHost, copy));
        CUDA_PASS(cudaMemcpyAsync(slot.host_nonfinite, slot.nonfinite, 2 * sizeof *slot.nonfinite,
                                  cudaMemcpyDeviceToHost, copy));
        CUDA_PASS(cudaEventRecord(slot.copied, copy));
        return CRD_OK;
    }

    crd_status make_probe_room(Slot &slot, int64_t count)
    {
        if (count <= slot.probe_room) return CRD_OK;
        cudaFree(slot.probe_at);
        cudaFree(slot.probe_values);
        cudaFreeHost(slot.host_probe);
        cudaFreeHost(slot.host_probe_at);
        slot.probe_at = nullptr;
        slot.probe_values = slot.host_probe = nullptr;
        slot.host_probe_at = nullptr;
        slot.probe_room = 0;
        const int64_t room = 2 * count;
        CUDA_PASS(cudaMalloc(&slot.probe_at, (size_t)room * sizeof(int64_t)));
        const size_t bytes = (size_t)(room * plan.samples * planes()) * sizeof(float);
        CUDA_PASS(cudaMalloc(&slot.probe_values, bytes));
        CUDA_PASS(cudaMallocHost(&slot.host_probe, bytes));
        CUDA_PASS(cudaMallocHost(&slot.host_probe_at, (size_t)room * sizeof(int64_t)));
        slot.probe_room = room;
        return CRD_OK;
    }

    crd_status gather_probe(Slot &slot, const int64_t *probe, int64_t count)
    {
        slot.probe_count = count;
        if (count == 0) return CRD_OK;
        PASS(make_probe_room(slot, count));
        memcpy(slot.host_probe_at, probe, (size_t)count * sizeof(int64_t));
        CUDA_PASS(cudaMemcpyAsync(slot.probe_at, slot.host_probe_at, (size_t)count * sizeof(int64_t),
                                  cudaMemcpyHostToDevice, compute));
        PASS(probe_launch(network.samples, (int)plan.samples, (int)planes(), network.kept_voxels(), slot.probe_at,
                          count, slot.probe_values, compute));
        CUDA_PASS(cudaMemcpyAsync(slot.host_probe, slot.probe_values,
                                  (size_t)(count * plan.samples * planes()) * sizeof(float), cudaMemcpyDeviceToHost,
                                  compute));
        return CRD_OK;
    }

    int depth() const override
    {
        return slot_count - 1;
    }

    crd_status upload_chunk(Slot &slot, const float *chunk)
    {
        const size_t bytes = (size_t)network.chunk_voxels() * sizeof(float);
        memcpy(slot.host_input, chunk, bytes);
        CUDA_PASS(cudaMemcpyAsync(slot.input, slot.host_input, bytes, cudaMemcpyHostToDevice, upload));
        CUDA_PASS(cudaEventRecord(slot.uploaded, upload));
        CUDA_PASS(cudaStreamWaitEvent(compute, slot.uploaded, 0));
        return CRD_OK;
    }

    void keep(const crd_box &box) override
    {
        network.keep(box);
    }

    crd_status submit(int64_t number, const float *chunk, const int64_t *probe, int64_t count) override
    {
        Slot &slot = slots[submitted % slot_count];
        slot.chunk_number = number;
        slot.kept = network.crop.keep;
        PASS(upload_chunk(slot, chunk));
        if (plan.draws_per_chunk) PASS(network.upload_masks((uint32_t)number));
        PASS(compute_chunk(slot));
        PASS(gather_probe(slot, probe, count));
        if (plan.keep_samples) {
            CUDA_PASS(cudaMemcpyAsync(slot.host_samples, network.samples,
                                      (size_t)(plan.samples * kept_values()) * sizeof(float), cudaMemcpyDeviceToHost,
                                      compute));
        }
        PASS(download(slot));
        submitted++;
        return CRD_OK;
    }

    crd_status collect(crd_chunk_result *result) override
    {
        const Slot &slot = slots[collected % slot_count];
        const int64_t values = planes() * slot.kept.size[0] * slot.kept.size[1] * slot.kept.size[2];
        if (collected >= submitted) return CUDA_FAIL(CRD_ERR_INTERNAL, "a chunk was collected that was not submitted");
        CUDA_PASS(cudaEventSynchronize(slot.copied));
        for (int64_t i = 0; i < plan.percentile_count; i++) {
            percentile_rows[i] = slot.host_rows + (ROWS_FIXED + i) * values;
        }
        memset(result, 0, sizeof *result);
        result->chunk_number = slot.chunk_number;
        result->kept = slot.kept;
        result->mean = slot.host_rows;
        result->deviation = plan.standard_deviation ? slot.host_rows + values : nullptr;
        result->percentiles = percentile_rows.get();
        result->entropy = slot.host_entropies;
        result->above = slot.host_above;
        result->samples = plan.keep_samples ? slot.host_samples : nullptr;
        result->probe = slot.host_probe;
        result->probe_count = slot.probe_count;
        result->nonfinite = (int64_t)slot.host_nonfinite[0];
        result->nonfinite_sample = result->nonfinite > 0 ? plan.samples - (int64_t)slot.host_nonfinite[1] : -1;
        collected++;
        return CRD_OK;
    }

    crd_status measure_layers(const float *chunk, double *milliseconds) override
    {
        std::unique_ptr<LayerMark> first;
        cudaEvent_t begin = nullptr, end = nullptr;
        PASS(upload_chunk(slots[0], chunk));
        CUDA_PASS(cudaEventCreate(&begin));
        CUDA_PASS(cudaEventCreate(&end));
        CUDA_PASS(cudaEventRecord(begin, compute));
        network.marks = &first;
        const crd_status status = launch_chunk(slots[0]);
        network.marks = nullptr;
        PASS(status);
        CUDA_PASS(cudaEventRecord(end, compute));
        CUDA_PASS(cudaEventSynchronize(end));
        for (int i = 0; i <= network.net->layer_count; i++) milliseconds[i] = 0.0;
        cudaEvent_t before = begin;
        float took = 0.0f;
        for (const LayerMark *mark = first.get(); mark != nullptr; mark = mark->next.get()) {
            CUDA_PASS(cudaEventElapsedTime(&took, before, mark->event));
            milliseconds[mark->layer] += took;
            cudaEventDestroy(before);
            before = mark->event;
        }
        CUDA_PASS(cudaEventElapsedTime(&took, before, end));
        milliseconds[network.net->layer_count] = took; // the summary over samples
        cudaEventDestroy(before);
        cudaEventDestroy(end);
        return CRD_OK;
    }
};

template <typename T>
static void sizes_of(const crd_predictor_plan &plan, bool hopper, int64_t together, int64_t *device, int64_t *host)
{
    Queue<T> queue(plan, together, hopper);
    *device = queue.lay_out(nullptr);
    *host = queue.host_bytes();
}

Predictor *predictor_new(const crd_predictor_plan &plan, const Path &path, int64_t together)
{
    if (path.precision == CRD_PRECISION_F32) return new (std::nothrow) Queue<float>(plan, together, false);
    if (path.precision == CRD_PRECISION_BF16)
        return new (std::nothrow) Queue<__nv_bfloat16>(plan, together, path.hopper);
    return new (std::nothrow) Queue<__half>(plan, together, path.hopper);
}

void predictor_sizes(const crd_predictor_plan &plan, const Path &path, int64_t together, int64_t *device, int64_t *host)
{
    if (path.precision == CRD_PRECISION_F32)
        sizes_of<float>(plan, false, together, device, host);
    else if (path.precision == CRD_PRECISION_BF16)
        sizes_of<__nv_bfloat16>(plan, path.hopper, together, device, host);
    else
        sizes_of<__half>(plan, path.hopper, together, device, host);
}

int64_t samples_together(const crd_predictor_plan &plan, const Path &path, int64_t available)
{
    const int64_t MOST = 48;                              // beyond this a launch fills the GPU many times over anyway
    const int64_t samples = crd_plan_samples_each(&plan); // of one network: those of others aren't in its launches
    for (int64_t count = samples < MOST ? samples : MOST; count > 0; count--) {
        int64_t device, host;
        predictor_sizes(plan, path, count, &device, &host);
        if (device > available) continue;
        const int64_t launches = (samples + count - 1) / count;
        return (samples + launches - 1) / launches; // launches of about the same size
    }
    return 0;
}
