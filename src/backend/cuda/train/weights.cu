#include <string.h>

#include "backend/cuda/train/weights.cuh"

#include "base/random/normal_transform.h"
#include "base/random/philox.h"
#include "base/random/philox_inline.h"

enum { THREADS = 256, KL_BLOCK = 4096 /* weights of a part */ };

void weight_plan(const crd_net *net, uint64_t seed, crd_estimator estimator, WeightPlan *plan)
{
    memset(plan, 0, sizeof *plan);
    for (int i = 0; i < net->layer_count; i++) {
        const crd_conv_layer &row = net->layers[i];
        if (net->kind != CRD_BCNN || !row.bayesian) continue;
        BayesLayer &layer = plan->layers[plan->layer_count++];
        layer.number = (uint32_t)i;
        layer.in = row.channels_in;
        layer.out = row.channels_out;
        layer.count = (long)row.kernel * row.kernel * row.kernel * row.channels_in * row.channels_out;
        layer.loc = (long)net->model.kernel[i];
        layer.rho = (long)net->model.rho[i];
        layer.kernel = (long)net->point.kernel[i];
        layer.sign_in = plan->signs;
        layer.sign_out = plan->signs + row.channels_in;
        plan->signs += row.channels_in + row.channels_out;
        if (layer.count > plan->widest) plan->widest = layer.count;
    }
    plan->model_total = (long)net->model.total;
    plan->point_total = (long)net->point.total;
    plan->mask_total = net->kind == CRD_MCDN ? (long)net->mask_total : 0;
    plan->mask_count = net->mask_count;
    plan->mask_stream = (uint32_t)crd_mask_stream(net, 0);
    for (int site = 0; site < net->mask_count; site++) {
        plan->mask_channels[site] = net->mask_channels[site];
        plan->mask_offset[site] = (long)net->mask_offset[site];
    }
    plan->seed = seed;
    plan->estimator = estimator;
}

__device__ __forceinline__ uint32_t random_word(uint64_t seed, uint32_t layer, uint32_t purpose, uint32_t step,
                                                uint32_t example, uint32_t element)
{
    uint32_t words[4] = {element / 4, layer << 16 | purpose, step, example};
    crd_philox_inline((uint32_t)seed, (uint32_t)(seed >> 32), words);
    return words[element % 4];
}

__device__ __forceinline__ float random_sign(uint64_t seed, uint32_t layer, uint32_t purpose, uint32_t step,
                                             uint32_t example, uint32_t element)
{
    return random_word(seed, layer, purpose, step, example, element) >> 31 ? 1.0f : -1.0f;
}

// A block an example and layer; after the layers, the dropout's sites.
__global__ void signs_kernel(const __grid_constant__ WeightPlan plan, const StepNumbers *numbers, uint32_t skip,
                             float *signs, float *masks)
{
    const int example = blockIdx.y;
    const uint32_t step = numbers->number, first = numbers->first + skip;
    if ((int)blockIdx.x < plan.layer_count) {
        const BayesLayer &layer = plan.layers[blockIdx.x];
        float *own = signs + example * plan.signs;
        for (int i = threadIdx.x; i < layer.in + layer.out; i += blockDim.x) {
            const bool in = i < layer.in;
            own[layer.sign_in + i] =
                random_sign(plan.seed, layer.number, in ? CRD_PURPOSE_SIGN_IN : CRD_PURPOSE_SIGN_OUT, step,
                            first + example, (uint32_t)(in ? i : i - layer.in));
        }
        return;
    }
    const int site = blockIdx.x - plan.layer_count;
    for (int i = threadIdx.x; i < plan.mask_channels[site] && plan.mask_total > 0; i += blockDim.x) {
        masks[example * plan.mask_total + plan.mask_offset[site] + i] =
            1.0f +
            random_sign(plan.seed, plan.mask_stream + site, CRD_PURPOSE_DROPOUT, step, first + example, (uint32_t)i);
    }
}

__global__ void points_kernel(const __grid_constant__ WeightPlan plan, const float *parameters, float *point)
{
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    if (at < plan.point_total) point[blockIdx.y * plan.point_total + at] = parameters[plan.model_of_point[at]];
}

__device__ __forceinline__ float sigma_of(float rho)
{
    return (float)(crd_softplus_inline(rho) + 1.1920929e-7);
}

// Four weights of a layer: one block of random numbers.
struct Noise {
    float eps[4];
    __device__ Noise(const WeightPlan &plan, const BayesLayer &layer, uint32_t step, uint32_t example, long block)
    {
        uint32_t words[4] = {(uint32_t)block, layer.number << 16 | CRD_PURPOSE_WEIGHT_NOISE, step, example};
        crd_philox_inline((uint32_t)plan.seed, (uint32_t)(plan.seed >> 32), words);
        for (int i = 0; i < 4; i++) eps[i] = crd_normal_transform(words[i]);
    }
};

