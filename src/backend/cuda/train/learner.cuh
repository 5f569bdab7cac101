// Training on one GPU: see backend/backend.h for what a learner does.
#ifndef CRD_CUDA_TRAIN_LEARNER_CUH
#define CRD_CUDA_TRAIN_LEARNER_CUH

#include "backend/cuda/common.cuh"

// What the table of learner_table.cu calls, whatever the storage type.
struct Learner {
    virtual ~Learner()
    {
    }
    virtual crd_status open() = 0;
    virtual crd_status write(const float *parameters, const float *m, const float *v) = 0;
    virtual crd_status read(float *parameters, float *m, float *v) = 0; // m and v: NULL where they aren't wanted
    virtual crd_status stage(int64_t place, const float *input, const uint8_t *label) = 0;
    virtual crd_status start(const crd_learner_step &step) = 0;
    virtual crd_status finish(crd_loss *losses, double *kl) = 0;
    virtual crd_status gradient(float *gradient) = 0;
    virtual crd_status check(int64_t number, const float *input, const uint8_t *label, crd_loss *loss) = 0;
    virtual crd_status checked() = 0;
    virtual bool keeps(int64_t number) const = 0;
    virtual crd_status summarise(crd_posterior_summary *out) = 0;
};

// Device and pinned host bytes with that many examples in one launch.
void learner_sizes(const crd_learner_plan &plan, const Path &path, int64_t together, int64_t *device, int64_t *host);
Learner *learner_new(const crd_learner_plan &plan, const Path &path, int64_t together);

// The table's functions (learner_table.cu).
crd_status cuda_learner_bytes(const crd_device_settings *, const crd_learner_plan *, int64_t *, int64_t *);
crd_status cuda_learner_create(const crd_device_settings *, const crd_learner_plan *, crd_learner **);
crd_status cuda_learner_write(crd_learner *);
crd_status cuda_learner_read(crd_learner *, bool moments);
crd_status cuda_learner_stage(crd_learner *, int64_t, const float *, const uint8_t *);
crd_status cuda_learner_start(crd_learner *, const crd_learner_step *);
crd_status cuda_learner_finish(crd_learner *, crd_loss *, double *);
crd_status cuda_learner_gradient(crd_learner *, float *);
crd_status cuda_learner_evaluate(crd_learner *, const float *, const uint8_t *, crd_loss *);
crd_status cuda_learner_check(crd_learner *, int64_t, const float *, const uint8_t *, crd_loss *);
crd_status cuda_learner_checked(crd_learner *);
bool cuda_learner_keeps(const crd_learner *, int64_t);
crd_status cuda_learner_summarise(crd_learner *, crd_posterior_summary *);
void cuda_learner_free(crd_learner **);

#endif
