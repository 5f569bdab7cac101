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
    int together = 1;                                   // chunks of one launch, at most AT_ONCE
    Chunk at_work = {};                                 // [together], on the device, as all chunks
    double *results = nullptr, *host_results = nullptr; // [AT_ONCE][LOSS_SUMS]; the host's are pinned
    crd_loss *wanted[AT_ONCE] = {};
    int pending = 0, loaded = 0; // results on their way; chunks at work, whose results come after those
    Chunk *kept = nullptr;       // by number
    int64_t kept_room = 0, kept_bytes = 0;
    Replays replays; // by the number of chunks

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
    bool full() const
    {
        return loaded == together || pending + loaded == AT_ONCE;
    }
    // One more chunk is at work, until it is full(); without a number it isn't kept. *loss is filled by collect().
    crd_status load(int64_t number, const float *input, const uint8_t *label, crd_loss *loss, cudaStream_t stream);
    // The results of all that was at work, on the device.
    crd_status note(const double *result, cudaStream_t stream);
    crd_status collect(cudaStream_t stream);

  private:
    crd_status keep(int64_t number, const Chunk &chunk, cudaStream_t stream);
};

void fill_loss(const double *sums, crd_loss *loss);

#endif