__global__ void draw_train_kernel(const __grid_constant__ WeightPlan plan, const float *parameters,
                                  const StepNumbers *numbers, uint32_t skip, const float *signs, float *point)
{
    const uint32_t step = numbers->number, first = numbers->first + skip;
    const BayesLayer &layer = plan.layers[blockIdx.y];
    const long block = (long)blockIdx.x * THREADS + threadIdx.x;
    const int example = blockIdx.z;
    if (4 * block >= layer.count) return;
    const bool flipout = plan.estimator == CRD_FLIPOUT;
    const Noise noise(plan, layer, step, flipout ? 0 : first + example, block);
    const float *own = signs + example * plan.signs;
    for (int i = 0; i < 4 && 4 * block + i < layer.count; i++) {
        const long at = 4 * block + i;
        float offset = __fmul_rn(sigma_of(parameters[layer.rho + at]), noise.eps[i]);
        if (flipout) {
            offset = own[layer.sign_in + at / layer.out % layer.in] * offset * own[layer.sign_out + at % layer.out];
        }
        point[example * plan.point_total + layer.kernel + at] = __fadd_rn(parameters[layer.loc + at], offset);
    }
}

static dim3 layer_grid(const WeightPlan &plan, int examples)
{
    return dim3((unsigned)((plan.widest / 4 + THREADS) / THREADS), plan.layer_count, examples);
}

