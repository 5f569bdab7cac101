// One network of one chunk size on one GPU: see backend/backend.h for what a predictor does.
#ifndef CRD_CUDA_PREDICT_PREDICTOR_CUH
#define CRD_CUDA_PREDICT_PREDICTOR_CUH

#include "backend/cuda/common.cuh"

// What the table of plugin.cu calls, whatever the storage type.
struct Predictor {
    virtual ~Predictor()
    {
    }
    virtual crd_status open() = 0;
    virtual void keep(const crd_box &box) = 0;
    virtual crd_status submit(int64_t chunk_number, const float *input, const int64_t *probe, int64_t probe_count) = 0;
    virtual crd_status collect(crd_chunk_result *result) = 0;
    virtual crd_status renew() = 0;
    virtual int depth() const = 0;
    // Milliseconds that each layer took in one chunk: [net->layer_count + 1], the summary over samples last.
    virtual crd_status measure_layers(const float *input, double *milliseconds) = 0;
};

// Device and pinned host bytes of a plan with that many samples in one launch.
void predictor_sizes(const crd_predictor_plan &plan, const Path &path, int64_t together, int64_t *device,
                     int64_t *host);
// The most samples a launch can take with so much device memory; 0 where not even one fits.
int64_t samples_together(const crd_predictor_plan &plan, const Path &path, int64_t available);

// The slot measure_norms of crd_backend, in at most so many bytes of the device.
crd_status norms_measure(const crd_predictor_plan &plan, const Path &path, int64_t available, const crd_pieces &pieces,
                         crd_moments *moments);

Predictor *predictor_new(const crd_predictor_plan &plan, const Path &path, int64_t together);

#endif
