// Cross entropy of one voxel of two classes, for the kernels that compute the head with it.
#ifndef CRD_CUDA_TRAIN_LOSS_CUH
#define CRD_CUDA_TRAIN_LOSS_CUH

#include "backend/cuda/train/kernels.cuh"

// One voxel: `value` is after the ReLU. Adds to the sums, stores the gradient.
__device__ __forceinline__ void loss_voxel(const uint8_t *labels, float *gradients, long voxel, float value,
                                           float weight, float offset, float scale, float (&sums)[LOSS_SUMS])
{
    const uint8_t label = labels[voxel];
    const float counts = label != 255 ? 1.0f : 0.0f, target = label == 1 ? 1.0f : 0.0f;
    const float logit = fmaf(weight, value, offset), e = expf(-fabsf(logit));
    const float slope = counts * ((logit < 0.0f ? e : 1.0f) / (1.0f + e) - target);
    sums[LOSS_BCE] += counts * (fmaxf(logit, 0.0f) - target * logit + log1pf(e));
    sums[LOSS_LABELLED] += counts;
    sums[LOSS_WEIGHT] = fmaf(slope, value, sums[LOSS_WEIGHT]);
    sums[LOSS_BIAS] += slope;
    sums[LOSS_CORRECT] += (logit > 0.0f) == (target > 0.0f) ? counts : 0.0f;
    sums[LOSS_VALUE] += value;
    const float gradient = value > 0.0f ? scale * weight * slope : 0.0f;
    sums[LOSS_GRADIENT] += gradient;
    if (gradients != nullptr) gradients[voxel] = gradient;
}

#endif
