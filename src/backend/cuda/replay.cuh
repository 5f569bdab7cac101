// Launches that come again and again with the same arguments, as one CUDA graph: for small kernels a launch costs the
// host more than the kernel does the GPU.
#ifndef CRD_CUDA_REPLAY_CUH
#define CRD_CUDA_REPLAY_CUH

#include <stdlib.h>

#include "backend/cuda/common.cuh"

struct Replay {
    cudaGraphExec_t graph = nullptr;
    bool ran = false;

    // `launch` fills the stream. The first time it does just that, which also loads the kernels; from the second time
    // on a graph of it is launched.
    template <class Launch> crd_status run(cudaStream_t stream, const Launch &launch)
    {
        if (!ran) {
            ran = true;
            return launch();
        }
        if (graph == nullptr) PASS(record(stream, launch));
        CUDA_PASS(cudaGraphLaunch(graph, stream));
        return CRD_OK;
    }

    void forget()
    {
        if (graph != nullptr) cudaGraphExecDestroy(graph);
        graph = nullptr;
        ran = false;
    }

  private:
    template <class Launch> crd_status record(cudaStream_t stream, const Launch &launch)
    {
        cudaGraph_t recorded = nullptr;
        CUDA_PASS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        const crd_status status = launch();
        const cudaError_t ended = cudaStreamEndCapture(stream, &recorded);
        if (status != CRD_OK && recorded != nullptr) cudaGraphDestroy(recorded);
        PASS(status);
        CUDA_PASS(ended);
        const cudaError_t made = cudaGraphInstantiate(&graph, recorded, 0);
        cudaGraphDestroy(recorded);
        CUDA_PASS(made);
        return CRD_OK;
    }
};

// Some of them. (new[] of a number that isn't known would want the C++ library's exceptions.)
class Replays
{
  public:
    Replays() = default;
    Replays(const Replays &) = delete;
    Replays &operator=(const Replays &) = delete;
    ~Replays()
    {
        for (int64_t i = 0; i < count; i++) items[i].forget();
        free(items);
    }

    crd_status open(int64_t wanted)
    {
        items = static_cast<Replay *>(calloc((size_t)wanted, sizeof *items));
        CUDA_NEED(items);
        count = wanted;
        return CRD_OK;
    }

    Replay &operator[](int64_t i)
    {
        return items[i];
    }

  private:
    Replay *items = nullptr;
    int64_t count = 0;
};

#endif
