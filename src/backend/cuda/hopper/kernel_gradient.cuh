// Gradients of 3x3x3 kernels on Hopper's matrix products: see kernel_gradient_launch (train/kernels.cuh), stride 1.
#ifndef CRD_CUDA_HOPPER_KERNEL_GRADIENT_CUH
#define CRD_CUDA_HOPPER_KERNEL_GRADIENT_CUH

#include "backend/cuda/train/kernels.cuh"

int hopper_kernel_slots(const Extent &size, int a, int b);
template <typename T>
crd_status hopper_kernel_gradient_launch(const KernelArguments &arguments, int examples, cudaStream_t stream);

#endif
