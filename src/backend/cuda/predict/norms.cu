// Statistics of frozen norms on the GPU: the pieces side by side; for every network the encoder once, then the decoder
// once a sample.
#include <string.h>

#include "backend/cuda/predict/network.cuh"
#include "backend/cuda/predict/predictor.cuh"

template <typename T> struct Measurement {
    Network<T> network;
    const crd_pieces &pieces;
    char *memory = nullptr;
    float *input = nullptr;

    Measurement(const crd_predictor_plan &plan, const crd_pieces &p, bool hopper)
        : network(plan, p.count, hopper, true), pieces(p)
    {
    }

    ~Measurement()
    {
        if (network.stream != nullptr) {
            cudaStreamSynchronize(network.stream);
            cudaStreamDestroy(network.stream);
        }
        cudaFree(memory);
    }

    int64_t lay_out(char *base)
    {
        Arena arena = {base, 0};
        network.lay_out(arena);
        input = arena.take<float>(pieces.count * network.chunk_voxels());
        return arena.used;
    }

    crd_status open(int64_t available)
    {
        const int64_t bytes = lay_out(nullptr);
        if (bytes > available || cudaMalloc(&memory, (size_t)bytes) != cudaSuccess) {
            cudaGetLastError();
            return CUDA_FAIL(CRD_ERR_MEMORY,
                             "the norms' statistics need %.1f GiB on the GPU and %.1f are free or allowed by "
                             "--max-gpu-memory; choose --device cpu",
                             (double)bytes / 1073741824.0, (double)available / 1073741824.0);
        }
        lay_out(memory);
        const int64_t *size = network.plan.chunk;
        network.keep({{0, 0, 0}, {size[0], size[1], size[2]}});
        CUDA_PASS(cudaStreamCreateWithFlags(&network.stream, cudaStreamNonBlocking));
        PASS(network.upload_parameters());
        PASS(network.upload_masks(0));
        CUDA_PASS(cudaMemcpyAsync(input, pieces.voxels, (size_t)(pieces.count * network.chunk_voxels()) * sizeof(float),
                                  cudaMemcpyHostToDevice, network.stream));
        return CRD_OK;
    }

    crd_status walk(crd_moments *moments)
    {
        const crd_net *net = network.net;
        const int64_t samples = network.plan.samples, each = crd_net_moments(net);
        const size_t bytes = (size_t)(samples * each) * sizeof *moments;
        CUDA_PASS(cudaMemsetAsync(network.moments, 0, bytes, network.stream));
        const int64_t apart = network.apart();
        for (network.turn = 0; network.turn < network.turns(); network.turn++) {
            PASS(network.encode(input));
            for (int64_t s = network.turn; s < samples; s += apart) {
                if (network.drawn()) PASS(network.draw(s, 1, 0, network.draws, 0));
                PASS(network.decode(s, (int)pieces.count));
            }
        }
        CUDA_PASS(cudaMemcpyAsync(moments, network.moments, bytes, cudaMemcpyDeviceToHost, network.stream));
        CUDA_PASS(cudaStreamSynchronize(network.stream));
        const size_t encoder = (size_t)(net->decoder * net->groups) * sizeof *moments;
        for (int64_t s = apart; s < samples; s++) memcpy(moments + s * each, moments + s % apart * each, encoder);
        return CRD_OK;
    }
};

template <typename T>
static crd_status measure(const crd_predictor_plan &plan, bool hopper, int64_t available, const crd_pieces &pieces,
                          crd_moments *moments)
{
    Measurement<T> measurement(plan, pieces, hopper);
    PASS(measurement.open(available));
    return measurement.walk(moments);
}

crd_status norms_measure(const crd_predictor_plan &given, const Path &path, int64_t available, const crd_pieces &pieces,
                         crd_moments *moments)
{
    crd_predictor_plan plan = given;
    memcpy(plan.chunk, pieces.size, sizeof plan.chunk);
    memset(plan.keep, 0, sizeof plan.keep);
    plan.moments = nullptr;
    if (path.precision == CRD_PRECISION_F32) return measure<float>(plan, false, available, pieces, moments);
    if (path.precision == CRD_PRECISION_BF16)
        return measure<__nv_bfloat16>(plan, path.hopper, available, pieces, moments);
    return measure<__half>(plan, path.hopper, available, pieces, moments);
}
