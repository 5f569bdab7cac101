// The learner's part of the plug-in's table.
#include <new>

#include "backend/cuda/train/learner.cuh"

struct crd_learner {
    Learner *network;
    int device;
    crd_learner_state host; // the caller's
};

// The most examples at a time that fit: a smaller number takes several rounds for a batch, with the same result.
static crd_status plan_examples(const crd_device_settings *settings, const crd_learner_plan *plan, Path *path,
                                int64_t *together)
{
    int64_t available, device = 0, host;
    PASS(cuda_path_of(settings, plan->net->filters, true, path));
    PASS(cuda_available_bytes(settings, &available));
    for (*together = plan->batch; *together > 0; --*together) {
        learner_sizes(*plan, *path, *together, &device, &host);
        if (device <= available) return CRD_OK;
    }
    return CUDA_FAIL(CRD_ERR_MEMORY,
                     "training with this chunk needs %.1f GiB on the GPU and %.1f are free; choose a smaller --chunk",
                     (double)device / 1073741824.0, (double)available / 1073741824.0);
}

crd_status cuda_learner_bytes(const crd_device_settings *settings, const crd_learner_plan *plan, int64_t *host_bytes,
                              int64_t *device_bytes)
{
    int64_t together;
    Path path;
    PASS(plan_examples(settings, plan, &path, &together));
    learner_sizes(*plan, path, together, device_bytes, host_bytes);
    return CRD_OK;
}

void cuda_learner_free(crd_learner **learner)
{
    if (*learner == nullptr) return;
    cudaSetDevice((*learner)->device);
    delete (*learner)->network;
    delete *learner;
    *learner = nullptr;
}

crd_status cuda_learner_create(const crd_device_settings *settings, const crd_learner_plan *plan, crd_learner **out)
{
    int64_t together;
    Path path;
    *out = nullptr;
    PASS(plan_examples(settings, plan, &path, &together));
    crd_learner *learner = new (std::nothrow) crd_learner{nullptr, settings->device, plan->state};
    if (learner != nullptr) learner->network = learner_new(*plan, path, together);
    if (learner == nullptr || learner->network == nullptr) {
        cuda_learner_free(&learner);
        return CUDA_FAIL(CRD_ERR_MEMORY, "not enough memory for the training");
    }
    const crd_status status = learner->network->open();
    if (status != CRD_OK) {
        cuda_learner_free(&learner);
        return status;
    }
    *out = learner;
    return CRD_OK;
}

crd_status cuda_learner_write(crd_learner *learner)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->write(learner->host.parameters, learner->host.m, learner->host.v);
}

crd_status cuda_learner_read(crd_learner *learner, bool moments)
{
    const crd_learner_state &host = learner->host;
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->read(host.parameters, moments ? host.m : nullptr, moments ? host.v : nullptr);
}

crd_status cuda_learner_stage(crd_learner *learner, int64_t place, const float *input, const uint8_t *label)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->stage(place, input, label);
}

crd_status cuda_learner_start(crd_learner *learner, const crd_learner_step *step)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->start(*step);
}

crd_status cuda_learner_finish(crd_learner *learner, crd_loss *losses, double *kl)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->finish(losses, kl);
}

crd_status cuda_learner_gradient(crd_learner *learner, float *gradient)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->gradient(gradient);
}

crd_status cuda_learner_check(crd_learner *learner, int64_t number, const float *input, const uint8_t *label,
                              crd_loss *loss)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->check(number, input, label, loss);
}

crd_status cuda_learner_checked(crd_learner *learner)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->checked();
}

crd_status cuda_learner_evaluate(crd_learner *learner, const float *input, const uint8_t *label, crd_loss *loss)
{
    PASS(cuda_learner_check(learner, -1, input, label, loss));
    return cuda_learner_checked(learner);
}

bool cuda_learner_keeps(const crd_learner *learner, int64_t number)
{
    return learner->network->keeps(number);
}

crd_status cuda_learner_summarise(crd_learner *learner, crd_posterior_summary *out)
{
    CUDA_PASS(cudaSetDevice(learner->device));
    return learner->network->summarise(out);
}
