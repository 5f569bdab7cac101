// What the GPU itself can do, measured: products of matrices and copies, nothing around them.
#ifndef CRD_CUDA_PEAK_CUH
#define CRD_CUDA_PEAK_CUH

#include "backend/cuda/common.cuh"
#include "backend/cuda/predict/predictor.cuh"

// GFLOP/s of the matrix instructions of that path (of multiply-adds in float32), on random numbers.
crd_status peak_matrix(const Path &path, double *gflops);
// GB/s, read and written, of a copy within the GPU's memory.
crd_status peak_copy(double *gigabytes);

// One launch of products that keep every processor busy, and their floating-point operations.
template <typename T> crd_status hopper_products(float *out, int processors, double *operations);

// Clock and power of the GPU at this moment; zeros where the driver's library doesn't say.
void gpu_load(int device, double *megahertz, double *watts);

#endif
