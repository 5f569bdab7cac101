#include "backend/cuda/train/checks.cuh"

#include <string.h>

void fill_loss(const double *sums, crd_loss *loss)
{
    loss->bce_sum = sums[LOSS_BCE];
    loss->labelled = (int64_t)sums[LOSS_LABELLED];
    loss->correct = (int64_t)sums[LOSS_CORRECT];
    loss->head_dead = sums[LOSS_VALUE] <= 0.0;
}

Checks::~Checks()
{
    for (int64_t i = 0; i < kept_room; i++) cudaFree(kept[i].input);
    free(kept);
    cudaFreeHost(host_results);
}

void Checks::lay_out(Arena &arena)
{
    at_work.input = arena.take<float>(together * voxels);
    at_work.label = arena.take<uint8_t>(together * voxels);
    results = arena.take<double>(AT_ONCE * LOSS_SUMS);
}

crd_status Checks::open()
{
    CUDA_PASS(cudaMallocHost(&host_results, (size_t)host_bytes()));
    return replays.open((int64_t)together + 1);
}

// A chunk at work, for the next time. Where there is no room left, that time it comes from the host again.
crd_status Checks::keep(int64_t number, const Chunk &chunk, cudaStream_t stream)
{
    const int64_t bytes = voxels * 5;
    size_t available, total;
    if (kept_bytes + bytes > KEPT_BYTES) return CRD_OK;
    CUDA_PASS(cudaMemGetInfo(&available, &total));
    if (available < total / 4) return CRD_OK; // samples to check with want some of it, too
    if (number >= kept_room) {
        const int64_t room = number + 64;
        Chunk *wider = static_cast<Chunk *>(realloc(kept, (size_t)room * sizeof *kept));
        CUDA_NEED(wider);
        memset(wider + kept_room, 0, (size_t)(room - kept_room) * sizeof *kept);
        kept = wider;
        kept_room = room;
    }
    void *memory;
    if (cudaMalloc(&memory, (size_t)bytes) != cudaSuccess) {
        cudaGetLastError();
        return CRD_OK;
    }
    kept_bytes += bytes;
    kept[number] = {static_cast<float *>(memory), static_cast<uint8_t *>(memory) + voxels * 4};
    CUDA_PASS(cudaMemcpyAsync(kept[number].input, chunk.input, (size_t)voxels * 4, cudaMemcpyDeviceToDevice, stream));
    CUDA_PASS(cudaMemcpyAsync(kept[number].label, chunk.label, (size_t)voxels, cudaMemcpyDeviceToDevice, stream));
    return CRD_OK;
}

crd_status Checks::load(int64_t number, const float *input, const uint8_t *label, crd_loss *loss, cudaStream_t stream)
{
    const bool here = keeps(number);
    const cudaMemcpyKind kind = here ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    const Chunk to = {at_work.input + loaded * voxels, at_work.label + loaded * voxels};
    if (!here && (input == nullptr || label == nullptr))
        return CUDA_FAIL(CRD_ERR_INTERNAL, "chunk %lld isn't kept on the GPU", (long long)number);
    CUDA_PASS(cudaMemcpyAsync(to.input, here ? kept[number].input : input, (size_t)voxels * 4, kind, stream));
    CUDA_PASS(cudaMemcpyAsync(to.label, here ? kept[number].label : label, (size_t)voxels, kind, stream));
    wanted[pending + loaded++] = loss;
    return here || number < 0 ? CRD_OK : keep(number, to, stream);
}

crd_status Checks::note(const double *result, cudaStream_t stream)
{
    CUDA_PASS(cudaMemcpyAsync(results + pending * LOSS_SUMS, result, (size_t)loaded * LOSS_SUMS * sizeof *result,
                              cudaMemcpyDeviceToDevice, stream));
    pending += loaded;
    loaded = 0;
    return pending < AT_ONCE ? CRD_OK : collect(stream);
}

crd_status Checks::collect(cudaStream_t stream)
{
    const int count = pending;
    pending = 0;
    if (count == 0) return CRD_OK;
    CUDA_PASS(cudaMemcpyAsync(host_results, results, (size_t)count * LOSS_SUMS * sizeof *results,
                              cudaMemcpyDeviceToHost, stream));
    CUDA_PASS(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++) fill_loss(host_results + i * LOSS_SUMS, wanted[i]);
    return CRD_OK;
}
