// What happens to the weights in a step of training: draws, the chain rule back to the posterior, the KL, Adam. The
// same arithmetic as on the CPU (bayes/, net/adam.c), rounding by rounding.
#ifndef CRD_CUDA_TRAIN_WEIGHTS_CUH
#define CRD_CUDA_TRAIN_WEIGHTS_CUH

#include "backend/cuda/common.cuh"

struct BayesLayer {
    uint32_t number;        // of the convolution
    int in, out;            // channels
    long count;             // weights
    long loc, rho;          // places in the model layout
    long kernel;            // place in the point layout
    long sign_in, sign_out; // places among an example's signs
};

// What differs from step to step. It lies in the device's memory: a step is a graph, whose arguments are fixed.
struct StepNumbers {
    uint32_t number, first; // of the step, from 0; of its first example in the mini-batch
    float scale, unscale;   // of the gradients on their way back, and of what they come to
    double kl_scale;
    float rate, correction1, correction2; // Adam's
};
StepNumbers step_numbers(const crd_learner_step &step, float loss_scale);

struct WeightPlan { // of one network; the pointers are on the device
    BayesLayer layers[CRD_LAYERS_MAX];
    int layer_count;
    long widest; // weights of the largest layer
    long model_total, point_total, signs, mask_total;
    int mask_count;
    uint32_t mask_stream; // of the first; the others follow
    int mask_channels[CRD_MASKS_MAX];
    long mask_offset[CRD_MASKS_MAX];
    const int *model_of_point; // [point_total]: where the value is in the model layout
    uint64_t seed;
    crd_estimator estimator;
};
void weight_plan(const crd_net *net, uint64_t seed, crd_estimator estimator, WeightPlan *plan);

// Weights of some examples of a step, from number `skip` of those on it has: [examples][point_total]; signs
// [examples][signs] and masks [examples][mask_total] are filled where the estimator has them.
crd_status weights_draw(const WeightPlan &plan, const float *parameters, const StepNumbers *numbers, uint32_t skip,
                        float *point, float *signs, float *masks, int examples, cudaStream_t stream);
// The means instead, the same for all of these examples.
crd_status weights_means(const WeightPlan &plan, const float *parameters, float *point, int examples,
                         cudaStream_t stream);

// Adds the examples' gradients, unscaled and in their order, to the model's.
crd_status weights_back(const WeightPlan &plan, const float *parameters, const StepNumbers *numbers, uint32_t skip,
                        const float *point_gradient, const float *signs, float *gradient, int examples,
                        cudaStream_t stream);

// *kl is the KL from the prior, where that has no closed form at weights drawn for this step; adds kl_scale times its
// gradient. partial: scratch of kl_parts(plan) doubles.
long kl_parts(const WeightPlan &plan);
crd_status weights_kl(const WeightPlan &plan, const float *parameters, const crd_prior_settings &prior,
                      const StepNumbers *numbers, double *partial, float *gradient, double *kl, cudaStream_t stream);

// sums[0]: of all sigmas; sums[1]: how many weights are certain (bayes/summary.h). partial: of 2 * kl_parts(plan).
crd_status weights_summary(const WeightPlan &plan, const float *parameters, double *partial, double *sums,
                           cudaStream_t stream);

crd_status weights_adam(long count, const StepNumbers *numbers, const float *gradient, float *m, float *v,
                        float *parameters, cudaStream_t stream);

#endif
