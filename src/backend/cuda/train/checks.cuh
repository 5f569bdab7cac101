// Losses of chunks that are checked on, while a training goes on: the GPU keeps the chunks, so that from the second
// time on nothing is read or copied, and results are fetched together.
#ifndef CRD_CUDA_TRAIN_CHECKS_CUH
#define CRD_CUDA_TRAIN_CHECKS_CUH

#include "backend/cuda/arena.cuh"
#include "backend/cuda/replay.cuh"
#include "backend/cuda/train/kernels.cuh"

struct Checks {
    enum { AT_ONCE = 64 /* results on their way */ };
    static constexpr int64_t KEPT_BYTES = (int64_t)1 << 30;
    struct Chunk {
        float *input;
        uint8_t *label;
    };

    int64_t voxels = 0;
    Chunk at_work = {};                                 // on the device, as all chunks
    double *results = nullptr, *host_results = nullptr; // [AT_ONCE][LOSS_SUMS]; the host's are pinned
    crd_loss *wanted[AT_ONCE] = {};
    int pending = 0;
    Chunk *kept = nullptr; // by number
    int64_t kept_room = 0, kept_bytes = 0;
    Replay replay;

    ~Checks();
    void lay_out(Arena &arena);
    static int64_t host_bytes()
    {
        return (int64_t)AT_ONCE * LOSS_SUMS * (int64_t)sizeof(double);
    }
    crd_status open();
    bool keeps(int64_t number) const
    {
        return number >= 0 && number < kept_room && kept[number].input != nullptr;
    }
    // The chunk becomes the one at work; without a number it isn't kept.
    crd_status load(int64_t number, const float *input, const uint8_t *label, cudaStream_t stream);
    // `result` is that chunk's, on the device; *loss is filled by collect().
    crd_status note(const double *result, crd_loss *loss, cudaStream_t stream);
    crd_status collect(cudaStream_t stream);

  private:
    crd_status keep(int64_t number, cudaStream_t stream);
};

void fill_loss(const double *sums, crd_loss *loss);

#endif