crd_status weights_draw(const WeightPlan &plan, const float *parameters, const StepNumbers *numbers, uint32_t skip,
                        float *point, float *signs, float *masks, int examples, cudaStream_t stream)
{
    PASS(weights_means(plan, parameters, point, examples, stream));
    if (plan.estimator == CRD_MEAN) return CRD_OK;
    signs_kernel<<<dim3(plan.layer_count + plan.mask_count, examples), THREADS, 0, stream>>>(plan, numbers, skip, signs,
                                                                                             masks);
    CUDA_PASS(cudaGetLastError());
    if (plan.layer_count == 0) return CRD_OK;
    draw_train_kernel<<<layer_grid(plan, examples), THREADS, 0, stream>>>(plan, parameters, numbers, skip, signs,
                                                                          point);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

crd_status weights_means(const WeightPlan &plan, const float *parameters, float *point, int examples,
                         cudaStream_t stream)
{
    points_kernel<<<dim3((unsigned)((plan.point_total + THREADS - 1) / THREADS), examples), THREADS, 0, stream>>>(
        plan, parameters, point);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

__global__ void points_back_kernel(const __grid_constant__ WeightPlan plan, const StepNumbers *numbers,
                                   const float *point_gradient, float *gradient, int examples)
{
    const long at = (long)blockIdx.x * THREADS + threadIdx.x;
    const float unscale = numbers->unscale;
    if (at >= plan.point_total) return;
    float total = gradient[plan.model_of_point[at]];
    for (int e = 0; e < examples; e++)
        total = __fadd_rn(total, __fmul_rn(point_gradient[e * plan.point_total + at], unscale));
    gradient[plan.model_of_point[at]] = total;
}

__global__ void rho_back_kernel(const __grid_constant__ WeightPlan plan, const float *parameters,
                                const StepNumbers *numbers, uint32_t skip, const float *point_gradient,
                                const float *signs, float *gradient, int examples)
{
    const uint32_t step = numbers->number, first = numbers->first + skip;
    const float unscale = numbers->unscale;
    const BayesLayer &layer = plan.layers[blockIdx.y];
    const long block = (long)blockIdx.x * THREADS + threadIdx.x;
    const bool flipout = plan.estimator == CRD_FLIPOUT;
    if (4 * block >= layer.count) return;
    float total[4];
    for (int i = 0; i < 4; i++) total[i] = 4 * block + i < layer.count ? gradient[layer.rho + 4 * block + i] : 0.0f;
    Noise noise(plan, layer, step, flipout ? 0 : first, block);
    for (int e = 0; e < examples; e++) {
        if (!flipout && e > 0) noise = Noise(plan, layer, step, first + e, block);
        for (int i = 0; i < 4 && 4 * block + i < layer.count; i++) {
            const long at = 4 * block + i;
            const float *own = signs + e * plan.signs;
            const float eps = flipout ? own[layer.sign_in + at / layer.out % layer.in] * noise.eps[i] *
                                            own[layer.sign_out + at % layer.out]
                                      : noise.eps[i];
            const float slope = (float)crd_sigmoid_inline(parameters[layer.rho + at]);
            const float g = __fmul_rn(point_gradient[e * plan.point_total + layer.kernel + at], unscale);
            total[i] = __fadd_rn(total[i], __fmul_rn(__fmul_rn(g, eps), slope));
        }
    }
    for (int i = 0; i < 4 && 4 * block + i < layer.count; i++) gradient[layer.rho + 4 * block + i] = total[i];
}

crd_status weights_back(const WeightPlan &plan, const float *parameters, const StepNumbers *numbers, uint32_t skip,
                        const float *point_gradient, const float *signs, float *gradient, int examples,
                        cudaStream_t stream)
{
    points_back_kernel<<<(unsigned)((plan.point_total + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        plan, numbers, point_gradient, gradient, examples);
    CUDA_PASS(cudaGetLastError());
    if (plan.layer_count == 0 || plan.estimator == CRD_MEAN) return CRD_OK;
    rho_back_kernel<<<layer_grid(plan, 1), THREADS, 0, stream>>>(plan, parameters, numbers, skip, point_gradient, signs,
                                                                 gradient, examples);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

static long kl_parts_of_layer(const WeightPlan &plan)
{
    return (plan.widest + KL_BLOCK - 1) / KL_BLOCK;
}

long kl_parts(const WeightPlan &plan)
{
    return plan.layer_count * kl_parts_of_layer(plan);
}

// Adds the block's values in the order of a tree; the result is thread 0's.
__device__ double add_block(double value)
{
    __shared__ double values[THREADS];
    values[threadIdx.x] = value;
    for (int half = THREADS / 2; half > 0; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    }
    return values[0];
}

__global__ void kl_kernel(const __grid_constant__ WeightPlan plan, const float *parameters, double prior_std,
                          double log_std, const StepNumbers *numbers, double *partial, float *gradient)
{
    const BayesLayer &layer = plan.layers[blockIdx.y];
    const double precision = 1.0 / (prior_std * prior_std), kl_scale = numbers->kl_scale;
    double sum = 0.0;
    for (int i = threadIdx.x; i < KL_BLOCK; i += THREADS) {
        const long at = (long)blockIdx.x * KL_BLOCK + i;
        if (at >= layer.count) break;
        const float rho = parameters[layer.rho + at];
        const double loc = parameters[layer.loc + at], sigma = sigma_of(rho), slope = (float)crd_sigmoid_inline(rho);
        sum += log_std - crd_log_inline(sigma) + (sigma * sigma + loc * loc) * precision / 2 - 0.5;
        gradient[layer.loc + at] += (float)(kl_scale * loc * precision);
        gradient[layer.rho + at] += (float)(kl_scale * (sigma * precision - 1 / sigma) * slope);
    }
    const double total = add_block(sum);
    if (threadIdx.x == 0) partial[(long)blockIdx.y * gridDim.x + blockIdx.x] = total;
}

__global__ void mixture_kernel(const __grid_constant__ WeightPlan plan, const float *parameters,
                               const __grid_constant__ crd_mixture law, const StepNumbers *numbers, double *partial,
                               float *gradient)
{
    const BayesLayer &layer = plan.layers[blockIdx.y];
    const uint32_t step = numbers->number;
    const double kl_scale = numbers->kl_scale;
    double sum = 0.0;
    for (int i = threadIdx.x; i < KL_BLOCK; i += THREADS) {
        const long at = (long)blockIdx.x * KL_BLOCK + i;
        if (at >= layer.count) break;
        const float rho = parameters[layer.rho + at];
        const double loc = parameters[layer.loc + at], sigma = sigma_of(rho);
        const double eps = crd_normal_transform(
            random_word(plan.seed, layer.number, CRD_PURPOSE_WEIGHT_NOISE, step, CRD_PRIOR_EXAMPLE, (uint32_t)at));
        double slope;
        sum += crd_mixture_surprise(&law, loc + crd_mul(sigma, eps), &slope) - crd_log_inline(sigma) - 0.5;
        gradient[layer.loc + at] += (float)(kl_scale * slope);
        gradient[layer.rho + at] +=
            (float)(kl_scale * (crd_mul(slope, eps) - 1 / sigma) * (double)(float)crd_sigmoid_inline(rho));
    }
    const double total = add_block(sum);
    if (threadIdx.x == 0) partial[(long)blockIdx.y * gridDim.x + blockIdx.x] = total;
}

__global__ void kl_sum_kernel(const double *partial, long parts, double *kl)
{
    double sum = 0.0;
    for (long i = threadIdx.x; i < parts; i += THREADS) sum += partial[i];
    const double total = add_block(sum);
    if (threadIdx.x == 0) *kl = total;
}

crd_status weights_kl(const WeightPlan &plan, const float *parameters, const crd_prior_settings &prior,
                      const StepNumbers *numbers, double *partial, float *gradient, double *kl, cudaStream_t stream)
{
    const dim3 grid((unsigned)kl_parts_of_layer(plan), plan.layer_count);
    if (plan.layer_count > 0 && prior.kind == CRD_PRIOR_MIXTURE) {
        mixture_kernel<<<grid, THREADS, 0, stream>>>(plan, parameters, crd_mixture_of(&prior), numbers, partial,
                                                     gradient);
        CUDA_PASS(cudaGetLastError());
    } else if (plan.layer_count > 0) {
        kl_kernel<<<grid, THREADS, 0, stream>>>(plan, parameters, prior.std, crd_log_inline(prior.std), numbers,
                                                partial, gradient);
        CUDA_PASS(cudaGetLastError());
    }
    kl_sum_kernel<<<1, THREADS, 0, stream>>>(partial, kl_parts(plan), kl);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

__global__ void summary_kernel(const __grid_constant__ WeightPlan plan, const float *parameters, double *partial)
{
    const BayesLayer &layer = plan.layers[blockIdx.y];
    const long part = (long)blockIdx.y * gridDim.x + blockIdx.x, parts = (long)gridDim.x * gridDim.y;
    double sum = 0.0, certain = 0.0;
    for (int i = threadIdx.x; i < KL_BLOCK; i += THREADS) {
        const long at = (long)blockIdx.x * KL_BLOCK + i;
        if (at >= layer.count) break;
        const float sigma = sigma_of(parameters[layer.rho + at]);
        sum += sigma;
        certain += fabsf(parameters[layer.loc + at]) > sigma ? 1.0 : 0.0;
    }
    const double sigmas = add_block(sum);
    __syncthreads();
    const double counted = add_block(certain);
    if (threadIdx.x > 0) return;
    partial[part] = sigmas;
    partial[parts + part] = counted;
}

crd_status weights_summary(const WeightPlan &plan, const float *parameters, double *partial, double *sums,
                           cudaStream_t stream)
{
    const long parts = kl_parts(plan);
    summary_kernel<<<dim3((unsigned)kl_parts_of_layer(plan), plan.layer_count), THREADS, 0, stream>>>(plan, parameters,
                                                                                                      partial);
    CUDA_PASS(cudaGetLastError());
    for (int i = 0; i < 2; i++) {
        kl_sum_kernel<<<1, THREADS, 0, stream>>>(partial + i * parts, parts, sums + i);
        CUDA_PASS(cudaGetLastError());
    }
    return CRD_OK;
}

__global__ void adam_kernel(long count, const StepNumbers *numbers, const float *gradient, float *m, float *v,
                            float *parameters)
{
    const float beta1 = (float)0.9, beta2 = (float)0.999, epsilon = 1e-7f;
    const long i = (long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) return;
    const float g = gradient[i], rate = numbers->rate;
    const float first = __fadd_rn(__fmul_rn(beta1, m[i]), __fmul_rn(1 - beta1, g));
    const float second = __fadd_rn(__fmul_rn(beta2, v[i]), __fmul_rn(__fmul_rn(1 - beta2, g), g));
    const float root = __fadd_rn(__fsqrt_rn(__fdiv_rn(second, numbers->correction2)), epsilon);
    m[i] = first;
    v[i] = second;
    parameters[i] = __fsub_rn(parameters[i], __fdiv_rn(__fmul_rn(rate, __fdiv_rn(first, numbers->correction1)), root));
}

crd_status weights_adam(long count, const StepNumbers *numbers, const float *gradient, float *m, float *v,
                        float *parameters, cudaStream_t stream)
{
    adam_kernel<<<(unsigned)((count + THREADS - 1) / THREADS), THREADS, 0, stream>>>(count, numbers, gradient, m, v,
                                                                                     parameters);
    CUDA_PASS(cudaGetLastError());
    return CRD_OK;
}

// As in net/adam.c: by squaring.
static double power(double base, int64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1) result *= base;
        base *= base;
    }
    return result;
}

StepNumbers step_numbers(const crd_learner_step &step, float loss_scale)
{
    const int64_t taken = step.number + 1; // when this one is
    return {
        (uint32_t)step.number, (uint32_t)step.first, step.scale * loss_scale,        1.0f / loss_scale,
        step.kl_scale,         (float)step.rate,     (float)(1 - power(0.9, taken)), (float)(1 - power(0.999, taken))};
}
